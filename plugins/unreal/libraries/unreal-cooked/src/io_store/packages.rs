//! Reads the header of a container (`FIoContainerHeader`): its packages and their imports.

use super::toc::little;
use crate::Fault;
use std::fmt;
use unreal_package::Cursor;

const WHAT: &str = "the container header";
const MAGIC: u32 = 0x496F_436E;
/// The newest known version (`EIoContainerHeaderVersion::SoftPackageReferencesOffset`).
const NEWEST: u32 = 5;

/// Versions that change the layout (`EIoContainerHeaderVersion`).
mod version {
    /// The header has no separate number of packages any more.
    pub const OPTIONAL_SEGMENTS: u32 = 2;
    /// Entries have no counts of exports, since Unreal Engine 5.3.
    pub const NO_EXPORT_INFO: u32 = 3;
}

/// The id of a package: CityHash of 64 bits over its name in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackageId(pub u64);

impl fmt::Display for PackageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016X}", self.0)
    }
}

/// The packages of a container.
#[derive(Clone, Debug)]
pub struct Packages<'a> {
    ids: &'a [u8],
    entries: &'a [u8],
    /// Size of an entry, and offset of its list of imports, in bytes.
    layout: (usize, usize),
}

impl<'a> Packages<'a> {
    /// Reads the data of a chunk of the kind `ContainerHeader`.
    ///
    /// # Errors
    ///
    /// When the data are damaged or of a newer version.
    pub fn read(bytes: &'a [u8], is_ue5: bool) -> Result<Self, Fault> {
        let mut cursor = Cursor::new(bytes, bytes.len() as u64);
        let layout = if is_ue5 { read_ue5(&mut cursor)? } else { read_ue4(&mut cursor)? };
        let count = cursor.count("packages", 8)?;
        let ids = cursor.take("packages", count * 8)?;
        let size = cursor.count("entries of the packages", 1)?;
        let entries = cursor.take("entries of the packages", size)?;
        let (entry_size, _) = layout;
        if count.saturating_mul(entry_size) > entries.len() {
            return Err(cursor.damaged("entries of the packages").into());
        }
        Ok(Self { ids, entries, layout })
    }

    /// The ids of all packages.
    pub fn ids(&self) -> impl Iterator<Item = PackageId> + use<'a> {
        ids(self.ids)
    }

    /// The packages that a package imports; `None` if the container does not have the package.
    pub fn imports(&self, package: PackageId) -> Option<impl Iterator<Item = PackageId> + use<'a>> {
        let at = self.ids().position(|id| id == package)?;
        Some(ids(self.list(at)))
    }

    /// The packages that import a package.
    pub fn importers(&self, package: PackageId) -> Vec<PackageId> {
        // The cooker writes no lists that overlap. Overlapping lists of a hostile file could take
        // very long, so the total length of the lists is bounded.
        let mut left = self.entries.len();
        let mut found = Vec::new();
        for (at, id) in self.ids().enumerate() {
            let list = self.list(at);
            let Some(rest) = left.checked_sub(list.len()) else { break };
            left = rest;
            if ids(list).any(|imported| imported == package) {
                found.push(id);
            }
        }
        found
    }

    /// The imports of an entry, as bytes; empty if the list would end beyond the entries.
    fn list(&self, entry: usize) -> &'a [u8] {
        let (size, field) = self.layout;
        let at = entry * size + field;
        let word = |at: usize| {
            let bytes = self.entries.get(at..at + 4)?;
            usize::try_from(little(bytes)).ok()
        };
        let list = || {
            let (count, offset) = (word(at)?, word(at + 4)?);
            let start = at.checked_add(offset)?;
            self.entries.get(start..start.checked_add(count.checked_mul(8)?)?)
        };
        list().unwrap_or_default()
    }
}

fn ids(bytes: &[u8]) -> impl Iterator<Item = PackageId> {
    bytes.chunks_exact(8).map(|id| PackageId(little(id)))
}

/// Reads a header of Unreal Engine 5 up to the ids, and returns the layout of its entries.
fn read_ue5(cursor: &mut Cursor<'_>) -> Result<(usize, usize), Fault> {
    if cursor.u32(WHAT)? != MAGIC {
        return Err(Fault::Unknown(WHAT));
    }
    let version = cursor.u32("version")?;
    if version > NEWEST {
        return Err(Fault::TooNew { what: WHAT, version, newest: NEWEST });
    }
    cursor.skip("id of the container", 8)?;
    if version < version::OPTIONAL_SEGMENTS {
        cursor.skip("number of packages", 4)?;
    }
    // Before 5.3, an entry begins with the counts of exports and of export bundles.
    Ok(if version < version::NO_EXPORT_INFO { (24, 8) } else { (16, 0) })
}

/// Reads a header of 4.26 or 4.27 up to the ids, and returns the layout of its entries.
fn read_ue4(cursor: &mut Cursor<'_>) -> Result<(usize, usize), Fault> {
    cursor.skip("id of the container", 8)?;
    cursor.skip("number of packages", 4)?;
    for what in ["names", "hashes of the names"] {
        let size = cursor.count(what, 1)?;
        cursor.skip(what, size)?;
    }
    Ok((32, 24))
}
