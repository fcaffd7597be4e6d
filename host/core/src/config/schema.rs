//! The JSON Schema of `portcullis.toml`, made from the types that the file is read into.

use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde_json::Value;

use super::Config;

/// The JSON Schema of `portcullis.toml`: draft 7, which editors for TOML understand, and without `$ref`.
///
/// Each key has a type and a description, and a default if there is one. If the default is not a fixed value, the
/// description ends with a sentence `Default: …`. The schema accepts each file that [`Config::parse`] accepts. Rules
/// that depend on other keys or on the machine are not part of the schema, such as whether a command is defined.
pub fn schema() -> &'static Value {
    static SCHEMA: LazyLock<Value> = LazyLock::new(schema_of::<Config>);
    &SCHEMA
}

/// The JSON Schema of a type that is read from TOML, in the same form as [`schema`].
pub(super) fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| {
        settings.inline_subschemas = true;
        settings.transforms.insert(0, Box::new(RecursiveTransform(fit_to_toml)));
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    in_reading_order(&mut schema);
    schema.to_value()
}

/// The keywords that come first in a schema, because readers look for them first.
const FIRST_KEYWORDS: [&str; 7] =
    ["$schema", "title", "description", "type", "const", "default", "required"];

/// Puts the keywords in `FIRST_KEYWORDS` before all others, in a schema and its subschemas.
fn in_reading_order(schema: &mut Schema) {
    let mut others = std::mem::take(schema.ensure_object());
    let ordered = schema.ensure_object();
    for keyword in FIRST_KEYWORDS {
        ordered.extend(others.remove(keyword).map(|value| (keyword.to_owned(), value)));
    }
    ordered.extend(others);
    transform_subschemas(&mut in_reading_order, schema);
}

/// Turns the schema of `[limits]` into the schema of one plugin's limits, which have no fixed defaults.
pub(super) fn with_defaults_of_all_plugins(limits: &mut Schema) {
    let limits = limits.get_mut("properties").and_then(Value::as_object_mut);
    for limit in limits.into_iter().flat_map(|limits| limits.values_mut()) {
        let Some(limit) = limit.as_object_mut() else { continue };
        limit.remove("default");
        if let Some(Value::String(description)) = limit.get_mut("description") {
            description.push_str(" Default: the value under `[limits]`.");
        }
    }
}

/// Fits a schema to TOML and to people: TOML has no null, its integers need no formats, and a description is text
/// without line breaks.
fn fit_to_toml(schema: &mut Schema) {
    without_null(schema);
    if let Some(Value::String(format)) = schema.remove("format")
        && format == "uint32"
    {
        schema.insert("maximum".into(), u32::MAX.into());
    }
    if let Some(Value::String(description)) = schema.get_mut("description") {
        *description = description.split_whitespace().collect::<Vec<_>>().join(" ");
    }
}

/// Removes null from the types and the default of a key. Null stands for a key that is left out.
fn without_null(schema: &mut Schema) {
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|one| one != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            schema.insert("type".into(), one);
        }
    }
    if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
        let before = choices.len();
        choices.retain(|choice| choice.get("type").is_none_or(|one| one != "null"));
        if let ([Value::Object(choice)], true) = (choices.as_slice(), choices.len() < before) {
            let choice = choice.clone();
            schema.remove("anyOf");
            let all = schema.ensure_object();
            for (key, value) in choice {
                // The description of the key says more than the description of its type.
                all.entry(key).or_insert(value);
            }
        }
    }
}

/// The type of a value in words for the operator, such as "a list of strings".
pub fn expected(schema: &Value) -> String {
    let choices = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array());
    if let (Some(choices), Value::Null) = (choices, &schema["type"]) {
        return choices.iter().map(choice).collect::<Vec<_>>().join(" or ");
    }
    if let Some(value) = schema.get("const") {
        return format!("`{value}`");
    }
    let number = |keyword: &str| schema[keyword].as_u64();
    match (schema["type"].as_str().unwrap_or_default(), number("minimum"), number("maximum")) {
        ("boolean", ..) => "`true` or `false`".to_owned(),
        ("integer", Some(least), Some(most)) if most < u64::from(u32::MAX) => {
            format!("an integer from {least} to {most}")
        }
        ("integer", Some(1), _) => "an integer above 0".to_owned(),
        ("integer", ..) => "an integer, 0 or more".to_owned(),
        ("array", ..) => list(schema),
        ("object", ..) => table(schema),
        (other, ..) => format!("a {other}"),
    }
}

/// The text for one of several types. A table is written inline.
fn choice(schema: &Value) -> String {
    let value = |key: &str| if key == "file" { "PATH" } else { "NAME" };
    match schema["properties"].as_object() {
        Some(keys) => {
            let keys: Vec<_> =
                keys.keys().map(|key| format!("{key} = \"{}\"", value(key))).collect();
            format!("`{{ {} }}`", keys.join(", "))
        }
        None => expected(schema),
    }
}

fn list(schema: &Value) -> String {
    let filled = if schema["minItems"].is_null() { "" } else { ", not empty" };
    match expected(&schema["items"]).as_str() {
        "a string" => format!("a list of strings{filled}"),
        "a table" => format!("a list of tables{filled}"),
        one => format!("a list, each {one}{filled}"),
    }
}

fn table(schema: &Value) -> String {
    let patterns = schema["patternProperties"].as_object();
    let values = patterns.and_then(|patterns| patterns.values().next());
    let values = values.unwrap_or(&schema["additionalProperties"]);
    match expected_value(schema, values).as_deref() {
        None => "a table".to_owned(),
        Some("a string") => "a table of strings".to_owned(),
        Some("a table") => "a table of tables".to_owned(),
        Some(one) => format!("a table, each value {one}"),
    }
}

/// The type of the values in a table whose keys are not fixed.
fn expected_value(table: &Value, values: &Value) -> Option<String> {
    // An empty schema allows any value.
    let has_type = values.as_object().is_some_and(|schema| !schema.is_empty());
    (table["properties"].is_null() && has_type).then(|| expected(values))
}
