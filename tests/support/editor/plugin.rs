//! The MCP server of the plugin `UnrealMCPServer`, in two versions.
//!
//! Sources: its C++ at commits c7dba6b and 836be8c. Transport and messages are `UMCP_Server.cpp`, the tools
//! `UMCP_AssetTools.cpp` and `UMCP_CommonTools.cpp`. Names and texts are the same as in these files.

use super::{Answer, Asset, Server, State, Trap, lock, t3d, texts};
use serde_json::{Value, json};
use std::{fs, io::Write as _, path::Path};

/// Answers a message: always with status 200, in JSON with tabs.
pub fn answer(state: &State, body: &Value, trap: Option<Trap>) -> Answer {
    let headers = vec![("content-type", "application/json;charset=utf-8".to_owned())];
    let mut message = json!({ "jsonrpc": "2.0", "id": body["id"] });
    let (key, value) = match message_of(state, body, trap) {
        Ok(result) => ("result", result),
        Err((code, why)) => ("error", json!({ "code": code, "message": why })),
    };
    message[key] = value;
    // Only leading spaces are indentation.
    let mut text = String::new();
    for line in pretty(&message).lines() {
        let rest = line.trim_start_matches(' ');
        text.push_str(&"\t".repeat((line.len() - rest.len()) / 2));
        text.push_str(rest);
        text.push_str("\r\n");
    }
    Answer { status: "200 OK", headers, body: text.into_bytes(), is_stream: false }
}

type Said = Result<Value, (i64, &'static str)>;

fn message_of(state: &State, body: &Value, trap: Option<Trap>) -> Said {
    let (Some("2.0"), Some(method)) = (body["jsonrpc"].as_str(), body["method"].as_str()) else {
        return Err((-32700, "Failed to parse MCP request JSON"));
    };
    let params = &body["params"];
    match method {
        "initialize" => {
            let name =
                if trap == Some(Trap::OtherMcp) { "SomethingElse" } else { "UnrealMCPServer" };
            Ok(json!({
                "protocolVersion": "2024-11-05",
                "serverInfo": { "name": name, "version": "0.1.0 (5.6.1)" },
                "capabilities": { "tools": { "listChanged": false } },
            }))
        }
        "ping" | "notifications/initialized" => Ok(json!({})),
        "tools/list" => Ok(json!({ "nextCursor": "", "tools": tools(state) })),
        "resources/list" => Ok(json!({ "nextCursor": "", "resources": [] })),
        "resources/read" => resource(state, params, trap),
        "tools/call" => {
            let name = params["name"].as_str().unwrap_or_default();
            if let Some(lie) = lock(&state.lies).get(name) {
                return Ok(done(lie));
            }
            call(state, name, &params["arguments"], trap).ok_or((-32602, "Unknown tool name"))
        }
        _ => Err((-32601, "Method not found")),
    }
}

fn tools(state: &State) -> Value {
    let tool = |name: &str, properties: &[&str], required: &[&str]| {
        let properties: serde_json::Map<String, Value> =
            properties.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
        let schema = json!({ "type": "object", "properties": properties, "required": required });
        json!({ "name": name, "description": "", "inputSchema": schema })
    };
    let newer = state.server == Server::NewerPlugin;
    let page: &[&str] = if newer { &["maxResults", "offset"] } else { &[] };
    let of = |properties: &[&'static str]| [properties, page].concat();
    let all = ["packagePaths", "packageNames", "classPaths", "bRecursive", "bIncludeTags"];
    let mut tools = vec![
        tool(
            "search_blueprints",
            &of(&["searchType", "searchTerm", "packagePath", "bRecursive"]),
            &["searchType", "searchTerm"],
        ),
        // The schema requires every argument, but the server accepts fewer.
        tool("search_assets", &of(&all), &all),
        tool("query_asset", &["assetPath", "bIncludeTags"], &["assetPath"]),
        tool("export_asset", &["objectPath", "format"], &["objectPath"]),
        tool("export_class_default", &["classPath", "format"], &["classPath"]),
        tool("import_asset", &["filePath", "t3dFilePath", "packagePath", "classPath"], &[]),
        tool("batch_export_assets", &["objectPaths", "outputFolder", "format"], &[]),
        tool("get_project_config", &[], &[]),
        tool("get_log_file_path", &[], &[]),
        tool("execute_console_command", &["command"], &["command"]),
    ];
    if newer {
        let depth = ["assetPath", "maxDepth"];
        tools.push(tool("get_asset_dependencies", &["assetPath"], &["assetPath"]));
        tools.push(tool("get_asset_references", &["assetPath"], &["assetPath"]));
        tools.push(tool("get_asset_dependency_tree", &depth, &["assetPath"]));
        tools.push(tool("request_editor_compile", &["timeoutSeconds"], &[]));
        tools.push(tool("export_blueprint_markdown", &["blueprintPaths", "outputFolder"], &[]));
    }
    Value::Array(tools)
}

/// One content item with all four keys, like the plugin's.
fn said(text: String, is_error: bool) -> Value {
    let structured: Option<Value> = serde_json::from_str(&text).ok().filter(Value::is_object);
    let content = json!([{ "data": "", "text": text, "mimetype": "", "type": "text" }]);
    let mut result = json!({ "content": content, "isError": is_error });
    if let Some(structured) = structured.filter(|_| !is_error) {
        result["structuredContent"] = structured;
    }
    result
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("a value is JSON")
}

fn done(value: &Value) -> Value {
    said(pretty(value), false)
}

fn failed(mut value: Value, why: String) -> Value {
    (value["bSuccess"], value["error"]) = (json!(false), json!(why));
    said(pretty(&value), true)
}

fn call(state: &State, name: &str, arguments: &Value, trap: Option<Trap>) -> Option<Value> {
    let text = |key: &str| arguments[key].as_str().unwrap_or_default().to_owned();
    Some(match name {
        "search_blueprints" => search_blueprints(state, arguments),
        "search_assets" => search_assets(state, arguments),
        "query_asset" => query_asset(state, arguments),
        "export_asset" => {
            let path = text("objectPath");
            let is_blueprint =
                state.find_object(&path).is_some_and(|asset| asset.class.ends_with("Blueprint"));
            if is_blueprint && state.server == Server::NewerPlugin {
                let why = "Blueprint assets cannot be exported using export_asset. Use \
                           batch_export_assets instead, as Blueprint exports generate responses too \
                           large to be parsed.";
                let answer = json!({ "objectPath": path, "format": text("format"), "content": "" });
                return Some(failed(answer, why.to_owned()));
            }
            export(state, arguments, "objectPath", "Object", trap)
        }
        "export_class_default" => export(state, arguments, "classPath", "Class", trap),
        "import_asset" => import(state, arguments),
        "batch_export_assets" => {
            state.do_it(name, arguments);
            batch_export(state, arguments)
        }
        "get_project_config" => done(&config(state)),
        "get_log_file_path" => done(&json!({ "logFilePath": lock(&state.project).log })),
        "execute_console_command" => {
            state.do_it(name, arguments);
            let command = text("command");
            let answer = json!({
                "bSuccess": true, "command": command, "error": "",
                "output": "Command executed successfully. Check the log.",
            });
            if command == "nonsense" {
                return Some(failed(answer, format!("Command execution failed: {command}")));
            }
            print(&lock(&state.project).log, &command);
            done(&answer)
        }
        _ if state.server == Server::Plugin => return None,
        "request_editor_compile" => {
            state.do_it(name, arguments);
            // A failed compilation is a result, not an error of the tool.
            done(&json!({
                "bSuccess": false, "bCompileStarted": true, "status": "failed",
                "buildLog": "Building MyGame\nDoor.cpp(3): error C2065: 'x'\n",
                "errors": ["Door.cpp(3): error C2065: 'x'"], "warnings": [],
                "error": "Compilation failed with 1 error(s)",
            }))
        }
        "get_asset_dependencies" | "get_asset_references" => relations(state, name, arguments),
        // `get_asset_dependency_tree` visits a node once for each path to it, so Portcullis must not call it.
        _ => return None,
    })
}

/// Writes the output of a command to the log, if there is one.
fn print(log: &str, command: &str) {
    if let Ok(mut log) = fs::OpenOptions::new().append(true).open(log) {
        let line = format!("[2026.09.04-01.12.39:421][714]LogConsoleResponse: {command}: done");
        let _written = writeln!(log, "{line}");
    }
}

fn query_asset(state: &State, arguments: &Value) -> Value {
    // The server knows only object paths, not packages.
    let path = arguments["assetPath"].as_str().unwrap_or_default();
    let asset = state.assets().into_iter().find(|asset| asset.object() == path);
    let mut found = json!({ "bExists": asset.is_some(), "assetPath": path });
    let asset_told = asset.as_ref().map(|asset| told(asset, arguments));
    for key in ["assetName", "packagePath", "classPath", "objectPath", "tags"] {
        found[key] = asset_told.as_ref().map_or(json!(""), |told| told[key].clone());
    }
    if !found["tags"].is_object() {
        found["tags"] = json!({});
    }
    done(&found)
}

fn export(state: &State, arguments: &Value, key: &str, what: &str, trap: Option<Trap>) -> Value {
    let text = |key: &str| arguments[key].as_str().unwrap_or_default();
    let path = text(key);
    let mut answer =
        json!({ "bSuccess": true, "format": text("format"), "content": "", "error": "" });
    answer[key] = json!(path);
    let package = path.split('.').next().unwrap_or_default();
    match state.find(package) {
        Some(asset) => {
            answer["content"] = json!(t3d(&asset, trap));
            done(&answer)
        }
        None => failed(answer, format!("Failed to load {what}: {path}")),
    }
}

fn config(state: &State) -> Value {
    json!({
        "engineVersion": {
            "full": "5.6.1-44394996+++UE5+Release-5.6",
            "major": 5, "minor": 6, "patch": 1, "changelist": 44_394_996,
        },
        "paths": {
            "engineDir": "../../../Engine/", "projectDir": lock(&state.project).config,
            "engineContentDir": "../../../Engine/Content/",
            "enginePluginsDir": "../../../Engine/Plugins/",
        },
    })
}

fn told(asset: &Asset, arguments: &Value) -> Value {
    let mut told = json!({
        "exists": true, "assetPath": asset.object(), "assetName": asset.name,
        "packagePath": asset.folder(), "classPath": asset.class, "objectPath": asset.object(),
    });
    if arguments["bIncludeTags"] == true {
        told["tags"] = texts(&asset.tags);
    }
    told
}

fn is_in(asset: &Asset, folder: &str, arguments: &Value) -> bool {
    let folder = folder.trim_end_matches('/');
    let below = || asset.folder().strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    folder.is_empty() || asset.folder() == folder || (arguments["bRecursive"] != false && below())
}

/// The newer server supports paging.
fn page(state: &State, list: &str, count: &str, mut all: Vec<Value>, arguments: &Value) -> Value {
    if state.server == Server::Plugin {
        return json!({ list: all, count: all.len() });
    }
    let number = |key: &str| usize::try_from(arguments[key].as_u64().unwrap_or(0)).unwrap_or(0);
    let (total, offset, most) = (all.len(), number("offset"), number("maxResults"));
    all.drain(..offset.min(total));
    all.truncate(if most == 0 { total } else { most });
    let has_more = offset + all.len() < total;
    json!({
        list: all, count: all.len(), "totalCount": total, "offset": offset, "hasMore": has_more,
    })
}

fn search_assets(state: &State, arguments: &Value) -> Value {
    let list = |key: &str| -> Vec<String> {
        let items = arguments[key].as_array().into_iter().flatten();
        items.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let (paths, names, classes) = (list("packagePaths"), list("packageNames"), list("classPaths"));
    let all_of_it = paths.len() == 1 && paths[0].trim_end_matches('/') == "/Game";
    if all_of_it && names.is_empty() && classes.is_empty() && state.server == Server::Plugin {
        let why = "Error: Searching /Game/ directory without class filters is not allowed.";
        return said(why.to_owned(), true);
    }
    let found = state.assets().into_iter().filter(|asset| {
        (paths.is_empty() || paths.iter().any(|path| is_in(asset, path, arguments)))
            && (names.is_empty() || names.contains(&asset.package))
            && (classes.is_empty() || classes.contains(&asset.class))
    });
    let found = found.map(|asset| told(&asset, arguments)).collect();
    done(&page(state, "assets", "count", found, arguments))
}

fn search_blueprints(state: &State, arguments: &Value) -> Value {
    let text = |key: &str| arguments[key].as_str().unwrap_or_default();
    let term = text("searchTerm").to_lowercase();
    let mut found = Vec::new();
    for asset in state.assets().iter().filter(|asset| asset.class.ends_with("Blueprint")) {
        let parent = asset.tags.get("ParentClass").cloned().unwrap_or_default();
        let kinds = [
            ("asset_name", "name", "Blueprint name", &asset.name),
            ("parent_class", "parent_class", "Parent class", &parent),
        ];
        let matches: Vec<Value> = kinds
            .iter()
            .filter(|(_, kind, ..)| [*kind, "all"].contains(&text("searchType")))
            .filter(|(.., value)| value.to_lowercase().contains(&term))
            .map(|(kind, _, what, value)| {
                let context = format!("{what} '{value}' contains '{}'", text("searchTerm"));
                json!({ "type": kind, "location": "Blueprint Asset", "context": context })
            })
            .collect();
        if !matches.is_empty() && is_in(asset, text("packagePath"), arguments) {
            found.push(json!({
                "assetPath": asset.object(), "assetName": asset.name,
                "packagePath": asset.folder(), "parentClass": parent, "matches": matches,
            }));
        }
    }
    done(&page(state, "results", "totalResults", found, arguments))
}

fn import(state: &State, arguments: &Value) -> Value {
    let text = |key: &str| arguments[key].as_str().unwrap_or_default();
    let path = text("packagePath");
    let answer = json!({
        "bSuccess": true, "count": 1, "filePath": text("filePath"), "packagePath": path,
        "factoryClass": "", "importedObjects": [path], "error": "",
    });
    let package = path.split('.').next().unwrap_or_default();
    if let Some(asset) = state.find(package).filter(|asset| asset.class != text("classPath")) {
        let class = asset.class;
        return failed(answer, format!("Asset already exists at '{path}' with class '{class}'"));
    }
    state.do_it("import_asset", arguments);
    done(&answer)
}

/// `FUMCP_AssetTools::BatchExportAssets`: each file is named after the package, with a number if the file exists
/// already. Links are followed.
fn batch_export(state: &State, arguments: &Value) -> Value {
    let text = |key: &str| arguments[key].as_str().unwrap_or_default();
    let (folder, ending) = (Path::new(text("outputFolder")), text("format").to_lowercase());
    if !folder.is_dir() && fs::create_dir_all(folder).is_err() {
        let why = format!("Failed to create output folder: {}", folder.display());
        return failed(json!({ "exportedCount": 0, "failedCount": 0 }), why);
    }
    let (mut exported, mut refused) = (Vec::new(), Vec::new());
    for path in arguments["objectPaths"].as_array().into_iter().flatten().filter_map(Value::as_str)
    {
        let Some(asset) = state.find_object(path) else {
            refused.push(path.to_owned());
            continue;
        };
        let before = path.rsplit_once('.').map_or(path, |(before, _)| before);
        let name = before.rsplit('/').next().unwrap_or_default().replace([' ', '.'], "_");
        let mut file = folder.join(format!("{name}.{ending}"));
        let mut counter = 1;
        while file.exists() {
            file = folder.join(format!("{name}_{counter}.{ending}"));
            counter += 1;
        }
        match fs::write(&file, t3d(&asset, None)) {
            Ok(()) => exported.push(file.display().to_string()),
            Err(_) => refused.push(path.to_owned()),
        }
    }
    let error = match (exported.len(), refused.len()) {
        (_, 0) => String::new(),
        (0, all) => format!("All {all} assets failed to export"),
        (some, others) => format!("Partial success: {some} exported, {others} failed"),
    };
    done(&json!({
        "bSuccess": !exported.is_empty(), "exportedCount": exported.len(),
        "failedCount": refused.len(), "exportedPaths": exported, "failedPaths": refused,
        "error": error,
    }))
}

/// `GetAssetDependencies` and `GetAssetReferences`: they accept only object paths. They answer with object paths of
/// assets that the registry knows, and with names of other packages. Asking for hard and soft dependencies at once
/// finds nothing.
fn relations(state: &State, tool: &str, arguments: &Value) -> Value {
    let (list, which) = match tool {
        "get_asset_dependencies" => ("dependencies", "Dependencies"),
        _ => ("references", "References"),
    };
    let is_asked = |kind: &str| arguments[format!("bInclude{kind}{which}")] == true;
    let path = arguments["assetPath"].as_str().unwrap_or_default();
    let Some(asked) = state.find_object(path) else {
        return failed(json!({ "assetPath": path }), format!("Asset not found: {path}"));
    };
    let linked = |asset: &Asset| match (is_asked("Hard"), is_asked("Soft")) {
        (true, false) => asset.hard.clone(),
        (false, true) => asset.soft.clone(),
        (true, true) | (false, false) => Vec::new(),
    };
    let found: Vec<String> = match list {
        "dependencies" => linked(&asked),
        _ => {
            let all = state.assets().into_iter();
            let found = all.filter(|asset| linked(asset).contains(&asked.package));
            found.map(|asset| asset.package).collect()
        }
    };
    let object =
        |package: &String| state.find(package).map_or(package.clone(), |asset| asset.object());
    let found: Vec<String> = found.iter().map(object).collect();
    done(&json!({
        "bSuccess": true, "assetPath": path, list: found, "count": found.len(), "error": "",
    }))
}

fn resource(state: &State, params: &Value, trap: Option<Trap>) -> Said {
    let uri = params["uri"].as_str().ok_or((-32602, "Failed to parse read resource params"))?;
    let path = uri.strip_prefix("unreal+t3d://").filter(|path| !path.contains([',', '=']));
    let path = path.ok_or((-32002, "Resource not found"))?;
    let package = path.split('.').next().unwrap_or_default();
    let asset = state.find(package).filter(|asset| asset.class.ends_with("Blueprint"));
    let asset = asset.ok_or((-32603, "Failed to load resource contents"))?;
    // The plugin also sends empty binary content.
    Ok(json!({ "contents": [{
        "uri": uri, "text": t3d(&asset, trap), "blob": "", "mimeType": "application/vnd.unreal.t3d",
    }] }))
}
