//! Structured content of results, which servers repeat as text for clients that do not read it. A profile says what its
//! clients read ([`StructuredContent`]), so that a model does not get the same data twice.

use portcullis_core::config::StructuredContent;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};

/// Whether a text is JSON with the same data as structured content.
pub(super) fn repeats(text: &str, structured: &Value) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|value| value == *structured)
}

/// The structured content of a result, if no text of the result repeats it.
pub(super) fn unrepeated(result: &CallToolResult) -> Option<&Value> {
    let structured = result.structured_content.as_ref()?;
    let mut texts = result.content.iter().filter_map(ContentBlock::as_text);
    (!texts.any(|block| repeats(&block.text, structured))).then_some(structured)
}

/// A result as a client with these habits reads it.
pub(super) fn for_client(mut result: CallToolResult, habit: StructuredContent) -> CallToolResult {
    match habit {
        StructuredContent::WithText => {}
        StructuredContent::Alone => {
            if let Some(structured) = &result.structured_content {
                let is_repeated = |block: &ContentBlock| {
                    block.as_text().is_some_and(|text| repeats(&text.text, structured))
                };
                result.content.retain(|block| !is_repeated(block));
            }
        }
        StructuredContent::AsText => {
            if let Some(structured) = unrepeated(&result) {
                let text = ContentBlock::text(structured.to_string());
                result.content.push(text);
            }
            result.structured_content = None;
        }
    }
    result
}

/// As [`for_client`], for the result of an upstream server, whose other members stay as they are.
pub(super) fn for_client_raw(mut result: Value, habit: StructuredContent) -> Value {
    if habit == StructuredContent::WithText || result["structuredContent"].is_null() {
        return result;
    }
    let structured = result["structuredContent"].clone();
    let Some(content) = result.get_mut("content").and_then(Value::as_array_mut) else {
        return result;
    };
    let is_repeated = |block: &Value| {
        block["type"] == "text"
            && block["text"].as_str().is_some_and(|text| repeats(text, &structured))
    };
    match habit {
        StructuredContent::WithText => {}
        StructuredContent::Alone => content.retain(|block| !is_repeated(block)),
        StructuredContent::AsText => {
            if !content.iter().any(is_repeated) {
                content.push(json!({ "type": "text", "text": structured.to_string() }));
            }
            result.as_object_mut().and_then(|members| members.remove("structuredContent"));
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A result with a summary, a text that repeats the data, and an image.
    fn result(repeated: bool) -> Value {
        let mut content = vec![json!({"type": "text", "text": "two rows"})];
        if repeated {
            content.push(json!({"type": "text", "text": "{ \"b\": [2.0], \"a\": 1 }"}));
        }
        content.push(json!({"type": "image", "data": "AQID", "mimeType": "image/png"}));
        json!({"content": content, "structuredContent": {"a": 1, "b": [2.0]}})
    }

    #[test]
    fn a_client_gets_the_data_once() {
        for (repeated, habit, texts, structured) in [
            (true, StructuredContent::WithText, 2, true),
            (true, StructuredContent::Alone, 1, true),
            (true, StructuredContent::AsText, 2, false),
            (false, StructuredContent::WithText, 1, true),
            (false, StructuredContent::Alone, 1, true),
            (false, StructuredContent::AsText, 2, false),
        ] {
            let typed: CallToolResult = serde_json::from_value(result(repeated)).unwrap();
            let typed = serde_json::to_value(for_client(typed, habit)).unwrap();
            for seen in [for_client_raw(result(repeated), habit), typed] {
                let blocks = seen["content"].as_array().unwrap();
                let found: Vec<_> = blocks.iter().filter(|one| one["type"] == "text").collect();
                assert_eq!(found.len(), texts, "{repeated} {habit:?}: {seen}");
                assert_eq!(blocks.len(), texts + 1, "the image stays: {seen}");
                assert_eq!(seen.get("structuredContent").is_some(), structured, "{seen}");
                let has_data = found.iter().any(|one| {
                    repeats(one["text"].as_str().unwrap(), &json!({"a": 1, "b": [2.0]}))
                });
                assert!(has_data || structured, "nothing is lost: {seen}");
            }
        }
    }

    #[test]
    fn other_members_of_an_upstreams_result_stay() {
        let result =
            json!({"content": [], "structuredContent": {"a": 1}, "x": 1.50, "isError": true});
        let seen = for_client_raw(result, StructuredContent::AsText);
        let content = json!([{"type": "text", "text": "{\"a\":1}"}]);
        assert_eq!(seen, json!({"content": content, "x": 1.50, "isError": true}));
        let odd = json!({"structuredContent": {"a": 1}});
        assert_eq!(
            for_client_raw(odd.clone(), StructuredContent::AsText),
            odd,
            "it has no content"
        );
    }
}
