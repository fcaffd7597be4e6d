//! The version numbers that each engine version writes into packages.

use crate::{
    Guid,
    version::{Versions, custom},
};

/// An engine version.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// Its name, such as `4.27`.
    pub name: &'static str,
    /// Major and minor.
    pub engine: (u16, u16),
    /// The version numbers of its packages.
    pub versions: Versions,
    /// Its custom versions.
    pub customs: &'static [(Guid, i32)],
}

const fn profile(
    name: &'static str,
    engine: (u16, u16),
    [legacy, ue4, ue5]: [i32; 3],
    customs: &'static [(Guid, i32)],
) -> Profile {
    Profile { name, engine, versions: Versions { legacy, ue4, ue5, licensee: 0 }, customs }
}

macro_rules! customs {
    ($framework:literal $blueprints:literal $editor:literal $release:literal $core:literal) => {
        &[
            (custom::FRAMEWORK, $framework),
            (custom::BLUEPRINTS, $blueprints),
            (custom::EDITOR, $editor),
            (custom::RELEASE, $release),
            (custom::CORE, $core),
        ]
    };
    ($release:literal $stream:literal $main:literal $fortnite:literal) => {
        &[
            (custom::FRAMEWORK, 37),
            (custom::BLUEPRINTS, 10),
            (custom::EDITOR, 40),
            (custom::RELEASE, $release),
            (custom::CORE, 4),
            (custom::UE5_RELEASE, $stream),
            (custom::UE5_MAIN, $main),
            (custom::FORTNITE_MAIN, $fortnite),
        ]
    };
}

/// Every version with a package format of its own. The numbers come from real packages, except for
/// the releases between 4.0 and 4.8, which come from the engine's list of versions.
pub const PROFILES: &[Profile] = &[
    profile("4.0-preview", (4, 0), [-2, 228, 0], &[]),
    profile("4.0", (4, 0), [-3, 342, 0], &[]),
    profile("4.1", (4, 1), [-3, 352, 0], &[]),
    profile("4.2", (4, 2), [-3, 363, 0], &[]),
    profile("4.3", (4, 3), [-3, 382, 0], &[]),
    profile("4.4", (4, 4), [-3, 385, 0], &[]),
    profile("4.5", (4, 5), [-3, 401, 0], &[]),
    profile("4.6", (4, 6), [-3, 413, 0], &[]),
    profile("4.7", (4, 7), [-4, 434, 0], &[]),
    profile("4.8", (4, 8), [-5, 451, 0], &[]),
    profile("4.10", (4, 10), [-6, 482, 0], &[]),
    profile("4.11", (4, 11), [-6, 498, 0], &[]),
    profile("4.12", (4, 12), [-6, 504, 0], customs!(6 3 2 0 0)),
    profile("4.13", (4, 13), [-6, 505, 0], customs!(12 5 6 0 0)),
    profile("4.14", (4, 14), [-7, 508, 0], customs!(17 7 8 0 1)),
    profile("4.15", (4, 15), [-7, 510, 0], customs!(22 8 14 0 2)),
    profile("4.16", (4, 16), [-7, 513, 0], customs!(23 9 17 1 3)),
    profile("4.17", (4, 17), [-7, 513, 0], customs!(28 10 20 3 3)),
    profile("4.18", (4, 18), [-7, 514, 0], customs!(30 10 20 6 3)),
    profile("4.19", (4, 19), [-7, 516, 0], customs!(33 10 23 10 3)),
    profile("4.20", (4, 20), [-7, 516, 0], customs!(34 10 24 12 3)),
    profile("4.21", (4, 21), [-7, 517, 0], customs!(34 10 26 17 3)),
    profile("4.22", (4, 22), [-7, 517, 0], customs!(35 10 30 20 3)),
    profile("4.23", (4, 23), [-7, 517, 0], customs!(35 10 34 23 3)),
    profile("4.24", (4, 24), [-7, 518, 0], customs!(36 10 37 28 3)),
    profile("4.25", (4, 25), [-7, 518, 0], customs!(37 10 38 30 4)),
    profile("4.26", (4, 26), [-7, 522, 0], customs!(37 10 40 38 4)),
    profile("4.27", (4, 27), [-7, 522, 0], customs!(37 10 40 43 4)),
    profile("5.0", (5, 0), [-8, 522, 1004], customs!(44 36 59 59)),
    profile("5.1", (5, 1), [-8, 522, 1008], customs!(44 41 88 80)),
    profile("5.2", (5, 2), [-8, 522, 1009], customs!(44 41 104 83)),
    profile("5.3", (5, 3), [-8, 522, 1009], customs!(44 47 118 111)),
    profile("5.4", (5, 4), [-8, 522, 1012], customs!(44 51 119 134)),
    profile("5.5", (5, 5), [-8, 522, 1013], customs!(44 51 119 170)),
    profile("5.6", (5, 6), [-9, 522, 1017], customs!(44 56 121 207)),
    profile("5.7", (5, 7), [-9, 522, 1018], customs!(44 56 121 225)),
    profile("5.8", (5, 8), [-9, 522, 1018], customs!(44 56 121 268)),
];

impl Profile {
    /// The profile with that name.
    ///
    /// # Panics
    ///
    /// When there is no such profile.
    pub fn of(name: &str) -> Self {
        *PROFILES
            .iter()
            .find(|profile| profile.name == name)
            .unwrap_or_else(|| panic!("there is no version {name}"))
    }
}
