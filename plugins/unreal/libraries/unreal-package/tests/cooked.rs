//! Tests headers of cooked packages that state no versions.

use unreal_package::{
    Fault, Header, Index, flags,
    writer::{DraftPackage, PROFILES, Profile},
};

/// A cooked package of the profile's engine, with or without its versions.
fn cooked(profile: Profile, has_versions: bool) -> Vec<u8> {
    let mut draft = DraftPackage::new(profile, "/Game/Doors/T_Door");
    draft.flags(flags::COOKED | flags::FILTER_EDITOR_ONLY);
    draft.export("/Script/Engine.Texture2D", Index(0), "T_Door");
    let mut bytes = draft.bytes();
    if !has_versions {
        // The versions after the magic number: file format, Unreal Engine 3, 4 and, since 5.0, 5.
        let legacy = i32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
        let first = if legacy == -4 { 8 } else { 12 };
        let last = if legacy <= -8 { 20 } else { first + 4 };
        bytes[first..last].fill(0);
    }
    bytes
}

#[test]
fn the_engine_is_found_by_its_layout() {
    // No preview was shipped with a game.
    for profile in PROFILES.iter().filter(|profile| profile.name != "4.0-preview") {
        let stated = cooked(*profile, true);
        let stated = Header::read_cooked(&stated).expect("it states its versions");
        let engine = stated.header.summary.versions.engine();
        assert_eq!(stated.engines, [engine], "{}", profile.name);
        let bytes = cooked(*profile, false);
        assert_eq!(Header::read(&bytes, bytes.len() as u64).err(), Some(Fault::Unversioned));
        let found =
            Header::read_cooked(&bytes).unwrap_or_else(|fault| panic!("{}: {fault}", profile.name));
        assert!(found.engines.contains(&engine), "{}: {:?}", profile.name, found.engines);
        let header = &found.header;
        assert_eq!(header.path_within(Index(1)), "T_Door", "{}", profile.name);
        let class = header.class_path(Index(1), "/Game/Doors/T_Door");
        assert_eq!(class, "/Script/Engine.Texture2D", "{}", profile.name);
        let same = |header: &Header<'_>| {
            let packages = header.dependencies.iter().map(|found| found.package.to_string());
            (header.names.len(), header.imports.len(), packages.collect::<Vec<_>>())
        };
        assert_eq!(same(header), same(&stated.header), "{}", profile.name);
        assert!(header.warnings.is_empty(), "{}: {:?}", profile.name, header.warnings);
    }
}

#[test]
fn a_package_that_no_layout_fits_is_refused() {
    let mut bytes = cooked(Profile::of("5.6"), false);
    // No cooked package has the file version of the preview of 4.0.
    bytes[4..8].copy_from_slice(&(-2_i32).to_le_bytes());
    assert!(Header::read_cooked(&bytes).is_err());
    let bytes = cooked(Profile::of("5.3"), false);
    for end in (24..bytes.len() / 2).step_by(7) {
        assert!(Header::read_cooked(&bytes[..end]).is_err(), "{end}");
    }
}
