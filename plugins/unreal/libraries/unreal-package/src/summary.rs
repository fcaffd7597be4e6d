//! Reads the package summary: versions, and the offsets of all tables.

use crate::{
    Guid,
    cursor::Cursor,
    fault::{CursorStop, Fault},
    version::{Engine, Versions, ue4, ue5},
};
use std::borrow::Cow;

const MAGIC: u32 = 0x9E2A_83C1;
const LFS_START: &[u8] = b"version https://git-lfs";

/// Package flags that this reader uses (`EPackageFlags`).
pub mod flags {
    /// Cooked for a packaged game.
    pub const COOKED: u32 = 0x0000_0200;
    /// Properties are stored without tags.
    pub const UNVERSIONED_PROPERTIES: u32 = 0x0000_2000;
    /// Contains a map.
    pub const MAP: u32 = 0x0002_0000;
    /// Editor-only data has been stripped.
    pub const FILTER_EDITOR_ONLY: u32 = 0x8000_0000;
}

/// Count and offset of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Table {
    pub count: i32,
    pub offset: i32,
}

/// The start of a package.
#[derive(Clone, Debug, Default)]
pub struct Summary<'a> {
    /// The versions that define the layout.
    pub versions: Versions,
    /// Custom versions of parts of the engine.
    pub customs: Vec<(Guid, i32)>,
    /// Size of the header in bytes; the objects follow.
    pub header_size: u64,
    /// Name under which the package was saved. The package may have been moved since. Before 5.1,
    /// the name is the text `None`.
    pub saved_name: Cow<'a, str>,
    /// Package flags; see [`flags`].
    pub flags: u32,
    /// The engine that saved the package.
    pub engine: Engine<'a>,
    pub(crate) names: Table,
    pub(crate) soft_paths: Table,
    pub(crate) exports: Table,
    pub(crate) imports: Table,
    pub(crate) soft_packages: Table,
    pub(crate) thumbnails: i32,
    pub(crate) registry: i32,
    pub(crate) depends: i32,
    /// The end of the summary, as an offset in the file; 0 if editor-only data has not been
    /// stripped.
    pub(crate) end: u64,
    pub(crate) file_len: u64,
}

impl<'a> Summary<'a> {
    /// Reads the summary from the start of a file of `file_len` bytes.
    ///
    /// # Errors
    ///
    /// When the file cannot be read as a package; see [`Fault`].
    pub fn read(bytes: &'a [u8], file_len: u64) -> Result<Self, Fault> {
        Self::read_assuming(bytes, file_len, None)
    }

    /// Reads the summary. If the package states no versions, the versions in `assumed` are used.
    pub(crate) fn read_assuming(
        bytes: &'a [u8],
        file_len: u64,
        assumed: Option<Versions>,
    ) -> Result<Self, Fault> {
        if bytes.starts_with(LFS_START) {
            return Err(Fault::LfsPointer { size: lfs_size(bytes) });
        }
        let mut cursor = Cursor::new(bytes, file_len);
        match cursor.u32("magic number") {
            Ok(MAGIC) => {}
            Ok(magic) if magic == MAGIC.swap_bytes() => return Err(Fault::BigEndian),
            Ok(_) | Err(CursorStop::Damaged { .. }) => return Err(Fault::NotAPackage),
            Err(stop @ CursorStop::Short { .. }) => return Err(stop.into()),
        }
        let mut summary = Self { file_len: file_len.max(bytes.len() as u64), ..Self::default() };
        summary.versions = read_versions(&mut cursor, assumed)?;
        summary.read_body(&mut cursor)?;
        Ok(summary)
    }

    /// The custom version of a part of the engine, or -1 if the package does not use it.
    pub fn custom(&self, part: Guid) -> i32 {
        self.customs.iter().find(|(guid, _)| *guid == part).map_or(-1, |(_, version)| *version)
    }

    /// Whether editor-only data has been stripped.
    pub fn is_stripped(&self) -> bool {
        self.flags & flags::FILTER_EDITOR_ONLY != 0
    }

    /// Whether the package was cooked.
    pub fn is_cooked(&self) -> bool {
        self.flags & (flags::COOKED | flags::FILTER_EDITOR_ONLY) != 0
    }

    fn read_body(&mut self, cursor: &mut Cursor<'a>) -> Result<(), CursorStop> {
        let Versions { legacy, ue4, ue5, .. } = self.versions;
        if ue5 >= ue5::SAVED_HASH {
            cursor.skip("hash", 20)?;
            self.header_size = read_size(cursor)?;
        }
        self.customs = read_customs(cursor, legacy)?;
        if ue5 < ue5::SAVED_HASH {
            self.header_size = read_size(cursor)?;
        }
        self.saved_name = cursor.string("package name")?;
        self.flags = cursor.u32("package flags")?;
        self.names = read_table(cursor, "names")?;
        if ue5 >= ue5::SOFT_PATH_TABLE {
            self.soft_paths = read_table(cursor, "soft object paths")?;
        }
        if ue4 >= ue4::LOCALIZATION_ID && !self.is_stripped() {
            cursor.skip_string("localization id")?;
        }
        if ue4 >= ue4::GATHERABLE_TEXT {
            read_table(cursor, "texts")?;
        }
        self.exports = read_table(cursor, "exports")?;
        self.imports = read_table(cursor, "imports")?;
        if ue5 >= ue5::CELLS {
            cursor.skip("cells", 16)?;
        }
        if ue5 >= ue5::METADATA {
            cursor.skip("offset of the metadata", 4)?;
        }
        self.depends = cursor.i32("offset of the dependencies")?;
        if ue4 >= ue4::SOFT_REFERENCES {
            self.soft_packages = read_table(cursor, "soft references")?;
        }
        if ue4 >= ue4::SEARCHABLE_NAMES {
            cursor.skip("offset of the searchable names", 4)?;
        }
        self.thumbnails = cursor.i32("offset of the thumbnails")?;
        if ue5 >= ue5::IMPORT_TYPES {
            cursor.skip("types of the imports", 8)?;
        }
        if ue5 < ue5::SAVED_HASH {
            cursor.skip("GUID", 16)?;
        }
        if ue4 >= ue4::OWNER && !self.is_stripped() {
            cursor.skip("persistent GUID", 16)?;
            if ue4 < ue4::IMPORT_PACKAGE {
                cursor.skip("owner's GUID", 16)?;
            }
        }
        self.read_tail(cursor)
    }

    /// Reads the fields from the generations on.
    fn read_tail(&mut self, cursor: &mut Cursor<'a>) -> Result<(), CursorStop> {
        let Versions { legacy, ue4, .. } = self.versions;
        let generations = cursor.count("generations", 8)?;
        cursor.skip("generations", generations * 8)?;
        self.engine = read_engine(cursor, ue4, ue4::ENGINE_VERSION)?;
        if ue4 >= ue4::COMPATIBLE_ENGINE {
            read_engine(cursor, ue4, 0)?;
        }
        cursor.skip("compression", 4)?;
        let chunks = cursor.count("compressed chunks", 16)?;
        cursor.skip("compressed chunks", chunks * 16)?;
        cursor.skip("source", 4)?;
        for _ in 0..cursor.count("additional packages", 4)? {
            cursor.skip_string("additional package")?;
        }
        if legacy > -7 {
            cursor.skip("texture allocations", 4)?;
        }
        self.registry = cursor.i32("offset of the asset registry data")?;
        if self.is_stripped() {
            self.end = self.skip_rest(cursor.clone())?;
        }
        Ok(())
    }

    /// Skips the fields after the offset of the asset registry data, to find the end of the summary.
    fn skip_rest(&self, mut cursor: Cursor<'_>) -> Result<u64, CursorStop> {
        let what = "end of the summary";
        let Versions { ue4, ue5, .. } = self.versions;
        cursor.skip(what, 8)?;
        if ue4 >= ue4::WORLD_TILE {
            cursor.skip(what, 4)?;
        }
        if ue4 >= ue4::CHUNKS {
            let chunks = cursor.count(what, 4)?;
            cursor.skip(what, chunks * 4)?;
        } else if ue4 >= ue4::CHUNK {
            cursor.skip(what, 4)?;
        }
        let sizes = [
            (ue4 >= ue4::PRELOAD, 8),
            (ue5 >= ue5::NAMES_FROM_EXPORTS, 4),
            (ue5 >= ue5::PAYLOAD_TOC, 8),
            (ue5 >= ue5::DATA_RESOURCES, 4),
        ];
        for (is_there, size) in sizes {
            cursor.skip(what, if is_there { size } else { 0 })?;
        }
        Ok(cursor.at())
    }
}

fn read_versions(cursor: &mut Cursor<'_>, assumed: Option<Versions>) -> Result<Versions, Fault> {
    let legacy = cursor.i32("file version")?;
    if legacy >= -1 {
        return Err(Fault::TooOld { legacy, ue4: 0 });
    }
    if legacy != -4 {
        cursor.skip("version of Unreal Engine 3", 4)?;
    }
    let ue4 = cursor.i32("version of Unreal Engine 4")?;
    let ue5 = if legacy <= -8 { cursor.i32("version of Unreal Engine 5")? } else { 0 };
    let licensee = cursor.i32("licensee's version")?;
    if legacy < -9 || ue5 > ue5::NEWEST {
        return Err(Fault::TooNew { legacy, ue5 });
    }
    if ue4 == 0 && ue5 == 0 {
        let assumed = assumed.ok_or(Fault::Unversioned)?;
        return Ok(Versions { legacy, licensee, ..assumed });
    }
    if ue4 < ue4::OLDEST {
        return Err(Fault::TooOld { legacy, ue4 });
    }
    Ok(Versions { legacy, ue4, ue5, licensee })
}

fn read_size(cursor: &mut Cursor<'_>) -> Result<u64, CursorStop> {
    let size = cursor.i32("size of the header")?;
    u64::try_from(size).map_err(|_| cursor.damaged("size of the header"))
}

fn read_table(cursor: &mut Cursor<'_>, what: &'static str) -> Result<Table, CursorStop> {
    Ok(Table { count: cursor.i32(what)?, offset: cursor.i32(what)? })
}

fn read_customs(cursor: &mut Cursor<'_>, legacy: i32) -> Result<Vec<(Guid, i32)>, CursorStop> {
    let what = "custom versions";
    let min_bytes = if legacy == -2 { 8 } else { 20 };
    let count = cursor.count(what, min_bytes)?;
    let mut customs = Vec::with_capacity(count);
    for _ in 0..count {
        if legacy == -2 {
            cursor.skip(what, 8)?;
            continue;
        }
        let guid = Guid::read(cursor)?;
        customs.push((guid, cursor.i32(what)?));
        if legacy >= -5 {
            cursor.skip_string(what)?;
        }
    }
    Ok(customs)
}

fn read_engine<'a>(
    cursor: &mut Cursor<'a>,
    ue4: i32,
    since: i32,
) -> Result<Engine<'a>, CursorStop> {
    let what = "engine version";
    if ue4 < since {
        return Ok(Engine { changelist: cursor.u32(what)?, ..Engine::default() });
    }
    let (major, minor, patch) = (cursor.u16(what)?, cursor.u16(what)?, cursor.u16(what)?);
    let changelist = cursor.u32(what)?;
    Ok(Engine {
        major,
        minor,
        patch,
        // The highest bit marks a licensee's changelist.
        changelist: changelist & 0x7FFF_FFFF,
        licensee: changelist >> 31 == 1,
        branch: cursor.string(what)?,
    })
}

fn lfs_size(bytes: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(bytes.get(..bytes.len().min(1024))?).ok()?;
    text.lines().find_map(|line| line.strip_prefix("size ")?.trim().parse().ok())
}
