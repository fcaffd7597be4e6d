//! Reads asset registries of packaged and installed projects (`AssetRegistry.bin`): assets with
//! their classes and tags, packages with their sizes, and dependencies.

mod dependencies;
mod packages;
mod tags;

pub use dependencies::{Dependency, DependencyDirection};
pub use packages::PackageData;

use crate::{Fault, names};
use dependencies::Node;
use std::borrow::Cow;
use tags::{Store, Tags};
use unreal_package::{Cursor, Guid};

const WHAT: &str = "an asset registry";
const GUID: Guid = Guid([0x717F_9EE7, 0xE9B0_493A, 0x88B3_9132, 0x1B38_8107]);
/// The newest known version (`FAssetRegistryVersion::MemoryMappedTagDataStore`).
const NEWEST: u32 = 24;

/// Versions that change the layout (`FAssetRegistryVersion`).
mod version {
    /// The oldest version that is read, of Unreal Engine 4.16. Assets have no groups since this
    /// version.
    pub const OLDEST: u32 = 4;
    pub const HARD_MANAGE: u32 = 5;
    pub const COOKED_HASH: u32 = 6;
    pub const DEPENDENCY_FLAGS: u32 = 7;
    /// Names and tags are stored once for all assets; since 4.27.
    pub const FIXED_TAGS: u32 = 8;
    pub const WORKSPACE_DOMAIN: u32 = 9;
    pub const IMPORTED_CLASSES: u32 = 10;
    pub const UE5_VERSION: u32 = 11;
    pub const CHUNK_HASHES: u32 = 13;
    /// Classes are paths; since 5.1.
    pub const CLASS_PATHS: u32 = 14;
    pub const NO_OBJECT_PATHS: u32 = 15;
    pub const HEADER: u32 = 16;
    pub const EXTENSION: u32 = 17;
    pub const UTF8_TEXTS: u32 = 19;
    pub const SAVED_HASH: u32 = 20;
    /// Dependencies of the asset manager have three flag bits instead of one.
    pub const COOK_RULE: u32 = 22;
    /// The tables of the tags are aligned.
    pub const MAPPED_TAGS: u32 = 24;
}

/// A name: its index in the name table, and the appended number plus 1 (0 if none is appended).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    index: u32,
    number: u32,
}

/// An asset registry.
#[derive(Clone, Debug)]
pub struct Registry<'a> {
    /// Version of the registry's format.
    pub version: u32,
    /// The assets.
    pub assets: Vec<Asset>,
    /// Data of the packages; empty if the registry was stripped for a packaged game, or if the data cannot be read.
    pub packages: Vec<PackageData>,
    /// A message for each part that could not be read.
    pub warnings: Vec<String>,
    nodes: Vec<Node>,
    names: Vec<Cow<'a, str>>,
    store: Store<'a>,
}

/// An asset.
#[derive(Clone, Copy, Debug)]
pub struct Asset {
    package: Name,
    name: Name,
    /// Package of the class (`None` before 5.1), and name of the class.
    class: (Option<Name>, Name),
    tags: Tags,
    /// Package flags (`EPackageFlags`).
    pub flags: u32,
}

/// A cursor with the registry's version and names.
struct Reader<'a, 'n> {
    cursor: Cursor<'a>,
    version: u32,
    names: &'n [Cow<'a, str>],
}

impl<'a> Registry<'a> {
    /// Reads a registry; `bytes` is the whole file.
    ///
    /// # Errors
    ///
    /// When the file is not an asset registry, is older than 4.16 or newer than 5.8, or its names,
    /// tags or assets are damaged. Damage after the assets is a warning.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Fault> {
        let mut cursor = Cursor::new(bytes, bytes.len() as u64);
        if Guid::read(&mut cursor) != Ok(GUID) {
            return Err(Fault::Unknown(WHAT));
        }
        let version = cursor.u32("version")?;
        if version < version::OLDEST {
            return Err(Fault::TooOld { what: WHAT, version, oldest: version::OLDEST });
        }
        if version > NEWEST {
            return Err(Fault::TooNew { what: WHAT, version, newest: NEWEST });
        }
        // The flag means that editor-only data were filtered out. Otherwise each asset also names
        // its outer.
        let has_outer = version < version::HEADER || !cursor.flag("header")?;
        let (names, store) = if version >= version::FIXED_TAGS {
            let names = names::batch(&mut cursor)?;
            let store = Store::read(&mut cursor, version, &names)?;
            (names, store)
        } else {
            (name_table(&mut cursor)?, Store::inline_in(bytes))
        };
        let mut reader = Reader { cursor, version, names: &names };
        let assets = reader.read_assets(has_outer)?;
        let (nodes, packages, warnings) = reader.read_rest();
        Ok(Self { version, assets, packages, warnings, nodes, names, store })
    }

    /// The text of a name.
    pub fn name(&self, name: Name) -> Cow<'_, str> {
        let text = self.names.get(name.index as usize).map_or("None", AsRef::as_ref);
        names::numbered(text, name.number)
    }

    /// The name of an asset's package, such as `/Game/Doors/BP_Door`.
    pub fn package(&self, asset: &Asset) -> Cow<'_, str> {
        self.name(asset.package)
    }

    /// The name of an asset, such as `BP_Door_C`.
    pub fn asset_name(&self, asset: &Asset) -> Cow<'_, str> {
        self.name(asset.name)
    }

    /// The class of an asset: a path such as `/Script/Engine.Blueprint`, or a name before 5.1.
    pub fn class(&self, asset: &Asset) -> Cow<'_, str> {
        let (package, class) = asset.class;
        match package {
            None => self.name(class),
            Some(package) => Cow::Owned(format!("{}.{}", self.name(package), self.name(class))),
        }
    }

    /// The number of tags of an asset.
    pub fn tag_count(&self, asset: &Asset) -> usize {
        asset.tags.count()
    }

    /// The tags of an asset: keys and values, at most 20,000.
    pub fn tags(&self, asset: &Asset) -> Vec<(String, String)> {
        self.store.tags(asset.tags, &self.names)
    }

    /// The packages that a package needs, or the packages that need it.
    pub fn dependencies(&self, package: &str, direction: DependencyDirection) -> Vec<Dependency> {
        dependencies::of(self, package, direction)
    }
}

/// Reads the name table of a registry before 4.27, which is at the end of the file.
fn name_table<'a>(cursor: &mut Cursor<'a>) -> Result<Vec<Cow<'a, str>>, Fault> {
    let what = "names";
    let at = cursor.i64(what)?;
    let mut table = cursor.from(what, at)?;
    let count = table.count(what, 8)?;
    let mut names = Vec::with_capacity(count);
    for _ in 0..count {
        names.push(table.string(what)?);
        table.skip(what, 4)?;
    }
    Ok(names)
}

impl Reader<'_, '_> {
    fn name(&mut self) -> Result<Name, Fault> {
        let what = "name";
        /// Marks an index that is followed by a number.
        const NUMBERED: u32 = 0x8000_0000;
        let index = self.cursor.u32(what)?;
        let name = if self.version < version::FIXED_TAGS {
            Name { index, number: self.cursor.u32(what)? }
        } else if index & NUMBERED != 0 {
            Name { index: index & !NUMBERED, number: self.cursor.u32(what)? }
        } else {
            Name { index, number: 0 }
        };
        if (name.index as usize) < self.names.len() {
            Ok(name)
        } else {
            Err(self.cursor.damaged(what).into())
        }
    }

    /// Reads a class: its package (since 5.1) and its name.
    fn class(&mut self) -> Result<(Option<Name>, Name), Fault> {
        let package = if self.version >= version::CLASS_PATHS { Some(self.name()?) } else { None };
        Ok((package, self.name()?))
    }

    fn read_assets(&mut self, has_outer: bool) -> Result<Vec<Asset>, Fault> {
        let what = "assets";
        let count = self.cursor.count(what, 28)?;
        let mut assets = Vec::with_capacity(count);
        for _ in 0..count {
            if self.version < version::NO_OBJECT_PATHS {
                self.name()?;
            }
            self.name()?;
            let class = self.class()?;
            let (package, name) = (self.name()?, self.name()?);
            if self.version >= version::NO_OBJECT_PATHS && has_outer {
                self.name()?;
            }
            let tags = self.tags()?;
            let chunks = self.cursor.count(what, 4)?;
            self.cursor.skip(what, chunks * 4)?;
            let flags = self.cursor.u32(what)?;
            assets.push(Asset { package, name, class, tags, flags });
        }
        Ok(assets)
    }

    /// Reads the tags of an asset and skips its bundles.
    fn tags(&mut self) -> Result<Tags, Fault> {
        let what = "tags";
        if self.version < version::FIXED_TAGS {
            let start = self.cursor.at();
            let count = self.cursor.count(what, 12)?;
            for _ in 0..count {
                self.name()?;
                self.cursor.skip_string(what)?;
            }
            return Ok(Tags::Inline { start, count });
        }
        let tags = Tags::of(self.cursor.u64(what)?);
        for _ in 0..self.cursor.count("bundles", 8)? {
            self.name()?;
            for _ in 0..self.cursor.count("bundles", 8)? {
                self.class()?;
                self.cursor.skip_string("bundles")?;
            }
        }
        Ok(tags)
    }

    /// Reads the dependencies and the packages, which follow the assets. Faults become warnings.
    fn read_rest(&mut self) -> (Vec<Node>, Vec<PackageData>, Vec<String>) {
        let mut warnings = Vec::new();
        let nodes = self.nodes().unwrap_or_else(|fault| {
            warnings.push(format!("the dependencies could not be read: {fault}"));
            None
        });
        // Without the end of the dependencies, the packages cannot be found.
        let packages = match &nodes {
            None => Vec::new(),
            Some(_) => self.packages().unwrap_or_else(|fault| {
                warnings.push(format!("the packages' data could not be read: {fault}"));
                Vec::new()
            }),
        };
        (nodes.unwrap_or_default(), packages, warnings)
    }
}
