//! Answers of the tools that need a running editor, recorded for the tests of views in `tests/ui/answers/editor.json`.
//!
//! The editor is the stand-in for Epic's server, or for UnrealMCPServer where Epic's server has no such tool.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Map, Value, json};

use super::game;
use crate::support::client::{Client, Era};
use crate::support::editor::{Asset, Editor, Server};
use crate::support::home::Home;
use crate::support::workspace;

/// The actions that the tools need.
const ACTIONS: [&str; 7] = [
    "editor-write",
    "editor-console",
    "editor-compile",
    "editor-save",
    "editor-play",
    "editor-capture",
    "editor-tools",
];
/// What the paths of all recorded answers begin with.
const SHOWN: &str = "/srv";
/// Maximum length of a tool's description in the recording, in characters.
const DESCRIPTION: usize = 200;

/// A session whose user agrees to everything, beside an editor with three assets.
struct Session {
    home: Home,
    client: Client,
    /// The tools with their output schemas, which a list for clients has not. Views are made with them.
    tools: Value,
    _editor: Editor,
}

impl Session {
    fn start(server: Server) -> Self {
        let home = game("");
        let project = home.files().join("MyGame");
        for folder in ["Exports", "Art", "Saved/Logs"] {
            fs::create_dir_all(project.join(folder)).expect("a home can be written");
        }
        fs::write(project.join("Art/door.png"), "a picture").expect("a home can be written");
        fs::write(project.join("Saved/Logs/MyGame.log"), "").expect("a home can be written");
        let asset = |folder: &str, name: &str, class: &str| Asset {
            package: format!("/Game/{folder}/{name}"),
            name: name.to_owned(),
            class: format!("/Script/Engine.{class}"),
            ..Asset::default()
        };
        let assets = vec![
            asset("Doors", "BP_Door", "Blueprint"),
            asset("Doors", "M_Door", "Material"),
            asset("Maps", "Town", "World"),
        ];
        let editor = Editor::start(server, &project.display().to_string(), assets);
        let url = if server == Server::Epic { "epic-url" } else { "editor-url" };
        home.configure(&format!(
            "roots = [\"$FILES/MyGame\"]\n[plugins.unreal.grants]\n\
             files = {{ access = \"write\", scope = \"roots\" }}\ncache.bytes = 64_000_000\n\
             http = {{ hosts = [\"http://{}\"], methods = [\"POST\"] }}\n\
             actions.allow = {}\nclient.features = [\"consent\"]\n\
             [plugins.unreal.settings]\n{url} = \"{}\"\nepic-tools = \"EditorAppToolset.*\"\n",
            editor.address,
            json!(ACTIONS),
            editor.url()
        ));
        let mut client =
            Client::start_with(&home, &["serve"], Era::Modern, json!({"elicitation": {}}));
        let consent = json!({"action": "accept", "content": {}});
        client.answers.insert("elicitation/create".into(), consent);
        let listed = home.run(&["tools", "--json"]).stdout;
        let listed: Value = listed.parse().expect("it is JSON");
        Self { home, client, tools: listed["tools"].clone(), _editor: editor }
    }

    /// Calls a tool. Returns the tool, its arguments and its result as `tests/ui` shows them.
    fn answer(&mut self, name: &str, input: &Value) -> Value {
        let folder = self.home.files().display().to_string();
        let arguments = input.to_string().replace(SHOWN, &folder);
        let reply = self.client.call(name, arguments.parse().expect("it is JSON"));
        let result = &reply["result"];
        assert!(result["content"].is_array() && result["isError"] != true, "{name}: {reply}");
        let mut tools = self.tools.as_array().into_iter().flatten();
        let tool = tools.find(|tool| tool["name"] == name).expect("the tool is listed");
        let answer = json!({
            "tool": {
                "name": name,
                "title": tool["title"],
                "description": shortened(tool["description"].as_str().unwrap_or_default()),
                "inputSchema": reduced(&tool["inputSchema"]),
                "outputSchema": tool["outputSchema"],
                "annotations": tool["annotations"],
            },
            "input": input,
            "result": {
                "content": result["content"],
                "structuredContent": result["structuredContent"],
            },
        });
        answer.to_string().replace(&folder, SHOWN).parse().expect("it is JSON")
    }
}

/// The whole words at the beginning of a description.
fn shortened(description: &str) -> String {
    let Some((end, _)) = description.char_indices().nth(DESCRIPTION) else {
        return description.to_owned();
    };
    let start = &description[..end];
    format!("{} …", start.rsplit_once(' ').map_or(start, |(words, _)| words))
}

/// A schema without what people read: its types, choices, defaults and names.
fn reduced(schema: &Value) -> Value {
    let kept = |member: &Value| -> Map<String, Value> {
        let keys = ["type", "enum", "default"].into_iter();
        keys.filter_map(|key| Some((key.to_owned(), member.get(key)?.clone()))).collect()
    };
    let members = schema["properties"].as_object().into_iter().flatten();
    let properties: Map<String, Value> =
        members.map(|(name, member)| (name.clone(), Value::Object(kept(member)))).collect();
    json!({"type": "object", "properties": properties, "required": schema["required"]})
}

/// The answers of all tools that need an editor.
fn answers() -> BTreeMap<&'static str, Value> {
    let door = "/Game/Doors/BP_Door";
    let camera = json!({
        "toolset": "EditorToolset.EditorAppToolset", "tool": "GetCameraTransform", "arguments": {},
    });
    let import = json!({
        "filePath": "/srv/MyGame/Art/door.png", "packagePath": "/Game/Doors/T_Door",
        "classPath": "/Script/Engine.Texture2D",
    });
    let export = json!({
        "objectPaths": [format!("{door}.BP_Door"), "/Game/Doors/M_Door.M_Door"],
        "outputFolder": "/srv/MyGame/Exports", "format": "T3D",
    });
    let of_epic = [
        ("save_assets", json!({"assetPaths": [door, "/Game/Doors/M_Door"]})),
        ("compile_code", json!({})),
        ("start_play_session", json!({})),
        ("stop_play_session", json!({})),
        ("capture_viewport", json!({})),
        ("search_editor_tools", json!({"words": "session"})),
        ("call_editor_tool", camera),
    ];
    let of_plugin = [
        ("import_asset", import),
        ("batch_export_assets", export),
        ("execute_console_command", json!({"command": "stat fps"})),
    ];
    let mut all = BTreeMap::new();
    for (server, calls) in [(Server::Epic, &of_epic[..]), (Server::Plugin, &of_plugin[..])] {
        let mut session = Session::start(server);
        all.extend(calls.iter().map(|(name, input)| (*name, session.answer(name, input))));
    }
    all
}

/// The names of an answer's members, and of the members within them.
fn members(answer: &Value) -> Vec<String> {
    let data = answer["result"]["structuredContent"].as_object();
    let members = data.into_iter().flatten().flat_map(|(key, value)| {
        let inner = value.get(0).unwrap_or(value).as_object();
        let inner = inner.into_iter().flat_map(Map::keys).map(move |name| format!("{key}/{name}"));
        std::iter::once(key.clone()).chain(inner)
    });
    members.collect()
}

#[test]
fn tools_that_need_an_editor_answer_as_recorded() {
    let file = workspace().join("tests/ui/answers/editor.json");
    let all = answers();
    if std::env::var_os("UPDATE").is_some() {
        let lines: Vec<_> =
            all.iter().map(|(name, answer)| format!("{}: {answer}", json!(name))).collect();
        fs::write(&file, format!("{{\n{}\n}}\n", lines.join(",\n"))).expect("it can be written");
    }
    let recorded = fs::read_to_string(&file).expect("it is there");
    let recorded: Map<String, Value> = serde_json::from_str(&recorded).expect("it is JSON");
    let names: Vec<_> = recorded.keys().map(String::as_str).collect();
    assert_eq!(names, all.keys().copied().collect::<Vec<_>>(), "set UPDATE=1");
    for (name, answer) in &all {
        let then = &recorded[*name];
        assert_eq!(members(then), members(answer), "{name} answers otherwise: set UPDATE=1");
        assert_eq!(then["tool"], answer["tool"], "{name} is another tool: set UPDATE=1");
    }
}
