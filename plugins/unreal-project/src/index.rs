//! Every package of a project with its assets and dependencies, to be searched without a file being opened.

use crate::{
    entry::{Asset, Entry, Found, Link},
    mounts::Mount,
    strings::{Id, Strings},
};
use std::{
    cell::OnceCell,
    hash::{DefaultHasher, Hasher},
};

/// The packages of a project.
#[derive(Debug, Default)]
pub struct Index {
    pub(crate) strings: Strings,
    /// Where packages are.
    pub mounts: Vec<Mount>,
    /// Folders relative to the project, and when each was changed.
    pub(crate) folders: Vec<(Id, u64)>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) assets: Vec<Asset>,
    pub(crate) links: Vec<Link>,
    /// When every file was last looked at, in nanoseconds since 1970.
    pub walked: u64,
    /// Folders that are links, and were left out.
    pub linked_folders: u32,
    /// Whether the project has more packages than are listed.
    pub cut: bool,
    /// Hashes of the names of all entries in lower case, in order, each with which entry it is.
    pub(crate) lookup: OnceCell<Vec<(u64, u32)>>,
}

impl Index {
    /// The text of a number.
    pub fn text(&self, id: Id) -> &str {
        self.strings.get(id)
    }

    /// All packages, by their names.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The assets of a package.
    pub fn assets_of(&self, entry: &Entry) -> &[Asset] {
        slice(&self.assets, entry.assets)
    }

    /// What a package depends on.
    pub fn links_of(&self, entry: &Entry) -> &[Link] {
        slice(&self.links, entry.links)
    }

    /// Which entry is the package of that name. As in the engine, case does not matter; where two
    /// differ in nothing else, the one that is written alike is meant.
    pub fn position(&self, package: &str) -> Option<usize> {
        let lookup = self.lookup.get_or_init(|| {
            let names = self.entries.iter().map(|entry| folded(self.text(entry.package)));
            let mut lookup: Vec<(u64, u32)> = names.zip(0..).collect();
            lookup.sort_unstable();
            lookup
        });
        let wanted = folded(package);
        let first = lookup.partition_point(|(hash, _)| *hash < wanted);
        let candidates = lookup[first..].iter().take_while(|(hash, _)| *hash == wanted);
        let candidates = candidates.map(|(_, position)| *position as usize);
        let name = |position: &usize| self.text(self.entries[*position].package);
        let mut alike = candidates.filter(|position| name(position).eq_ignore_ascii_case(package));
        let first = alike.next()?;
        if name(&first) == package {
            return Some(first);
        }
        Some(alike.find(|position| name(position) == package).unwrap_or(first))
    }

    /// The package of that name.
    pub fn find(&self, package: &str) -> Option<&Entry> {
        self.position(package).map(|position| &self.entries[position])
    }

    /// Whether packages of that name would be in this project.
    pub fn has_mount_of(&self, package: &str) -> bool {
        self.mounts.iter().any(|mount| mount.below(package).is_some())
    }

    /// The whole path of an asset of a package.
    pub fn object_path(&self, entry: &Entry, asset: &Asset) -> String {
        let path = self.text(asset.path);
        if path.starts_with('/') {
            return path.to_owned();
        }
        format!("{}.{path}", self.text(entry.package))
    }

    /// Where a package leads, if all it has is a redirector: the package of the target.
    pub fn redirected(&self, entry: &Entry) -> Option<&str> {
        let assets = self.assets_of(entry);
        let target = assets.iter().map(|asset| self.text(asset.target)).find(|t| !t.is_empty())?;
        let path = target.split('\'').nth(1).unwrap_or(target);
        path.split('.').next().filter(|package| package.starts_with('/'))
    }

    pub(crate) fn add(&mut self, found: Found) {
        let Found { mut entry, assets, links } = found;
        entry.assets = extend(&mut self.assets, assets);
        entry.links = extend(&mut self.links, links);
        self.entries.push(entry);
    }
}

fn slice<T>(all: &[T], (from, len): (u32, u32)) -> &[T] {
    let from = from as usize;
    all.get(from..from + len as usize).unwrap_or_default()
}

fn extend<T>(all: &mut Vec<T>, more: Vec<T>) -> (u32, u32) {
    let (Ok(from), Ok(len)) = (u32::try_from(all.len()), u32::try_from(more.len())) else {
        return (0, 0);
    };
    all.extend(more);
    (from, len)
}

fn folded(package: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(package.to_ascii_lowercase().as_bytes());
    hasher.finish()
}
