[% if entity_set %]
sap.ui.define([
	"./BaseController"
], function (BaseController) {
	"use strict";

	return BaseController.extend("[= id =].controller.Main", {
		/**
		 * Shows the selected row in the form below the table, and no form when none is selected.
		 */
		onRowSelectionChange() {
			const table = this.byId("table");
			const details = this.byId("details");
			const [index] = table.getSelectedIndices();
			const context = index === undefined ? undefined : table.getContextByIndex(index);
			if (context) {
				details.setBindingContext(context);
			}
			details.setVisible(!!context);
		}
	});
});
[% else %]
sap.ui.define([
	"./BaseController",
	"../model/formatter",
	"sap/m/MessageBox"
], function (BaseController, formatter, MessageBox) {
	"use strict";

	return BaseController.extend("[= id =].controller.Main", {
		/**
		 * Greets the user in a message box.
		 */
		async onGreet() {
			MessageBox.information(await this.getGreeting());
		},

		/**
		 * @returns {Promise<string>} the greeting in the language of the user
		 */
		async getGreeting() {
			const bundle = await this.getResourceBundle();
			const name = bundle.getText("greetedName");
			return bundle.getText("greeting", [formatter.capitalize(name)]);
		}
	});
});
[% endif %]
