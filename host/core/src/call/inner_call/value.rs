//! Converts a tool's answer into a value for the plugin that called the tool.

use serde_json::{Value, json};

use crate::bindings::ToolResult;
use crate::bindings::portcullis::plugin::tool_calls::Outcome;
use crate::bindings::types::{Content, ContentBody, ResourceContents, ResourceData};

use crate::call::inner::journal::failure;

/// Maximum length of the text of a tool's error, in characters.
const MAX_ERROR: usize = 4000;

/// The outcome of a call of a plugin's tool.
pub(super) fn of_plugin(result: ToolResult) -> Outcome {
    let ToolResult { content, structured, is_error, extra: _ } = result;
    if is_error {
        let blocks: Vec<_> = content.iter().map(block).collect();
        return error(&blocks);
    }
    if let Some(structured) = structured {
        return Outcome::Value(structured);
    }
    of_blocks(content.iter().map(block).collect())
}

/// The outcome of a call of an upstream server's tool.
pub(super) fn of_upstream(mut result: Value) -> Outcome {
    let blocks = match result.get_mut("content").map(Value::take) {
        Some(Value::Array(blocks)) => blocks,
        Some(_) | None => Vec::new(),
    };
    if result["isError"] == true {
        return error(&blocks);
    }
    match result.get("structuredContent") {
        Some(structured) if !structured.is_null() => Outcome::Value(structured.to_string()),
        Some(_) | None => of_blocks(blocks),
    }
}

/// The texts of all blocks, joined by line feeds. `None`: a block is not a text.
fn text_of(blocks: &[Value]) -> Option<String> {
    let texts: Option<Vec<&str>> = blocks.iter().map(|block| block["text"].as_str()).collect();
    texts.map(|texts| texts.join("\n"))
}

fn error(blocks: &[Value]) -> Outcome {
    let texts = blocks.iter().filter_map(|block| block["text"].as_str());
    let text = texts.collect::<Vec<_>>().join("\n");
    let mut text = portcullis_sanitize::plain(&text);
    if let Some((end, _)) = text.char_indices().nth(MAX_ERROR) {
        text.truncate(end);
        text.push('…');
    }
    let text = if text.is_empty() { "the tool failed without a message".into() } else { text };
    Outcome::Failed(failure("tool-error", text))
}

fn of_blocks(blocks: Vec<Value>) -> Outcome {
    Outcome::Value(match text_of(&blocks) {
        Some(text) if serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok() => text,
        Some(text) => Value::String(text).to_string(),
        None => Value::Array(blocks).to_string(),
    })
}

/// A content block of a plugin as JSON. Binary data is replaced by its size in bytes.
fn block(content: &Content) -> Value {
    match &content.body {
        ContentBody::Text(text) => json!({ "type": "text", "text": text }),
        ContentBody::Image(blob) => {
            json!({ "type": "image", "mimeType": blob.mime_type, "bytes": blob.data.len() })
        }
        ContentBody::Audio(blob) => {
            json!({ "type": "audio", "mimeType": blob.mime_type, "bytes": blob.data.len() })
        }
        ContentBody::Resource(found) => json!({ "type": "resource", "resource": resource(found) }),
        ContentBody::Link(link) => {
            json!({ "type": "resource_link", "uri": link.uri, "name": link.name })
        }
        ContentBody::Other(text) => serde_json::from_str(text).unwrap_or(Value::Null),
    }
}

fn resource(found: &ResourceContents) -> Value {
    let ResourceContents { uri, mime_type, data, extra: _ } = found;
    match data {
        ResourceData::Text(text) => json!({ "uri": uri, "mimeType": mime_type, "text": text }),
        ResourceData::Bytes(data) => {
            json!({ "uri": uri, "mimeType": mime_type, "bytes": data.len() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(result: Value) -> String {
        match of_upstream(result) {
            Outcome::Value(value) => value,
            Outcome::Failed(failure) => panic!("{}", failure.message),
        }
    }

    #[test]
    fn structured_content_is_preferred_to_json_text_and_blocks() {
        let text = |text: &str| json!({ "type": "text", "text": text });
        let image = json!({ "type": "image", "data": "AA==", "mimeType": "image/png" });
        for (result, expected) in [
            (json!({ "structuredContent": { "a": 1 }, "content": [text("b")] }), r#"{"a":1}"#),
            (json!({ "content": [text(r#"{"a": [1]}"#)] }), r#"{"a": [1]}"#),
            (json!({ "content": [text("a"), text("b")] }), r#""a\nb""#),
            (json!({ "content": [] }), r#""""#),
            (json!({ "content": [image.clone()] }), &*json!([image]).to_string()),
        ] {
            assert_eq!(value(result.clone()), expected, "{result}");
        }
    }

    #[test]
    fn an_error_has_the_tools_own_text() {
        let result =
            json!({ "isError": true, "content": [{ "type": "text", "text": "no\u{1b}[2J such" }] });
        let Outcome::Failed(failure) = of_upstream(result) else { panic!("this is an error") };
        assert_eq!(failure.kind, "tool-error");
        assert!(failure.message.starts_with("no") && !failure.message.contains('\u{1b}'));
        let Outcome::Failed(silent) = of_upstream(json!({ "isError": true })) else {
            panic!("this is an error")
        };
        assert_eq!(silent.message, "the tool failed without a message");
    }
}
