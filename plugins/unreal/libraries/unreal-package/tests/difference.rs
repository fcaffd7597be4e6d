//! Tests the comparison of two versions of a package, which lists each change and nothing else, and the listing of
//! one version.

use unreal_package::{
    Difference, Guid, Index, Package, Part, difference, listing,
    writer::{DraftPackage, DraftPin, DraftValue, PROFILES, Profile, blueprint},
};

const PACKAGE: &str = "/Game/BP_Door";
/// The exports that every generated Blueprint begins with.
const ASSET: Index = Index(1);
const GRAPH: Index = Index(3);

fn door(profile: Profile, change: impl FnOnce(&mut DraftPackage, Index)) -> Vec<u8> {
    let mut draft = blueprint(profile, PACKAGE, "/Script/Engine.Actor");
    let node = draft.export("/Script/BlueprintGraph.K2Node_CustomEvent", GRAPH, "Knock");
    draft.set(node, "CustomFunctionName", DraftValue::Name("OnKnock".to_owned()));
    draft.set(node, "NodeGuid", DraftValue::Guid(Guid([1, 2, 3, 4])));
    let id = Guid([0, 0, 0, 90]);
    let pin =
        DraftPin { id, name: "Hand".to_owned(), kind: "string".to_owned(), ..DraftPin::default() };
    draft.pins(node, &[DraftPin { default: "left".to_owned(), ..pin }]);
    change(&mut draft, node);
    draft.bytes()
}

fn compared(before: &[u8], after: &[u8]) -> Difference {
    let read = |bytes| Package::read(bytes).expect("it is a package");
    difference(&read(before), &read(after), PACKAGE)
}

fn parts(found: &Difference) -> Vec<(Part, &str, Option<&str>, Option<&str>)> {
    found
        .changes
        .iter()
        .map(|c| (c.part, c.name.as_str(), c.before.as_deref(), c.after.as_deref()))
        .collect()
}

fn variable(name: &str) -> DraftValue {
    let members = vec![
        ("VarName".to_owned(), DraftValue::Name(name.to_owned())),
        ("VarType".to_owned(), DraftValue::PinType("bool".to_owned())),
    ];
    DraftValue::List(vec![DraftValue::Struct("BPVariableDescription".to_owned(), members)])
}

#[test]
fn equal_versions_do_not_differ() {
    for profile in PROFILES {
        let bytes = door(*profile, |_, _| {});
        assert_eq!(compared(&bytes, &bytes), Difference::default(), "{}", profile.name);
    }
}

#[test]
fn each_change_is_listed_and_nothing_else() {
    let profile = Profile::of("5.6");
    let before = door(profile, |_, _| {});
    let after = door(profile, |draft, _| {
        draft.set(ASSET, "NewVariables", variable("bOpen"));
    });
    let found = compared(&before, &after);
    assert_eq!(parts(&found), [(Part::Variable, "bOpen", None, Some("bool"))]);
    let found = compared(&after, &before);
    assert_eq!(parts(&found), [(Part::Variable, "bOpen", Some("bool"), None)]);
    let moved = door(profile, |draft, node| {
        draft.set(node, "NodePosX", DraftValue::Int(16));
    });
    let found = compared(&before, &moved);
    assert_eq!((found.moved, found.changes.len()), (1, 0), "{found:?}");
    let commented = door(profile, |draft, node| {
        draft.set(node, "NodeComment", DraftValue::String("Who is there?".to_owned()));
    });
    let found = compared(&before, &commented);
    assert_eq!(parts(&found), [(Part::Node, "comment", Some(""), Some("Who is there?"))]);
    assert!(found.changes[0].place.starts_with("EventGraph: Custom event OnKnock"), "{found:?}");
    let hard = door(profile, |draft, _| {
        draft.import("/Script/Engine.StaticMesh", "/Game/SM_Door.SM_Door");
        draft.soft("/Game/S_Creak");
    });
    let found = compared(&before, &hard);
    let expected = [
        (Part::Dependency, "/Game/SM_Door", None, Some("hard")),
        (Part::Dependency, "/Game/S_Creak", None, Some("soft")),
    ];
    assert_eq!(parts(&found), expected);
}

#[test]
fn pins_links_and_nodes() {
    let profile = Profile::of("5.6");
    let before = door(profile, |_, _| {});
    let id = Guid([0, 0, 0, 90]);
    let pin =
        DraftPin { id, name: "Hand".to_owned(), kind: "string".to_owned(), ..DraftPin::default() };
    let right = door(profile, |draft, node| {
        draft.pins(node, &[DraftPin { default: "right".to_owned(), ..pin.clone() }]);
    });
    let found = compared(&before, &right);
    let told = (Part::Pin, "input Hand", Some("string = left"), Some("string = right"));
    assert_eq!(parts(&found), [told]);
    // Another node whose output is linked to the pin.
    let linked = door(profile, |draft, node| {
        let other = draft.export("/Script/BlueprintGraph.K2Node_CustomEvent", GRAPH, "Bell");
        draft.set(other, "CustomFunctionName", DraftValue::Name("OnBell".to_owned()));
        draft.set(other, "NodeGuid", DraftValue::Guid(Guid([5, 5, 5, 5])));
        let from = Guid([0, 0, 0, 91]);
        let out = DraftPin { id: from, name: "Out".to_owned(), output: true, ..pin.clone() };
        draft.pins(other, &[DraftPin { links: vec![(node, id)], ..out }]);
        draft.pins(node, &[DraftPin { links: vec![(other, from)], ..pin.clone() }]);
    });
    let found = compared(&before, &linked);
    let kinds: Vec<Part> = found.changes.iter().map(|change| change.part).collect();
    assert_eq!(kinds, [Part::Pin, Part::Node, Part::Link], "{found:?}");
    assert_eq!(found.changes[1].after.as_deref(), Some("K2Node_CustomEvent"));
    let link = &found.changes[2].name;
    assert!(link.contains("OnBell (Bell).Out → Custom event OnKnock (Knock).Hand"), "{link}");
}

#[test]
fn a_renamed_node_is_the_same_node() {
    let profile = Profile::of("5.6");
    let of = |name: &str| {
        let mut draft = blueprint(profile, PACKAGE, "/Script/Engine.Actor");
        let node = draft.export("/Script/BlueprintGraph.K2Node_CustomEvent", GRAPH, name);
        draft.set(node, "CustomFunctionName", DraftValue::Name("OnKnock".to_owned()));
        draft.set(node, "NodeGuid", DraftValue::Guid(Guid([1, 2, 3, 4])));
        draft.pins(node, &[]);
        draft.bytes()
    };
    let found = compared(&of("Knock_1"), &of("Knock_2"));
    assert_eq!(found.changes, [], "{found:?}");
}

#[test]
fn a_removed_blueprint_is_listed_with_its_parts() {
    let profile = Profile::of("5.6");
    let with = door(profile, |draft, _| {
        draft.set(ASSET, "NewVariables", variable("bOpen"));
    });
    let mut without = DraftPackage::new(profile, PACKAGE);
    without.export("/Script/Engine.DataTable", Index(0), "DT");
    let without = without.bytes();
    let asset = Some("Blueprint");
    let parent = Some("/Script/Engine.Actor");
    let (of_blueprint, graph) = (Some("bool"), Some("3 nodes"));
    let found = compared(&with, &without);
    let told = parts(&found);
    for removed in [
        (Part::Parent, "BP_Door", parent, None),
        (Part::Variable, "bOpen", of_blueprint, None),
        (Part::Graph, "EventGraph", graph, None),
        (Part::Object, "BP_Door", asset, None),
        (Part::Object, "DT", None, Some("DataTable")),
    ] {
        assert!(told.contains(&removed), "{removed:?}: {found:?}");
    }
    let found = compared(&without, &with);
    let told = parts(&found);
    for added in [
        (Part::Parent, "BP_Door", None, parent),
        (Part::Variable, "bOpen", None, of_blueprint),
        (Part::Graph, "EventGraph", None, graph),
    ] {
        assert!(told.contains(&added), "{added:?}: {found:?}");
    }
}

/// A second Blueprint in the package of the door, with a graph of the same name.
fn with_second(draft: &mut DraftPackage) {
    let second = draft.export("/Script/Engine.Blueprint", Index(0), "BP_Bell");
    let parent = draft.import("Class", "/Script/Engine.Pawn");
    draft.set(second, "ParentClass", DraftValue::Object(parent));
    draft.set(second, "NewVariables", variable("bRung"));
    draft.export("/Script/Engine.EdGraph", second, "EventGraph");
}

#[test]
fn one_of_two_blueprints_is_removed() {
    let profile = Profile::of("5.6");
    let one = door(profile, |_, _| {});
    let two = door(profile, |draft, _| with_second(draft));
    let found = compared(&two, &one);
    let expected = [
        (Part::Parent, "BP_Bell", Some("/Script/Engine.Pawn"), None),
        (Part::Variable, "bRung", Some("bool"), None),
        (Part::Graph, "EventGraph", Some("0 nodes"), None),
        (Part::Object, "BP_Bell", Some("Blueprint"), None),
    ];
    assert_eq!(parts(&found), expected);
    let places: Vec<&str> = found.changes.iter().map(|change| change.place.as_str()).collect();
    assert_eq!(places, ["", "BP_Bell", "", ""]);
    // A Blueprint that keeps its name is found at any position in the package.
    let swapped = {
        let mut draft = DraftPackage::new(profile, PACKAGE);
        with_second(&mut draft);
        draft.bytes()
    };
    let found = compared(&two, &swapped);
    assert!(found.changes.iter().all(|change| change.name != "bRung"), "{found:?}");
}

#[test]
fn a_copy_of_a_node_is_one_addition() {
    let profile = Profile::of("5.6");
    let of = |copies: usize| {
        door(profile, |draft, _| {
            for number in 0..copies {
                let copy = format!("Knock_{number}");
                let copy = draft.export("/Script/BlueprintGraph.K2Node_CustomEvent", GRAPH, &copy);
                draft.set(copy, "NodeGuid", DraftValue::Guid(Guid([1, 2, 3, 4])));
                draft.pins(copy, &[]);
            }
        })
    };
    let found = compared(&of(0), &of(1));
    let kinds: Vec<_> = found.changes.iter().map(|c| (c.part, c.before.is_some())).collect();
    assert_eq!(kinds, [(Part::Node, false)], "{found:?}");
}

#[test]
fn rows_properties_and_data_that_is_not_decoded() {
    let profile = Profile::of("5.4");
    let of = |price: i32, more: bool, data: &[u8]| {
        let mut draft = DraftPackage::new(profile, "/Game/DT");
        let table = draft.export("/Script/Engine.DataTable", Index(0), "DT");
        let row = |price| vec![("Price".to_owned(), DraftValue::Int(price))];
        let mut rows = vec![("Sword", row(price))];
        if more {
            rows.push(("Bow", row(7)));
        }
        draft.rows(table, &rows);
        let texture = draft.export("/Script/Engine.Texture2D", Index(0), "T");
        draft.set(texture, "Size", DraftValue::Int(price * 2));
        draft.native(texture, data);
        draft.bytes()
    };
    let found = compared(&of(1, false, b"12345678"), &of(3, true, b"12345679"));
    let expected = [
        (Part::Row, "Price", Some("1"), Some("3")),
        (Part::Row, "Bow", None, Some("Price=7")),
        (Part::Property, "Size", Some("2"), Some("6")),
        (Part::Data, "T", Some("8 bytes"), Some("8 bytes")),
    ];
    assert_eq!(parts(&found), expected);
    let text = found.markdown(0, 100);
    assert!(text.contains("**DT: Sword**\n\n- ~ row `Price`: 1 → 3\n"), "{text}");
    assert!(text.contains("- + row `Bow`: Price=7\n"), "{text}");
    assert!(text.contains("- ~ data, not decoded `T`: 8 bytes → 8 bytes"), "{text}");
    assert_eq!(found.markdown(1, 1), "**DT**\n\n- + row `Bow`: Price=7\n");
}

/// The lines of a package's listing.
fn lines(bytes: &[u8]) -> Vec<String> {
    let found = listing(&Package::read(bytes).expect("it is a package"), PACKAGE);
    assert!(found.changes.iter().all(|change| change.before.is_none() && change.after.is_some()));
    found.contents_markdown(0, usize::MAX).lines().map(str::to_owned).collect()
}

#[test]
fn a_listing_has_everything() {
    for profile in PROFILES {
        let listed = lines(&door(*profile, |draft, node| {
            draft.set(node, "NodeComment", DraftValue::String("Who is there?".to_owned()));
            draft.soft("/Game/S_Creak");
        }));
        let all = listed.join("\n");
        for line in [
            "- parent class `BP_Door`: /Script/Engine.Actor",
            "- graph `EventGraph`: 3 nodes",
            "- node `comment`: Who is there?",
            "- object `BP_Door`: Blueprint",
        ] {
            assert!(listed.iter().any(|listed| listed == line), "{}: {line}: {all}", profile.name);
        }
        assert!(all.contains("- engine `saved with`: ") && all.contains("K2Node_CustomEvent"));
    }
}

#[test]
fn every_change_changes_the_lines_of_the_listing() {
    let profile = Profile::of("5.6");
    let plain = lines(&door(profile, |_, _| {}));
    let changed = |change: &dyn Fn(&mut DraftPackage, Index)| {
        let listed = lines(&door(profile, change));
        listed.into_iter().filter(|line| !plain.contains(line)).collect::<Vec<_>>()
    };
    assert_eq!(changed(&|_, _| {}), [""; 0]);
    let found = changed(&|draft, _| {
        draft.set(ASSET, "NewVariables", variable("bOpen"));
    });
    assert_eq!(found, ["- variable `bOpen`: bool"]);
    let id = Guid([0, 0, 0, 90]);
    let found = changed(&|draft, node| {
        let pin = DraftPin { id, name: "Hand".to_owned(), ..DraftPin::default() };
        draft.pins(
            node,
            &[DraftPin { kind: "string".to_owned(), default: "right".to_owned(), ..pin }],
        );
    });
    assert_eq!(found, ["- pin `input Hand`: string = right"]);
    // A long list is taken apart, so that a change of one item changes one line.
    let items = |last: i32| {
        changed(&|draft, _| {
            let items = (0..200)
                .map(|number| DraftValue::Int(number * 1_000))
                .chain([DraftValue::Int(last)]);
            draft.set(ASSET, "Numbers", DraftValue::List(items.collect()));
        })
    };
    let (one, other) = (items(1), items(2));
    let new = other.iter().filter(|line| !one.contains(line)).collect::<Vec<_>>();
    assert_eq!(new, ["- property `Numbers(200)`: 2"]);
    let long = |last: &str| {
        let value = format!("{}{last}", "x".repeat(1_000));
        changed(&|draft, _| {
            draft.set(ASSET, "BlueprintDescription", DraftValue::String(value.clone()));
        })
    };
    assert!(long("a")[1].starts_with("- property `BlueprintDescription`: "), "{:?}", long("a"));
    assert_ne!(long("a"), long("b"));
    let data = |bytes: &'static [u8]| {
        changed(&|draft, _| {
            let texture = draft.export("/Script/Engine.Texture2D", Index(0), "T");
            draft.native(texture, bytes);
        })
    };
    let (one, other) = (data(b"12345678"), data(b"12345679"));
    assert!(one.len() == 2 && one[1].contains("`T`: 8 bytes, checksum "), "{one:?}");
    assert_ne!(one, other);
}

#[test]
fn damaged_packages_do_not_panic() {
    let bytes = door(Profile::of("5.6"), |_, _| {});
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x5A;
        let (Ok(before), Ok(after)) = (Package::read(&bytes), Package::read(&damaged)) else {
            continue;
        };
        let found = difference(&before, &after, PACKAGE);
        assert!(found.changes.len() <= 20_000 && listing(&after, PACKAGE).changes.len() <= 20_000);
    }
}
