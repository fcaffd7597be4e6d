// Runs the tests in a browser that stays open, again after each change: npm run karma
module.exports = function (config) {
	config.set({
		frameworks: ["ui5"],
		ui5: {
[% if since("1.124") %]
			testpage: "webapp/test/testsuite.qunit.html",
[% endif %]
			type: "application"
		},
		browsers: ["Chrome"],
		browserConsoleLogOptions: {
			level: "error"
		}
	});
};
