//! A configuration file as its client reads it, and the three edits of it: adding, correcting and removing one entry.

use serde_json::{Map, Value, json};

use crate::clients::Format;
use crate::entry::Keys;
use crate::text::Unparsable;
use crate::{json, toml, yaml};

/// A configuration file.
pub(crate) struct Document<'a> {
    format: Format,
    /// The text without its byte order mark.
    text: &'a str,
    has_mark: bool,
    value: Value,
}

const BYTE_ORDER_MARK: char = '\u{feff}';

impl<'a> Document<'a> {
    /// Parses a file. An empty file has no entries.
    pub(crate) fn parse(format: Format, text: &'a str) -> Result<Self, Unparsable> {
        let stripped = text.strip_prefix(BYTE_ORDER_MARK);
        let (text, has_mark) = (stripped.unwrap_or(text), stripped.is_some());
        let value = value_of(format, text)?;
        Ok(Self { format, text, has_mark, value })
    }

    /// The key of the servers.
    pub(crate) fn key(&self) -> &'static str {
        self.format.key()
    }

    /// The entries, by name. `None`: the value at the key of the servers has another type.
    pub(crate) fn entries(&self) -> Option<Vec<(&str, &Value)>> {
        if self.value.is_null() {
            return Some(Vec::new());
        }
        match (self.value.as_object()?.get(self.key()), self.format) {
            (None | Some(Value::Null), _) => Some(Vec::new()),
            (Some(Value::Array(all)), Format::YamlList(_)) => {
                Some(all.iter().filter_map(|one| Some((one.get("name")?.as_str()?, one))).collect())
            }
            (Some(Value::Object(all)), Format::Json(_) | Format::Toml(_) | Format::YamlMap(_)) => {
                Some(all.iter().map(|(name, one)| (name.as_str(), one)).collect())
            }
            (Some(_), _) => None,
        }
    }

    /// The text with a new entry after the others. `None`: the edit is not possible without changing something else.
    pub(crate) fn add(&self, name: &str, entry: &Keys) -> Option<String> {
        let after = match self.format {
            Format::Json(key) => json::add(self.text, key, name, entry),
            Format::Toml(key) => toml::add(self.text, key, name, entry),
            Format::YamlMap(key) => yaml::add(self.text, key, Some(name), entry),
            Format::YamlList(key) => yaml::add(self.text, key, None, entry),
        };
        self.checked(after?, |servers| match servers {
            Value::Object(servers) => drop(servers.insert(name.to_owned(), json!(entry))),
            Value::Array(servers) => servers.push(json!(entry)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        })
    }

    /// The text with some keys of an entry set. `None`: as for [`Document::add`].
    pub(crate) fn correct(&self, name: &str, corrections: &[(String, Value)]) -> Option<String> {
        let after = match self.format {
            Format::Json(key) => json::correct(self.text, key, name, corrections),
            Format::Toml(key) => toml::correct(self.text, key, name, corrections),
            Format::YamlMap(key) | Format::YamlList(key) => {
                yaml::correct(self.text, key, name, corrections)
            }
        };
        self.checked(after?, |servers| {
            let entry = match servers {
                Value::Object(servers) => servers.get_mut(name),
                Value::Array(servers) => servers.iter_mut().find(|one| one["name"] == name),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
            };
            if let Some(Value::Object(entry)) = entry {
                entry.extend(corrections.iter().cloned());
            }
        })
    }

    /// The text without an entry. `None`: as for [`Document::add`].
    pub(crate) fn remove(&self, name: &str) -> Option<String> {
        let after = match self.format {
            Format::Json(key) => json::remove(self.text, key, name),
            Format::Toml(key) => toml::remove(self.text, key, name),
            Format::YamlMap(key) | Format::YamlList(key) => yaml::remove(self.text, key, name),
        };
        self.checked(after?, |servers| match servers {
            Value::Object(servers) => drop(servers.shift_remove(name)),
            Value::Array(servers) => servers.retain(|one| one["name"] != name),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        })
    }

    /// Returns the text `after` an edit, if the edit has changed only the servers. To check this, the text is parsed
    /// again: its value must be the old value with `change` applied to the servers. `None`: the edit has changed
    /// something else.
    fn checked(&self, after: String, change: impl FnOnce(&mut Value)) -> Option<String> {
        let mut expected = if self.value.is_null() { json!({}) } else { self.value.clone() };
        let servers = expected.as_object_mut()?.entry(self.key()).or_insert(Value::Null);
        if servers.is_null() {
            *servers = match self.format {
                Format::YamlList(_) => json!([]),
                Format::Json(_) | Format::Toml(_) | Format::YamlMap(_) => json!({}),
            };
        }
        change(servers);
        let found = value_of(self.format, &after).ok()?;
        let is_same =
            without_empty_servers(found, self.key()) == without_empty_servers(expected, self.key());
        let mark = if self.has_mark { BYTE_ORDER_MARK.to_string() } else { String::new() };
        is_same.then(|| format!("{mark}{after}"))
    }
}

/// The value for comparisons. If there are no servers, the key of the servers is left out, because formats differ in
/// how they write an empty group.
fn without_empty_servers(value: Value, key: &str) -> Value {
    let mut value = match value {
        Value::Object(keys) => keys,
        Value::Null => Map::new(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => return value,
    };
    let is_empty = |servers: &Value| {
        servers.is_null()
            || servers.as_object().is_some_and(Map::is_empty)
            || servers.as_array().is_some_and(Vec::is_empty)
    };
    if value.get(key).is_some_and(is_empty) {
        value.shift_remove(key);
    }
    Value::Object(value)
}

fn value_of(format: Format, text: &str) -> Result<Value, Unparsable> {
    match format {
        Format::Json(_) => json::value(text),
        Format::Toml(_) => toml::value(text),
        Format::YamlMap(_) | Format::YamlList(_) => yaml::value(text),
    }
}
