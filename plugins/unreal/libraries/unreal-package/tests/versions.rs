//! Tests that the reader reads what the writer writes, for each engine version.

use unreal_package::{
    DependencyKind, Fault, Guid, Header, Index, Package, Value, flags,
    writer::{DraftPackage, DraftValue, PROFILES, Profile, blueprint},
};

/// Reads a header in steps: first the start of the file, then more bytes if the reader asks for them.
fn header(bytes: &[u8], first: usize) -> Header<'_> {
    let len = bytes.len() as u64;
    let mut have = first.min(bytes.len());
    for _ in 0..8 {
        match Header::read(&bytes[..have], len) {
            Ok(header) => return header,
            Err(Fault::NeedMore { bytes: more }) => {
                let more = usize::try_from(more).expect("it fits");
                assert!(more > have && more <= bytes.len(), "{more} after {have}");
                have = more;
            }
            Err(fault) => panic!("{fault}"),
        }
    }
    panic!("it asks for more again and again");
}

/// Whether the tags of arrays state the type of the items. Before the first release, they did not.
fn has_arrays(profile: &Profile) -> bool {
    profile.versions.ue4 >= 282
}

#[test]
fn every_version_has_its_tables() {
    for profile in PROFILES {
        let mut draft = blueprint(*profile, "/Game/Doors/BP_Door", "/Script/Engine.Actor");
        draft.soft("/Game/Sounds/S_Creak").editor_only("/Script/UnrealEd");
        let bytes = draft.bytes();
        let whole = header(&bytes, usize::MAX);
        let name = profile.name;
        assert_eq!(whole.warnings, [], "{name}");
        assert_eq!(whole.summary.versions, profile.versions, "{name}");
        assert_eq!(whole.summary.header_size, whole.exports[0].offset, "{name}");
        let end = whole.exports.iter().map(|export| export.offset + export.size).max();
        assert_eq!(end, Some(bytes.len() as u64 - 4), "{name}");
        if profile.versions.ue4 >= 336 {
            let engine = &whole.summary.engine;
            assert_eq!((engine.major, engine.minor), profile.engine, "{name}");
        }
        let assets: Vec<_> = whole.assets.iter().map(|asset| asset.path.as_ref()).collect();
        assert_eq!(assets, ["BP_Door", "BP_Door_C"], "{name}");
        let parent = whole.assets[0].tag("ParentClass").expect("it has one");
        assert!(parent.ends_with("Class'/Script/Engine.Actor'"), "{name}: {parent}");
        let flags_known = profile.versions.ue4 >= 521;
        let find = |package: &str| {
            let found = whole.dependencies.iter().find(|d| d.package == package);
            found.map(|dependency| (dependency.strength, dependency.editor_only))
        };
        assert_eq!(
            find("/Script/Engine"),
            Some((DependencyKind::Hard, flags_known.then_some(false))),
            "{name}"
        );
        assert_eq!(
            find("/Script/UnrealEd"),
            Some((DependencyKind::Hard, flags_known.then_some(true))),
            "{name}"
        );
        let soft = (profile.versions.ue4 >= 384)
            .then_some((DependencyKind::Soft, flags_known.then_some(false)));
        assert_eq!(find("/Game/Sounds/S_Creak"), soft, "{name}");
        // The result does not depend on the length of the first part.
        for first in [0, 4, 64, 200, 1000] {
            let again = header(&bytes, first);
            assert_eq!(format!("{again:?}"), format!("{whole:?}"), "{name} from {first}");
        }
    }
}

#[test]
fn every_version_has_its_graph() {
    for profile in PROFILES {
        let name = profile.name;
        let bytes = blueprint(*profile, "/Game/BP_Door", "/Script/Engine.Actor").bytes();
        let package = Package::read(&bytes).expect("it is one");
        for position in 0..package.header.exports.len() {
            let object = package.object(Index::of_export(position));
            assert_eq!(object.warnings, [], "{name} {position}");
            assert!(object.undecoded == 0 || !has_arrays(profile), "{name} {position}");
        }
        let [graph] = package.graphs("/Game/BP_Door").try_into().expect("there is one");
        let role = if has_arrays(profile) { "events" } else { "" };
        assert_eq!((graph.name.as_str(), graph.role), ("EventGraph", role), "{name}");
        let titles: Vec<_> = graph.nodes.iter().map(|node| node.title.as_str()).collect();
        assert_eq!(titles, ["Event ReceiveBeginPlay", "Call PrintString"], "{name}");
        assert_eq!(graph.nodes[1].position, (320, 0), "{name}");
        let [found] = package.blueprints("/Game/BP_Door").try_into().expect("there is one");
        assert_eq!(
            (found.name.as_str(), found.parent.as_str()),
            ("BP_Door", "/Script/Engine.Actor")
        );
        if !has_arrays(profile) {
            continue;
        }
        let [then] = graph.nodes[0].pins.as_slice() else { panic!("{name}: {graph:?}") };
        assert_eq!((then.name.as_str(), then.kind.as_str(), then.output), ("then", "exec", true));
        let link = then.links.first().expect(name);
        assert_eq!((link.node.as_str(), link.pin.as_str()), ("K2Node_CallFunction_3", "execute"));
        assert_eq!(graph.nodes[1].pins[1].value, "Hello", "{name}");
    }
}

#[test]
fn every_version_has_its_values() {
    for profile in PROFILES {
        let name = profile.name;
        let mut draft = DraftPackage::new(*profile, "/Game/Data");
        let object = draft.export("/Script/Game.Data", Index(0), "Data");
        let other = draft.import("/Script/Engine.StaticMesh", "/Game/Meshes/SM_Rock.SM_Rock");
        let pair =
            |a, b| vec![("A".to_owned(), DraftValue::Int(a)), ("B".to_owned(), DraftValue::Int(b))];
        let mut set = |key: &str, worth| {
            draft.set(object, key, worth);
        };
        set("bOpen", DraftValue::Bool(true));
        set("Count", DraftValue::Int(-7));
        set("Speed", DraftValue::Float(1.5));
        set("Weight", DraftValue::Double(2.25));
        set("Title", DraftValue::String("Tür 門 \"x\"".to_owned()));
        set("Tag", DraftValue::Name("Door_3".to_owned()));
        set("Label", DraftValue::Text("Open me".to_owned()));
        set("Mode", DraftValue::Enum("EMode".to_owned(), "EMode::Fast".to_owned()));
        set("Mesh", DraftValue::Object(other));
        set("Id", DraftValue::Guid(Guid([1, 2, 3, 4])));
        set("Where", DraftValue::Vector([1.0, -2.0, 3.5]));
        set("Pair", DraftValue::Struct("Pair".to_owned(), pair(1, 2)));
        if has_arrays(profile) {
            let names = ["a", "b"].map(|name| DraftValue::Name(name.to_owned()));
            set("Names", DraftValue::List(names.to_vec()));
            set("Bits", DraftValue::List(vec![DraftValue::Bool(true), DraftValue::Bool(false)]));
            let pairs =
                [(1, 2), (3, 4)].map(|(a, b)| DraftValue::Struct("Pair".to_owned(), pair(a, b)));
            set("Pairs", DraftValue::List(pairs.to_vec()));
        }
        if profile.versions.ue4 >= 384 {
            set("Later", DraftValue::Soft("/Game/Sounds/S_Creak.S_Creak".to_owned()));
        }
        if profile.versions.ue4 >= 509 {
            let entry = |k: &str, v| (DraftValue::Name(k.to_owned()), DraftValue::Int(v));
            set("Map", DraftValue::Map(vec![entry("x", 1), entry("y", 2)]));
        }
        let bytes = draft.bytes();
        let package = Package::read(&bytes).expect("it is one");
        let text = package.t3d(Index(1), "/Game/Data", 1 << 20);
        assert_eq!((text.told.undecoded, text.warnings.as_slice()), (0, &[][..]), "{name}");
        for line in [
            "bOpen=True",
            "Count=-7",
            "Speed=1.500000",
            "Weight=2.250000",
            "Title=\"Tür 門 \\\"x\\\"\"",
            "Tag=\"Door_3\"",
            "Mode=Fast",
            "Mesh=\"/Script/Engine.StaticMesh'/Game/Meshes/SM_Rock.SM_Rock'\"",
            "Id=00000001000000020000000300000004",
            "Where=(X=1.000000,Y=-2.000000,Z=3.500000)",
            "Pair=(A=1,B=2)",
        ] {
            assert!(text.text.contains(&format!("   {line}\n")), "{name}: {line}\n{}", text.text);
        }
        for line in ["Names(1)=\"b\"", "Bits(0)=True"] {
            assert_eq!(text.text.contains(line), has_arrays(profile), "{name}");
        }
        assert!(text.text.contains("\"Open me\""), "{name}");
        let soft = "Later=\"/Game/Sounds/S_Creak.S_Creak\"";
        assert_eq!(text.text.contains(soft), profile.versions.ue4 >= 384, "{name}");
        assert_eq!(text.text.contains("Pairs(1)=(A=3,B=4)"), has_arrays(profile), "{name}");
        let map = "Map=((\"x\", 1),(\"y\", 2))";
        assert_eq!(text.text.contains(map), profile.versions.ue4 >= 509, "{name}");
    }
}

#[test]
fn unreadable_files_name_the_reason() {
    let fault = |bytes: &[u8]| Header::read(bytes, bytes.len() as u64).expect_err("no package");
    let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 8943\n";
    assert_eq!(fault(pointer), Fault::LfsPointer { size: Some(8943) });
    assert!(fault(pointer).to_string().contains("git lfs pull"));
    for nothing in [&b""[..], b"\xc1", b"PK\x03\x04 not a package at all"] {
        assert_eq!(fault(nothing), Fault::NotAPackage);
    }
    assert_eq!(fault(&[0x9E, 0x2A, 0x83, 0xC1, 0, 0, 0, 0]), Fault::BigEndian);
    let begin = |numbers: &[i32]| {
        let mut bytes = 0x9E2A_83C1_u32.to_le_bytes().to_vec();
        numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        bytes.resize(64, 0);
        bytes
    };
    assert_eq!(fault(&begin(&[-7, 864, 0, 0])), Fault::Unversioned);
    assert_eq!(fault(&begin(&[-8, 864, 522, 1019, 0])), Fault::TooNew { legacy: -8, ue5: 1019 });
    assert_eq!(fault(&begin(&[-10, 864, 522, 1018, 0])), Fault::TooNew { legacy: -10, ue5: 1018 });
    assert_eq!(fault(&begin(&[-3, 864, 200, 0])), Fault::TooOld { legacy: -3, ue4: 200 });
    assert_eq!(fault(&begin(&[868, 1, 2, 3])), Fault::TooOld { legacy: 868, ue4: 0 });
    let bytes = blueprint(Profile::of("5.3"), "/Game/X", "/Script/Engine.Actor").bytes();
    assert!(matches!(fault(&bytes[..90]), Fault::Damaged { .. }));
}

#[test]
fn cooked_data_is_in_another_file() {
    let mut draft = blueprint(Profile::of("4.27"), "/Game/X", "/Script/Engine.Actor");
    draft.flags(flags::COOKED | flags::FILTER_EDITOR_ONLY);
    let bytes = draft.bytes();
    let header_size = header(&bytes, usize::MAX).summary.header_size;
    let split = &bytes[..usize::try_from(header_size).expect("it is small")];
    let package = Package::read(split).expect("its header is whole");
    assert!(package.header.summary.is_cooked());
    let [warning] = package.object(Index(1)).warnings.try_into().expect("there is one");
    assert!(warning.to_string().contains(".uexp"), "{warning}");
}

#[test]
fn damage_in_one_part_leaves_the_rest_readable() {
    let mut bytes = blueprint(Profile::of("5.5"), "/Game/X", "/Script/Engine.Actor").bytes();
    let exports = header(&bytes, usize::MAX).exports.len();
    // The name of the first asset with its length, then its class with its length.
    let name = b"\x02\0\0\0X\0\x19\0\0\0/Script/Engine.Blueprint";
    let at = bytes.windows(name.len()).position(|window| window == name).expect("it is there");
    bytes[at..at + 4].copy_from_slice(&i32::MAX.to_le_bytes());
    let read = header(&bytes, usize::MAX);
    assert_eq!((read.exports.len(), read.assets.len()), (exports, 0));
    let [warning] = read.warnings.as_slice() else { panic!("{:?}", read.warnings) };
    assert_eq!((warning.section, warning.at), ("asset registry data", at as u64 + 4));
    assert!(Package::read(&bytes).expect("it is one").object(Index(1)).warnings.is_empty());
}

#[test]
fn thumbnails_are_found() {
    let png = b"\x89PNG\r\n\x1a\nrest of the picture";
    for (picture, mime) in
        [(&png[..], Some("image/png")), (b"\xff\xd8\xff\xe0x", Some("image/jpeg")), (b"none", None)]
    {
        for profile in PROFILES {
            let mut draft = blueprint(*profile, "/Game/X", "/Script/Engine.Actor");
            draft.thumbnail("X", picture);
            let bytes = draft.bytes();
            let package = Package::read(&bytes).expect("it is one");
            let found = package.thumbnails();
            assert_eq!(found.first().map(|picture| picture.mime_type), mime, "{}", profile.name);
            if let Some(thumbnail) = found.first() {
                assert_eq!((thumbnail.object.as_str(), thumbnail.width), ("X", 16));
                assert_eq!(thumbnail.bytes, picture);
            }
        }
    }
}

#[test]
fn the_actors_of_a_level_are_listed() {
    for (name, skip) in [("4.18", 4), ("4.27", 0), ("5.6", 0)] {
        let mut draft = DraftPackage::new(Profile::of(name), "/Game/Map");
        let world = draft.export("/Script/Engine.World", Index(0), "Map");
        let level = draft.export("/Script/Engine.Level", world, "PersistentLevel");
        let door = draft.export("/Script/Engine.Actor", level, "Door_1");
        let lamp = draft.export("/Script/Engine.Light", level, "Lamp");
        let _model = draft.export("/Script/Engine.Model", level, "Model_0");
        let mut list = vec![0; skip];
        for number in [3, door.0, 0, lamp.0] {
            list.extend(number.to_le_bytes());
        }
        draft.native(level, &list);
        let bytes = draft.bytes();
        let package = Package::read(&bytes).expect("it is one");
        assert_eq!(package.actors(level), Some(vec![door, lamp]), "{name}");
        assert_eq!(package.actors(door), None, "{name}");
    }
}

#[test]
fn paths_are_as_the_engine_writes_them() {
    let bytes = blueprint(Profile::of("5.6"), "/Game/D/X", "/Game/Base.Base_C").bytes();
    let package = Package::read(&bytes).expect("it is one");
    let header = &package.header;
    assert_eq!(header.path(Index(1), "/Game/D/X"), "/Game/D/X.X");
    assert_eq!(header.path(Index(3), "/Game/D/X"), "/Game/D/X.X:EventGraph");
    assert_eq!(header.path(Index(4), "/Game/D/X"), "/Game/D/X.X:EventGraph.K2Node_Event_0");
    assert_eq!(header.path_within(Index(4)), "X:EventGraph.K2Node_Event_0");
    let object = package.object(Index(1));
    let parent = object.get(header, "ParentClass").and_then(Value::object).expect("it is there");
    assert_eq!(header.path(parent, "/Game/D/X"), "/Game/Base.Base_C");
    assert_eq!(header.class_path(Index(3), "/Game/D/X"), "/Script/Engine.EdGraph");
}

#[test]
fn a_text_ends_at_its_limit() {
    let bytes = blueprint(Profile::of("5.6"), "/Game/X", "/Script/Engine.Actor").bytes();
    let package = Package::read(&bytes).expect("it is one");
    let text = package.t3d(Index(1), "/Game/X", 400);
    assert!(text.told.cut && text.text.len() < 2_000, "{}", text.text.len());
    assert!(package.markdown("/Game/X", 40).contains("cut here"));
    let whole = package.markdown("/Game/X", 1 << 20);
    assert!(whole.contains("1. **Event ReceiveBeginPlay**\n   - `then` → 2.`execute`"), "{whole}");
}

#[test]
fn objects_that_are_nested_too_deep_are_counted() {
    let text_of = |depth: usize| {
        let mut draft = DraftPackage::new(Profile::of("5.6"), "/Game/X");
        let mut outer = Index(0);
        for level in 0..depth {
            outer = draft.export("/Script/CoreUObject.Object", outer, &format!("Level{level}"));
        }
        let bytes = draft.bytes();
        let package = Package::read(&bytes).expect("it is one");
        package.t3d(Index(1), "/Game/X", 1 << 20)
    };
    let whole = text_of(33);
    assert!(whole.text.contains("Level32") && whole.warnings.is_empty(), "{:?}", whole.warnings);
    let cut = text_of(36);
    assert!(cut.text.contains("Level32") && !cut.text.contains("Level33"), "{}", cut.text);
    let [warning] = cut.warnings.as_slice() else { panic!("{:?}", cut.warnings) };
    assert!(warning.starts_with("objects nested deeper than 32 levels"), "{warning}");
    assert!(warning.contains("(1 in all)"), "{warning}");
}

#[test]
fn the_budget_limits_how_often_an_object_is_read() {
    let bytes = blueprint(Profile::of("5.6"), "/Game/X", "/Script/Engine.Actor").bytes();
    let package = Package::read(&bytes).expect("it is one");
    let mut reads = 0;
    while package.object(Index(1)).warnings.is_empty() {
        reads += 1;
        assert!(reads < 10_000_000, "it goes on and on");
    }
    assert!(reads > 24, "{reads} times is not enough");
}

#[test]
fn a_blueprint_has_variables_and_components() {
    for name in ["4.10", "4.27", "5.6"] {
        let mut draft = blueprint(Profile::of(name), "/Game/X", "/Script/Engine.Actor");
        let (asset, event) = (Index(1), Index(4));
        let named = |key: &str, name: &str| (key.to_owned(), DraftValue::Name(name.to_owned()));
        let kind = ("VarType".to_owned(), DraftValue::PinType("bool".to_owned()));
        let variable = vec![named("VarName", "bOpen"), kind];
        let variable = DraftValue::Struct("BPVariableDescription".to_owned(), variable);
        draft.set(asset, "NewVariables", DraftValue::List(vec![variable]));
        let tree = draft.export("/Script/Engine.SimpleConstructionScript", asset, "Tree");
        let class = draft.import("Class", "/Script/Engine.StaticMeshComponent");
        let [root, child] = ["SCS_Node_0", "SCS_Node_1"]
            .map(|name| draft.export("/Script/Engine.SCS_Node", tree, name));
        draft.set(root, "InternalVariableName", DraftValue::Name("Root".to_owned()));
        draft.set(root, "ChildNodes", DraftValue::List(vec![DraftValue::Object(child)]));
        draft.set(child, "InternalVariableName", DraftValue::Name("Leaf".to_owned()));
        draft.set(child, "ComponentClass", DraftValue::Object(class));
        draft.set(asset, "SimpleConstructionScript", DraftValue::Object(tree));
        let state = ("ENodeEnabledState".to_owned(), "ENodeEnabledState::Disabled".to_owned());
        draft.set(event, "EnabledState", DraftValue::Enum(state.0, state.1));
        let bytes = draft.bytes();
        let package = Package::read(&bytes).expect("it is one");
        let found = package.blueprints("/Game/X").remove(0);
        let components: Vec<_> = found
            .components
            .iter()
            .map(|part| (part.name.as_str(), part.class.as_str(), part.parent.as_str()))
            .collect();
        let leaf = ("Leaf", "/Script/Engine.StaticMeshComponent", "Root");
        assert_eq!(components, [("Root", "", ""), leaf], "{name}");
        let variables: Vec<_> =
            found.variables.iter().map(|v| (v.name.as_str(), v.kind.as_str())).collect();
        assert_eq!(variables, [("bOpen", "bool")], "{name}");
        let text = package.markdown("/Game/X", 1 << 20);
        assert!(text.contains("- `Leaf`: StaticMeshComponent, attached to `Root`"), "{text}");
        assert!(text.contains("1. **Event ReceiveBeginPlay** (Disabled)"), "{text}");
    }
}
