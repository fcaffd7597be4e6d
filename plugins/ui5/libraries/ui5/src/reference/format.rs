//! Formats symbols, without empty and private parts: in full, as summaries, and as URLs.

use super::Hit;
use crate::Framework;
use serde_json::{Map, Value};

/// The members of a symbol that a summary keeps.
const SUMMARY: [&str; 7] =
    ["kind", "name", "module", "library", "export", "description", "extends"];

/// The kinds of symbols with members; others are short and not summarised.
const WITH_PARTS: [&str; 8] =
    ["class", "interface", "namespace", "enum", "member", "object", "typedef", "function"];

/// A symbol in full.
pub fn full(hit: &Hit) -> Map<String, Value> {
    let mut shown = hit.content.clone();
    drop_empty(&mut shown);
    drop_private(&mut shown);
    for name in ["basename", "resource", "visibility"] {
        shown.shift_remove(name);
    }
    if let Some(module) = hit.module.as_deref().filter(|module| !module.is_empty())
        && !hit.content.contains_key("module")
    {
        shown.insert("module".to_owned(), module.into());
    }
    shown.insert("library".to_owned(), hit.library.clone().into());
    shown
}

/// A summary: what a symbol is, where it is, and whether it is deprecated or experimental. A symbol
/// of a kind without members is shown in full.
pub fn summary(hit: &Hit) -> Map<String, Value> {
    let mut shown = full(hit);
    if !shown.get("kind").and_then(Value::as_str).is_some_and(|kind| WITH_PARTS.contains(&kind)) {
        return shown;
    }
    let deprecated = shown.get("deprecated").map(|value| told(value, "Deprecated"));
    let experimental = shown.get("experimental").map(|value| told(value, "Experimental"));
    shown.retain(|name, _| SUMMARY.contains(&name.as_str()));
    for (name, text) in [("deprecatedText", deprecated), ("experimentalText", experimental)] {
        if let Some(text) = text {
            shown.insert(name.to_owned(), text.into());
        }
    }
    let note = "Note: This object is a shortened version of the full API object";
    shown.insert("_summaryInfo".to_owned(), note.into());
    shown
}

/// URL of the documentation of a formatted symbol.
pub fn uri(shown: &Map<String, Value>, framework: Framework, version: &str) -> String {
    let site = match framework {
        Framework::OpenUi5 => "https://openui5.org",
        Framework::SapUi5 => "https://ui5.sap.com",
    };
    let text = |name: &str| shown.get(name).and_then(Value::as_str).unwrap_or_default();
    let name = text("name");
    let entity = match text("module") {
        "" => name.to_owned(),
        module => module.replace('/', "."),
    };
    let export = match text("export") {
        "" => String::new(),
        export => format!("{export}/"),
    };
    let part = match text("kind") {
        "constructor" => "constructor".to_owned(),
        "ui5-aggregation" => format!("aggregations/{name}"),
        "ui5-association" => format!("associations/{name}"),
        "method" => format!("methods/{name}"),
        "function" => format!("functions/{name}"),
        "ui5-property" => format!("controlProperties/{name}"),
        "ui5-event" => format!("events/{name}"),
        _ => String::new(),
    };
    format!("{site}/{version}/api/{entity}/{export}{part}")
}

/// The text of `deprecated` or `experimental`. Without a text, `word` with the version since which it applies, if
/// known.
fn told(value: &Value, word: &str) -> String {
    let text = |name| value.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    match (text("text"), text("since")) {
        (Some(text), _) => text.to_owned(),
        (None, Some(since)) => format!("{word} since {since}"),
        (None, None) => word.to_owned(),
    }
}

/// Removes empty parts, and returns whether nothing is left. A dropped item of a list becomes
/// `null`, as in JavaScript.
fn is_empty(value: &mut Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => {
            for item in items.iter_mut() {
                if is_empty(item) {
                    *item = Value::Null;
                }
            }
            items.iter().all(Value::is_null)
        }
        Value::Object(members) => {
            drop_empty(members);
            members.is_empty()
        }
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn drop_empty(members: &mut Map<String, Value>) {
    members.retain(|_, value| !is_empty(value));
}

fn is_private(value: &Value) -> bool {
    matches!(value.get("visibility").and_then(Value::as_str), Some("private" | "restricted"))
}

/// Removes private objects from the members and from lists among them. Does not descend into
/// members that are objects.
fn drop_private(members: &mut Map<String, Value>) {
    members.retain(|_, value| !(value.is_object() && is_private(value)));
    for value in members.values_mut() {
        if let Value::Array(items) = value {
            drop_private_items(items);
        }
    }
}

fn drop_private_items(items: &mut Vec<Value>) {
    items.retain(|item| !item.is_null() && !is_private(item));
    for item in items {
        match item {
            Value::Object(members) => drop_private(members),
            Value::Array(inner) => {
                for value in inner.iter_mut() {
                    if value.is_object() && is_private(value) {
                        *value = Value::Null;
                    } else if let Value::Array(items) = value {
                        drop_private_items(items);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn hit(content: Value) -> Hit {
        let Value::Object(content) = content else { panic!("it is an object") };
        Hit { content, library: "a".into(), module: Some("a/library".into()) }
    }

    #[test]
    fn nothing_empty_and_nothing_private_is_shown() {
        let shown = full(&hit(json!({
            "kind": "class", "name": "a.B", "basename": "B", "visibility": "public", "export": "",
            "none": null, "list": [], "object": {"deep": {"x": []}},
            "hidden": {"visibility": "restricted"},
            "inner": {"hidden": {"visibility": "private"}, "list": [{}, 1]},
            "methods": [
                {"name": "a", "visibility": "public", "parameters": [{}, {"name": "p"}]},
                {"name": "b", "visibility": "private"},
            ],
            "properties": [{"visibility": "private"}],
        })));
        let expected = json!({
            "kind": "class",
            "name": "a.B",
            "inner": {"hidden": {"visibility": "private"}, "list": [null, 1]},
            "methods": [{"name": "a", "visibility": "public", "parameters": [{"name": "p"}]}],
            "properties": [],
            "module": "a/library",
            "library": "a",
        });
        assert_eq!(Value::Object(shown).to_string(), expected.to_string());
    }

    #[test]
    fn a_summary_has_the_deprecation() {
        let mut content = json!({
            "kind": "class", "name": "a.B", "module": "a/B", "extends": "a.A",
            "description": "Text.", "methods": [{"name": "x"}],
            "deprecated": {"since": "1.20", "text": "Use a.C."},
            "experimental": {"since": "1.10"},
        });
        assert_eq!(
            Value::Object(summary(&hit(content.clone()))),
            json!({
                "kind": "class", "name": "a.B", "module": "a/B", "extends": "a.A",
                "description": "Text.", "library": "a", "deprecatedText": "Use a.C.",
                "experimentalText": "Experimental since 1.10",
                "_summaryInfo": "Note: This object is a shortened version of the full API object",
            })
        );
        content["kind"] = "method".into();
        assert!(summary(&hit(content)).contains_key("methods"));
    }

    #[test]
    fn each_kind_has_its_url() {
        for (kind, export, expected) in [
            ("constructor", "", "https://ui5.sap.com/1.2.3/api/a.library/constructor"),
            ("ui5-event", "", "https://ui5.sap.com/1.2.3/api/a.library/events/x"),
            ("event", "", "https://ui5.sap.com/1.2.3/api/a.library/"),
            ("function", "E", "https://ui5.sap.com/1.2.3/api/a.library/E/functions/x"),
        ] {
            let shown = full(&hit(json!({"kind": kind, "name": "x", "export": export})));
            assert_eq!(uri(&shown, Framework::SapUi5, "1.2.3"), expected);
        }
        let nameless =
            full(&Hit { module: None, ..hit(json!({"kind": "namespace", "name": "a.b"})) });
        assert_eq!(
            uri(&nameless, Framework::OpenUi5, "1.2.3"),
            "https://openui5.org/1.2.3/api/a.b/"
        );
    }
}
