sap.ui.define([
	"sap/ui/test/Opa5"[= "," if not entity_set else "" =]
[% if not entity_set %]
	"sap/ui/test/actions/Press"
], function (Opa5, Press) {
[% else %]
], function (Opa5) {
[% endif %]
	"use strict";

	const viewName = "[= id =].view.Main";

	Opa5.createPageObjects({
		onTheMainPage: {
[% if entity_set %]
			assertions: {
				iShouldSeeTheTable() {
					return this.waitFor({
						id: "table",
						viewName,
						success(table) {
							Opa5.assert.strictEqual(table.getColumns().length, [= properties|length =], "the table has its columns");
						},
						errorMessage: "There is no table"
					});
				}
			}
[% else %]
			actions: {
				iPressTheGreetButton() {
					return this.waitFor({
						id: "greetButton",
						viewName,
						actions: new Press(),
						errorMessage: "There is no button to press"
					});
				}
			},
			assertions: {
				iShouldSeeTheGreeting() {
					return this.waitFor({
						controlType: "sap.m.Dialog",
						searchOpenDialogs: true,
						success([dialog]) {
							Opa5.assert.ok(dialog.getDomRef().textContent.includes("Hello, World!"), "the greeting is there");
							dialog.close();
						},
						errorMessage: "There is no greeting"
					});
				}
			}
[% endif %]
		}
	});
});
