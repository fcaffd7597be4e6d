//! The prompt `fix_ui5_linter_findings`.

use portcullis_plugin::prelude::*;

/// Suggested patterns; any pattern is accepted.
const PATTERNS: [&str; 5] = [
    "webapp/**",
    "webapp/**/*.controller.*",
    "webapp/**/*.view.xml",
    "webapp/manifest.json",
    "src/**",
];

/// Fixes what the UI5 linter finds in a project, until nothing that can be fixed is left.
#[arguments]
pub struct Fix {
    /// The root directory of the UI5 project, as an absolute path.
    project_dir: String,
    /// The files to fix, as patterns with commas between them, such as `webapp/controller/**`. Default: all files.
    file_patterns: Option<String>,
}

impl Prompt for Fix {
    const NAME: &'static str = "fix_ui5_linter_findings";
    const TITLE: Option<&'static str> = Some("Fix all findings of the UI5 linter");

    fn get(self, _request: &Request) -> Result<Messages, Failure> {
        let project = self.project_dir;
        let patterns = self.file_patterns.unwrap_or_default();
        let patterns: Vec<&str> =
            patterns.split(',').map(str::trim).filter(|pattern| !pattern.is_empty()).collect();
        let which = match patterns.is_empty() {
            true => String::new(),
            false => {
                format!(" Always call `run_ui5_linter` with `filePatterns` {}.", json!(patterns))
            }
        };
        Ok(Messages::new().user(format!(
            "Fix what the UI5 linter finds in the UI5 project {project}, until it finds nothing that can be \
             fixed.{which}

1. Call `get_guidelines`, unless you have done so before, and keep to what it says.
2. Call `run_ui5_linter` with `projectDir` {project}. Its answer has the most severe findings; where \
             it says that there are more, ask for them with `offset`, or with `detail` `full`.
3. Look for uncommitted changes. If there are any, ask the user before you go \
             on. If not, call `run_ui5_linter` with `fix`, which corrects what can be corrected by a machine, and \
             look at what it has changed.
4. Fix the rest by hand: errors before warnings, and the findings of one rule together. First read the \
             migration guides and documentation pages that the answer names (`detail` `full` has their texts), and \
             ask `get_api_reference` what replaces an API instead of guessing. Do not change what the application does.
5. Do not silence a finding with a comment or in a configuration, unless the user agrees for this finding.
6. Call `run_ui5_linter` again, with `provideContextInformation` false, and repeat steps 4 to 6 until \
             nothing is left but what you cannot fix. After changes to a manifest.json, call \
             `run_manifest_validation`.
7. Run the tests of the project and its build, if it has them. Report what was found, what you changed, \
             and what is left and why."
        )))
    }

    fn complete(
        _request: &Request,
        argument: &str,
        value: &str,
        _context: &[(String, String)],
    ) -> Vec<String> {
        let (before, typed) = match value.rsplit_once(',') {
            Some((before, typed)) => (format!("{before}, "), typed.trim_start()),
            None => (String::new(), value),
        };
        let fits = |pattern: &&&str| argument == "filePatterns" && pattern.starts_with(typed);
        PATTERNS.iter().filter(fits).map(|pattern| format!("{before}{pattern}")).collect()
    }
}
