//! The tool `run_ui5_linter`: runs the UI5 linter on a project.

mod answer;
mod files;
mod linter;
mod pages;
mod prompt;

use portcullis_plugin::prelude::*;
use serde_json::Value;
use std::path::Path;
use ui5::{Detail, detail, project};
use ui5_lint_context::Details;

/// Finds problems in a UI5 project, such as deprecated API, and can fix some. Run it again after each change. Lists the findings by file, with rule, line and advice.
#[arguments]
struct Lint {
    /// Absolute path of the project's folder, or of anything in it.
    #[path(directory, read, nearest = ["ui5-local.yaml", "ui5.yaml", "package.json", "webapp", "src"])]
    #[path(directory, write, when = "fix", nearest = ["ui5-local.yaml", "ui5.yaml", "package.json", "webapp", "src"])]
    project_dir: String,
    /// Fix in the files what the linter can fix. The answer has the findings that remain.
    #[serde(default)]
    fix: bool,
    /// Files or patterns to lint. Default: all files.
    file_patterns: Option<Vec<String>>,
    /// Whether to add rules, documentation and API to the findings. One such answer per project is enough.
    #[serde(default = "yes")]
    provide_context_information: bool,
    /// 'brief': under 2,000 tokens, with the most severe findings. 'full': more findings, and texts of documentation. Default: 'brief', unless the operator set 'full'.
    detail: Option<Detail>,
    /// Number of findings to skip: see the previous answer.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000))]
    offset: u32,
}

fn yes() -> bool {
    true
}

/// The linter's findings.
#[data]
struct Findings {
    project_dir: String,
    /// The version of UI5 used in the project
    #[serde(skip_serializing_if = "Option::is_none")]
    framework_version: Option<String>,
    #[schemars(with = "Vec<FileFindings>")]
    results: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Context>")]
    context_information: Option<Value>,
    /// Remarks about the answer, such as what it leaves out and how to get that
    #[serde(skip_serializing_if = "Option::is_none")]
    remark: Option<String>,
}

/// Linting results for a single file in the project
#[data]
struct FileFindings {
    file_path: String,
    messages: Vec<Finding>,
}

#[data]
struct Finding {
    rule_id: String,
    /// 2 = error, 1 = warning
    severity: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fatal: Option<bool>,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_details: Option<String>,
}

#[data]
struct Context {
    /// Brief descriptions of the rules that were found to be violated in the project
    rule_descriptions: Vec<RuleDescription>,
    /// For problems the linter can't fix automatically, "fix hint" documents may be provided as guidance for manually resolving them.
    migration_guides: Vec<Document>,
    /// Short extracts from the UI5 API reference for the APIs mentioned in the linter report. Empty in brief answers
    api_references: Vec<Value>,
    /// Relevant pages in the UI5 documentation that may help to understand the findings and how to resolve them best.
    documentation_resources: Vec<Document>,
}

#[data]
struct RuleDescription {
    rule_id: String,
    description: String,
}

#[data]
struct Document {
    title: String,
    /// Missing from brief answers
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    uri: String,
}

impl Tool for Lint {
    const NAME: &'static str = "run_ui5_linter";
    const TITLE: Option<&'static str> = Some("UI5 linter");
    const HINTS: Hints = Hints::new().read_only(false);
    type Output = Reply;

    fn output_schema() -> Option<Value> {
        <Json<Findings> as IntoReply>::schema()
    }

    fn call(self, request: &Request) -> Result<Reply, Failure> {
        let detail = Detail::of(self.detail).map_err(Failure::new)?;
        let project = project::find(&self.project_dir).map_err(Failure::new)?;
        request.progress(0.0, None, "linting");
        let patterns = self.file_patterns.as_deref().map(|all| relative(all, &project.directory));
        let report = linter::lint(&project.directory, patterns, self.fix).map_err(Failure::new)?;
        let offset = usize::try_from(self.offset)?;
        let with_context = self.provide_context_information;
        // With context, the details are shown once; without context, every finding has its details.
        let details = if with_context { Details::Once } else { Details::Repeated };
        match detail {
            Detail::Brief => answer::brief(&project, report, details, offset, with_context),
            Detail::Full => answer::full(&project, report, details, offset, with_context),
        }
    }
}

/// File patterns for the linter, relative to the project.
fn relative(patterns: &[String], directory: &str) -> Vec<String> {
    let relative = |pattern: &String| {
        let beneath = Path::new(pattern).strip_prefix(directory).ok().and_then(Path::to_str);
        beneath.unwrap_or(pattern).to_owned()
    };
    patterns.iter().map(relative).collect()
}

plugin! {
    name: "ui5-linter",
    title: "UI5 linter",
    description: "Runs the UI5 linter on a project, and explains its findings.",
    tools: [Lint],
    prompts: [prompt::Fix],
    resources: pages::Pages,
    wants: [
        Want::process(linter::COMMAND, "to run the UI5 linter, which is written in JavaScript"),
        Want::directory("$data-dir", "to look up the API that the findings mention").optional(),
        Want::settings("data-dir", "the absolute path of the UI5 data directory, which get_api_reference fills"),
        Want::settings(ui5::embedded::SETTING, "set to any text: answers have texts instead of resources, for clients that cannot show resources"),
        Want::settings(detail::SETTING, "`full`: calls without `detail` get full answers; `brief` or unset: they get brief answers"),
        Want::settings("findings-bytes", "maximum number of bytes of findings in a full answer; default: 40000"),
        Want::settings("api-bytes", "maximum number of bytes of API references in a full answer; default: 24000"),
    ],
}

#[cfg(test)]
mod tests;
