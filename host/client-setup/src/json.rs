//! Edits of JSON, with or without comments and trailing commas.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::Value;

use crate::entry::Keys;
use crate::text::{Unparsable, line_end};

/// JSON with comments and trailing commas, as VS Code and Zed read it. The client would refuse other extensions of
/// JSON.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

fn parse(text: &str) -> Result<CstRootNode, Unparsable> {
    CstRootNode::parse(text, &OPTIONS).map_err(|error| Unparsable {
        line: error.line_display(),
        column: error.column_display(),
        reason: error.kind().to_string(),
    })
}

pub(crate) fn value(text: &str) -> Result<Value, Unparsable> {
    Ok(parse(text)?.to_serde_value().unwrap_or(Value::Null))
}

pub(crate) fn add(text: &str, key: &str, name: &str, entry: &Keys) -> Option<String> {
    if let Some(after) = add_in_line(text, key, name, entry) {
        return Some(after);
    }
    let root = parse(text).ok()?;
    let whole = root.object_value_or_create()?;
    // `"mcpServers": null` has no entries.
    if let Some(servers) = whole.get(key)
        && servers.value()?.as_null_keyword().is_some()
    {
        servers.set_value(CstInputValue::Object(Vec::new()));
    }
    let servers = whole.object_value_or_create(key)?;
    servers.append(name, input_object(entry));
    let mut after = root.to_string();
    if text.trim().is_empty() {
        after = format!("{}{}", after.trim(), line_end(text));
    }
    Some(after)
}

/// Adds an entry to an object that is written on one line, and leaves it on one line. `None`: there is no such object,
/// or it is empty.
fn add_in_line(text: &str, key: &str, name: &str, entry: &Keys) -> Option<String> {
    let collect = jsonc_parser::CollectOptions::default();
    let parsed = jsonc_parser::parse_to_ast(text, &collect, &OPTIONS).ok()?.value?;
    let whole = parsed.as_object()?;
    let new = Value::Object(entry.clone());
    let (object, added) = match whole.properties.iter().find(|one| one.name.as_str() == key) {
        Some(servers) => (servers.value.as_object()?, format!("{}: {new}", Value::from(name))),
        None => (whole, format!("{}: {}", Value::from(key), serde_json::json!({ name: new }))),
    };
    let last = object.properties.last()?.range.end;
    let is_one_line = !text.get(object.range.start..object.range.end)?.contains('\n');
    is_one_line.then(|| format!("{}, {added}{}", &text[..last], &text[last..]))
}

pub(crate) fn correct(
    text: &str,
    key: &str,
    name: &str,
    corrections: &[(String, Value)],
) -> Option<String> {
    let root = parse(text).ok()?;
    let entry = servers(&root, key)?.object_value(name)?;
    for (key, value) in corrections {
        match entry.get(key) {
            Some(property) => property.set_value(input(value)),
            None => drop(entry.append(key, input(value))),
        }
    }
    Some(root.to_string())
}

pub(crate) fn remove(text: &str, key: &str, name: &str) -> Option<String> {
    let root = parse(text).ok()?;
    servers(&root, key)?.get(name)?.remove();
    Some(root.to_string())
}

fn servers(root: &CstRootNode, key: &str) -> Option<CstObject> {
    root.object_value()?.object_value(key)
}

fn input_object(keys: &Keys) -> CstInputValue {
    CstInputValue::Object(keys.iter().map(|(key, value)| (key.clone(), input(value))).collect())
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(boolean) => CstInputValue::Bool(*boolean),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(all) => CstInputValue::Array(all.iter().map(input).collect()),
        Value::Object(all) => input_object(all),
    }
}
