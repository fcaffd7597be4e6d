[% if entity_set %]
import JSONModel from "sap/ui/model/json/JSONModel";
import Form from "sap/ui/layout/form/Form";
import Table from "sap/ui/table/Table";
[% else %]
import ResourceBundle from "sap/base/i18n/ResourceBundle";
[% endif %]
import Main from "[= path =]/controller/Main.controller";
import formatter from "[= path =]/model/formatter";

QUnit.module("formatter");

QUnit.test("capitalizes the first letter, and nothing else", (assert) => {
	assert.strictEqual(formatter.capitalize("hello World"), "Hello World");
	assert.strictEqual(formatter.capitalize(""), "");
	assert.strictEqual(formatter.capitalize(null), "");
});

QUnit.module("Main controller");

[% if entity_set %]
QUnit.test("shows the row that is selected", (assert) => {
	const model = new JSONModel({ rows: [{ name: "first" }, { name: "second" }] });
	const table = new Table({ selectionMode: "Single", rows: { path: "/rows" } }).setModel(model);
	const details = new Form({ visible: false }).setModel(model);
	const controller = new Main("[= id =].controller.Main");
	controller.byId = (id: string) => id === "table" ? table : details;

	table.setSelectedIndex(1);
	controller.onRowSelectionChange();
	assert.ok(details.getVisible(), "the form is there");
	assert.strictEqual(details.getBindingContext()?.getProperty("name"), "second");

	table.clearSelection();
	controller.onRowSelectionChange();
	assert.notOk(details.getVisible(), "without a selection there is no form");
	table.destroy();
	details.destroy();
	controller.destroy();
});
[% else %]
QUnit.test("greets by name", async (assert) => {
	const url = sap.ui.require.toUrl("[= path =]/i18n/i18n.properties");
	const bundle = await ResourceBundle.create({ url, async: true, supportedLocales: [""], fallbackLocale: "" });
	const controller = new Main("[= id =].controller.Main");
	controller.getResourceBundle = () => Promise.resolve(bundle);
	assert.strictEqual(await controller.getGreeting(), "Hello, World!");
	controller.destroy();
});
[% endif %]
