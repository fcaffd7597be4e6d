//! Converts answers of plugins to rmcp's types.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use portcullis_core::bindings::types::{
    Blob, CacheScope as Scope, Content, ContentBody, ResourceContents, ResourceData, ResourceInfo,
};
use portcullis_core::bindings::{Completion, Message, PromptResult, ReadResult, ToolResult};
use portcullis_core::definitions::{self, merge, present, resource, role_name};
use rmcp::model::{
    CacheScope, CallToolResult, CompleteResult, ContentBlock, GetPromptResult, MetaObject,
    ReadResourceResult,
};
use serde::de::Error as _;
use serde_json::{Error, Map, Value, json};

/// A plugin's answer has no representation in rmcp's types: the plugin uses kinds of blocks that rmcp does not
/// know, members of a wrong type, or texts that are not JSON. Unknown members are not an error: rmcp drops them.
#[derive(Debug, thiserror::Error)]
#[error("{part}: {cause}")]
pub struct Unrepresentable {
    /// The part of the answer.
    part: &'static str,
    #[source]
    cause: Error,
}

/// The error for a part of an answer.
fn unrepresentable(part: &'static str) -> impl Fn(Error) -> Unrepresentable {
    move |cause| Unrepresentable { part, cause }
}

/// Removes the members that are `null`, also in nested objects, but not in arrays.
fn without_nulls(mut value: Value) -> Value {
    if let Value::Object(object) = &mut value {
        object.retain(|_, value| !value.is_null());
        for value in object.values_mut() {
            *value = without_nulls(value.take());
        }
    }
    value
}

/// The result of a prompt: its description and its messages.
///
/// # Errors
///
/// [`Unrepresentable`]: a message has a content block that rmcp cannot represent.
pub fn prompt_result(result: PromptResult) -> Result<GetPromptResult, Unrepresentable> {
    let message = |message: Message| {
        let content = block(message.content)?;
        Ok(json!({"role": role_name(&message.role), "content": content}))
    };
    let messages = result.messages.into_iter().map(message);
    let messages = messages.collect::<Result<Vec<_>, Unrepresentable>>()?;
    let whole = without_nulls(json!({
        "resultType": "complete", "description": result.description, "messages": messages,
    }));
    serde_json::from_value(whole).map_err(unrepresentable("a prompt's messages"))
}

/// The contents of a resource.
///
/// # Errors
///
/// [`Unrepresentable`]: the contents have no representation in rmcp's types.
pub fn read_result(result: ReadResult) -> Result<ReadResourceResult, Unrepresentable> {
    let all: Vec<_> = result.contents.into_iter().map(contents).collect();
    let all = serde_json::from_value(all.into()).map_err(unrepresentable("a resource"))?;
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

/// The values of a completion.
///
/// # Errors
///
/// [`Unrepresentable`]: the values have no representation in rmcp's types.
pub fn completion(found: Completion) -> Result<CompleteResult, Unrepresentable> {
    let whole = without_nulls(json!({"resultType": "complete", "completion": {
        "values": found.values, "total": found.total, "hasMore": found.has_more,
    }}));
    serde_json::from_value(whole).map_err(unrepresentable("a completion"))
}

/// The `_meta` among the additional members of an answer. rmcp's types have no place for other members.
fn meta(extra: Option<&str>) -> Option<MetaObject> {
    serde_json::from_value(definitions::meta(extra)?.into()).ok()
}

/// A result with `isError`.
pub fn error(text: String) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}

/// A result with one text.
pub fn text(text: String) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

/// The result of a tool.
///
/// # Errors
///
/// [`Unrepresentable`]: a content block has no representation in rmcp's types, or the structured content is not
/// JSON.
pub fn result(result: ToolResult) -> Result<CallToolResult, Unrepresentable> {
    let blocks = result.content.into_iter().map(block).collect::<Result<_, _>>()?;
    let mut mcp = if result.is_error {
        CallToolResult::error(blocks)
    } else {
        CallToolResult::success(blocks)
    };
    mcp.structured_content = result
        .structured
        .map(|text| serde_json::from_str(&text).map_err(unrepresentable("structured content")))
        .transpose()?;
    mcp.meta = meta(result.extra.as_deref());
    Ok(mcp)
}

/// A content block.
///
/// # Errors
///
/// [`Unrepresentable`]: the block is of a kind that rmcp does not know, has a member of a wrong type, or is not a
/// JSON object.
pub fn block(content: Content) -> Result<ContentBlock, Unrepresentable> {
    let Content { body, annotations, extra } = content;
    let part = "a content block";
    let mut body = match body {
        // The most frequent kind is not converted by way of JSON.
        ContentBody::Text(text) if annotations.is_none() && extra.is_none() => {
            return Ok(ContentBlock::text(text));
        }
        ContentBody::Text(text) => present(json!({"type": "text", "text": text})),
        ContentBody::Image(blob) => media("image", &blob),
        ContentBody::Audio(blob) => media("audio", &blob),
        ContentBody::Resource(resource) => {
            present(json!({"type": "resource", "resource": contents(resource)}))
        }
        ContentBody::Link(link) => info(&link),
        ContentBody::Other(text) => match serde_json::from_str(&text) {
            Ok(Value::Object(object)) => object,
            Ok(_) => return Err(unrepresentable(part)(Error::custom("not a JSON object"))),
            Err(error) => return Err(unrepresentable(part)(error)),
        },
    };
    if let Some(of_block) = annotations {
        body.insert("annotations".into(), definitions::annotations(&of_block));
    }
    merge(&mut body, extra.as_deref());
    serde_json::from_value(body.into()).map_err(unrepresentable(part))
}

fn media(kind: &str, blob: &Blob) -> Map<String, Value> {
    present(json!({
        "type": kind, "data": STANDARD.encode(&blob.data), "mimeType": blob.mime_type,
    }))
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

fn info(link: &ResourceInfo) -> Map<String, Value> {
    let mut object = present(json!({"type": "resource_link"}));
    if let Value::Object(resource) = resource(link) {
        object.extend(resource);
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn additional_members_do_not_replace_those_of_the_contract() {
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
    fn an_unknown_kind_of_block_is_an_error() {
        let content = Content {
            body: ContentBody::Other(r#"{"type": "hologram"}"#.into()),
            annotations: None,
            extra: None,
        };
        assert!(block(content).unwrap_err().to_string().contains("hologram"));
    }
}
