//! Tests that an output says when a limit has left something out of it.

use unreal_package::{
    Graph, Index, Node, Package,
    writer::{DraftPackage, DraftValue, Profile},
};

fn text(text: &str) -> DraftValue {
    DraftValue::String(text.to_owned())
}

#[test]
fn markdown_of_a_graph_says_that_it_is_cut() {
    let node = |number: usize| Node { title: format!("Call Step{number}"), ..Node::default() };
    let graph =
        Graph { name: "EventGraph".into(), nodes: (0..50).map(node).collect(), ..Graph::default() };
    let cut = graph.markdown(200);
    assert!(cut.len() < 300 && cut.ends_with("… cut here.\n"), "{cut}");
    assert!(!graph.markdown(100_000).contains("cut here"));
}

#[test]
fn an_outline_names_the_graphs_that_it_does_not_show() {
    let mut draft = DraftPackage::new(Profile::of("5.6"), "/Game/BP_Many");
    let asset = draft.export("/Script/Engine.Blueprint", Index(0), "BP_Many");
    for number in 0..63 {
        draft.export("/Script/Engine.EdGraph", asset, &format!("Step{number}"));
    }
    let bytes = draft.bytes();
    let outline = Package::read(&bytes).expect("it is a package").outline("/Game/BP_Many");
    let end = "and 3 more graphs\n  names: Step60, Step61, Step62\n";
    assert!(outline.contains("graph Step59 ") && outline.ends_with(end), "{outline}");
}

#[test]
fn a_node_of_a_rig_says_that_it_has_more_pins() {
    for (count, is_cut) in [(4_096, false), (4_097, true)] {
        let mut draft = DraftPackage::new(Profile::of("5.6"), "/Game/CR_Leg");
        let class = "/Script/ControlRigDeveloper.ControlRigBlueprint";
        let asset = draft.export(class, Index(0), "CR_Leg");
        let model = draft.export("/Script/RigVMDeveloper.RigVMGraph", asset, "RigVMModel");
        let node = draft.export("/Script/RigVMDeveloper.RigVMUnitNode", model, "Many");
        for number in 0..count {
            let name = format!("Pin_{number}");
            let pin = draft.export("/Script/RigVMDeveloper.RigVMPin", node, &name);
            draft.set(pin, "CPPType", text("float"));
            draft.set(pin, "DefaultValue", text("1.0"));
        }
        let bytes = draft.bytes();
        let graphs = Package::read(&bytes).expect("it is a package").graphs("/Game/CR_Leg");
        let node = &graphs[0].nodes[0];
        assert_eq!(node.pins.len(), 4_096);
        let fault = is_cut.then_some("the node has more than 4096 pins");
        assert_eq!(node.fault.as_deref(), fault);
    }
}

#[test]
fn many_texts_in_one_property_are_cut_and_said() {
    for (count, is_cut) in [(20_000, false), (20_001, true)] {
        let mut draft = DraftPackage::new(Profile::of("5.6"), "/Game/BP_Texts");
        let class = draft.export("/Script/Engine.BlueprintGeneratedClass", Index(0), "BP_Texts_C");
        let default = draft.export_of(class, Index(0), "Default__BP_Texts_C");
        let texts = (0..count).map(|number| text(&format!("text {number}"))).collect();
        draft.set(default, "Texts", DraftValue::List(texts));
        let bytes = draft.bytes();
        let contents = Package::read(&bytes).expect("it is a package").contents("/Game/BP_Texts");
        assert_eq!((contents.texts.len(), contents.cut), (20_000, is_cut));
    }
}

#[test]
fn texts_that_are_nested_too_deep_are_cut_and_said() {
    for (depth, has_text, is_cut) in [(4, true, false), (5, true, true), (5, false, false)] {
        let mut draft = DraftPackage::new(Profile::of("5.6"), "/Game/BP_Deep");
        let class = draft.export("/Script/Engine.BlueprintGeneratedClass", Index(0), "BP_Deep_C");
        let default = draft.export_of(class, Index(0), "Default__BP_Deep_C");
        let mut value = if has_text { text("deep") } else { DraftValue::Int(1) };
        for _ in 0..depth {
            value = DraftValue::Struct("Outer".to_owned(), vec![("Inner".to_owned(), value)]);
        }
        draft.set(default, "Texts", value);
        let bytes = draft.bytes();
        let contents = Package::read(&bytes).expect("it is a package").contents("/Game/BP_Deep");
        let expected = if has_text && !is_cut { &["deep"][..] } else { &[] };
        let texts: Vec<&str> = contents.texts.iter().map(|text| text.value.as_str()).collect();
        assert_eq!((texts.as_slice(), contents.cut), (expected, is_cut), "{depth}");
    }
}
