//! Makes the page of the configuration from its schema.

use portcullis_core::config::expected;
use serde_json::Value;

use super::keys::Table;

const INTRODUCTION: &str = "\
# The configuration file

Every key of `portcullis.toml`. A key that is not on this page is refused. `portcullis config path` says where the
file belongs; [Configure Portcullis](../guides/configure.md) says how to use it.

[portcullis.schema.json](portcullis.schema.json) is a JSON Schema of the file, for editors; `portcullis config schema`
prints it.

`NAME` stands for a name of your choice: letters, digits, `-` and `_`, at most 64 of them. A secret stands outside of
the file and is written as `{ env = \"NAME\" }`, the name of an environment variable of the host, or as
`{ file = \"PATH\" }`, the absolute path of a file. `{ bearer-env = \"NAME\" }` is `Bearer` and the value of the
variable, for the header `authorization`.
";

/// The whole page.
pub fn page(schema: &Value) -> String {
    let mut text = INTRODUCTION.to_owned();
    for table in Table::all(schema) {
        section(&table, &mut text);
    }
    text
}

/// The name of the section of a table, for links.
pub fn anchor(table: &str) -> String {
    if table.is_empty() { "top-level".to_owned() } else { table.replace('.', "-").to_lowercase() }
}

/// The header of a table in TOML.
fn heading(table: &Table) -> String {
    match (table.path.last().map(String::as_str), table.name()) {
        (None, _) => "Top level".to_owned(),
        (Some("[]"), name) => format!("`[[{name}]]`"),
        (Some(_), name) => format!("`[{name}]`"),
    }
}

fn section(table: &Table, text: &mut String) {
    let (about, default) = description(&table.schema);
    let about = if table.path.is_empty() { "" } else { about };
    *text += &format!("\n<a id=\"{}\"></a>\n\n## {}\n\n", anchor(&table.name()), heading(table));
    if !about.is_empty() {
        *text += about;
        if let Some(default) = default {
            *text += &format!(" Without this table: {default}.");
        }
        *text += "\n\n";
    }
    if table.keys().is_empty() {
        *text += "This table has no keys.\n";
        return;
    }
    *text += "| key | type | default | meaning |\n|---|---|---|---|\n";
    for (key, schema) in table.keys() {
        let path: Vec<_> = table.path.iter().filter(|part| *part != "[]").cloned().collect();
        let meaning = match below(schema) {
            Some(name) => {
                let child = [path, vec![key.clone()], name].concat().join(".");
                format!("see [`{child}`](#{})", anchor(&child))
            }
            None => meaning(schema),
        };
        let is_required = table.required().any(|required| required == key);
        let default = default_of(schema, is_required)
            .unwrap_or_else(|| panic!("[{}]: `{key}` does not say its default", table.name()));
        let cells = [format!("`{key}`"), kind(schema), default, meaning];
        let cells = cells.map(|cell| cell.replace('|', "\\|"));
        *text += &format!("| {} |\n", cells.join(" | "));
    }
}

/// The parts that lead from a key to the table with a section of its own. `None`: the key has no such table.
fn below(schema: &Value) -> Option<Vec<String>> {
    let is_table = |schema: &Value| schema["properties"].is_object();
    match schema {
        schema if is_table(schema) || is_table(&schema["items"]) => Some(Vec::new()),
        schema if is_table(&schema["additionalProperties"]) => Some(vec!["NAME".to_owned()]),
        _ => None,
    }
}

/// The description of a schema, and the part of it about the default.
fn description(schema: &Value) -> (&str, Option<&str>) {
    let text = schema["description"].as_str().unwrap_or_default();
    match text.split_once("Default: ") {
        Some((about, default)) => (about.trim(), Some(default.trim_end_matches('.'))),
        None => (text, None),
    }
}

/// The choices of a value, or of the values in a list: each with its meaning.
fn choices(schema: &Value) -> Vec<(&Value, &str)> {
    let schema = if schema["items"].is_object() { &schema["items"] } else { schema };
    let all = schema["oneOf"].as_array().into_iter().flatten();
    all.filter_map(|one| Some((one.get("const")?, description(one).0))).collect()
}

fn meaning(schema: &Value) -> String {
    let mut text = description(schema).0.to_owned();
    let choices = choices(schema);
    if choices.is_empty() {
        text += &format!(" {}", description(&schema["items"]).0);
    }
    for (value, meaning) in choices {
        let mut meaning = meaning.trim_end_matches('.').to_owned();
        let is_abbreviation = meaning.as_bytes().get(1).is_some_and(u8::is_ascii_uppercase);
        if let (false, Some(first)) = (is_abbreviation, meaning.get_mut(..1)) {
            first.make_ascii_lowercase();
        }
        text = format!("{} `{value}`: {meaning}.", text.trim_end());
    }
    text.trim_end().to_owned()
}

/// The default as TOML or in words. `None`: the schema does not say it.
fn default_of(schema: &Value, is_required: bool) -> Option<String> {
    if is_required {
        return Some("required".to_owned());
    }
    match (description(schema).1, &schema["default"]) {
        (Some(words), _) => Some(words.to_owned()),
        (None, Value::Number(number)) => Some(number.as_u64().map(super::super::grouped)?),
        (None, Value::Array(values)) if values.is_empty() => Some("empty".to_owned()),
        (None, Value::Null) => (schema["type"] == "object").then(|| "empty".to_owned()),
        (None, Value::Array(_) | Value::Bool(_) | Value::String(_)) => {
            Some(format!("`{}`", schema["default"]))
        }
        (None, Value::Object(values)) => values.is_empty().then(|| "empty".to_owned()),
    }
}

/// The type of a value, without an article.
fn kind(schema: &Value) -> String {
    let kind = expected(schema);
    let without = kind.strip_prefix("a ").or_else(|| kind.strip_prefix("an "));
    without.map(str::to_owned).unwrap_or(kind)
}
