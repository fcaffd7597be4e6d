// All unit tests: list a new one here.
sap.ui.define([
	"./controller/Main.qunit"
]);
