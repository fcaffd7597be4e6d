//! Tests of the hierarchy of classes in C++ and Blueprints.

use super::*;

#[test]
fn classes_in_c_plus_plus_and_blueprints_are_one_hierarchy() {
    let (game, host) = (Game::new(), Rehearsal::new());
    game.put("Source/MyGame/MyGame.Build.cs", "");
    game.put(
        "Source/MyGame/Public/Thing.h",
        "#pragma once\nUCLASS()\nclass MYGAME_API AThing : public AActor\n{\n};\n",
    );
    game.put("Source/MyGame/Big.h", "UCLASS()\nclass ABigThing : public AThing {};\n");
    game.put(
        "Plugins/Own/Source/Own/Own.h",
        "UCLASS()\nclass UPart : public UActorComponent {};\n",
    );
    game.put("Content/Source/No.h", "UCLASS()\nclass ANo : public AActor {};\n");
    let all = call::<ClassHierarchy>(&host, &game, json!({}));
    let lines: Vec<String> = all["classes"]
        .as_array()
        .expect("it is a list")
        .iter()
        .map(|class| {
            let text = |key: &str| class[key].as_str().unwrap_or_default().to_owned();
            format!("{} {} {} {}", class["depth"], text("kind"), text("path"), text("header"))
        })
        .collect();
    let wanted = [
        "0 engine /Script/Engine.Actor ",
        "1 cpp /Script/MyGame.Thing Source/MyGame/Public/Thing.h:3",
        "2 blueprint /Game/Lonely.Lonely_C ",
        "2 cpp /Script/MyGame.BigThing Source/MyGame/Big.h:2",
        "0 engine /Script/Engine.ActorComponent ",
        "1 cpp /Script/Own.Part Plugins/Own/Source/Own/Own.h:2",
        "0 engine /Script/Engine.Character ",
        "1 blueprint /Game/Doors/BP_Base.BP_Base_C ",
        "2 blueprint /Game/Doors/BP_Door.BP_Door_C ",
    ];
    assert_eq!(lines, wanted);
    // Below a class of the engine are the project's classes, and the engine's classes in between.
    let actors = call::<ClassHierarchy>(&host, &game, json!({ "className": "AActor" }));
    assert_eq!(actors["totalCount"], 8, "{actors}");
    for name in ["BP_Door", "/Game/Doors/BP_Door", "bp_door_c"] {
        let door = call::<ClassHierarchy>(&host, &game, json!({ "className": name }));
        assert_eq!(door["ancestors"][0], "/Game/Doors/BP_Base.BP_Base_C", "{name}");
        assert_eq!(door["ancestors"][1], "/Script/Engine.Character");
        assert_eq!(texts(&door["classes"], "path"), ["/Game/Doors/BP_Door.BP_Door_C"]);
    }
    let thing = json!({ "className": "AThing", "maxResults": 2 });
    let thing = call::<ClassHierarchy>(&host, &game, thing);
    assert_eq!((&thing["totalCount"], &thing["hasMore"]), (&json!(3), &json!(true)));
    // The search by ancestor follows classes in C++ as well.
    for ancestor in ["AThing", "Actor", "/Script/MyGame.Thing"] {
        let arguments = json!({ "searchType": "inherits", "searchTerm": ancestor });
        let found = call::<SearchBlueprints>(&host, &game, arguments);
        let names = texts(&found["results"], "assetName");
        assert!(names.contains(&"Lonely"), "{ancestor}: {found}");
        assert!(!found["warnings"].to_string().contains("may match"), "{found}");
    }
    // A changed header is read again, and the classes of a removed header are forgotten.
    game.put("Source/MyGame/Big.h", "UCLASS()\nclass ABigger : public AThing {};\n/* longer */");
    fs::remove_file(game.path().join("Plugins/Own/Source/Own/Own.h")).expect("it is there");
    let again = call::<ClassHierarchy>(&host, &game, json!({})).to_string();
    assert!(again.contains("MyGame.Bigger") && !again.contains("BigThing"), "{again}");
    assert!(!again.contains("Own.Part"), "{again}");
    let fault = failure::<ClassHierarchy>(&game, json!({ "className": "ANobody" }));
    assert!(fault.starts_with("this project has no class ANobody"), "{fault}");
}
