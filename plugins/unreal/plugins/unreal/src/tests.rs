//! Tests of the tools on a generated project.

use super::*;
use game::{Game, PNG};
use portcullis_plugin::rehearsal::Rehearsal;
use serde_json::Value;
use std::fs;
use unreal_package::writer::{Profile, blueprint};

#[path = "tests/bounds.rs"]
mod bounds;
#[path = "tests/change.rs"]
mod change;
#[path = "tests/classes.rs"]
mod classes;
#[path = "tests/contents.rs"]
mod contents;
#[path = "tests/cooked.rs"]
mod cooked;
#[path = "tests/deeds.rs"]
mod deeds;
#[path = "../../../../../tests/support/editor.rs"]
mod editor;
#[path = "tests/game.rs"]
mod game;
#[path = "tests/graphs.rs"]
mod graphs;
#[path = "tests/levels.rs"]
mod levels;
#[path = "tests/live.rs"]
mod live;
#[path = "tests/offers.rs"]
mod offers;
#[path = "tests/sources.rs"]
mod sources;
#[path = "tests/troubled_editors.rs"]
mod troubled_editors;
#[cfg(unix)]
#[path = "tests/windows.rs"]
mod windows;
#[path = "tests/wire.rs"]
mod wire;
#[path = "tests/wrong_editors.rs"]
mod wrong_editors;

/// Calls a tool on a game that no editor has open.
fn call<T: Tool>(host: &Rehearsal, game: &Game, arguments: Value) -> Value {
    let answer = checked::<T>(host, game, arguments);
    assert_eq!(answer["source"], "offline");
    answer
}

/// Calls a tool on a game, and validates the result against the schema.
fn checked<T: Tool>(host: &Rehearsal, game: &Game, arguments: Value) -> Value {
    valid::<T>(reply::<T>(host, game, arguments).expect("it answers"))
}

/// The result of a call, validated against the schema.
fn valid<T: Tool>(reply: Reply) -> Value {
    let answer = reply.structured.expect("it is structured");
    let schema = T::output_schema().expect("every tool has one");
    let schema = jsonschema::validator_for(&schema).expect("it is a schema");
    let faults: Vec<String> = schema.iter_errors(&answer).map(|fault| fault.to_string()).collect();
    assert_eq!(faults, [""; 0], "{answer}");
    answer
}

fn reply<T: Tool>(host: &Rehearsal, game: &Game, mut arguments: Value) -> Result<Reply, Failure> {
    arguments["projectDir"] = json!(game.path());
    host.call::<T>(arguments)
}

fn failure<T: Tool>(game: &Game, arguments: Value) -> String {
    let failure = reply::<T>(&Rehearsal::new(), game, arguments).expect_err("it fails");
    failure.to_string()
}

fn texts<'v>(list: &'v Value, key: &str) -> Vec<&'v str> {
    let items = list.as_array().expect("it is a list").iter();
    items.map(|item| item[key].as_str().expect("it is text")).collect()
}

#[test]
fn blueprints_are_found() {
    let (game, host) = (Game::new(), Rehearsal::new());
    let found = call::<SearchBlueprints>(
        &host,
        &game,
        json!({ "searchType": "name", "searchTerm": "DOOR" }),
    );
    assert_eq!(
        found["results"],
        json!([{
            "assetPath": "/Game/Doors/BP_Door.BP_Door",
            "assetName": "BP_Door",
            "packagePath": "/Game/Doors",
            "parentClass": "BlueprintGeneratedClass'/Game/Doors/BP_Base.BP_Base_C'",
            "matches": [{
                "type": "asset_name",
                "location": "Blueprint Asset",
                "context": "Blueprint name 'BP_Door' contains 'DOOR'",
            }],
        }])
    );
    assert_eq!((&found["totalResults"], &found["hasMore"]), (&json!(1), &json!(false)));
    let criteria = json!({ "searchType": "name", "searchTerm": "DOOR", "recursive": true });
    assert_eq!(found["searchCriteria"], criteria);
    assert!(found["asOf"].as_str().is_some_and(|time| time.ends_with('Z')), "{found}");
    let inherits = json!({ "searchType": "inherits", "searchTerm": "Pawn", "maxResults": 1 });
    let found = call::<SearchBlueprints>(&host, &game, inherits);
    assert_eq!(texts(&found["results"], "assetName"), ["BP_Base"]);
    assert_eq!((&found["totalCount"], &found["hasMore"]), (&json!(2), &json!(true)));
    let warnings = found["warnings"].to_string();
    assert!(
        warnings.contains("1 more Blueprints may match") && warnings.contains("git lfs pull"),
        "{warnings}"
    );
}

#[test]
fn assets_are_found() {
    let (game, host) = (Game::new(), Rehearsal::new());
    let arguments = json!({ "packagePaths": ["/Game/Maps"], "bIncludeTags": true });
    let found = call::<SearchAssets>(&host, &game, arguments);
    let town = json!([{
        "exists": true,
        "assetPath": "/Game/Maps/Town.Town",
        "assetName": "Town",
        "packagePath": "/Game/Maps",
        "classPath": "/Script/Engine.World",
        "objectPath": "/Game/Maps/Town.Town",
        "tags": { "LevelIsPartitioned": "0" },
    }]);
    assert_eq!(found["assets"], town);
    let nowhere = json!({ "packagePaths": ["/Gaem"] });
    let found = call::<SearchAssets>(&host, &game, nowhere);
    let warnings = found["warnings"].to_string();
    assert!(warnings.contains("folder /Gaem") && warnings.contains("with /Game"), "{warnings}");
    let page = |offset| {
        let arguments = json!({ "packagePaths": ["/Game"], "maxResults": 2, "offset": offset });
        call::<SearchAssets>(&host, &game, arguments)
    };
    let (first, second) = (page(0), page(2));
    assert_eq!((&first["count"], &first["hasMore"]), (&json!(2), &json!(true)));
    assert_ne!(first["assets"], second["assets"]);
    let fault = failure::<SearchAssets>(&game, json!({ "classPaths": ["World"] }));
    assert!(fault.starts_with("Missing required parameter: Either packagePaths"), "{fault}");
}

#[test]
fn one_asset_is_queried() {
    let (game, host) = (Game::new(), Rehearsal::new());
    for path in ["/Game/Doors/BP_Door", "/Game/Doors/BP_Door.BP_Door", "/game/doors/bp_door"] {
        let arguments = json!({ "assetPath": path, "bIncludeTags": true });
        let found = call::<QueryAsset>(&host, &game, arguments);
        assert_eq!((&found["bExists"], &found["assetPath"]), (&json!(true), &json!(path)));
        assert_eq!(found["objectPath"], "/Game/Doors/BP_Door.BP_Door");
        assert_eq!(found["tags"]["BlueprintType"], "BPTYPE_Normal");
        assert_eq!(found["file"]["savedBy"], "5.6.3-12345");
    }
    let none = call::<QueryAsset>(&host, &game, json!({ "assetPath": "/Game/None" }));
    assert_eq!((&none["bExists"], &none["assetName"]), (&json!(false), &json!("")));
    let old = call::<QueryAsset>(&host, &game, json!({ "assetPath": "/Game/Doors/BP_Old" }));
    assert_eq!(old["file"]["redirectsTo"], "/Game/Doors/BP_Door");
    let lfs = call::<QueryAsset>(&host, &game, json!({ "assetPath": "/Game/Lfs" }));
    assert!(lfs["warnings"].to_string().contains("git lfs pull"), "{lfs}");
    let engine = call::<QueryAsset>(&host, &game, json!({ "assetPath": "/Engine/Cube" }));
    assert!(engine["warnings"].to_string().contains("not in this project"), "{engine}");
}

#[test]
fn a_project_and_its_configuration() {
    let (game, host) = (Game::new(), Rehearsal::new());
    let found = call::<ProjectConfig>(&host, &game, json!({}));
    assert_eq!(found["engineVersion"]["minor"], 6);
    let dir = game.path().display().to_string();
    assert_eq!(found["paths"]["projectContentDir"], format!("{dir}/Content/"));
    assert_eq!(found["project"]["enabledPlugins"], json!(["Tools"]));
    let settings = json!([{
        "file": "Config/DefaultEngine.ini",
        "section": "/Script/EngineSettings.GameMapsSettings",
        "key": "GameDefaultMap",
        "values": [{ "value": "/Game/Maps/Town.Town", "line": 2 }],
    }]);
    assert_eq!(found["settings"], settings);
    let other = call::<ProjectConfig>(&host, &game, json!({ "section": "other" }));
    let values = json!([{ "value": "1", "line": 4 }, { "value": "2", "line": 5 }]);
    assert_eq!(other["settings"][0]["values"], values);
}

#[test]
fn an_object_is_exported_with_its_source() {
    let (game, host) = (Game::new(), Rehearsal::new());
    let export = |arguments| call::<ExportAsset>(&host, &game, arguments);
    let door = export(json!({ "objectPath": "/Game/Doors/BP_Door.BP_Door" }));
    let text = door["content"].as_str().expect("it is text");
    assert!(text.starts_with("; Reconstructed from the file of /Game/Doors/BP_Door"), "{text}");
    assert!(text.contains("CustomProperties Pin (PinId="), "{text}");
    assert_eq!((&door["bSuccess"], &door["told"]["undecoded"]), (&json!(true), &json!(0)));
    let graph = export(json!({ "objectPath": "/Game/Doors/BP_Door.BP_Door:EventGraph" }));
    assert_eq!(graph["told"]["objects"], 3);
    let over = export(json!({ "objectPath": "/Game/Doors/BP_Old", "format": "md" }));
    assert!(over["content"].as_str().is_some_and(|text| text.starts_with("# BP_Door")), "{over}");
    assert!(over["warnings"].to_string().contains("redirector"), "{over}");
    for (arguments, why) in [
        (json!({ "objectPath": "/Game/None" }), "there is no package /Game/None"),
        (json!({ "objectPath": "/Game/Doors/BP_Door.No" }), "there is no object No"),
        (json!({ "objectPath": "/Game/Lfs" }), "git lfs pull"),
        (json!({ "objectPath": "/Game/Lonely", "format": "FBX" }), "Failed to find FBX exporter"),
    ] {
        let answer: Value =
            serde_json::from_str(&failure::<ExportAsset>(&game, arguments)).expect("it is JSON");
        assert_eq!(answer["bSuccess"], false);
        assert!(answer["error"].as_str().is_some_and(|e| e.contains(why)), "{answer}");
    }
}

#[test]
fn dependencies_and_references_are_listed() {
    let (game, host) = (Game::new(), Rehearsal::new());
    let town = json!({ "assetPath": "/Game/Maps/Town" });
    let found = call::<AssetDependencies>(&host, &game, town.clone());
    assert_eq!(found["dependencies"], json!(["/Game/Doors/BP_Door"]));
    let soft = json!({ "assetPath": "/Game/Doors/BP_Door", "bIncludeSoftDependencies": true });
    let found = call::<AssetDependencies>(&host, &game, soft);
    assert_eq!(found["dependencies"], json!(["/Game/Doors/BP_Base", "/Game/Lonely"]));
    assert_eq!(texts(&found["details"], "strength"), ["hard", "soft"]);
    let script = json!({ "assetPath": "/Game/Doors/BP_Base", "bIncludeScript": true });
    let found = call::<AssetDependencies>(&host, &game, script);
    assert!(found["dependencies"].to_string().contains("/Script/Engine"), "{found}");
    let base = json!({ "assetPath": "/Game/Doors/BP_Base" });
    let found = call::<AssetReferences>(&host, &game, base);
    assert_eq!(found["references"], json!(["/Game/Doors/BP_Door"]));
    let cube = json!({ "assetPath": "/Engine/Cube" });
    assert_eq!(call::<AssetReferences>(&host, &game, cube)["references"], json!(["/Game/Lonely"]));
    let tree = call::<DependencyTree>(&host, &game, town);
    let depths: Vec<_> = texts(&tree["tree"], "assetPath");
    assert_eq!(depths, ["/Game/Maps/Town", "/Game/Doors/BP_Door", "/Game/Doors/BP_Base"]);
    assert_eq!((&tree["totalNodes"], &tree["maxDepthReached"]), (&json!(3), &json!(2)));
    let fault = failure::<AssetDependencies>(&game, json!({ "assetPath": "/Game/None" }));
    assert_eq!(fault, "there is no package /Game/None in this project");
}

#[test]
fn unused_assets_and_broken_references_are_listed() {
    let (game, host) = (Game::new(), Rehearsal::new());
    let broken = call::<BrokenReferences>(&host, &game, json!({}));
    let expected =
        json!([{ "package": "/Game/Lonely", "missing": "/Game/Gone", "strength": "hard" }]);
    assert_eq!((&broken["broken"], &broken["unchecked"]), (&expected, &json!(1)));
    let unused = call::<UnusedAssets>(&host, &game, json!({}));
    // A Git LFS pointer is not listed, since its kind and its dependencies are not known.
    assert_eq!(texts(&unused["unused"], "package"), [""; 0]);
    assert!(unused["warnings"].to_string().contains("were not read: 1."), "{unused}");
    fs::remove_file(game.path().join("Content/Maps/Town.umap")).expect("it is there");
    let unused = call::<UnusedAssets>(&Rehearsal::new(), &game, json!({ "maxResults": 2 }));
    assert_eq!((&unused["count"], &unused["hasMore"]), (&json!(2), &json!(true)));
    assert!(unused["warnings"].to_string().contains("no map"), "{unused}");
}

#[test]
fn a_thumbnail_is_shown() {
    let (game, host) = (Game::new(), Rehearsal::new());
    let door = json!({ "assetPath": "/Game/Doors/BP_Door" });
    let found = call::<AssetThumbnail>(&host, &game, door.clone());
    assert_eq!((&found["mimeType"], &found["width"]), (&json!("image/png"), &json!(16)));
    let reply = reply::<AssetThumbnail>(&host, &game, door).expect("it answers");
    let picture = Reply::new().image(PNG, "image/png").content;
    assert_eq!(reply.content[1..], picture);
    let fault = failure::<AssetThumbnail>(&game, json!({ "assetPath": "/Game/Maps/Town" }));
    assert!(fault.contains("has no thumbnail"), "{fault}");
}

#[test]
fn actors_are_listed_with_sanitised_names() {
    let (game, host) = (Game::new(), Rehearsal::new());
    let found = call::<LevelActors>(&host, &game, json!({ "mapPath": "/Game/Maps/Town" }));
    let actor = json!({
        "name": "BP_Door_7", "label": "Front door", "classPath": "/Game/Doors/BP_Door.BP_Door_C",
    });
    assert_eq!(found["actors"], json!([actor]));
    let arguments = json!({ "mapPath": "/Game/Maps/Town", "classFilter": "light" });
    assert_eq!(call::<LevelActors>(&host, &game, arguments)["totalCount"], 0);
}

#[test]
fn the_status_names_the_project_and_its_problems() {
    let (game, host) = (Game::new(), Rehearsal::new());
    let status = call::<UnrealStatus>(&host, &game, json!({}));
    assert_eq!((&status["state"], &status["project"]["packages"]), (&json!("ready"), &json!(6)));
    assert_eq!(status["project"]["engines"], json!({ "5.6": 5 }));
    assert_eq!(texts(&status["unreadable"], "file"), ["Content/Lfs.uasset"]);
    assert_eq!(status["project"]["checked"], "files");
    // The last check is recent and suffices.
    let again = call::<UnrealStatus>(&host, &game, json!({}));
    assert_ne!(again["project"]["checked"], "files");
}

#[test]
fn the_session_folders_determine_the_project() {
    let (game, other) = (Game::new(), Game::empty());
    let host = Rehearsal::new();
    let search = || {
        let arguments = json!({ "packagePaths": ["/Game"] });
        host.call::<SearchAssets>(arguments).map_err(|failure| failure.to_string())
    };
    let fault = search().expect_err("nothing is open");
    assert!(fault.contains("as a root"), "{fault}");
    session::FOLDERS.set(vec![game.path().to_owned()]);
    assert!(search().is_ok());
    session::FOLDERS.set(vec![game.path().to_owned(), other.path().to_owned()]);
    let fault = search().expect_err("two are open");
    assert!(fault.contains("several Unreal projects") && fault.contains("projectDir"), "{fault}");
    let status = host.call::<UnrealStatus>(json!({})).expect("it answers");
    let status = status.structured.expect("it is structured");
    assert_eq!(status["state"], "no_project");
    assert_eq!(status["choices"].as_array().map(Vec::len), Some(2));
    session::FOLDERS.set(Vec::new());
}

#[test]
fn the_index_is_stored_and_updated() {
    let (game, host) = (Game::new(), Rehearsal::new());
    let count = || {
        let arguments = json!({ "packagePaths": ["/Game"] });
        call::<SearchAssets>(&host, &game, arguments)["totalCount"].clone()
    };
    let before = count();
    assert_eq!(count(), before);
    let index = stored_data::load_index(game.path()).expect("it is kept").0;
    assert_eq!(index.entries().len(), 6);
    // The last check seems to be long ago.
    stored_data::save_index(game.path(), &index, true, 1);
    game.put(
        "Content/New/BP_New.uasset",
        blueprint(Profile::of("5.6"), "/Game/New/BP_New", "/Script/Engine.Actor").bytes(),
    );
    assert_eq!(count().as_u64(), before.as_u64().map(|before| before + 2));
}

#[test]
fn packages_are_left_when_the_time_is_up() {
    let game = Game::new();
    let host = Rehearsal::new().remaining(std::time::Duration::from_secs(1));
    let status = call::<UnrealStatus>(&host, &game, json!({}));
    assert_eq!((&status["state"], &status["project"]["left"]), (&json!("indexing"), &json!(6)));
    assert!(status["warnings"].to_string().contains("call again"), "{status}");
}

#[test]
fn warnings_about_the_project_are_one_line_and_listed_by_the_status() {
    let (game, host) = (Game::new(), Rehearsal::new());
    game.put("Content/Cut.uasset", [0xC1, 0x83, 0x2A, 0x9E, 1, 2]);
    game.put("Content/None.uasset", "nothing");
    let found = call::<SearchAssets>(&host, &game, json!({ "packagePaths": ["/Game"] }));
    let warnings = found["warnings"].as_array().expect("it is a list");
    let [one] = warnings.as_slice() else { panic!("{found}") };
    assert!(one.as_str().is_some_and(|text| text.ends_with("see unreal_status")), "{found}");
    let status = call::<UnrealStatus>(&host, &game, json!({}));
    let told = status["warnings"].as_array().expect("it is a list");
    assert!(told.len() > 1, "{status}");
    assert!(status["warnings"].to_string().contains("Git LFS pointer"), "{status}");
}
