//! The index of an audit's folder: which segments there are, how each ended, and what those held that
//! were dropped. It is a chain of its own, written under a lock that processes share.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::chain::{Chain, Flaw, Hash, Walk, lines};
use crate::record::{Entry, FORMAT};
use crate::usage::Usage;

/// The index's file in the folder.
pub(crate) const INDEX: &str = "index.jsonl";

/// The index before the present one, which was written anew because it had grown.
pub(crate) const INDEX_BEFORE: &str = "index-before.jsonl";

/// The file that is locked while the index is written.
const LOCK: &str = "lock";

/// A line of the index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Note {
    /// The index begins, with what the one before came to.
    IndexOpened {
        /// Version of the format.
        format: u32,
        /// The digest of the last line of the index before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<Hash>,
        /// What it came to.
        state: State,
    },
    /// A process began a segment.
    SegmentOpened {
        /// The segment's name.
        segment: String,
        /// The digest of its first line.
        first: Hash,
    },
    /// A segment is at its end: nothing will be added.
    SegmentEnded {
        /// The segment's name.
        segment: String,
        /// The digest of its first line.
        first: Hash,
        /// How it ended.
        end: End,
    },
    /// Small segments were put into one file, as they were.
    Archived {
        /// Their names.
        segments: Vec<String>,
        /// The file.
        into: String,
        /// The archive with them.
        archive: Archive,
    },
    /// A file was removed, because there were too many or too large ones.
    Dropped {
        /// The file.
        file: String,
        /// How many segments it held.
        segments: u64,
        /// What they added up to.
        usage: Usage,
    },
}

impl Note {
    pub(crate) fn is_named(name: &str) -> bool {
        matches!(name, "index-opened" | "segment-opened" | "segment-ended" | "archived" | "dropped")
    }

    pub(crate) fn begins(&self) -> bool {
        matches!(self, Self::IndexOpened { .. })
    }
}

/// How a segment ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// How many lines it has.
    pub lines: u64,
    /// The digest of the last one.
    pub last: Hash,
    /// Whether its last line says that it is the last. If not, the process was killed.
    pub sealed: bool,
}

/// What the index says of one archive.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Archive {
    /// Size in bytes.
    pub bytes: u64,
    /// How many segments it holds.
    pub segments: u64,
    /// One digest over the last lines of all of them, in their order.
    pub digest: Hash,
}

/// What the index says of one segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// The digest of its first line.
    pub first: Hash,
    /// How it ended, once it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
}

/// What all lines of the index come to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// The segments that have files of their own, by name.
    pub segments: BTreeMap<String, Known>,
    /// The archives, by the names of their files.
    pub archives: BTreeMap<String, Archive>,
    /// How many segments were dropped.
    pub dropped: u64,
    /// What those added up to.
    pub usage: Usage,
    /// Files that were archived or dropped, and may still be there where a process was killed.
    #[serde(skip)]
    pub leftover: BTreeSet<String>,
}

/// The file of a segment.
pub(crate) fn file_of(segment: &str) -> String {
    format!("{segment}.jsonl")
}

impl State {
    /// Goes on by one line.
    pub fn apply(&mut self, note: Note) {
        match note {
            Note::IndexOpened { state, .. } => *self = state,
            Note::SegmentOpened { segment, first } => {
                let known = self.segments.entry(segment);
                known.or_insert(Known { first, end: None });
            }
            Note::SegmentEnded { segment, first, end } => {
                // What was archived or dropped in the meantime stays so.
                if !self.leftover.contains(&file_of(&segment)) {
                    self.segments.insert(segment, Known { first, end: Some(end) });
                }
            }
            Note::Archived { segments, into, archive } => {
                for segment in segments {
                    self.segments.remove(&segment);
                    self.leftover.insert(file_of(&segment));
                }
                self.archives.insert(into, archive);
            }
            Note::Dropped { file, segments, usage } => {
                self.archives.remove(&file);
                self.segments.remove(file.trim_end_matches(".jsonl"));
                self.leftover.insert(file);
                self.dropped = self.dropped.saturating_add(segments);
                self.usage.merge(usage);
            }
        }
    }
}

/// Reads what the lines of an index come to, and what is wrong with them.
pub(crate) fn read(bytes: &[u8]) -> (State, Chain, Vec<Flaw>, usize) {
    let (lines, torn) = lines(bytes);
    let (mut state, mut chain, mut flaws) = (State::default(), Chain::default(), Vec::new());
    let mut walk = Walk::default();
    for (at, text, line) in lines {
        flaws.extend(walk.step(line.as_ref()).map(|wrong| Flaw { at, wrong }));
        chain.wrote(text);
        let Some(line) = line else { continue };
        chain.next = line.n.saturating_add(1);
        if let Entry::Note(note) = line.entry {
            state.apply(*note);
        }
    }
    (state, chain, flaws, torn.len())
}

/// Holds the lock of a folder, for as long as it lives.
pub(crate) struct Lock(#[expect(dead_code, reason = "held, never read")] File);

impl Lock {
    /// Waits for the lock, at most so long.
    ///
    /// # Errors
    ///
    /// Where others hold it all the time, or there cannot be a lock.
    pub fn take(folder: &Path, at_most: Duration, shared: bool) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        if shared {
            options.read(true);
        } else {
            options.create(true).write(true).truncate(false);
        }
        crate::writer::for_owner(&mut options);
        let file = options.open(folder.join(LOCK))?;
        let began = Instant::now();
        let mut pause = Duration::from_millis(1);
        loop {
            let taken = if shared { file.try_lock_shared() } else { file.try_lock() };
            match taken {
                Ok(()) => return Ok(Self(file)),
                Err(std::fs::TryLockError::Error(error)) => return Err(error),
                Err(std::fs::TryLockError::WouldBlock) if began.elapsed() < at_most => {
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(Duration::from_millis(50));
                }
                Err(std::fs::TryLockError::WouldBlock) => {
                    return Err(io::Error::new(
                        io::ErrorKind::TimedOut,
                        "other processes hold the lock of the audit's index",
                    ));
                }
            }
        }
    }
}

/// The index, locked and open for more lines.
pub(crate) struct Index {
    file: File,
    chain: Chain,
    bytes: u64,
    line: Vec<u8>,
    /// What its lines come to.
    pub state: State,
    _lock: Lock,
}

impl Index {
    /// Opens the index of a folder, which is created where it is missing.
    ///
    /// # Errors
    ///
    /// Where it cannot be locked, read or written.
    pub fn open(folder: &Path, at_most: Duration) -> io::Result<Self> {
        let lock = Lock::take(folder, at_most, false)?;
        let mut options = OpenOptions::new();
        options.create(true).read(true).append(true);
        crate::writer::for_owner(&mut options);
        let mut file = options.open(folder.join(INDEX))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let (state, chain, _, torn) = read(&bytes);
        let whole = (bytes.len() - torn) as u64;
        if torn > 0 {
            // A process was killed while it wrote the line, or the disk was full.
            file.set_len(whole)?;
        }
        let mut index = Self { file, chain, bytes: whole, line: Vec::new(), state, _lock: lock };
        if whole == 0 {
            let state = State::default();
            index.note(Note::IndexOpened { format: FORMAT, before: None, state })?;
        }
        Ok(index)
    }

    /// Adds a line.
    ///
    /// # Errors
    ///
    /// Where it cannot be written: it is as if it had not been tried.
    pub fn note(&mut self, note: Note) -> io::Result<()> {
        self.chain.link(&note, &mut self.line)?;
        if let Err(error) = self.file.write_all(&self.line) {
            self.file.set_len(self.bytes)?;
            return Err(error);
        }
        self.chain.wrote(&self.line);
        self.bytes += self.line.len() as u64;
        self.state.apply(note);
        Ok(())
    }

    /// Begins the index anew where it has grown beyond so many bytes. The one before is kept beside it.
    ///
    /// # Errors
    ///
    /// Where the new one cannot be written: the present one stays.
    #[expect(clippy::disallowed_methods, reason = "the audit's job is its folder")]
    pub fn renew(&mut self, folder: &Path, most: u64) -> io::Result<()> {
        if self.bytes <= most {
            return Ok(());
        }
        let state = State { leftover: BTreeSet::new(), ..self.state.clone() };
        let first = Note::IndexOpened { format: FORMAT, before: Some(self.chain.last), state };
        let mut chain = Chain::default();
        chain.link(&first, &mut self.line)?;
        // Where most of it is what is carried on, nothing is won.
        if self.line.len() as u64 > self.bytes / 2 {
            return Ok(());
        }
        let (new, present) = (folder.join("index-new.jsonl"), folder.join(INDEX));
        let mut options = OpenOptions::new();
        options.create(true).truncate(true).write(true);
        crate::writer::for_owner(&mut options);
        let mut file = options.open(&new)?;
        file.write_all(&self.line)?;
        file.sync_data()?;
        let before = folder.join(INDEX_BEFORE);
        let _first_time = std::fs::remove_file(&before);
        if std::fs::hard_link(&present, &before).is_err() {
            std::fs::copy(&present, &before)?;
        }
        std::fs::rename(&new, &present)?;
        let mut options = OpenOptions::new();
        self.file = options.append(true).open(&present)?;
        self.file.seek(SeekFrom::End(0))?;
        chain.wrote(&self.line);
        (self.chain, self.bytes) = (chain, self.line.len() as u64);
        self.state.leftover.clear();
        Ok(())
    }
}
