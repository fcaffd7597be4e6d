//! The files of an audit's folder, and reading all of their records.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::index::{INDEX, Lock, State, read as read_index};
use crate::pieces::pieces;
use crate::record::Record;
use crate::usage::Usage;

/// How long a reader waits for those who put files together.
const PATIENCE: Duration = Duration::from_secs(5);

/// A segment's file, or an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    /// The name of its file.
    pub name: String,
    /// The name of its segment, or of the first one in an archive.
    pub stem: String,
    /// Whether it is an archive.
    pub archive: bool,
    /// Its size.
    pub bytes: u64,
    /// When it was last written, where the system says so.
    pub changed: Option<SystemTime>,
}

impl Listed {
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
        Self::of(name, bytes, None).expect("it is named like an archive")
    }
}

impl Ord for Listed {
    /// By age, as names begin with the time.
    fn cmp(&self, other: &Self) -> Ordering {
        (&self.stem, !self.archive).cmp(&(&other.stem, !other.archive))
    }
}

impl PartialOrd for Listed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Segments and archives, the oldest first. None, where there is no folder.
///
/// # Errors
///
/// Where the folder cannot be read.
#[expect(clippy::disallowed_methods, reason = "the audit's job is its folder")]
pub(crate) fn list(folder: &Path) -> io::Result<Vec<Listed>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut listed = Vec::new();
    for entry in entries {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        // Another process may have removed it in the meantime.
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_file() {
            listed.extend(Listed::of(name, metadata.len(), metadata.modified().ok()));
        }
    }
    listed.sort_unstable();
    Ok(listed)
}

/// Whether the process that writes a segment still lives. `true` where it cannot be known.
#[cfg(unix)]
pub(crate) fn is_live(segment: &Path) -> bool {
    let Ok(file) = File::open(segment) else { return true };
    match file.try_lock_shared() {
        Ok(()) => false,
        Err(std::fs::TryLockError::WouldBlock | std::fs::TryLockError::Error(_)) => true,
    }
}

/// Whether the process that writes a segment may still live: here, it is not locked.
#[cfg(not(unix))]
pub(crate) fn is_live(segment: &Path) -> bool {
    const LONG: Duration = Duration::from_secs(7 * 24 * 60 * 60);
    let changed = File::open(segment).and_then(|file| file.metadata()).and_then(|m| m.modified());
    changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age < LONG))
}

/// Everything that is in the folder, while nobody puts files together.
pub(crate) struct Held {
    _lock: Option<Lock>,
    /// What the index says. `None`: there is none.
    pub index: Option<Vec<u8>>,
    /// The files, the oldest first.
    pub listed: Vec<Listed>,
}

impl Held {
    /// Looks into a folder.
    ///
    /// # Errors
    ///
    /// Where it cannot be read.
    pub fn of(folder: &Path) -> io::Result<Self> {
        // Where there is no lock, nothing was put together yet, or this user may not write.
        let lock = Lock::take(folder, PATIENCE, true).ok();
        let index = match read(&folder.join(INDEX)) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        Ok(Self { _lock: lock, index, listed: list(folder)? })
    }

    /// What the index comes to.
    pub fn state(&self) -> State {
        self.index.as_deref().map(|bytes| read_index(bytes).0).unwrap_or_default()
    }

    /// The bytes of a file, as far as they count. `None`: they do not, or it is gone.
    ///
    /// # Errors
    ///
    /// Where it cannot be read.
    pub fn bytes(
        &self,
        folder: &Path,
        file: &Listed,
        state: &State,
    ) -> io::Result<Option<Vec<u8>>> {
        if state.leftover.contains(&file.name) {
            return Ok(None);
        }
        let mut bytes = match read(&folder.join(&file.name)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if file.archive && self.index.is_some() {
            // Behind that lies what was being put together when a process was killed.
            let known = state.archives.get(&file.name).map_or(0, |archive| archive.bytes);
            bytes.truncate(usize::try_from(known).unwrap_or(usize::MAX));
        }
        Ok(Some(bytes))
    }
}

/// Reads all records of a folder, those of one segment in their order, older segments first. Lines that
/// are no records are passed over: see [`verify`](crate::verify).
///
/// # Errors
///
/// Where a file that exists cannot be read.
pub fn read_records(folder: &Path, mut each: impl FnMut(Record)) -> io::Result<()> {
    let held = Held::of(folder)?;
    visit(&held, folder, &held.state(), &mut |record| each(record.clone()))
}

/// What all records of a folder add up to, also those that were dropped.
///
/// # Errors
///
/// Where a file that exists cannot be read.
pub fn usage(folder: &Path) -> io::Result<Usage> {
    let held = Held::of(folder)?;
    let state = held.state();
    let mut usage = state.usage.clone();
    visit(&held, folder, &state, &mut |record| usage.add(record))?;
    Ok(usage)
}

fn visit(
    held: &Held,
    folder: &Path,
    state: &State,
    each: &mut dyn FnMut(&Record),
) -> io::Result<()> {
    let mut seen = HashSet::new();
    for file in &held.listed {
        let Some(bytes) = held.bytes(folder, file, state)? else { continue };
        let known = &seen;
        let found = pieces(&bytes, &mut |segment, record| {
            if !HashSet::contains(known, segment) {
                each(record);
            }
        });
        seen.extend(found.pieces.into_iter().map(|piece| piece.opened.segment));
    }
    Ok(())
}

pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}
