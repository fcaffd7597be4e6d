//! Finds secrets, hidden text and instructions to models in the results of upstream servers, and marks the results.
//!
//! A mark is a member of the result's `_meta` ([`KEY`]). Everything else in the result stays as it is, except that an
//! invalid `_meta`, which is not an object, is replaced. The mark says which rules matched and where, and never what the
//! text is.
//!
//! The rules are conservative: each rule finds texts of a known form, such as the form of a provider's tokens. Texts of
//! other forms are not found. A result without a mark can therefore still contain secrets, hidden text or instructions.

mod hidden;
mod instructions;
mod secrets;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// The member of a result's `_meta` that has the findings.
pub const KEY: &str = "portcullis/findings";

/// Maximum length of a place (a JSON pointer into a result), in bytes. In the last member, each `~0` and `~1` counts as one
/// byte. A member that does not fit is left out of the place.
const MAX_PLACE: usize = 200;

/// What kind of text a rule finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A secret, such as a private key or a provider's access token.
    Secret,
    /// Text that a person does not see and a model reads.
    HiddenText,
    /// Instructions aimed at a model instead of its user.
    Instructions,
}

/// The kind and the name of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rule {
    kind: Kind,
    name: &'static str,
}

/// All matches of one rule in one result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The kind of the rule.
    pub kind: Kind,
    /// The name of the rule.
    pub rule: &'static str,
    /// The place of the first text that the rule matched, as a JSON pointer into the result. A pointer that would be
    /// too long lacks members.
    pub at: String,
    /// The number of texts that the rule matched.
    pub texts: usize,
}

/// Marks a result with what is found in it. Returns the findings, in the order of their rules' names. A mark from the
/// server itself is removed, because only the host may mark results.
pub fn mark(result: &mut Value) -> Vec<Finding> {
    let findings = find(result);
    let Some(result) = result.as_object_mut() else { return findings };
    if let Some(meta) = result.get_mut("_meta").and_then(Value::as_object_mut) {
        meta.shift_remove(KEY);
    }
    if !findings.is_empty()
        && let Ok(mark) = serde_json::to_value(&findings)
    {
        let meta = result.entry("_meta").or_insert_with(|| Value::Object(Default::default()));
        if !meta.is_object() {
            *meta = Value::Object(Default::default());
        }
        meta[KEY] = mark;
    }
    findings
}

/// Finds secrets, hidden text and instructions in all texts of a result. The texts are the values and the names of
/// members. `_meta` is skipped, and so is the base64 of images, audio and binary resources.
pub fn find(result: &Value) -> Vec<Finding> {
    let mut search = Search { place: String::new(), found: BTreeMap::new() };
    search.value(result);
    search.found.into_values().collect()
}

struct Search {
    /// The place of the current value.
    place: String,
    found: BTreeMap<&'static str, Finding>,
}

impl Search {
    fn value(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.within(&index.to_string(), |search| search.value(item));
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    if name == "_meta" || is_binary(value, name) {
                        continue;
                    }
                    self.within(name, |search| {
                        search.text(name);
                        search.value(member);
                    });
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Appends the name of a member, or the index of an item, to the place if it fits, calls `work`, and restores the
    /// place.
    fn within(&mut self, name: &str, work: impl FnOnce(&mut Self)) {
        let length = self.place.len();
        if length + name.len() < MAX_PLACE {
            self.place.push('/');
            self.place.push_str(&name.replace('~', "~0").replace('/', "~1"));
        }
        work(self);
        self.place.truncate(length);
    }

    fn text(&mut self, text: &str) {
        let rules = secrets::rules_in(text)
            .into_iter()
            .chain(hidden::rules_in(text))
            .chain(instructions::rules_in(text));
        for Rule { kind, name } in rules {
            let first = || Finding { kind, rule: name, at: self.place.clone(), texts: 0 };
            self.found.entry(name).or_insert_with(first).texts += 1;
        }
    }
}

/// Whether a member holds the base64 of an image, audio or a binary resource of MCP.
fn is_binary(holder: &Value, name: &str) -> bool {
    match name {
        "data" => matches!(holder["type"].as_str(), Some("image" | "audio")),
        "blob" => holder["uri"].is_string(),
        _ => false,
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests may read files")]
mod tests;
