//! Tests with an editor on Windows: its paths have drives and backslashes, and ignore case.
//!
//! A folder `D:` in the working directory stands for the drive, so that `D:/Games/MyGame` is the path
//! of a folder here, too.

use super::{
    editor::{Editor, Server},
    live::{DOOR, ask, fails, host, live},
    *,
};
use std::{
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The folder of the project.
const PROJECT: &str = "D:/Games/MyGame";

/// Held by the test that uses the working directory, which all threads share.
static WORKING_DIRECTORY: Mutex<()> = Mutex::new(());

/// A game on a drive. When the value is dropped, the working directory is restored.
struct Drive {
    game: Game,
    before: PathBuf,
    _turn: MutexGuard<'static, ()>,
}

impl Drive {
    fn new() -> Self {
        let turn = WORKING_DIRECTORY.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::env::current_dir().expect("there is one");
        let held = tempfile::tempdir().expect("a folder");
        std::env::set_current_dir(held.path()).expect("it is there");
        let game = Game::at(PathBuf::from(PROJECT), held).filled();
        Self { game, before, _turn: turn }
    }

    fn editor(&self, server: Server) -> Editor {
        Editor::start(server, PROJECT, wire::assets(&self.game))
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        let _restored = std::env::set_current_dir(&self.before);
    }
}

#[test]
fn paths_of_an_editor_on_windows_ignore_case() {
    let drive = Drive::new();
    let game = &drive.game;
    let door = || json!({ "assetPath": DOOR });
    for server in [Server::Plugin, Server::NewerPlugin, Server::Epic] {
        for folder in [PROJECT, "d:/games/MYGAME"] {
            let editor = Editor::start(server, folder, wire::assets(game));
            let answer = live::<QueryAsset>(&host(&editor, server), game, door());
            let warnings = answer["warnings"].to_string();
            assert!(!warnings.contains("project"), "{server:?} {folder}: {answer}");
        }
        for folder in ["E:/Games/MyGame", "D:/Games/MyGame2", "D:/MyGame"] {
            let editor = Editor::start(server, folder, wire::assets(game));
            let answer = ask::<QueryAsset>(&host(&editor, server), game, door());
            assert_eq!(answer["source"], "offline", "{server:?} {folder}");
            assert!(answer["warnings"].to_string().contains("another project"), "{answer}");
            let near = host(&editor, server);
            let fault = fails::<ImportAsset>(&near, game, change::import_of(game));
            assert!(fault.contains("another project open"), "{fault}");
        }
    }
    // If the engine is on the same drive, the folder is relative, and only the path of the log is absolute.
    let editor = drive.editor(Server::Plugin);
    for log in [r"D:\Games\MyGame\Saved\Logs\MyGame.log", r"\\?\d:\games\mygame\saved\logs\x.log"] {
        editor.tell_project("../../../../../Games/MyGame/", log);
        let answer = live::<QueryAsset>(&host(&editor, Server::Plugin), game, door());
        assert_eq!(answer["warnings"], json!([]), "{log}");
    }
}

#[test]
fn the_log_of_an_editor_on_windows_is_read_by_its_path() {
    let drive = Drive::new();
    let game = &drive.game;
    game.put("Saved/Logs/MyGame_2.log", "LogInit: Build: 5.6\nLogScript: Error: Infinite loop\n");
    let editor = drive.editor(Server::Plugin);
    for log in [
        r"D:\Games\MyGame\Saved\Logs\MyGame_2.log",
        "D:/Games/MyGame/Saved/Logs/MyGame_2.log",
        r"d:\games\mygame\Saved\Logs\MyGame_2.log",
    ] {
        editor.tell_project("", log);
        let near = host(&editor, Server::Plugin);
        let found = live::<EditorLog>(&near, game, json!({ "severity": "error" }));
        assert_eq!((&found["count"], &found["logFilePath"]), (&json!(1), &json!(log)), "{found}");
        let told = live::<LogFilePath>(&near, game, json!({}));
        assert_eq!(told["logFilePath"], log);
    }
}

#[test]
fn an_editor_on_windows_gets_paths_with_its_drive() {
    let drive = Drive::new();
    let game = &drive.game;
    let import = change::import_of(game);
    for server in [Server::Plugin, Server::Epic] {
        let editor = drive.editor(server);
        let subject = format!(
            "{PROJECT}/Source/door.png as /Script/Engine.Texture2D to /Game/Doors/T_Door.T_Door in \
             the project {PROJECT}, by the editor at {}",
            editor.url()
        );
        let near = host(&editor, server).agreed("import", &subject);
        live::<ImportAsset>(&near, game, import.clone());
        let done = editor.done();
        let sent = done[0].arguments.to_string();
        assert!(sent.contains(&format!("\"{PROJECT}/Source/door.png\"")), "{sent}");
    }
    // The exported files are in the folder, and the answer has their paths on this machine.
    let editor = drive.editor(Server::Plugin);
    game.put("Out/keep.txt", "");
    let out = format!("{PROJECT}/Out");
    let export = json!({ "objectPaths": [DOOR], "outputFolder": out });
    let subject = format!("{DOOR}.BP_Door as T3D to {out}, by the editor at {}", editor.url());
    let near = host(&editor, Server::Plugin).agreed("export", &subject);
    let answer = live::<BatchExportAssets>(&near, game, export);
    assert_eq!(answer["exportedPaths"], json!([format!("{out}/BP_Door.t3d")]), "{answer}");
    assert!(game.held().join("D:/Games/MyGame/Out/BP_Door.t3d").is_file());
    // The editor cannot find a folder that is on no drive.
    let elsewhere = tempfile::tempdir().expect("a folder");
    let file = elsewhere.path().join("door.png");
    fs::write(&file, PNG).expect("it can be written");
    let mut import = import;
    import["filePath"] = json!(file);
    let fault = fails::<ImportAsset>(&host(&editor, Server::Plugin), game, import);
    assert!(fault.contains("only files on its drives"), "{fault}");
    assert_eq!(editor.done().len(), 1, "only the export");
}

#[test]
fn assets_of_an_editor_on_windows_are_those_of_the_files() {
    let drive = Drive::new();
    let game = &drive.game;
    let editor = drive.editor(Server::NewerPlugin);
    let near = host(&editor, Server::NewerPlugin);
    let wanted = json!({ "packagePaths": ["/Game/Doors"] });
    let found = live::<SearchAssets>(&near, game, wanted.clone());
    let offline = host(&editor, Server::NewerPlugin).setting("mode", "offline");
    let files = ask::<SearchAssets>(&offline, game, wanted);
    assert_eq!(found["assets"], files["assets"]);
    // The answer has the paths of folders on this machine, which every tool accepts.
    let near = host(&editor, Server::NewerPlugin);
    let config = live::<ProjectConfig>(&near, game, json!({}));
    let content = config["paths"]["projectContentDir"].as_str().expect("it is text");
    assert!(Path::new(content).join("Doors/BP_Door.uasset").is_file(), "{config}");
}
