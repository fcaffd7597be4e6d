//! The contract's types as MCP's.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{
    CacheScope, CallToolResult, CompleteResult, ContentBlock, GetPromptResult, JsonObject,
    MetaObject, ReadResourceResult, Tool as McpTool,
};
use serde_json::{Map, Value, json};

use portcullis_core::bindings::manifest::PromptArgument;
use portcullis_core::bindings::types::{
    Annotations, Blob, CacheScope as Scope, Content, ContentBody, Icon, ResourceContents,
    ResourceData, ResourceInfo, Role,
};
use portcullis_core::bindings::{
    Completion, Message, Prompt, PromptResult, ReadResult, ResourceTemplate, Tool, ToolHints,
    ToolResult,
};
use portcullis_core::catalog::Tool as Shown;

/// Longest description that is passed on, in characters: it is read by a model, each time.
const MAX_DESCRIPTION: usize = 16 * 1024;

/// A tool of whatever source, as `tools/list` shows it.
pub fn shown(name: &str, tool: Shown<'_>) -> Value {
    match tool {
        Shown::Own(_, own) => json!(self::tool(name, &own.definition)),
        Shown::Other(offered, other) => {
            let mut definition = other.definition.clone();
            definition.insert("name".into(), name.into());
            portcullis_core::upstreams::views::rewrite_tool(&offered.source.name, &mut definition);
            definition.into()
        }
    }
}

/// A tool, as `tools/list` shows it. Its texts come from outside: nothing in them hides.
pub fn tool(name: &str, tool: &Tool) -> McpTool {
    let object = |text: &str| -> JsonObject { serde_json::from_str(text).unwrap_or_default() };
    let description = tool.description.as_deref().map(described);
    let mut mcp =
        McpTool::new_with_raw(name.to_owned(), description.map(Into::into), Arc::default());
    mcp.title = tool.title.as_deref().map(|title| portcullis_sanitize::line(title, 200));
    mcp.input_schema = Arc::new(object(&tool.input_schema));
    mcp.output_schema = tool.output_schema.as_deref().map(|schema| Arc::new(object(schema)));
    mcp.annotations = serde_json::from_value(hints(&tool.hints)).ok();
    // Where clients of 2025-03-26 look for it.
    if let Some(annotations) = &mut mcp.annotations {
        annotations.title.clone_from(&mcp.title);
    }
    if !tool.icons.is_empty() {
        mcp.icons = serde_json::from_value(tool.icons.iter().map(icon).collect()).ok();
    }
    mcp.meta = meta(tool.extra.as_deref());
    mcp
}

fn described(text: &str) -> String {
    let plain = portcullis_sanitize::plain(text);
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

/// The members of an object that say something.
fn present(object: Value) -> Map<String, Value> {
    let says = |value: &Value| !value.is_null() && value.as_array().is_none_or(|a| !a.is_empty());
    let Value::Object(mut object) = object else { unreachable!("only objects are given") };
    object.retain(|_, value| says(value));
    object
}

/// A prompt, as `prompts/list` shows it.
pub fn prompt(name: &str, prompt: &Prompt) -> Value {
    let argument = |argument: &PromptArgument| {
        present(json!({
            "name": argument.name,
            "title": argument.title,
            "description": argument.description.as_deref().map(described),
            "required": argument.required,
        }))
    };
    let mut object = present(json!({
        "name": name,
        "title": prompt.title.as_deref().map(|title| portcullis_sanitize::line(title, 200)),
        "description": prompt.description.as_deref().map(described),
        "arguments": prompt.arguments.iter().map(argument).collect::<Vec<_>>(),
        "icons": prompt.icons.iter().map(icon).collect::<Vec<_>>(),
    }));
    merge(&mut object, prompt.extra.as_deref());
    object.into()
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

/// A family of resources, as `resources/templates/list` shows it.
pub fn template(template: &ResourceTemplate) -> Value {
    let mut object = present(json!({
        "uriTemplate": template.uri_template,
        "name": template.name,
        "title": template.title,
        "description": template.description.as_deref().map(described),
        "mimeType": template.mime_type,
        "icons": template.icons.iter().map(icon).collect::<Vec<_>>(),
        "annotations": template.annotations.as_ref().map(annotated),
    }));
    merge(&mut object, template.extra.as_deref());
    object.into()
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
    let mut object = json!({"type": "resource_link"});
    if let (Some(object), Value::Object(resource)) = (object.as_object_mut(), resource(link)) {
        object.extend(resource);
    }
    object
}

/// A resource, as `resources/list` shows it.
pub fn resource(link: &ResourceInfo) -> Value {
    let mut object = present(json!({
        "uri": link.uri,
        "name": link.name,
        "title": link.title,
        "description": link.description.as_deref().map(described),
        "mimeType": link.mime_type,
        "size": link.size,
        "icons": link.icons.iter().map(icon).collect::<Vec<_>>(),
        "annotations": link.annotations.as_ref().map(annotated),
    }));
    merge(&mut object, link.extra.as_deref());
    object.into()
}

fn role(role: &Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
    }
}

fn annotated(annotations: &Annotations) -> Value {
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
