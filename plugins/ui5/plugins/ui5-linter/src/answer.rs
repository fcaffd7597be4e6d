//! The tool's answers: a brief one within 2,000 tokens, and a full one with the texts of the context.

use crate::Findings;
use portcullis_plugin::prelude::*;
use serde_json::Value;
use std::{fmt::Write as _, path::Path};
use ui5::{
    embedded::embed,
    project::Project,
    reference::{DATA_SETTING, Reference, Release},
};
use ui5_lint_context::{Details, FileFindings, Finding, Severity, api_names, within_budget};

/// Maximum size of the findings in a full answer, in bytes; the setting `findings-bytes` changes it.
const FINDINGS_BYTES: usize = 40_000;

/// Maximum size of API descriptions in a full answer, in bytes; the setting `api-bytes` changes it.
const API_BYTES: usize = 24_000;

/// Maximum size of the findings in a brief answer, in bytes of JSON; their text is about as long.
const BRIEF_FINDINGS_BYTES: usize = 2_100;

/// Maximum size of the rules in a brief answer, in bytes. The answer has the rules twice, as text and as
/// JSON.
const BRIEF_RULES_BYTES: usize = 700;

/// Maximum number of documentation pages, and of API names, in a brief answer.
const BRIEF_NAMES: usize = 5;

/// The answer in brief: findings line by line, the rules, titles of documents, and names of API.
pub fn brief(
    project: &Project,
    report: Vec<FileFindings>,
    details: Details,
    offset: usize,
    with_context: bool,
) -> Result<Reply, Failure> {
    let part = within_budget(report, details, BRIEF_FINDINGS_BYTES, offset);
    let mut reply = Reply::new().text(lines(&part.results));
    let mut remarks: Vec<String> = part.note.into_iter().collect();
    if !remarks.is_empty() && part.next.is_some() {
        remarks.push("`detail` `full` shows more at once.".to_owned());
    }
    let context = with_context.then(|| ui5_lint_context::context(&part.results, |_| Vec::new(), 0));
    let mut context_information = None;
    if let Some(mut context) = context {
        let mut bytes_left = BRIEF_RULES_BYTES;
        context.rule_descriptions.retain(|rule| {
            let fits = rule.rule_id.len() + rule.description.len() <= bytes_left;
            bytes_left -= if fits { rule.rule_id.len() + rule.description.len() } else { 0 };
            fits
        });
        let rules = context.rule_descriptions.iter();
        let rules: Vec<String> =
            rules.map(|rule| format!("{}: {}", rule.rule_id, rule.description)).collect();
        if !rules.is_empty() {
            reply = reply.text(rules.join("\n"));
        }
        context.documentation_resources.truncate(BRIEF_NAMES);
        let documents = context.migration_guides.iter().chain(&context.documentation_resources);
        let titles: Vec<String> = documents.map(|document| document.title.clone()).collect();
        remarks.extend(reading_hints(&titles, &api_names(&part.results)));
        let mut json = serde_json::to_value(&context)?;
        for documents in ["migrationGuides", "documentationResources"] {
            let documents = json[documents].as_array_mut().into_iter().flatten();
            documents.filter_map(Value::as_object_mut).for_each(|document| {
                document.remove("text");
            });
        }
        context_information = Some(json);
    }
    let results = serde_json::to_value(&part.results)?;
    finish(reply, project, results, context_information, &remarks)
}

/// The answer in full: as many findings as fit, and the texts of the context.
pub fn full(
    project: &Project,
    report: Vec<FileFindings>,
    details: Details,
    offset: usize,
    with_context: bool,
) -> Result<Reply, Failure> {
    let part =
        within_budget(report, details, number_setting("findings-bytes", FINDINGS_BYTES)?, offset);
    let results = serde_json::to_value(&part.results)?;
    let mut reply = Reply::new().text(results.to_string());
    let mut remarks = Vec::new();
    let mut context_information = None;
    if with_context {
        let mut reference = reference(project);
        let lookup = |name: &str| -> Vec<Value> {
            let found =
                reference.as_mut().ok().and_then(|reference| reference.summaries(name).ok());
            found.unwrap_or_default().into_iter().map(Value::Object).collect()
        };
        let context = ui5_lint_context::context(
            &part.results,
            lookup,
            number_setting("api-bytes", API_BYTES)?,
        );
        for guide in context.migration_guides.iter().chain(&context.documentation_resources) {
            reply = embed(reply, &guide.uri, "text/markdown", &guide.text);
        }
        let json = serde_json::to_value(&context)?;
        if !context.api_references.is_empty() {
            let uri = format!("ui5-linter-result://{}/api-references.json", project.name);
            reply = embed(reply, uri, "application/json", json["apiReferences"].to_string());
        }
        reply = reply.text(json["ruleDescriptions"].to_string());
        remarks.extend(about_reference(&reference, context.api_references_left));
        context_information = Some(json);
    }
    remarks.extend(part.note);
    finish(reply, project, results, context_information, &remarks)
}

/// Adds the remarks and the structured content.
fn finish(
    reply: Reply,
    project: &Project,
    results: Value,
    context_information: Option<Value>,
    remarks: &[String],
) -> Result<Reply, Failure> {
    let remark = (!remarks.is_empty()).then(|| remarks.join(" "));
    let reply = match &remark {
        Some(remark) => reply.text(remark),
        None => reply,
    };
    let findings = Findings {
        project_dir: project.directory.clone(),
        framework_version: project.framework_version.clone(),
        results,
        context_information,
        remark,
    };
    Ok(reply.structured(serde_json::to_value(findings)?))
}

/// The findings as text: the path of each file, and its findings below, one on a line.
fn lines(files: &[FileFindings]) -> String {
    if files.is_empty() {
        return "No findings.".to_owned();
    }
    let mut text = String::new();
    for file in files {
        let _ = writeln!(text, "{}", file.file_path);
        file.messages.iter().for_each(|finding| push_finding(&mut text, finding));
    }
    text
}

fn push_finding(text: &mut String, finding: &Finding) {
    let place = [finding.line, finding.column].map(|number| number.unwrap_or_default());
    let severity = match (finding.fatal, finding.severity) {
        (Some(true), _) => "fatal",
        (_, Severity::Error) => "error",
        (_, Severity::Warning) => "warning",
    };
    let [row, column] = place;
    let _ = write!(text, "  {row}:{column} {severity} {}: {}", finding.rule_id, finding.message);
    if let Some(details) = finding.message_details.as_deref().filter(|text| !text.is_empty()) {
        let details: Vec<&str> = details.split_whitespace().collect();
        let _ = write!(text, " ({})", details.join(" "));
    }
    text.push('\n');
}

/// The sentences that name documents and API descriptions for the findings, and how to get them.
fn reading_hints(titles: &[String], names: &[String]) -> Option<String> {
    let mut sentences = Vec::new();
    if !titles.is_empty() {
        sentences.push(format!("`detail` `full` also has these texts: {}.", titles.join("; ")));
    }
    if !names.is_empty() {
        let shown: Vec<&str> = names.iter().take(BRIEF_NAMES).map(String::as_str).collect();
        sentences.push(format!("To look up with get_api_reference: {}.", shown.join(", ")));
    }
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

fn number_setting(setting: &str, default: usize) -> Result<usize, Failure> {
    match settings::get(setting) {
        Some(text) => text.parse().or_fail(format!("the setting `{setting}` is not a number")),
        None => Ok(default),
    }
}

/// The API reference of the project's UI5 version, or of the nearest version available.
fn reference(project: &Project) -> Result<Reference, String> {
    let directory = settings::get(DATA_SETTING).filter(|path| !path.is_empty());
    let directory = directory.ok_or_else(|| format!("The setting `{DATA_SETTING}` is not set"))?;
    Reference::at_hand(Path::new(&directory), &Release::of(project))
}

/// The sentences about the API reference: which one was used, or why there is none, and how many descriptions
/// did not fit.
fn about_reference(reference: &Result<Reference, String>, left: usize) -> Option<String> {
    let mut remarks = Vec::new();
    match reference {
        Ok(reference) => remarks.extend(reference.note.clone()),
        Err(why) => remarks.push(format!(
            "There are no API references in this answer: ask get_api_reference for what you need. {why}."
        )),
    }
    if left > 0 {
        remarks.push(format!(
            "{left} more API references did not fit: ask get_api_reference for what you need."
        ));
    }
    (!remarks.is_empty()).then(|| remarks.join(" "))
}
