//! The engine's own MCP server: sessions, events, and tools behind meta-tools.

use super::{Answer, State, Trap, texts};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const SESSION: &str = "5c1b8a52";
const ASSETS: &str = "editor_toolset.toolsets.asset.AssetTools";
const BLUEPRINTS: &str = "editor_toolset.toolsets.blueprint.BlueprintTools";
const TEXTURES: &str = "editor_toolset.toolsets.texture.TextureTools";

/// Answers a message.
pub fn answer(
    state: &State,
    headers: &BTreeMap<String, String>,
    body: &Value,
    trap: Option<Trap>,
) -> Answer {
    let plain = |status, body: &Value| {
        let headers = vec![("content-type", "application/json".to_owned())];
        Answer { status, headers, body: body.to_string().into_bytes() }
    };
    let local = |origin: &String| origin.contains("//localhost") || origin.contains("//127.0.0.1");
    if headers.get("origin").is_some_and(|origin| !local(origin)) {
        return plain("403 Forbidden", &json!({ "error": "forbidden" }));
    }
    let method = body["method"].as_str().unwrap_or_default();
    let reply = |result: Value| json!({ "jsonrpc": "2.0", "id": body["id"], "result": result });
    if method == "initialize" {
        let name = if trap == Some(Trap::OtherMcp) { "SomethingElse" } else { "unreal-mcp" };
        let mut hello = plain(
            "200 OK",
            &reply(json!({
                "protocolVersion": body["params"]["protocolVersion"],
                "serverInfo": { "name": name, "version": "5.8.0" },
                "capabilities": { "tools": {} },
            })),
        );
        hello.headers.push(("Mcp-Session-Id", SESSION.to_owned()));
        return hello;
    }
    let is_ours = headers.get("mcp-session-id").is_some_and(|id| id == SESSION);
    if !is_ours || trap == Some(Trap::SessionLost) {
        return plain("404 Not Found", &json!({ "error": "no such session" }));
    }
    if headers.get("mcp-protocol-version").is_some_and(|version| version != "2025-06-18") {
        return plain("400 Bad Request", &json!({ "error": "another protocol was agreed on" }));
    }
    if body.get("id").is_none() {
        return Answer { status: "202 Accepted", headers: Vec::new(), body: Vec::new() };
    }
    match method {
        "tools/list" => plain("200 OK", &reply(tools(&body["params"]))),
        "tools/call" => stream(body, reply(call(state, &body["params"], trap))),
        _ => plain(
            "200 OK",
            &json!({
                "jsonrpc": "2.0", "id": body["id"],
                "error": { "code": -32601, "message": "Method not found" },
            }),
        ),
    }
}

/// The list of tools, in two pages.
fn tools(params: &Value) -> Value {
    let tool = |name: &str, properties: Value| json!({ "name": name, "inputSchema": { "type": "object", "properties": properties } });
    match params["cursor"].as_str() {
        None => json!({
            "tools": [
                tool("list_toolsets", json!({})),
                tool("describe_toolset", json!({ "toolset_name": {} })),
            ],
            "nextCursor": "Mg==",
        }),
        Some(_) => json!({
            "tools": [tool(
                "call_tool",
                json!({ "toolset_name": {}, "tool_name": {}, "arguments": {} }),
            )],
            "nextCursor": "",
        }),
    }
}

/// An event stream: progress if requested, and the response.
fn stream(body: &Value, answer: Value) -> Answer {
    let mut events = String::from(": hello\r\n\r\n");
    let token = &body["params"]["_meta"]["progressToken"];
    if !token.is_null() {
        for progress in [1, 2] {
            let params = json!({ "progressToken": token, "progress": progress, "total": 2 });
            let report = json!({
                "jsonrpc": "2.0", "method": "notifications/progress", "params": params,
            });
            events.push_str(&format!("event: message\r\ndata: {report}\r\n\r\n"));
        }
    }
    events.push_str(&format!("event: message\r\ndata: {answer}\r\n\r\n"));
    let headers = vec![("content-type", "text/event-stream".to_owned())];
    Answer { status: "200 OK", headers, body: events.into_bytes() }
}

fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

fn returned(value: Value) -> Value {
    let structured = json!({ "returnValue": value });
    json!({
        "content": [{ "type": "text", "text": structured.to_string() }],
        "structuredContent": structured,
    })
}

fn call(state: &State, params: &Value, trap: Option<Trap>) -> Value {
    let arguments = &params["arguments"];
    match params["name"].as_str().unwrap_or_default() {
        "list_toolsets" if trap == Some(Trap::Starting) => {
            text("- ToolsetRegistry.AgentSkillToolset: skills")
        }
        "list_toolsets" => text(&format!(
            "- {ASSETS}: Tools for assets.\n- {BLUEPRINTS}: Tools for Blueprints, e.g. graphs.\n- \
             {TEXTURES}: Tools for textures."
        )),
        "call_tool" => {
            let set = arguments["toolset_name"].as_str().unwrap_or_default();
            let tool = arguments["tool_name"].as_str().unwrap_or_default();
            in_set(state, set, tool, &arguments["arguments"])
        }
        _ => text("there is no such tool"),
    }
}

fn in_set(state: &State, set: &str, tool: &str, arguments: &Value) -> Value {
    let of = |key: &str| arguments[key].as_str().unwrap_or_default().to_owned();
    let asset = || state.find(&of("asset_path"));
    // Failures are ordinary text.
    let missing = || text("Error: the asset does not exist");
    match (set, tool) {
        (ASSETS, "read_file") if of("file_path") == state.project_file.0 => {
            returned(json!(state.project_file.1))
        }
        (ASSETS, "read_file") => text("Error: the file does not exist"),
        (ASSETS, "exists") => returned(json!(state.find(&of("path")).is_some())),
        (ASSETS, "is_dirty") => {
            asset().map_or_else(missing, |found| returned(json!(found.is_dirty)))
        }
        (ASSETS, "get_asset_class") => {
            asset().map_or_else(missing, |found| returned(json!({ "refPath": found.class })))
        }
        (ASSETS, "get_asset_tags") => {
            asset().map_or_else(missing, |found| returned(texts(&found.tags)))
        }
        (ASSETS, "find_assets") => {
            let class = arguments["asset_type"]["refPath"].as_str().unwrap_or_default();
            let found = state.assets().into_iter().filter(|asset| {
                asset.package.starts_with(&of("folder_path"))
                    && (class.is_empty() || asset.class == class)
            });
            returned(json!(found.map(|asset| asset.package).collect::<Vec<_>>()))
        }
        (ASSETS, "get_dependencies") => {
            asset().map_or_else(missing, |found| returned(json!([found.hard, found.soft].concat())))
        }
        (ASSETS, "get_referencers") => {
            let path = of("asset_path");
            let all = state.assets().into_iter();
            let found: Vec<String> = all
                .filter(|asset| asset.hard.contains(&path) || asset.soft.contains(&path))
                .map(|asset| asset.package)
                .collect();
            if found.is_empty() {
                return text("Error: 'NoneType' object is not iterable");
            }
            returned(json!(found))
        }
        (BLUEPRINTS, "list_graphs") => {
            let path = arguments["blueprint"]["refPath"].as_str().unwrap_or_default();
            let package = path.split('.').next().unwrap_or_default();
            match state.find(package) {
                Some(_) => returned(json!([{ "refPath": format!("{path}:EventGraph") }])),
                None => missing(),
            }
        }
        (BLUEPRINTS, "read_graph_dsl") => returned(json!("(event BeginPlay (PrintString))")),
        (TEXTURES, "import_file") => {
            state.do_it(tool, arguments);
            let path = format!("{}/{}", of("folder_path"), of("asset_name"));
            returned(json!({ "refPath": path }))
        }
        _ => text("Error: there is no such tool in this set"),
    }
}
