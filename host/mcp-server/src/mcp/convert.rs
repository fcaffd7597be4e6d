//! Answers of plugins in rmcp's types.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use portcullis_core::bindings::types::{
    Blob, CacheScope as Scope, Content, ContentBody, ResourceContents, ResourceData, ResourceInfo,
};
use portcullis_core::bindings::{Completion, Message, PromptResult, ReadResult, ToolResult};
use portcullis_core::definitions::{self, annotated, merge, present, resource, role};
use rmcp::model::{
    CacheScope, CallToolResult, CompleteResult, ContentBlock, GetPromptResult, MetaObject,
    ReadResourceResult,
};
use serde_json::{Value, json};

/// The same without the members that are `null`, at any depth of objects.
fn without_nulls(mut value: Value) -> Value {
    if let Value::Object(object) = &mut value {
        object.retain(|_, value| !value.is_null());
        for value in object.values_mut() {
            *value = without_nulls(value.take());
        }
    }
    value
}

/// A prompt's messages.
///
/// # Errors
///
/// Where a block is of a kind that this host's MCP library does not know.
pub fn prompt_result(result: PromptResult) -> Result<GetPromptResult, String> {
    let message = |message: Message| {
        let content = block(message.content)?;
        Ok(json!({"role": role(&message.role), "content": content}))
    };
    let messages = result.messages.into_iter().map(message).collect::<Result<Vec<_>, String>>()?;
    let whole = without_nulls(json!({
        "resultType": "complete", "description": result.description, "messages": messages,
    }));
    serde_json::from_value(whole).map_err(|error| format!("a prompt's messages: {error}"))
}

/// What a resource holds.
///
/// # Errors
///
/// Where the plugin adds what this host's MCP library cannot take.
pub fn read_result(result: ReadResult) -> Result<ReadResourceResult, String> {
    let all: Vec<_> = result.contents.into_iter().map(contents).collect();
    let all = serde_json::from_value(all.into()).map_err(|e| format!("a resource: {e}"))?;
    let mut read = ReadResourceResult::new(all);
    if let Some(fresh) = result.freshness {
        read.ttl_ms = Some(fresh.ttl_ms);
        read.cache_scope = Some(match fresh.scope {
            Scope::Private => CacheScope::Private,
            Scope::Public => CacheScope::Public,
        });
    }
    Ok(read)
}

/// What an argument may be.
///
/// # Errors
///
/// Where there are more values than MCP allows.
pub fn completion(found: Completion) -> Result<CompleteResult, String> {
    let whole = without_nulls(json!({"resultType": "complete", "completion": {
        "values": found.values, "total": found.total, "hasMore": found.has_more,
    }}));
    serde_json::from_value(whole).map_err(|error| format!("a completion: {error}"))
}

/// Of what a plugin adds to an answer, this host's MCP library passes `_meta` on.
fn meta(extra: Option<&str>) -> Option<MetaObject> {
    serde_json::from_value(definitions::meta(extra)?.into()).ok()
}

/// An answer that says that the tool failed.
pub fn error(text: String) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}

/// A tool's answer.
///
/// # Errors
///
/// Where a block is of a kind that this host's MCP library does not know.
pub fn result(result: ToolResult) -> Result<CallToolResult, String> {
    let blocks = result.content.into_iter().map(block).collect::<Result<_, _>>()?;
    let mut mcp = if result.is_error {
        CallToolResult::error(blocks)
    } else {
        CallToolResult::success(blocks)
    };
    mcp.structured_content = result
        .structured
        .map(|text| serde_json::from_str(&text).map_err(|error| error.to_string()))
        .transpose()?;
    mcp.meta = meta(result.extra.as_deref());
    Ok(mcp)
}

/// One block of an answer.
///
/// # Errors
///
/// Where it is of a kind that this host's MCP library does not know.
pub fn block(content: Content) -> Result<ContentBlock, String> {
    let Content { body, annotations, extra } = content;
    let body = match body {
        // By far the most frequent: not by way of JSON.
        ContentBody::Text(text) if annotations.is_none() && extra.is_none() => {
            return Ok(ContentBlock::text(text));
        }
        ContentBody::Text(text) => json!({"type": "text", "text": text}),
        ContentBody::Image(blob) => media("image", &blob),
        ContentBody::Audio(blob) => media("audio", &blob),
        ContentBody::Resource(resource) => {
            json!({"type": "resource", "resource": contents(resource)})
        }
        ContentBody::Link(link) => info(&link),
        ContentBody::Other(text) => serde_json::from_str(&text)
            .map_err(|error| format!("a content block is no JSON: {error}"))?,
    };
    let Value::Object(mut body) = body else {
        return Err("a content block is no JSON object".into());
    };
    if let Some(annotations) = annotations {
        body.insert("annotations".into(), annotated(&annotations));
    }
    merge(&mut body, extra.as_deref());
    serde_json::from_value(body.into()).map_err(|error| format!("a content block: {error}"))
}

fn media(kind: &str, blob: &Blob) -> Value {
    json!({"type": kind, "data": STANDARD.encode(&blob.data), "mimeType": blob.mime_type})
}

fn contents(resource: ResourceContents) -> Value {
    let (text, blob) = match resource.data {
        ResourceData::Text(text) => (Some(text), None),
        ResourceData::Bytes(bytes) => (None, Some(STANDARD.encode(bytes))),
    };
    let mut object = present(json!({
        "uri": resource.uri, "mimeType": resource.mime_type, "text": text, "blob": blob,
    }));
    merge(&mut object, resource.extra.as_deref());
    object.into()
}

fn info(link: &ResourceInfo) -> Value {
    let mut object = json!({"type": "resource_link"});
    if let (Some(object), Value::Object(resource)) = (object.as_object_mut(), resource(link)) {
        object.extend(resource);
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_plugin_adds_does_not_replace_what_the_contract_says() {
        let content = Content {
            body: ContentBody::Text("hello".into()),
            annotations: None,
            extra: Some(r#"{"text": "other", "_meta": {"a": 1}}"#.into()),
        };
        let block = serde_json::to_value(block(content).unwrap()).unwrap();
        assert_eq!(block, json!({"type": "text", "text": "hello", "_meta": {"a": 1}}));
    }

    #[test]
    fn bytes_become_base64() {
        let content = Content {
            body: ContentBody::Image(Blob { data: vec![1, 2, 3], mime_type: "image/png".into() }),
            annotations: None,
            extra: None,
        };
        let block = serde_json::to_value(block(content).unwrap()).unwrap();
        assert_eq!(block, json!({"type": "image", "data": "AQID", "mimeType": "image/png"}));
    }

    #[test]
    fn an_unknown_kind_of_block_is_said_and_not_swallowed() {
        let content = Content {
            body: ContentBody::Other(r#"{"type": "hologram"}"#.into()),
            annotations: None,
            extra: None,
        };
        assert!(block(content).unwrap_err().contains("hologram"));
    }
}
