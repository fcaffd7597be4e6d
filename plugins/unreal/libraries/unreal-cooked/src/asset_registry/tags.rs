//! The tags of a registry's assets. Since 4.27, keys and values of all assets are in tables, one
//! for each kind of value.

use super::{Name, version};
use crate::{Fault, names};
use std::borrow::Cow;
use unreal_package::Cursor;

/// The possible first words of the tables. With the first value, the texts (`FText`) are among the
/// other tables. With the second value, they are before the other tables.
const BEGIN: [u32; 2] = [0x1234_5678, 0x1234_5679];
const END: u32 = 0x8765_4321;
/// Maximum number of tags that are returned for an asset.
const MAX_TAGS: usize = 20_000;

/// The place of an asset's tags in the registry.
#[derive(Clone, Copy, Debug)]
pub enum Tags {
    /// In the asset itself, before 4.27.
    Inline {
        /// Offset, in the file, of the asset's number of tags, in bytes.
        start: u64,
        /// Number of tags.
        count: usize,
    },
    /// In the tables of all assets, as consecutive key-value pairs.
    Stored {
        /// Whether no key has an appended number.
        is_numberless: bool,
        first: usize,
        count: usize,
    },
}

impl Tags {
    /// The number of tags.
    pub fn count(self) -> usize {
        match self {
            Self::Inline { count, .. } | Self::Stored { count, .. } => count,
        }
    }

    /// Unpacks a handle to the pairs of an asset (`FPartialMapHandle`).
    pub fn of(packed: u64) -> Self {
        Self::Stored {
            is_numberless: packed >> 63 != 0,
            first: (packed & 0xFFFF_FFFF) as usize,
            count: (packed >> 32 & 0xFFFF) as usize,
        }
    }
}

/// The key-value pairs of all assets, and their values (`FixedTagPrivate::FStore`).
#[derive(Clone, Debug, Default)]
pub struct Store<'a> {
    /// The whole file, for tags before 4.27.
    bytes: &'a [u8],
    texts: Vec<Cow<'a, str>>,
    plain_names: Vec<Name>,
    names: Vec<Name>,
    plain_paths: Vec<ExportPath>,
    paths: Vec<ExportPath>,
    narrow: Strings<'a>,
    wide: Strings<'a>,
    plain_pairs: Vec<(Name, u32)>,
    pairs: Vec<(Name, u32)>,
}

/// The path of an object with its class.
#[derive(Clone, Copy, Debug)]
struct ExportPath {
    class: Name,
    object: Name,
    package: Name,
}

/// Zero-terminated strings, and the offsets where they begin.
#[derive(Clone, Copy, Debug, Default)]
struct Strings<'a> {
    offsets: &'a [u8],
    characters: &'a [u8],
}

/// A cursor with the version and the number of names.
struct Tables<'a, 'c> {
    cursor: &'c mut Cursor<'a>,
    version: u32,
    names: usize,
}

impl<'a> Store<'a> {
    /// Reads the tables of all tags.
    pub fn read(
        cursor: &mut Cursor<'a>,
        version: u32,
        names: &[Cow<'a, str>],
    ) -> Result<Self, Fault> {
        Tables { cursor, version, names: names.len() }.read()
    }

    /// The keys and values of an asset's tags.
    pub fn tags(&self, tags: Tags, names: &[Cow<'_, str>]) -> Vec<(String, String)> {
        match tags {
            Tags::Inline { start, count } => self.inline(start, count, names).unwrap_or_default(),
            Tags::Stored { is_numberless, first, count } => {
                let stored = if is_numberless { &self.plain_pairs } else { &self.pairs };
                let pairs =
                    stored.get(first..first + count).unwrap_or_default().iter().take(MAX_TAGS);
                pairs.map(|(key, value)| (text(names, *key), self.value(*value, names))).collect()
            }
        }
    }

    fn inline(
        &self,
        start: u64,
        count: usize,
        names: &[Cow<'_, str>],
    ) -> Result<Vec<(String, String)>, Fault> {
        let what = "tags";
        let whole = Cursor::new(self.bytes, self.bytes.len() as u64);
        let mut cursor = whole.from(what, i64::try_from(start).unwrap_or(i64::MAX))?;
        cursor.skip(what, 4)?;
        let mut tags = Vec::new();
        for _ in 0..count.min(MAX_TAGS) {
            let key = Name { index: cursor.u32(what)?, number: cursor.u32(what)? };
            tags.push((text(names, key), cursor.string(what)?.into_owned()));
        }
        Ok(tags)
    }

    /// The text of a value. The lowest three bits of `id` (`FValueId`) are the kind of the value;
    /// the other bits are its index. Empty if the value is unknown.
    fn value(&self, id: u32, names: &[Cow<'_, str>]) -> String {
        let at = (id >> 3) as usize;
        let name = |name: Option<&Name>| name.map(|name| text(names, *name));
        let path = |path: Option<&ExportPath>| path.map(|path| path.text(names));
        let value = match id & 7 {
            0 => self.narrow.narrow(at),
            1 => self.wide.wide(at),
            2 => name(self.plain_names.get(at)),
            3 => name(self.names.get(at)),
            4 => path(self.plain_paths.get(at)),
            5 => path(self.paths.get(at)),
            6 => self.texts.get(at).map(|text| text.clone().into_owned()),
            _ => None,
        };
        value.unwrap_or_default()
    }

    /// A store for registries before 4.27, whose assets contain their tags; `bytes` is the whole
    /// file.
    pub fn inline_in(bytes: &'a [u8]) -> Self {
        Self { bytes, ..Self::default() }
    }
}

fn text(table: &[Cow<'_, str>], name: Name) -> String {
    let text = table.get(name.index as usize).map_or("None", AsRef::as_ref);
    names::numbered(text, name.number).into_owned()
}

impl ExportPath {
    fn text(&self, names: &[Cow<'_, str>]) -> String {
        let text = |name| text(names, name);
        let (class, object, package) = (text(self.class), text(self.object), text(self.package));
        let path = if object == "None" { package } else { format!("{package}.{object}") };
        if class == "None" { path } else { format!("{class}'{path}'") }
    }
}

impl<'a> Strings<'a> {
    fn from(&self, at: usize, width: usize) -> Option<&'a [u8]> {
        let offset = self.offsets.get(at * 4..at * 4 + 4)?.try_into().ok()?;
        let start = usize::try_from(u32::from_le_bytes(offset)).ok()?.checked_mul(width)?;
        self.characters.get(start..)
    }

    fn narrow(&self, at: usize) -> Option<String> {
        let bytes = self.from(at, 1)?;
        let end = bytes.iter().position(|byte| *byte == 0)?;
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }

    fn wide(&self, at: usize) -> Option<String> {
        let units = self.from(at, 2)?.chunks_exact(2);
        let units = units.map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        let text = char::decode_utf16(units.take_while(|unit| *unit != 0));
        Some(text.map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
    }
}

impl<'a> Tables<'a, '_> {
    fn read(mut self) -> Result<Store<'a>, Fault> {
        let what = "tags";
        self.align()?;
        let begin = self.cursor.u32(what)?;
        if !BEGIN.contains(&begin) {
            return Err(self.cursor.damaged(what).into());
        }
        let are_texts_first = begin == BEGIN[1];
        let mut counts = [0; 11];
        for count in &mut counts {
            // A first check only: each table checks its count again where it begins.
            *count = self.cursor.count(what, 1)?;
        }
        let mut store = Store::default();
        if are_texts_first {
            self.cursor.skip(what, 4)?;
            store.texts = self.read_texts(counts[4])?;
        }
        store.plain_names = self.read_table(counts[0], 4, Self::name)?;
        store.names = self.read_table(counts[1], 4, Self::name)?;
        store.plain_paths = self.read_table(counts[2], 12, Self::path)?;
        store.paths = self.read_table(counts[3], 12, Self::path)?;
        if !are_texts_first {
            store.texts = self.read_texts(counts[4])?;
        }
        store.narrow.offsets = self.read_bytes(counts[5], 4)?;
        store.wide.offsets = self.read_bytes(counts[6], 4)?;
        store.narrow.characters = self.read_bytes(counts[7], 1)?;
        store.wide.characters = self.read_bytes(counts[8], 2)?;
        store.plain_pairs = self.read_table(counts[9], 8, Self::pair)?;
        store.pairs = self.read_table(counts[10], 8, Self::pair)?;
        match self.cursor.u32(what)? {
            END => Ok(store),
            _ => Err(self.cursor.damaged(what).into()),
        }
    }

    /// Skips to the next multiple of 16 bytes, in versions that align tables.
    fn align(&mut self) -> Result<(), Fault> {
        if self.version >= version::MAPPED_TAGS {
            let excess = self.cursor.at() % 16;
            self.cursor.skip("alignment", if excess == 0 { 0 } else { 16 - excess as usize })?;
        }
        Ok(())
    }

    fn read_table<T>(
        &mut self,
        count: usize,
        min_bytes: usize,
        item: fn(&mut Self) -> Result<T, Fault>,
    ) -> Result<Vec<T>, Fault> {
        self.align()?;
        let count = i32::try_from(count).unwrap_or(-1);
        let count = self.cursor.checked_count("tags", count, min_bytes)?;
        (0..count).map(|_| item(self)).collect()
    }

    fn read_bytes(&mut self, count: usize, size: usize) -> Result<&'a [u8], Fault> {
        self.align()?;
        let bytes = count.checked_mul(size).ok_or_else(|| self.cursor.damaged("tags"))?;
        Ok(self.cursor.take("tags", bytes)?)
    }

    fn name(&mut self) -> Result<Name, Fault> {
        let index = self.cursor.u32("tags")?;
        let name = match index & 0x8000_0000 {
            0 => Name { index, number: 0 },
            mark => Name { index: index ^ mark, number: self.cursor.u32("tags")? },
        };
        let is_known = (name.index as usize) < self.names;
        if is_known { Ok(name) } else { Err(self.cursor.damaged("tags").into()) }
    }

    fn path(&mut self) -> Result<ExportPath, Fault> {
        if self.version >= version::CLASS_PATHS {
            self.name()?;
        }
        Ok(ExportPath { class: self.name()?, object: self.name()?, package: self.name()? })
    }

    fn pair(&mut self) -> Result<(Name, u32), Fault> {
        Ok((self.name()?, self.cursor.u32("tags")?))
    }

    fn read_texts(&mut self, count: usize) -> Result<Vec<Cow<'a, str>>, Fault> {
        self.read_table(count, 4, |tables| {
            if tables.version < version::UTF8_TEXTS {
                return Ok(tables.cursor.string("texts")?);
            }
            let length = tables.cursor.count("texts", 1)?;
            let bytes = tables.cursor.take("texts", length)?;
            Ok(String::from_utf8_lossy(bytes.strip_suffix(&[0]).unwrap_or(bytes)))
        })
    }
}
