// The page loads this file as a plain script, so that QUnit waits for UI5.
QUnit.config.autostart = false;

sap.ui.require(["sap/ui/core/Core"], function (core) {
	"use strict";

	function start() {
		sap.ui.require(["test-resources/[= path =]/integration/HelloJourney"], function () {
			QUnit.start();
		});
	}

[% if since("1.118") %]
	core.ready().then(start);
[% else %]
	core.attachInit(start);
[% endif %]
});
