//! Computes the digest of a tool's definition. The digest does not depend on the order of members.

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::message::Object;
use crate::names::hex;

/// The members of a definition that the digest covers: those that models and users rely on.
const COUNTED: &[&str] =
    &["annotations", "description", "inputSchema", "name", "outputSchema", "title"];

/// SHA-256 of the [`COUNTED`] members in hexadecimal. The members are hashed as JSON without spaces, with sorted keys.
pub(crate) fn digest(definition: &Object) -> String {
    let mut canonical = String::new();
    let counted = COUNTED.iter().filter_map(|key| Some((*key, definition.get(*key)?)));
    object(counted.collect(), &mut canonical);
    hex(&Sha256::digest(canonical))
}

fn object(mut members: Vec<(&str, &Value)>, text: &mut String) {
    members.sort_unstable_by_key(|(key, _)| *key);
    text.push('{');
    for (place, (key, member)) in members.into_iter().enumerate() {
        if place > 0 {
            text.push(',');
        }
        text.push_str(&Value::from(key).to_string());
        text.push(':');
        value(member, text);
    }
    text.push('}');
}

fn value(of: &Value, text: &mut String) {
    match of {
        Value::Object(members) => {
            object(members.iter().map(|(key, member)| (key.as_str(), member)).collect(), text);
        }
        Value::Array(items) => {
            text.push('[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    text.push(',');
                }
                value(item, text);
            }
            text.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            text.push_str(&of.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(definition: Value) -> String {
        digest(definition.as_object().unwrap())
    }

    #[test]
    fn the_digest_depends_on_the_counted_members_only() {
        let one = of(json!({"name": "a", "inputSchema": {"x": [{"b": 1, "a": "\""}], "y": null}}));
        let same = of(json!({"inputSchema": {"y": null, "x": [{"a": "\"", "b": 1}]}, "name": "a"}));
        let with_more = of(json!({"inputSchema": {"y": null, "x": [{"a": "\"", "b": 1}]},
            "name": "a", "icons": [], "_meta": {}}));
        assert_eq!((one.len(), &one), (64, &same));
        assert_eq!(one, with_more);
        for other in [
            json!({"name": "b", "inputSchema": {"x": [{"b": 1, "a": "\""}], "y": null}}),
            json!({"name": "a", "inputSchema": {"x": [{"b": 2, "a": "\""}], "y": null}}),
            json!({"name": "a", "inputSchema": {"x": [{"b": 1, "a": "\""}]}}),
            json!({"name": "a", "description": "", "inputSchema": {"x": [{"b": 1, "a": "\""}], "y": null}}),
        ] {
            assert_ne!(one, of(other));
        }
    }
}
