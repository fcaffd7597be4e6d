//! Tests with fake editors that behave like real editors, including errors.

use super::{
    editor::{Editor, Server, Trap},
    *,
};

impl Game {
    /// A fake editor that has this game open.
    pub fn editor(&self, server: Server) -> Editor {
        Editor::start(server, &self.path().display().to_string(), wire::assets(self))
    }
}

/// A host with a grant for the editor.
pub fn host(editor: &Editor, server: Server) -> Rehearsal {
    let setting = if server == Server::Epic { "epic-url" } else { "editor-url" };
    Rehearsal::new().setting(setting, &editor.url()).server(&editor.url(), wire::send)
}

/// A host with a grant for the editor and a short time limit.
pub fn hasty(editor: &Editor, server: Server) -> Rehearsal {
    let soon = std::time::Duration::from_secs(1);
    host(editor, server).server(&editor.url(), move |sent| wire::send_within(sent, soon))
}

/// The result of a tool, validated against its schema.
pub fn ask<T: Tool>(host: &Rehearsal, game: &Game, arguments: Value) -> Value {
    let answer = checked::<T>(host, game, arguments);
    assert!(["live", "offline"].iter().any(|source| answer["source"] == *source), "{answer}");
    answer
}

pub fn live<T: Tool>(host: &Rehearsal, game: &Game, arguments: Value) -> Value {
    let answer = ask::<T>(host, game, arguments);
    assert_eq!(answer["source"], "live", "{answer}");
    answer
}

pub fn fails<T: Tool>(host: &Rehearsal, game: &Game, arguments: Value) -> String {
    reply::<T>(host, game, arguments).expect_err("it fails").to_string()
}

/// Removes the parts of an answer that differ between the sources.
fn alike(mut answer: Value) -> Value {
    // Only the files know whether a package is editor-only, and which redirector is in between.
    for detail in answer["details"].as_array_mut().into_iter().flatten() {
        let detail = detail.as_object_mut().expect("it is an object");
        detail.remove("editorOnly");
        detail.remove("via");
    }
    let object = answer.as_object_mut().expect("it is an object");
    for key in ["source", "asOf", "warnings", "file", "told", "content"] {
        object.remove(key);
    }
    answer
}

pub const DOOR: &str = "/Game/Doors/BP_Door";

#[test]
fn the_editor_answers_as_the_files_do() {
    let game = Game::new();
    for server in [Server::Plugin, Server::NewerPlugin] {
        let editor = game.editor(server);
        let (near, far) = (host(&editor, server), Rehearsal::new());
        fn same<T: Tool>(near: &Rehearsal, far: &Rehearsal, game: &Game, arguments: Value) {
            // The `Rehearsal` that was entered last on a thread provides the settings.
            let live = {
                near.enter();
                live::<T>(near, game, arguments.clone())
            };
            far.enter();
            let offline = call::<T>(far, game, arguments);
            near.enter();
            assert_eq!(alike(live), alike(offline), "{}", T::NAME);
        }
        near.enter();
        let tags =
            json!({ "packagePaths": ["/Game/Doors"], "bIncludeTags": true, "maxResults": 2 });
        same::<SearchAssets>(&near, &far, &game, tags);
        let named = json!({ "packageNames": [DOOR] });
        same::<SearchAssets>(&near, &far, &game, named);
        let class = json!({ "packagePaths": ["/Game"], "classPaths": ["/Script/Engine.World"] });
        same::<SearchAssets>(&near, &far, &game, class);
        for kind in ["name", "parent_class", "all"] {
            let term = json!({ "searchType": kind, "searchTerm": "BP_Base", "offset": 0 });
            same::<SearchBlueprints>(&near, &far, &game, term);
        }
        for path in [DOOR, "/Game/Doors/BP_Door.BP_Door", "/Game/None"] {
            same::<QueryAsset>(&near, &far, &game, json!({ "assetPath": path }));
        }
        let export = json!({ "objectPath": "/Game/Maps/Town" });
        same::<ExportAsset>(&near, &far, &game, export);
        if server == Server::NewerPlugin {
            let both = json!({ "bIncludeSoftDependencies": true, "bIncludeScript": true });
            for path in [DOOR, "/Game/Doors/BP_Door.BP_Door", "/Game/Maps/Town"] {
                for more in [json!({}), both.clone()] {
                    let mut asked = more;
                    asked["assetPath"] = json!(path);
                    same::<DependencyTree>(&near, &far, &game, asked.clone());
                    same::<AssetDependencies>(&near, &far, &game, asked);
                }
            }
            for path in ["/Game/Doors/BP_Base", "/Game/Lonely", "/Game/Maps/Town"] {
                let soft = json!({ "assetPath": path, "bIncludeSoftReferences": true });
                same::<AssetReferences>(&near, &far, &game, soft);
            }
            // The editor lists redirectors, while the files follow them. A warning says so.
            let door = live::<AssetReferences>(&near, &game, json!({ "assetPath": DOOR }));
            let warning = door["warnings"][0].as_str().unwrap_or_default();
            assert!(warning.contains("/Game/Doors/BP_Old is a redirector"), "{door}");
        }
        let arrived = editor.arrived();
        assert!(!arrived.is_empty());
        for one in arrived {
            assert!(one.headers.contains_key("content-length"), "{one:?}");
            assert!(one.body["id"].is_string(), "{one:?}");
        }
    }
}

#[test]
fn dependencies_come_from_the_editor_where_it_knows_them() {
    let game = Game::new();
    let editor = game.editor(Server::NewerPlugin);
    let near = host(&editor, Server::NewerPlugin);
    let both = json!({ "assetPath": DOOR, "bIncludeSoftDependencies": true });
    let found = live::<AssetDependencies>(&near, &game, both.clone());
    assert_eq!(found["dependencies"], json!(["/Game/Doors/BP_Base", "/Game/Lonely"]));
    assert_eq!(texts(&found["details"], "strength"), ["hard", "soft"]);
    let base = json!({ "assetPath": "/Game/Doors/BP_Base" });
    let found = live::<AssetReferences>(&near, &game, base);
    assert_eq!(found["references"], json!([DOOR]));
    let fault = fails::<AssetDependencies>(&near, &game, json!({ "assetPath": "/Game/None" }));
    assert_eq!(fault, "Asset not found: /Game/None.None");
    let older = game.editor(Server::Plugin);
    let near = host(&older, Server::Plugin);
    assert_eq!(ask::<AssetDependencies>(&near, &game, both)["source"], "offline");
}

#[test]
fn each_source_knows_facts_that_the_other_does_not() {
    let game = Game::new();
    let editor = game.editor(Server::Plugin);
    let near = host(&editor, Server::Plugin);
    let config = live::<ProjectConfig>(&near, &game, json!({}));
    assert_eq!(config["engineVersion"]["changelist"], 44_394_996);
    assert_eq!(config["paths"]["engineDir"], "../../../Engine/");
    assert_eq!(config["project"]["enabledPlugins"], json!(["Tools"]));
    let default = json!({ "classPath": "/Game/Doors/BP_Door.BP_Door_C" });
    let text = live::<ExportClassDefault>(&near, &game, default.clone());
    assert!(
        text["content"].as_str().is_some_and(|text| text.starts_with("Begin Object")),
        "{text}"
    );
    // Invisible and control characters are removed.
    assert!(!text["content"].as_str().is_some_and(|text| text.contains(['\u{7}', '\u{202E}'])));
    let log = live::<LogFilePath>(&near, &game, json!({}));
    assert!(log["logFilePath"].as_str().is_some_and(|path| path.contains("/Saved/Logs/")), "{log}");
    // The older plugin cannot list all of /Game without a class; no server finds ancestors.
    let all = ask::<SearchAssets>(&near, &game, json!({ "packagePaths": ["/Game"] }));
    assert_eq!(all["source"], "offline");
    let inherits = json!({ "searchType": "inherits", "searchTerm": "Pawn" });
    assert_eq!(ask::<SearchBlueprints>(&near, &game, inherits)["source"], "offline");
    let fault = fails::<ExportAsset>(&near, &game, json!({ "objectPath": "/Game/None.None" }));
    let fault: Value = serde_json::from_str(&fault).expect("it is JSON");
    assert_eq!(fault["error"], "Failed to load Object: /Game/None.None");
    assert_eq!((&fault["bSuccess"], &fault["source"]), (&json!(false), &json!("live")));
    let near = host(&editor, Server::Plugin).setting("mode", "offline");
    let offline = ask::<LogFilePath>(&near, &game, json!({}));
    assert!(offline["warnings"].to_string().contains("no editor with this project"), "{offline}");
    let offline = ask::<ExportClassDefault>(&near, &game, default);
    assert!(
        offline["content"].as_str().is_some_and(|t| t.contains("Default__BP_Door_C")),
        "{offline}"
    );
    let native = json!({ "classPath": "/Script/Engine.Actor" });
    assert!(fails::<ExportClassDefault>(&near, &game, native).contains("C++ class"));
}

#[test]
fn epics_server_answers_through_its_meta_tools() {
    let game = Game::new();
    let editor = game.editor(Server::Epic);
    let near = host(&editor, Server::Epic);
    let class = json!({ "packagePaths": ["/Game"], "classPaths": ["/Script/Engine.World"] });
    let found = live::<SearchAssets>(&near, &game, class);
    assert_eq!(texts(&found["assets"], "objectPath"), ["/Game/Maps/Town.Town"]);
    let found = live::<SearchAssets>(&near, &game, json!({ "packagePaths": ["/Game/Maps"] }));
    assert_eq!(found["assets"][0]["classPath"], "/Script/Engine.World");
    let door = json!({ "assetPath": DOOR, "bIncludeTags": true });
    let found = live::<QueryAsset>(&near, &game, door);
    assert_eq!(found["classPath"], "/Script/Engine.Blueprint");
    assert_eq!(found["tags"]["BlueprintType"], "BPTYPE_Normal");
    let found = live::<AssetDependencies>(&near, &game, json!({ "assetPath": DOOR }));
    assert_eq!(found["dependencies"], json!(["/Game/Doors/BP_Base", "/Game/Lonely"]));
    assert_eq!(found["details"][0]["strength"], "unknown");
    let found = live::<AssetReferences>(&near, &game, json!({ "assetPath": "/Game/Maps/Town" }));
    assert_eq!(found["count"], 0);
    let graph = live::<BlueprintGraph>(&near, &game, json!({ "assetPath": DOOR }));
    let text = graph["text"].as_str().expect("it is text");
    assert!(text.contains("## EventGraph") && text.contains("(event BeginPlay"), "{text}");
    // The files answer for graphs of saved Blueprints, and for tools that the server lacks.
    let base = json!({ "assetPath": "/Game/Doors/BP_Base" });
    assert_eq!(ask::<BlueprintGraph>(&near, &game, base)["source"], "offline");
    let export = json!({ "objectPath": "/Game/Doors/BP_Door" });
    assert_eq!(ask::<ExportAsset>(&near, &game, export)["source"], "offline");
    assert!(near.progress_made().iter().any(|report| report.done == 2.0 && report.total.is_none()));
    // Each message names the session; a lost session is started again.
    editor.set_trap("exists", Trap::SessionLost);
    assert_eq!(
        live::<QueryAsset>(&near, &game, json!({ "assetPath": "/Game/Lonely" }))["bExists"],
        true
    );
    let begun = editor.arrived().iter().filter(|one| one.body["method"] == "initialize").count();
    assert_eq!(begun, 2);
    let named = |one: &editor::Arrived| {
        one.body["method"] == "initialize" || one.headers.contains_key("mcp-session-id")
    };
    assert!(editor.arrived().iter().all(named));
}

#[test]
fn editor_faults_are_warnings_and_the_files_answer() {
    let game = Game::new();
    let door = || json!({ "assetPath": DOOR });
    for server in [Server::Plugin, Server::Epic] {
        let (tool, other) = match server {
            Server::Epic => ("exists", "does not have the tools list_toolsets"),
            Server::Plugin | Server::NewerPlugin => {
                ("query_asset", "has the name `SomethingElse`, not `UnrealMCPServer`")
            }
        };
        for (name, trap, why) in [
            (tool, Trap::Stall, "did not answer within"),
            (tool, Trap::Half, "is not valid"),
            (tool, Trap::Html, "is not valid"),
            (
                if server == Server::Epic { "tools/list" } else { "initialize" },
                Trap::OtherMcp,
                other,
            ),
            ("initialize", Trap::Html, "cannot be used as an Unreal editor"),
            ("initialize", Trap::Half, "cannot be used as an Unreal editor"),
            ("initialize", Trap::Stall, "did not answer within"),
        ] {
            let editor = game.editor(server);
            editor.set_trap(name, trap);
            // Only the cases without an answer have a short time limit. The other cases need time on
            // a busy machine.
            let host = if trap == Trap::Stall { hasty } else { host };
            let near = host(&editor, server);
            let answer = ask::<QueryAsset>(&near, &game, door());
            assert_eq!((&answer["source"], &answer["bExists"]), (&json!("offline"), &json!(true)));
            let warning = answer["warnings"][0].as_str().unwrap_or_default();
            assert!(warning.contains(why), "{server:?} {trap:?}: {answer}");
            let near = host(&editor, server).setting("mode", "live");
            let fault = fails::<QueryAsset>(&near, &game, door());
            assert!(fault.contains(why), "{server:?} {trap:?}: {fault}");
        }
    }
    let editor = game.editor(Server::Epic);
    editor.set_trap("list_toolsets", Trap::Starting);
    let answer = ask::<QueryAsset>(&host(&editor, Server::Epic), &game, door());
    assert!(answer["warnings"][0].as_str().is_some_and(|w| w.contains("just started")), "{answer}");
}

#[test]
fn a_call_that_timed_out_is_cancelled_at_the_editor() {
    let game = Game::new();
    let editor = game.editor(Server::Epic);
    editor.set_trap("exists", Trap::Stall);
    let near = hasty(&editor, Server::Epic);
    ask::<QueryAsset>(&near, &game, json!({ "assetPath": DOOR }));
    let arrived = editor.arrived();
    let asked = arrived.iter().find(|one| one.body["params"]["arguments"]["tool_name"] == "exists");
    let off = arrived.iter().find(|one| one.body["method"] == "notifications/cancelled");
    assert_eq!(asked.map(|one| &one.body["id"]), off.map(|one| &one.body["params"]["requestId"]));
    assert!(off.is_some());
    let near = host(&editor, Server::Epic).cancelled();
    let fault = fails::<QueryAsset>(&near, &game, json!({ "assetPath": DOOR }));
    assert!(fault.contains("may still finish the request"), "{fault}");
}

#[test]
fn answers_arrive_in_any_pieces_and_may_be_long() {
    let game = Game::new();
    for (server, size) in [(Server::Plugin, 1), (Server::Plugin, 7), (Server::Epic, 1)] {
        let editor = game.editor(server);
        editor.set_trap("", Trap::Pieces(size));
        live::<QueryAsset>(&host(&editor, server), &game, json!({ "assetPath": DOOR }));
    }
    let editor = game.editor(Server::Plugin);
    editor.set_trap("export_asset", Trap::Large(5 << 20));
    let near = host(&editor, Server::Plugin);
    let long = json!({ "objectPath": "/Game/Doors/BP_Door.BP_Door", "maxChars": 2_000 });
    let answer = live::<ExportAsset>(&near, &game, long);
    assert!(answer["content"].as_str().is_some_and(|text| text.len() <= 2_100), "it is cut");
    assert!(
        answer["warnings"].to_string().contains("cut after 2000 of 524"),
        "{}",
        answer["warnings"]
    );
}

#[test]
fn the_editor_is_asked_for_each_package_of_a_tree_once() {
    // Each package needs the next two, so the number of paths to the last package grows exponentially.
    let name = |number: usize| format!("/Game/Chain/BP_{number:02}");
    let chain = |length: usize| {
        let game = Game::empty();
        for number in 0..length {
            let mut one = blueprint(Profile::of("5.6"), &name(number), "/Script/Engine.Actor");
            for next in [number + 1, number + 2].into_iter().filter(|next| *next < length) {
                let object = format!("{}.BP_{next:02}", name(next));
                one.import("/Script/Engine.StaticMesh", &object);
            }
            game.put(&format!("Content/Chain/BP_{number:02}.uasset"), one.bytes());
        }
        game
    };
    let game = chain(30);
    let editor = game.editor(Server::NewerPlugin);
    let near = host(&editor, Server::NewerPlugin).setting("editor-pause-ms", "0");
    let asked = json!({ "assetPath": name(0), "maxDepth": 100 });
    let tree = live::<DependencyTree>(&near, &game, asked);
    assert_eq!((&tree["totalNodes"], &tree["cut"]), (&json!(30), &json!(false)), "{tree}");
    let count = |tool: &str| {
        editor.arrived().iter().filter(|one| one.body["params"]["name"] == tool).count()
    };
    assert_eq!((count("get_asset_dependencies"), count("get_asset_dependency_tree")), (30, 0));
    // A larger tree is read from the files, and a warning says so.
    let game = chain(80);
    let editor = game.editor(Server::NewerPlugin);
    let near = host(&editor, Server::NewerPlugin).setting("editor-pause-ms", "0");
    let tree =
        ask::<DependencyTree>(&near, &game, json!({ "assetPath": name(0), "maxDepth": 100 }));
    assert_eq!((&tree["source"], &tree["totalNodes"]), (&json!("offline"), &json!(80)));
    assert!(
        tree["warnings"][0].as_str().is_some_and(|w| w.contains("more than 60 packages")),
        "{tree}"
    );
}

#[test]
fn blueprints_that_a_newer_plugin_does_not_export_come_from_the_files() {
    let game = Game::new();
    let editor = game.editor(Server::NewerPlugin);
    let near = host(&editor, Server::NewerPlugin);
    let answer = ask::<ExportAsset>(&near, &game, json!({ "objectPath": DOOR }));
    assert_eq!((&answer["source"], &answer["bSuccess"]), (&json!("offline"), &json!(true)));
    let warning = answer["warnings"][0].as_str().unwrap_or_default();
    assert!(warning.contains("batch_export_assets"), "{answer}");
    let older = game.editor(Server::Plugin);
    let near = host(&older, Server::Plugin);
    live::<ExportAsset>(&near, &game, json!({ "objectPath": DOOR }));
}

#[test]
fn one_of_two_editors_answers_or_else_the_files() {
    let game = Game::new();
    let (plugin, epic) = (game.editor(Server::Plugin), game.editor(Server::Epic));
    let both = || {
        host(&plugin, Server::Plugin)
            .setting("epic-url", &epic.url())
            .server(&epic.url(), wire::send)
    };
    let status = ask::<UnrealStatus>(&both(), &game, json!({}));
    let states: Vec<&str> = texts(&status["editors"], "state");
    assert_eq!(states, ["ready", "ready"], "{status}");
    live::<QueryAsset>(&both(), &game, json!({ "assetPath": DOOR }));
    // If the first editor has another project open, the second editor answers.
    plugin.open("/elsewhere/MyGame");
    let before = epic.arrived().len();
    live::<QueryAsset>(&both(), &game, json!({ "assetPath": "/Game/Lonely" }));
    assert!(epic.arrived().len() > before);
    epic.set_trap("exists", Trap::Dies);
    let near = host(&epic, Server::Epic);
    let answer = ask::<QueryAsset>(&near, &game, json!({ "assetPath": DOOR }));
    assert_eq!((&answer["source"], &answer["bExists"]), (&json!("offline"), &json!(true)));
    assert!(!answer["warnings"].as_array().expect("a list").is_empty(), "{answer}");
}

#[test]
fn a_missing_editor_is_not_a_warning() {
    let game = Game::new();
    let gone = {
        let editor = game.editor(Server::Plugin);
        editor.url()
    };
    let near = Rehearsal::new().setting("editor-url", &gone).server(&gone, wire::send);
    let answer = ask::<QueryAsset>(&near, &game, json!({ "assetPath": DOOR }));
    assert!(!answer["warnings"].to_string().contains("no editor"), "{answer}");
    assert_eq!(ask::<UnrealStatus>(&near, &game, json!({}))["editors"][0]["state"], "not_running");
    let near = Rehearsal::new().setting("editor-url", &gone).setting("mode", "live");
    let fault = fails::<QueryAsset>(&near, &game, json!({ "assetPath": DOOR }));
    assert!(fault.contains("not granted"), "{fault}");
    let near = Rehearsal::new().setting("mode", "live");
    let fault = fails::<QueryAsset>(&near, &game, json!({ "assetPath": DOOR }));
    assert!(fault.contains("`editor-url`"), "{fault}");
    let near = Rehearsal::new().setting("mode", "sometimes");
    assert!(fails::<QueryAsset>(&near, &game, json!({ "assetPath": DOOR })).contains("sometimes"));
}

#[test]
fn messages_to_an_editor_have_pauses_between_them() {
    let game = Game::new();
    let editor = game.editor(Server::Plugin);
    let near = host(&editor, Server::Plugin).setting("editor-pause-ms", "80");
    live::<QueryAsset>(&near, &game, json!({ "assetPath": "/Game/Lonely.Lonely" }));
    let arrived = editor.arrived();
    assert!(arrived.len() >= 4, "it is asked who it is first: {arrived:?}");
    for pair in arrived.windows(2) {
        // A busy machine can lengthen a pause and cannot shorten it.
        assert!(pair[1].at - pair[0].at >= std::time::Duration::from_millis(80), "{pair:?}");
    }
    let near = host(&editor, Server::Plugin).setting("editor-pause-ms", "soon");
    let fault = fails::<QueryAsset>(&near, &game, json!({ "assetPath": DOOR }));
    assert!(fault.contains("`editor-pause-ms`") && fault.contains("0 to 5000"), "{fault}");
}

#[test]
fn a_read_is_cached_until_a_change() {
    let game = Game::new();
    let editor = game.editor(Server::Plugin);
    let near = host(&editor, Server::Plugin);
    let query = || live::<QueryAsset>(&near, &game, json!({ "assetPath": "/Game/Lonely.Lonely" }));
    let asked = || {
        let arrived = editor.arrived();
        arrived.iter().filter(|one| one.body["params"]["name"] == "query_asset").count()
    };
    query();
    query();
    assert_eq!(asked(), 1);
    live::<ConsoleCommand>(&near, &game, json!({ "command": "stat unit" }));
    query();
    assert_eq!(asked(), 2);
    let changes = near.changed();
    assert_eq!(changes, [ListKind::Resources], "it came, and that was told once");
}
