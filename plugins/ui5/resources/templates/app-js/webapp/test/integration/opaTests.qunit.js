// All integration tests: list a new journey here.
sap.ui.define([
	"./HelloJourney"
]);
