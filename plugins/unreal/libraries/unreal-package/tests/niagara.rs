//! Tests of the variables of Niagara: their types and values, also in a parameter store.

use unreal_package::{
    Guid, Index, Package,
    writer::{DraftPackage, DraftValue, PROFILES, Profile},
};

/// `FNiagaraCustomVersion`: the first version that stores variables natively.
const NIAGARA: &[(Guid, i32)] = &[(VERSION, 64)];
/// The last version that stores variables as tagged properties.
const OLDER: &[(Guid, i32)] = &[(VERSION, 63)];
const VERSION: Guid = Guid([0xFCF5_7AFA, 0x5076_4283, 0xB9A9_E658, 0xFFA0_2D32]);

fn text_of(draft: &DraftPackage) -> String {
    let bytes = draft.bytes();
    Package::read(&bytes).expect("it is a package").t3d(Index(1), "/Game/NS", 10_000).text
}

fn system(profile: Profile) -> DraftPackage {
    let mut draft = DraftPackage::new(profile, "/Game/NS");
    draft.export("/Script/Niagara.NiagaraScript", Index(0), "NS");
    draft
}

/// Floats as bytes.
fn floats(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

#[test]
fn a_store_has_the_values_of_its_variables() {
    for profile in PROFILES.iter().filter(|profile| profile.versions.ue5 > 0) {
        let mut draft = system(Profile { customs: NIAGARA, ..*profile });
        let mut data = floats(&[1.5, 0.0, 2.0, 3.0]);
        data.extend((-1_i32).to_le_bytes());
        let variables = [
            ("User.Rate", "NiagaraFloat", 0_i32),
            ("User.Place", "NiagaraPosition", 4),
            ("User.IsOn", "NiagaraBool", 16),
            ("User.Far", "NiagaraInt32", 400),
            ("User.Odd", "OddThing", 0),
        ];
        let variables = variables.map(|(name, kind, offset)| {
            let kind = draft.import("ScriptStruct", &format!("/Script/Niagara.{kind}"));
            let offset = offset.to_le_bytes().to_vec();
            DraftValue::Niagara("NiagaraVariableWithOffset", name.to_owned(), kind, offset)
        });
        let bytes = data.iter().map(|byte| DraftValue::Int((*byte).into())).collect();
        let store = vec![
            ("SortedParameterOffsets".to_owned(), DraftValue::List(variables.to_vec())),
            ("ParameterData".to_owned(), DraftValue::List(bytes)),
        ];
        draft.set(Index(1), "Store", DraftValue::Struct("NiagaraParameterStore".to_owned(), store));
        let text = text_of(&draft);
        let of = |name: &str, kind: &str, rest: &str| {
            let kind = format!("/Script/CoreUObject.ScriptStruct'/Script/Niagara.{kind}'");
            let wanted = format!("(Name=\"{name}\",Type=\"{kind}\",{rest})");
            assert!(text.contains(&wanted), "{}: {wanted}\n{text}", profile.name);
        };
        of("User.Rate", "NiagaraFloat", "Offset=0,Value=1.500000");
        of("User.Place", "NiagaraPosition", "Offset=4,Value=(0.000000,2.000000,3.000000)");
        of("User.IsOn", "NiagaraBool", "Offset=16,Value=True");
        of("User.Far", "NiagaraInt32", "Offset=400");
        of("User.Odd", "OddThing", "Offset=0");
    }
}

#[test]
fn a_variable_has_its_value_or_its_bytes() {
    let mut draft = system(Profile { customs: NIAGARA, ..Profile::of("5.6") });
    let mut put = |name: &str, kind: (&str, &str), bytes: &[u8]| {
        let kind = draft.import(kind.0, &format!("/Script/Niagara.{}", kind.1));
        let mut behind = i32::try_from(bytes.len()).expect("it is short").to_le_bytes().to_vec();
        behind.extend(bytes);
        let variable = DraftValue::Niagara("NiagaraVariable", format!("Of.{name}"), kind, behind);
        draft.set(Index(1), name, variable);
    };
    put("Color", ("ScriptStruct", "LinearColor"), &floats(&[1.0, 0.5, 0.25, 1.0]));
    put("Mode", ("Enum", "EMode"), &3_i32.to_le_bytes());
    put("Id", ("ScriptStruct", "NiagaraID"), &[7, 0, 0, 0, 8, 0, 0, 0]);
    put("Odd", ("ScriptStruct", "OddThing"), &[1, 2]);
    put("Short", ("ScriptStruct", "NiagaraFloat"), &[1, 2]);
    put("Empty", ("ScriptStruct", "NiagaraFloat"), &[]);
    put("Large", ("ScriptStruct", "OddThing"), &[0; 100]);
    draft.set(Index(1), "Behind", DraftValue::Int(3));
    let text = text_of(&draft);
    for wanted in [
        "Value=(1.000000,0.500000,0.250000,1.000000))",
        "Value=3)",
        "Value=(7,8))",
        "Short=(Name=\"Of.Short\",Type=\"/Script/CoreUObject.ScriptStruct'/Script/Niagara.NiagaraFloat'\",Value=(1,2))",
        "Empty=(Name=\"Of.Empty\",Type=\"/Script/CoreUObject.ScriptStruct'/Script/Niagara.NiagaraFloat'\")",
        "Value=<undecoded 100 bytes>)",
        "Behind=3",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
}

#[test]
fn older_variables_are_tagged_properties() {
    let mut draft = system(Profile { customs: OLDER, ..Profile::of("5.0") });
    let fields = vec![("Name".to_owned(), DraftValue::Name("User.Rate".to_owned()))];
    draft.set(Index(1), "Variable", DraftValue::Struct("NiagaraVariable".to_owned(), fields));
    let text = text_of(&draft);
    assert!(text.contains("Variable=(Name=\"User.Rate\")"), "{text}");
}
