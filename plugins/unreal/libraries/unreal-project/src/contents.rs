//! Collects the contents of a project's Blueprints and materials: nodes, calls, variables, events
//! and texts. Each package is read once. A search then opens only the files of packages that have
//! changed.
//!
//! The contents are kept apart from the index, since the index has to be small and most calls need
//! only the index. The first search collects the contents. Later searches collect them again only
//! from packages that have changed.

mod collect;
mod matching;
mod query;
mod record;
mod store;

pub use query::{ContentHit, ContentKind, ContentQuery, Found};

use crate::{
    disk::Disk,
    entry::{self, Entry},
    find::Project,
    index::Index,
    strings::{Id, Strings},
};
use record::Record;
use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hasher},
};

/// Size of texts and records together, in bytes, beyond which no further package is read.
const MAX_BYTES: usize = 24 << 20;

/// The result of collecting the contents of a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The contents were collected.
    Collected,
    /// The contents were collected, except for texts outside of graphs beyond a limit.
    Partly,
    /// The time limit ended before the package was read.
    Waiting,
    /// The file cannot be read, or is damaged.
    Unreadable,
    /// The file is larger than 64 MiB.
    TooLarge,
    /// The package was not read, since the contents of other packages have reached the memory
    /// limit.
    Full,
}

impl State {
    const ALL: [Self; 6] = [
        Self::Collected,
        Self::Partly,
        Self::Waiting,
        Self::Unreadable,
        Self::TooLarge,
        Self::Full,
    ];
}

/// A package that may have graphs, and where its records are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct IndexedPackage {
    /// Hash of the package's name and file.
    key: u64,
    size: u64,
    modified: u64,
    state: State,
    /// Number of nodes that were read only in part.
    faulty: u32,
    /// Range in the stream: start and length, in bytes.
    records: (u32, u32),
    /// Position of the package in the index. Not stored.
    entry: u32,
}

/// The contents of a project's Blueprints and materials.
#[derive(Debug, Default)]
pub struct Contents {
    strings: Strings,
    held: Vec<IndexedPackage>,
    stream: Vec<u8>,
}

/// The result of an update.
#[derive(Debug)]
pub struct UpdatedContents {
    /// The contents.
    pub contents: Contents,
    /// Whether the contents have changed.
    pub changed: bool,
    /// Number of packages read.
    pub read: usize,
    /// Number of packages not read within the time limit.
    pub left: usize,
}

impl IndexedPackage {
    /// Whether the stored records are up to date with this entry of the index.
    fn fits(&self, entry: &Entry, key: u64) -> bool {
        self.key == key
            && self.size == entry.size
            && self.modified == entry.modified
            && self.modified != 0
            && !matches!(self.state, State::Waiting | State::Unreadable)
    }
}

impl Contents {
    /// Brings the contents up to date with an index. `go_on` gets the number of packages read and
    /// the number of packages to read. If it returns `false`, the remaining packages wait for the
    /// next update.
    pub fn update(
        old: Option<Self>,
        index: &Index,
        project: &Project,
        mut go_on: impl FnMut(usize, usize) -> bool,
    ) -> UpdatedContents {
        let wanted = candidates(index);
        let mut old = old.unwrap_or_default();
        let entries = index.entries();
        let is_same = old.held.len() == wanted.len()
            && old
                .held
                .iter()
                .zip(&wanted)
                .all(|(held, (at, key))| held.fits(&entries[*at as usize], *key));
        if is_same {
            old.held.iter_mut().zip(&wanted).for_each(|(held, (at, _))| held.entry = *at);
            return UpdatedContents { contents: old, changed: false, read: 0, left: 0 };
        }
        let positions: HashMap<u64, usize> =
            old.held.iter().enumerate().map(|(position, held)| (held.key, position)).collect();
        let known = |at: u32, key: u64| {
            let held = old.held.get(*positions.get(&key)?)?;
            // With fewer packages than before, there may be room again.
            (held.fits(&entries[at as usize], key) && held.state != State::Full).then_some(*held)
        };
        let to_read = wanted.iter().filter(|(at, key)| known(*at, *key).is_none()).count();
        let mut new = Self::default();
        let mut copier = RecordCopier { old: &old, ids: vec![u32::MAX; old.strings.len()] };
        let (mut read, mut left, mut may_go_on) = (0, 0, true);
        let (disk, mut buffer) = (Disk::default(), Vec::new());
        for (at, key) in wanted {
            let entry = &entries[at as usize];
            let (size, modified) = (entry.size, entry.modified);
            let start = new.stream.len();
            let (state, faulty) = if let Some(held) = known(at, key) {
                copier.copy(&held, &mut new);
                (held.state, held.faulty)
            } else if new.is_full() {
                (State::Full, 0)
            } else {
                may_go_on = may_go_on && (read % 16 != 0 || go_on(read, to_read));
                if may_go_on {
                    read += 1;
                    let path = project.dir.join(index.text(entry.file));
                    let into = (&mut new.strings, &mut new.stream);
                    let package = index.text(entry.package);
                    collect::collect(&disk, &path, package, entry, &mut buffer, into)
                } else {
                    left += 1;
                    (State::Waiting, 0)
                }
            };
            let range = (start, new.stream.len() - start);
            let records = (u32::try_from(range.0).ok()).zip(u32::try_from(range.1).ok());
            let records = records.unwrap_or_default();
            new.held.push(IndexedPackage {
                key,
                size,
                modified,
                state,
                faulty,
                records,
                entry: at,
            });
        }
        UpdatedContents { contents: new, changed: true, read, left }
    }

    fn is_full(&self) -> bool {
        self.stream.len() + self.strings.text.len() > MAX_BYTES
    }

    /// The records of a package.
    fn records(&self, held: &IndexedPackage) -> &[u8] {
        let (from, len) = (held.records.0 as usize, held.records.1 as usize);
        self.stream.get(from..from.saturating_add(len)).unwrap_or_default()
    }
}

/// The packages that may hold graphs: their position in the index, and their key.
fn candidates(index: &Index) -> Vec<(u32, u64)> {
    let mut has_graphs_by_class: HashMap<Id, bool> = HashMap::new();
    let mut wanted = Vec::new();
    for (at, entry) in (0..).zip(index.entries()) {
        let is_readable = matches!(entry.state, entry::State::Read | entry::State::Partly);
        if !is_readable || entry.is_cooked || entry.is_external {
            continue;
        }
        let has_graph = || {
            let mut assets = index.assets_of(entry).iter();
            let mut has_graphs = |class| {
                *has_graphs_by_class.entry(class).or_insert_with(|| may_have_graphs(index, class))
            };
            assets.any(|asset| has_graphs(asset.class))
        };
        if entry.is_map || { has_graph }() {
            let mut hasher = DefaultHasher::new();
            hasher.write(index.text(entry.package).as_bytes());
            hasher.write_u8(0);
            hasher.write(index.text(entry.file).as_bytes());
            wanted.push((at, hasher.finish()));
        }
    }
    wanted
}

fn may_have_graphs(index: &Index, class: Id) -> bool {
    let class = crate::classes::class_of(index.text(class));
    class.ends_with("Blueprint") || class == "Material" || class.starts_with("MaterialFunction")
}

/// Copies records from old contents to new contents, with their strings.
struct RecordCopier<'o> {
    old: &'o Contents,
    /// The new id of each copied string.
    ids: Vec<u32>,
}

impl RecordCopier<'_> {
    fn copy(&mut self, held: &IndexedPackage, new: &mut Contents) {
        let mut rest = self.old.records(held);
        while let Some(mut record) = Record::next(&mut rest) {
            for Id(number) in &mut record.ids {
                let Some(known) = self.ids.get_mut(*number as usize) else {
                    *number = 0;
                    continue;
                };
                if *known == u32::MAX {
                    *known = new.strings.add(self.old.strings.get(Id(*number))).0;
                }
                *number = *known;
            }
            record.write(&mut new.stream);
        }
    }
}
