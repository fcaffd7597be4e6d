//! The table of UI5 versions that is part of the plugin.

use crate::Framework;
use serde_json::{Map, Value, json};

/// Made by `plugins/ui5/resources/versions.sh`, which names the sources.
const TABLE: &str = include_str!("../../../../resources/versions.json");

fn table() -> Value {
    serde_json::from_str(TABLE).expect("the table is valid JSON")
}

/// The table's values for [`super::of`], in the form of `version.json`.
pub fn entries(framework: Framework) -> Map<String, Value> {
    match table()[framework.name()].take() {
        Value::Object(entries) => entries,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            unreachable!("the table has both frameworks")
        }
    }
}

/// The day for which the table states which versions are maintained.
pub fn date() -> String {
    text("supportAsOf")
}

/// The day for which the table states the ends of maintenance.
pub fn facts_date() -> String {
    text("factsAsOf")
}

/// The table's values for [`super::dates`].
pub fn dates() -> Map<String, Value> {
    let table = table();
    let ends =
        table["endOfMaintenance"].as_object().expect("the table has the ends of maintenance");
    ends.iter().map(|(minor, end)| (minor.clone(), json!({ "endOfMaintenance": end }))).collect()
}

fn text(key: &str) -> String {
    table()[key].as_str().expect("the table has this date").to_owned()
}
