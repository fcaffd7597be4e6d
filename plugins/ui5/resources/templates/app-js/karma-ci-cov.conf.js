// Runs the tests once and measures what they cover: npm run karma-ci-cov
module.exports = function (config) {
	require("./karma-ci.conf")(config);
	config.set({
		reporters: ["progress", "coverage"],
		preprocessors: {
			"webapp/!(test)/**/*.js": ["coverage"],
			"webapp/*.js": ["coverage"]
		},
		coverageReporter: {
			dir: "coverage",
			reporters: [
				{ type: "html", subdir: "report" },
				{ type: "text" }
			]
		}
	});
};
