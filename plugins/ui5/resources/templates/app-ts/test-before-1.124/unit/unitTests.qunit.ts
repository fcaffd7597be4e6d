// No import and no export here: the page loads this file as a plain script, so that QUnit waits.
QUnit.config.autostart = false;

sap.ui.require(["sap/ui/core/Core"], (core: { ready(): Promise<void>; attachInit(started: () => void): void }) => {
	const start = () => sap.ui.require(["test-resources/[= path =]/unit/controller/Main.qunit"], () => QUnit.start());
[% if since("1.118") %]
	void core.ready().then(start);
[% else %]
	core.attachInit(start);
[% endif %]
});
