/**
 * Shows the card as a host would, and its editor.
 */
sap.ui.define([
	"sap/ui/integration/Host",
	"sap/ui/integration/customElements/CustomElementCard",
	"sap/ui/integration/customElements/CustomElementCardEditor"
], function (Host) {
	"use strict";

	// Which destination is where. In production the host knows that.
	const destinations = new Map([
[% for destination in destinations %]
		["[= destination.name =]", "[= destination.default_url =]"][= "," if not loop.last else "" =]
[% endfor %]
	]);

	const card = document.getElementById("card");
	const configuration = document.getElementById("configuration");
	const editor = document.getElementById("editor");

	new Host("host", {
		resolveDestination(name) {
			const url = destinations.get(name);
			return url ? Promise.resolve(url) : Promise.reject(new Error(`There is no destination ${name}`));
		},
		actions: [{
			type: "Custom",
			text: "Configure",
			icon: "sap-icon://settings",
			action() {
				editor.card = { manifest: card.manifest, baseUrl: new URL("../card/", window.location.href).href, host: "host" };
				configuration.hidden = false;
			}
		}]
	});

	document.getElementById("apply").addEventListener("click", function () {
		card.manifestChanges = [editor.getCurrentSettings()];
	});

	document.getElementById("reset").addEventListener("click", function () {
		card.manifestChanges = [];
		configuration.hidden = true;
	});
});
