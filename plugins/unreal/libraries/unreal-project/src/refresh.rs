//! Updates an index with as few file system calls as is safe.

use crate::{
    disk::Disk,
    entry::{self, Entry, HeaderData, State},
    find::Project,
    index::Index,
    mounts::MountPoints,
    search::is_external,
    strings::{Id, Strings},
    walk::{File, Walk, walk},
};
use std::{
    collections::HashMap,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// How long earlier checks are trusted.
#[derive(Clone, Copy, Debug)]
pub struct TrustPolicy {
    /// For this time after a check of the folders, nothing is checked.
    pub trusted: Duration,
    /// For this time after a check of all files, only folders are checked. Editors and version
    /// control replace files, which changes the time of the folder. A file that is changed in place
    /// leaves the time of the folder as it is.
    pub folders: Duration,
}

impl Default for TrustPolicy {
    fn default() -> Self {
        Self { trusted: Duration::from_secs(2), folders: Duration::from_secs(60) }
    }
}

/// The extent of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checked {
    /// Nothing: the last check is recent.
    Trusted,
    /// The time of modification of each folder.
    Folders,
    /// The size and time of modification of each file.
    Files,
}

/// An updated index.
#[derive(Debug)]
pub struct UpdatedIndex {
    /// The index.
    pub index: Index,
    /// The extent of the check.
    pub checked: Checked,
    /// Whether the index has changed, even if only in the time of the last check of all files.
    pub changed: bool,
    /// Number of headers read.
    pub read: usize,
    /// Number of headers that are left for the next update, because `go_on` ended this update.
    pub left: usize,
}

/// Updates an index. `checked` is the time of the last check of its folders, in nanoseconds since
/// 1970. `go_on` gets the number of headers read and the number of headers to read. If it returns
/// `false`, the remaining headers wait for the next update.
pub fn refresh(
    project: &Project,
    old: Option<Index>,
    checked: u64,
    policy: TrustPolicy,
    mut go_on: impl FnMut(usize, usize) -> bool,
) -> UpdatedIndex {
    let now = now();
    let complete = |index: &Index| index.entries.iter().all(|e| e.state != State::Unread);
    if let Some(index) = old {
        let since = |then: u64| Duration::from_nanos(now.saturating_sub(then));
        let whole = complete(&index) && then_known(checked, now) && then_known(index.walked, now);
        if whole && since(checked) < policy.trusted {
            return unchanged(index, Checked::Trusted);
        }
        if whole && since(index.walked) < policy.folders && same_folders(project, &index) {
            return unchanged(index, Checked::Folders);
        }
        return renew(project, Some(index), now, &mut go_on);
    }
    renew(project, None, now, &mut go_on)
}

/// Whether a time is known and not in the future. A time in the future means that the clock was
/// changed.
fn then_known(then: u64, now: u64) -> bool {
    then != 0 && then <= now
}

fn unchanged(index: Index, checked: Checked) -> UpdatedIndex {
    UpdatedIndex { index, checked, changed: false, read: 0, left: 0 }
}

/// The current time in nanoseconds since 1970.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

fn same_folders(project: &Project, index: &Index) -> bool {
    let disk = Disk::default();
    index.folders.iter().all(|(folder, changed)| {
        let path = project.dir.join(index.text(*folder));
        let found = disk.folder(&path).stat("");
        *changed != 0 && found.is_some_and(|found| found.modified == *changed)
    })
}

/// Checks every file, and reads new and changed files.
fn renew(
    project: &Project,
    old: Option<Index>,
    now: u64,
    go_on: &mut impl FnMut(usize, usize) -> bool,
) -> UpdatedIndex {
    let MountPoints { mounts, searched, cut: plugins_left_out } = project.mounts();
    let disk = Disk::default();
    let listed = walk(&disk, &project.dir, &mounts, &searched);
    let old = old.unwrap_or_default();
    if same_files(&old, &listed) && old.mounts == mounts {
        let mut index = old;
        index.walked = now;
        // Links that are not followed and folders beyond a limit can change although the listed files are the same.
        (index.links_left_out, index.cut) = (links_left_out(&listed), listed.cut);
        index.plugins_left_out = plugins_left_out;
        index.folders = folders(&mut index.strings, &listed);
        return UpdatedIndex { index, checked: Checked::Files, changed: true, read: 0, left: 0 };
    }
    let mut index = Index {
        mounts,
        walked: now,
        links_left_out: links_left_out(&listed),
        cut: listed.cut,
        plugins_left_out,
        ..Index::default()
    };
    let known: HashMap<&str, &Entry> =
        old.entries.iter().map(|entry| (old.text(entry.file), entry)).collect();
    let same = |file: &File| {
        let entry = known.get(file.file.as_str())?;
        let same = entry.size == file.size
            && entry.modified == file.modified
            && file.modified != 0
            && entry.state != State::Unread
            && entry.state != State::Unreadable;
        same.then_some(*entry)
    };
    let to_read = listed.files.iter().filter(|file| same(file).is_none()).count();
    let mut carried = EntryCopier { old: &old, ids: vec![u32::MAX; old.strings.len()] };
    let (mut read, mut left, mut going) = (0, 0, true);
    let mut buffer = Vec::new();
    for file in &listed.files {
        let mut found = if let Some(entry) = same(file) {
            carried.over(entry, &mut index.strings)
        } else {
            // `go_on` is not called for every file: the call may cost more than a read.
            going = going && (read % 32 != 0 || go_on(read, to_read));
            if going {
                read += 1;
                let path = project.dir.join(&file.file);
                entry::read(&disk, &path, file.size, &mut buffer, &mut index.strings)
            } else {
                left += 1;
                let entry = Entry { state: State::Unread, ..Entry::default() };
                HeaderData { entry, ..HeaderData::default() }
            }
        };
        found.entry.package = index.strings.add(&file.package);
        found.entry.file = index.strings.add(&file.file);
        (found.entry.size, found.entry.modified) = (file.size, file.modified);
        found.entry.is_external = is_external(&file.package);
        index.add(found);
    }
    index.folders = folders(&mut index.strings, &listed);
    UpdatedIndex { index, checked: Checked::Files, changed: true, read, left }
}

fn links_left_out(listed: &Walk) -> u32 {
    u32::try_from(listed.links).unwrap_or(u32::MAX)
}

fn folders(strings: &mut Strings, listed: &Walk) -> Vec<(Id, u64)> {
    listed.folders.iter().map(|(folder, changed)| (strings.add(folder), *changed)).collect()
}

fn same_files(old: &Index, listed: &Walk) -> bool {
    !old.entries.is_empty()
        && old.entries.len() == listed.files.len()
        && old.entries.iter().zip(&listed.files).all(|(entry, file)| {
            entry.size == file.size
                && entry.modified == file.modified
                && file.modified != 0
                && !matches!(entry.state, State::Unread | State::Unreadable)
                && old.text(entry.file) == file.file
                && old.text(entry.package) == file.package
        })
}

/// Copies entries from an old index to a new one, with their strings.
struct EntryCopier<'o> {
    old: &'o Index,
    /// The new id of each copied string.
    ids: Vec<u32>,
}

impl EntryCopier<'_> {
    fn over(&mut self, entry: &Entry, strings: &mut Strings) -> HeaderData {
        let old = self.old;
        let mut id = |Id(number): Id| {
            let Some(known) = self.ids.get_mut(number as usize) else { return Id(0) };
            if *known == u32::MAX {
                *known = strings.add(old.text(Id(number))).0;
            }
            Id(*known)
        };
        let mut found = HeaderData { entry: *entry, ..HeaderData::default() };
        found.assets.extend_from_slice(old.assets_of(entry));
        for asset in &mut found.assets {
            for part in [
                &mut asset.path,
                &mut asset.class,
                &mut asset.parent,
                &mut asset.native_parent,
                &mut asset.label,
                &mut asset.target,
            ] {
                *part = id(*part);
            }
        }
        found.links.extend_from_slice(old.links_of(entry));
        found.links.iter_mut().for_each(|link| link.package = id(link.package));
        found
    }
}
