[% if entity_set %]
import Form from "sap/ui/layout/form/Form";
import Table from "sap/ui/table/Table";
[% else %]
import MessageBox from "sap/m/MessageBox";
import formatter from "../model/formatter";
[% endif %]
import BaseController from "./BaseController";

/**
 * @namespace [= id =].controller
 */
export default class Main extends BaseController {
[% if entity_set %]
	/**
	 * Shows the selected row in the form below the table, and no form when none is selected.
	 */
	public onRowSelectionChange(): void {
		const table = this.byId("table") as Table;
		const details = this.byId("details") as Form;
		const [index] = table.getSelectedIndices();
		const context = index === undefined ? undefined : table.getContextByIndex(index);
		if (context) {
			details.setBindingContext(context);
		}
		details.setVisible(!!context);
	}
[% else %]
	/**
	 * Greets the user in a message box.
	 */
	public async onGreet(): Promise<void> {
		MessageBox.information(await this.getGreeting());
	}

	/**
	 * The greeting in the language of the user.
	 */
	public async getGreeting(): Promise<string> {
		const bundle = await this.getResourceBundle();
		const name = bundle.getText("greetedName") as string;
		return bundle.getText("greeting", [formatter.capitalize(name)]) as string;
	}
[% endif %]
}
