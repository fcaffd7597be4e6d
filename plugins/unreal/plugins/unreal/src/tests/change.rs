//! Tests of tools that have the editor change something: a change happens only after consent, and
//! only once.

use super::{
    editor::{Editor, Server, Trap},
    live::{DOOR, fails, hasty, host, live},
    *,
};

/// Writes a file, and returns the arguments to import it.
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
fn nothing_is_imported_without_consent() {
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
fn the_question_names_overwritten_assets() {
    let game = Game::new();
    let editor = game.editor(Server::Plugin);
    let mut over = import_of(&game);
    over["packagePath"] = json!("/Game/Doors/BP_Door.BP_Door");
    let asked = reply::<ImportAsset>(&host(&editor, Server::Plugin), &game, over);
    let Err(Failure::NeedInput(asks)) = asked else { panic!("it asks: {asked:?}") };
    let words = "/Game/Doors/BP_Door.BP_Door (/Script/Engine.Blueprint) in the editor, saved as \
                 the file Content/Doors/BP_Door.uasset, which is under no source";
    assert!(format!("{asks:?}").contains(words), "{asks:?}");
    // The question names a file even if the editor does not know the asset.
    game.put(".p4config", "P4CLIENT=ada");
    game.put("Content/Doors/T_Door.uasset", "not registered");
    let asked = reply::<ImportAsset>(&host(&editor, Server::Plugin), &game, import_of(&game));
    let Err(Failure::NeedInput(asks)) = asked else { panic!("it asks: {asked:?}") };
    let asks = format!("{asks:?}");
    assert!(asks.contains("T_Door.uasset, which is in a workspace of Perforce"), "{asks}");
    assert!(asks.contains("the editor does not know this asset"), "{asks}");
}

#[test]
fn exports_are_written_only_beneath_the_folder() {
    let game = Game::new();
    let editor = game.editor(Server::Plugin);
    game.put("Out/BP_Door.t3d", "old");
    let out = game.path().join("Out");
    let export = json!({
        "objectPaths": [DOOR, "/Game/Maps/Town.Town", "/Game/None"], "outputFolder": out,
    });
    let asked = reply::<BatchExportAssets>(&host(&editor, Server::Plugin), &game, export.clone());
    let Err(Failure::NeedInput(asks)) = asked else { panic!("it asks: {asked:?}") };
    let asks = format!("{asks:?}");
    for part in ["Out/BP_Door.t3d", "UnrealMCPServer 0.1.0", &editor.url(), "which has the project"]
    {
        assert!(asks.contains(part), "{part}: {asks}");
    }
    assert_eq!(fs::read_to_string(out.join("BP_Door.t3d")).expect("it is there"), "old");
    let subject = format!(
        "/Game/Doors/BP_Door.BP_Door, /Game/Maps/Town.Town, /Game/None.None as T3D to {}, by the \
         editor at {}",
        out.display(),
        editor.url()
    );
    let near = host(&editor, Server::Plugin).agreed("export", &subject);
    let answer = live::<BatchExportAssets>(&near, &game, export.clone());
    let file = |name: &str| format!("{}/{name}", out.display());
    assert_eq!(answer["exportedPaths"], json!([file("BP_Door.t3d"), file("Town.t3d")]), "{answer}");
    assert_eq!(answer["failedPaths"], json!(["/Game/None.None"]));
    assert!(fs::read_to_string(file("BP_Door.t3d")).expect("it is there").starts_with("Begin"));
    let names = || {
        let entries = fs::read_dir(&out).expect("it is there");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("it is there").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(), ["BP_Door.t3d", "Town.t3d"], "no folder is left");
    #[cfg(unix)]
    {
        // The editor follows links, so a dangling link would lead out of the root.
        let aside = tempfile::tempdir().expect("a folder");
        for name in ["BP_Door_1.t3d", "BP_Door_2.t3d"] {
            std::os::unix::fs::symlink(aside.path().join(name), out.join(name))
                .expect("it is made");
        }
        let near = host(&editor, Server::Plugin).agreed("export", &subject);
        live::<BatchExportAssets>(&near, &game, export.clone());
        assert_eq!(fs::read_dir(aside.path()).expect("it is there").count(), 0, "nothing came out");
    }
    assert_eq!(editor.done().len(), if cfg!(unix) { 2 } else { 1 });
    game.put("Out/Town.t3d.d/file", "");
    fs::remove_file(file("Town.t3d")).expect("it is there");
    game.put("Out/Town.t3d/file", "a folder is in its place");
    let near = host(&editor, Server::Plugin).agreed("export", &subject);
    let fault = fails::<BatchExportAssets>(&near, &game, export);
    assert!(fault.contains("there is a folder"), "{fault}");
}

#[test]
fn an_export_with_an_unknown_outcome_names_its_folder() {
    let game = Game::new();
    let editor = game.editor(Server::Plugin);
    editor.set_trap("batch_export_assets", Trap::DoneAndSilent);
    game.put("Out/keep.txt", "");
    let out = game.path().join("Out");
    let export = json!({ "objectPaths": [DOOR], "outputFolder": out });
    let subject =
        format!("{DOOR}.BP_Door as T3D to {}, by the editor at {}", out.display(), editor.url());
    let near = hasty(&editor, Server::Plugin).agreed("export", &subject);
    let fault = fails::<BatchExportAssets>(&near, &game, export);
    assert!(
        fault.contains("the outcome is not known") && fault.contains(".portcullis-export-"),
        "{fault}"
    );
}

#[test]
fn a_change_is_sent_once_even_if_it_fails() {
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
    // If the editor says that it did nothing, the outcome is known.
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
fn unsuitable_imports_are_refused() {
    let game = Game::new();
    let editor = game.editor(Server::Plugin);
    let near = host(&editor, Server::Plugin);
    let dir = game.path().display().to_string();
    game.put("Source/fake.t3d", "; Reconstructed from the file of /Game/X\nBegin Object\n");
    for (key, value, why) in [
        ("filePath", json!(format!("{dir}/Source/../Source/door.png")), "`..`"),
        ("filePath", json!("//server/share/door.png"), "network"),
        ("filePath", json!(format!("{dir}/Source/none.png")), "No such file"),
        ("filePath", json!(format!("{dir}/Source")), "not a file"),
        ("t3dFilePath", json!(format!("{dir}/Source/fake.t3d")), "not for import"),
        ("packagePath", json!("/Engine/T_Door"), "neither in /Game"),
        ("packagePath", json!("/Game/Doors/T Door"), "characters"),
        ("classPath", json!("Texture2D"), "not a path of a class"),
        ("classPath", json!("/Script/Engine.Blueprint"), "`import-classes`"),
    ] {
        let mut arguments = import_of(&game);
        arguments[key] = value;
        let fault = fails::<ImportAsset>(&near, &game, arguments);
        assert!(fault.contains(why), "{key}: {fault}");
    }
    assert!(editor.done().is_empty());
    // Classes that the operator names may be imported as well.
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
    assert!(answer["warnings"].to_string().contains("log, which cannot be read"), "{answer}");
    let asked = reply::<ConsoleCommand>(&near, &game, command("open Town"));
    let Err(Failure::NeedInput(asks)) = asked else { panic!("it asks: {asked:?}") };
    assert!(format!("{asks:?}").contains("open Town"), "{asks:?}");
    assert!(fails::<ConsoleCommand>(&near, &game, command("py import os")).contains("not run"));
    assert_eq!(editor.done().len(), 1);
    let near = host(&editor, Server::Plugin).agreed("console", "nonsense");
    let fault = fails::<ConsoleCommand>(&near, &game, command("nonsense"));
    assert!(fault.contains("Command execution failed"), "{fault}");
    for (said, why) in [
        (json!({ "bSuccess": false, "output": "" }), "the command failed, without a reason"),
        (json!({ "bSuccess": false, "error": "no world is open" }), "no world is open"),
        (json!({ "output": "" }), "`bSuccess` is not true or false"),
    ] {
        editor.lie("execute_console_command", said);
        let fault =
            fails::<ConsoleCommand>(&host(&editor, Server::Plugin), &game, command("stat fps"));
        assert!(fault.contains(why), "{why}: {fault}");
    }
    editor.mend();
    let near = host(&editor, Server::Plugin).setting("mode", "offline");
    assert!(fails::<ConsoleCommand>(&near, &game, command("stat fps")).contains("`offline`"));
    let epic = game.editor(Server::Epic);
    let fault = fails::<ConsoleCommand>(&host(&epic, Server::Epic), &game, command("stat fps"));
    assert!(fault.contains("runs no console commands"), "{fault}");
}
