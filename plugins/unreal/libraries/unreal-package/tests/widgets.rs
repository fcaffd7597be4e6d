//! Tests of widget Blueprints: their widgets as a tree, and bindings.

use unreal_package::{
    Index, Package,
    writer::{DraftPackage, DraftValue, PROFILES, Profile},
};

fn structure(kind: &str, members: &[(&str, DraftValue)]) -> DraftValue {
    let members = members.iter().map(|(name, worth)| ((*name).to_owned(), worth.clone()));
    DraftValue::Struct(kind.to_owned(), members.collect())
}

fn name(text: &str) -> DraftValue {
    DraftValue::Name(text.to_owned())
}

/// A menu: a canvas that has a button and a box with a title. The button is the first in the file and the last on the
/// canvas.
fn menu(profile: Profile) -> Vec<u8> {
    let mut draft = DraftPackage::new(profile, "/Game/WBP_Menu");
    let asset = draft.export("/Script/UMGEditor.WidgetBlueprint", Index(0), "WBP_Menu");
    let tree = draft.export("/Script/UMG.WidgetTree", asset, "WidgetTree");
    draft.set(asset, "WidgetTree", DraftValue::Object(tree));
    let widget = |draft: &mut DraftPackage, class: &str, name: &str| {
        draft.export(&format!("/Script/UMG.{class}"), tree, name)
    };
    let button = widget(&mut draft, "Button", "Start");
    let title = widget(&mut draft, "TextBlock", "Title");
    let frame = widget(&mut draft, "SizeBox", "Frame");
    let canvas = widget(&mut draft, "CanvasPanel", "Canvas");
    for (parent, contents) in [(canvas, vec![frame, button]), (frame, vec![title])] {
        let mut slots = Vec::new();
        for (number, content) in contents.into_iter().enumerate() {
            let slot = draft.export("/Script/UMG.PanelSlot", parent, &format!("Slot_{number}"));
            draft.set(slot, "Content", DraftValue::Object(content));
            slots.push(DraftValue::Object(slot));
        }
        draft.set(parent, "Slots", DraftValue::List(slots));
    }
    let by_function = structure(
        "DelegateEditorBinding",
        &[
            ("ObjectName", DraftValue::String("Title".to_owned())),
            ("PropertyName", name("Text")),
            ("FunctionName", name("GetTitle")),
        ],
    );
    draft.set(asset, "Bindings", DraftValue::List(vec![by_function]));
    draft.bytes()
}

#[test]
fn widgets_are_a_tree_and_their_bindings_are_listed() {
    for profile in PROFILES {
        let bytes = menu(*profile);
        let package = Package::read(&bytes).expect("it is a package");
        let blueprints = package.blueprints("/Game/WBP_Menu");
        let [blueprint] = blueprints.as_slice() else { panic!("{}", profile.name) };
        let told: Vec<_> = blueprint
            .widgets
            .iter()
            .map(|widget| (widget.name.as_str(), widget.class.as_str(), widget.parent.as_str()))
            .collect();
        let wanted = [
            ("Canvas", "/Script/UMG.CanvasPanel", ""),
            ("Frame", "/Script/UMG.SizeBox", "Canvas"),
            ("Title", "/Script/UMG.TextBlock", "Frame"),
            ("Start", "/Script/UMG.Button", "Canvas"),
        ];
        // Before this version, lists did not state the type of their items, so only the object's class could read the
        // items.
        if profile.versions.ue4 >= unreal_package::ue4::ARRAY_INNER_TYPE {
            assert_eq!(told, wanted, "{}", profile.name);
            let [binding] = blueprint.bindings.as_slice() else { panic!("{}", profile.name) };
            assert_eq!((binding.widget.as_str(), binding.property.as_str()), ("Title", "Text"));
            assert_eq!(binding.source, "GetTitle", "{}", profile.name);
        } else {
            assert_eq!(told.len(), 4, "{}", profile.name);
        }
    }
    let bytes = menu(Profile::of("5.6"));
    let package = Package::read(&bytes).expect("it is a package");
    let text = package.pseudo_code("/Game/WBP_Menu");
    assert!(text.contains("  widget Title: TextBlock in Frame\n"), "{text}");
    assert!(text.contains("  bind Title.Text = GetTitle\n"), "{text}");
    let text = package.markdown("/Game/WBP_Menu", 10_000);
    assert!(text.contains("- `Start`: Button, in `Canvas`\n"), "{text}");
    assert!(text.contains("- `Title.Text` ← `GetTitle`\n"), "{text}");
    assert!(package.outline("/Game/WBP_Menu").contains("widgets: Canvas, Frame, Title, Start"));
}

/// A widget Blueprint with size boxes of these names. Each pair names a widget and a widget in one of its slots.
fn boxes(names: &[&str], slots: &[(&str, &str)]) -> Vec<u8> {
    let mut draft = DraftPackage::new(Profile::of("5.6"), "/Game/WBP_Loop");
    let asset = draft.export("/Script/UMGEditor.WidgetBlueprint", Index(0), "WBP_Loop");
    let tree = draft.export("/Script/UMG.WidgetTree", asset, "WidgetTree");
    draft.set(asset, "WidgetTree", DraftValue::Object(tree));
    let widgets: Vec<Index> =
        names.iter().map(|name| draft.export("/Script/UMG.SizeBox", tree, name)).collect();
    let of = |wanted: &str| widgets[names.iter().position(|name| *name == wanted).expect("named")];
    for parent in names {
        let mut list = Vec::new();
        for (_, content) in slots.iter().filter(|(within, _)| within == parent) {
            let slot = draft.export("/Script/UMG.PanelSlot", of(parent), "Slot");
            draft.set(slot, "Content", DraftValue::Object(of(content)));
            list.push(DraftValue::Object(slot));
        }
        draft.set(of(parent), "Slots", DraftValue::List(list));
    }
    draft.bytes()
}

/// The widgets of the only Blueprint, each with its parent, and the messages about widgets.
fn told(package: &Package<'_>) -> (Vec<String>, Vec<String>) {
    let blueprint = package.blueprints("/Game/WBP_Loop").remove(0);
    let widgets = blueprint.widgets.iter();
    (widgets.map(|it| format!("{} in {}", it.name, it.parent)).collect(), blueprint.faults)
}

#[test]
fn widgets_in_a_cycle_are_listed_and_said() {
    let bytes = boxes(&["Top", "A", "B", "C"], &[("A", "B"), ("B", "A"), ("A", "C")]);
    let package = Package::read(&bytes).expect("it is a package");
    let (widgets, faults) = told(&package);
    assert_eq!(widgets, ["Top in ", "A in B", "B in A", "C in A"]);
    let fault = "these widgets are below no root, since some of them contain each other: A, B, C";
    assert_eq!(faults, [fault]);
    for text in [
        package.pseudo_code("/Game/WBP_Loop"),
        package.outline("/Game/WBP_Loop"),
        package.markdown("/Game/WBP_Loop", 10_000),
    ] {
        assert!(text.contains(fault), "{text}");
    }
}

#[test]
fn a_widget_in_several_slots_is_listed_once_and_said() {
    let slots = [("Top", "Inner"), ("Side", "Inner"), ("Side", "Inner"), ("Inner", "Leaf")];
    let bytes = boxes(&["Top", "Side", "Inner", "Leaf"], &slots);
    let package = Package::read(&bytes).expect("it is a package");
    let (widgets, faults) = told(&package);
    assert_eq!(widgets, ["Top in ", "Side in ", "Inner in Side", "Leaf in Inner"]);
    assert_eq!(faults, ["these widgets are in several slots, and only the last counts: Inner"]);
}

#[test]
fn a_widget_in_itself_is_said() {
    let bytes = boxes(&["Top", "Inner"], &[("Top", "Inner"), ("Inner", "Inner")]);
    let (widgets, faults) = told(&Package::read(&bytes).expect("it is a package"));
    assert_eq!(widgets, ["Top in ", "Inner in Inner"]);
    assert_eq!(faults.len(), 2, "{faults:?}");
}

#[test]
fn many_widgets_are_counted() {
    let names: Vec<String> = (0..20_003).map(|number| format!("W_{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut draft = DraftPackage::new(Profile::of("5.6"), "/Game/WBP_Loop");
    let asset = draft.export("/Script/UMGEditor.WidgetBlueprint", Index(0), "WBP_Loop");
    let tree = draft.export("/Script/UMG.WidgetTree", asset, "WidgetTree");
    draft.set(asset, "WidgetTree", DraftValue::Object(tree));
    for name in &names {
        draft.export("/Script/UMG.SizeBox", tree, name);
    }
    let bytes = draft.bytes();
    let (widgets, faults) = told(&Package::read(&bytes).expect("it is a package"));
    assert_eq!(widgets.len(), 20_000);
    assert_eq!(faults, ["only the first 20000 of 20003 widgets are read"]);
}
