sap.ui.define([], function () {
	return {;
});
