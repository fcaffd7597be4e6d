//! The table of versions that comes with the program.

use crate::Framework;
use serde_json::{Map, Value, json};

/// Made by `resources/ui5/versions.sh`, which says of what.
const TABLE: &str = include_str!("../../../../resources/ui5/versions.json");

fn table() -> Value {
    serde_json::from_str(TABLE).expect("it is made by a program")
}

/// What `version.json` would be.
pub fn entries(framework: Framework) -> Map<String, Value> {
    match table()[framework.name()].take() {
        Value::Object(entries) => entries,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            unreachable!("it has both frameworks")
        }
    }
}

/// The day it says which versions are maintained.
pub fn date() -> String {
    text("supportAsOf")
}

/// The day it says until when versions are maintained.
pub fn facts_date() -> String {
    text("factsAsOf")
}

/// What is known of [`super::dates`].
pub fn dates() -> Map<String, Value> {
    let table = table();
    let ends = table["endOfMaintenance"].as_object().expect("it has them");
    ends.iter().map(|(minor, end)| (minor.clone(), json!({ "endOfMaintenance": end }))).collect()
}

fn text(key: &str) -> String {
    table()[key].as_str().expect("it is dated").to_owned()
}
