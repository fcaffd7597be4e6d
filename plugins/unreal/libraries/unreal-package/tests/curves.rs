//! Tests of the curves of animations: raw curves with their names and keys, and the channels of sequences.

use unreal_package::{
    Guid, Index, Package, T3d, custom,
    writer::{DraftPackage, DraftValue, PROFILES, Profile},
};

/// Custom versions before, between and after the changes of the names of curves
/// (`RemoveUIDFromSmartNameSerialize` is 5, `SmartNameRefactorForDeterministicCooking` is 10).
const WITH_ID: &[(Guid, i32)] = &[(custom::FRAMEWORK, 12), (custom::ANIM_PHYS, 4)];
const WITH_GUID: &[(Guid, i32)] = &[(custom::FRAMEWORK, 28), (custom::ANIM_PHYS, 5)];
const BARE: &[(Guid, i32)] = &[(custom::FRAMEWORK, 37), (custom::ANIM_PHYS, 10)];
/// `SerializeFloatChannelCompletely` is 12, `SerializeFloatChannelShowCurve` is 53.
const NO_CHANNELS: &[(Guid, i32)] = &[(custom::SEQUENCER, 11)];
const CHANNELS: &[(Guid, i32)] = &[(custom::SEQUENCER, 12)];
const SHOWN_CHANNELS: &[(Guid, i32)] = &[(custom::SEQUENCER, 13), (custom::FORTNITE_MAIN, 53)];

fn of(name: &str, members: Vec<(&str, DraftValue)>) -> DraftValue {
    let members = members.into_iter().map(|(name, value)| (name.to_owned(), value));
    DraftValue::Struct(name.to_owned(), members.collect())
}

fn numbers(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// A key as `FRichCurveKey::Serialize` writes it.
fn key(time: f32, value: f32) -> DraftValue {
    let mut bytes = vec![2, 1, 0];
    bytes.extend(numbers(&[time, value, 0.25, 0.0, 0.75, 0.0]));
    DraftValue::Raw("RichCurveKey".to_owned(), bytes)
}

/// A key of a version before `VER_UE4_SERIALIZE_RICH_CURVE_KEY`.
fn tagged_key(time: f32, value: f32) -> DraftValue {
    let members = vec![("Time", DraftValue::Float(time)), ("Value", DraftValue::Float(value))];
    of("RichCurveKey", members)
}

/// An animation whose curve has the name at the index `name` of the name table, followed by `rest`.
fn animation(profile: Profile, name: u32, rest: &[u8], key: fn(f32, f32) -> DraftValue) -> Vec<u8> {
    let mut draft = DraftPackage::new(profile, "/Game/A_Talk");
    let sequence = draft.export("/Script/Engine.AnimSequence", Index(0), "A_Talk");
    draft.set(sequence, "Mood", DraftValue::Name("Smile".to_owned()));
    let mut bytes = [name.to_le_bytes(), [0; 4]].concat();
    bytes.extend(rest);
    let keys = DraftValue::List(vec![key(0.5, 1.5), key(2.0, -3.0)]);
    let curve = of(
        "FloatCurve",
        vec![
            ("Name", DraftValue::Raw("SmartName".to_owned(), bytes)),
            ("CurveTypeFlags", DraftValue::Int(4)),
            ("FloatCurve", of("RichCurve", vec![("Keys", keys)])),
        ],
    );
    let curves = of("RawCurveTracks", vec![("FloatCurves", DraftValue::List(vec![curve]))]);
    draft.set(sequence, "RawCurveData", curves);
    draft.bytes()
}

fn told(bytes: &[u8]) -> T3d {
    Package::read(bytes).expect("it is a package").t3d(Index(1), "/Game/A_Talk", 100_000)
}

/// The animation whose curve is named `Smile`. The index of this name is known only after the package was written once.
fn named(profile: Profile, rest: &[u8], key: fn(f32, f32) -> DraftValue) -> T3d {
    let first = animation(profile, 0, rest, key);
    let names = Package::read(&first).expect("it is a package").header.names;
    let name = names.iter().position(|name| name == "Smile").expect("it is used");
    told(&animation(profile, u32::try_from(name).expect("it is small"), rest, key))
}

/// The custom versions of a package, and the rest of a curve's name in it.
type NameForm = (&'static [(Guid, i32)], &'static [u8]);

#[test]
fn raw_curves_have_names_and_keys() {
    let rests: [NameForm; 3] = [(WITH_ID, &[7; 18]), (WITH_GUID, &[7; 16]), (BARE, &[])];
    for profile in PROFILES.iter().filter(|profile| profile.versions.ue4 >= 366) {
        for (customs, rest) in rests {
            let found = named(Profile { customs, ..*profile }, rest, key);
            let text = &found.text;
            assert_eq!(found.told.undecoded, 0, "{}: {text}", profile.name);
            for part in [
                "Name=(DisplayName=\"Smile\")",
                "CurveTypeFlags=4",
                "(InterpMode=2,TangentMode=1,TangentWeightMode=0,Time=0.500000,Value=1.500000,\
                 ArriveTangent=0.250000,ArriveTangentWeight=0.000000,LeaveTangent=0.750000,\
                 LeaveTangentWeight=0.000000)",
                "Time=2.000000,Value=-3.000000",
            ] {
                assert!(text.contains(part), "{}: {part}\n{text}", profile.name);
            }
        }
    }
}

#[test]
fn keys_of_the_first_versions_are_tagged() {
    for name in ["4.0", "4.1", "4.2"] {
        let found = named(Profile { customs: WITH_ID, ..Profile::of(name) }, &[7; 18], tagged_key);
        let keys = "Keys=((Time=0.500000,Value=1.500000),(Time=2.000000,Value=-3.000000))";
        assert!(found.text.contains(keys), "{name}: {}", found.text);
    }
}

/// A channel as `TMovieSceneCurveChannelImpl::Serialize` writes it: `number` makes the bytes of a value.
fn channel(number: fn(f32) -> Vec<u8>, is_shown: bool) -> Vec<u8> {
    let size = |size: usize| u32::try_from(size).expect("it is small").to_le_bytes().to_vec();
    let mut bytes = vec![4, 3];
    bytes.extend([size(4), size(2), size(0), size(800)].concat());
    bytes.extend([size(number(0.0).len() + 24), size(2)].concat());
    for value in [1.5, -2.5] {
        bytes.extend(number(value));
        bytes.extend(numbers(&[0.25, 0.5, 0.0, 0.0]));
        bytes.extend([3, 9, 9, 9, 2, 1, 9, 9]);
    }
    bytes.extend(number(6.0));
    bytes.extend([size(1), size(24_000), size(1)].concat());
    if is_shown {
        bytes.extend(size(1));
    }
    bytes
}

fn section(profile: Profile, name: &str, bytes: Vec<u8>) -> T3d {
    let mut draft = DraftPackage::new(profile, "/Game/A_Talk");
    let path = "/Script/MovieSceneTracks.MovieSceneFloatSection";
    let section = draft.export(path, Index(0), "Section");
    draft.set(section, "FloatCurve", DraftValue::Raw(name.to_owned(), bytes));
    draft.set(section, "After", DraftValue::Int(77));
    told(&draft.bytes())
}

#[test]
fn channels_of_sequences_have_times_and_values() {
    let single: fn(f32) -> Vec<u8> = |number| number.to_le_bytes().to_vec();
    let double: fn(f32) -> Vec<u8> = |number| f64::from(number).to_le_bytes().to_vec();
    for profile in PROFILES.iter().filter(|profile| profile.versions.ue4 >= 518) {
        for (name, number) in
            [("MovieSceneFloatChannel", single), ("MovieSceneDoubleChannel", double)]
        {
            for (customs, is_shown) in [(CHANNELS, false), (SHOWN_CHANNELS, true)] {
                let profile = Profile { customs, ..*profile };
                let found = section(profile, name, channel(number, is_shown));
                let text = &found.text;
                assert_eq!(found.told.undecoded, 0, "{}: {text}", profile.name);
                for part in [
                    "PreInfinityExtrap=4,PostInfinityExtrap=3,Times=(0,800)",
                    "(Value=1.500000,ArriveTangent=0.250000,LeaveTangent=0.500000,\
                     ArriveTangentWeight=0.000000,LeaveTangentWeight=0.000000,\
                     TangentWeightMode=3,InterpMode=2,TangentMode=1),(Value=-2.500000,",
                    "DefaultValue=6.000000,bHasDefaultValue=True,\
                     TickResolution=(Numerator=24000,Denominator=1)",
                    "After=77",
                ] {
                    assert!(text.contains(part), "{} {name}: {part}\n{text}", profile.name);
                }
                assert_eq!(text.contains("bShowCurve=True"), is_shown, "{text}");
            }
        }
    }
}

#[test]
fn a_channel_of_another_layout_is_shown_by_its_size() {
    let single: fn(f32) -> Vec<u8> = |number| number.to_le_bytes().to_vec();
    let mut other = channel(single, true);
    // The size of a value.
    other[18] = 29;
    let found = section(
        Profile { customs: SHOWN_CHANNELS, ..Profile::of("5.4") },
        "MovieSceneFloatChannel",
        other.clone(),
    );
    assert_eq!(found.told.undecoded, 1, "{}", found.text);
    let size = format!("undecoded {} bytes", other.len());
    assert!(found.text.contains(&size) && found.text.contains("After=77"), "{}", found.text);
    // Older versions store tagged properties.
    let profile = Profile { customs: NO_CHANNELS, ..Profile::of("4.24") };
    let mut draft = DraftPackage::new(profile, "/Game/A_Talk");
    let path = "/Script/MovieSceneTracks.MovieSceneFloatSection";
    let section = draft.export(path, Index(0), "Section");
    let tagged = of("MovieSceneFloatChannel", vec![("DefaultValue", DraftValue::Float(6.0))]);
    draft.set(section, "FloatCurve", tagged);
    let found = told(&draft.bytes());
    assert!(found.text.contains("FloatCurve=(DefaultValue=6.000000)"), "{}", found.text);
}

/// Animations have an `FPerPlatformFrameRate` since 5.1. Its bytes are a flag for cooked data, the default rate, and
/// the rates of platforms.
#[test]
fn frame_rates_of_platforms_are_read() {
    let mut draft = DraftPackage::new(Profile::of("5.6"), "/Game/A_Talk");
    let sequence = draft.export("/Script/Engine.AnimSequence", Index(0), "A_Talk");
    let numbers = [0_i32, 30_000, 1001, 0];
    let bytes = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let rate = DraftValue::Raw("PerPlatformFrameRate".to_owned(), bytes);
    draft.set(sequence, "PlatformTargetFrameRate", rate);
    let found = told(&draft.bytes());
    assert_eq!(found.told.undecoded, 0, "{}", found.text);
    let rate = "PlatformTargetFrameRate=(Numerator=30000,Denominator=1001)";
    assert!(found.text.contains(rate), "{}", found.text);
}
