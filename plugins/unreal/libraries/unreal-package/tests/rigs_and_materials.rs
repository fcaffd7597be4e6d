//! Tests of the graphs of rigs and materials, whose nodes do not contain their pins.

use unreal_package::{
    Action, Graph, Guid, Index, Link, Node, NodePin, Package, difference, ue4,
    writer::{DraftPackage, DraftPin, DraftValue, PROFILES, Profile, blueprint},
};

fn text(text: &str) -> DraftValue {
    DraftValue::String(text.to_owned())
}

fn string(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend(u32::try_from(text.len() + 1).expect("it is short").to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.push(0);
}

/// A pin of a rig.
fn pin(
    draft: &mut DraftPackage,
    within: Index,
    name: &str,
    way: &str,
    kind: &str,
    value: &str,
) -> Index {
    let pin = draft.export("/Script/RigVMDeveloper.RigVMPin", within, name);
    draft.set(pin, "Direction", DraftValue::Enum("ERigVMPinDirection".to_owned(), way.to_owned()));
    draft.set(pin, "CPPType", text(kind));
    if !value.is_empty() {
        draft.set(pin, "DefaultValue", text(value));
    }
    pin
}

fn link(draft: &mut DraftPackage, graph: Index, number: u32, from: &str, to: &str) {
    let link =
        draft.export("/Script/RigVMDeveloper.RigVMLink", graph, &format!("RigVMLink_{number}"));
    let mut bytes = Vec::new();
    string(&mut bytes, from);
    string(&mut bytes, to);
    draft.raw(link, &bytes);
}

/// A rig: an event, a call of a function, a variable that is read, and the copy for the editor's view.
fn rig(profile: Profile, bone: &str) -> Vec<u8> {
    let mut draft = DraftPackage::new(profile, "/Game/CR_Leg");
    let asset = draft.export("/Script/ControlRigDeveloper.ControlRigBlueprint", Index(0), "CR_Leg");
    let view = draft.export("/Script/ControlRigDeveloper.ControlRigGraph", asset, "Rig Graph");
    let shown = draft.export("/Script/ControlRigDeveloper.ControlRigGraphNode", view, "Begin");
    draft.set(shown, "ModelNodePath", text("Begin"));
    draft.pins(shown, &[]);
    let model = draft.export("/Script/RigVMDeveloper.RigVMGraph", asset, "RigVMModel");
    let begin = draft.export("/Script/RigVMDeveloper.RigVMUnitNode", model, "Begin");
    draft.set(begin, "NodeTitle", text("Forwards Solve"));
    pin(&mut draft, begin, "ExecuteContext", "Output", "FControlRigExecuteContext", "()");
    let call = draft.export("/Script/RigVMDeveloper.RigVMFunctionReferenceNode", model, "Trace");
    pin(&mut draft, call, "ExecuteContext", "IO", "FControlRigExecuteContext", "");
    let item = pin(&mut draft, call, "Item", "Input", "FRigElementKey", "");
    pin(&mut draft, item, "Name", "Input", "FName", bone);
    pin(&mut draft, item, "Type", "Input", "ERigElementType", "Bone");
    let offset = pin(&mut draft, call, "Offset", "Input", "FVector", "");
    pin(&mut draft, offset, "X", "Input", "float", "0.5");
    let get = draft.export("/Script/RigVMDeveloper.RigVMVariableNode", model, "VariableNode");
    pin(&mut draft, get, "Variable", "Hidden", "FName", "Height");
    pin(&mut draft, get, "Value", "Output", "float", "");
    link(&mut draft, model, 0, "Begin.ExecuteContext", "Trace.ExecuteContext");
    link(&mut draft, model, 1, "VariableNode.Value", "Trace.Offset.X");
    link(&mut draft, model, 2, "Nobody.Value", "Trace.Offset.X");
    draft.bytes()
}

fn find<'g>(graph: &'g Graph, name: &str) -> &'g Node {
    graph.nodes.iter().find(|node| node.name == name).expect("it is in the graph")
}

fn of<'n>(node: &'n Node, name: &str, output: bool) -> &'n NodePin {
    let mut pins = node.pins.iter();
    pins.find(|pin| pin.name == name && pin.output == output).expect("the node has it")
}

fn to(node: &str, pin: &str) -> Vec<Link> {
    vec![Link { node: node.to_owned(), pin: pin.to_owned() }]
}

#[test]
fn the_graph_of_a_rig_is_its_model_and_not_the_view() {
    for profile in PROFILES {
        let bytes = rig(*profile, "foot_l");
        let package = Package::read(&bytes).expect("it is a package");
        let graphs = package.graphs("/Game/CR_Leg");
        let [graph] = graphs.as_slice() else { panic!("{}: {graphs:?}", profile.name) };
        assert_eq!((graph.name.as_str(), graph.nodes.len()), ("RigVMModel", 3), "{}", profile.name);
        let titles: Vec<_> = graph.nodes.iter().map(|node| node.title.as_str()).collect();
        assert_eq!(titles, ["Forwards Solve", "Call Trace", "Get Height"], "{}", profile.name);
        let (begin, call) = (find(graph, "Begin"), find(graph, "Trace"));
        let out = of(begin, "ExecuteContext", true);
        assert_eq!((out.kind.as_str(), &out.links), ("exec", &to("Trace", "ExecuteContext")));
        assert_eq!(of(call, "ExecuteContext", false).links, to("Begin", "ExecuteContext"));
        assert_eq!(of(call, "ExecuteContext", true).links, []);
        // A structure shows its value, and the pin of a member only if the member is linked.
        assert_eq!(of(call, "Item", false).value, "(Name=foot_l,Type=Bone)");
        assert_eq!(of(call, "Offset.X", false).links, to("VariableNode", "Value"));
        let names: Vec<_> = call.pins.iter().map(|pin| pin.name.as_str()).collect();
        assert_eq!(names, ["ExecuteContext", "ExecuteContext", "Item", "Offset", "Offset.X"]);
        assert!(graph.nodes.iter().all(|node| node.fault.is_none()), "{graph:?}");
    }
}

#[test]
fn calls_and_reads_of_a_rig_are_found() {
    let bytes = rig(Profile::of("5.6"), "foot_l");
    let contents = Package::read(&bytes).expect("it is a package").contents("/Game/CR_Leg");
    let [graph] = contents.graphs.as_slice() else { panic!("{contents:?}") };
    let does: Vec<_> =
        graph.nodes.iter().map(|node| (node.action, node.subject.as_str())).collect();
    assert_eq!(does, [(Action::None, ""), (Action::Call, "Trace"), (Action::Get, "Height")]);
    let literals: Vec<_> = graph.nodes[1].literals.iter().map(|l| l.value.as_str()).collect();
    assert_eq!(literals, ["(Name=foot_l,Type=Bone)", "(X=0.5)"]);
}

#[test]
fn the_title_of_a_unit_does_not_decide_its_kind() {
    let mut draft = DraftPackage::new(Profile::of("5.6"), "/Game/CR_Leg");
    let asset = draft.export("/Script/ControlRigDeveloper.ControlRigBlueprint", Index(0), "CR_Leg");
    let model = draft.export("/Script/RigVMDeveloper.RigVMGraph", asset, "RigVMModel");
    for (name, title) in [("A", "Set Transform"), ("B", "Get Transform"), ("C", "Call (me)")] {
        let unit = draft.export("/Script/RigVMDeveloper.RigVMUnitNode", model, name);
        draft.set(unit, "NodeTitle", text(title));
    }
    let bytes = draft.bytes();
    let contents = Package::read(&bytes).expect("it is a package").contents("/Game/CR_Leg");
    let does = contents.graphs[0].nodes.iter().map(|node| (node.action, node.subject.as_str()));
    assert_eq!(does.collect::<Vec<_>>(), [(Action::None, ""); 3]);
}

#[test]
fn a_changed_value_of_a_rig_is_listed_once() {
    let profile = Profile::of("5.6");
    let (before, after) = (rig(profile, "foot_l"), rig(profile, "foot_r"));
    let (before, after) = (Package::read(&before).unwrap(), Package::read(&after).unwrap());
    let found = difference(&before, &after, "/Game/CR_Leg");
    let [change] = found.changes.as_slice() else { panic!("{found:?}") };
    assert_eq!(
        (change.place.as_str(), change.name.as_str()),
        ("RigVMModel: Call Trace (Trace)", "input Item")
    );
    assert_eq!(change.after.as_deref(), Some("FRigElementKey = (Name=foot_r,Type=Bone)"));
}

#[test]
fn a_blueprint_beside_a_rig_keeps_its_graphs() {
    let mut draft = blueprint(Profile::of("5.6"), "/Game/BP_Door", "/Script/Engine.Actor");
    draft.export("/Script/RigVMDeveloper.RigVMGraph", Index(1), "RigVMModel");
    let view = draft.export("/Script/ControlRigDeveloper.ControlRigGraph", Index(1), "View");
    let shown = draft.export("/Script/ControlRigDeveloper.ControlRigGraphNode", view, "Begin");
    draft.set(shown, "ModelNodePath", text("Begin"));
    draft.pins(shown, &[]);
    let bytes = draft.bytes();
    let graphs = Package::read(&bytes).expect("it is a package").graphs("/Game/BP_Door");
    let names: Vec<_> = graphs.iter().map(|graph| graph.name.as_str()).collect();
    assert_eq!(names, ["EventGraph", "RigVMModel"]);
}

fn input(expression: Index, output: i32, name: &str) -> DraftValue {
    let members = vec![
        ("Expression".to_owned(), DraftValue::Object(expression)),
        ("OutputIndex".to_owned(), DraftValue::Int(output)),
        ("InputName".to_owned(), DraftValue::Name(name.to_owned())),
    ];
    // This type is stored with tags in every version.
    DraftValue::Struct("TaggedInput".to_owned(), members)
}

/// A material: a colour parameter, a function with two outputs, and a setting.
fn material(profile: Profile, colour: &str) -> Vec<u8> {
    let mut draft = DraftPackage::new(profile, "/Game/M_Door");
    let asset = draft.export("/Script/Engine.Material", Index(0), "M_Door");
    let of = |class: &str| format!("/Script/Engine.MaterialExpression{class}");
    let tint = draft.export(&of("VectorParameter"), asset, "Tint");
    draft.set(tint, "ParameterName", DraftValue::Name(colour.to_owned()));
    draft.set(tint, "Group", DraftValue::Name("Look".to_owned()));
    draft.set(tint, "MaterialExpressionEditorX", DraftValue::Int(-300));
    draft.set(tint, "MaterialExpressionGuid", DraftValue::Guid(Guid([7, 7, 7, 7])));
    let function = draft.import("/Script/Engine.MaterialFunction", "/Game/MF_Wet.MF_Wet");
    let call = draft.export(&of("MaterialFunctionCall"), asset, "Wet");
    draft.set(call, "MaterialFunction", DraftValue::Object(function));
    let given = vec![("Input".to_owned(), input(tint, 0, "Base"))];
    let given = DraftValue::Struct("FunctionExpressionInput".to_owned(), given);
    draft.set(call, "FunctionInputs", DraftValue::List(vec![given]));
    let output = |name: &str| {
        let name = vec![("OutputName".to_owned(), DraftValue::Name(name.to_owned()))];
        let inner = ("Output".to_owned(), DraftValue::Struct("ExpressionOutput".to_owned(), name));
        DraftValue::Struct("FunctionExpressionOutput".to_owned(), vec![inner])
    };
    draft.set(call, "FunctionOutputs", DraftValue::List(vec![output("Dry"), output("Wetness")]));
    draft.set(asset, "TwoSided", DraftValue::Bool(true));
    draft.set(asset, "StateId", DraftValue::Guid(Guid([1, 2, 3, 4])));
    draft.set(asset, "BaseColor", input(call, 1, "None"));
    draft.set(asset, "Metallic", input(Index(0), 0, "None"));
    draft.bytes()
}

#[test]
fn the_graph_of_a_material_ends_in_the_material() {
    // Before this version, lists did not state the type of their items, so only the object's class
    // could read the items.
    for profile in PROFILES.iter().filter(|profile| profile.versions.ue4 >= ue4::ARRAY_INNER_TYPE) {
        let bytes = material(*profile, "Tint");
        let package = Package::read(&bytes).expect("it is a package");
        let graphs = package.graphs("/Game/M_Door");
        let [graph] = graphs.as_slice() else { panic!("{}: {graphs:?}", profile.name) };
        let titles: Vec<_> = graph.nodes.iter().map(|node| node.title.as_str()).collect();
        let wanted = ["Material M_Door", "Parameter Tint (VectorParameter)", "Call MF_Wet"];
        assert_eq!(titles, wanted, "{}", profile.name);
        let [root, tint, call] = graph.nodes.as_slice() else { panic!("{graph:?}") };
        assert_eq!(of(root, "TwoSided", false).value, "True", "{}", profile.name);
        assert_eq!(of(root, "BaseColor", false).links, to("Wet", "Wetness"), "{}", profile.name);
        assert_eq!(of(root, "Metallic", false).links, []);
        assert_eq!(of(call, "Wetness", true).links, to("M_Door", "BaseColor"));
        assert_eq!(of(call, "Base", false).links, to("Tint", "Output"), "{}", profile.name);
        assert_eq!((tint.position.0, tint.guid), (-300, Guid([7, 7, 7, 7])), "{}", profile.name);
        assert_eq!(of(tint, "Group", false).value, "Look");
        assert_eq!(root.pins.len(), 3, "without what only the editor needs: {root:?}");
    }
}

#[test]
fn a_parameter_of_a_material_is_found_and_compared() {
    let profile = Profile::of("5.6");
    let (before, after) = (material(profile, "Tint"), material(profile, "Colour"));
    let (before, after) = (Package::read(&before).unwrap(), Package::read(&after).unwrap());
    let contents = after.contents("/Game/M_Door");
    let nodes = contents.graphs.iter().flat_map(|graph| &graph.nodes);
    let does: Vec<_> = nodes.map(|node| (node.action, node.subject.as_str())).collect();
    let wanted = [(Action::None, ""), (Action::Get, "Colour"), (Action::Call, "MF_Wet")];
    assert_eq!(does, wanted);
    let found = difference(&before, &after, "/Game/M_Door");
    let [change] = found.changes.as_slice() else { panic!("{found:?}") };
    assert_eq!(change.before.as_deref(), Some("Parameter Tint (VectorParameter)"));
}

#[test]
fn reading_cyclic_rigs_and_materials_ends() {
    let profile = Profile::of("5.6");
    let mut draft = DraftPackage::new(profile, "/Game/M_Loop");
    let asset = draft.export("/Script/Engine.Material", Index(0), "M_Loop");
    let node = draft.export("/Script/Engine.MaterialExpressionAdd", asset, "Add");
    draft.set(node, "A", input(node, 0, "None"));
    let model = draft.export("/Script/RigVMDeveloper.RigVMGraph", asset, "Model");
    let unit = draft.export("/Script/RigVMDeveloper.RigVMUnitNode", model, "Unit");
    let mut within = unit;
    for depth in 0..40 {
        within = pin(&mut draft, within, &format!("P{depth}"), "IO", "FThing", "x");
    }
    link(&mut draft, model, 0, "Unit.P0", "Unit.P0");
    let id = Guid([0, 0, 0, 1]);
    draft.pins(model, &[DraftPin { id, name: "Odd".to_owned(), ..DraftPin::default() }]);
    let bytes = draft.bytes();
    let package = Package::read(&bytes).expect("it is a package");
    let graphs = package.graphs("/Game/M_Loop");
    assert_eq!(graphs.len(), 2);
    assert_eq!(of(find(&graphs[0], "Unit"), "P0", true).links, to("Unit", "P0"));
    assert_eq!(of(find(&graphs[1], "Add"), "A", false).links, to("Add", "Output"));
}
