//! Serializes an index, to store it between calls.

use crate::{
    entry::{Asset, Entry, Link, State},
    index::Index,
    mounts::Mount,
    strings::{Id, Strings},
};
use unreal_package::DependencyKind;

/// The first bytes of the serialized form; they change with the format.
const BEGIN: &[u8; 8] = b"UEINDEX4";

impl Index {
    /// Serializes the index.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(
            self.strings.text.len()
                + self.strings.len() * 4
                + self.entries.len() * 64
                + self.assets.len() * 24
                + self.links.len() * 8
                + 1024,
        );
        out.extend(BEGIN);
        number(&mut out, self.walked);
        let marks = u64::from(self.cut) | u64::from(self.plugins_left_out) << 1;
        number(&mut out, u64::from(self.links_left_out) << 2 | marks);
        number(&mut out, self.mounts.len() as u64);
        for Mount { name, folder } in &self.mounts {
            for text in [name, folder] {
                number(&mut out, text.len() as u64);
                out.extend(text.as_bytes());
            }
        }
        number(&mut out, self.strings.text.len() as u64);
        out.extend(self.strings.text.as_bytes());
        number(&mut out, self.strings.ends.len() as u64);
        self.strings.ends.iter().for_each(|end| out.extend(end.to_le_bytes()));
        number(&mut out, self.folders.len() as u64);
        for (folder, changed) in &self.folders {
            out.extend(folder.0.to_le_bytes());
            number(&mut out, *changed);
        }
        number(&mut out, self.entries.len() as u64);
        self.entries.iter().for_each(|entry| write_entry(&mut out, entry));
        number(&mut out, self.assets.len() as u64);
        for asset in &self.assets {
            let Asset { path, class, parent, native_parent, label, target } = asset;
            small(&mut out, [path, class, parent, native_parent, label, target].map(|id| id.0));
        }
        number(&mut out, self.links.len() as u64);
        for Link { package, strength, editor_only } in &self.links {
            let strength = match strength {
                DependencyKind::Hard => 0,
                DependencyKind::Soft => 1,
                DependencyKind::Build => 2,
            };
            let editor = match editor_only {
                None => 0,
                Some(false) => 1,
                Some(true) => 2,
            };
            small(&mut out, [package.0, strength | editor << 4]);
        }
        out
    }

    /// Parses the bytes; `None` for another format or damaged data.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut rest = UnparsedBytes(bytes.strip_prefix(BEGIN)?);
        let walked = rest.number()?;
        let marks = rest.number()?;
        let mut mounts = Vec::new();
        for _ in 0..rest.count(16)? {
            mounts.push(Mount { name: rest.text()?, folder: rest.text()? });
        }
        let strings = rest.strings()?;
        let mut folders = Vec::new();
        for _ in 0..rest.count(12)? {
            folders.push((rest.id()?, rest.number()?));
        }
        let entries = rest.all(read_entry)?;
        let assets = rest.all(|[path, class, parent, native_parent, label, target]| {
            let [path, class, parent, native_parent, label, target] =
                [path, class, parent, native_parent, label, target].map(Id);
            Some(Asset { path, class, parent, native_parent, label, target })
        })?;
        let links = rest.all(|[package, marks]| read_link(package, marks))?;
        rest.0.is_empty().then(|| Self {
            strings,
            mounts,
            folders,
            entries,
            assets,
            links,
            walked,
            links_left_out: u32::try_from(marks >> 2).unwrap_or(u32::MAX),
            cut: marks & 1 == 1,
            plugins_left_out: marks >> 1 & 1 == 1,
            ..Self::default()
        })
    }
}

/// Size of a stored entry, in integers of 32 bits.
const ENTRY: usize = 15;

fn write_entry(out: &mut Vec<u8>, entry: &Entry) {
    let Entry { package, file, size, modified, state, engine, assets, links, .. } = entry;
    let state = State::ALL.iter().position(|known| known == state).unwrap_or_default();
    let marks = u32::from(entry.is_map)
        | u32::from(entry.is_cooked) << 1
        | u32::from(entry.is_external) << 2;
    let state = u32::try_from(state).unwrap_or_default() << 8;
    small(out, [package.0, file.0]);
    number(out, *size);
    number(out, *modified);
    small(out, [state | marks]);
    small(out, *engine);
    small(out, [assets.0, assets.1, links.0, links.1]);
}

fn read_entry(parts: [u32; ENTRY]) -> Option<Entry> {
    let [package, file, size, size_high, modified, modified_high, marks, a, b, c, d, ..] = parts;
    let [.., assets, assets_len, links, links_len] = parts;
    let wide = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    Some(Entry {
        package: Id(package),
        file: Id(file),
        size: wide(size, size_high),
        modified: wide(modified, modified_high),
        state: *State::ALL.get((marks >> 8) as usize)?,
        is_map: marks & 1 != 0,
        is_cooked: marks & 2 != 0,
        is_external: marks & 4 != 0,
        engine: [a, b, c, d],
        assets: (assets, assets_len),
        links: (links, links_len),
    })
}

fn read_link(package: u32, marks: u32) -> Option<Link> {
    let strength = match marks & 0x0F {
        0 => DependencyKind::Hard,
        1 => DependencyKind::Soft,
        2 => DependencyKind::Build,
        _ => return None,
    };
    let editor_only = match marks >> 4 {
        0 => None,
        1 => Some(false),
        2 => Some(true),
        _ => return None,
    };
    Some(Link { package: Id(package), strength, editor_only })
}

fn small<const N: usize>(out: &mut Vec<u8>, numbers: [u32; N]) {
    numbers.iter().for_each(|number| out.extend(number.to_le_bytes()));
}

fn number(out: &mut Vec<u8>, number: u64) {
    out.extend(number.to_le_bytes());
}

/// The bytes that are not parsed yet.
pub struct UnparsedBytes<'b>(pub &'b [u8]);

impl<'b> UnparsedBytes<'b> {
    pub fn take(&mut self, len: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u64> {
        self.take(8)?.first_chunk().copied().map(u64::from_le_bytes)
    }

    fn id(&mut self) -> Option<Id> {
        self.take(4)?.first_chunk().copied().map(u32::from_le_bytes).map(Id)
    }

    /// The number of items that follow; `None` if the bytes left are fewer than `least` for each.
    pub fn count(&mut self, least: usize) -> Option<usize> {
        let count = usize::try_from(self.number()?).ok()?;
        (count.checked_mul(least)? <= self.0.len()).then_some(count)
    }

    /// Reads a list of items of `N` 32-bit numbers each.
    pub fn all<const N: usize, T>(
        &mut self,
        read: impl Fn([u32; N]) -> Option<T>,
    ) -> Option<Vec<T>> {
        let count = self.count(N * 4)?;
        let (words, _) = self.take(count * N * 4)?.as_chunks::<4>();
        let (things, _) = words.as_chunks::<N>();
        things.iter().map(|parts| read(parts.map(u32::from_le_bytes))).collect()
    }

    pub fn text(&mut self) -> Option<String> {
        let len = self.count(1)?;
        String::from_utf8(self.take(len)?.to_vec()).ok()
    }

    /// Reads interned strings.
    pub fn strings(&mut self) -> Option<Strings> {
        let text = self.text()?;
        let ends = self.count(4)?;
        let ends = self.take(ends * 4)?.as_chunks().0.iter().map(|end| u32::from_le_bytes(*end));
        Strings::from_parts(text, ends.collect())
    }
}
