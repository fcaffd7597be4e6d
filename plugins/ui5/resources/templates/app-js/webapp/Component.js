sap.ui.define([
	"sap/ui/core/UIComponent",
	"sap/ui/Device",
	"./model/models"
], function (UIComponent, Device, models) {
	"use strict";

	return UIComponent.extend("[= id =].Component", {
		metadata: {
			manifest: "json",
			interfaces: ["sap.ui.core.IAsyncContentCreation"]
		},

		init() {
			UIComponent.prototype.init.apply(this, arguments);
			this.setModel(models.createDeviceModel(), "device");
			this.getRouter().initialize();
		},

		/**
		 * The CSS class for the size of controls: cozy for fingers, compact for a mouse.
		 *
		 * @returns {string} "" where whoever embeds the app has decided already
		 */
		getContentDensityClass() {
			if (this._contentDensityClass === undefined) {
				if (document.body.classList.contains("sapUiSizeCozy") || document.body.classList.contains("sapUiSizeCompact")) {
					this._contentDensityClass = "";
				} else {
					this._contentDensityClass = Device.support.touch ? "sapUiSizeCozy" : "sapUiSizeCompact";
				}
			}
			return this._contentDensityClass;
		}
	});
});
