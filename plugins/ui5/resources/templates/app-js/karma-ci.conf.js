// Runs the tests once, without a window: npm run karma-ci
module.exports = function (config) {
	require("./karma.conf")(config);
	config.set({
		browsers: ["CI"],
		customLaunchers: {
			CI: {
				base: "ChromeHeadless",
				// Containers run as root, which Chrome's own sandbox does not allow.
				flags: process.getuid?.() === 0 ? ["--no-sandbox"] : []
			}
		},
		singleRun: true
	});
};
