//! Tests of tools with other effects than imports and exports: saving, compiling, playing,
//! pictures, the log, and the tools of Epic's server.

use super::{
    editor::{Editor, Server},
    live::{DOOR, fails, host, live},
    *,
};

/// The question that a call asks.
fn question<T: Tool>(host: &Rehearsal, game: &Game, arguments: Value) -> String {
    match reply::<T>(host, game, arguments) {
        Err(Failure::NeedInput(asks)) => format!("{asks:?}"),
        other => panic!("it asks: {other:?}"),
    }
}

/// The log of the game, which has the name of its `.uproject` file.
const LOG: &str = "Saved/Logs/MyGame.log";

/// Writes a log of three entries.
pub fn put_log(game: &Game) {
    game.put(
        LOG,
        "\u{feff}LogInit: Build: 5.6\n[2026.09.04-01.12.40:000][715]LogScript: Warning: Accessed \
         None (a.b)\n    at BP_Door\n[2026.09.04-01.12.41:000][716]LogScript: Error: Infinite loop\n",
    );
}

pub fn tell_log(game: &Game, editor: &Editor) {
    editor.tell_project("", &game.path().join(LOG).display().to_string());
}

fn tools_done(editor: &Editor) -> Vec<String> {
    editor.done().into_iter().map(|done| done.tool).collect()
}

#[test]
fn assets_are_saved_after_a_question_that_names_the_files() {
    let game = Game::new();
    let editor = game.editor(Server::Epic);
    let save = json!({ "assetPaths": [DOOR, "/Game/Maps/Town.Town"] });
    let asked = question::<SaveAssets>(&host(&editor, Server::Epic), &game, save.clone());
    for part in ["Content/Doors/BP_Door.uasset", "Content/Maps/Town.umap", "Epic's Unreal MCP"] {
        assert!(asked.contains(part), "{part}: {asked}");
    }
    let subject = format!("{DOOR}, /Game/Maps/Town in {}", game.path().display());
    let near = host(&editor, Server::Epic).agreed("save", &subject);
    let saved = live::<SaveAssets>(&near, &game, save);
    assert_eq!(saved["bSuccess"], true);
    assert_eq!(editor.done()[0].arguments["asset_paths"], json!([DOOR, "/Game/Maps/Town"]));
    // With an empty list, the editor would save everything.
    let near = host(&editor, Server::Epic);
    for paths in [json!([]), json!(["/Engine/X"]), json!(["../X"])] {
        let fault = fails::<SaveAssets>(&near, &game, json!({ "assetPaths": paths }));
        assert!(!fault.is_empty(), "{paths}");
    }
    assert_eq!(tools_done(&editor), ["save_assets"]);
}

#[test]
fn a_game_is_started_and_stopped_once_each() {
    let game = Game::new();
    let editor = game.editor(Server::Epic);
    let near = || {
        host(&editor, Server::Epic)
            .agreed("play", "play the current level")
            .agreed("play", "stop the running game")
    };
    let asked = question::<StartPlaySession>(
        &host(&editor, Server::Epic),
        &game,
        json!({ "simulate": true }),
    );
    assert!(asked.contains("simulate the current level"), "{asked}");
    assert_eq!(live::<StartPlaySession>(&near(), &game, json!({}))["isRunning"], true);
    let fault = fails::<StartPlaySession>(&near(), &game, json!({}));
    assert!(fault.contains("already running"), "{fault}");
    assert_eq!(live::<StopPlaySession>(&near(), &game, json!({}))["isRunning"], false);
    let fault = fails::<StopPlaySession>(&near(), &game, json!({}));
    assert!(fault.contains("not currently running"), "{fault}");
    assert_eq!(tools_done(&editor), ["StartPIE", "StopPIE"]);
}

#[test]
fn code_is_compiled_by_either_server() {
    let game = Game::new();
    for server in [Server::NewerPlugin, Server::Epic] {
        let editor = game.editor(server);
        let subject = format!("the C++ code of {}", game.path().display());
        let near = host(&editor, server).agreed("compile", &subject);
        let compiled = live::<CompileCode>(&near, &game, json!({}));
        assert_eq!(compiled["bSuccess"], false, "{compiled}");
        let errors = compiled["compilerErrors"].to_string();
        assert!(errors.contains("(3): error C2065"), "{compiled}");
        assert_eq!(editor.done().len(), 1);
    }
    let editor = game.editor(Server::Plugin);
    let fault = fails::<CompileCode>(&host(&editor, Server::Plugin), &game, json!({}));
    assert!(fault.contains("has no tool to compile code"), "{fault}");
}

#[test]
fn the_viewport_is_shown_as_a_picture() {
    let game = Game::new();
    let editor = game.editor(Server::Epic);
    let near = host(&editor, Server::Epic).agreed("capture", "the level viewport");
    let shown = live::<CaptureViewport>(&near, &game, json!({}));
    assert_eq!((&shown["width"], &shown["height"]), (&json!(2), &json!(1)));
    assert_eq!(shown["cameraLocation"], json!([100.0, -20.5, 300.0]));
    editor.lie("CaptureViewport", json!({ "image": { "data": "PHN2Zz4=" } }));
    let fault = fails::<CaptureViewport>(&near, &game, json!({}));
    assert!(fault.contains("not PNG"), "{fault}");
}

#[test]
fn the_log_is_read_from_the_file_or_the_editor() {
    let game = Game::new();
    put_log(&game);
    let (plugin, epic) = (game.editor(Server::Plugin), game.editor(Server::Epic));
    tell_log(&game, &plugin);
    let scripts = json!({ "category": "logscript" });
    let none = json!({ "text": "NONE (A.B)" });
    let errors = json!({ "severity": "error" });
    let newest = json!({ "maxEntries": 1 });
    for (arguments, expected) in [(&scripts, 2), (&none, 1), (&errors, 1), (&newest, 1)] {
        let far = call::<EditorLog>(&Rehearsal::new(), &game, arguments.clone());
        let near = live::<EditorLog>(&host(&plugin, Server::Plugin), &game, arguments.clone());
        let epics = live::<EditorLog>(&host(&epic, Server::Epic), &game, arguments.clone());
        for answer in [&far, &near, &epics] {
            assert_eq!(answer["count"], expected, "{arguments}: {answer}");
        }
        assert_eq!(far["entries"], near["entries"], "{arguments}");
    }
    let far = call::<EditorLog>(&Rehearsal::new(), &game, none);
    let entry = far["entries"][0].as_str().expect("it is a text");
    assert!(entry.ends_with("\n    at BP_Door"), "{entry}");
    let far = call::<EditorLog>(&Rehearsal::new(), &game, newest);
    assert_eq!((&far["hasMore"], &far["totalCount"]), (&json!(true), &json!(3)));
}

#[test]
fn the_output_of_a_command_is_in_the_answer() {
    let game = Game::new();
    game.put(LOG, "LogInit: Build: 5.6\n");
    let editor = game.editor(Server::Plugin);
    tell_log(&game, &editor);
    let near = host(&editor, Server::Plugin);
    let run = live::<ConsoleCommand>(&near, &game, json!({ "command": "stat fps" }));
    let line = "[2026.09.04-01.12.39:421][714]LogConsoleResponse: stat fps: done";
    assert_eq!(run["printed"], json!([line]), "{run}");
    // The answer says that the log cannot be read from here.
    editor.tell_project("", &format!("{}/Saved/Logs/Other.log", game.path().display()));
    let run = live::<ConsoleCommand>(
        &host(&editor, Server::Plugin),
        &game,
        json!({ "command": "stat fps" }),
    );
    assert!(run["warnings"].to_string().contains("log, which cannot be read"), "{run}");
}

#[test]
fn the_editors_tools_are_searched() {
    let game = Game::new();
    let editor = game.editor(Server::Epic);
    let near = host(&editor, Server::Epic).setting("epic-tools", "EditorAppToolset.Get*");
    let found = live::<SearchEditorTools>(&near, &game, json!({ "words": "camera" }));
    assert_eq!(found["totalCount"], 1, "{found}");
    let tool = &found["tools"][0];
    assert_eq!(tool["name"], "GetCameraTransform");
    assert_eq!((&tool["risk"], &tool["isAllowed"]), (&json!("read"), &json!(true)));
    assert!(tool["arguments"].is_object(), "of a tool found alone the schema is shown: {tool}");
    let all = live::<SearchEditorTools>(&near, &game, json!({ "maxResults": 3 }));
    assert_eq!((&all["count"], &all["hasMore"]), (&json!(3), &json!(true)), "{all}");
    assert_eq!(all["toolsets"]["EditorToolset.EditorAppToolset"], 6, "{all}");
    let risks = live::<SearchEditorTools>(&near, &game, json!({ "toolset": "programmatic" }));
    assert_eq!(risks["tools"][0]["risk"], "denied", "{risks}");
    editor.set_trap("describe_toolset", editor::Trap::Dies);
    let kept = live::<SearchEditorTools>(&near, &game, json!({ "words": "camera" }));
    assert_eq!(kept["totalCount"], 1, "descriptions are kept: {kept}");
}

#[test]
fn only_allowed_tools_of_the_editor_are_called() {
    let game = Game::new();
    let editor = game.editor(Server::Epic);
    let app = "EditorToolset.EditorAppToolset";
    let of = |toolset: &str, tool: &str| json!({ "toolset": toolset, "tool": tool });
    let bare = host(&editor, Server::Epic);
    let fault = fails::<CallEditorTool>(&bare, &game, of(app, "GetCameraTransform"));
    assert!(fault.contains("`epic-tools`"), "{fault}");
    let all = || host(&editor, Server::Epic).setting("epic-tools", "*");
    let read = live::<CallEditorTool>(&all(), &game, of(app, "GetCameraTransform"));
    assert_eq!((&read["risk"], &read["isCut"]), (&json!("read"), &json!(false)));
    assert!(read["answer"].as_str().is_some_and(|answer| answer.contains("location")), "{read}");
    for (toolset, tool) in [
        ("editor_toolset.toolsets.programmatic.ProgrammaticToolset", "execute_tool_script"),
        ("ProgrammaticToolset", "execute_tool_script"),
        ("EditorAppToolset", "GetCameraTransform"),
        ("None.Such", "GetX"),
    ] {
        let fault = fails::<CallEditorTool>(&all(), &game, of(toolset, tool));
        assert!(fault.contains("is not called") || fault.contains("no toolset"), "{fault}");
    }
    // Before a call of a tool that may change something, the user is asked. The question shows the arguments.
    for (toolset, tool) in [(app, "SetContentBrowserPath"), ("MyGame.MyToolset", "GetPlayers")] {
        let mut call = of(toolset, tool);
        call["arguments"] = json!({ "Path": "/Game" });
        let subject = format!("{toolset}.{tool} {}", call["arguments"]);
        let asked = question::<CallEditorTool>(&all(), &game, call.clone());
        assert!(asked.contains(tool) && asked.contains("/Game"), "{asked}");
        let near = all().agreed("editor-tool", &subject);
        let called = live::<CallEditorTool>(&near, &game, call);
        assert_eq!(called["risk"], "change", "{called}");
    }
    assert_eq!(tools_done(&editor), ["SetContentBrowserPath", "GetPlayers"]);
}
