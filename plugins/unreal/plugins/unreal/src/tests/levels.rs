//! Tests of the actors of a map with their components.

use super::*;
use crate::level::LevelActors;
use unreal_package::{
    Index as Object,
    writer::{DraftPackage, DraftValue},
};

/// Writes a map with an actor for each number in `components`. The number is that of the actor's components.
fn map(game: &Game, components: &[usize]) {
    let mut draft = DraftPackage::new(Profile::of("5.6"), "/Game/Maps/Yard");
    let world = draft.export("/Script/Engine.World", Object(0), "Yard");
    let level = draft.export("/Script/Engine.Level", world, "PersistentLevel");
    let mut list = i32::try_from(components.len()).expect("it fits").to_le_bytes().to_vec();
    for (number, components) in components.iter().enumerate() {
        let actor = draft.export("/Script/Engine.PointLight", level, &format!("Lamp{number}"));
        draft.set(actor, "NetPriority", DraftValue::Float(2.5));
        for part in 0..*components {
            let class = "/Script/Engine.PointLightComponent";
            let light = draft.export(class, actor, &format!("Light{part}"));
            draft.set(light, "Intensity", DraftValue::Float(800.0));
            draft.set(light, "Note", DraftValue::String("\u{202E}a\nb".to_owned()));
        }
        list.extend(actor.0.to_le_bytes());
    }
    draft.native(level, &list);
    draft.asset("Yard", "/Script/Engine.World", &[]);
    game.put("Content/Maps/Yard.umap", draft.bytes());
}

fn size(value: &Value) -> usize {
    value.to_string().len()
}

#[test]
fn actors_have_their_components_on_pages_of_a_bounded_size() {
    let (game, host) = (Game::empty(), Rehearsal::new());
    map(&game, &[2; 40]);
    let (mut seen, mut pages) = (Vec::new(), 0);
    loop {
        let arguments = json!({
            "mapPath": "/Game/Maps/Yard", "withComponents": true, "offset": seen.len(),
        });
        let page = call::<LevelActors>(&host, &game, arguments);
        assert!(size(&page["actors"]) < 6_500, "{}", size(&page["actors"]));
        assert_eq!(page["totalCount"], 40);
        seen.extend(texts(&page["actors"], "name").into_iter().map(str::to_owned));
        pages += 1;
        if page["hasMore"] == false {
            assert_eq!(
                page["actors"][0]["components"][1],
                json!({
                    "name": "Light1", "classPath": "/Script/Engine.PointLightComponent",
                    "properties": ["Intensity=800.000000", "Note=\"a\\nb\""],
                })
            );
            assert_eq!(page["actors"][0]["properties"], json!(["NetPriority=2.500000"]));
            break;
        }
    }
    let all: Vec<String> = (0..40).map(|number| format!("Lamp{number}")).collect();
    assert_eq!((seen, pages > 1), (all, true));
    let arguments = json!({ "mapPath": "/Game/Maps/Yard" });
    let short = call::<LevelActors>(&host, &game, arguments);
    assert_eq!((&short["count"], short["actors"][0].get("components")), (&json!(40), None));
}

#[test]
fn an_actor_that_is_too_large_is_cut_with_a_note() {
    let (game, host) = (Game::empty(), Rehearsal::new());
    map(&game, &[100, 1]);
    let arguments = json!({ "mapPath": "/Game/Maps/Yard", "withComponents": true });
    let page = call::<LevelActors>(&host, &game, arguments);
    assert_eq!((&page["count"], &page["hasMore"]), (&json!(1), &json!(true)));
    assert!(size(&page["actors"]) < 6_500, "{}", size(&page["actors"]));
    let left_out = page["actors"][0]["leftOut"].to_string();
    for said in ["36 more components", "for which the page has no room"] {
        assert!(left_out.contains(said), "{left_out}");
    }
}
