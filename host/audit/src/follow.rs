//! Follows an audit: yields the records that any process writes, each once.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::chain::lines;
use crate::entry::Entry;
use crate::folder::{FolderFile, Snapshot, list};
use crate::query::{Latest, Query, Selection};
use crate::record::Record;
use crate::segments::read_segments;

/// Reads an audit repeatedly, and yields the new records.
pub struct Follower {
    folder: PathBuf,
    /// The part of each segment that was read, by the name of the segment.
    read: HashMap<String, Progress>,
    /// The size of each archive when it was last read.
    archives: BTreeMap<String, u64>,
}

/// The part of a segment that was read.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    /// Size in bytes of the complete lines that were read from the segment's own file.
    bytes: u64,
    /// The number of records that were read.
    records: u64,
}

impl Follower {
    /// A follower that has read nothing yet.
    pub fn of(folder: PathBuf) -> Self {
        Self { folder, read: HashMap::new(), archives: BTreeMap::new() }
    }

    /// The latest records so far that a query selects, at most `most`. [`Follower::poll`] then yields the records
    /// after them.
    ///
    /// # Errors
    ///
    /// A file that exists cannot be read.
    pub fn select(&mut self, query: &Query, most: usize) -> io::Result<Selection> {
        let mut latest = Latest::of(query, most);
        self.poll(|record| latest.add(record))?;
        Ok(latest.finish())
    }

    /// Calls `each` with every record that was written since the last call, also if the record was moved to an archive
    /// in the meantime. A record is missed if its file was deleted before the record was read.
    ///
    /// # Errors
    ///
    /// A file that exists cannot be read.
    pub fn poll(&mut self, mut each: impl FnMut(Record)) -> io::Result<()> {
        let listed = list(&self.folder)?;
        let has_grown = |file: &&FolderFile| self.archives.get(&file.name) != Some(&file.bytes);
        if listed.iter().filter(|file| file.archive).any(|file| has_grown(&file)) {
            self.poll_archives(&mut each)?;
        }
        for file in listed.iter().filter(|file| !file.archive) {
            self.poll_segment(file, &mut each)?;
        }
        Ok(())
    }

    /// Reads the new lines of a segment's own file.
    fn poll_segment(&mut self, file: &FolderFile, each: &mut impl FnMut(Record)) -> io::Result<()> {
        let progress = self.read.entry(file.stem.clone()).or_default();
        if file.bytes <= progress.bytes {
            return Ok(());
        }
        let bytes = match read_from(&self.folder.join(&file.name), progress.bytes) {
            Ok(bytes) => bytes,
            // The file was archived or deleted after it was listed. The next call reads the archive, if there is one.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        let (new, torn) = lines(&bytes);
        for (_, _, line) in new {
            if let Some(Entry::Record(record)) = line.map(|line| line.entry) {
                progress.records += 1;
                each(*record);
            }
        }
        progress.bytes += (bytes.len() - torn.len()) as u64;
        Ok(())
    }

    /// Reads the segments of the archives, and yields the records that were not read from their own files.
    fn poll_archives(&mut self, each: &mut impl FnMut(Record)) -> io::Result<()> {
        let snapshot = Snapshot::of(&self.folder)?;
        let state = snapshot.state();
        for file in snapshot.listed.iter().filter(|file| file.archive) {
            if self.archives.get(&file.name) == Some(&file.bytes) {
                continue;
            }
            let Some(bytes) = snapshot.bytes(&self.folder, file, &state)? else { continue };
            let mut found: HashMap<String, u64> = HashMap::new();
            read_segments(&bytes.valid, &mut |segment, record| {
                let count = found.entry(segment.to_owned()).or_default();
                *count += 1;
                let progress = self.read.entry(segment.to_owned()).or_default();
                if *count > progress.records {
                    progress.records = *count;
                    each(record.clone());
                }
            });
            self.archives.insert(file.name.clone(), file.bytes);
        }
        // The file of an archived segment may still be there. It is not read again.
        let segment_files = snapshot.listed.iter().filter(|file| !file.archive);
        for file in segment_files.filter(|file| state.leftover.contains(&file.name)) {
            self.read.entry(file.stem.clone()).or_default().bytes = u64::MAX;
        }
        Ok(())
    }
}

/// The bytes of a file from this offset on.
fn read_from(path: &Path, offset: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}
