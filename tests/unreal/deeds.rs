//! Tests of tools that use Epic's server, except imports: each tool needs its action, and most need the user's consent.

use serde_json::{Value, json};

use super::{editor, game, structured};
use crate::support::client::{Client, Era, text_of};
use crate::support::editor::{Editor, Server};
use crate::support::home::Home;

/// The tools, each with the action that it needs.
const TOOLS: [(&str, &str); 7] = [
    ("compile_code", "editor-compile"),
    ("save_assets", "editor-save"),
    ("start_play_session", "editor-play"),
    ("stop_play_session", "editor-play"),
    ("capture_viewport", "editor-capture"),
    ("search_editor_tools", "editor-tools"),
    ("call_editor_tool", "editor-tools"),
];

/// The guide's configuration for Epic's server, with these actions.
fn configured(editor: &Editor, actions: &[&str]) -> String {
    format!(
        "roots = [\"$FILES/MyGame\"]\n[plugins.unreal.grants]\n\
         files = {{ access = \"read\", scope = \"roots\" }}\ncache.bytes = 64_000_000\n\
         http = {{ hosts = [\"http://{}\"], methods = [\"POST\"] }}\n\
         actions.allow = {}\nclient.features = [\"consent\"]\n\
         [plugins.unreal.settings]\nepic-url = \"{}\"\nepic-tools = \"EditorAppToolset.*\"\n",
        editor.address,
        json!(actions),
        editor.url()
    )
}

fn user(home: &Home, era: Era, action: &str) -> Client {
    let mut client = Client::start_with(home, &["serve"], era, json!({"elicitation": {}}));
    let answer = json!({"action": action, "content": {}});
    client.answers.insert("elicitation/create".into(), answer);
    client
}

fn listed(client: &mut Client) -> String {
    let listed = client.request("tools/list", json!({}));
    client.reply(listed)["result"]["tools"].to_string()
}

#[test]
fn a_tool_without_its_action_is_absent() {
    let home = game("");
    let editor = editor(&home, Server::Epic);
    for (_, granted) in TOOLS {
        home.configure(&configured(&editor, &[granted]));
        let listed = listed(&mut user(&home, Era::Modern, "accept"));
        for (tool, action) in TOOLS {
            let is_there = listed.contains(&format!("\"{tool}\""));
            assert_eq!(is_there, action == granted, "{tool} with {granted}");
        }
    }
    assert!(editor.done().is_empty());
}

#[test]
fn the_editor_saves_plays_and_shows_with_consent() {
    let actions: Vec<&str> = TOOLS.iter().map(|(_, action)| *action).collect();
    let home = game("");
    let editor = editor(&home, Server::Epic);
    home.configure(&configured(&editor, &actions));
    let save = json!({"assetPaths": ["/Game/Doors/BP_Door"]});
    let app = "EditorToolset.EditorAppToolset";
    let browse = json!({
        "toolset": app, "tool": "SetContentBrowserPath", "arguments": {"Path": "/Game/Doors"},
    });
    for era in Era::BOTH {
        let before = editor.done().len();
        let mut client = user(&home, era, "decline");
        for (tool, arguments) in [
            ("save_assets", &save),
            ("compile_code", &json!({})),
            ("start_play_session", &json!({})),
            ("capture_viewport", &json!({})),
            ("call_editor_tool", &browse),
        ] {
            let reply = client.call(tool, arguments.clone());
            let said = text_of(&reply);
            assert!(said.contains("did not agree"), "{tool}: {said}");
        }
        assert_eq!(editor.done().len(), before, "it was declined");
        let mut client = user(&home, era, "accept");
        assert_eq!(structured(&mut client, "save_assets", save.clone())["bSuccess"], true);
        assert_eq!(structured(&mut client, "start_play_session", json!({}))["isRunning"], true);
        assert_eq!(structured(&mut client, "stop_play_session", json!({}))["isRunning"], false);
        let reply = client.call("capture_viewport", json!({}));
        let content = reply["result"]["content"].as_array().expect("it has content");
        let is_picture = |item: &Value| item["type"] == "image" && item["mimeType"] == "image/png";
        assert!(content.iter().any(is_picture), "{reply}");
        let found = structured(&mut client, "search_editor_tools", json!({"words": "browser"}));
        assert_eq!(found["tools"][0]["risk"], "change", "{found}");
        structured(&mut client, "call_editor_tool", browse.clone());
        let script = json!({
            "toolset": "editor_toolset.toolsets.programmatic.ProgrammaticToolset",
            "tool": "execute_tool_script", "arguments": {"script": "import os"},
        });
        let reply = client.call("call_editor_tool", script);
        assert!(text_of(&reply).contains("is not called"), "{reply}");
        let done: Vec<String> = editor.done().into_iter().skip(before).map(|it| it.tool).collect();
        assert_eq!(done, ["save_assets", "StartPIE", "StopPIE", "SetContentBrowserPath"]);
    }
}
