// No import and no export here: the page loads this file as a plain script.
type Suite = { addTestPage(url: string): void };
type SuiteWindow = Window & { suite: () => Suite; jsUnitTestSuite: new () => Suite };

(window as unknown as SuiteWindow).suite = () => {
	const suite = new (window.parent as unknown as SuiteWindow).jsUnitTestSuite();
	const folder = window.location.pathname.slice(0, window.location.pathname.lastIndexOf("/") + 1);
	suite.addTestPage(`${folder}unit/unitTests.qunit.html`);
	suite.addTestPage(`${folder}integration/opaTests.qunit.html`);
	return suite;
};
