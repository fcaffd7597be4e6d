//! Tests of structures of any type (`FInstancedStruct`) and of property bags (`FInstancedPropertyBag`), which
//! state trees and many Unreal plugins use.

use unreal_package::{
    Guid, Index, Package, Value,
    writer::{DraftPackage, DraftValue, PROFILES, Profile},
};

fn text_of(draft: &DraftPackage) -> String {
    let bytes = draft.bytes();
    Package::read(&bytes).expect("it is a package").t3d(Index(1), "/Game/ST", 10_000).text
}

fn tree(profile: Profile) -> DraftPackage {
    let mut draft = DraftPackage::new(profile, "/Game/ST");
    draft.export("/Script/StateTreeModule.StateTree", Index(0), "ST");
    draft
}

#[test]
fn the_type_and_the_members_are_shown() {
    for profile in PROFILES {
        let mut draft = tree(*profile);
        let delay = draft.import("ScriptStruct", "/Script/StateTreeModule.StateTreeDelayTask");
        let members = vec![("Duration".to_owned(), DraftValue::Int(7))];
        draft.set(Index(1), "Task", DraftValue::Instanced(delay, members));
        draft.set(Index(1), "Nothing", DraftValue::Instanced(Index(0), Vec::new()));
        draft.set(Index(1), "Behind", DraftValue::Int(3));
        let text = text_of(&draft);
        let wanted = "Task=(Struct=\"/Script/CoreUObject.ScriptStruct'/Script/StateTreeModule.StateTreeDelayTask'\",Value=(Duration=7))";
        assert!(text.contains(wanted), "{}: {text}", profile.name);
        assert!(text.contains("Behind=3"), "{}: {text}", profile.name);
    }
}

#[test]
fn the_magic_number_of_old_versions_and_native_layouts_are_read() {
    let mut draft = tree(Profile::of("5.6"));
    let vector = draft.import("ScriptStruct", "/Script/CoreUObject.Vector2f");
    let mut bytes = vec![0xAB, 0xAB, 0xAB, 0xAB, 0];
    bytes.extend(vector.0.to_le_bytes());
    bytes.extend(8_i32.to_le_bytes());
    bytes.extend(1.5_f32.to_le_bytes());
    bytes.extend(2.0_f32.to_le_bytes());
    draft.set(Index(1), "Place", DraftValue::Raw("InstancedStruct".to_owned(), bytes));
    let text = text_of(&draft);
    assert!(text.contains("Value=(X=1.500000,Y=2.000000)"), "{text}");
}

#[test]
fn unreadable_values_are_counted_and_the_rest_is_read() {
    let mut draft = tree(Profile::of("5.6"));
    let odd = draft.import("ScriptStruct", "/Script/Odd.Thing");
    let mut bytes = odd.0.to_le_bytes().to_vec();
    bytes.extend(5_i32.to_le_bytes());
    bytes.extend([1, 2, 3, 4, 5]);
    draft.set(Index(1), "Odd", DraftValue::Raw("InstancedStruct".to_owned(), bytes.clone()));
    // The stated size exceeds the data.
    bytes[4] = 200;
    draft.set(Index(1), "Long", DraftValue::Raw("InstancedStruct".to_owned(), bytes));
    draft.set(Index(1), "Behind", DraftValue::Int(3));
    let bytes = draft.bytes();
    let package = Package::read(&bytes).expect("it is a package");
    let object = package.object(Index(1));
    assert_eq!((object.undecoded, object.warnings.len()), (2, 0));
    assert_eq!(object.get(&package.header, "Long"), Some(&Value::Undecoded { bytes: 13 }));
    assert_eq!(object.get(&package.header, "Behind"), Some(&Value::Int(3)));
    let text = text_of(&draft);
    assert!(text.contains("Value=<undecoded 5 bytes>"), "{text}");
}

#[test]
fn members_of_a_property_bag_are_shown() {
    const BAG: Guid = Guid([0x134A_157E, 0xD5E2_49A3, 0x8D4E_843C, 0x98FE_9E31]);
    let versions: [&'static [(Guid, i32)]; 4] = [&[], &[(BAG, 1)], &[(BAG, 2)], &[(BAG, 3)]];
    for profile in PROFILES.iter().filter(|profile| profile.versions.ue5 > 0) {
        for customs in versions {
            let mut draft = tree(Profile { customs, ..*profile });
            let members = vec![
                ("Health".to_owned(), DraftValue::Int(7)),
                ("Title".to_owned(), DraftValue::String("Door".to_owned())),
            ];
            draft.set(Index(1), "Parameters", DraftValue::Bag(members));
            draft.set(Index(1), "Behind", DraftValue::Int(3));
            let text = text_of(&draft);
            let wanted = "Parameters=(Health=7,Title=\"Door\")";
            assert!(text.contains(wanted), "{} {customs:?}: {text}", profile.name);
            assert!(text.contains("Behind=3"), "{} {customs:?}: {text}", profile.name);
        }
    }
}

#[test]
fn properties_after_an_empty_or_damaged_property_bag_are_read() {
    let mut draft = tree(Profile::of("5.6"));
    draft.set(
        Index(1),
        "Empty",
        DraftValue::Raw("InstancedPropertyBag".to_owned(), vec![1, 0, 0, 0, 0]),
    );
    let endless = [vec![1, 1, 0, 0, 0], vec![0xFF; 40]].concat();
    draft.set(Index(1), "Endless", DraftValue::Raw("InstancedPropertyBag".to_owned(), endless));
    draft.set(Index(1), "Behind", DraftValue::Int(3));
    let text = text_of(&draft);
    for wanted in ["Empty=()", "Endless=<undecoded 45 bytes>", "Behind=3"] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
}
