//! What has the editor change something: only what was agreed to, and once.

use super::{
    editor::{Editor, Server, Trap},
    live::{DOOR, fails, hasty, host, live},
    *,
};

/// A file, and how it is imported.
pub fn import_of(game: &Game) -> Value {
    game.put("Source/door.png", PNG);
    json!({
        "filePath": game.path().join("Source/door.png"),
        "packagePath": "/Game/Doors/T_Door",
        "classPath": "/Script/Engine.Texture2D",
    })
}

fn subject_of_import(game: &Game, editor: &Editor) -> String {
    let dir = game.path().display();
    format!(
        "{dir}/Source/door.png as /Script/Engine.Texture2D to /Game/Doors/T_Door.T_Door in the \
         project {dir}, by the editor at {}",
        editor.url()
    )
}

#[test]
fn nothing_is_imported_that_nobody_agreed_to() {
    let game = Game::new();
    for server in [Server::Plugin, Server::Epic] {
        let editor = game.editor(server);
        let subject = subject_of_import(&game, &editor);
        let asked = reply::<ImportAsset>(&host(&editor, server), &game, import_of(&game));
        let Err(Failure::NeedInput(asks)) = asked else { panic!("it asks: {asked:?}") };
        assert!(format!("{asks:?}").contains(&subject), "{asks:?}");
        let near = host(&editor, server).refused("import", &subject);
        let fault = fails::<ImportAsset>(&near, &game, import_of(&game));
        assert!(fault.starts_with("nothing was done"), "{fault}");
        assert!(editor.done().is_empty());
        let near = host(&editor, server).agreed("import", &subject);
        let answer = live::<ImportAsset>(&near, &game, import_of(&game));
        assert_eq!((&answer["bSuccess"], &answer["count"]), (&json!(true), &json!(1)));
        assert!(answer["warnings"].to_string().contains("not saved"), "{answer}");
        assert_eq!(editor.done().len(), 1);
    }
}

#[test]
fn what_is_overwritten_is_said() {
    let game = Game::new();
    let editor = game.editor(Server::Plugin);
    let mut over = import_of(&game);
    over["packagePath"] = json!("/Game/Doors/BP_Door.BP_Door");
    let asked = reply::<ImportAsset>(&host(&editor, Server::Plugin), &game, over);
    let Err(Failure::NeedInput(asks)) = asked else { panic!("it asks: {asked:?}") };
    let words = "/Game/Doors/BP_Door.BP_Door (/Script/Engine.Blueprint), as it is in the editor, and \
                 once that is saved the file Content/Doors/BP_Door.uasset, of which no source control";
    assert!(format!("{asks:?}").contains(words), "{asks:?}");
    // What the editor does not know of is overwritten all the same.
    game.put(".p4config", "P4CLIENT=ada");
    game.put("Content/Doors/T_Door.uasset", "not registered");
    let asked = reply::<ImportAsset>(&host(&editor, Server::Plugin), &game, import_of(&game));
    let Err(Failure::NeedInput(asks)) = asked else { panic!("it asks: {asked:?}") };
    let asks = format!("{asks:?}");
    assert!(asks.contains("T_Door.uasset, which is in a workspace of Perforce"), "{asks}");
    assert!(asks.contains("the editor does not know of it"), "{asks}");
    game.put("Out/BP_Door.T3D", "old");
    let out = game.path().join("Out");
    let export = json!({ "objectPaths": ["/Game/Doors/BP_Door.BP_Door"], "outputFolder": out });
    let asked = reply::<BatchExportAssets>(&host(&editor, Server::Plugin), &game, export.clone());
    let Err(Failure::NeedInput(asks)) = asked else { panic!("it asks: {asked:?}") };
    assert!(format!("{asks:?}").contains("Out/BP_Door.T3D"), "{asks:?}");
    let subject = format!(
        "/Game/Doors/BP_Door.BP_Door as T3D to {}, by the editor at {}",
        out.display(),
        editor.url()
    );
    let near = host(&editor, Server::Plugin).agreed("export", &subject);
    let answer = live::<BatchExportAssets>(&near, &game, export.clone());
    assert_eq!(answer["exportedPaths"], json!([format!("{}/BP_Door.T3D", out.display())]));
    #[cfg(unix)]
    {
        fs::remove_file(out.join("BP_Door.T3D")).expect("it is there");
        std::os::unix::fs::symlink("/tmp/elsewhere", out.join("BP_Door.T3D")).expect("it is made");
        let near = host(&editor, Server::Plugin).agreed("export", &subject);
        assert!(fails::<BatchExportAssets>(&near, &game, export).contains("is a link"));
    }
    assert_eq!(editor.done().len(), 1);
    // What cannot be written is said before the editor fails at it.
    let _gone = fs::remove_file(out.join("BP_Door.T3D"));
    game.put("Out/BP_Door.T3D/file", "a folder is in its place");
    let export = json!({ "objectPaths": ["/Game/Doors/BP_Door.BP_Door"], "outputFolder": out });
    let asked = reply::<BatchExportAssets>(&host(&editor, Server::Plugin), &game, export);
    let Err(Failure::NeedInput(asks)) = asked else { panic!("it asks: {asked:?}") };
    assert!(format!("{asks:?}").contains("BP_Door.T3D (cannot be written"), "{asks:?}");
}

#[test]
fn a_change_is_asked_for_once_whatever_comes_of_it() {
    let game = Game::new();
    for trap in [Trap::DoneAndSilent, Trap::Half] {
        let editor = game.editor(Server::Plugin);
        editor.set_trap("import_asset", trap);
        let subject = subject_of_import(&game, &editor);
        let host = if trap == Trap::DoneAndSilent { hasty } else { host };
        let near = host(&editor, Server::Plugin).agreed("import", &subject);
        let fault = fails::<ImportAsset>(&near, &game, import_of(&game));
        assert!(fault.starts_with("the outcome is not known"), "{trap:?}: {fault}");
        assert_eq!(editor.done().len(), 1);
    }
    // What the editor says that it did not do is no riddle.
    let editor = game.editor(Server::Plugin);
    let mut wrong = import_of(&game);
    wrong["packagePath"] = json!(DOOR);
    let dir = game.path().display();
    let subject = format!(
        "{dir}/Source/door.png as /Script/Engine.Texture2D to {DOOR}.BP_Door in the project {dir}, \
         by the editor at {}",
        editor.url()
    );
    let near = host(&editor, Server::Plugin).agreed("import", &subject);
    let fault = fails::<ImportAsset>(&near, &game, wrong);
    assert!(fault.contains("Asset already exists") && editor.done().is_empty(), "{fault}");
}

#[test]
fn what_is_not_fit_for_import_is_refused() {
    let game = Game::new();
    let editor = game.editor(Server::Plugin);
    let near = host(&editor, Server::Plugin);
    let dir = game.path().display().to_string();
    game.put("Source/fake.t3d", "; Reconstructed from the file of /Game/X\nBegin Object\n");
    for (key, value, why) in [
        ("filePath", json!(format!("{dir}/Source/../Source/door.png")), "`..`"),
        ("filePath", json!("//server/share/door.png"), "network"),
        ("filePath", json!(format!("{dir}/Source/none.png")), "No such file"),
        ("filePath", json!(format!("{dir}/Source")), "no file"),
        ("t3dFilePath", json!(format!("{dir}/Source/fake.t3d")), "not for import"),
        ("packagePath", json!("/Engine/T_Door"), "neither in /Game"),
        ("packagePath", json!("/Game/Doors/T Door"), "characters"),
        ("classPath", json!("Texture2D"), "no path of a class"),
        ("classPath", json!("/Script/Engine.Blueprint"), "`import-classes`"),
    ] {
        let mut arguments = import_of(&game);
        arguments[key] = value;
        let fault = fails::<ImportAsset>(&near, &game, arguments);
        assert!(fault.contains(why), "{key}: {fault}");
    }
    assert!(editor.done().is_empty());
    // What the operator names may be imported besides.
    let named = "/Script/Engine.Blueprint, /Script/MyGame.Thing";
    let near = near.setting("import-classes", named);
    let mut arguments = import_of(&game);
    arguments["classPath"] = json!("/Script/Engine.Blueprint");
    let asked = reply::<ImportAsset>(&near, &game, arguments);
    assert!(matches!(asked, Err(Failure::NeedInput(_))), "{asked:?}");
}

#[test]
fn commands_are_run_shown_or_refused() {
    let game = Game::new();
    let editor = game.editor(Server::Plugin);
    let near = host(&editor, Server::Plugin);
    let command = |text: &str| json!({ "command": text });
    let answer = live::<ConsoleCommand>(&near, &game, command("stat fps"));
    assert!(answer["warnings"].to_string().contains("get_log_file_path"), "{answer}");
    let asked = reply::<ConsoleCommand>(&near, &game, command("open Town"));
    let Err(Failure::NeedInput(asks)) = asked else { panic!("it asks: {asked:?}") };
    assert!(format!("{asks:?}").contains("open Town"), "{asks:?}");
    assert!(fails::<ConsoleCommand>(&near, &game, command("py import os")).contains("not run"));
    assert_eq!(editor.done().len(), 1);
    let near = host(&editor, Server::Plugin).agreed("console", "nonsense");
    let fault = fails::<ConsoleCommand>(&near, &game, command("nonsense"));
    assert!(fault.contains("Command execution failed"), "{fault}");
    let near = host(&editor, Server::Plugin).setting("mode", "offline");
    assert!(fails::<ConsoleCommand>(&near, &game, command("stat fps")).contains("`offline`"));
    let epic = game.editor(Server::Epic);
    let fault = fails::<ConsoleCommand>(&host(&epic, Server::Epic), &game, command("stat fps"));
    assert!(fault.contains("runs no console commands"), "{fault}");
}
