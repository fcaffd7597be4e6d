//! Tests of state trees as text, in packages of all versions that have state trees.

use unreal_package::{
    Guid, Index, Package,
    writer::{DraftPackage, DraftValue, PROFILES, Profile},
};

fn member(name: &str, worth: DraftValue) -> (String, DraftValue) {
    (name.to_owned(), worth)
}

fn choice(kind: &str, value: &str) -> DraftValue {
    DraftValue::Enum(kind.to_owned(), format!("{kind}::{value}"))
}

fn guid(number: u32) -> Guid {
    Guid([number, 0, 0, 0])
}

/// A task or condition of this type with a value.
fn node(structure: Index, key: &str, value: i32) -> DraftValue {
    let node = vec![
        member("Name", DraftValue::Name("x".to_owned())),
        member("bTaskEnabled", DraftValue::Bool(true)),
        member("bInvert", DraftValue::Bool(value == 2)),
    ];
    let node = DraftValue::Instanced(structure, node);
    let instance = DraftValue::Instanced(structure, vec![member(key, DraftValue::Int(value))]);
    DraftValue::Struct(
        "StateTreeEditorNode".to_owned(),
        vec![
            member("Node", node),
            member("Instance", instance),
            member("ID", DraftValue::Guid(guid(value.unsigned_abs()))),
        ],
    )
}

fn link(name: &str, kind: &str) -> DraftValue {
    let kind = choice("EStateTreeTransitionType", kind);
    DraftValue::Struct(
        "StateTreeStateLink".to_owned(),
        vec![member("Name", DraftValue::Name(name.to_owned())), member("LinkType", kind)],
    )
}

fn draft(profile: Profile) -> DraftPackage {
    let mut draft = DraftPackage::new(profile, "/Game/ST_Door");
    let tree = draft.export("/Script/StateTreeModule.StateTree", Index(0), "ST_Door");
    let data = draft.export("/Script/StateTreeEditorModule.StateTreeEditorData", tree, "Data");
    let state = "/Script/StateTreeEditorModule.StateTreeState";
    let root = draft.export(state, data, "State_0");
    let open = draft.export(state, root, "State_1");
    let delay = draft.import("ScriptStruct", "/Script/StateTreeModule.StateTreeDelayTask");
    let compare =
        draft.import("ScriptStruct", "/Script/StateTreeModule.StateTreeCompareIntCondition");
    draft.set(data, "GlobalTasks", DraftValue::List(vec![node(delay, "Duration", 9)]));
    let path = |id: u32, name: &str| {
        let segment = vec![member("Name", DraftValue::Name(name.to_owned()))];
        let segment = DraftValue::Struct("PropertyBindingPathSegment".to_owned(), segment);
        let fields = vec![
            member("StructID", DraftValue::Guid(guid(id))),
            member("Segments", DraftValue::List(vec![segment])),
        ];
        DraftValue::Struct("PropertyBindingPath".to_owned(), fields)
    };
    let binding = |from: DraftValue, to: DraftValue| {
        let ends = vec![member("SourcePropertyPath", from), member("TargetPropertyPath", to)];
        DraftValue::Struct("StateTreePropertyPathBinding".to_owned(), ends)
    };
    let bindings = vec![
        binding(path(99, "Seconds"), path(7, "Duration")),
        binding(path(9, "Duration"), path(1, "Left")),
        binding(path(55, "Actor"), path(1, "Right")),
    ];
    let bindings = vec![member("PropertyBindings", DraftValue::List(bindings))];
    let bindings = DraftValue::Struct("StateTreeEditorPropertyBindings".to_owned(), bindings);
    draft.set(data, "RootParametersGuid", DraftValue::Guid(guid(99)));
    draft.set(data, "EditorBindings", bindings);
    draft.set(data, "SubTrees", DraftValue::List(vec![DraftValue::Object(root)]));
    draft.set(root, "Name", DraftValue::Name("Root".to_owned()));
    draft.set(root, "Type", choice("EStateTreeStateType", "Group"));
    // A state that is its own child, which occurs only in damaged files.
    draft.set(
        root,
        "Children",
        DraftValue::List(vec![DraftValue::Object(open), DraftValue::Object(root)]),
    );
    draft.set(open, "Name", DraftValue::Name("Open".to_owned()));
    draft.set(open, "bEnabled", DraftValue::Bool(false));
    draft.set(open, "EnterConditions", DraftValue::List(vec![node(compare, "Left", 1)]));
    draft.set(open, "Tasks", DraftValue::List(vec![node(delay, "Duration", 7)]));
    let transition = |members: Vec<(String, DraftValue)>| {
        DraftValue::Struct("StateTreeTransition".to_owned(), members)
    };
    draft.set(
        open,
        "Transitions",
        DraftValue::List(vec![
            transition(vec![
                member("Trigger", choice("EStateTreeTransitionTrigger", "OnTick")),
                member("State", link("Root", "GotoState")),
                member("bDelayTransition", DraftValue::Bool(true)),
                member("DelayDuration", DraftValue::Float(0.5)),
                member("Conditions", DraftValue::List(vec![node(compare, "Left", 2)])),
            ]),
            transition(vec![member("State", link("None", "Succeeded"))]),
        ]),
    );
    draft
}

const TEXT: &str = "\
state tree ST_Door
  global task StateTreeDelayTask (Duration=9)
  state Root (Group)
    state Open, disabled
      enter if StateTreeCompareIntCondition (Left <- StateTreeDelayTask.Duration, Right <- Actor)
      task StateTreeDelayTask (Duration <- parameters.Seconds)
      on OnTick: go to Root after 0.5 s
        if StateTreeCompareIntCondition (bInvert=True, Left=2)
      on OnStateCompleted: go to Succeeded
    ... (further states are not shown)
";

#[test]
fn states_have_their_conditions_tasks_and_transitions() {
    // Before 5.0, there were no state trees.
    for profile in PROFILES.iter().filter(|profile| profile.name.starts_with('5')) {
        let bytes = draft(*profile).bytes();
        let package = Package::read(&bytes).expect("it is a package");
        let text = package.state_tree("/Game/ST_Door").expect("it has a state tree");
        assert_eq!(text, TEXT, "{}", profile.name);
    }
}

#[test]
fn undecoded_values_are_reported_and_other_packages_have_no_state_tree() {
    let mut other = DraftPackage::new(Profile::of("5.6"), "/Game/ST_Odd");
    let tree = other.export("/Script/StateTreeModule.StateTree", Index(0), "ST_Odd");
    let bytes = other.bytes();
    assert_eq!(Package::read(&bytes).expect("it is a package").state_tree("/Game/ST_Odd"), None);
    let data = other.export("/Script/StateTreeEditorModule.StateTreeEditorData", tree, "Data");
    let odd = other.import("ScriptStruct", "/Script/Odd.Task");
    let mut raw = odd.0.to_le_bytes().to_vec();
    raw.extend(5_i32.to_le_bytes());
    raw.extend([1, 2, 3, 4, 5]);
    let node = DraftValue::Struct(
        "StateTreeEditorNode".to_owned(),
        vec![member("Node", DraftValue::Raw("InstancedStruct".to_owned(), raw))],
    );
    other.set(data, "Evaluators", DraftValue::List(vec![node]));
    let bytes = other.bytes();
    let text = Package::read(&bytes).expect("it is a package").state_tree("/Game/ST_Odd");
    let text = text.expect("it has a state tree");
    assert!(text.contains("evaluator Task (5 bytes are not decoded)"), "{text}");
    assert!(text.contains("\n  not decoded: 1 values\n"), "{text}");
}
