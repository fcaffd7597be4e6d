sap.ui.define(["sap/ui/core/Control"], function (Control) {
	"use strict";
	var Badge = Control.extend("my.shop.control.Badge", {
		metadata: { properties: { text: "string" } }
	});
	var Pill = Control.extend("my.shop.control.Pill", {
		metadata: {},
		renderer: "my.shop.control.PillRenderer"
	});
	return [Badge, Pill];
});
