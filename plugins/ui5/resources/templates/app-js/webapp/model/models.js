sap.ui.define([
	"sap/ui/model/json/JSONModel",
	"sap/ui/Device"
], function (JSONModel, Device) {
	"use strict";

	/**
	 * Makes the models that the component sets itself.
	 */
	return {
		/**
		 * @returns {sap.ui.model.json.JSONModel} what is known of the device: `{device>/system/phone}`
		 */
		createDeviceModel() {
			const model = new JSONModel(Device);
			model.setDefaultBindingMode("OneWay");
			return model;
		}
	};
});
