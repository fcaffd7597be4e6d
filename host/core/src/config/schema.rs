//! The JSON Schema of `portcullis.toml`, made from the types that the file is read into.

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, transform_subschemas};
use serde_json::Value;

use super::Config;

/// The JSON Schema of `portcullis.toml`: draft 7, which editors for TOML understand, and without `$ref`.
///
/// Each key has a type and a description, and a default where there is one. Where the default is no fixed value,
/// the description ends with a sentence `Default: …`. The schema accepts each file that [`Config::parse`] accepts.
/// It does not check what depends on other keys or on the machine, such as whether a command is defined.
pub fn schema() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| {
        settings.inline_subschemas = true;
        settings.transforms.insert(0, Box::new(RecursiveTransform(fit_to_toml)));
    });
    let mut schema = settings.into_generator().into_root_schema_for::<Config>();
    in_reading_order(&mut schema);
    schema.to_value()
}

/// The keywords that a reader looks for first.
const FIRST: [&str; 7] =
    ["$schema", "title", "description", "type", "const", "default", "required"];

/// Puts the keywords that a reader looks for first before the others, in a schema and all that are part of it.
fn in_reading_order(schema: &mut Schema) {
    let mut others = std::mem::take(schema.ensure_object());
    let ordered = schema.ensure_object();
    for keyword in FIRST {
        ordered.extend(others.remove(keyword).map(|value| (keyword.to_owned(), value)));
    }
    ordered.extend(others);
    transform_subschemas(&mut in_reading_order, schema);
}

/// Makes the schema of the limits of one plugin from that of `[limits]`: no limit has a fixed default.
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

/// Takes null, which stands for a key that is left out, from the types and the default of a key.
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
                // The description of the key says more than that of its type.
                all.entry(key).or_insert(value);
            }
        }
    }
}
