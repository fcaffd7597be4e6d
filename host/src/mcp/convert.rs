//! The contract's types as MCP's.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, MetaObject, Tool as McpTool};
use serde_json::{Map, Value, json};

use crate::bindings::types::{
    Annotations, Blob, Content, ContentBody, Icon, ResourceContents, ResourceData, ResourceInfo,
    Role,
};
use crate::bindings::{Tool, ToolHints, ToolResult};

/// Longest description that is passed on, in characters: it is read by a model, each time.
const MAX_DESCRIPTION: usize = 16 * 1024;

/// A tool, as `tools/list` shows it. Its texts come from outside: nothing in them hides.
pub fn tool(tool: &Tool) -> McpTool {
    let object = |text: &str| -> JsonObject { serde_json::from_str(text).unwrap_or_default() };
    let description = tool.description.as_deref().map(described);
    let mut mcp =
        McpTool::new_with_raw(tool.name.clone(), description.map(Into::into), Arc::default());
    mcp.title = tool.title.as_deref().map(|title| crate::text::line(title, 200));
    mcp.input_schema = Arc::new(object(&tool.input_schema));
    mcp.output_schema = tool.output_schema.as_deref().map(|schema| Arc::new(object(schema)));
    mcp.annotations = serde_json::from_value(hints(&tool.hints)).ok();
    if !tool.icons.is_empty() {
        mcp.icons = serde_json::from_value(tool.icons.iter().map(icon).collect()).ok();
    }
    mcp.meta = meta(tool.extra.as_deref());
    mcp
}

fn described(text: &str) -> String {
    let plain = crate::text::plain(text);
    match plain.char_indices().nth(MAX_DESCRIPTION) {
        None => plain,
        Some((end, _)) => format!("{}…", &plain[..end]),
    }
}

fn hints(hints: &ToolHints) -> Value {
    present(json!({
        "readOnlyHint": hints.read_only,
        "destructiveHint": hints.destructive,
        "idempotentHint": hints.idempotent,
        "openWorldHint": hints.open_world,
    }))
    .into()
}

/// The members of an object that say something.
fn present(object: Value) -> Map<String, Value> {
    let says = |value: &Value| !value.is_null() && value.as_array().is_none_or(|a| !a.is_empty());
    let Value::Object(mut object) = object else { unreachable!("only objects are given") };
    object.retain(|_, value| says(value));
    object
}

/// Of what a plugin adds to a tool or an answer, this host's MCP library passes `_meta` on.
fn meta(extra: Option<&str>) -> Option<MetaObject> {
    let extra: Map<String, Value> = serde_json::from_str(extra?).ok()?;
    serde_json::from_value(extra.get("_meta")?.clone()).ok()
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

/// Adds what a plugin says beyond the contract; what the contract says stays.
fn merge(object: &mut Map<String, Value>, extra: Option<&str>) {
    let extra: Map<String, Value> =
        extra.and_then(|extra| serde_json::from_str(extra).ok()).unwrap_or_default();
    for (key, value) in extra {
        object.entry(key).or_insert(value);
    }
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
    let mut object = present(json!({
        "type": "resource_link",
        "uri": link.uri,
        "name": link.name,
        "title": link.title,
        "description": link.description,
        "mimeType": link.mime_type,
        "size": link.size,
        "icons": link.icons.iter().map(icon).collect::<Vec<_>>(),
        "annotations": link.annotations.as_ref().map(annotated),
    }));
    merge(&mut object, link.extra.as_deref());
    object.into()
}

fn annotated(annotations: &Annotations) -> Value {
    let role = |role: &Role| match role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    present(json!({
        "audience": annotations.audience.iter().map(role).collect::<Vec<_>>(),
        "priority": annotations.priority,
        "lastModified": annotations.last_modified,
    }))
    .into()
}

fn icon(icon: &Icon) -> Value {
    present(json!({
        "src": icon.src, "mimeType": icon.mime_type, "sizes": icon.sizes, "theme": icon.theme,
    }))
    .into()
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
