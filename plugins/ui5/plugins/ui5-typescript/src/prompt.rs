//! The prompt that converts a project to TypeScript.

use portcullis_plugin::prelude::*;

/// The default scope.
const WHOLE: &str = "the whole project";

/// The suggested scopes.
const SCOPES: [&str; 6] = [
    WHOLE,
    "the controllers",
    "the models and formatters",
    "the custom controls",
    "the unit and integration tests",
    "the setup alone, so that JavaScript and TypeScript can stand side by side",
];

/// Converts a UI5 project from JavaScript to TypeScript, step by step, so that the project works after each step.
#[arguments]
pub struct Convert {
    /// The root directory of the UI5 project, as an absolute path.
    project_dir: String,
    /// What to convert, in your own words. Default: the whole project.
    scope: Option<String>,
}

impl Prompt for Convert {
    const NAME: &'static str = "convert_ui5_to_typescript";
    const TITLE: Option<&'static str> = Some("Convert UI5 to TypeScript");

    fn get(self, _request: &Request) -> Result<Messages, Failure> {
        let Self { project_dir, scope } = self;
        let scope = scope.filter(|scope| !scope.trim().is_empty());
        let scope = scope.as_deref().unwrap_or(WHOLE);
        Ok(Messages::new().user(format!(
            "Convert the UI5 project in {project_dir} from JavaScript to TypeScript. To be converted: \
             {scope}.

1. Call `get_typescript_conversion_guidelines` and keep to what it says, also to the order of the work.
2. Call `get_project_info` for that directory, and look at `package.json`, `ui5.yaml` and `tsconfig.json`, \
             if there is one: something may have been converted before.
3. Note what works now: start the build, the tests and `run_ui5_linter`. Report what fails already, but do \
             not repair it in the same step as the conversion.
4. Set up what is missing, then convert file by file. Begin with the files that depend on no \
             other file. Rename each file so that its history is kept. Do not change comments or behaviour.
5. Use the types that UI5 declares: ask `get_api_reference` instead of guessing. No `any` and no \
             `@ts-ignore` without a comment that says why.
6. After each group of files: compile without errors, and run the tests.
7. At the end, `run_ui5_linter` must find nothing new, the build must work, and the tests must pass. \
             Report what was converted, what was left, and what the user has to decide."
        )))
    }

    fn complete(
        _request: &Request,
        argument: &str,
        value: &str,
        _context: &[(String, String)],
    ) -> Vec<String> {
        let typed = value.to_lowercase();
        let scopes = SCOPES.iter().filter(|scope| argument == "scope" && scope.contains(&typed));
        scopes.map(|scope| (*scope).to_owned()).collect()
    }
}
