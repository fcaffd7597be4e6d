//! The JSON definitions of tools, prompts, resources and templates in MCP's lists.

use serde_json::{Map, Value, json};

use crate::bindings::manifest::PromptArgument;
use crate::bindings::portcullis::plugin::catalog::Entry;
use crate::bindings::types::{Annotations, Icon, ResourceInfo, Role};
use crate::bindings::{Prompt, ResourceTemplate, Tool as Definition, ToolHints};
use crate::catalog::{Catalog, CatalogTool};
use crate::upstreams::views;

/// The two keys of a tool's view: in `_meta.ui` as MCP Apps specifies, and directly in `_meta` for older clients.
pub const VIEW_KEYS: (&str, &str) = ("resourceUri", "ui/resourceUri");

/// Maximum length of a description in characters. Models read all descriptions in each conversation.
const MAX_DESCRIPTION_CHARS: usize = 16 * 1024;

/// A tool of any source, as in `tools/list`.
pub fn listed_tool(name: &str, tool: CatalogTool<'_>) -> Value {
    match tool {
        CatalogTool::Plugin(_, tool) => self::tool(name, &tool.definition),
        CatalogTool::Upstream(offered, tool) => {
            let mut definition = tool.definition.clone();
            definition.insert("name".into(), name.into());
            views::rewrite_tool(&offered.source.name, &mut definition);
            definition.into()
        }
    }
}

/// A plugin's tool, as in `tools/list`. The plugin's texts are untrusted and are sanitised for display.
pub fn tool(name: &str, tool: &Definition) -> Value {
    let object =
        |text: &str| -> Map<String, Value> { serde_json::from_str(text).unwrap_or_default() };
    let title = tool.title.as_deref().map(|title| portcullis_sanitize::line(title, 200));
    let mut annotations = hints(&tool.hints);
    // Clients of 2025-03-26 read the title here.
    annotations.extend(title.clone().map(|title| ("title".to_owned(), title.into())));
    let mut definition = present(json!({
        "name": name,
        "title": title,
        "description": tool.description.as_deref().map(sanitised_description),
        "icons": tool.icons.iter().map(icon).collect::<Vec<_>>(),
        "_meta": meta(tool.extra.as_deref()),
    }));
    definition.insert("inputSchema".into(), object(&tool.input_schema).into());
    let output = tool.output_schema.as_deref().map(object);
    definition.extend(output.map(|output| ("outputSchema".to_owned(), output.into())));
    definition.insert("annotations".into(), annotations.into());
    definition.into()
}

/// Removes parts of the definition of a plugin's tool that a model does not need: hints that follow from
/// `readOnlyHint`; the title in the annotations, if `protocol` is later than 2025-03-26 and the title repeats that of
/// the tool; and the output schema, unless `has_output_schema` is true. The host checks answers against the output
/// schema in any case.
pub fn make_lean(tool: &mut Map<String, Value>, protocol: &str, has_output_schema: bool) {
    if !has_output_schema {
        tool.shift_remove("outputSchema");
    }
    let title = tool.get("title").cloned();
    let Some(hints) = tool.get_mut("annotations").and_then(Value::as_object_mut) else { return };
    // A tool that only reads is not destructive, and is idempotent.
    if hints.get("readOnlyHint") == Some(&Value::Bool(true)) {
        hints.shift_remove("destructiveHint");
        hints.shift_remove("idempotentHint");
    }
    if protocol >= "2025-06-18" && hints.get("title") == title.as_ref() {
        hints.shift_remove("title");
    }
}

fn sanitised_description(text: &str) -> String {
    let plain = portcullis_sanitize::plain(text);
    match plain.char_indices().nth(MAX_DESCRIPTION_CHARS) {
        None => plain,
        Some((end, _)) => format!("{}…", &plain[..end]),
    }
}

fn hints(hints: &ToolHints) -> Map<String, Value> {
    present(json!({
        "readOnlyHint": hints.read_only,
        "destructiveHint": hints.destructive,
        "idempotentHint": hints.idempotent,
        "openWorldHint": hints.open_world,
    }))
}

/// The `_meta` among the additional members that a plugin declares.
pub fn meta(extra: Option<&str>) -> Option<Map<String, Value>> {
    let extra: Map<String, Value> = serde_json::from_str(extra?).ok()?;
    extra.get("_meta")?.as_object().cloned()
}

/// The members of an object, except for nulls and empty arrays.
pub fn present(object: Value) -> Map<String, Value> {
    let is_present =
        |value: &Value| !value.is_null() && value.as_array().is_none_or(|a| !a.is_empty());
    let Value::Object(mut object) = object else { unreachable!("only objects are given") };
    object.retain(|_, value| is_present(value));
    object
}

/// A title, or the name of a resource, for display: one line. After 200 characters it is cut, and `…` follows.
fn sanitised_title(text: &str) -> String {
    portcullis_sanitize::line(text, 200)
}

/// A prompt, as in `prompts/list`.
pub fn prompt(name: &str, prompt: &Prompt) -> Value {
    let argument = |argument: &PromptArgument| {
        present(json!({
            "name": argument.name,
            "title": argument.title.as_deref().map(sanitised_title),
            "description": argument.description.as_deref().map(sanitised_description),
            "required": argument.required,
        }))
    };
    let mut object = present(json!({
        "name": name,
        "title": prompt.title.as_deref().map(sanitised_title),
        "description": prompt.description.as_deref().map(sanitised_description),
        "arguments": prompt.arguments.iter().map(argument).collect::<Vec<_>>(),
        "icons": prompt.icons.iter().map(icon).collect::<Vec<_>>(),
    }));
    merge(&mut object, prompt.extra.as_deref());
    object.into()
}

/// A resource template, as in `resources/templates/list`.
pub fn template(template: &ResourceTemplate) -> Value {
    let mut object = present(json!({
        "uriTemplate": template.uri_template,
        "name": sanitised_title(&template.name),
        "title": template.title.as_deref().map(sanitised_title),
        "description": template.description.as_deref().map(sanitised_description),
        "mimeType": template.mime_type,
        "icons": template.icons.iter().map(icon).collect::<Vec<_>>(),
        "annotations": template.annotations.as_ref().map(annotations),
    }));
    merge(&mut object, template.extra.as_deref());
    object.into()
}

/// A resource, as in `resources/list`.
pub fn resource(link: &ResourceInfo) -> Value {
    let mut object = present(json!({
        "uri": link.uri,
        "name": sanitised_title(&link.name),
        "title": link.title.as_deref().map(sanitised_title),
        "description": link.description.as_deref().map(sanitised_description),
        "mimeType": link.mime_type,
        "size": link.size,
        "icons": link.icons.iter().map(icon).collect::<Vec<_>>(),
        "annotations": link.annotations.as_ref().map(annotations),
    }));
    merge(&mut object, link.extra.as_deref());
    object.into()
}

/// Adds the additional members that a plugin declares. Existing members stay.
pub fn merge(object: &mut Map<String, Value>, extra: Option<&str>) {
    let extra: Map<String, Value> =
        extra.and_then(|extra| serde_json::from_str(extra).ok()).unwrap_or_default();
    for (key, value) in extra {
        object.entry(key).or_insert(value);
    }
}

/// MCP's name for a role.
pub fn role_name(role: &Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
    }
}

/// Annotations in MCP's JSON.
pub fn annotations(annotations: &Annotations) -> Value {
    present(json!({
        "audience": annotations.audience.iter().map(role_name).collect::<Vec<_>>(),
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

/// The tools of a catalog, for plugins that may see or call them.
pub fn entries(catalog: &Catalog) -> Vec<Entry> {
    let tools: Vec<_> = catalog.tools().map(|(name, tool)| listed_tool(name, tool)).collect();
    entries_of(catalog, &tools)
}

/// The tools of a catalog, for plugins that may see or call them. `tools`: their definitions, in the order of the
/// catalog.
pub fn entries_of(catalog: &Catalog, tools: &[Value]) -> Vec<Entry> {
    let sources = catalog.tools().map(|(_, tool)| tool.source().name().to_string());
    sources.zip(tools).map(|(from, tool)| entry(from, tool)).collect()
}

/// A tool in the contract's types, for plugins that may see or call tools.
fn entry(source: String, tool: &Value) -> Entry {
    let text = |key: &str| tool[key].as_str().map(str::to_owned);
    let hint = |key: &str| tool["annotations"][key].as_bool();
    Entry {
        name: text("name").unwrap_or_default(),
        source,
        of_this_plugin: false,
        title: text("title").or_else(|| tool["annotations"]["title"].as_str().map(str::to_owned)),
        description: text("description"),
        input_schema: tool["inputSchema"].to_string(),
        output_schema: tool.get("outputSchema").map(Value::to_string),
        hints: ToolHints {
            read_only: hint("readOnlyHint"),
            destructive: hint("destructiveHint"),
            idempotent: hint("idempotentHint"),
            open_world: hint("openWorldHint"),
        },
        view: view_of(tool).map(str::to_owned),
    }
}

/// The URI of a tool's view.
pub fn view_of(tool: &Value) -> Option<&str> {
    let meta = &tool["_meta"];
    meta["ui"][VIEW_KEYS.0].as_str().or_else(|| meta[VIEW_KEYS.1].as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{make_lean, sanitised_title};

    #[test]
    fn a_lean_definition_says_nothing_twice() {
        let hints = json!({"readOnlyHint": true, "idempotentHint": true, "title": "T"});
        let whole = json!({"name": "t", "title": "T", "outputSchema": {}, "annotations": hints});
        let lean = |protocol: &str, has_output_schema| {
            let mut tool = whole.as_object().cloned().unwrap_or_default();
            make_lean(&mut tool, protocol, has_output_schema);
            serde_json::Value::Object(tool)
        };
        let expected = json!({"name": "t", "title": "T", "annotations": {"readOnlyHint": true}});
        assert_eq!(lean("2025-11-25", false), expected);
        let old = lean("2025-03-26", true);
        assert_eq!(old["annotations"], json!({"readOnlyHint": true, "title": "T"}));
        assert_eq!(old["outputSchema"], json!({}));
    }

    #[test]
    fn a_title_is_one_line_without_characters_that_hide_others() {
        let title = sanitised_title(&format!("in\u{202e}voice\n{}", "x".repeat(500)));
        assert!(!title.contains(['\u{202e}', '\n']) && title.chars().count() <= 201, "{title}");
    }
}
