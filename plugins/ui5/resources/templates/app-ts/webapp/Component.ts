import UIComponent from "sap/ui/core/UIComponent";
[% if since("1.115") %]
import Device from "sap/ui/Device";
[% else %]
import * as Device from "sap/ui/Device";
[% endif %]
import models from "./model/models";

/**
 * @namespace [= id =]
 */
export default class Component extends UIComponent {
	public static metadata = {
		manifest: "json",
		interfaces: ["sap.ui.core.IAsyncContentCreation"]
	};

	private contentDensityClass: string;

	public init(): void {
		super.init();
		this.setModel(models.createDeviceModel(), "device");
		this.getRouter().initialize();
	}

	/**
	 * The CSS class for the size of controls: cozy for fingers, compact for a mouse.
	 *
	 * @returns "" where whoever embeds the app has decided already
	 */
	public getContentDensityClass(): string {
		if (this.contentDensityClass === undefined) {
			if (document.body.classList.contains("sapUiSizeCozy") || document.body.classList.contains("sapUiSizeCompact")) {
				this.contentDensityClass = "";
			} else {
				this.contentDensityClass = Device.support.touch ? "sapUiSizeCozy" : "sapUiSizeCompact";
			}
		}
		return this.contentDensityClass;
	}
}
