//! Converts errors of the TOML parser and of deserialisation into errors of the configuration.

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Error};

use super::error::{ConfigError, Fault};
use super::{form, mends};

/// The error for a text that is not TOML.
pub(super) fn toml(text: &str, error: &Error) -> ConfigError {
    let place = error.span().map(|span| place(text, span.start));
    let reason = error.message().trim().to_owned();
    let hint = place.and_then(|(line, _)| mends::of_toml(text, line, &reason)).map(str::to_owned);
    ConfigError { file: None, place, key: None, fault: Box::new(Fault::Toml(reason)), hint }
}

/// The error for a text that is TOML, but has keys or values that the types refuse. `schema` is the schema of the types.
pub(super) fn types(schema: &Value, text: &str, error: &Error) -> ConfigError {
    if let Some(form::Deviation { span, path, fault }) = form::deviation(schema, text) {
        let key = (!path.is_empty()).then(|| path.join("."));
        let is_key = matches!(fault, Fault::UnknownKey { .. });
        let hint =
            if is_key { mends::of_key(schema, &path) } else { mends::of_type(&path, &fault) };
        let (place, fault) = (Some(place(text, span.start)), Box::new(fault));
        return ConfigError { file: None, place, key, fault, hint };
    }
    let start = error.span().map(|span| span.start);
    let mut path = Vec::new();
    if let (Some(start), Ok(table)) = (start, DeTable::parse(text)) {
        find_key(table.get_ref(), start, &mut path);
    }
    let reason = error.message().trim().to_owned();
    let fault = match meaning(schema, &path) {
        Some(meaning) if reason.ends_with("syntax") => Fault::Syntax { reason, meaning },
        Some(_) | None => Fault::Value(reason),
    };
    let key = (!path.is_empty()).then(|| path.join("."));
    ConfigError {
        file: None,
        place: start.map(|start| place(text, start)),
        key,
        fault: Box::new(fault),
        hint: None,
    }
}

/// The description of a key, as the continuation of a sentence. `None`: the schema has no description for the path.
fn meaning(schema: &Value, path: &[String]) -> Option<String> {
    let key_schema = path.iter().try_fold(schema, |schema, key| {
        let fixed = schema.get("properties").and_then(|keys| keys.get(key));
        fixed.or_else(|| schema.get("additionalProperties"))
    });
    let mut text = key_schema?.get("description")?.as_str()?.trim_end_matches('.').to_owned();
    // An abbreviation, such as HTTP, stays as it is.
    if text.as_bytes().get(1).is_some_and(|second| !second.is_ascii_uppercase()) {
        text.get_mut(..1)?.make_ascii_lowercase();
    }
    Some(text)
}

/// The error with the place of its key in the text, or of the innermost table on the way to it that the text has, if the
/// error has no place yet.
pub(super) fn locate(text: &str, mut error: ConfigError) -> ConfigError {
    if error.place.is_none()
        && let Some(key) = &error.key
        && let Ok(keys) = toml_edit::Key::parse(key)
    {
        let keys: Vec<_> = keys.iter().map(toml_edit::Key::get).collect();
        error.place = place_of_key(text, &keys);
    }
    error
}

/// The line and the column of a key, both from 1. If the text does not have the key, the line and the column of the
/// innermost existing table that leads to the key.
pub(super) fn place_of_key(text: &str, keys: &[&str]) -> Option<(usize, usize)> {
    let document = DeTable::parse(text).ok()?;
    let (mut table, mut found) = (document.get_ref(), None);
    for key in keys {
        let Some((name, value)) = table.iter().find(|(name, _)| name.get_ref() == key) else {
            break;
        };
        found = Some(place(text, name.span().start));
        let DeValue::Table(inner) = value.get_ref() else { break };
        table = inner;
    }
    found
}

/// The line and the column of an offset, both from 1.
fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset.min(text.len())).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}

/// Finds the keys that lead to the value at an offset.
fn find_key(table: &DeTable<'_>, offset: usize, path: &mut Vec<String>) -> bool {
    for (key, value) in table {
        path.push(key.get_ref().to_string());
        if find_in_value(value, offset, path) || key.span().contains(&offset) {
            return true;
        }
        path.pop();
    }
    false
}

fn find_in_value(value: &Spanned<DeValue<'_>>, offset: usize, path: &mut Vec<String>) -> bool {
    let is_deeper = match value.get_ref() {
        DeValue::Table(table) => find_key(table, offset, path),
        DeValue::Array(items) => items.iter().any(|item| find_in_value(item, offset, path)),
        DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_) => false,
    };
    is_deeper || value.span().contains(&offset)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_description_continues_a_sentence_and_abbreviations_stay() {
        for (description, expected) in [
            ("Directories of plugins.", "directories of plugins"),
            ("HTTP is served.", "HTTP is served"),
        ] {
            let schema = json!({ "properties": { "a": { "description": description } } });
            assert_eq!(meaning(&schema, &["a".to_owned()]).as_deref(), Some(expected));
        }
    }
}
