//! Validates a model's specification or document before it is shown.

use crate::{dry_run, spec, stored_views::Body};
use portcullis_plugin::{
    catalog::Entry,
    serde_json::{self, Value},
};

/// A valid specification or document of a model.
#[derive(Debug)]
pub struct CheckedOutput {
    /// The content of the view.
    pub body: Body,
    /// The pointers that could not be verified; see `dry_run`.
    pub unverified: Vec<String>,
}

/// Validates an answer that should be a specification or a document.
pub fn answer(
    text: &str,
    tool: &Entry,
    last: Option<&Value>,
    document: bool,
    most: usize,
) -> Result<CheckedOutput, Vec<String>> {
    if document {
        return self::document(text, most);
    }
    let json = object_in(text).ok_or_else(|| vec!["there is no JSON object in it".to_owned()])?;
    let value =
        serde_json::from_str(json).map_err(|error| vec![format!("it is not JSON: {error}")])?;
    specification(value, tool, last)
}

/// Validates a specification.
pub fn specification(
    value: Value,
    tool: &Entry,
    last: Option<&Value>,
) -> Result<CheckedOutput, Vec<String>> {
    let mut problems: Vec<String> = spec::check(&value).iter().map(ToString::to_string).collect();
    let mut unverified = Vec::new();
    if problems.is_empty() {
        let run = dry_run::check(&value, tool, last);
        problems = run.problems.iter().map(ToString::to_string).collect();
        unverified = run.unverified;
    }
    if problems.is_empty() {
        // The model wrote all text of the specification, and may have been manipulated.
        problems = ui_check::manipulation_signs(&value.to_string());
    }
    let body = Body::Specification(value);
    if problems.is_empty() { Ok(CheckedOutput { body, unverified }) } else { Err(problems) }
}

/// Validates a document and repairs it where possible.
pub fn document(text: &str, most: usize) -> Result<CheckedOutput, Vec<String>> {
    let judged = ui_check::check(text, most);
    let body = Body::Document(judged.html);
    let unverified = Vec::new();
    if judged.faults.is_empty() {
        Ok(CheckedOutput { body, unverified })
    } else {
        Err(judged.faults)
    }
}

/// The outermost JSON object in a text, without the text or code fence around it.
fn object_in(text: &str) -> Option<&str> {
    let start = text.find('{')?;
    let end = text.rfind('}')?;
    text.get(start..=end)
}
