const js = require("@eslint/js");
const globals = require("globals");

module.exports = [
	{
		ignores: ["coverage/", "dist/"]
	},
	js.configs.recommended,
	{
		files: ["webapp/**/*.js"],
		languageOptions: {
			ecmaVersion: 2022,
			sourceType: "script",
			globals: {
				...globals.browser,
				sap: "readonly"
			}
		}
	},
	{
		files: ["webapp/test/**/*.js"],
		languageOptions: {
			globals: globals.qunit
		}
	},
	{
		files: ["*.js"],
		languageOptions: {
			sourceType: "commonjs",
			globals: globals.node
		}
	}
];
