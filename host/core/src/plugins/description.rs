//! Descriptions of plugins and upstream servers at their approval, and the differences between two descriptions.
//!
//! A description is a JSON object. The description of a plugin has its imports and exports, and the wants, tools and
//! other parts of its manifest. The description of an upstream server has its tools. A description is kept with the
//! approval, so that a reviewer can see the changes since.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::bindings::Manifest;
use crate::sandbox::ComponentInfo;
use portcullis_mcp_client::Listing;

/// A difference between two descriptions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// The place of the difference: the names of the fields that lead to the value.
    pub at: Vec<String>,
    /// The approved value. `None`: there was no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<Value>,
    /// The value now. `None`: the value was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new: Option<Value>,
}

/// Describes a component. Without a manifest, the description has the imports and the exports only.
pub fn of_component(info: &ComponentInfo) -> Value {
    let imports: Map<_, _> =
        info.imports.iter().map(|one| (one.interface.clone(), json!(one.functions))).collect();
    let mut all = json!({ "imports": imports, "exports": info.features });
    if let Some(manifest) = &info.manifest {
        describe_manifest(manifest, &mut all);
    }
    all
}

fn describe_manifest(manifest: &Manifest, all: &mut Value) {
    all["version"] = json!(manifest.version);
    all["title"] = json!(manifest.title);
    all["description"] = json!(manifest.description);
    all["instructions"] = json!(manifest.instructions);
    let wants = manifest.wants.iter().map(|want| {
        let what = format!("{} {} {}", want.capability, want.target, want.access);
        let rest = json!({ "reason": want.reason, "optional": want.optional });
        (what.trim_end().to_owned(), rest)
    });
    all["wants"] = Value::Object(wants.collect());
    all["tools"] = by_name(manifest.tools.iter().map(|tool| (tool.name.clone(), json!(tool))));
    all["prompts"] = by_name(manifest.prompts.iter().map(|one| (one.name.clone(), json!(one))));
    all["resources"] = by_name(manifest.resources.iter().map(|one| (one.uri.clone(), json!(one))));
    let templates = manifest.templates.iter().map(|one| (one.uri_template.clone(), json!(one)));
    all["resource templates"] = by_name(templates);
}

/// Describes the tools of an upstream server.
pub fn of_listing(listing: &Listing) -> Value {
    let tools = listing.tools.iter().map(|tool| (tool.name.clone(), json!(tool.definition)));
    json!({ "tools": Value::Object(tools.collect()) })
}

/// Objects of the contract, such as tools, by their names. Members that are JSON text in the contract, such as schemas,
/// are parsed.
fn by_name(all: impl Iterator<Item = (String, Value)>) -> Value {
    let parsed = all.map(|(name, mut one)| {
        remove_absent(&mut one);
        let Value::Object(fields) = one else { return (name, one) };
        let described = fields.into_iter().filter(|(key, _)| key != "name").map(|(key, value)| {
            let parsed = value.as_str().filter(|_| is_json(&key)).map(serde_json::from_str);
            (key.replace('_', " "), parsed.and_then(Result::ok).unwrap_or(value))
        });
        (name, Value::Object(described.collect()))
    });
    Value::Object(parsed.collect())
}

/// Whether the contract has this field as JSON text.
fn is_json(field: &str) -> bool {
    matches!(field, "input_schema" | "output_schema" | "extra")
}

/// Removes fields whose value is null, an empty list or an empty object.
fn remove_absent(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(remove_absent);
            fields.retain(|_, value| !is_absent(value));
        }
        Value::Array(items) => items.iter_mut().for_each(remove_absent),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_absent(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// All differences, in the order of the fields' names.
pub fn differences(old: &Value, new: &Value) -> Vec<Difference> {
    let mut all = Vec::new();
    compare(&mut Vec::new(), Some(old), Some(new), &mut all);
    all
}

fn compare(
    at: &mut Vec<String>,
    old: Option<&Value>,
    new: Option<&Value>,
    all: &mut Vec<Difference>,
) {
    if old == new {
        return;
    }
    let fields = (old.and_then(Value::as_object), new.and_then(Value::as_object));
    if let (Some(before), Some(after)) = fields {
        let keys: BTreeSet<_> = before.keys().chain(after.keys()).collect();
        for key in keys {
            at.push(key.clone());
            compare(at, before.get(key), after.get(key), all);
            at.pop();
        }
        return;
    }
    if let (Some(Value::Array(before)), Some(Value::Array(after))) = (old, new)
        && is_set(before)
        && is_set(after)
    {
        let removed = before.iter().filter(|one| !after.contains(one));
        let added = after.iter().filter(|one| !before.contains(one));
        let changes =
            removed.map(|one| (Some(one), None)).chain(added.map(|one| (None, Some(one))));
        let count_before = all.len();
        all.extend(changes.map(|(old, new)| difference(at, old, new)));
        if all.len() > count_before {
            return;
        }
    }
    all.push(difference(at, old, new));
}

/// Whether a list consists of distinct strings, such as the names of functions.
fn is_set(list: &[Value]) -> bool {
    let texts: BTreeSet<_> = list.iter().filter_map(Value::as_str).collect();
    texts.len() == list.len()
}

fn difference(at: &[String], old: Option<&Value>, new: Option<&Value>) -> Difference {
    let present = |value: Option<&Value>| value.filter(|value| !value.is_null()).cloned();
    Difference { at: at.to_vec(), old: present(old), new: present(new) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(old: &Value, new: &Value) -> Vec<String> {
        let show = |value: &Option<Value>| value.as_ref().map_or("-".into(), Value::to_string);
        let line = |one: &Difference| {
            format!("{}: {} > {}", one.at.join("/"), show(&one.old), show(&one.new))
        };
        differences(old, new).iter().map(line).collect()
    }

    #[test]
    fn every_difference_is_found_and_nothing_else() {
        let old = json!({
            "imports": {"wasi:io/streams": ["read", "write"], "gone": []},
            "tools": {"a": {"description": "Adds", "hints": {"read_only": true}, "x": [1, 2]}},
            "title": null,
        });
        assert_eq!(lines(&old, &old), [""; 0]);
        let new = json!({
            "imports": {"wasi:io/streams": ["write", "check"], "wasi:http/outgoing-handler": ["handle"]},
            "tools": {
                "a": {"description": "Adds", "hints": {"read_only": false}, "x": [2, 1]},
                "b": {"description": "Sends"},
            },
            "title": "T",
        });
        assert_eq!(
            lines(&old, &new),
            [
                r#"imports/gone: [] > -"#,
                r#"imports/wasi:http/outgoing-handler: - > ["handle"]"#,
                r#"imports/wasi:io/streams: "read" > -"#,
                r#"imports/wasi:io/streams: - > "check""#,
                r#"title: - > "T""#,
                r#"tools/a/hints/read_only: true > false"#,
                r#"tools/a/x: [1,2] > [2,1]"#,
                r#"tools/b: - > {"description":"Sends"}"#,
            ]
        );
    }

    #[test]
    fn another_order_of_a_list_is_a_difference() {
        let (old, new) = (json!({"required": ["a", "b"]}), json!({"required": ["b", "a"]}));
        assert_eq!(lines(&old, &new), [r#"required: ["a","b"] > ["b","a"]"#]);
    }
}
