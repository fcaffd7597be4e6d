sap.ui.define([
	"sap/ui/core/mvc/Controller",
	"sap/ui/core/Core",
	"sap/m/MessagePage",
	"sap/m/ButtonType",
	"sap/m/library",
	"sap/m/Text",
	"sap/ui/table/Table"
], function (Controller, Core, MessagePage, ButtonType, mobileLibrary, Text, Table) {
	"use strict";
	return Controller.extend("my.shop.controller.Orders", {
		onInit: function () {
			this.table = new Table({ visibleRowCount: 10, visibleRowCountMode: "Auto", rowHeight: 30 });
			this.other = new Table({ visibleRowCount: 5, minAutoRowCount: 3, fixedRowCount: 1, fixedBottomRowCount: 1 });
			this.page = new MessagePage({ text: Core.getLibraryResourceBundle("sap.m").getText("ERROR") });
			this.text = new Text({ text: { path: "Amount", formatter: "my.shop.util.Format.amount" } });
			this.button = new mobileLibrary.Button({ type: ButtonType.Accept });
			Core.byId("x");
			Core.byId("y");
		}
	});
});
