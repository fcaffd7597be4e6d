//! Lists the files of an audit's folder and reads all of their records.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::disk::read;
use crate::index::{INDEX, Lock, read as read_index};
use crate::index_entry::{DeletedRecords, IndexState};
use crate::record::Record;
use crate::segments::read_segments;
use crate::usage::Usage;

/// How long a reader waits for a process that archives segments.
const ARCHIVE_WAIT: Duration = Duration::from_secs(5);

/// A segment's file, or an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FolderFile {
    /// The name of the file.
    pub name: String,
    /// The name of its segment, or of the first segment in an archive.
    pub stem: String,
    /// Whether the file is an archive.
    pub archive: bool,
    /// Size in bytes.
    pub bytes: u64,
    /// The time of the last write. `None`: the system does not know it.
    pub changed: Option<SystemTime>,
}

impl FolderFile {
    fn of(name: String, bytes: u64, changed: Option<SystemTime>) -> Option<Self> {
        let stem = name.strip_suffix(".jsonl")?;
        let (archive, stem) = match stem.strip_prefix("archive-") {
            Some(stem) => (true, stem),
            None => (false, stem),
        };
        // A segment's name begins with the year.
        stem.starts_with(|first: char| first.is_ascii_digit()).then(|| Self {
            stem: stem.to_owned(),
            archive,
            bytes,
            changed,
            name: name.clone(),
        })
    }

    /// An archive of this name.
    pub fn archive(name: String, bytes: u64) -> Self {
        Self::of(name, bytes, None).expect("the name is that of an archive")
    }
}

impl Ord for FolderFile {
    /// Orders files by age: each stem begins with the time.
    fn cmp(&self, other: &Self) -> Ordering {
        (&self.stem, !self.archive).cmp(&(&other.stem, !other.archive))
    }
}

impl PartialOrd for FolderFile {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The segments and archives of a folder, the oldest first. Empty if the folder does not exist.
///
/// # Errors
///
/// The folder cannot be read.
#[expect(clippy::disallowed_methods, reason = "the audit's job is its folder")]
pub(crate) fn list(folder: &Path) -> io::Result<Vec<FolderFile>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut listed = Vec::new();
    for entry in entries {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        // Another process may have removed the file in the meantime.
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_file() {
            listed.extend(FolderFile::of(name, metadata.len(), metadata.modified().ok()));
        }
    }
    listed.sort_unstable();
    Ok(listed)
}

/// The bytes of a segment or of an archive.
#[derive(Debug, Default)]
pub(crate) struct FileBytes {
    /// All bytes of a segment, or the bytes of an archive up to the end that the index states.
    pub valid: Vec<u8>,
    /// The bytes of an archive after the end that the index states. A process that is killed while it archives
    /// segments leaves such bytes. They are not read.
    pub beyond: Vec<u8>,
}

/// The files of a folder. While the lock is held, no process archives segments.
pub(crate) struct Snapshot {
    _lock: Option<Lock>,
    /// The bytes of the index. `None`: the folder has no index.
    pub index: Option<Vec<u8>>,
    /// The files, the oldest first.
    pub listed: Vec<FolderFile>,
}

impl Snapshot {
    /// Locks and lists a folder.
    ///
    /// # Errors
    ///
    /// The folder or its index cannot be read.
    pub fn of(folder: &Path) -> io::Result<Self> {
        // There is no lock if its file does not exist or cannot be read, or if another process holds the lock for
        // too long.
        let lock = Lock::take(folder, ARCHIVE_WAIT, true)
            .inspect_err(|error| tracing::debug!("the audit is read without its lock: {error}"))
            .ok();
        let index = match read(&folder.join(INDEX)) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        Ok(Self { _lock: lock, index, listed: list(folder)? })
    }

    /// The state of the folder according to its index.
    pub fn state(&self) -> IndexState {
        self.index.as_deref().map(|bytes| read_index(bytes).0).unwrap_or_default()
    }

    /// The bytes of a file. `None`: the contents of the file were archived, or the file was deleted.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn bytes(
        &self,
        folder: &Path,
        file: &FolderFile,
        state: &IndexState,
    ) -> io::Result<Option<FileBytes>> {
        if state.leftover.contains(&file.name) {
            return Ok(None);
        }
        let mut valid = match read(&folder.join(&file.name)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut beyond = Vec::new();
        if file.archive && self.index.is_some() {
            let known = state.archives.get(&file.name).map_or(0, |archive| archive.bytes);
            let end = usize::try_from(known).unwrap_or(usize::MAX).min(valid.len());
            beyond = valid.split_off(end);
        }
        Ok(Some(FileBytes { valid, beyond }))
    }
}

/// Reads all records of a folder: older segments first, and the records of a segment in their order. All other lines
/// are skipped. [`verify`](crate::verify) reports those that are not lines of an audit.
///
/// # Errors
///
/// A file that exists cannot be read.
pub fn read_records(folder: &Path, mut each: impl FnMut(Record)) -> io::Result<()> {
    let snapshot = Snapshot::of(folder)?;
    visit(&snapshot, folder, &snapshot.state(), &mut |record| each(record.clone()))
}

/// Counts and denials of all records of a folder, deleted records included.
///
/// # Errors
///
/// A file that exists cannot be read.
pub fn usage(folder: &Path) -> io::Result<Usage> {
    Ok(usage_and_dropped(folder)?.0)
}

/// As [`usage`], with the number and the times of the deleted records.
///
/// # Errors
///
/// A file that exists cannot be read.
pub fn usage_and_dropped(folder: &Path) -> io::Result<(Usage, DeletedRecords)> {
    read_with_usage(folder, |_| ())
}

/// As [`read_records`]. Also returns the result of [`usage_and_dropped`] for the same moment, without reading the
/// folder twice.
///
/// # Errors
///
/// A file that exists cannot be read.
pub fn read_with_usage(
    folder: &Path,
    mut each: impl FnMut(&Record),
) -> io::Result<(Usage, DeletedRecords)> {
    let snapshot = Snapshot::of(folder)?;
    let state = snapshot.state();
    let mut usage = state.usage.clone();
    visit(&snapshot, folder, &state, &mut |record| {
        usage.add(record);
        each(record);
    })?;
    Ok((usage, state.dropped_records))
}

fn visit(
    snapshot: &Snapshot,
    folder: &Path,
    state: &IndexState,
    each: &mut dyn FnMut(&Record),
) -> io::Result<()> {
    let mut seen = HashSet::new();
    for file in &snapshot.listed {
        let Some(bytes) = snapshot.bytes(folder, file, state)? else { continue };
        let known = &seen;
        let found = read_segments(&bytes.valid, &mut |segment, record| {
            if !HashSet::contains(known, segment) {
                each(record);
            }
        });
        seen.extend(found.segments.into_iter().map(|segment| segment.header.segment));
    }
    Ok(())
}
