import Opa5 from "sap/ui/test/Opa5";
[% if entity_set %]
import Table from "sap/ui/table/Table";
[% else %]
import Dialog from "sap/m/Dialog";
import Press from "sap/ui/test/actions/Press";
[% endif %]

const viewName = "[= id =].view.Main";

/**
 * What a user does on the main page, and sees there.
 *
 * @namespace [= id =].test.integration.pages
 */
export default class MainPage extends Opa5 {
[% if entity_set %]
	iShouldSeeTheTable() {
		return this.waitFor({
			id: "table",
			viewName,
			success: (table: unknown) => {
				const columns = (table as Table).getColumns();
				Opa5.assert.strictEqual(columns.length, [= properties|length =], "the table has its columns");
			},
			errorMessage: "There is no table"
		});
	}
[% else %]
	iPressTheGreetButton() {
		return this.waitFor({
			id: "greetButton",
			viewName,
			actions: new Press(),
			errorMessage: "There is no button to press"
		});
	}

	iShouldSeeTheGreeting() {
		return this.waitFor({
			controlType: "sap.m.Dialog",
			searchOpenDialogs: true,
			success: (dialogs: unknown) => {
				const [dialog] = dialogs as Dialog[];
				Opa5.assert.ok(dialog.getDomRef()?.textContent?.includes("Hello, World!"), "the greeting is there");
				dialog.close();
			},
			errorMessage: "There is no greeting"
		});
	}
[% endif %]
}
