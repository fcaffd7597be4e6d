//! More toolsets of the engine's own server: the editor, its logs, Live Coding, a toolset that runs scripts, and a
//! toolset of the project.
//!
//! Sources, all of Unreal Engine 5.8: EditorAppToolset.h and .cpp, LiveCodingToolset.cpp, the metadata of `LogsToolset`
//! from a running editor, `save_assets` of `editor_toolset/toolsets/asset.py`, and
//! ModelContextProtocolToolsetRegistryAdapter.cpp for the descriptions of toolsets.

use super::{
    State,
    epic::{failed, raised, returned},
    lock,
};
use serde_json::{Value, json};

pub const APP: &str = "EditorToolset.EditorAppToolset";
pub const LOGS: &str = "EditorToolset.LogsToolset";
pub const LIVE_CODING: &str = "LiveCodingToolset.LiveCodingToolset";
pub const SCRIPTS: &str = "editor_toolset.toolsets.programmatic.ProgrammaticToolset";
/// A toolset that the project itself defines.
pub const OWN: &str = "MyGame.MyToolset";

/// A red image of 2 by 1 pixels, in base64.
const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAADUlEQVR4nGP4z8AARAAI/gH/xp559wAAAABJRU5ErkJggg==";

/// `GetToolsetSchemaText`: the schema of a toolset as a text, or an error that lists all of them.
pub fn describe(toolset: &str, known: &[&str]) -> Value {
    if !known.contains(&toolset) {
        let all = known.join(", ");
        return failed(&format!("Toolset '{toolset}' not found. Available toolsets: {all}"));
    }
    let tools = tools(toolset).iter().map(|(name, description, required)| {
        let properties: serde_json::Map<String, Value> =
            required.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" }))).collect();
        json!({
            "name": format!("{toolset}.{name}"),
            "description": description,
            "inputSchema": { "type": "object", "properties": properties, "required": required },
        })
    });
    let schema = json!({ "name": toolset, "tools": tools.collect::<Vec<_>>() });
    json!({ "content": [{ "type": "text", "text": schema.to_string() }], "isError": false })
}

type Described = (&'static str, &'static str, &'static [&'static str]);

fn tools(toolset: &str) -> &'static [Described] {
    match toolset {
        APP => &[
            ("CaptureViewport", "Captures the level viewport.", &[]),
            ("GetCameraTransform", "Returns the position and rotation of the camera.", &[]),
            ("IsPIERunning", "Returns whether a session is running.", &[]),
            ("SetContentBrowserPath", "Navigates the content browser to a folder.", &["Path"]),
            ("StartPIE", "Starts a Play-In-Editor session.", &["Options"]),
            ("StopPIE", "Stops the play session.", &[]),
        ],
        LOGS => &[("GetLogEntries", "Returns log entries.", &["category", "pattern"])],
        LIVE_CODING => &[("CompileLiveCoding", "Compiles the C++ code.", &[])],
        SCRIPTS => &[("execute_tool_script", "Runs a Python script.", &["script"])],
        OWN => &[("GetPlayers", "Players of the game.", &[])],
        _ => &[("exists", "Whether an asset exists.", &["path"])],
    }
}

/// Calls a tool; `None` if it is in none of these toolsets.
pub fn call(state: &State, toolset: &str, tool: &str, arguments: &Value) -> Option<Value> {
    let is_running = *lock(&state.is_playing);
    Some(match (toolset, tool) {
        (APP, "IsPIERunning") => returned(json!(is_running)),
        (APP, "StartPIE") => start(state, arguments),
        (APP, "StopPIE") if !is_running => failed("A play session is not currently running."),
        (APP, "StopPIE") => {
            state.do_it(tool, arguments);
            *lock(&state.is_playing) = false;
            returned(Value::Null)
        }
        (APP, "CaptureViewport") => capture(arguments),
        (APP, "GetCameraTransform") => returned(json!({ "location": { "x": 1, "y": 2, "z": 3 } })),
        (APP, "SetContentBrowserPath") | (SCRIPTS, "execute_tool_script") | (OWN, "GetPlayers") => {
            state.do_it(tool, arguments);
            returned(Value::Null)
        }
        (LOGS, "GetLogEntries") => log_entries(arguments),
        (LIVE_CODING, "CompileLiveCoding") => {
            state.do_it(tool, arguments);
            returned(json!(
                "Result: Failure\n\nCompile Output:\nBuilding MyGame\n\nCompiler Diagnostics:\n\
                 D:\\MyGame\\Door.cpp(3): error C2065: 'x': undeclared identifier"
            ))
        }
        (_, "save_assets") if toolset.ends_with(".AssetTools") => save(state, arguments),
        _ => return None,
    })
}

/// `StartPIE`: a second session is refused. Users report that an option without a value is refused too.
fn start(state: &State, arguments: &Value) -> Value {
    let options = &arguments["options"];
    if ["bSimulate", "playMode", "warmupSeconds"].iter().any(|key| options[*key].is_null()) {
        return failed("Missing required property in 'options'");
    }
    if *lock(&state.is_playing) {
        return failed("A play session is already running.");
    }
    state.do_it("StartPIE", arguments);
    *lock(&state.is_playing) = true;
    returned(Value::Null)
}

/// `FViewportCapture`: in JSON, names of members begin in lower case. Arguments that should be optional are required.
fn capture(arguments: &Value) -> Value {
    let is_there = |key: &str| arguments.as_object().is_some_and(|all| all.contains_key(key));
    if !["captureTransform", "annotations", "bShowUI"].into_iter().all(is_there) {
        return failed("Missing required property");
    }
    returned(json!({
        "image": { "mimeType": "image/png", "data": PICTURE },
        "cameraLocation": { "x": 100.0, "y": -20.5, "z": 300.0 },
        "cameraRotation": { "pitch": -10.0, "yaw": 90.0, "roll": 0.0 },
        "cameraFOV": 90.0,
        "grid": { "spacingCm": 0.0, "extentCm": 0.0, "height": 0.0 },
        "labeledActors": [],
    }))
}

/// The matching entries, oldest first. The default category does not exist, so the client must send an empty category.
fn log_entries(arguments: &Value) -> Value {
    let (Some(""), Some(pattern)) = (arguments["category"].as_str(), arguments["pattern"].as_str())
    else {
        return returned(json!([]));
    };
    // This stand-in supports only regular expressions that are escaped texts.
    let wanted = pattern.trim_start_matches("(?i)").replace('\\', "").to_lowercase();
    let entries = [
        "LogInit: Build: ++UE5+Release-5.8",
        "[2026.09.04-01.12.39:421][714]LogWorld: Bringing World /Game/Maps/Town up for play",
        "[2026.09.04-01.12.40:000][715]LogScript: Warning: Accessed None (a.b)\n    at BP_Door",
        "[2026.09.04-01.12.41:000][716]LogScript: Error: Infinite loop",
    ];
    let fits = |entry: &&str| entry.to_lowercase().contains(&wanted);
    returned(json!(entries.into_iter().filter(fits).collect::<Vec<_>>()))
}

/// `save_assets`: an empty list saves everything; while a game runs, no asset is found.
fn save(state: &State, arguments: &Value) -> Value {
    let paths = arguments["asset_paths"].as_array().cloned().unwrap_or_default();
    for path in paths.iter().filter_map(Value::as_str) {
        if *lock(&state.is_playing) || state.find(path).is_none() {
            return raised("ValueError", &format!("Asset does not exist: {path}"));
        }
    }
    state.do_it("save_assets", arguments);
    returned(json!(true))
}
