//! Tests of editors that are slow, that end, and that are started again, with every kind of server.

use super::{
    editor::{Server, Trap},
    live::{DOOR, ask, fails, host, live},
    *,
};
use std::time::{Duration, Instant};

const SERVERS: [Server; 3] = [Server::Plugin, Server::NewerPlugin, Server::Epic];

/// The tool that answers `query_asset`, and the tool that imports.
fn tools(server: Server) -> (&'static str, &'static str) {
    match server {
        Server::Plugin | Server::NewerPlugin => ("query_asset", "import_asset"),
        Server::Epic => ("exists", "import_file"),
    }
}

fn door() -> Value {
    json!({ "assetPath": DOOR })
}

fn subject(game: &Game, url: &str) -> String {
    let dir = game.path().display();
    format!(
        "{dir}/Source/door.png as /Script/Engine.Texture2D to /Game/Doors/T_Door.T_Door in the \
         project {dir}, by the editor at {url}"
    )
}

#[test]
fn a_call_waits_for_a_slow_editor() {
    let game = Game::new();
    for server in SERVERS {
        let editor = game.editor(server);
        let (reads, _) = tools(server);
        let time = Duration::from_millis(300);
        editor.set_trap(reads, Trap::Slow(time));
        let near = host(&editor, server);
        let begun = Instant::now();
        assert_eq!(live::<QueryAsset>(&near, &game, door())["bExists"], true, "{server:?}");
        assert!(begun.elapsed() >= time, "{server:?}: the answer is the editor's");
    }
}

#[test]
fn the_files_answer_after_an_editor_ends() {
    let game = Game::new();
    for server in SERVERS {
        let (reads, imports) = tools(server);
        let editor = game.editor(server);
        editor.set_trap(reads, Trap::Dies);
        let answer = ask::<QueryAsset>(&host(&editor, server), &game, door());
        assert_eq!((&answer["source"], &answer["bExists"]), (&json!("offline"), &json!(true)));
        assert!(!answer["warnings"].as_array().expect("a list").is_empty(), "{server:?} {answer}");
        // The outcome of an interrupted import is not known, and the import is not sent again.
        let editor = game.editor(server);
        editor.set_trap(imports, Trap::Dies);
        let near = host(&editor, server).agreed("import", &subject(&game, &editor.url()));
        let fault = fails::<ImportAsset>(&near, &game, change::import_of(&game));
        assert!(fault.starts_with("the outcome is not known"), "{server:?} {fault}");
        let sent = editor.arrived();
        let sent =
            sent.iter().filter(|one| one.body.to_string().contains(&format!("\"{imports}\"")));
        assert_eq!(sent.count(), 1, "{server:?}");
        let answer = ask::<QueryAsset>(&near, &game, door());
        assert_eq!(answer["source"], "offline", "{server:?}");
    }
}

#[test]
fn an_editor_that_is_started_again_is_found_again() {
    let game = Game::new();
    let here = game.path().display().to_string();
    for server in SERVERS {
        let mut editor = game.editor(server);
        let lonely = || json!({ "assetPath": "/Game/Lonely" });
        let near = host(&editor, server);
        live::<QueryAsset>(&near, &game, door());
        editor.end();
        let answer = ask::<QueryAsset>(&near, &game, lonely());
        assert_eq!(answer["source"], "offline", "{server:?}");
        let status = ask::<UnrealStatus>(&near, &game, json!({}));
        assert_eq!(status["editors"][0]["state"], "not_running", "{status}");
        editor.restart(&here);
        let near = host(&editor, server);
        live::<QueryAsset>(&near, &game, lonely());
        // With another project, the next read comes from the files, and nothing is changed.
        let near = host(&editor, server).agreed("import", &subject(&game, &editor.url()));
        live::<QueryAsset>(&near, &game, door());
        editor.restart("/elsewhere/MyGame");
        let fault = fails::<ImportAsset>(&near, &game, change::import_of(&game));
        assert!(fault.contains("another project open: /elsewhere/MyGame"), "{server:?} {fault}");
        assert!(editor.done().is_empty(), "{server:?}");
        let near = host(&editor, server);
        let answer = ask::<QueryAsset>(&near, &game, lonely());
        assert_eq!(answer["source"], "offline", "{server:?}");
        assert!(answer["warnings"].to_string().contains("another project"), "{answer}");
    }
}

#[test]
fn either_of_two_editors_may_have_the_project_open() {
    let game = Game::new();
    for plugin in [Server::Plugin, Server::NewerPlugin] {
        for (first, second) in [(true, false), (false, true)] {
            let (one, other) = (game.editor(plugin), game.editor(Server::Epic));
            let near = host(&one, plugin)
                .setting("epic-url", &other.url())
                .server(&other.url(), wire::send)
                .agreed("import", &subject(&game, &if first { one.url() } else { other.url() }));
            if !first {
                one.open("/elsewhere/MyGame");
            }
            if !second {
                other.open("/elsewhere/MyGame");
            }
            live::<ImportAsset>(&near, &game, change::import_of(&game));
            let done = (one.done().len(), other.done().len());
            assert_eq!(done, (usize::from(first), usize::from(second)), "{plugin:?}");
        }
    }
}
