//! Tests the searchable contents of packages, for each engine version.

use unreal_package::{
    Action, Contents, Guid, Index, Literal, Package,
    writer::{DraftPackage, DraftPin, DraftValue, PROFILES, Profile, blueprint},
};

/// The exports that every Blueprint made by `writer::blueprint` begins with.
const ASSET: Index = Index(1);
const CLASS: Index = Index(2);
const GRAPH: Index = Index(3);

fn reference(kind: &str, members: &[(&str, DraftValue)]) -> DraftValue {
    let members = members.iter().map(|(name, worth)| ((*name).to_owned(), worth.clone()));
    DraftValue::Struct(kind.to_owned(), members.collect())
}

fn name(text: &str) -> DraftValue {
    DraftValue::Name(text.to_owned())
}

fn node(draft: &mut DraftPackage, graph: Index, class: &str, number: u32) -> Index {
    let path = format!("/Script/BlueprintGraph.{class}");
    let node = draft.export(&path, graph, &format!("{class}_{number}"));
    draft.set(node, "NodeGuid", DraftValue::Guid(Guid([9, 8, 7, number])));
    node
}

/// A door that opens: a function, a variable that it sets, an event, a comment and a widget's text.
fn door(profile: Profile) -> Vec<u8> {
    let mut draft = blueprint(profile, "/Game/BP_Door", "/Script/Engine.Actor");
    let variable = |name_: &str, value: &str| {
        let members = [
            ("VarName", name(name_)),
            ("VarType", DraftValue::PinType("bool".to_owned())),
            ("DefaultValue", DraftValue::String(value.to_owned())),
        ];
        DraftValue::List(vec![reference("BPVariableDescription", &members)])
    };
    draft.set(ASSET, "NewVariables", variable("bOpen", "true"));
    let function = draft.export("/Script/Engine.EdGraph", ASSET, "OpenDoor");
    draft.set(ASSET, "FunctionGraphs", DraftValue::List(vec![DraftValue::Object(function)]));
    let entry = node(&mut draft, function, "K2Node_FunctionEntry", 0);
    draft.set(entry, "LocalVariables", variable("Angle", ""));
    let set = node(&mut draft, function, "K2Node_VariableSet", 1);
    let own = reference("MemberReference", &[("MemberName", name("bOpen"))]);
    draft.set(set, "VariableReference", own);
    let id = Guid([1, 1, 1, 41]);
    let value =
        DraftPin { id, name: "bOpen".to_owned(), kind: "bool".to_owned(), ..DraftPin::default() };
    draft.pins(set, &[DraftPin { default: "true".to_owned(), ..value }]);
    let library = draft.import("Class", "/Script/Engine.KismetMathLibrary");
    // Nodes of Unreal plugins have classes of their own.
    let call = node(&mut draft, GRAPH, "K2Node_MyCallFunction", 2);
    let members =
        [("MemberParent", DraftValue::Object(library)), ("MemberName", name("RandomFloat"))];
    draft.set(call, "FunctionReference", reference("MemberReference", &members));
    let event = node(&mut draft, GRAPH, "K2Node_CustomEvent", 3);
    draft.set(event, "CustomFunctionName", name("OnKnock"));
    draft.set(event, "NodeComment", DraftValue::String("Somebody knocks".to_owned()));
    for without_pins in [entry, call, event] {
        draft.pins(without_pins, &[]);
    }
    let widget = draft.export("/Script/UMG.TextBlock", CLASS, "Title");
    draft.set(widget, "Text", DraftValue::Text("Open the door".to_owned()));
    draft.set(widget, "Width", DraftValue::Int(3));
    draft.bytes()
}

#[test]
fn the_actions_of_nodes_are_read_in_every_version() {
    for profile in PROFILES {
        // Packages from before Unreal 4.0 do not store the type of an array's items, so arrays cannot be read: neither
        // pins nor variables.
        let has_arrays = profile.versions.ue4 >= 282;
        let bytes = door(*profile);
        let package = Package::read(&bytes).expect("it is one");
        let Contents { variables, graphs, texts, cut } = package.contents("/Game/BP_Door");
        let version = profile.name;
        assert!(!cut, "{version}");
        let literal =
            |at: &str, value: &str| Literal { at: at.to_owned(), value: value.to_owned() };
        assert_eq!(texts, [literal("Title.Text", "Open the door")], "{version}");
        let [events, function] = graphs.try_into().expect("there are two");
        let names = (events.name.as_str(), function.name.as_str());
        assert_eq!(names, ("EventGraph", "OpenDoor"), "{version}");
        let of = |position: usize| {
            let node = &events.nodes[position];
            (node.title.as_str(), node.action, node.subject.as_str(), node.owner.as_str())
        };
        assert_eq!(of(0).1, Action::Event, "{version}");
        assert_eq!(of(1), ("Call PrintString", Action::Call, "PrintString", ""), "{version}");
        let call = (Action::Call, "RandomFloat", "KismetMathLibrary");
        assert_eq!((of(2).1, of(2).2, of(2).3), call, "{version}");
        assert_eq!(of(3), ("Custom event OnKnock", Action::Event, "OnKnock", ""), "{version}");
        let knock = &events.nodes[3];
        assert_eq!((knock.comment.as_str(), knock.guid), ("Somebody knocks", Guid([9, 8, 7, 3])));
        assert_eq!(function.nodes[0].action, Action::None, "{version}");
        let set = &function.nodes[1];
        assert_eq!((set.action, set.subject.as_str()), (Action::Set, "bOpen"), "{version}");
        if has_arrays {
            assert_eq!(set.literals, [literal("bOpen", "true")], "{version}");
            assert_eq!(events.nodes[1].literals, [literal("InString", "Hello")], "{version}");
            assert_eq!(function.role, "function", "{version}");
            let declared = (variables[0].name.as_str(), variables[0].value.as_str());
            assert_eq!(declared, ("bOpen", "true"), "{version}");
            assert_eq!(function.variables[0].name, "Angle", "{version}");
        }
        assert!(events.nodes.iter().chain(&function.nodes).all(|node| !node.faulty), "{version}");
    }
}

#[test]
fn damaged_packages_do_not_panic() {
    let bytes = door(Profile::of("5.6"));
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x5A;
        if let Ok(package) = Package::read(&damaged) {
            let contents = package.contents("/Game/BP_Door");
            assert!(contents.graphs.len() <= package.header.exports.len());
        }
    }
}
