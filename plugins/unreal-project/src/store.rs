//! An index as bytes, to be kept from one call to the next.

use crate::{
    entry::{Asset, Entry, Link, State},
    index::Index,
    mounts::Mount,
    strings::{Id, Strings},
};
use unreal_package::Strength;

/// What the bytes begin with; another layout begins otherwise.
const BEGIN: &[u8; 8] = b"UEINDEX1";

impl Index {
    /// As bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(
            self.strings.text.len()
                + self.strings.len() * 4
                + self.entries.len() * 64
                + self.assets.len() * 24
                + self.links.len() * 5
                + 1024,
        );
        out.extend(BEGIN);
        number(&mut out, self.walked);
        number(&mut out, u64::from(self.linked_folders) << 1 | u64::from(self.cut));
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
            for id in [path, class, parent, native_parent, label, target] {
                out.extend(id.0.to_le_bytes());
            }
        }
        number(&mut out, self.links.len() as u64);
        for Link { package, strength, editor_only } in &self.links {
            out.extend(package.0.to_le_bytes());
            let strength = match strength {
                Strength::Hard => 0,
                Strength::Soft => 1,
                Strength::Build => 2,
            };
            let editor = match editor_only {
                None => 0,
                Some(false) => 1,
                Some(true) => 2,
            };
            out.push(strength | editor << 4);
        }
        out
    }

    /// From bytes; `None` where they are of another layout or damaged.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut rest = Rest(bytes.strip_prefix(BEGIN)?);
        let walked = rest.number()?;
        let marks = rest.number()?;
        let mut mounts = Vec::new();
        for _ in 0..rest.count(16)? {
            mounts.push(Mount { name: rest.text()?, folder: rest.text()? });
        }
        let text = rest.text()?;
        let ends = rest.count(4)?;
        let ends = rest.take(ends * 4)?.as_chunks().0.iter().map(|end| u32::from_le_bytes(*end));
        let strings = Strings::from_parts(text, ends.collect())?;
        let mut folders = Vec::new();
        for _ in 0..rest.count(12)? {
            folders.push((rest.id()?, rest.number()?));
        }
        let count = rest.count(ENTRY)?;
        let mut entries = Vec::with_capacity(count);
        for _ in 0..count {
            entries.push(read_entry(&mut rest)?);
        }
        let count = rest.count(24)?;
        let mut assets = Vec::with_capacity(count);
        for _ in 0..count {
            assets.push(Asset {
                path: rest.id()?,
                class: rest.id()?,
                parent: rest.id()?,
                native_parent: rest.id()?,
                label: rest.id()?,
                target: rest.id()?,
            });
        }
        let count = rest.count(5)?;
        let mut links = Vec::with_capacity(count);
        for _ in 0..count {
            links.push(read_link(&mut rest)?);
        }
        rest.0.is_empty().then(|| Self {
            strings,
            mounts,
            folders,
            entries,
            assets,
            links,
            walked,
            linked_folders: u32::try_from(marks >> 1).unwrap_or(u32::MAX),
            cut: marks & 1 == 1,
            ..Self::default()
        })
    }
}

/// How many bytes an entry takes.
const ENTRY: usize = 4 + 4 + 8 + 8 + 1 + 1 + 16 + 16;

fn write_entry(out: &mut Vec<u8>, entry: &Entry) {
    let Entry { package, file, size, modified, state, is_map, is_cooked, engine, assets, links } =
        entry;
    out.extend(package.0.to_le_bytes());
    out.extend(file.0.to_le_bytes());
    number(out, *size);
    number(out, *modified);
    let state = State::ALL.iter().position(|known| known == state).unwrap_or_default();
    out.push(u8::try_from(state).unwrap_or_default());
    out.push(u8::from(*is_map) | u8::from(*is_cooked) << 1);
    engine.iter().for_each(|part| out.extend(part.to_le_bytes()));
    for part in [assets.0, assets.1, links.0, links.1] {
        out.extend(part.to_le_bytes());
    }
}

fn read_entry(rest: &mut Rest<'_>) -> Option<Entry> {
    let (package, file) = (rest.id()?, rest.id()?);
    let (size, modified) = (rest.number()?, rest.number()?);
    let [state, marks] = *rest.take(2)?.first_chunk()?;
    let mut parts = [0; 8];
    for part in &mut parts {
        *part = rest.id()?.0;
    }
    let [a, b, c, d, assets, assets_len, links, links_len] = parts;
    Some(Entry {
        package,
        file,
        size,
        modified,
        state: *State::ALL.get(state as usize)?,
        is_map: marks & 1 != 0,
        is_cooked: marks & 2 != 0,
        engine: [a, b, c, d],
        assets: (assets, assets_len),
        links: (links, links_len),
    })
}

fn read_link(rest: &mut Rest<'_>) -> Option<Link> {
    let package = rest.id()?;
    let [marks] = *rest.take(1)?.first_chunk()?;
    let strength = match marks & 0x0F {
        0 => Strength::Hard,
        1 => Strength::Soft,
        2 => Strength::Build,
        _ => return None,
    };
    let editor_only = match marks >> 4 {
        0 => None,
        1 => Some(false),
        2 => Some(true),
        _ => return None,
    };
    Some(Link { package, strength, editor_only })
}

fn number(out: &mut Vec<u8>, number: u64) {
    out.extend(number.to_le_bytes());
}

/// What is left to read.
struct Rest<'b>(&'b [u8]);

impl<'b> Rest<'b> {
    fn take(&mut self, len: usize) -> Option<&'b [u8]> {
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

    /// How many things of at least that size follow.
    fn count(&mut self, least: usize) -> Option<usize> {
        let count = usize::try_from(self.number()?).ok()?;
        (count.checked_mul(least)? <= self.0.len()).then_some(count)
    }

    fn text(&mut self) -> Option<String> {
        let len = self.count(1)?;
        String::from_utf8(self.take(len)?.to_vec()).ok()
    }
}
