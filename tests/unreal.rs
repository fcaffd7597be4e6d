//! Tests of the plugin `unreal` in the host with a fake editor: grants and the user's consent
//! apply.

use std::fs;

use serde_json::{Value, json};

use crate::support::client::{Client, Era, text_of};
use crate::support::editor::{Asset, Editor, Server};
use crate::support::home::Home;

mod changes;
mod deeds;
#[cfg(unix)]
mod git_driver;
mod news;
mod recorded;
mod revisions;

/// The text of a project file.
pub const UPROJECT: &str = "{\"FileVersion\": 3, \"EngineAssociation\": \"5.6\"}";

/// A home with a project as its only root.
fn game(config: &str) -> Home {
    let home = Home::new();
    let project = home.files().join("MyGame");
    fs::create_dir_all(project.join("Content")).expect("a home can be written");
    fs::write(project.join("MyGame.uproject"), UPROJECT).expect("a home can be written");
    home.configure(&format!("roots = [\"$FILES/MyGame\"]\n{config}"));
    home
}

/// An editor that has the project open, with one Blueprint.
fn editor(home: &Home, server: Server) -> Editor {
    let folder = format!("{}/MyGame", home.files().display());
    let door = Asset {
        package: "/Game/Doors/BP_Door".into(),
        name: "BP_Door".into(),
        class: "/Script/Engine.Blueprint".into(),
        ..Asset::default()
    };
    Editor::start(server, &folder, vec![door])
}

/// The guide's configuration for an editor, with console commands.
pub fn with_editor(editor: &Editor, server: Server) -> String {
    let setting = if server == Server::Epic { "epic-url" } else { "editor-url" };
    format!(
        "roots = [\"$FILES/MyGame\"]\n[plugins.unreal.grants]\n\
         files = {{ access = \"read\", scope = \"roots\" }}\ncache.bytes = 64_000_000\n\
         http = {{ hosts = [\"http://{}\"], methods = [\"POST\"] }}\n\
         actions.allow = [\"editor-console\"]\n\
         client = {{ features = [\"consent\"], agreed.console = [\"r.Shadows *\"] }}\n\
         [plugins.unreal.settings]\n{setting} = \"{}\"\n",
        editor.address,
        editor.url()
    )
}

fn structured(client: &mut Client, tool: &str, arguments: Value) -> Value {
    let reply = client.call(tool, arguments);
    assert_ne!(reply["result"]["isError"], true, "{}", text_of(&reply));
    reply["result"]["structuredContent"].clone()
}

#[test]
fn by_default_only_the_project_can_be_read() {
    let home = game("");
    let editor = editor(&home, Server::Plugin);
    let mut client = Client::start(&home, Era::Modern);
    let listed = client.request("tools/list", json!({}));
    let listed = client.reply(listed)["result"]["tools"].to_string();
    assert!(listed.contains("\"search_blueprints\""), "{listed}");
    for tool in ["execute_console_command", "import_asset", "batch_export_assets"] {
        assert!(!listed.contains(tool), "{tool} needs an action that nobody granted");
    }
    let answer = structured(
        &mut client,
        "search_blueprints",
        json!({"searchType": "name", "searchTerm": "door"}),
    );
    assert_eq!(answer["source"], "offline", "{answer}");
    assert!(editor.arrived().is_empty(), "nobody was to ask an editor");
}

#[test]
fn an_editor_answers_and_runs_commands_with_consent() {
    for (server, era) in [(Server::Plugin, Era::Modern), (Server::Epic, Era::Legacy)] {
        let home = game("");
        let editor = editor(&home, server);
        home.configure(&with_editor(&editor, server));
        let mut client = Client::start_with(&home, &["serve"], era, json!({"elicitation": {}}));
        let door = json!({"assetPath": "/Game/Doors/BP_Door.BP_Door"});
        let answer = structured(&mut client, "query_asset", door);
        assert_eq!(answer["source"], "live", "{server:?}: {answer}");
        if server == Server::Epic {
            // The engine's own server runs no console commands.
            continue;
        }
        let command = |command: &str| json!({"command": command});
        structured(&mut client, "execute_console_command", command("r.Shadows 0"));
        assert_eq!(editor.done().len(), 1, "the operator agreed to it beforehand");
        client.answers.insert("elicitation/create".into(), json!({"action": "decline"}));
        let refused = client.call("execute_console_command", command("open Town"));
        assert_eq!(refused["result"]["isError"], true, "{refused}");
        assert_eq!(editor.done().len(), 1, "it was declined");
        client
            .answers
            .insert("elicitation/create".into(), json!({"action": "accept", "content": {}}));
        structured(&mut client, "execute_console_command", command("open Town"));
        assert_eq!(editor.done().len(), 2, "it was agreed to");
        for never in ["quit", "py print(1)", "stat fps; quit", "stat fps\nquit"] {
            let refused = client.call("execute_console_command", command(never));
            assert_eq!(refused["result"]["isError"], true, "{never}: {refused}");
        }
        assert_eq!(editor.done().len(), 2, "some are never run");
    }
}

#[test]
fn without_elicitation_a_command_is_refused() {
    let home = game("");
    let editor = editor(&home, Server::Plugin);
    home.configure(&with_editor(&editor, Server::Plugin));
    let mut client = Client::start(&home, Era::Modern);
    let refused = client.call("execute_console_command", json!({"command": "open Town"}));
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    assert!(editor.done().is_empty());
}
