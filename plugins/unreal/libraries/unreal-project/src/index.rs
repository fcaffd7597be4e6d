//! The index of a project's packages, assets and dependencies, for searches without opening files.

use crate::{
    entry::{Asset, Entry, HeaderData, Link},
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
    /// The mount points.
    pub mounts: Vec<Mount>,
    /// Folders relative to the project, and their times of modification.
    pub(crate) folders: Vec<(Id, u64)>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) assets: Vec<Asset>,
    pub(crate) links: Vec<Link>,
    /// Time of the last check of every file, in nanoseconds since 1970.
    pub walked: u64,
    /// Number of symbolic links that were not followed: links to folders, to files that may not be
    /// read, or to missing files.
    pub links_left_out: u32,
    /// Whether packages may be missing, since the project has more packages or folders than the limits, or deeper
    /// folders.
    pub cut: bool,
    /// Whether packages of plugins may be missing, since the search for plugins reached a limit.
    pub plugins_left_out: bool,
    /// Hashes of all package names in lower case, sorted, each with the position of its entry.
    pub(crate) lookup: OnceCell<Vec<(u64, u32)>>,
}

impl Index {
    /// The string with that id.
    pub fn text(&self, id: Id) -> &str {
        self.strings.get(id)
    }

    /// All packages, sorted by name.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The assets of a package.
    pub fn assets_of(&self, entry: &Entry) -> &[Asset] {
        slice(&self.assets, entry.assets)
    }

    /// The dependencies of a package.
    pub fn links_of(&self, entry: &Entry) -> &[Link] {
        slice(&self.links, entry.links)
    }

    /// The position of the package with that name. Case is ignored, as in the engine; if several
    /// names differ only in case, the exact match is preferred.
    pub fn position(&self, package: &str) -> Option<usize> {
        let lookup = self.lookup.get_or_init(|| {
            let names =
                self.entries.iter().map(|entry| hash_without_case(self.text(entry.package)));
            let mut lookup: Vec<(u64, u32)> = names.zip(0..).collect();
            lookup.sort_unstable();
            lookup
        });
        let wanted = hash_without_case(package);
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

    /// The package with that name.
    pub fn find(&self, package: &str) -> Option<&Entry> {
        self.position(package).map(|position| &self.entries[position])
    }

    /// Whether the name belongs to a mount point of this project.
    pub fn has_mount_of(&self, package: &str) -> bool {
        self.mounts.iter().any(|mount| mount.below(package).is_some())
    }

    /// The full path of an asset in a package.
    pub fn object_path(&self, entry: &Entry, asset: &Asset) -> String {
        let path = self.text(asset.path);
        if path.starts_with('/') {
            return path.to_owned();
        }
        format!("{}.{path}", self.text(entry.package))
    }

    /// The package to which the redirector in a package leads; `None` without a redirector.
    pub fn redirected(&self, entry: &Entry) -> Option<&str> {
        let assets = self.assets_of(entry);
        let target = assets.iter().map(|asset| self.text(asset.target)).find(|t| !t.is_empty())?;
        let path = target.split('\'').nth(1).unwrap_or(target);
        path.split('.').next().filter(|package| package.starts_with('/'))
    }

    pub(crate) fn add(&mut self, found: HeaderData) {
        let HeaderData { mut entry, assets, links } = found;
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

fn hash_without_case(package: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(package.to_ascii_lowercase().as_bytes());
    hasher.finish()
}
