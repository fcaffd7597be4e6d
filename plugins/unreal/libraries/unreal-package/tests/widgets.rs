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

#[test]
fn reading_cyclic_widgets_ends() {
    let mut draft = DraftPackage::new(Profile::of("5.6"), "/Game/WBP_Loop");
    let asset = draft.export("/Script/UMGEditor.WidgetBlueprint", Index(0), "WBP_Loop");
    let tree = draft.export("/Script/UMG.WidgetTree", asset, "WidgetTree");
    draft.set(asset, "WidgetTree", DraftValue::Object(tree));
    let top = draft.export("/Script/UMG.SizeBox", tree, "Top");
    let inner = draft.export("/Script/UMG.SizeBox", tree, "Inner");
    for (parent, content) in [(top, inner), (inner, inner)] {
        let slot = draft.export("/Script/UMG.PanelSlot", parent, "Slot");
        draft.set(slot, "Content", DraftValue::Object(content));
        draft.set(
            parent,
            "Slots",
            DraftValue::List(vec![DraftValue::Object(slot), DraftValue::Object(slot)]),
        );
    }
    let bytes = draft.bytes();
    let package = Package::read(&bytes).expect("it is a package");
    let blueprint = &package.blueprints("/Game/WBP_Loop")[0];
    assert!(blueprint.widgets.len() <= 8, "{:?}", blueprint.widgets);
}
