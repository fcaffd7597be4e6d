sap.ui.define(["sap/ui/core/UIComponent"], function (UIComponent) {
	"use strict";
	return UIComponent.extend("my.shop.Component", {
		metadata: {}
	});
});
