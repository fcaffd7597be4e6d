//! Describes the errors of a configuration file, with the lines they refer to.

use super::{
    schema::{Kind, Violation},
    yaml::{Document, Place, escape},
};
use serde_json::Value;

/// The file with the configuration.
pub struct File<'f> {
    /// Its path.
    pub path: &'f str,
    /// The whole text.
    pub text: &'f str,
}

/// A report of all violations except [`Kind::Alternatives`], or `None` if there are no others.
pub fn report(violations: &[Violation], document: &Document, file: &File<'_>) -> Option<String> {
    let mut told: Vec<&Violation> = Vec::new();
    for violation in violations {
        if violation.kind != Kind::Alternatives && !told.contains(&violation) {
            told.push(violation);
        }
    }
    if told.is_empty() {
        return None;
    }
    let parts: Vec<String> =
        told.into_iter().map(|violation| one(violation, document, file)).collect();
    Some(format!(
        "Invalid ui5.yaml configuration for project {}\n\n{}",
        super::MODULE,
        parts.join("\n\n\n\n")
    ))
}

/// The line of a place and the two lines before it, numbered, with a caret under the place.
pub fn frame(text: &str, place: Place) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let last = place.line.min(lines.len());
    let first = place.line.saturating_sub(2).max(1);
    let width = last.to_string().len();
    let mut frame = String::new();
    for line in first..=last {
        frame.push_str(&format!("{line:>width$}: {}\n", lines[line - 1]));
    }
    frame.push_str(&" ".repeat(place.column + width + 1));
    frame.push('^');
    frame
}

fn one(violation: &Violation, document: &Document, file: &File<'_>) -> String {
    let message = message(violation);
    let (first, rest) = message
        .split_once('\n')
        .map_or((message.as_str(), None), |(first, rest)| (first, Some(rest)));
    let extract = match place(violation, document) {
        Some(place) => {
            format!("{}:{}\n\n{}", file.path, place.line, frame(file.text, place))
        }
        None => format!("{}\n", file.path),
    };
    let rest = rest.map(|rest| format!("\n{rest}")).unwrap_or_default();
    format!("{first}\n\n{extract}{rest}")
}

fn message(violation: &Violation) -> String {
    let subject = match violation.pointer.strip_prefix('/') {
        Some(pointer) => format!("Configuration {pointer} "),
        None => "Configuration ".to_owned(),
    };
    match &violation.kind {
        Kind::Told(message) => message.clone(),
        Kind::AdditionalProperty(name) => {
            format!("{subject}property {name} must not be provided here")
        }
        Kind::Required(name) => format!("{subject}must have required property '{name}'"),
        Kind::Type(name) => format!("{subject}must be of type '{name}'"),
        Kind::Enum(allowed) => {
            let allowed: Vec<String> = allowed.iter().map(in_javascript).collect();
            let allowed = allowed.join(", ");
            format!(
                "{subject}must be equal to one of the allowed values\nAllowed values: {allowed}"
            )
        }
        Kind::Other(message) => format!("{subject}{message}"),
        Kind::Alternatives => format!("{subject}must match exactly one alternative"),
    }
}

/// The text of a value in JavaScript's `Array.prototype.join`.
fn in_javascript(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

fn place(violation: &Violation, document: &Document) -> Option<Place> {
    match &violation.kind {
        Kind::AdditionalProperty(name) => {
            document.place(&format!("{}/{}", violation.pointer, escape(name)))
        }
        Kind::Required(_)
        | Kind::Type(_)
        | Kind::Enum(_)
        | Kind::Told(_)
        | Kind::Other(_)
        | Kind::Alternatives => document.place(&violation.pointer),
    }
}
