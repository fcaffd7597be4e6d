//! The index of an audit's folder: which segments exist, how each ended, and the counts of deleted segments.
//! The index is a chain of its own. Processes write it in turn, under a lock.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::chain::{BrokenLink, Chain, ChainCheck, lines};
use crate::disk::{exists, owner_only};
use crate::entry::Entry;
use crate::index_entry::{IndexEntry, IndexState};
use crate::record::FORMAT;

/// The index's file in the folder.
pub(crate) const INDEX: &str = "index.jsonl";

/// The file that keeps the index from before its last compaction.
pub(crate) const INDEX_BEFORE: &str = "index-before.jsonl";

/// The file that a process locks while it writes the index or reads the folder.
const LOCK: &str = "lock";

/// Reads an index: the state that its lines add up to, the end of its chain, its flaws, and the number of bytes
/// after the last line end.
pub(crate) fn read(bytes: &[u8]) -> (IndexState, Chain, Vec<BrokenLink>, usize) {
    let (lines, torn) = lines(bytes);
    let (mut state, mut chain, mut flaws) = (IndexState::default(), Chain::default(), Vec::new());
    let mut check = ChainCheck::default();
    for (at, text, line) in lines {
        flaws.extend(check.next(line.as_ref()).map(|kind| BrokenLink { line: at, kind }));
        chain.advance(text);
        let Some(line) = line else { continue };
        chain.next = line.n.saturating_add(1);
        if let Entry::Index(entry) = line.entry {
            state.apply(*entry);
        }
    }
    (state, chain, flaws, torn.len())
}

/// The lock of a folder, held until this value is dropped.
pub(crate) struct Lock(#[expect(dead_code, reason = "the open file is the lock")] File);

impl Lock {
    /// Waits for the lock, at most for this time. `is_shared`: the lock is for reading.
    ///
    /// # Errors
    ///
    /// Other processes hold the lock for this whole time, or the file cannot be opened or locked.
    pub fn take(folder: &Path, at_most: Duration, is_shared: bool) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        if is_shared {
            options.read(true);
        } else {
            options.create(true).write(true).truncate(false);
        }
        owner_only(&mut options);
        let file = options.open(folder.join(LOCK))?;
        let start = Instant::now();
        let mut pause = Duration::from_millis(1);
        loop {
            let taken = if is_shared { file.try_lock_shared() } else { file.try_lock() };
            match taken {
                Ok(()) => return Ok(Self(file)),
                Err(std::fs::TryLockError::Error(error)) => return Err(error),
                Err(std::fs::TryLockError::WouldBlock) if start.elapsed() < at_most => {
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

/// The index, locked and open for writing.
pub(crate) struct Index {
    file: File,
    chain: Chain,
    bytes: u64,
    line: Vec<u8>,
    /// The state that the lines of the index add up to.
    pub state: IndexState,
    _lock: Lock,
}

impl Index {
    /// Opens the index of a folder, and creates it if it is missing.
    ///
    /// # Errors
    ///
    /// The index cannot be locked, read or written.
    pub fn open(folder: &Path, at_most: Duration) -> io::Result<Self> {
        let lock = Lock::take(folder, at_most, false)?;
        let mut options = OpenOptions::new();
        options.create(true).read(true).append(true);
        owner_only(&mut options);
        let mut file = options.open(folder.join(INDEX))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let (state, chain, _, torn) = read(&bytes);
        let complete_bytes = (bytes.len() - torn) as u64;
        if torn > 0 {
            // The last line is incomplete: a process was killed while it wrote the line, or the disk was full.
            file.set_len(complete_bytes)?;
        }
        let mut index =
            Self { file, chain, bytes: complete_bytes, line: Vec::new(), state, _lock: lock };
        if complete_bytes == 0 {
            let state = IndexState::default();
            index.append(IndexEntry::IndexOpened { format: FORMAT, before: None, state })?;
        }
        Ok(index)
    }

    /// Appends a line.
    ///
    /// # Errors
    ///
    /// The line cannot be written. The file is as before, unless the file cannot be truncated either.
    pub fn append(&mut self, entry: IndexEntry) -> io::Result<()> {
        self.chain.link(&entry, &mut self.line)?;
        if let Err(error) = self.file.write_all(&self.line) {
            self.file.set_len(self.bytes)?;
            return Err(error);
        }
        self.chain.advance(&self.line);
        self.bytes += self.line.len() as u64;
        self.state.apply(entry);
        Ok(())
    }

    /// Replaces the index by one line with its state, if the index is larger than `max_bytes` and the line is much
    /// smaller. The previous file is kept beside the new file.
    ///
    /// # Errors
    ///
    /// The new file cannot be written. The index stays as it is.
    #[expect(clippy::disallowed_methods, reason = "the audit's job is its folder")]
    pub fn compact(&mut self, folder: &Path, max_bytes: u64) -> io::Result<()> {
        if self.bytes <= max_bytes {
            return Ok(());
        }
        // Files that could not be removed earlier, and no longer exist, are left out of the new state.
        let mut state = self.state.clone();
        state.leftover.retain(|name| exists(&folder.join(name)));
        let first = IndexEntry::IndexOpened {
            format: FORMAT,
            before: Some(self.chain.last),
            state: state.clone(),
        };
        let mut chain = Chain::default();
        chain.link(&first, &mut self.line)?;
        if self.line.len() as u64 > self.bytes / 2 {
            // The new file would hardly be smaller.
            return Ok(());
        }
        let (new, present) = (folder.join("index-new.jsonl"), folder.join(INDEX));
        let mut options = OpenOptions::new();
        options.create(true).truncate(true).write(true);
        owner_only(&mut options);
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
        chain.advance(&self.line);
        (self.chain, self.bytes, self.state) = (chain, self.line.len() as u64, state);
        Ok(())
    }
}
