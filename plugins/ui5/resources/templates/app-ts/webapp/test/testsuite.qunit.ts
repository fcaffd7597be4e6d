/**
 * Which tests there are, and how they are run.
 */
export default {
	name: "Tests of [= id =]",
	defaults: {
		page: "ui5://test-resources/[= path =]/Test.qunit.html?testsuite={suite}&test={name}",
		qunit: {
			version: 2
		},
		ui5: {
			theme: "[= theme =]"
		},
		coverage: {
			only: ["[= path =]/"],
			never: ["test-resources/[= path =]/"]
		},
		loader: {
			paths: {
				"[= path =]": "../"
			}
		}
	},
	tests: {
		"unit/unitTests": {
			title: "Unit tests of [= id =]"
		},
		"integration/opaTests": {
			title: "Integration tests of [= id =]"
		}
	}
};
