//! Tests of graphs as text and as data, and of their pages.

use super::*;
use std::collections::HashSet;
use unreal_package::{
    Guid, Index,
    writer::{DraftPackage, DraftPin, DraftValue},
};

#[test]
fn a_graph_as_text_and_as_data() {
    let (game, host) = (Game::new(), Rehearsal::new());
    let door = json!({ "assetPath": "/Game/Doors/BP_Door" });
    let found = call::<BlueprintGraph>(&host, &game, door);
    let text = found["text"].as_str().expect("it is text");
    let wanted = "  @K2Node_Event_0 Event ReceiveBeginPlay\n  @K2Node_CallFunction_3 PrintString(\"Hello\")\n";
    let wanted = wanted.replace("K2Node_", "");
    assert!(
        text.starts_with("blueprint BP_Door: BP_Base_C\n") && text.ends_with(&wanted),
        "{text}"
    );
    assert_eq!((&found["format"], &found["totalCount"]), (&json!("pseudo_code"), &json!(5)));
    let markdown = json!({ "assetPath": "/Game/Doors/BP_Door", "format": "markdown" });
    let found = call::<BlueprintGraph>(&host, &game, markdown);
    let text = found["text"].as_str().expect("it is Markdown");
    assert!(text.contains("1. **Event ReceiveBeginPlay**\n   - `then` → 2.`execute`"), "{text}");
    let json = json!({ "assetPath": "/Game/Doors/BP_Door", "format": "json" });
    let found = call::<BlueprintGraph>(&host, &game, json);
    assert_eq!(found["blueprints"][0]["parentClass"], "/Game/Doors/BP_Base.BP_Base_C");
    let arguments = json!({
        "assetPath": "/Game/Doors/BP_Door", "format": "json", "maxResults": 1, "offset": 1,
        "graphName": "eventgraph",
    });
    let found = call::<BlueprintGraph>(&host, &game, arguments);
    let graph = &found["graphs"][0];
    assert_eq!((&graph["role"], &graph["nodeCount"]), (&json!("events"), &json!(2)));
    let node = &graph["nodes"][0];
    assert_eq!(node["title"], "Call PrintString");
    let execute = json!({
        "name": "execute", "direction": "input", "type": "exec",
        "linkedTo": ["K2Node_Event_0.then"],
    });
    assert_eq!(node["pins"][0], execute);
    let fault = failure::<BlueprintGraph>(
        &game,
        json!({ "assetPath": "/Game/Doors/BP_Door", "graphName": "Nope" }),
    );
    assert_eq!(fault, "/Game/Doors/BP_Door has no graph Nope; it has: EventGraph");
    let fault = failure::<BlueprintGraph>(&game, json!({ "assetPath": "/Game/Maps/Town" }));
    assert_eq!(fault, "/Game/Maps/Town has no Blueprint and no graph");
}

/// A Blueprint with a chain of this many calls.
fn long_chain(calls: u32) -> Vec<u8> {
    let profile = Profile::of("5.6");
    let mut draft = blueprint(profile, "/Game/BP_Long", "/Script/Engine.Actor");
    let id = |number| Guid([4, 4, 4, number]);
    let graph = Index(3);
    let mut nodes = Vec::new();
    for number in 0..calls {
        let class = "/Script/BlueprintGraph.K2Node_CallFunction";
        let node = draft.export(class, graph, &format!("K2Node_CallFunction_{}", number + 10));
        let member = vec![("MemberName".to_owned(), DraftValue::Name(format!("Step{number}_Now")))];
        draft.set(
            node,
            "FunctionReference",
            DraftValue::Struct("MemberReference".to_owned(), member),
        );
        nodes.push(node);
    }
    for (number, node) in (0..calls).zip(&nodes) {
        let pin = |offset, name: &str, output| DraftPin {
            id: id(number * 2 + offset),
            name: name.to_owned(),
            kind: "exec".to_owned(),
            output,
            ..DraftPin::default()
        };
        let next = nodes.get(number as usize + 1).map(|next| (*next, id(number * 2 + 2)));
        let before = number.checked_sub(1).map(|n| (nodes[n as usize], id(n * 2 + 1)));
        let execute = DraftPin { links: before.into_iter().collect(), ..pin(0, "execute", false) };
        let then = DraftPin { links: next.into_iter().collect(), ..pin(1, "then", true) };
        draft.pins(*node, &[execute, then]);
    }
    draft.bytes()
}

#[test]
fn a_long_graph_comes_as_an_outline_and_then_in_pages() {
    let (game, host) = (Game::new(), Rehearsal::new());
    let content = game.path().join("Content");
    fs::write(content.join("BP_Long.uasset"), long_chain(400)).expect("it is written");
    let long = |more: Value| {
        let mut asked = json!({ "assetPath": "/Game/BP_Long" });
        asked
            .as_object_mut()
            .expect("it is one")
            .extend(more.as_object().expect("it is one").clone());
        call::<BlueprintGraph>(&host, &game, asked)
    };
    let first = long(json!({}));
    assert_eq!((&first["format"], &first["hasMore"]), (&json!("outline"), &json!(false)));
    let outline = first["text"].as_str().expect("it is text");
    assert!(outline.contains("nodes: 402") && outline.contains("and 385 more"), "{outline}");
    assert!(first["warnings"].to_string().contains("the pseudo-code has 405 lines"), "{first}");
    // All pages together are the whole text.
    let whole = long(json!({ "maxResults": 0 }));
    let whole = whole["text"].as_str().expect("it is text");
    assert_eq!((whole.lines().count(), whole.matches("Step399_Now").count()), (405, 1));
    let (mut pages, mut count) = (String::new(), 0);
    loop {
        let offset = pages.lines().count();
        let page = long(json!({ "graphName": "EventGraph", "offset": offset }));
        let text = page["text"].as_str().expect("it is text");
        assert!(text.len() <= 6_500, "{}", text.len());
        pages.push_str(text);
        count += 1;
        if page["hasMore"] == false {
            break;
        }
    }
    assert!(whole.ends_with(&pages) && count > 1, "{count}");
    // With `json`, all pages together have all nodes, and a page has at most about 2,000 tokens.
    let (mut names, mut count) = (Vec::new(), 0);
    loop {
        let page = long(json!({ "format": "json", "offset": names.len() }));
        assert!(page.to_string().len() < 8_000, "{}", page.to_string().len());
        names.extend(texts(&page["graphs"][0]["nodes"], "name").into_iter().map(str::to_owned));
        count += 1;
        if page["hasMore"] == false {
            break;
        }
    }
    let distinct: HashSet<&String> = names.iter().collect();
    assert!((names.len(), distinct.len()) == (402, 402) && count > 1, "{count}: {names:?}");
    let behind = long(json!({ "offset": 9_999, "format": "markdown" }));
    assert_eq!((&behind["text"], &behind["hasMore"]), (&json!(""), &json!(false)));
}

#[test]
fn a_state_tree_is_shown_as_a_tree_in_pages() {
    let (game, host) = (Game::empty(), Rehearsal::new());
    let mut draft = DraftPackage::new(Profile::of("5.6"), "/Game/ST_Door");
    let tree = draft.export("/Script/StateTreeModule.StateTree", Index(0), "ST_Door");
    let data = draft.export("/Script/StateTreeEditorModule.StateTreeEditorData", tree, "Data");
    let states: Vec<DraftValue> = (0..500)
        .map(|number| {
            let class = "/Script/StateTreeEditorModule.StateTreeState";
            let state = draft.export(class, data, &format!("State_{number}"));
            draft.set(state, "Name", DraftValue::Name(format!("Phase{number}x")));
            DraftValue::Object(state)
        })
        .collect();
    draft.set(data, "SubTrees", DraftValue::List(states));
    draft.asset("ST_Door", "/Script/StateTreeModule.StateTree", &[]);
    game.put("Content/ST_Door.uasset", draft.bytes());
    let page = |offset: usize| {
        let arguments = json!({ "assetPath": "/Game/ST_Door", "offset": offset });
        call::<BlueprintGraph>(&host, &game, arguments)
    };
    let first = page(0);
    let text = first["text"].as_str().expect("it is text");
    assert!(text.starts_with("state tree ST_Door\n  state Phase0x\n"), "{text}");
    assert!(text.len() <= 6_500 && first["hasMore"] == true, "{}", text.len());
    let rest = page(500);
    assert_eq!((&rest["text"], &rest["hasMore"]), (&json!("  state Phase499x\n"), &json!(false)));
    for format in ["pseudo_code", "outline", "markdown", "json"] {
        let arguments = json!({ "assetPath": "/Game/ST_Door", "format": format });
        let answer = call::<BlueprintGraph>(&host, &game, arguments);
        assert_eq!((&answer["format"], &answer["text"]), (&json!("pseudo_code"), &first["text"]));
        let warnings = answer["warnings"].to_string();
        let is_told = warnings.contains(&format!("not as `{format}`"));
        assert_eq!(is_told, format != "pseudo_code", "{format}: {warnings}");
    }
}

#[test]
fn widgets_that_fit_into_no_tree_are_in_the_warnings() {
    let (game, host) = (Game::empty(), Rehearsal::new());
    let mut draft = DraftPackage::new(Profile::of("5.6"), "/Game/WBP_Loop");
    let asset = draft.export("/Script/UMGEditor.WidgetBlueprint", Index(0), "WBP_Loop");
    let tree = draft.export("/Script/UMG.WidgetTree", asset, "WidgetTree");
    draft.set(asset, "WidgetTree", DraftValue::Object(tree));
    let [one, other] = ["One", "Other"].map(|name| draft.export("/Script/UMG.Border", tree, name));
    for (parent, content) in [(one, other), (other, one)] {
        let slot = draft.export("/Script/UMG.PanelSlot", parent, "Slot");
        draft.set(slot, "Content", DraftValue::Object(content));
        draft.set(parent, "Slots", DraftValue::List(vec![DraftValue::Object(slot)]));
    }
    draft.asset("WBP_Loop", "/Script/UMGEditor.WidgetBlueprint", &[]);
    game.put("Content/WBP_Loop.uasset", draft.bytes());
    for format in ["pseudo_code", "json"] {
        let arguments = json!({ "assetPath": "/Game/WBP_Loop", "format": format });
        let found = call::<BlueprintGraph>(&host, &game, arguments);
        let warning =
            "these widgets are below no root, since some of them contain each other: One, Other";
        assert_eq!(found["warnings"], json!([warning]), "{found}");
    }
}
