sap.ui.define([
	"sap/ui/test/opaQunit",
	"./pages/MainPage"
], function (opaTest) {
	"use strict";

[% if entity_set %]
	QUnit.module("Data");

	opaTest("shows the table", function (Given, When, Then) {
		Given.iStartMyUIComponent({
			componentConfig: {
				name: "[= id =]"
			}
		});
		Then.onTheMainPage.iShouldSeeTheTable();
		Then.iTeardownMyApp();
	});
[% else %]
	QUnit.module("Hello");

	opaTest("greets when the button is pressed", function (Given, When, Then) {
		Given.iStartMyUIComponent({
			componentConfig: {
				name: "[= id =]"
			}
		});
		When.onTheMainPage.iPressTheGreetButton();
		Then.onTheMainPage.iShouldSeeTheGreeting();
		Then.iTeardownMyApp();
	});
[% endif %]
});
