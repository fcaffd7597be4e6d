//! Tests of tools that change something in the editor: the user is asked, paths stay within the roots, and each change
//! is made once.

use std::fs;

use serde_json::{Value, json};

use super::{editor, game, structured};
use crate::support::client::{Client, Era, Event, text_of};
use crate::support::editor::{Editor, Server, Trap};
use crate::support::home::Home;

/// The guide's configuration for changes, with more settings or tables.
fn with_changes(editor: &Editor, settings: &str) -> String {
    format!(
        "roots = [\"$FILES/MyGame\"]\n[plugins.unreal.grants]\n\
         files = {{ access = \"write\", scope = \"roots\" }}\ncache.bytes = 64_000_000\n\
         http = {{ hosts = [\"http://{}\"], methods = [\"POST\"] }}\n\
         actions.allow = [\"editor-write\"]\nclient.features = [\"consent\"]\n\
         [plugins.unreal.settings]\neditor-url = \"{}\"\n{settings}\n",
        editor.address,
        editor.url()
    )
}

/// A client whose user answers each question with this action.
fn user(home: &Home, era: Era, action: &str) -> Client {
    let mut client = Client::start_with(home, &["serve"], era, json!({"elicitation": {}}));
    let answer = json!({"action": action, "content": {}});
    client.answers.insert("elicitation/create".into(), answer);
    client
}

/// The questions since the last call of this function.
fn questions(client: &mut Client) -> Vec<String> {
    let message = |event: Event| match event {
        Event::Asked(_, params, _) => params["message"].as_str().map(str::to_owned),
        Event::Told(_) => None,
    };
    std::mem::take(&mut client.events).into_iter().filter_map(message).collect()
}

/// Makes an image in the project. Returns the arguments that import it.
fn import(home: &Home) -> Value {
    let picture = home.files().join("MyGame/door.png");
    fs::write(&picture, "a picture").expect("a home can be written");
    json!({
        "filePath": picture,
        "packagePath": "/Game/Doors/T_Door",
        "classPath": "/Script/Engine.Texture2D",
    })
}

fn refused(client: &mut Client, tool: &str, arguments: Value) -> String {
    let reply = client.call(tool, arguments);
    let is_error = reply["result"]["isError"] == true || reply.get("error").is_some();
    assert!(is_error, "{reply}");
    text_of(&reply)
}

#[test]
fn an_import_needs_consent_and_is_done_once() {
    let home = game("");
    let editor = editor(&home, Server::Plugin);
    home.configure(&with_changes(&editor, ""));
    for era in Era::BOTH {
        let before = editor.done().len();
        let mut client = user(&home, era, "decline");
        let said = refused(&mut client, "import_asset", import(&home));
        assert!(said.contains("nothing was done"), "{said}");
        let asked = questions(&mut client);
        assert_eq!(asked.len(), 1, "{asked:?}");
        let file = home.file("MyGame/door.png");
        for part in [file.as_str(), "/Script/Engine.Texture2D", "/Game/Doors/T_Door.T_Door"] {
            assert!(asked[0].contains(part), "{part}: {asked:?}");
        }
        assert!(!asked[0].contains("overwrites"), "nothing is there yet: {asked:?}");
        assert_eq!(editor.done().len(), before, "it was declined");

        let mut client = user(&home, era, "accept");
        let answer = structured(&mut client, "import_asset", import(&home));
        assert_eq!((&answer["bSuccess"], &answer["source"]), (&json!(true), &json!("live")));
        let done = editor.done();
        assert_eq!(done.len(), before + 1, "{done:?}");
        assert_eq!(done[before].arguments["filePath"], json!(file));
    }
}

#[test]
fn the_question_names_the_files_that_an_import_overwrites() {
    let home = game("");
    let editor = editor(&home, Server::Plugin);
    home.configure(&with_changes(&editor, "import-classes = \"/Script/Engine.Blueprint\""));
    fs::create_dir_all(home.files().join("MyGame/Content/Doors")).expect("a home can be written");
    fs::write(home.file("MyGame/Content/Doors/BP_Door.uasset"), "x").expect("a home");
    fs::write(home.file("MyGame/.p4config"), "P4CLIENT=ada").expect("a home can be written");
    let mut client = user(&home, Era::Modern, "decline");
    let mut door = import(&home);
    door["packagePath"] = json!("/Game/Doors/BP_Door.BP_Door");
    door["classPath"] = json!("/Script/Engine.Blueprint");
    refused(&mut client, "import_asset", door);
    let asked = questions(&mut client).concat();
    for part in ["overwrites /Game/Doors/BP_Door.BP_Door (/Script/Engine.Blueprint)", "Perforce"] {
        assert!(asked.contains(part), "{part}: {asked}");
    }
}

#[test]
fn no_file_outside_of_the_roots_is_imported_or_written() {
    let home = game("");
    let editor = editor(&home, Server::Plugin);
    home.configure(&with_changes(&editor, ""));
    let mut client = user(&home, Era::Modern, "accept");
    fs::write(home.file("secret.png"), "not yours").expect("a home can be written");
    let inside = import(&home);
    let export = |folder: &str| json!({"objectPaths": ["/Game/Doors/BP_Door.BP_Door"], "outputFolder": folder});
    let mut unfit = Vec::new();
    for (key, value) in [
        ("filePath", json!(home.file("secret.png"))),
        ("filePath", json!(home.file("MyGame/../secret.png"))),
        ("t3dFilePath", json!(home.file("secret.png"))),
        ("packagePath", json!("/Engine/T_Door")),
        ("classPath", json!("/Script/Engine.Blueprint")),
    ] {
        let mut arguments = inside.clone();
        arguments[key] = value;
        unfit.push(("import_asset", arguments));
    }
    unfit.push(("batch_export_assets", export(&home.file(""))));
    unfit.push(("batch_export_assets", export(&home.file("MyGame/none"))));
    #[cfg(unix)]
    {
        let link = home.files().join("MyGame/link.png");
        std::os::unix::fs::symlink(home.file("secret.png"), &link).expect("a home can be written");
        let mut arguments = inside.clone();
        arguments["filePath"] = json!(link);
        unfit.push(("import_asset", arguments));
    }
    for (tool, arguments) in unfit {
        refused(&mut client, tool, arguments.clone());
        assert_eq!(questions(&mut client), [""; 0], "nobody is asked for it: {arguments}");
    }
    assert!(editor.done().is_empty(), "{:?}", editor.done());
}

#[test]
fn the_question_names_the_files_that_an_export_overwrites() {
    let home = game("");
    let editor = editor(&home, Server::Plugin);
    home.configure(&with_changes(&editor, ""));
    let out = home.files().join("MyGame/Out");
    fs::create_dir_all(&out).expect("a home can be written");
    fs::write(out.join("BP_Door.t3d"), "old").expect("a home can be written");
    let export = json!({"objectPaths": ["/Game/Doors/BP_Door.BP_Door"], "outputFolder": out});
    let mut client = user(&home, Era::Modern, "decline");
    refused(&mut client, "batch_export_assets", export.clone());
    let asked = questions(&mut client).concat();
    assert!(asked.contains("overwrites") && asked.contains("Out/BP_Door.t3d"), "{asked}");
    assert!(editor.done().is_empty());
    let mut client = user(&home, Era::Legacy, "accept");
    let answer = structured(&mut client, "batch_export_assets", export);
    let file = json!([format!("{}/BP_Door.t3d", out.display())]);
    assert_eq!((&answer["exportedPaths"], editor.done().len()), (&file, 1));
}

#[test]
fn an_unknown_outcome_is_reported_and_the_change_is_not_repeated() {
    for trap in [Trap::DoneAndSilent, Trap::Half] {
        let home = game("");
        let editor = editor(&home, Server::Plugin);
        // The call waits for a silent editor until the call's time is over.
        let wall = if trap == Trap::DoneAndSilent { 20_000 } else { 100_000 };
        home.configure(&with_changes(
            &editor,
            &format!("[plugins.unreal.limits]\nwall-ms = {wall}\nhttp-ms = 60000"),
        ));
        editor.set_trap("import_asset", trap);
        let mut client = user(&home, Era::Modern, "accept");
        let said = refused(&mut client, "import_asset", import(&home));
        assert!(said.contains("the outcome is not known"), "{trap:?}: {said}");
        assert_eq!(editor.done().len(), 1, "{trap:?}");
    }
}

#[test]
fn without_elicitation_nothing_is_changed() {
    let home = game("");
    let editor = editor(&home, Server::Plugin);
    home.configure(&with_changes(&editor, ""));
    let mut client = Client::start(&home, Era::Modern);
    let said = refused(&mut client, "import_asset", import(&home));
    assert!(said.contains("could not be asked") && said.contains("`agreed.import`"), "{said}");
    let out = home.files().join("MyGame");
    let export = json!({"objectPaths": ["/Game/Doors/BP_Door.BP_Door"], "outputFolder": out});
    refused(&mut client, "batch_export_assets", export);
    assert!(editor.done().is_empty());
}
