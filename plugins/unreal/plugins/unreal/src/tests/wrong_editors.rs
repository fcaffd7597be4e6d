//! Tests with editors of another project, editors that do not tell their project, and answers of a wrong form.

use super::{
    editor::{Editor, Server},
    live::{DOOR, ask, fails, host, live},
    *,
};

#[test]
fn only_an_editor_with_this_project_answers() {
    let game = Game::new();
    let editor = game.editor(Server::Plugin);
    editor.open("/elsewhere/MyGame");
    let near = host(&editor, Server::Plugin);
    let answer = ask::<QueryAsset>(&near, &game, json!({ "assetPath": DOOR }));
    assert!(
        answer["warnings"][0].as_str().is_some_and(|w| w.contains("another project")),
        "{answer}"
    );
    let import = change::import_of(&game);
    let fault = fails::<ImportAsset>(&near, &game, import);
    assert!(fault.contains("another project open: /elsewhere/MyGame"), "{fault}");
    let status = ask::<UnrealStatus>(&near, &game, json!({}));
    assert_eq!(status["editors"][0]["state"], "other_project");
    assert!(editor.done().is_empty());
    let epic = Editor::start(Server::Epic, "/elsewhere/MyGame", Vec::new());
    let near = host(&epic, Server::Epic);
    let answer = ask::<QueryAsset>(&near, &game, json!({ "assetPath": DOOR }));
    assert!(
        answer["warnings"][0].as_str().is_some_and(|w| w.contains("another project")),
        "{answer}"
    );
    let fault = fails::<ImportAsset>(&near, &game, change::import_of(&game));
    assert!(fault.contains("another project open: /elsewhere/MyGame"), "{fault}");
    assert!(epic.done().is_empty());
}

#[test]
fn an_editor_that_does_not_tell_its_project_is_only_read() {
    let game = Game::new();
    let name = game.path().file_name().expect("it has one").to_string_lossy().into_owned();
    let editor = game.editor(Server::Plugin);
    let near = host(&editor, Server::Plugin);
    // Several projects can have the folder name at the end of a relative path.
    for log in ["", "/var/log/unreal.log", "../../../MyGame/Saved/Logs/MyGame.log"] {
        editor.tell_project(&format!("../../../{name}/"), log);
        let answer = live::<QueryAsset>(&near, &game, json!({ "assetPath": DOOR }));
        assert!(
            answer["warnings"][0].as_str().is_some_and(|w| w.contains("it may not be")),
            "{answer}"
        );
        let fault = fails::<ImportAsset>(&near, &game, change::import_of(&game));
        assert!(fault.contains("nothing was changed") && fault.contains(&editor.url()), "{fault}");
        let fault = fails::<ConsoleCommand>(&near, &game, json!({ "command": "stat fps" }));
        assert!(fault.contains("does not report the absolute folder"), "{fault}");
    }
    // A relative path with another folder name at its end belongs to another project.
    editor.tell_project("../../../Other/", "");
    let near = host(&editor, Server::Plugin);
    let answer = ask::<QueryAsset>(&near, &game, json!({ "assetPath": DOOR }));
    assert!(
        answer["warnings"][0].as_str().is_some_and(|w| w.contains("another project")),
        "{answer}"
    );
    // An absolute path is enough without a log.
    editor.tell_project(&format!("{}/", game.path().display()), "");
    let near = host(&editor, Server::Plugin);
    assert_eq!(
        live::<QueryAsset>(&near, &game, json!({ "assetPath": DOOR }))["warnings"],
        json!([])
    );
    assert!(editor.done().is_empty());
}

/// A tool of a server, malformed results of the tool, and a call of this plugin that uses the tool.
type Lie = (&'static str, Vec<Value>, fn(&Rehearsal, &Game) -> Value);

fn lies_of_the_plugin() -> Vec<Lie> {
    let found =
        |list: &str| json!({ list: [{ "assetPath": 1 }], "hasMore": false, "totalCount": 1 });
    vec![
        (
            "query_asset",
            vec![json!({}), json!({ "bExists": "yes" }), json!({ "bExists": true })],
            |h, g| ask::<QueryAsset>(h, g, json!({ "assetPath": DOOR })),
        ),
        (
            "search_assets",
            vec![
                json!({}),
                json!({ "assets": {} }),
                found("assets"),
                json!({ "assets": [], "count": 0 }),
            ],
            |h, g| ask::<SearchAssets>(h, g, json!({ "packagePaths": ["/Game/Doors"] })),
        ),
        (
            "search_blueprints",
            vec![json!({}), json!({ "results": null }), found("results")],
            |h, g| {
                let term = json!({ "searchType": "name", "searchTerm": "BP_Base" });
                ask::<SearchBlueprints>(h, g, term)
            },
        ),
        (
            "get_asset_dependencies",
            vec![json!({}), json!({ "dependencies": "none" }), json!({ "dependencies": [1] })],
            |h, g| ask::<AssetDependencies>(h, g, json!({ "assetPath": DOOR })),
        ),
        ("get_asset_dependencies", vec![json!({ "bSuccess": true })], |h, g| {
            ask::<DependencyTree>(h, g, json!({ "assetPath": DOOR }))
        }),
        ("get_asset_references", vec![json!({}), json!({ "references": {} })], |h, g| {
            ask::<AssetReferences>(h, g, json!({ "assetPath": "/Game/Doors/BP_Base" }))
        }),
        (
            "export_asset",
            vec![json!({}), json!({ "content": 7 }), json!({ "content": "" })],
            |h, g| ask::<ExportAsset>(h, g, json!({ "objectPath": "/Game/Maps/Town" })),
        ),
    ]
}

fn lies_of_epic_s_server() -> Vec<Lie> {
    let query = |h: &Rehearsal, g: &Game| {
        ask::<QueryAsset>(h, g, json!({ "assetPath": DOOR, "bIncludeTags": true }))
    };
    vec![
        ("exists", vec![json!("true"), json!(1), Value::Null], query),
        (
            "get_asset_class",
            vec![json!({ "refPath": "/Script/Engine.Blueprint" }), json!("")],
            query,
        ),
        ("get_asset_tags", vec![json!([]), json!("none")], query),
        ("find_assets", vec![json!({}), json!([{ "refPath": "/Game/A" }])], |h, g| {
            ask::<SearchAssets>(h, g, json!({ "packagePaths": ["/Game/Maps"] }))
        }),
        ("get_dependencies", vec![json!({}), json!([7]), json!(false)], |h, g| {
            ask::<AssetDependencies>(h, g, json!({ "assetPath": DOOR }))
        }),
        ("get_referencers", vec![json!("none")], |h, g| {
            ask::<AssetReferences>(h, g, json!({ "assetPath": "/Game/Doors/BP_Base" }))
        }),
        ("list_graphs", vec![json!(["EventGraph"]), json!({})], |h, g| {
            ask::<BlueprintGraph>(h, g, json!({ "assetPath": DOOR }))
        }),
        ("read_graph_dsl", vec![json!(["(event)"]), Value::Null], |h, g| {
            ask::<BlueprintGraph>(h, g, json!({ "assetPath": DOOR }))
        }),
    ]
}

#[test]
fn malformed_answers_are_warnings_and_the_files_answer() {
    let game = Game::new();
    // The older plugin has no tools for dependencies, and its answers have no total number of results.
    let mut older = lies_of_the_plugin();
    older.retain(|(tool, ..)| !tool.starts_with("get_asset_"));
    for (_, results, _) in &mut older {
        results.retain(|result| *result != json!({ "assets": [], "count": 0 }));
    }
    for (server, lies) in [
        (Server::Plugin, older),
        (Server::NewerPlugin, lies_of_the_plugin()),
        (Server::Epic, lies_of_epic_s_server()),
    ] {
        let editor = game.editor(server);
        for (tool, results, asked) in lies {
            for result in results {
                editor.lie(tool, result.clone());
                let near = host(&editor, server).setting("editor-pause-ms", "0");
                let answer = asked(&near, &game);
                assert_eq!(answer["source"], "offline", "{tool} {result}: {answer}");
                let warning = answer["warnings"][0].as_str().unwrap_or_default();
                let is_told = warning.contains(&format!("`{tool}` has an unexpected form"))
                    || warning.contains("empty text");
                assert!(is_told, "{tool} {result}: {answer}");
                editor.mend();
                let near = host(&editor, server).setting("editor-pause-ms", "0");
                assert_eq!(asked(&near, &game)["source"], "live", "{tool}: the truth is taken");
            }
        }
    }
}
