//! The packages of an asset registry, with their sizes on disk.

use super::{Name, Reader, version};
use crate::Fault;

/// Data of a package in the registry.
#[derive(Clone, Copy, Debug)]
pub struct PackageData {
    /// Name of the package.
    pub name: Name,
    /// Size on disk, in bytes; negative where it is unknown.
    pub size: i64,
}

impl Reader<'_, '_> {
    /// Reads the packages, which follow the dependencies.
    pub(super) fn packages(&mut self) -> Result<Vec<PackageData>, Fault> {
        let what = "packages";
        let count = self.cursor.count(what, 12)?;
        let mut packages = Vec::with_capacity(count);
        for _ in 0..count {
            let (name, size) = (self.name()?, self.cursor.i64(what)?);
            packages.push(PackageData { name, size });
            self.details()?;
        }
        Ok(packages)
    }

    /// Skips the fields of a package after its size.
    fn details(&mut self) -> Result<(), Fault> {
        let what = "packages";
        let since = |first: u32| self.version >= first;
        let (has_hash, has_chunks) = (since(version::COOKED_HASH), since(version::CHUNK_HASHES));
        let (has_versions, has_ue5) =
            (since(version::WORKSPACE_DOMAIN), since(version::UE5_VERSION));
        let (has_classes, has_extension) =
            (since(version::IMPORTED_CLASSES), since(version::EXTENSION));
        let saved = if since(version::SAVED_HASH) { 20 } else { 16 };
        self.cursor.skip(what, saved)?;
        if has_hash && self.cursor.flag(what)? {
            self.cursor.skip(what, 16)?;
        }
        if has_chunks {
            let chunks = self.cursor.count(what, 32)?;
            self.cursor.skip(what, chunks * 32)?;
        }
        if has_versions {
            self.cursor.skip(what, if has_ue5 { 16 } else { 12 })?;
            let customs = self.cursor.count(what, 20)?;
            self.cursor.skip(what, customs * 20)?;
        }
        if has_classes {
            for _ in 0..self.cursor.count(what, 4)? {
                self.name()?;
            }
        }
        if has_extension {
            self.text(what)?;
        }
        Ok(())
    }

    /// Skips a text in the encoding of the version.
    fn text(&mut self, what: &'static str) -> Result<(), Fault> {
        if self.version >= version::UTF8_TEXTS {
            let length = self.cursor.count(what, 1)?;
            self.cursor.skip(what, length)?;
        } else {
            self.cursor.skip_string(what)?;
        }
        Ok(())
    }
}
