//! Decides which pages get the larger runtime, which includes `more.js` of `plugins/ui/resources/src`.

use portcullis_plugin::{
    catalog::Entry,
    serde_json::{Map, Value},
};

/// Names of pagination parameters, in lower case without separators.
const PAGING: [&str; 15] = [
    "cursor",
    "pagetoken",
    "nexttoken",
    "nextcursor",
    "nextpagetoken",
    "continuationtoken",
    "after",
    "marker",
    "page",
    "pagenumber",
    "pageno",
    "offset",
    "skip",
    "startindex",
    "fromindex",
];

/// Names of texts that may have several lines: Markdown, code, tables, diffs.
const TEXTS: [&str; 16] = [
    "body", "code", "content", "details", "diff", "document", "log", "markdown", "output", "patch",
    "report", "source", "stderr", "stdout", "summary", "text",
];

/// Names of members that hold one of two versions to be compared.
const CHANGES: [&str; 7] = ["before", "after", "old", "new", "oldvalue", "newvalue", "previous"];

/// Schema keywords that this module does not follow. It assumes that values of such schemas may have any shape.
const OPEN: [&str; 9] = [
    "$ref",
    "$dynamicRef",
    "allOf",
    "if",
    "not",
    "oneOf",
    "patternProperties",
    "dependentSchemas",
    "unevaluatedProperties",
];

/// Whether the page of a tool needs the larger runtime: the form may be more than a list of simple fields, or the
/// result may be a text of any kind, a tree, a diff, a chart, a map of records or one of several pages.
pub fn needs_more(tool: &Entry) -> bool {
    let parameters = properties(&tool.input_schema);
    let pages =
        parameters.is_some_and(|all| all.keys().any(|name| PAGING.contains(&plain(name).as_str())));
    let is_flat =
        is_closed(&tool.input_schema) && parameters.is_none_or(|all| all.values().all(is_single));
    pages
        || !is_flat
        || !tool.output_schema.as_ref().is_some_and(|schema| is_usual(schema, "", false))
}

/// A name in lower case, without separators between its words.
fn plain(name: &str) -> String {
    name.chars().filter(|char| char.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties")?.as_object()
}

/// Whether a schema describes its values completely: without keywords in [`OPEN`], and with all members of
/// objects listed.
fn is_closed(schema: &Value) -> bool {
    let open = schema.get("additionalProperties").is_some_and(|more| more != false);
    schema.is_object() && !open && !OPEN.iter().any(|key| schema.get(key).is_some())
}

/// The only type of a schema besides `null`. `None`: the schema names no type, or several.
fn kind(schema: &Value) -> Option<&str> {
    match schema.get("type")? {
        Value::String(kind) => Some(kind),
        Value::Array(kinds) => {
            let mut kinds = kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null");
            let first = kinds.next()?;
            kinds.next().is_none().then_some(first)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// The only branch of a union that is not `null`; the schema itself if it is not a union.
fn only_branch(schema: &Value) -> Option<&Value> {
    let Some(branches) = schema.get("anyOf") else { return Some(schema) };
    let mut branches = branches.as_array()?.iter().filter(|branch| kind(branch) != Some("null"));
    let first = branches.next()?;
    branches.next().is_none().then_some(first)
}

/// Whether a parameter is one field of a form.
fn is_single(schema: &Value) -> bool {
    only_branch(schema).is_some_and(|schema| {
        is_closed(schema)
            && schema.get("contentEncoding").is_none()
            && (schema.get("enum").is_some()
                || kind(schema).is_some_and(|kind| {
                    matches!(kind, "string" | "number" | "integer" | "boolean")
                }))
    })
}

/// Whether the smaller runtime shows data of this schema as well as the larger runtime does.
fn is_usual(schema: &Value, name: &str, in_list: bool) -> bool {
    let name = plain(name);
    let Some(schema) = only_branch(schema) else { return false };
    if !is_closed(schema) || CHANGES.contains(&name.as_str()) {
        return false;
    }
    match kind(schema) {
        Some("boolean" | "null") => true,
        Some("string") => {
            ["enum", "const", "format"].iter().any(|key| schema.get(key).is_some())
                || !TEXTS.contains(&name.as_str())
        }
        // Numbers in a list may be drawn as a chart.
        Some("number" | "integer") => !in_list,
        Some("object") => properties(schema)
            .is_some_and(|all| all.iter().all(|(name, schema)| is_usual(schema, name, in_list))),
        // Lists within lists may be trees.
        Some("array") => {
            !in_list && schema.get("items").is_some_and(|items| is_usual(items, "", true))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::serde_json::json;

    fn tool(input: Value, output: Option<Value>) -> Entry {
        Entry { output_schema: output, ..Entry::new("t", "s", input) }
    }

    fn object(properties: Value) -> Value {
        json!({ "type": "object", "properties": properties })
    }

    #[test]
    fn flat_parameters_and_plain_answers_need_only_the_usual_runtime() {
        let input = object(json!({
            "city": { "type": "string" },
            "days": { "anyOf": [{ "type": "integer" }, { "type": "null" }] },
            "units": { "enum": ["metric", "imperial"] },
        }));
        let output = object(json!({
            "name": { "type": "string" },
            "at": { "type": ["string", "null"], "format": "date-time" },
            "total": { "type": "integer" },
            "content": { "type": "string", "format": "uri" },
            "rows": { "type": "array", "items": object(json!({ "id": { "type": "string" } })) },
        }));
        assert!(!needs_more(&tool(input, Some(output.clone()))));
        assert!(!needs_more(&tool(json!({ "type": "object" }), Some(output))));
    }

    #[test]
    fn other_parameters_and_answers_need_the_larger_runtime() {
        let flat = || json!({ "type": "object" });
        let usual = || Some(object(json!({ "name": { "type": "string" } })));
        assert!(needs_more(&tool(flat(), None)), "a text of any kind");
        for parameter in [
            json!({ "type": "array", "items": { "type": "string" } }),
            object(json!({})),
            json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }] }),
            json!({ "$ref": "#/$defs/x" }),
            json!({ "type": "string", "contentEncoding": "base64" }),
            json!({}),
            json!(true),
        ] {
            assert!(needs_more(&tool(object(json!({ "x": parameter })), usual())), "{parameter}");
        }
        for name in ["cursor", "page_token", "pageNumber", "offset"] {
            let input = object(json!({ name: { "type": "string" } }));
            assert!(needs_more(&tool(input, usual())), "{name}");
        }
        let open = json!({ "type": "object", "additionalProperties": { "type": "string" } });
        assert!(needs_more(&tool(open.clone(), usual())));
        for output in [
            open,
            json!({ "type": "object" }),
            json!({ "$ref": "#/$defs/x" }),
            object(json!({ "content": { "type": "string" } })),
            object(json!({ "before": object(json!({})), "after": object(json!({})) })),
            object(
                json!({ "rows": { "type": "array", "items": object(json!({ "n": { "type": "number" } })) } }),
            ),
            object(
                json!({ "rows": { "type": "array", "items": object(json!({ "rows": { "type": "array", "items": { "type": "string" } } })) } }),
            ),
            object(json!({ "rows": { "type": "array" } })),
        ] {
            assert!(needs_more(&tool(flat(), Some(output.clone()))), "{output}");
        }
    }
}
