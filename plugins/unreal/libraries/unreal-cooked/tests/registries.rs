//! Tests that asset registries of all versions are read, and that damage causes no panic.

use unreal_cooked::{
    Fault, Registry,
    asset_registry::{Dependency, DependencyDirection},
    writer::{DraftAsset, DraftRegistry},
};

/// The format versions of Unreal Engine 4.16 to 5.8.
const VERSIONS: std::ops::RangeInclusive<u32> = 4..=24;

fn draft(version: u32) -> DraftRegistry {
    let asset = |package: &str, class: &str, size| DraftAsset {
        package: package.to_owned(),
        class: ("/Script/Engine".to_owned(), class.to_owned()),
        tags: vec![
            ("Vertices".to_owned(), "130".to_owned()),
            ("Kind".to_owned(), package.to_owned()),
        ],
        size,
    };
    let needs = |from: &str, to: &str, is_hard| (from.to_owned(), to.to_owned(), is_hard);
    DraftRegistry {
        version,
        assets: vec![
            asset("/Game/Doors/SM_Door", "StaticMesh", 5000),
            asset("/Game/Doors/M_Wood", "Material", 70),
        ],
        needs: vec![
            needs("/Game/Doors/SM_Door", "/Game/Doors/M_Wood", true),
            needs("/Game/Doors/SM_Door", "/Game/Doors/T_Wood", false),
            needs("/Game/Doors/M_Wood", "/Game/Doors/T_Wood", true),
        ],
    }
}

#[test]
fn all_versions_are_read() {
    for version in VERSIONS {
        let bytes = draft(version).bytes();
        let registry = Registry::read(&bytes).unwrap_or_else(|fault| panic!("{version}: {fault}"));
        assert_eq!(registry.warnings, [""; 0], "{version}");
        let [door, wood] = registry.assets.as_slice() else { panic!("{version}") };
        assert_eq!(registry.package(door), "/Game/Doors/SM_Door", "{version}");
        assert_eq!(registry.asset_name(wood), "M_Wood", "{version}");
        let class = if version >= 14 { "/Script/Engine.StaticMesh" } else { "StaticMesh" };
        assert_eq!(registry.class(door), class, "{version}");
        let tag = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let expected = [tag("Vertices", "130"), tag("Kind", "/Game/Doors/M_Wood")];
        assert_eq!(registry.tags(wood), expected, "{version}");
        assert_eq!(registry.tag_count(wood), 2, "{version}");
        let needs = |package: &str, is_hard| Dependency { package: package.to_owned(), is_hard };
        assert_eq!(
            registry.dependencies("/game/doors/sm_door", DependencyDirection::Needs),
            [needs("/Game/Doors/M_Wood", true), needs("/Game/Doors/T_Wood", false)],
            "{version}"
        );
        assert_eq!(
            registry.dependencies("/Game/Doors/T_Wood", DependencyDirection::NeededBy),
            [needs("/Game/Doors/M_Wood", true), needs("/Game/Doors/SM_Door", false)],
            "{version}"
        );
        let sizes = registry.packages.iter().map(|package| package.size).collect::<Vec<_>>();
        assert_eq!(sizes, [5000, 70], "{version}");
    }
}

#[test]
fn other_files_and_versions_are_refused() {
    assert!(matches!(Registry::read(b"no registry at all"), Err(Fault::Unknown(_))));
    assert!(matches!(Registry::read(&draft(3).bytes()), Err(Fault::TooOld { version: 3, .. })));
    assert!(matches!(Registry::read(&draft(25).bytes()), Err(Fault::TooNew { version: 25, .. })));
}

#[test]
fn damage_after_the_assets_is_a_warning() {
    let bytes = draft(17).bytes();
    let cut = &bytes[..bytes.len() - 90];
    let registry = Registry::read(cut).expect("its assets are whole");
    assert_eq!((registry.assets.len(), registry.packages.len()), (2, 0));
    assert!(registry.warnings[0].contains("packages"), "{:?}", registry.warnings);
    assert!(!registry.dependencies("/Game/Doors/SM_Door", DependencyDirection::Needs).is_empty());
}

#[test]
fn damaged_registries_do_not_panic() {
    for version in VERSIONS {
        let bytes = draft(version).bytes();
        for at in 0..bytes.len() {
            for value in [0, 0x7F, 0x80, 0xFF] {
                let mut bytes = bytes.clone();
                bytes[at] = value;
                let Ok(registry) = Registry::read(&bytes) else { continue };
                for asset in &registry.assets {
                    registry.tags(asset);
                    registry.dependencies(&registry.package(asset), DependencyDirection::NeededBy);
                }
            }
            drop(Registry::read(&bytes[..at]));
        }
    }
}
