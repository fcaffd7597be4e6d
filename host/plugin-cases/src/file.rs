//! The form of a case file.

use std::collections::BTreeMap;

use portcullis_confine::Definition;
use portcullis_core::capabilities::Grants;
use portcullis_engine::SomeLimits;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// A case: one call of a tool, and what is expected of it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct CaseFile {
    /// The name of the tool.
    pub tool: String,
    /// The arguments of the call. `{root}` in a text stands for the folder with the files.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Value>")]
    pub arguments: toml::Table,
    /// The files that are there before the call: their paths in the folder, and their text.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// The effects that the plugin may have, by capability, as in `portcullis.toml`.
    #[serde(default)]
    pub grants: Grants,
    /// Values that the plugin can read, by name.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// The limits of the call.
    #[serde(default)]
    pub limits: SomeLimits,
    /// Programs that `grants.process` names, by name.
    #[serde(default)]
    pub commands: BTreeMap<String, Definition>,
    /// What is expected of the call.
    pub expect: Expectation,
}

/// What is expected of a call.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Expectation {
    /// Whether the tool fails.
    #[serde(default)]
    pub is_error: bool,
    /// The whole text of the answer.
    pub text: Option<String>,
    /// Texts that the text of the answer contains.
    #[serde(default)]
    pub contains: Vec<String>,
    /// The whole structured content of the answer.
    #[schemars(with = "Option<BTreeMap<String, Value>>")]
    pub structured: Option<toml::Table>,
    /// The denials that are expected: the beginning of each, such as `http GET https://example.org`. The case fails if
    /// a denial is not listed, or if a listed one does not happen.
    #[serde(default)]
    pub denied: Vec<String>,
}

/// A value of TOML as JSON. A date is its text.
pub(crate) fn json(value: &toml::Value) -> Value {
    match value {
        toml::Value::String(text) => text.as_str().into(),
        toml::Value::Integer(number) => (*number).into(),
        toml::Value::Float(number) => (*number).into(),
        toml::Value::Boolean(flag) => (*flag).into(),
        toml::Value::Datetime(date) => date.to_string().into(),
        toml::Value::Array(items) => items.iter().map(json).collect(),
        toml::Value::Table(table) => object(table).into(),
    }
}

/// A table of TOML as a JSON object.
pub(crate) fn object(table: &toml::Table) -> serde_json::Map<String, Value> {
    table.iter().map(|(key, value)| (key.clone(), json(value))).collect()
}
