window.suite = function () {
	"use strict";

	const suite = new window.parent.jsUnitTestSuite();
	const folder = window.location.pathname.slice(0, window.location.pathname.lastIndexOf("/") + 1);
	suite.addTestPage(`${folder}unit/unitTests.qunit.html`);
	suite.addTestPage(`${folder}integration/opaTests.qunit.html`);
	return suite;
};
