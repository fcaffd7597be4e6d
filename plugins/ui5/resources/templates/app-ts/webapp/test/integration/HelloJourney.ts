import opaTest from "sap/ui/test/opaQunit";
import MainPage from "./pages/MainPage";

const onTheMainPage = new MainPage();

[% if entity_set %]
QUnit.module("Data");

opaTest("shows the table", () => {
	onTheMainPage.iStartMyUIComponent({
		componentConfig: {
			name: "[= id =]"
		}
	});
	onTheMainPage.iShouldSeeTheTable();
	onTheMainPage.iTeardownMyApp();
});
[% else %]
QUnit.module("Hello");

opaTest("greets when the button is pressed", () => {
	onTheMainPage.iStartMyUIComponent({
		componentConfig: {
			name: "[= id =]"
		}
	});
	onTheMainPage.iPressTheGreetButton();
	onTheMainPage.iShouldSeeTheGreeting();
	onTheMainPage.iTeardownMyApp();
});
[% endif %]
