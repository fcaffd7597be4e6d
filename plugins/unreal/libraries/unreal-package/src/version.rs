//! Version numbers of packages, and the layout changes they mark.

use std::fmt;

/// Object versions of Unreal Engine 4 (`EUnrealEngineObjectUE4Version`) that change a layout.
pub mod ue4 {
    /// The oldest version that any engine loads.
    pub const OLDEST: i32 = 214;
    /// The summary has the offset of world composition's tile data.
    pub const WORLD_TILE: i32 = 224;
    /// The summary has a chunk id.
    pub const CHUNK: i32 = 278;
    /// The tag of an array states the type of its items.
    pub const ARRAY_INNER_TYPE: i32 = 282;
    /// Pin types are stored natively.
    pub const PIN_TYPE: i32 = 324;
    /// The summary has several chunk ids.
    pub const CHUNKS: i32 = 326;
    /// The engine version is a structure.
    pub const ENGINE_VERSION: i32 = 336;
    /// Pin types have a member reference.
    pub const PIN_MEMBER: i32 = 355;
    /// Exports have a flag for loading in an editor game.
    pub const LOAD_FOR_EDITOR_GAME: i32 = 365;
    /// Keys of curves are stored natively.
    pub const RICH_CURVE_KEY: i32 = 366;
    /// A text has a history.
    pub const TEXT_HISTORY: i32 = 368;
    /// Soft package references are listed.
    pub const SOFT_REFERENCES: i32 = 384;
    /// A currency format has a currency code.
    pub const TEXT_CURRENCY: i32 = 389;
    /// A date format has a time zone.
    pub const TEXT_TIME_ZONE: i32 = 422;
    /// The tag of a structure has a GUID.
    pub const STRUCT_GUID: i32 = 441;
    /// The summary has the oldest compatible engine version.
    pub const COMPATIBLE_ENGINE: i32 = 444;
    /// Pin types have a flag for constants.
    pub const PIN_TYPE_CONST: i32 = 456;
    /// Gatherable texts are listed.
    pub const GATHERABLE_TEXT: i32 = 459;
    /// Exports have a flag for assets.
    pub const COOKED_IN_EDITOR: i32 = 485;
    /// An array of structures repeats the tag of its items.
    pub const ARRAY_INNER_TAG: i32 = 500;
    /// Tags may have a property GUID.
    pub const PROPERTY_GUID: i32 = 503;
    /// Names have hashes.
    pub const NAME_HASHES: i32 = 504;
    /// Exports list their preload dependencies.
    pub const PRELOAD: i32 = 507;
    /// Exports have an archetype.
    pub const TEMPLATE: i32 = 508;
    /// Tags of sets and maps state the types of their items.
    pub const SET_AND_MAP: i32 = 509;
    /// The summary has the offset of searchable names.
    pub const SEARCHABLE_NAMES: i32 = 510;
    /// Exports have sizes and offsets of 64 bits.
    pub const WIDE_EXPORTS: i32 = 511;
    /// Soft object paths have the asset as a name, and soft package references are names.
    pub const SOFT_OBJECT_PATH: i32 = 514;
    /// The summary has a localization id.
    pub const LOCALIZATION_ID: i32 = 516;
    /// The summary has a persistent GUID.
    pub const OWNER: i32 = 518;
    /// Imports have a package name.
    pub const IMPORT_PACKAGE: i32 = 520;
    /// Asset registry dependencies have flags.
    pub const DEPENDENCY_FLAGS: i32 = 521;
}

/// Object versions of Unreal Engine 5 (`EUnrealEngineObjectUE5Version`) that change a layout.
pub mod ue5 {
    /// Names referenced by exports come first.
    pub const NAMES_FROM_EXPORTS: i32 = 1001;
    /// The summary has the offset of the payload table.
    pub const PAYLOAD_TOC: i32 = 1002;
    /// Imports have a flag for optional resources.
    pub const OPTIONAL: i32 = 1003;
    /// Vectors have 64-bit components.
    pub const LARGE_WORLDS: i32 = 1004;
    /// Exports have no GUID any more.
    pub const NO_EXPORT_GUID: i32 = 1005;
    /// Exports have a flag for inheritance.
    pub const INHERITED: i32 = 1006;
    /// Soft object paths have the package and the asset as two names.
    pub const TOP_LEVEL_ASSET_PATH: i32 = 1007;
    /// Soft object paths are in a table.
    pub const SOFT_PATH_TABLE: i32 = 1008;
    /// The summary has the offset of data resources.
    pub const DATA_RESOURCES: i32 = 1009;
    /// Exports have the offsets of their properties.
    pub const SCRIPT_OFFSETS: i32 = 1010;
    /// Tags have extensions.
    pub const TAG_EXTENSIONS: i32 = 1011;
    /// Tags have complete type names.
    pub const COMPLETE_TYPE_NAMES: i32 = 1012;
    /// Asset registry data has build dependencies.
    pub const BUILD_DEPENDENCIES: i32 = 1013;
    /// The summary has the offset of metadata.
    pub const METADATA: i32 = 1014;
    /// Verse cells are listed.
    pub const CELLS: i32 = 1015;
    /// The constant color of a material's input is linear. The engine lists no version for this change;
    /// the number was found by examining packages.
    pub const LINEAR_MATERIAL_COLORS: i32 = 1015;
    /// The summary has a hash instead of a GUID.
    pub const SAVED_HASH: i32 = 1016;
    /// The summary has a table of import types.
    pub const IMPORT_TYPES: i32 = 1018;
    /// The newest supported version: Unreal Engine 5.7 and 5.8.
    pub const NEWEST: i32 = 1018;
}

/// Custom versions of parts of the engine, identified by GUIDs.
pub mod custom {
    use crate::Guid;

    /// `FFrameworkObjectVersion`.
    pub const FRAMEWORK: Guid = Guid([0xCFFC_743F, 0x43B0_4480, 0x9391_14DF, 0x171D_2073]);
    /// `FBlueprintsObjectVersion`.
    pub const BLUEPRINTS: Guid = Guid([0xB0D8_32E4, 0x1F89_4F0D, 0xACCF_7EB7, 0x36FD_4AA2]);
    /// `FEditorObjectVersion`.
    pub const EDITOR: Guid = Guid([0xE4B0_68ED, 0xF494_42E9, 0xA231_DA0B, 0x2E46_BB41]);
    /// `FReleaseObjectVersion`.
    pub const RELEASE: Guid = Guid([0x9C54_D522, 0xA826_4FBE, 0x9421_0746, 0x61B4_82D0]);
    /// `FFortniteMainBranchObjectVersion`.
    pub const FORTNITE_MAIN: Guid = Guid([0x601D_1886, 0xAC64_4F84, 0xAA16_D3DE, 0x0DEA_C7D6]);
    /// `FUE5ReleaseStreamObjectVersion`.
    pub const UE5_RELEASE: Guid = Guid([0xD89B_5E42, 0x24BD_4D46, 0x8412_ACA8, 0xDF64_1779]);
    /// `FUE5MainStreamObjectVersion`.
    pub const UE5_MAIN: Guid = Guid([0x697D_D581, 0xE64F_41AB, 0xAA4A_51EC, 0xBEB7_B628]);
    /// `FCoreObjectVersion`.
    pub const CORE: Guid = Guid([0x375E_C13C, 0x06E4_48FB, 0xB500_84F0, 0x262A_717E]);
    /// `FAnimPhysObjectVersion`.
    pub const ANIM_PHYS: Guid = Guid([0x29E5_75DD, 0xE0A3_4627, 0x9D10_D276, 0x232C_DCEA]);
    /// `FSequencerObjectVersion`.
    pub const SEQUENCER: Guid = Guid([0x7B5A_E74C, 0xD270_4C10, 0xA958_5798, 0x0B21_2A5A]);
    /// `FPropertyBagCustomVersion`.
    pub const PROPERTY_BAG: Guid = Guid([0x134A_157E, 0xD5E2_49A3, 0x8D4E_843C, 0x98FE_9E31]);
    /// `FNiagaraCustomVersion`.
    pub const NIAGARA: Guid = Guid([0xFCF5_7AFA, 0x5076_4283, 0xB9A9_E658, 0xFFA0_2D32]);
}

/// The version numbers of a package.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Versions {
    /// File format version; it counts down from -2 (a preview of 4.0) to -9 (since 5.6).
    pub legacy: i32,
    /// Object version of Unreal Engine 4.
    pub ue4: i32,
    /// Object version of Unreal Engine 5; 0 before 5.0.
    pub ue5: i32,
    /// Version of a licensee's changes.
    pub licensee: i32,
}

impl Versions {
    /// The engines that write these versions, such as `5.4`. The table was made from packages that
    /// state their engine.
    pub fn engine(self) -> &'static str {
        match (self.ue4, self.ue5) {
            (_, 1018..) => "5.7 or 5.8",
            (_, 1014..) => "5.6",
            (_, 1013) => "5.5",
            (_, 1010..) => "5.4",
            (_, 1009) => "5.2 or 5.3",
            (_, 1005..) => "5.1",
            (_, 1..) => "5.0",
            (519.., _) => "4.26 or 4.27",
            (518, _) => "4.24 or 4.25",
            (517, _) => "4.21 to 4.23",
            (515.., _) => "4.19 or 4.20",
            (514, _) => "4.18",
            (511.., _) => "4.16 or 4.17",
            (509.., _) => "4.15",
            (506.., _) => "4.14",
            (505, _) => "4.13",
            (499.., _) => "4.12",
            (483.., _) => "4.11",
            (452.., _) => "4.9 or 4.10",
            _ => "4.0 to 4.8",
        }
    }
}

/// The engine that saved a package. All 0 for a source build without a version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Engine<'a> {
    /// The 5 of 5.6.1.
    pub major: u16,
    /// The 6 of 5.6.1.
    pub minor: u16,
    /// The 1 of 5.6.1.
    pub patch: u16,
    /// Changelist of the build.
    pub changelist: u32,
    /// Whether the changelist is a licensee's.
    pub licensee: bool,
    /// Branch of the build, such as `++UE5+Release-5.6`.
    pub branch: std::borrow::Cow<'a, str>,
}

impl fmt::Display for Engine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { major, minor, patch, changelist, licensee: _, branch } = self;
        write!(f, "{major}.{minor}.{patch}-{changelist}")?;
        if branch.is_empty() { Ok(()) } else { write!(f, "+{branch}") }
    }
}
