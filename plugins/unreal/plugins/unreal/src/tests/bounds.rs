//! Tests that answers say what their limits leave out.

use super::{
    editor::Server,
    live::{DOOR, host, live},
    *,
};
use crate::cooked::InspectCooked;
use unreal_cooked::writer::{DraftAsset, DraftRegistry};
use unreal_package::{
    Index,
    writer::{DraftPackage, DraftValue},
};

/// A package with the default object of a class. The object has this many long values.
fn defaults(values: u32) -> Vec<u8> {
    let mut draft = DraftPackage::new(Profile::of("5.6"), "/Game/BP_Big");
    let class = draft.export("/Script/Engine.BlueprintGeneratedClass", Index(0), "BP_Big_C");
    let default = draft.export_of(class, Index(0), "Default__BP_Big_C");
    for number in 0..values {
        let text = "x".repeat(16_000);
        draft.set(default, &format!("Text{number}"), DraftValue::String(text));
    }
    draft.asset("BP_Big", "/Script/Engine.Blueprint", &[]);
    draft.bytes()
}

#[test]
fn a_reconstructed_text_is_bounded_and_says_what_is_cut() {
    let (game, host) = (Game::empty(), Rehearsal::new());
    game.put("Content/BP_Big.uasset", defaults(300));
    let cut = |max_chars: u32| {
        let class = json!({ "classPath": "/Game/BP_Big.BP_Big_C", "maxChars": max_chars });
        let object =
            json!({ "objectPath": "/Game/BP_Big.Default__BP_Big_C", "maxChars": max_chars });
        [call::<ExportClassDefault>(&host, &game, class), call::<ExportAsset>(&host, &game, object)]
    };
    for answer in cut(u32::MAX) {
        let text = answer["content"].as_str().expect("it is text");
        assert!(text.len() < (4 << 20) + 20_000, "{}", text.len());
        let warning = "the text is cut after about 4194304 characters: export_asset exports one of the objects in it";
        assert_eq!(answer["warnings"], json!([warning]));
    }
    for answer in cut(50_000) {
        let warning = "the text is cut after about 50000 characters: a larger `maxChars` gives more, and export_asset \
                       exports one of the objects in it";
        assert_eq!(answer["warnings"], json!([warning]));
    }
    game.put("Content/BP_Big.uasset", defaults(2));
    for answer in cut(50_000) {
        assert_eq!(answer["warnings"], json!([]));
    }
}

#[test]
fn markdown_that_is_cut_is_said() {
    let (game, host) = (Game::new(), Rehearsal::new());
    let warning = "the text is cut after about 100 characters: a larger `maxChars` gives more, and \
                   get_blueprint_graph gives it in pages";
    for (max_chars, is_cut) in [(100, true), (100_000, false)] {
        let door = json!({
            "objectPath": "/Game/Doors/BP_Door", "format": "MD", "maxChars": max_chars,
        });
        let answer = call::<ExportAsset>(&host, &game, door);
        assert_eq!(answer["warnings"].to_string().contains(warning), is_cut, "{answer}");
    }
}

#[test]
fn graphs_that_the_editor_is_not_asked_for_are_named() {
    let game = Game::new();
    let editor = game.editor(Server::Epic);
    let near = host(&editor, Server::Epic);
    let graphs: Vec<Value> = (0..63)
        .map(|number| json!({ "refPath": format!("{DOOR}.BP_Door:Graph{number}") }))
        .collect();
    editor.lie("list_graphs", json!(graphs));
    let all = json!({ "assetPath": DOOR, "maxResults": 0 });
    let answer = live::<BlueprintGraph>(&near, &game, all);
    let text = answer["text"].as_str().expect("it is text");
    assert!(text.contains("## Graph59\n") && !text.contains("## Graph60\n"), "{text}");
    let warning = "only 60 of 63 graphs are read. `graphName` reads one of the others: Graph60, Graph61, Graph62";
    assert_eq!(answer["warnings"][1], warning, "{answer}");
    let one = json!({ "assetPath": DOOR, "graphName": "Graph62" });
    let answer = live::<BlueprintGraph>(&near, &game, one);
    assert!(answer["text"].as_str().is_some_and(|text| text.contains("## Graph62\n")), "{answer}");
    assert_eq!(answer["warnings"].as_array().map(Vec::len), Some(1), "{answer}");
}

/// The answer about a package of a registry. The package has two assets with tags and needs many packages.
fn inspected(query: Option<&str>) -> Value {
    let game = Game::empty();
    let asset = |tags: Vec<(String, String)>| DraftAsset {
        package: "/Game/Doors/SM_Door".to_owned(),
        class: ("/Script/Engine".to_owned(), "StaticMesh".to_owned()),
        tags,
        size: 5000,
    };
    let tags = (0..600).map(|number| (format!("Tag{number:03}"), number.to_string())).collect();
    let registry = DraftRegistry {
        version: 6,
        assets: vec![asset(tags), asset(vec![("Tag001".to_owned(), "another".to_owned())])],
        needs: (0..202)
            .map(|number| ("/Game/Doors/SM_Door".to_owned(), format!("/Game/T_{number:03}"), true))
            .collect(),
    };
    game.put("Saved/AssetRegistry.bin", registry.bytes());
    let file = game.path().join("Saved/AssetRegistry.bin");
    let mut arguments = json!({ "file": file, "package": "/Game/Doors/SM_Door" });
    if let Some(query) = query {
        arguments["query"] = json!(query);
    }
    valid::<InspectCooked>(Rehearsal::new().call::<InspectCooked>(arguments).expect("it answers"))
}

#[test]
fn tags_and_packages_of_a_cooked_package_that_are_left_out_are_counted() {
    let answer = inspected(None);
    let tags = answer["package"]["tags"].as_object().expect("it is an object");
    assert_eq!((tags.len(), tags.contains_key("Tag599")), (200, false));
    // Two assets of the package have a tag of this name.
    assert_eq!((&tags["Tag001"], &tags["Tag001 of SM_Door"]), (&json!("1"), &json!("another")));
    let needs = answer["package"]["dependsOn"].as_array().expect("it is a list");
    assert_eq!((needs.len(), &needs[200]), (201, &json!("2 more")));
    let warnings = answer["warnings"].to_string();
    for warning in [
        "only 200 of 601 tags of the package are listed: those with the text of `query` come first",
        "only 200 of 202 packages in `dependsOn` are listed: those with the text of `query` come first",
    ] {
        assert!(warnings.contains(warning), "{warnings}");
    }
    let answer = inspected(Some("599"));
    assert_eq!(answer["package"]["tags"]["Tag599"], "599", "{answer}");
    let answer = inspected(Some("T_201"));
    assert_eq!(answer["package"]["dependsOn"][0], "/Game/T_201", "{answer}");
}

#[test]
fn warnings_that_are_left_out_are_counted() {
    let (game, host) = (Game::empty(), Rehearsal::new());
    let folders: Vec<String> = (0..57).map(|number| format!("/Nowhere{number}")).collect();
    let answer = call::<SearchAssets>(&host, &game, json!({ "packagePaths": folders }));
    let warnings = answer["warnings"].as_array().expect("it is a list");
    assert_eq!((warnings.len(), &warnings[50]), (51, &json!("7 more warnings are left out")));
}

#[test]
fn referencers_of_unused_packages_that_are_left_out_are_said() {
    for (referencers, is_cut) in [(20, false), (21, true)] {
        let game = Game::empty();
        let put = |name: &str, parent: &str| {
            let draft = blueprint(Profile::of("5.6"), &format!("/Game/{name}"), parent);
            game.put(&format!("Content/{name}.uasset"), draft.bytes());
        };
        put("BP_Base", "/Script/Engine.Actor");
        (0..referencers).for_each(|number| put(&format!("BP_{number}"), "/Game/BP_Base.BP_Base_C"));
        let answer = call::<UnusedAssets>(&Rehearsal::new(), &game, json!({}));
        let warning = "only 20 referencers of a package are listed: get_asset_references lists those of /Game/BP_Base";
        assert_eq!(answer["warnings"].to_string().contains(warning), is_cut, "{answer}");
    }
}

#[test]
fn relations_that_the_editor_knows_and_the_answer_leaves_out_are_counted() {
    let game = Game::new();
    let editor = game.editor(Server::Epic);
    let near = host(&editor, Server::Epic);
    let many: Vec<String> = (0..5_003).map(|number| format!("/Game/Many/T_{number:04}")).collect();
    editor.lie("get_dependencies", json!(many));
    editor.lie("get_referencers", json!(many));
    let door = json!({ "assetPath": DOOR, "bIncludeSoftDependencies": true });
    let answer = live::<AssetDependencies>(&near, &game, door);
    let warning = json!("only 5000 of 5003 are listed");
    assert_eq!((&answer["count"], &answer["warnings"][0]), (&json!(5_000), &warning));
    let door = json!({ "assetPath": DOOR, "bIncludeSoftReferences": true });
    let answer = live::<AssetReferences>(&near, &game, door);
    assert_eq!((&answer["count"], &answer["warnings"][0]), (&json!(5_000), &warning));
}

#[test]
fn redirectors_among_references_that_are_left_out_are_counted() {
    let game = Game::new();
    let mut names = Vec::new();
    for number in 0..13 {
        let package = format!("/Game/Old/BP_{number}");
        let mut draft = DraftPackage::new(Profile::of("5.6"), &package);
        draft.import("/Script/Engine.Blueprint", "/Game/Doors/BP_Door.BP_Door");
        let name = format!("BP_{number}");
        draft.export("/Script/CoreUObject.ObjectRedirector", Index(0), &name);
        draft.asset(&name, "/Script/CoreUObject.ObjectRedirector", &[]);
        game.put(&format!("Content/Old/{name}.uasset"), draft.bytes());
        names.push(package);
    }
    let editor = game.editor(Server::Epic);
    let near = host(&editor, Server::Epic);
    editor.lie("get_referencers", json!(names));
    let door = json!({ "assetPath": DOOR, "bIncludeSoftReferences": true });
    let answer = live::<AssetReferences>(&near, &game, door);
    let warnings = answer["warnings"].as_array().expect("it is a list");
    assert_eq!(warnings.len(), 11, "{answer}");
    assert_eq!(warnings[10], "3 more of the references are redirectors", "{answer}");
}

#[test]
fn the_status_names_the_limits_that_leave_packages_or_plugins_out() {
    let packages = "has at most 200000 packages of 50000 folders, nested at most 48 deep";
    let plugins = "at most 5000 folders are searched for plugins, nested at most 6 deep";
    for (folder, file, limits, most) in
        [("Content", "Deep.uasset", packages, 48), ("Plugins", "Deep.uplugin", plugins, 6)]
    {
        for (depth, is_cut) in [(most, false), (most + 1, true)] {
            let game = Game::new();
            game.put(&format!("{folder}/{}{file}", "d/".repeat(depth)), "{}");
            let status = call::<UnrealStatus>(&Rehearsal::new(), &game, json!({}));
            let warnings = status["warnings"].to_string();
            assert_eq!(warnings.contains(limits), is_cut, "{folder}, {depth}: {warnings}");
        }
    }
}

#[test]
fn unused_assets_come_with_what_was_not_searched() {
    for (length, is_told) in [(1 << 20, false), ((1 << 20) + 1, true)] {
        let game = Game::new();
        game.put("Source/MyGame/Names.cpp", " ".repeat(length));
        let unused = call::<UnusedAssets>(&Rehearsal::new(), &game, json!({}));
        let warnings = unused["warnings"].to_string();
        assert_eq!(warnings.contains("only 5000 files of at most 1 MiB"), is_told, "{warnings}");
    }
}
