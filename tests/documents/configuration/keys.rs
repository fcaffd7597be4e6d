//! Tests that the host accepts exactly the keys of the schema, and that the page has a row for each key.

use std::collections::BTreeSet;
use std::fs;

use portcullis_core::config::Config;
use serde_json::{Map, Value, json};

use super::RETIRED;
use super::page::anchor;
use crate::support::workspace;

/// A name that no table has as a key.
pub const UNKNOWN: &str = "zz-unknown";

/// One table of the configuration that has fixed keys.
pub struct Table {
    /// The keys that lead to the table: `NAME` for a name that the operator chooses, and `[]` for the entries of a list.
    pub path: Vec<String>,
    /// The schema of the table.
    pub schema: Value,
}

impl Table {
    /// All tables of a schema. Each table comes before the tables within it.
    pub fn all(schema: &Value) -> Vec<Self> {
        let mut tables = Vec::new();
        collect(&mut Vec::new(), schema, &mut tables);
        tables
    }

    /// The keys of the table, each with its schema.
    pub fn keys(&self) -> &Map<String, Value> {
        self.schema["properties"].as_object().expect("a table has keys")
    }

    /// The required keys of the table.
    pub fn required(&self) -> impl Iterator<Item = &str> {
        self.schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str)
    }

    /// The path of the table, as the page shows it.
    pub fn name(&self) -> String {
        self.path.iter().filter(|part| *part != "[]").cloned().collect::<Vec<_>>().join(".")
    }

    /// A configuration with this content of the table. `whole` is the schema of the configuration.
    pub fn configuration(&self, whole: &Value, content: Value) -> Value {
        place(&self.path, whole, content)
    }
}

/// Puts a content at a path. The tables on the way get their required keys.
fn place(path: &[String], schema: &Value, content: Value) -> Value {
    let Some((part, rest)) = path.split_first() else { return content };
    match part.as_str() {
        "[]" => json!([place(rest, &schema["items"], content)]),
        "NAME" => json!({ part: place(rest, &schema["additionalProperties"], content) }),
        key => {
            let mut table = sample(schema);
            table[key] = place(rest, &schema["properties"][key], content);
            table
        }
    }
}

/// A value that a schema accepts.
pub fn sample(schema: &Value) -> Value {
    let first = schema["oneOf"].as_array().and_then(|choices| choices.first());
    if let Some(value) = schema.get("const") {
        return value.clone();
    }
    if let Some(first) = first {
        return sample(first);
    }
    match schema["type"].as_str().expect("it has a type") {
        "string" => {
            let validator = jsonschema::validator_for(schema).expect("it is a schema");
            let mut texts = ["A", "-A"].into_iter().map(|text| json!(text));
            texts.find(|text| validator.is_valid(text)).expect("one of them fits")
        }
        "array" => json!([sample(&schema["items"])]),
        "object" => {
            let least = schema["anyOf"].as_array().and_then(|choices| choices.first());
            let required = [Some(schema), least].into_iter().flatten();
            let keys = required.flat_map(|one| one["required"].as_array()).flatten();
            keys.filter_map(Value::as_str)
                .map(|key| (key.to_owned(), sample(&schema["properties"][key])))
                .collect::<Map<_, _>>()
                .into()
        }
        "boolean" => json!(true),
        _ => json!(1),
    }
}

fn collect(path: &mut Vec<String>, schema: &Value, into: &mut Vec<Table>) {
    if let Some(keys) = schema["properties"].as_object() {
        into.push(Table { path: path.clone(), schema: schema.clone() });
        for (key, schema) in keys {
            path.push(key.clone());
            collect(path, schema, into);
            path.pop();
        }
    }
    for (keyword, part) in [("additionalProperties", "NAME"), ("items", "[]")] {
        if schema[keyword].is_object() {
            path.push(part.to_owned());
            collect(path, &schema[keyword], into);
            path.pop();
        }
    }
}

/// The error of the host for a configuration. `None`: the host accepts it. If the Rust types refuse the configuration,
/// the error comes from them and not from the schema.
pub fn refusal(configuration: &Value) -> Option<String> {
    let text = toml::to_string(configuration).expect("it can be written as TOML");
    let error = Config::parse(&text).err()?;
    let of_types = toml::from_str::<Config>(&text).err().map(|error| error.message().to_owned());
    Some(of_types.unwrap_or_else(|| error.to_string()))
}

/// The keys of a table that the host lists when a configuration has an unknown key.
fn named_by_the_host(whole: &Value, table: &Table) -> BTreeSet<String> {
    let error =
        refusal(&table.configuration(whole, json!({ UNKNOWN: 1 }))).expect("the key is unknown");
    let (_, expected) = error
        .split_once(&format!("unknown field `{UNKNOWN}`, expected "))
        .unwrap_or_else(|| panic!("[{}]: {error}", table.name()));
    expected.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn each_key_that_the_host_accepts_is_in_the_schema_and_on_the_page() {
    let page = workspace().join("docs/reference/configuration.md");
    let page = fs::read_to_string(page).expect("there is a page");
    let mut faults = Vec::new();
    let whole = portcullis_core::config::schema();
    let tables = Table::all(whole);
    for table in &tables {
        let heading = format!("<a id=\"{}\"></a>", anchor(&table.name()));
        let section = page.split(&heading).nth(1).unwrap_or_default();
        let section = section.split("<a id=").next().unwrap_or_default();
        let keys = named_by_the_host(whole, table);
        for key in keys.iter().chain(table.keys().keys()) {
            let path = format!("{}.{key}", table.name());
            if RETIRED.contains(&path.as_str()) {
                continue;
            }
            if !table.keys().contains_key(key) {
                faults.push(format!("`{path}` is not in the schema"));
            }
            if !section.contains(&format!("\n| `{key}` |")) {
                faults.push(format!("`{path}` is not on the page"));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    assert!(tables.len() > 15, "there are tables");
}

#[test]
fn each_key_of_the_schema_is_known_to_the_host() {
    let mut faults = Vec::new();
    let whole = portcullis_core::config::schema();
    for table in Table::all(whole) {
        for key in table.keys().keys() {
            let refused = refusal(&table.configuration(whole, json!({ key: 1 })));
            if refused.is_some_and(|error| error.contains("unknown field")) {
                faults.push(format!("the host does not know `{}.{key}`", table.name()));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn a_retired_key_is_refused() {
    for key in RETIRED {
        let value = key.rsplit('.').fold(json!("/a"), |inner, part| json!({ part: inner }));
        let error = refusal(&value).expect("it is refused");
        assert!(error.contains(key) && error.contains("write instead"), "{error}");
    }
}
