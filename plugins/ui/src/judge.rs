//! Is what a model wrote fit to be shown?

use crate::{dry_run, kept::Body, spec};
use portcullis_plugin::{
    catalog::Entry,
    serde_json::{self, Value},
};

/// Judges an answer that should be a specification, or a document.
pub fn answer(
    text: &str,
    tool: &Entry,
    last: Option<&Value>,
    document: bool,
    most: usize,
) -> Result<Body, Vec<String>> {
    if document {
        return self::document(text, most);
    }
    let json = object_in(text).ok_or_else(|| vec!["there is no JSON object in it".to_owned()])?;
    let value =
        serde_json::from_str(json).map_err(|error| vec![format!("it is not JSON: {error}")])?;
    specification(value, tool, last)
}

/// Judges a specification.
pub fn specification(
    value: Value,
    tool: &Entry,
    last: Option<&Value>,
) -> Result<Body, Vec<String>> {
    let mut problems: Vec<String> = spec::check(&value).iter().map(ToString::to_string).collect();
    if problems.is_empty() {
        problems = dry_run::check(&value, tool, last).iter().map(ToString::to_string).collect();
    }
    if problems.is_empty() {
        // What is not shown as data was written by the model: it may have been talked into it.
        problems = ui_check::contamination(&value.to_string());
    }
    if problems.is_empty() { Ok(Body::Specification(value)) } else { Err(problems) }
}

/// Judges a document, and repairs what can be.
pub fn document(text: &str, most: usize) -> Result<Body, Vec<String>> {
    let judged = ui_check::check(text, most);
    if judged.faults.is_empty() { Ok(Body::Document(judged.html)) } else { Err(judged.faults) }
}

/// The outermost object in a text that may have words or a code fence around it.
fn object_in(text: &str) -> Option<&str> {
    let start = text.find('{')?;
    let end = text.rfind('}')?;
    text.get(start..=end)
}
