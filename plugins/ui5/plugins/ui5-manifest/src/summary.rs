//! Summarises the root causes of a validation in plain words.

use ajv_report::{Cause, ErrorObject, Validation};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// Maximum number of causes named.
const MAX_LINES: usize = 20;

/// Maximum number of allowed values listed.
const MAX_VALUES: usize = 12;

/// Maximum length of a name or value, in characters.
const MAX_CHARACTERS: usize = 80;

/// Maximum length of a path in the manifest or of a message, in characters.
const MAX_PATH: usize = 200;

/// Maximum length of names that are compared for suggestions, in bytes.
const MAX_COMPARED: usize = 64;

/// A line for each of the first root causes, in at most `max_bytes` bytes, then the number of others.
pub fn lines(manifest: &Value, validation: &Validation<'_>, max_bytes: usize) -> Vec<String> {
    let findings = findings(validation);
    let mut size = 0;
    let shown = findings.iter().take(MAX_LINES).map(|finding| finding.line(manifest));
    let mut lines: Vec<String> = shown
        .take_while(|line| {
            size += line.len();
            size <= max_bytes
        })
        .collect();
    if findings.len() > lines.len() {
        lines.push(format!("… and {} more.", findings.len() - lines.len()));
    }
    lines
}

/// The subject of one line.
enum Finding<'v> {
    /// A value with a wrong type, or not one of the allowed values.
    Value { path: &'v str, types: Vec<&'v str>, allowed: Vec<&'v Value> },
    /// Any other error.
    Other(&'v ErrorObject, Option<&'v Value>),
}

/// Merges the errors about one value, and removes duplicates.
fn findings<'v>(validation: &'v Validation<'_>) -> Vec<Finding<'v>> {
    let mut findings = Vec::new();
    let mut values: HashMap<&str, usize> = HashMap::new();
    let mut reported = HashSet::new();
    for Cause { error, schema } in &validation.causes {
        let error = &validation.errors[*error];
        let path = error.instance_path.as_str();
        let is_of_value = matches!(error.keyword, "type" | "enum" | "const");
        if !is_of_value || error.property_name.is_some() {
            let detail =
                ["missingProperty", "additionalProperty"].map(|name| error.params.get(name));
            let name = error.property_name.as_deref();
            if reported.insert((path, error.message.as_str(), name, detail)) {
                findings.push(Finding::Other(error, *schema));
            }
            continue;
        }
        let index = *values.entry(path).or_insert_with(|| {
            findings.push(Finding::Value { path, types: Vec::new(), allowed: Vec::new() });
            findings.len() - 1
        });
        if let Finding::Value { types, allowed, .. } = &mut findings[index] {
            types.extend(listed(error.params.get("type")).iter().filter_map(Value::as_str));
            allowed.extend(listed(error.params.get("allowedValues")));
            allowed.extend(error.params.get("allowedValue"));
        }
    }
    findings
}

/// The items of a list, or the single value.
fn listed(value: Option<&Value>) -> &[Value] {
    match value {
        Some(Value::Array(items)) => items,
        Some(value) => std::slice::from_ref(value),
        None => &[],
    }
}

impl Finding<'_> {
    fn line(&self, manifest: &Value) -> String {
        let (path, words) = match self {
            Self::Value { path, types, allowed } => {
                (*path, of_value(manifest.pointer(path), types, allowed))
            }
            Self::Other(error, schema) => {
                (error.instance_path.as_str(), of_error(error, *schema, manifest))
            }
        };
        let shown = if path.is_empty() { "/".to_owned() } else { cut(path, MAX_PATH) };
        format!("{shown}: {words}")
    }
}

fn of_value(value: Option<&Value>, types: &[&str], allowed: &[&Value]) -> String {
    let mut expected = Vec::new();
    for name in types {
        let is_listed = allowed.iter().any(|value| type_of(value) == *name);
        if !is_listed && !expected.contains(name) {
            expected.push(name);
        }
    }
    let mut seen = HashSet::new();
    let allowed: Vec<&Value> =
        allowed.iter().copied().filter(|value| seen.insert(*value)).collect();
    let mut ways: Vec<String> = expected.into_iter().map(|name| (*name).to_owned()).collect();
    let shown: Vec<String> = allowed.iter().take(MAX_VALUES).map(|value| plain(value)).collect();
    let more = allowed.len() - shown.len();
    let more = if more > 0 { format!(" … ({more} more)") } else { String::new() };
    match allowed.len() {
        0 => {}
        1 => ways.push(shown[0].clone()),
        _ => ways.push(format!("one of {}{more}", shown.join(", "))),
    }
    let mut words = format!("must be {}", ways.join(", or "));
    if let Some(value) = value {
        words.push_str(&format!(", is {}", described(value)));
        let names = allowed.iter().filter_map(|value| value.as_str());
        words.push_str(&hint(value.as_str().unwrap_or_default(), names));
    }
    words
}

fn of_error(error: &ErrorObject, schema: Option<&Value>, manifest: &Value) -> String {
    let param = |name: &str| error.params.get(name).and_then(Value::as_str);
    let known = || {
        let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
        properties.into_iter().flat_map(|properties| properties.keys().map(String::as_str))
    };
    let here = manifest.pointer(&error.instance_path);
    if let Some(name) = &error.property_name {
        return match error.keyword {
            "false schema" => format!("property {} is not allowed", quoted(name)),
            _ => format!("property name {} {}", quoted(name), cut(&error.message, MAX_PATH)),
        };
    }
    match error.keyword {
        "required" => {
            let name = param("missingProperty").unwrap_or_default();
            let present = here.and_then(Value::as_object).into_iter().flat_map(|here| here.keys());
            let unknown =
                present.map(String::as_str).filter(|name| known().all(|known| known != *name));
            let hint = nearest(name, unknown)
                .map(|found| format!(" (is {} misspelt?)", quoted(found)))
                .unwrap_or_default();
            format!("property {} is missing{hint}", quoted(name))
        }
        "additionalProperties" | "unevaluatedProperties" => {
            let name = param("additionalProperty").or(param("unevaluatedProperty"));
            let name = name.unwrap_or_default();
            let absent = known().filter(|known| here.is_none_or(|here| here.get(known).is_none()));
            format!("property {} is not allowed{}", quoted(name), hint(name, absent))
        }
        "false schema" => "is not allowed here".to_owned(),
        "oneOf" if !error.params["passingSchemas"].is_null() => {
            "matches more than one of the allowed forms, must match exactly one".to_owned()
        }
        "anyOf" | "oneOf" => "matches none of the allowed forms".to_owned(),
        "not" => "has a form that is not allowed".to_owned(),
        "pattern" | "format" => {
            let actual = here.map(|value| format!(", is {}", described(value))).unwrap_or_default();
            format!("{}{actual}", cut(&error.message, MAX_PATH))
        }
        _ => cut(&error.message, MAX_PATH),
    }
}

/// Suggests the nearest of the names, if it is near enough.
fn hint<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> String {
    let found = nearest(wanted, names);
    found.map(|name| format!(" (did you mean {}?)", quoted(name))).unwrap_or_default()
}

/// The most similar name, if few letters differ.
fn nearest<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let is_short = |name: &str| name.len() <= MAX_COMPARED;
    if wanted.is_empty() || !is_short(wanted) {
        return None;
    }
    let lower = wanted.to_lowercase();
    let max_distance = (lower.chars().count() / 3).clamp(1, 4);
    names
        .filter(|name| is_short(name))
        .map(|name| (strsim::damerau_levenshtein(&name.to_lowercase(), &lower), name))
        .filter(|(distance, name)| *distance <= max_distance && *distance < name.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Describes a wrong value.
fn described(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(_) | Value::Object(_) => type_of(value).to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// An allowed value.
fn plain(value: &Value) -> String {
    match value.as_str() {
        Some(text) if !text.is_empty() => cut(text, MAX_CHARACTERS),
        _ => described(value),
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", cut(text, MAX_CHARACTERS))
}

/// The start of a text, without markup or characters that change the display of the rest.
fn cut(text: &str, max_chars: usize) -> String {
    let is_unsafe = |c: char| {
        c.is_control()
            || matches!(c, '<' | '>' | '`')
            || matches!(u32::from(c), 0xAD | 0x61C | 0x200B..=0x200F | 0x2028..=0x202E
                | 0x2060..=0x206F | 0xFEFF | 0xFFF9..=0xFFFB | 0xE0000..=0xE007F)
    };
    let clean = |c| if is_unsafe(c) { '\u{FFFD}' } else { c };
    let mut shown: String = text.chars().take(max_chars).map(clean).collect();
    if text.chars().nth(max_chars).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
