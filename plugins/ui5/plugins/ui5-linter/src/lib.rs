//! The tool `run_ui5_linter`: runs the UI5 linter on a project.

mod files;
mod linter;
mod pages;
mod prompt;

use portcullis_plugin::prelude::*;
use serde_json::Value;
use std::path::Path;
use ui5::{
    embedded::embed,
    project::{self, Project},
    reference::{DATA_SETTING, Reference, Release},
};
use ui5_lint_context::{Part, within_budget};

/// Most bytes of findings in one answer, unless the setting `findings-bytes` is set.
const FINDINGS_BYTES: usize = 40_000;

/// Most bytes of API descriptions in one answer, unless the setting `api-bytes` is set.
const API_BYTES: usize = 24_000;

/// Run UI5 linter on a UI5 project to find and optionally fix UI5 related problems like the usage of deprecated API. After making changes, you should always run the linter again to verify that no new problems have been introduced.
#[arguments]
struct Lint {
    /// Root directory of the UI5 project to analyze. Must be an absolute path. Typically this the directory where the 'package.json' and 'ui5.yaml' files are located.
    #[path(directory, read, nearest = ["ui5-local.yaml", "ui5.yaml", "package.json", "webapp", "src"])]
    #[path(directory, write, when = "fix", nearest = ["ui5-local.yaml", "ui5.yaml", "package.json", "webapp", "src"])]
    project_dir: String,
    /// Attempt to automatically correct certain findings in the files. Only the remaining findings will be returned.
    #[serde(default)]
    fix: bool,
    /// File paths or patterns to lint. If not provided, all files in the project will be linted.
    file_patterns: Option<Vec<String>>,
    /// Whether to include supplementary information in the output. This includes UI5 API reference and documentation resources. When calling the tool multiple times for the same file or project, refrain from requesting additional context every time.
    #[serde(default = "yes")]
    provide_context_information: bool,
    /// How many findings to pass over: an earlier answer says where to go on when it could not hold all of them.
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
    /// Short extracts from the UI5 API reference for the APIs mentioned in the linter report
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
    text: String,
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
        let project = project::find(&self.project_dir).map_err(Failure::new)?;
        request.progress(0.0, None, "linting");
        let patterns = self.file_patterns.as_deref().map(|all| relative(all, &project.directory));
        let report = linter::lint(&project.directory, patterns, self.fix).map_err(Failure::new)?;
        let offset = usize::try_from(self.offset)?;
        let part = within_budget(report, number("findings-bytes", FINDINGS_BYTES)?, offset);
        answer(&project, part, self.provide_context_information)
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

fn number(setting: &str, otherwise: usize) -> Result<usize, Failure> {
    match settings::get(setting) {
        Some(text) => text.parse().or_fail(format!("the setting `{setting}` is no number")),
        None => Ok(otherwise),
    }
}

fn answer(project: &Project, part: Part, with_context: bool) -> Result<Reply, Failure> {
    let results = serde_json::to_value(&part.results)?;
    let mut reply = Reply::new().text(results.to_string());
    let mut context_information = None;
    if with_context {
        let mut reference = reference(project);
        let lookup = |name: &str| -> Vec<Value> {
            let found = reference.as_mut().ok().and_then(|known| known.summaries(name).ok());
            found.unwrap_or_default().into_iter().map(Value::Object).collect()
        };
        let context =
            ui5_lint_context::context(&part.results, lookup, number("api-bytes", API_BYTES)?);
        for guide in context.migration_guides.iter().chain(&context.documentation_resources) {
            reply = embed(reply, &guide.uri, "text/markdown", &guide.text);
        }
        let whole = serde_json::to_value(&context)?;
        if !context.api_references.is_empty() {
            let uri = format!("ui5-linter-result://{}/api-references.json", project.name);
            reply = embed(reply, uri, "application/json", whole["apiReferences"].to_string());
        }
        reply = reply.text(whole["ruleDescriptions"].to_string());
        if let Some(note) = remark(&reference, context.api_references_left) {
            reply = reply.text(note);
        }
        context_information = Some(whole);
    }
    if let Some(note) = &part.note {
        reply = reply.text(note);
    }
    let findings = Findings {
        project_dir: project.directory.clone(),
        framework_version: project.framework_version.clone(),
        results,
        context_information,
    };
    Ok(reply.structured(serde_json::to_value(findings)?))
}

/// The API reference of the project's UI5 version, or of the nearest version available.
fn reference(project: &Project) -> Result<Reference, String> {
    let directory = settings::get(DATA_SETTING).filter(|path| !path.is_empty());
    let directory = directory.ok_or_else(|| format!("The setting `{DATA_SETTING}` is not set"))?;
    Reference::at_hand(Path::new(&directory), &Release::of(project))
}

fn remark(reference: &Result<Reference, String>, left: usize) -> Option<String> {
    let mut remarks = Vec::new();
    match reference {
        Ok(reference) => remarks.extend(reference.note.clone()),
        Err(why) => remarks.push(format!(
            "There are no API references in this answer. {why}: get_api_reference fetches it."
        )),
    }
    if left > 0 {
        remarks.push(format!(
            "{left} more API references did not fit: ask get_api_reference for what you need."
        ));
    }
    (!remarks.is_empty()).then(|| remarks.join(" "))
}

plugin! {
    name: "ui5-linter",
    title: "UI5 linter",
    description: "Has the UI5 linter look at a project, and explains what it finds.",
    tools: [Lint],
    prompts: [prompt::Fix],
    resources: pages::Pages,
    wants: [
        Want::process(linter::COMMAND, "to run the UI5 linter, which is written in JavaScript"),
        Want::directory("$data-dir", "to look up the API that findings are about").optional(),
        Want::settings("data-dir", "the absolute path of the UI5 data directory, which get_api_reference fills"),
        Want::settings(ui5::embedded::SETTING, "anything, for clients that cannot show resources: answers are texts then"),
        Want::settings("findings-bytes", "how many bytes of findings an answer may hold; 40000 otherwise"),
        Want::settings("api-bytes", "how many bytes of API references an answer may hold; 24000 otherwise"),
    ],
}

#[cfg(test)]
mod tests;
