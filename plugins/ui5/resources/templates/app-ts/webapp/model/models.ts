import JSONModel from "sap/ui/model/json/JSONModel";
[% if since("1.115") %]
import Device from "sap/ui/Device";
[% else %]
import * as Device from "sap/ui/Device";
[% endif %]

/**
 * Makes the models that the component sets itself.
 */
export default {
	/**
	 * What is known of the device, to be read in views: `{device>/system/phone}`.
	 */
	createDeviceModel(this: void): JSONModel {
		const model = new JSONModel(Device);
		model.setDefaultBindingMode("OneWay");
		return model;
	}
};
