//! Reads the index of pak archives (`.pak`): all files with their sizes and compression.
//!
//! Source of the layouts: `FPakInfo`, `FPakEntry` and `FPakFile` of the engine's module `PakFile`, versions 1 to 12.

use crate::Fault;
use std::{
    io::{Read, Seek, SeekFrom},
    ops::Range,
};
use unreal_package::Cursor;

/// The magic number of the footer.
const MAGIC: u32 = 0x5A6F_12E1;
/// The newest version of the format that is known here.
const NEWEST: u32 = 12;
/// Maximum size of each part of an index, in bytes.
const MAX_INDEX_BYTES: u64 = 64 << 20;
/// Maximum size of all paths together, in bytes: a hostile index can repeat a long folder in each path.
const MAX_PATHS_BYTES: usize = 64 << 20;
/// Number of bytes of the name of a compression method.
const METHOD_NAME_LEN: usize = 32;
/// Positions of encoded entries that mean "no file" (`FPakEntryLocation`).
const NO_FILE: [i32; 2] = [i32::MIN, i32::MAX];

/// The footers: the size, the offset of the magic number, the number of compression methods, and the versions.
const FOOTERS: [(usize, usize, usize, Range<u32>); 6] = [
    (221, 17, 5, 8..u32::MAX),
    (222, 17, 5, 9..10),
    (189, 17, 4, 8..9),
    (61, 17, 0, 7..8),
    (45, 1, 0, 4..7),
    (44, 0, 0, 1..4),
];

/// The index of an archive.
#[derive(Clone, Debug, Default)]
pub struct Pak {
    /// Version of the format.
    pub version: u32,
    /// Engines that write this version.
    pub engine: &'static str,
    /// Folder that all paths begin with, such as `../../../MyGame/`.
    pub mount: String,
    /// GUID of the key if the index is encrypted, as 32 hexadecimal digits; zeros for the game's
    /// main key.
    pub encrypted_index: Option<String>,
    /// The files; empty if the index is encrypted, or has no names.
    pub files: Vec<PakFile>,
    /// Number of files without a name, in an index that has hashes of paths only.
    pub unnamed: usize,
}

/// A file in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PakFile {
    /// Its path, with the folder that all paths begin with.
    pub path: String,
    /// Size before compression, in bytes.
    pub size: u64,
    /// Size in the archive, in bytes.
    pub stored: u64,
    /// Name of the compression method; empty if the file is not compressed.
    pub method: String,
    /// Whether its data are encrypted.
    pub is_encrypted: bool,
    /// Whether the entry deletes the file with this path in other archives.
    pub is_deleted: bool,
}

/// The footer at the end of the file.
struct Footer {
    version: u32,
    key: String,
    is_encrypted: bool,
    index: Range<u64>,
    /// Names of compression methods; numbers in entries begin at 1.
    methods: Vec<String>,
    /// Whether entries store the number of their method in one byte, as only 4.22 does.
    has_short_method: bool,
}

/// The sizes, method and flags of a file.
#[derive(Clone, Debug, Default)]
struct Entry {
    size: u64,
    stored: u64,
    method: u32,
    flags: u8,
}

impl Pak {
    /// Reads the index of an archive.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or is not an archive, is newer than the known versions, is
    /// damaged, or has an index that is frozen (4.25 only) or too large.
    pub fn read(file: &mut (impl Read + Seek)) -> Result<Self, Fault> {
        let len = file.seek(SeekFrom::End(0))?;
        let footer = Footer::read(file, len)?;
        let mut pak = Self {
            version: footer.version,
            engine: engine(footer.version, footer.has_short_method),
            ..Self::default()
        };
        if footer.is_encrypted {
            pak.encrypted_index = Some(footer.key);
            return Ok(pak);
        }
        let index = read_part(file, &footer.index, len)?;
        let mut cursor = Cursor::new(&index, index.len() as u64);
        pak.mount = cursor.string("mount point")?.into_owned();
        match footer.version {
            ..10 => pak.read_old_index(&footer, cursor)?,
            10.. => pak.read_index(&footer, cursor, file, len)?,
        }
        Ok(pak)
    }

    /// Reads an index as engines before 4.26 write it: each path with its entry.
    fn read_old_index(&mut self, footer: &Footer, mut cursor: Cursor<'_>) -> Result<(), Fault> {
        let what = "index";
        let count = cursor.count(what, 50)?;
        let mut paths_len = 0;
        for _ in 0..count {
            let name = cursor.string("path")?;
            let entry = Entry::read(footer, &mut cursor)?;
            self.add(footer, &mut paths_len, &["", &name], &entry, &cursor)?;
        }
        Ok(())
    }

    /// Reads an index as 4.26 and later write it: entries, and a separate part with the folders and their files.
    fn read_index(
        &mut self,
        footer: &Footer,
        mut cursor: Cursor<'_>,
        file: &mut (impl Read + Seek),
        len: u64,
    ) -> Result<(), Fault> {
        let what = "index";
        let count = cursor.u32(what)?;
        cursor.skip(what, 8)?;
        let _by_hash = read_location(&mut cursor)?;
        let Some(folders) = read_location(&mut cursor)? else {
            self.unnamed = count as usize;
            return Ok(());
        };
        let encoded = cursor.count(what, 1)?;
        let encoded = cursor.take(what, encoded)?;
        let mut entries = Vec::new();
        for _ in 0..cursor.count(what, 50)? {
            entries.push(Entry::read(footer, &mut cursor)?);
        }
        let folders = read_part(file, &folders, len)?;
        let mut cursor = Cursor::new(&folders, folders.len() as u64);
        let mut paths_len = 0;
        for _ in 0..cursor.count("folder", 8)? {
            let folder = cursor.string("folder")?;
            for _ in 0..cursor.count("folder", 8)? {
                let name = cursor.string("path")?;
                let place = cursor.i32("place of an entry")?;
                if NO_FILE.contains(&place) {
                    continue;
                }
                let damaged = || cursor.damaged("place of an entry");
                let entry = match usize::try_from(place) {
                    Ok(at) => Entry::decode(encoded.get(at..).ok_or_else(damaged)?)?,
                    // Negative positions count the entries that could not be encoded: -1 is the
                    // first.
                    Err(_) => {
                        let at = usize::try_from(-(place + 1)).unwrap_or(usize::MAX);
                        entries.get(at).cloned().ok_or_else(damaged)?
                    }
                };
                self.add(
                    footer,
                    &mut paths_len,
                    &[folder.trim_start_matches('/'), &name],
                    &entry,
                    &cursor,
                )?;
            }
        }
        Ok(())
    }

    /// Adds a file. `paths_len` is the total size of all paths so far, in bytes.
    fn add(
        &mut self,
        footer: &Footer,
        paths_len: &mut usize,
        names: &[&str; 2],
        entry: &Entry,
        cursor: &Cursor<'_>,
    ) -> Result<(), Fault> {
        let path = [&self.mount, names[0], names[1]].concat();
        *paths_len += path.len();
        if *paths_len > MAX_PATHS_BYTES {
            return Err(cursor.damaged("path").into());
        }
        self.files.push(PakFile {
            path,
            size: entry.size,
            stored: entry.stored,
            method: footer.method(entry.method),
            is_encrypted: entry.flags & 1 != 0,
            is_deleted: footer.version >= 6 && entry.flags & 2 != 0,
        });
        Ok(())
    }
}

impl Footer {
    fn read(file: &mut (impl Read + Seek), len: u64) -> Result<Self, Fault> {
        let longest = FOOTERS.iter().map(|(size, ..)| *size as u64).max().unwrap_or_default();
        let end = read_bytes(file, len.saturating_sub(longest)..len)?;
        for (size, magic_at, methods, versions) in FOOTERS {
            let Some(start) = end.len().checked_sub(size) else { continue };
            let footer = &end[start..];
            let number = |at: usize| {
                let bytes = footer.get(at..)?.first_chunk::<4>()?;
                Some(u32::from_le_bytes(*bytes))
            };
            let version = number(magic_at + 4).filter(|version| versions.contains(version));
            let (Some(MAGIC), Some(version)) = (number(magic_at), version) else { continue };
            if version > NEWEST {
                let what = "the archive";
                return Err(Fault::TooNew { what, version, newest: NEWEST });
            }
            let has_this_version = size != 221 || matches!(version, 8 | 10..);
            if has_this_version {
                return Self::parse(footer, version, magic_at, methods);
            }
        }
        Err(Fault::Unknown("an archive (.pak)"))
    }

    fn parse(footer: &[u8], version: u32, magic_at: usize, methods: usize) -> Result<Self, Fault> {
        let what = "footer";
        let mut cursor = Cursor::new(footer, footer.len() as u64);
        let key = if magic_at == 17 { cursor.take(what, 16)? } else { &[0; 16] };
        // A GUID is shown as four numbers of 32 bits. They are stored in little-endian order, so the bytes of each
        // number are reversed.
        let key = key.chunks_exact(4).flat_map(|part| part.iter().rev());
        let key = key.map(|byte| format!("{byte:02X}")).collect();
        let is_encrypted = magic_at > 0 && cursor.u8(what)? != 0;
        cursor.skip(what, 8)?;
        let (offset, size) = (cursor.u64(what)?, cursor.u64(what)?);
        cursor.skip(what, 20)?;
        if version == 9 && cursor.u8(what)? != 0 {
            return Err(Fault::FrozenIndex);
        }
        let mut names = Vec::new();
        for _ in 0..methods {
            let name = cursor.take(what, METHOD_NAME_LEN)?;
            let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
            names.push(String::from_utf8_lossy(name).into_owned());
        }
        let index = offset..offset.saturating_add(size);
        let has_short_method = methods == 4;
        Ok(Self { version, key, is_encrypted, index, methods: names, has_short_method })
    }

    /// The name of a compression method.
    fn method(&self, number: u32) -> String {
        // Before 4.22, the number is a set of bits (`ECompressionFlags`).
        let old = [(1, "Zlib"), (2, "Gzip"), (4, "custom")];
        let known = match (number, self.version) {
            (0, _) => Some(""),
            (_, ..8) => old.iter().find(|(bit, _)| number & bit != 0).map(|(_, name)| *name),
            (_, 8..) => self.methods.get(number as usize - 1).map(String::as_str),
        };
        known.map_or_else(|| format!("method {number}"), str::to_owned)
    }
}

impl Entry {
    /// Reads an entry as `FPakEntry::Serialize` writes it.
    fn read(footer: &Footer, cursor: &mut Cursor<'_>) -> Result<Self, Fault> {
        let what = "entry";
        cursor.skip(what, 8)?;
        let (stored, size) = (cursor.u64(what)?, cursor.u64(what)?);
        let method = match footer.has_short_method {
            true => cursor.u8(what)?.into(),
            false => cursor.u32(what)?,
        };
        if footer.version < 2 {
            cursor.skip(what, 8)?;
        }
        cursor.skip(what, 20)?;
        let mut flags = 0;
        if footer.version >= 3 {
            if method != 0 {
                let blocks = cursor.count(what, 16)?;
                cursor.skip(what, blocks * 16)?;
            }
            flags = cursor.u8(what)?;
            cursor.skip(what, 4)?;
        }
        Ok(Self { size, stored, method, flags })
    }

    /// Reads an encoded entry, as `FPakFile::DecodePakEntry` does. An encoded entry never marks a
    /// file as deleted.
    fn decode(bytes: &[u8]) -> Result<Self, Fault> {
        let what = "entry";
        let mut cursor = Cursor::new(bytes, bytes.len() as u64);
        let bits = cursor.u32(what)?;
        if bits & 0x3F == 0x3F {
            // Since 4.27, a block size that does not fit into the bits follows in four bytes.
            cursor.skip(what, 4)?;
        }
        let mut number = |is_short: bool| match is_short {
            true => cursor.u32(what).map(u64::from),
            false => cursor.u64(what),
        };
        let _offset = number(bits & 1 << 31 != 0)?;
        let size = number(bits & 1 << 30 != 0)?;
        let method = bits >> 23 & 0x3F;
        let stored = if method == 0 { size } else { number(bits & 1 << 29 != 0)? };
        Ok(Self { size, stored, method, flags: u8::from(bits & 1 << 22 != 0) })
    }
}

/// Reads the place of a part of the index. `None` if there is no such part.
fn read_location(cursor: &mut Cursor<'_>) -> Result<Option<Range<u64>>, Fault> {
    let what = "index";
    if !cursor.flag(what)? {
        return Ok(None);
    }
    let (offset, size) = (cursor.u64(what)?, cursor.u64(what)?);
    cursor.skip(what, 20)?;
    Ok(Some(offset..offset.saturating_add(size)))
}

/// Reads the bytes of a part of the index, in a file of `len` bytes.
fn read_part(
    file: &mut (impl Read + Seek),
    place: &Range<u64>,
    len: u64,
) -> Result<Vec<u8>, Fault> {
    let size = place.end - place.start;
    if place.end > len {
        return Err(Fault::Damaged { what: "place of the index", at: place.start });
    }
    if size > MAX_INDEX_BYTES {
        return Err(Fault::TooLarge { what: "the index", bytes: size, most: MAX_INDEX_BYTES });
    }
    read_bytes(file, place.clone())
}

fn read_bytes(file: &mut (impl Read + Seek), place: Range<u64>) -> Result<Vec<u8>, Fault> {
    file.seek(SeekFrom::Start(place.start))?;
    let mut bytes = Vec::new();
    file.take(place.end - place.start).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The engines that write a version of the format.
fn engine(version: u32, has_short_method: bool) -> &'static str {
    match version {
        ..=3 => "4.0 to 4.15",
        4 => "4.16 to 4.19",
        5 | 6 => "4.20",
        7 => "4.21",
        8 if has_short_method => "4.22",
        8 => "4.23 or 4.24",
        9 => "4.25",
        10 => "4.26",
        11 => "4.26 or newer",
        12.. => "newer than 5.3",
    }
}
