//! The engine's own MCP server: sessions, event streams, and tools behind three meta tools.
//!
//! Sources, all of Unreal Engine 5.8: the transport is `FModelContextProtocolServer` (ModelContextProtocolServer.cpp),
//! the meta tools are ModelContextProtocolToolSearch.cpp, the tools are `editor_toolset/toolsets/asset.py`,
//! `blueprint.py` and `texture.py`. Names and texts of messages are the server's.

use super::{Answer, Asset, State, Trap, is_on_drive, lock, texts, toolsets};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const SESSION: &str = "0f9d3c5a4b7e41d2a6c8e1f203948576";
const ASSETS: &str = "editor_toolset.toolsets.asset.AssetTools";
const BLUEPRINTS: &str = "editor_toolset.toolsets.blueprint.BlueprintTools";
const TEXTURES: &str = "editor_toolset.toolsets.texture.TextureTools";
/// All toolsets, with their descriptions.
const TOOLSETS: [(&str, &str); 8] = [
    (ASSETS, "Provides tools for assets."),
    (BLUEPRINTS, "Tools for Blueprints, e.g. graphs."),
    (TEXTURES, "Provides tools for working with Texture assets."),
    (toolsets::APP, "Tools for querying and modifying Unreal Editor state."),
    (toolsets::LOGS, "Tools for logs."),
    (toolsets::LIVE_CODING, "Compiles code."),
    (toolsets::SCRIPTS, "Runs scripts over tools."),
    (toolsets::OWN, "The project's own."),
];
/// `NegotiateProtocolVersion`: the answer to an unknown version is the first of these.
const VERSIONS: [&str; 3] = ["2025-11-25", "2025-06-18", "2024-11-05"];
/// `GetPostInitMethods`: other methods are unknown, with or without a session.
const METHODS: [&str; 6] = [
    "notifications/initialized",
    "notifications/cancelled",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/read",
];

/// Answers a message.
pub fn answer(
    state: &State,
    headers: &BTreeMap<String, String>,
    body: &Value,
    trap: Option<Trap>,
) -> Answer {
    let plain = |status, body: &Value| Answer::json(status, body.to_string().into_bytes());
    // `ValidateOriginHeader`.
    let local = |origin: &String| origin.contains("//localhost") || origin.contains("//127.0.0.1");
    if headers.get("origin").is_some_and(|origin| !local(origin)) {
        return plain("403 Forbidden", &json!({}));
    }
    let method = body["method"].as_str().unwrap_or_default();
    let reply = |result: Value| json!({ "jsonrpc": "2.0", "id": body["id"], "result": result });
    let error = |code: i64, message: String| json!({ "jsonrpc": "2.0", "id": body["id"], "error": { "code": code, "message": message } });
    if method == "ping" {
        return plain("200 OK", &reply(json!({})));
    }
    if method == "initialize" {
        let asked = body["params"]["protocolVersion"].as_str().unwrap_or_default();
        let version = VERSIONS.into_iter().find(|known| *known == asked).unwrap_or(VERSIONS[0]);
        // `ProcessInitializeJsonRpcCall` sets neither name nor version.
        let mut hello = plain(
            "200 OK",
            &reply(json!({
                "protocolVersion": version,
                "capabilities": { "tools": { "listChanged": true }, "resources": {} },
                "serverInfo": { "name": "", "title": "", "version": "" },
                "instructions": "",
            })),
        );
        hello.headers.push(("Mcp-Session-Id", SESSION.to_owned()));
        return hello;
    }
    if !METHODS.contains(&method) {
        return plain("200 OK", &error(-32601, format!("Call to unknown method \"{method}\"")));
    }
    let Some(session) = headers.get("mcp-session-id") else {
        let why = format!("Missing required Mcp-Session-Id header for '{method}'");
        return plain("400 Bad Request", &error(-32600, why));
    };
    if session != SESSION || trap == Some(Trap::SessionLost) {
        let why =
            format!("Unknown session id '{session}' for '{method}'; client should reinitialize");
        return plain("404 Not Found", &error(-32600, why));
    }
    if headers.get("mcp-protocol-version").is_some_and(|version| version != "2025-06-18") {
        return plain(
            "200 OK",
            &error(-32600, "Mcp-Protocol-Version header does not match".into()),
        );
    }
    match method {
        "notifications/initialized" | "notifications/cancelled" => Answer {
            status: "202 Accepted",
            headers: Vec::new(),
            body: Vec::new(),
            is_stream: false,
        },
        "tools/list" => plain("200 OK", &reply(tools(trap))),
        "tools/call" => {
            let name = body["params"]["name"].as_str().unwrap_or_default();
            match call(state, &body["params"], trap) {
                Some(result) => stream(body, reply(result)),
                None => plain("200 OK", &error(-32602, format!("Unknown tool: {name}"))),
            }
        }
        _ => plain("200 OK", &error(-32002, "Resource not found".into())),
    }
}

/// The three meta tools on one page, without a cursor.
fn tools(trap: Option<Trap>) -> Value {
    let tool = |name: &str, properties: Value, required: Value| {
        let schema = json!({ "type": "object", "properties": properties, "required": required });
        json!({ "name": name, "inputSchema": schema })
    };
    let text = json!({ "type": "string" });
    if trap == Some(Trap::OtherMcp) {
        return json!({ "tools": [tool("list_toolsets", json!({}), json!([]))] });
    }
    json!({ "tools": [
        tool("list_toolsets", json!({}), json!([])),
        tool("describe_toolset", json!({ "toolset_name": text }), json!(["toolset_name"])),
        tool(
            "call_tool",
            json!({ "toolset_name": text, "tool_name": text, "arguments": { "type": "object" } }),
            json!(["tool_name"]),
        ),
    ] })
}

/// `ProcessToolCallJsonRpcCall`: an event stream with the response. If the client sent a progress token, heartbeats come
/// before the response. They have no total.
fn stream(body: &Value, answer: Value) -> Answer {
    let mut events = String::new();
    let token = &body["params"]["_meta"]["progressToken"];
    if !token.is_null() {
        for progress in [1, 2] {
            let params = json!({ "progressToken": token, "progress": progress });
            let report = json!({
                "jsonrpc": "2.0", "method": "notifications/progress", "params": params,
            });
            events.push_str(&format!("event: message\r\ndata: {report}\r\n\r\n"));
        }
    }
    events.push_str(&format!("event: message\r\ndata: {answer}\r\n\r\n"));
    let headers = vec![
        ("content-type", "text/event-stream".to_owned()),
        ("cache-control", "no-cache".to_owned()),
        ("Mcp-Session-Id", SESSION.to_owned()),
    ];
    Answer { status: "200 OK", headers, body: events.into_bytes(), is_stream: true }
}

fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }], "isError": false })
}

/// `MakeErrorResult`.
pub fn failed(why: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": why }], "isError": true })
}

/// A Python exception of a tool.
pub fn raised(error: &str, why: &str) -> Value {
    failed(&format!("Error: {error}: {why}"))
}

pub fn returned(value: Value) -> Value {
    let structured = json!({ "returnValue": value });
    json!({
        "content": [{ "type": "text", "text": structured.to_string() }],
        "structuredContent": structured,
        "isError": false,
    })
}

fn call(state: &State, params: &Value, trap: Option<Trap>) -> Option<Value> {
    let arguments = &params["arguments"];
    Some(match params["name"].as_str().unwrap_or_default() {
        "list_toolsets" if trap == Some(Trap::Starting) => {
            text("- ToolsetRegistry.AgentSkillToolset: Skills, e.g. for agents.")
        }
        "list_toolsets" => {
            let lines = TOOLSETS.map(|(name, what)| format!("- {name}: {what}\n"));
            text(&lines.concat())
        }
        "describe_toolset" => {
            let set = arguments["toolset_name"].as_str().unwrap_or_default();
            toolsets::describe(set, &TOOLSETS.map(|(name, _)| name))
        }
        "call_tool" => {
            let set = arguments["toolset_name"].as_str().unwrap_or_default();
            let tool = arguments["tool_name"].as_str().unwrap_or_default();
            let lie = lock(&state.lies).get(tool).cloned();
            lie.map_or_else(|| in_set(state, set, tool, &arguments["arguments"]), returned)
        }
        _ => return None,
    })
}

/// `get_asset_class`: the name of the class without its path; for a Blueprint, the name of its generated class.
fn class_name(asset: &Asset) -> String {
    match asset.class.ends_with("Blueprint") {
        true => format!("{}_C", asset.name),
        false => asset.class.rsplit('.').next().unwrap_or_default().to_owned(),
    }
}

/// `_require_allowed_path` and `read_file`: the allowed folders are absolute paths without links.
fn read_file(state: &State, path: &str) -> Value {
    let folder = lock(&state.project).folder.clone();
    if is_on_drive(&folder) {
        return read_file_on_windows(&folder, path);
    }
    let roots = [format!("{folder}/Content"), format!("{folder}/Saved")];
    // A relative path is relative to the folder of the engine's binaries.
    let full = match path.starts_with('/') {
        true => path.to_owned(),
        false => format!("/opt/UnrealEngine/Engine/Binaries/Linux/{path}"),
    };
    if !roots.iter().any(|root| full == *root || full.starts_with(&format!("{root}/"))) {
        let roots = roots.map(|root| format!("'{root}'")).join(", ");
        let why =
            format!("Path \"{full}\" is not within an allowed root. Allowed roots: [{roots}]");
        return raised("ValueError", &why);
    }
    raised("FileNotFoundError", &format!("File not found: {full}"))
}

/// `read_file` on Windows. `_normalize_fs_path` converts paths to lower case and backslashes (`os.path.normcase`). The
/// list of roots has each backslash twice, as Python writes strings in lists.
fn read_file_on_windows(folder: &str, path: &str) -> Value {
    let engine = "C:/Program Files/Epic Games/UE_5.8/Engine/Binaries/Win64";
    let full = if is_on_drive(path) { path.to_owned() } else { format!("{engine}/{path}") };
    let normal = |path: &str| path.to_lowercase().replace('/', "\\");
    let roots = ["Content", "Saved"].map(|name| normal(&format!("{folder}/{name}")));
    let full = normal(&full);
    if !roots.iter().any(|root| full.starts_with(&format!("{root}\\"))) {
        let roots = roots.map(|root| format!("'{}'", root.replace('\\', "\\\\"))).join(", ");
        let why =
            format!("Path \"{full}\" is not within an allowed root. Allowed roots: [{roots}]");
        return raised("ValueError", &why);
    }
    raised("FileNotFoundError", &format!("File not found: {full}"))
}

fn in_set(state: &State, set: &str, tool: &str, arguments: &Value) -> Value {
    let of = |key: &str| arguments[key].as_str().unwrap_or_default().to_owned();
    // `_to_package_path`.
    let package = of("asset_path").split('.').next().unwrap_or_default().to_owned();
    let asset = || state.find(&package);
    let missing = || raised("ValueError", &format!("Asset does not exist: {package}"));
    match (set, tool) {
        (ASSETS, "read_file") => read_file(state, &of("file_path")),
        (ASSETS, "exists") => {
            let path = of("path");
            let path = path.split('.').next().unwrap_or_default();
            returned(json!(state.find(path).is_some()))
        }
        // The server compares the name of the dirty package with the path that was sent.
        (ASSETS, "is_dirty") => match asset() {
            Some(found) => returned(json!(found.is_dirty && of("asset_path") == found.package)),
            None => missing(),
        },
        (ASSETS, "get_asset_class") => {
            asset().map_or_else(missing, |found| returned(json!(class_name(&found))))
        }
        (ASSETS, "get_asset_tags") => {
            asset().map_or_else(missing, |found| returned(texts(&found.tags)))
        }
        (ASSETS, "find_assets") => find_assets(state, arguments),
        (ASSETS, "get_dependencies") => match asset() {
            Some(found) => related([found.hard, found.soft].concat()),
            None => missing(),
        },
        (ASSETS, "get_referencers") => {
            let all = state.assets().into_iter();
            let found =
                all.filter(|asset| asset.hard.contains(&package) || asset.soft.contains(&package));
            related(found.map(|asset| asset.package).collect())
        }
        (BLUEPRINTS, "list_graphs") => {
            let path = arguments["blueprint"]["refPath"].as_str().unwrap_or_default();
            match state.find_object(path) {
                Some(_) => returned(json!([{ "refPath": format!("{path}:EventGraph") }])),
                None => raised("TypeError", "blueprint is None"),
            }
        }
        (BLUEPRINTS, "read_graph_dsl") => returned(json!("(event BeginPlay (PrintString))")),
        (TEXTURES, "import_file") => {
            let path = format!("{}/{}", of("folder_path"), of("asset_name"));
            if state.find(&path).is_some() {
                let why = format!("{} at {} already exists", of("asset_name"), of("folder_path"));
                return raised("RuntimeError", &format!("import_asset: {why}"));
            }
            state.do_it(tool, arguments);
            let name = of("asset_name");
            returned(json!([{ "refPath": format!("{path}.{name}") }]))
        }
        _ => toolsets::call(state, set, tool, arguments)
            .unwrap_or_else(|| failed(&format!("Tool '{tool}' not found in toolset '{set}'."))),
    }
}

/// `find_assets`: names of packages, without packages of actors in levels.
fn find_assets(state: &State, arguments: &Value) -> Value {
    let folder = arguments["folder_path"].as_str().unwrap_or_default().trim_end_matches('/');
    let class = arguments["asset_type"]["refPath"].as_str().unwrap_or_default();
    let found = state.assets().into_iter().filter(|asset| {
        let below = asset.folder().strip_prefix(folder);
        let is_in = match arguments["recursive"] == false {
            true => asset.folder() == folder,
            false => below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
        };
        is_in
            && (class.is_empty() || asset.class == class)
            && !asset.package.split('/').any(|part| part == "Actors")
    });
    returned(json!(found.map(|asset| asset.package).collect::<Vec<_>>()))
}

/// If there are no relations, the registry answers `None`, and the tools fail to iterate over it.
fn related(packages: Vec<String>) -> Value {
    match packages.is_empty() {
        true => raised("TypeError", "'NoneType' object is not iterable"),
        false => returned(json!(packages)),
    }
}
