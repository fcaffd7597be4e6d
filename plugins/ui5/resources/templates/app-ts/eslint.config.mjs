import globals from "globals";
import js from "@eslint/js";
import tseslint from "typescript-eslint";

export default tseslint.config(
	{
		ignores: ["eslint.config.mjs", "coverage/", "dist/", "tmp/"]
	},
	js.configs.recommended,
	...tseslint.configs.recommendedTypeChecked,
	{
		files: ["webapp/**/*.ts"],
		languageOptions: {
			globals: {
				...globals.browser,
				sap: "readonly"
			},
			ecmaVersion: 2023,
			parserOptions: {
				project: true,
				tsconfigRootDir: import.meta.dirname
			}
		}
	},
	{
		files: ["webapp/test/**/*.ts"],
		rules: {
			// QUnit waits for the promises of tests, though its types do not say so.
			"@typescript-eslint/no-misused-promises": ["error", { checksVoidReturn: { arguments: false } }]
		}
	}
);
