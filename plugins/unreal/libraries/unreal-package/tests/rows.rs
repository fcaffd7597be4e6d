//! Tests that the content of tables is read in each engine version, and that nothing is left out
//! without a message.

use unreal_package::{
    Index, Label, Package, Rows, Value,
    writer::{DraftPackage, DraftValue, PROFILES, Profile},
};

fn row(price: i32, title: &str) -> Vec<(String, DraftValue)> {
    vec![
        ("Price".to_owned(), DraftValue::Int(price)),
        ("Title".to_owned(), DraftValue::String(title.to_owned())),
    ]
}

fn data_table(profile: Profile) -> DraftPackage {
    let mut draft = DraftPackage::new(profile, "/Game/DT_Items");
    let table = draft.export("/Script/Engine.DataTable", Index(0), "DT_Items");
    draft.rows(table, &[("Sword", row(10, "A \"sword\"")), ("Bow", row(7, "A bow"))]);
    draft.asset("DT_Items", "/Script/Engine.DataTable", &[]);
    draft
}

#[test]
fn rows_of_a_data_table() {
    for profile in PROFILES {
        let bytes = data_table(*profile).bytes();
        let package = Package::read(&bytes).expect("it is a package");
        let object = package.object(Index(1));
        let name = profile.name;
        assert_eq!((object.warnings.as_slice(), object.native), (&[][..], None), "{name}");
        let Some(Rows::Named(rows)) = object.rows else { panic!("{name}: {object:?}") };
        let names: Vec<_> = rows.iter().map(|(name, _)| package.header.name(*name)).collect();
        assert_eq!(names, ["Sword", "Bow"], "{name}");
        assert_eq!(rows[1].1[0].value, Value::Int(7), "{name}");
        let text = package.t3d(Index(1), "/Game/DT_Items", 10_000);
        let line = "   Row(\"Sword\")=(Price=10,Title=\"A \\\"sword\\\"\")\n";
        assert!(text.text.contains(line), "{name}: {}", text.text);
        assert_eq!((text.told.rows, text.told.native_bytes), (2, 0), "{name}");
    }
}

#[test]
fn curves_with_and_without_their_kind() {
    for profile in PROFILES {
        for kind in [None, Some(1), Some(2)] {
            let mut draft = DraftPackage::new(*profile, "/Game/CT_Speed");
            let table = draft.export("/Script/Engine.CurveTable", Index(0), "CT_Speed");
            let curves = [("Walk", row(1, "a")), ("Run", row(2, "b")), ("Fly", row(3, "c"))];
            match kind {
                Some(kind) => draft.curves(table, kind, &curves),
                None => draft.rows(table, &curves),
            };
            let bytes = draft.bytes();
            let package = Package::read(&bytes).expect("it is a package");
            let object = package.object(Index(1));
            let Some(Rows::Named(rows)) = object.rows else {
                panic!("{}: {object:?}", profile.name)
            };
            assert_eq!((rows.len(), object.native), (3, None), "{} {kind:?}", profile.name);
        }
    }
}

#[test]
fn entries_of_a_string_table() {
    for profile in PROFILES {
        let mut draft = DraftPackage::new(*profile, "/Game/ST_Menu");
        let table = draft.export("/Script/Engine.StringTable", Index(0), "ST_Menu");
        let entries = [("Start", "Begin"), ("Quit", "Ende \u{FC}")];
        draft.strings(table, "Menu", &entries, Some(("Comment", "the button")));
        let bytes = draft.bytes();
        let package = Package::read(&bytes).expect("it is a package");
        let object = package.object(Index(1));
        assert_eq!(object.native, None, "{}", profile.name);
        let Some(Rows::Strings(strings)) = object.rows else { panic!("{object:?}") };
        let read: Vec<(&str, &str)> =
            strings.entries.iter().map(|(key, text)| (key.as_ref(), text.as_ref())).collect();
        assert_eq!((strings.namespace.as_ref(), read.as_slice()), ("Menu", &entries[..]));
        let (key, kind, remark) = &strings.remarks[0];
        assert_eq!((key.as_ref(), remark.as_ref()), ("Start", "the button"));
        assert_eq!(package.header.name(*kind), "Comment");
        let text = package.t3d(Index(1), "/Game/ST_Menu", 10_000).text;
        for line in
            ["Namespace=\"Menu\"", "Entry(\"Start\")=\"Begin\"", "MetaData Comment(\"Start\")="]
        {
            assert!(text.contains(line), "{line}: {text}");
        }
    }
}

/// Unreadable data after the properties are reported with their place and size.
#[test]
fn undecoded_data_are_reported() {
    let profile = Profile::of("5.6");
    let mut draft = DraftPackage::new(profile, "/Game/T");
    let texture = draft.export("/Script/Engine.Texture2D", Index(0), "T");
    draft.native(texture, &[7; 33]);
    let table = draft.export("/Script/Engine.DataTable", Index(0), "DT");
    // A count of rows that the object cannot hold.
    draft.native(table, &[0xFF, 0xFF, 0xFF, 0x7F, 1, 2]);
    let bytes = draft.bytes();
    let package = Package::read(&bytes).expect("it is a package");
    let text = package.t3d(texture, "/Game/T", 10_000);
    assert!(text.text.contains("; 33 bytes of class data at byte "), "{}", text.text);
    assert_eq!(text.told.native_bytes, 33);
    let text = package.t3d(table, "/Game/T", 10_000);
    assert!(text.text.contains("; 6 bytes of class data at byte "), "{}", text.text);
    assert!(text.warnings.iter().any(|said| said.contains("content of the table")), "{text:?}");
}

/// Material inputs for colours have a linear constant since 5.6.
#[test]
fn colours_of_materials() {
    for (name, bytes) in [("4.27", 44), ("5.5", 44), ("5.6", 56), ("5.8", 56)] {
        let profile = Profile::of(name);
        let mut draft = DraftPackage::new(profile, "/Game/M");
        let material = draft.export("/Script/Engine.Material", Index(0), "M");
        draft.set(
            material,
            "BaseColor",
            DraftValue::Raw("ColorMaterialInput".to_owned(), vec![0; bytes]),
        );
        let file = draft.bytes();
        let package = Package::read(&file).expect("it is a package");
        let object = package.object(material);
        assert_eq!((object.undecoded, object.warnings.len()), (0, 0), "{name}: {object:?}");
        let Some(Value::Struct(input)) = object.get(&package.header, "BaseColor") else {
            panic!("{name}: {object:?}")
        };
        let last = input.fields.last().expect("it has fields");
        assert_eq!(last.name, Label::Text("A".into()), "{name}");
    }
}

/// In old versions, import data do not begin with their sources.
#[test]
fn import_data_without_sources() {
    for profile in PROFILES {
        let mut draft = DraftPackage::new(*profile, "/Game/A");
        let class = "/Script/UnrealEd.FbxAnimSequenceImportData";
        let data = draft.export(class, Index(0), "Data");
        draft.set(data, "StartFrame", DraftValue::Int(3));
        let bytes = draft.bytes();
        let package = Package::read(&bytes).expect("it is a package");
        let object = package.object(data);
        let name = profile.name;
        assert_eq!(object.get(&package.header, "StartFrame"), Some(&Value::Int(3)), "{name}");
        assert_eq!(object.warnings, [], "{name}");
    }
}
