//! Tests that the schema accepts and refuses the same configurations as the host.

use std::fs;

use jsonschema::Validator;
use portcullis_core::config::{Config, DEFAULT, expand};
use serde_json::{Value, json};

use super::super::{blocks, documents, with_secrets_at_hand};
use super::keys::{Table, UNKNOWN, refusal, sample};
use crate::support::workspace;

fn validator() -> Validator {
    jsonschema::validator_for(portcullis_core::config::schema()).expect("it is a schema")
}

/// The first error of the schema for a configuration. `None`: there is none.
fn fault(validator: &Validator, configuration: &Value) -> Option<String> {
    let error = validator.iter_errors(configuration).next()?;
    Some(format!("{}: {error}", error.instance_path()))
}

/// Every configuration of the repository, each with its place.
fn configurations() -> Vec<(String, String)> {
    let default = expand(DEFAULT).expect("its variables are valid");
    let mut all = vec![("the default".to_owned(), default)];
    for (file, text) in documents() {
        for (line, code) in blocks(&text, "toml") {
            all.push((format!("{}:{line}", file.display()), with_secrets_at_hand(&code)));
        }
    }
    let mut folders = vec![workspace().join("tests/cases"), workspace().join("plugins")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("there is a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if path.is_dir() && !["node_modules", "target"].contains(&name) {
                folders.push(path);
            } else if name.ends_with(".toml") && name != "Cargo.toml" {
                let text = fs::read_to_string(&path).expect("it is text");
                // `$FILES` and other variables of a case become absolute paths.
                all.push((path.display().to_string(), text.replace('$', "/")));
            }
        }
    }
    all
}

#[test]
fn the_schema_accepts_each_configuration_of_the_repository_that_the_host_accepts() {
    let (validator, mut accepted, mut faults) = (validator(), 0, Vec::new());
    for (place, text) in configurations() {
        if Config::parse(&text).is_err() {
            continue;
        }
        accepted += 1;
        let table: toml::Table = text.parse().expect("the host accepts it");
        let value = serde_json::to_value(table).expect("it is a value");
        faults.extend(fault(&validator, &value).map(|fault| format!("{place}: {fault}")));
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    assert!(accepted > 100, "{accepted} configurations are accepted");
}

/// Whether the host refuses the form of a configuration: a key, or the type of a value. Other refusals depend on
/// other keys or on this machine.
fn is_about_form(error: &str) -> bool {
    let forms = ["unknown field", "unknown variant", "missing field", "invalid type", "a list"];
    forms.iter().any(|form| error.contains(form))
        || (error.contains("invalid value") && error.contains("integer"))
}

/// A valid value and, for a table, its values as a list without the keys.
fn forms(schema: &Value) -> Vec<Value> {
    let right = sample(schema);
    let list = right.as_object().map(|table| table.values().cloned().collect());
    [Some(right), list].into_iter().flatten().collect()
}

/// Values of all types, to be tried for every key.
fn values() -> Vec<Value> {
    vec![
        json!(true),
        json!(1),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(5_000_000_000_u64),
        json!("A"),
        json!([]),
        json!([1]),
        json!(["A"]),
        json!([{}]),
        json!({}),
        json!({ "A": 1 }),
        json!({ "A": "A" }),
        json!({ "A": {} }),
        json!({ UNKNOWN: [1] }),
    ]
}

#[test]
fn the_schema_and_the_host_agree_about_each_key_with_each_type() {
    let (schema, validator) = (portcullis_core::config::schema(), validator());
    let (mut accepted, mut refused, mut faults) = (0, 0, Vec::new());
    for table in Table::all(schema) {
        for (key, of_key) in table.keys() {
            for value in values().into_iter().chain(forms(of_key)) {
                let mut content = sample(&table.schema);
                content[key] = value;
                let configuration = table.configuration(schema, content);
                let by_schema = fault(&validator, &configuration);
                let place = format!("[{}]: {configuration}", table.name());
                match (refusal(&configuration), by_schema) {
                    (None, None) => accepted += 1,
                    (Some(error), Some(_)) if is_about_form(&error) => refused += 1,
                    (None, Some(fault)) => {
                        faults.push(format!("the schema refuses {place}: {fault}"))
                    }
                    (Some(error), None) if is_about_form(&error) => {
                        faults.push(format!("the schema accepts {place}, but: {error}"));
                    }
                    (Some(_), Some(_) | None) => {}
                }
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    assert!(accepted > 200 && refused > 1_000, "{accepted} accepted, {refused} refused");
}

#[test]
fn each_refusal_of_a_key_or_a_value_names_the_key() {
    let schema = portcullis_core::config::schema();
    let (mut named, mut faults) = (0, Vec::new());
    for table in Table::all(schema) {
        for key in table.keys().keys() {
            let expected = format!("{}.{key}", table.name());
            let expected = expected.trim_start_matches('.');
            for value in values() {
                let mut content = sample(&table.schema);
                content[key] = value;
                let configuration = table.configuration(schema, content);
                let text = toml::to_string(&configuration).expect("it can be written as TOML");
                let Err(error) = Config::parse(&text) else { continue };
                // If a key is wrong only in combination with others, the error names the table.
                let found = error.key.clone().unwrap_or_default();
                let names_it = found.starts_with(expected) || expected.starts_with(&found);
                if found.is_empty() || !names_it {
                    faults.push(format!("{configuration}: {error}"));
                }
                named += 1;
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    assert!(named > 1_000, "{named} refusals");
}

#[test]
fn the_schema_refuses_unknown_keys_in_every_table() {
    let (schema, validator) = (portcullis_core::config::schema(), validator());
    for table in Table::all(schema) {
        let mut content = sample(&table.schema);
        let without = fault(&validator, &table.configuration(schema, content.clone()));
        assert_eq!(without, None, "[{}]", table.name());
        content[UNKNOWN] = json!(1);
        let with = fault(&validator, &table.configuration(schema, content)).expect("it is unknown");
        assert!(with.contains(UNKNOWN), "[{}]: {with}", table.name());
    }
}
