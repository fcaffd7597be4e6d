//! Tests that answers say what their limits leave out.

use super::*;
use unreal_package::{
    Index,
    writer::{DraftPackage, DraftValue},
};

/// A package with the default object of a class, which has this many long values.
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
