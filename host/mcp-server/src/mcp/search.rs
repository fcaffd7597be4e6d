//! Offers two tools in place of a long list: `search_tools` finds definitions of tools, and `call_tool` calls a
//! found tool.
//!
//! A call of `call_tool` becomes a call of the named tool before anything else. Audit, consent, roots, schemas,
//! views and errors are those of the named tool.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use portcullis_core::host::is_for_models;
use portcullis_core::listing::{Selection, ToolOffer};
use portcullis_tool_search::{Document, Index};
use rmcp::RoleServer;
use rmcp::model::{CallToolRequestParams, CallToolResponse, JsonObject};
use rmcp::service::RequestContext;
use serde::Deserialize;
use serde_json::{Value, json};

use super::caller::Caller;
use super::selection::Visible;
use super::{Server, convert, results};

/// The name of the tool that searches.
pub(super) const SEARCH: &str = "search_tools";

/// The name of the tool that calls a found tool.
pub(super) const CALL: &str = "call_tool";

/// Whether a tool of this module has this name.
pub(super) fn is_own(name: &str) -> bool {
    name == SEARCH || name == CALL
}

/// Number of tools that are found if the call names no limit.
const DEFAULT_FOUND: usize = 8;

/// Maximum number of tools that are found.
const MAX_FOUND: usize = 50;

/// Number of tools that the error for an unknown tool suggests.
const MAX_SUGGESTED: usize = 3;

/// How much of each definition an answer contains.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Detail {
    Name,
    #[default]
    Summary,
    Full,
}

/// The arguments of `search_tools`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchArguments {
    query: String,
    #[serde(default)]
    detail: Detail,
    limit: Option<usize>,
}

/// The arguments of `call_tool`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallArguments {
    name: String,
    #[serde(default)]
    arguments: JsonObject,
}

/// The definitions of `search_tools` and `call_tool`. `number`: the number of tools that can be found.
fn definitions(number: usize) -> [Value; 2] {
    [
        json!({
            "name": SEARCH,
            "title": "Search tools",
            "description": format!(
                "Finds tools for a task, among {number} tools. Search before you say that something cannot be done. The answer \
                 names the best tools with their arguments; call one with `{CALL}`."
            ),
            "inputSchema": {
                "type": "object",
                "properties": {
                    "query": { "type": "string", "description": "What you want to do, in a few English words." },
                    "detail": {
                        "type": "string", "enum": ["name", "summary", "full"], "default": "summary",
                        "description": "`full`: whole description and input schema"
                    },
                    "limit": { "type": "integer", "minimum": 1, "maximum": MAX_FOUND, "default": DEFAULT_FOUND },
                },
                "required": ["query"],
            },
            "annotations": { "title": "Search tools", "readOnlyHint": true, "openWorldHint": false },
        }),
        json!({
            "name": CALL,
            "title": "Call a tool",
            "description": format!("Calls a tool that `{SEARCH}` found, and returns the tool's result."),
            "inputSchema": {
                "type": "object",
                "properties": {
                    "name": { "type": "string", "description": "The name of the tool." },
                    "arguments": { "type": "object", "description": "The arguments, as the tool's schema describes them." },
                },
                "required": ["name"],
            },
            "annotations": { "title": "Call a tool" },
        }),
    ]
}

/// The list for a client that searches: both tools of this module, the pinned tools, and the tools that only views
/// call.
pub(super) fn in_place_of(tools: Vec<Value>, selection: &Selection) -> Vec<Value> {
    let number = tools.iter().filter(|tool| is_for_models(tool)).count();
    let stays = |tool: &Value| {
        let name = tool["name"].as_str().unwrap_or_default();
        !is_own(name) && (!is_for_models(tool) || selection.is_pinned(name))
    };
    definitions(number).into_iter().chain(tools.into_iter().filter(stays)).collect()
}

/// A search index of these tools. A tool is also found by the name that the operator gave its source.
fn index<'a>(visible: &'a Visible, tools: &[&'a Value]) -> Index {
    Index::new(tools.iter().copied().map(|tool| {
        let properties = tool["inputSchema"]["properties"].as_object();
        Document {
            name: text(tool, "name"),
            title: text(tool, "title"),
            description: text(tool, "description"),
            parameters: properties.into_iter().flatten().map(|(name, _)| name.as_str()).collect(),
            source: source(visible, tool),
        }
    }))
}

/// The operator's name for the source of a tool.
fn source<'a>(visible: &'a Visible, tool: &Value) -> &'a str {
    visible.catalog.tool(text(tool, "name")).map_or("", |tool| &**tool.source().name())
}

/// The text of this member of a definition. Empty: there is none.
fn text<'a>(tool: &'a Value, key: &str) -> &'a str {
    tool[key].as_str().unwrap_or_default()
}

/// The parts of a definition that an answer contains.
fn shown_parts(tool: &Value, detail: Detail) -> Value {
    match detail {
        Detail::Name => tool["name"].clone(),
        Detail::Summary => json!({
            "name": tool["name"],
            "description": first_sentence(tool["description"].as_str().unwrap_or_default()),
            "arguments": arguments(tool),
        }),
        Detail::Full => json!({
            "name": tool["name"],
            "description": tool["description"],
            "inputSchema": tool["inputSchema"],
        }),
    }
}

/// The first sentence of a text, cut to 200 characters.
fn first_sentence(text: &str) -> String {
    let end = text.find(". ").or_else(|| text.find(".\n")).map_or(text.len(), |end| end + 1);
    let sentence = &text[..end];
    match sentence.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &sentence[..end]),
        None => sentence.to_owned(),
    }
}

/// The arguments of a tool in one line: `path: string, limit?: integer`.
fn arguments(tool: &Value) -> String {
    let schema = &tool["inputSchema"];
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let argument = |(name, schema): (&String, &Value)| {
        let mark = if required.contains(&name.as_str()) { "" } else { "?" };
        let choices = schema["enum"]
            .as_array()
            .map(|all| all.iter().map(Value::to_string).collect::<Vec<_>>().join(" | "));
        let kind = choices.or_else(|| schema["type"].as_str().map(str::to_owned));
        match kind {
            Some(kind) => format!("{name}{mark}: {kind}"),
            None => format!("{name}{mark}"),
        }
    };
    let properties = schema["properties"].as_object();
    properties.into_iter().flatten().map(argument).collect::<Vec<_>>().join(", ")
}

fn parsed<T: for<'de> Deserialize<'de>>(
    arguments: Option<JsonObject>,
) -> Result<T, serde_json::Error> {
    serde_json::from_value(arguments.unwrap_or_default().into())
}

/// The error result for arguments that cannot be parsed.
fn arguments_error(error: &serde_json::Error) -> CallToolResponse {
    convert::error(format!("the arguments are wrong: {error}")).into()
}

impl Server {
    /// Whether this client searches tools in place of listing them.
    fn searches(&self, selection: &Selection, caller: &Caller, visible: &Visible) -> bool {
        let bytes = || visible.tools.iter().map(|tool| tool.to_string().len()).sum();
        selection.searches(caller.client.as_deref(), bytes)
    }

    /// The tools that `tools/list` returns to the client of a request.
    pub(super) async fn offered(
        &self,
        selection: &Selection,
        caller: &Caller,
        cx: &RequestContext<RoleServer>,
    ) -> Visible {
        let mut visible = self.visible(selection, caller, &cx.peer).await;
        if self.searches(selection, caller, &visible) {
            visible.tools = in_place_of(visible.tools, selection);
        }
        if selection.offer == ToolOffer::Code {
            let Visible { catalog, tools } = &mut visible;
            tools.retain(|tool| {
                let name = text(tool, "name");
                catalog.tool(name).is_some_and(|tool| selection.is_listed_for_code(name, tool))
            });
        }
        if selection.bounds_results() && visible.catalog.tool(results::READ).is_none() {
            visible.tools.push(results::definition());
        }
        visible
    }

    /// Whether there is a tool of this name. If it is not known yet, waits for the plugins that are still being loaded.
    async fn has_tool(&self, visible: &Visible, name: &str) -> bool {
        let is_known = visible.catalog.tool(name).is_some();
        is_known
            || (!visible.catalog.plugins.is_complete()
                && self.shared.host.whole_catalog().await.tool(name).is_some())
    }

    /// Serves a call of `search_tools`. For `call_tool`, returns the parameters of the call of the named tool, or
    /// an error if there is no such tool. If the client does not search tools, returns `params` unchanged.
    pub(super) async fn search_or_call(
        &self,
        params: CallToolRequestParams,
        selection: &Selection,
        caller: &Caller,
        cx: &RequestContext<RoleServer>,
    ) -> ControlFlow<CallToolResponse, CallToolRequestParams> {
        let mut visible = self.visible(selection, caller, &cx.peer).await;
        if !self.searches(selection, caller, &visible) {
            return ControlFlow::Continue(params);
        }
        if params.name == SEARCH {
            if !visible.catalog.plugins.is_complete() {
                // A tool of a plugin that is still being loaded would not be found.
                self.shared.host.whole_catalog().await;
                visible = self.visible(selection, caller, &cx.peer).await;
            }
            return ControlFlow::Break(match parsed::<SearchArguments>(params.arguments) {
                Ok(search) => search_answer(&visible, &search),
                Err(error) => arguments_error(&error),
            });
        }
        let mut params = params;
        match parsed::<CallArguments>(params.arguments.take()) {
            Ok(CallArguments { name, .. }) if !self.has_tool(&visible, &name).await => {
                ControlFlow::Break(unknown_tool_answer(&visible, &name))
            }
            Ok(CallArguments { name, arguments }) => {
                params.name = name.into();
                params.arguments = Some(arguments);
                ControlFlow::Continue(params)
            }
            Err(error) => ControlFlow::Break(arguments_error(&error)),
        }
    }
}

/// The answer of `search_tools`.
fn search_answer(visible: &Visible, search: &SearchArguments) -> CallToolResponse {
    let tools: Vec<&Value> = visible.tools.iter().filter(|tool| is_for_models(tool)).collect();
    let limit = search.limit.unwrap_or(DEFAULT_FOUND).clamp(1, MAX_FOUND);
    let hits = index(visible, &tools).search(&search.query, limit);
    let shown: Vec<Value> =
        hits.iter().map(|hit| shown_parts(tools[hit.document], search.detail)).collect();
    let mut answer = json!({ "tools": shown, "of": tools.len() });
    if hits.is_empty() {
        let sources: BTreeSet<&str> = tools.iter().map(|tool| source(visible, tool)).collect();
        answer["hint"] =
            "no tool matches these words: try other words, such as the name of a source".into();
        answer["sources"] = json!(sources);
    }
    convert::text(answer.to_string()).into()
}

/// The answer of `call_tool` for a tool that does not exist.
fn unknown_tool_answer(visible: &Visible, name: &str) -> CallToolResponse {
    let tools: Vec<&Value> = visible.tools.iter().filter(|tool| is_for_models(tool)).collect();
    let hits = index(visible, &tools).search(name, MAX_SUGGESTED);
    let names: Vec<&str> =
        hits.iter().filter_map(|hit| tools[hit.document]["name"].as_str()).collect();
    let shown = portcullis_sanitize::line(name, 80);
    let hint = match names.as_slice() {
        [] => format!("find one with {SEARCH}"),
        names => format!("did you mean {}? {SEARCH} finds others", names.join(", ")),
    };
    convert::error(format!("unknown tool: {shown}\n{hint}")).into()
}
