//! Tests headers of cooked packages that state no versions.

use unreal_package::{
    Fault, Header, Index,
    writer::{PROFILES, Profile, cooked, cooked_without_versions},
};

const NAME: &str = "/Game/Doors/T_Door";

#[test]
fn the_engine_is_found_by_its_layout() {
    // The preview has no cooked packages: no game was shipped with it.
    for profile in PROFILES.iter().filter(|profile| profile.name != "4.0-preview") {
        let stated = cooked(*profile, NAME);
        let stated = Header::read_cooked(&stated).expect("it states its versions");
        let engine = stated.header.summary.versions.engine();
        assert_eq!(stated.engines, [engine], "{}", profile.name);
        let bytes = cooked_without_versions(*profile, NAME);
        assert_eq!(Header::read(&bytes, bytes.len() as u64).err(), Some(Fault::Unversioned));
        let found =
            Header::read_cooked(&bytes).unwrap_or_else(|fault| panic!("{}: {fault}", profile.name));
        assert!(found.engines.contains(&engine), "{}: {:?}", profile.name, found.engines);
        let header = &found.header;
        assert_eq!(header.path_within(Index(1)), "T_Door", "{}", profile.name);
        let class = header.class_path(Index(1), NAME);
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
    let mut bytes = cooked_without_versions(Profile::of("5.6"), NAME);
    // No cooked package has the file version of the preview of 4.0.
    bytes[4..8].copy_from_slice(&(-2_i32).to_le_bytes());
    assert!(Header::read_cooked(&bytes).is_err());
    let bytes = cooked_without_versions(Profile::of("5.3"), NAME);
    for end in (24..bytes.len() / 2).step_by(7) {
        assert!(Header::read_cooked(&bytes[..end]).is_err(), "{end}");
    }
}
