//! Verifies the folder of an audit: finds files and lines that were changed, removed, moved or cut off.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::Path;

use crate::chain::{BrokenLink, lines};
use crate::disk::{is_live, read};
use crate::entry::Entry;
use crate::folder::{FileBytes, FolderFile, Snapshot};
use crate::hash::Hash;
use crate::index::{INDEX, INDEX_BEFORE, read as read_index};
use crate::index_entry::{IndexEntry, IndexState, file_name};
use crate::record::PreviousSegment;
use crate::segments::{ReadSegment, ReadSegments, read_segments};

/// The result of [`verify`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The segments, the oldest first.
    pub segments: Vec<SegmentReport>,
    /// Signs that records were changed, removed, moved or cut off.
    pub faults: Vec<Fault>,
    /// Irregularities that running or killed processes can leave.
    pub remarks: Vec<Fault>,
    /// The digest of the last line of the index. `None`: there is no index. If a copy of the digest is kept elsewhere,
    /// [`was_last`] can show later whether the folder was replaced.
    pub index_end: Option<Hash>,
}

impl Report {
    /// Whether there is no sign of tampering.
    pub fn is_whole(&self) -> bool {
        self.faults.is_empty()
    }
}

/// A segment, as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentReport {
    /// The name of the segment.
    pub segment: String,
    /// The number of complete lines.
    pub lines: u64,
    /// How it ended.
    pub ending: Ending,
}

/// How a segment ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// With a seal, for this reason.
    Sealed(String),
    /// The segment has not ended: its process is running.
    Running,
    /// Without a seal: its process was killed, or could not write the seal.
    Killed,
}

/// A fault or a remark, and where it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The name of the file.
    pub file: String,
    /// The line, from 1. `None`: the fault is not in one line.
    pub line: Option<usize>,
    /// What is wrong, as a sentence for the operator. No program depends on its words.
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}, line {line}: {}", self.file, self.what),
            None => write!(f, "{}: {}", self.file, self.what),
        }
    }
}

/// Compares the segments, the archives and the index of a folder with each other.
///
/// A change is found unless the digests in all files were recomputed to match the change. Somebody who can write to the
/// folder can recompute them, and such a change is not found.
///
/// # Errors
///
/// A file that exists cannot be read.
pub fn verify(folder: &Path) -> io::Result<Report> {
    let snapshot = Snapshot::of(folder)?;
    let mut check = Check::default();
    let state = check.index(folder, &snapshot)?;
    for file in &snapshot.listed {
        let Some(bytes) = snapshot.bytes(folder, file, &state)? else { continue };
        if file.archive {
            check.archive(file, bytes, &state, snapshot.index.is_some());
        } else {
            check.segment(folder, file, &bytes.valid, &state, snapshot.index.is_some());
        }
    }
    let present: Vec<_> = snapshot.listed.iter().map(|file| file.name.as_str()).collect();
    let segments = state.segments.keys().map(|segment| file_name(segment));
    for missing in segments.chain(state.archives.keys().cloned()) {
        if !present.contains(&missing.as_str()) {
            check.fault(&missing, None, "it is missing, although the index lists it");
        }
    }
    check.links(state.dropped > 0);
    check.beyond(state.dropped > 0);
    check.report.segments.sort_by(|a, b| a.segment.cmp(&b.segment));
    Ok(check.report)
}

/// Whether the index, or the index before its last compaction, has a line with this digest, in hexadecimal.
/// `digest` is the [`Report::index_end`] of an earlier verification. `false`: the folder was replaced, or the index
/// was compacted twice since then.
///
/// # Errors
///
/// A file that exists cannot be read.
pub fn was_last(folder: &Path, digest: &str) -> io::Result<bool> {
    let snapshot = Snapshot::of(folder)?;
    let before = match read(&folder.join(INDEX_BEFORE)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    let has = |bytes: &[u8]| {
        let mut lines = lines(bytes).0;
        lines.any(|(_, _, line)| line.is_some_and(|line| line.hash.to_string() == digest))
    };
    Ok(snapshot.index.as_deref().is_some_and(has) || has(&before))
}

#[derive(Default)]
struct Check {
    report: Report,
    /// The digest of the first line of each segment.
    begins: HashMap<String, Hash>,
    /// The digest of the last line of each segment.
    ends: HashMap<String, Hash>,
    /// The names of archives, and their bytes after the end that the index states.
    beyond: Vec<(String, Vec<u8>)>,
    /// The names of files, and the previous segments that the segments in them state.
    links: Vec<(String, PreviousSegment)>,
}

impl Check {
    fn fault(&mut self, file: &str, line: Option<usize>, what: impl Into<String>) {
        self.report.faults.push(Fault { file: file.to_owned(), line, what: what.into() });
    }

    fn remark(&mut self, file: &str, what: impl Into<String>) {
        self.report.remarks.push(Fault { file: file.to_owned(), line: None, what: what.into() });
    }

    fn flaws(&mut self, file: &str, flaws: &[BrokenLink]) {
        for flaw in flaws {
            self.fault(file, Some(flaw.line), flaw.kind.to_string());
        }
    }

    fn index(&mut self, folder: &Path, snapshot: &Snapshot) -> io::Result<IndexState> {
        let Some(bytes) = &snapshot.index else {
            // The first process may be about to write the index.
            let is_running = |file: &FolderFile| !file.archive && is_live(&folder.join(&file.name));
            if snapshot.listed.iter().all(is_running) {
                self.remark(INDEX, "it does not exist yet");
            } else {
                self.fault(INDEX, None, "it is missing, so that removed segments cannot be found");
            }
            return Ok(IndexState::default());
        };
        let (state, chain, flaws, torn) = read_index(bytes);
        self.report.index_end = Some(chain.last);
        self.flaws(INDEX, &flaws);
        self.index_before(folder, bytes)?;
        if torn > 0 {
            self.remark(INDEX, format!("its last line is incomplete: {torn} bytes"));
        }
        Ok(state)
    }

    /// Compares the end of the index before the last compaction with the digest in the present index.
    fn index_before(&mut self, folder: &Path, index: &[u8]) -> io::Result<()> {
        let first = lines(index).0.next().and_then(|(_, _, line)| line);
        let Some(Entry::Index(entry)) = first.map(|line| line.entry) else { return Ok(()) };
        let IndexEntry::IndexOpened { before: Some(stated), .. } = *entry else { return Ok(()) };
        let bytes = match read(&folder.join(INDEX_BEFORE)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.remark(INDEX_BEFORE, "it is missing");
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        // A process was killed while it compacted the index: the kept file is a copy of the present index.
        if index.starts_with(&bytes) {
            return Ok(());
        }
        let (_, chain, flaws, _) = read_index(&bytes);
        self.flaws(INDEX_BEFORE, &flaws);
        if chain.last != stated {
            self.fault(INDEX_BEFORE, None, "it does not end as the index states");
        }
        Ok(())
    }

    /// The checks that archives and segments' own files share.
    fn segments(&mut self, file: &FolderFile, found: &ReadSegments) {
        self.flaws(&file.name, &found.stray);
        for segment in &found.segments {
            self.flaws(&file.name, &segment.flaws);
            let name = &segment.header.segment;
            if let Some(after) = &segment.header.after {
                self.links.push((file.name.clone(), after.clone()));
            }
            self.begins.insert(name.clone(), segment.first);
            if self.ends.insert(name.clone(), segment.last).is_some() {
                self.fault(&file.name, None, format!("the segment {name} exists twice"));
            }
        }
    }

    /// Compares the end of each previous segment with the digest that the next segment states. `dropped`: segments
    /// may be missing, because segments were deleted.
    fn links(&mut self, dropped: bool) {
        for (file, PreviousSegment { segment, last }) in std::mem::take(&mut self.links) {
            match self.ends.get(&segment) {
                Some(found) if *found != last => {
                    self.fault(
                        &file,
                        None,
                        format!(
                            "the previous segment, {segment}, does not end as the segment in this file states"
                        ),
                    );
                }
                None if !dropped => {
                    self.fault(&file, None, format!("the previous segment, {segment}, is missing"));
                }
                Some(_) | None => {}
            }
        }
    }

    /// Compares the bytes after the end of an archive with the segments of the folder. A process that is killed while
    /// it archives segments leaves a part of the copied segments there. `dropped`: segments may be missing, because
    /// segments were deleted.
    fn beyond(&mut self, dropped: bool) {
        for (file, bytes) in std::mem::take(&mut self.beyond) {
            let found = read_segments(&bytes, &mut |_, _| ());
            let is_copy = |segment: &ReadSegment| {
                let begin = self.begins.get(&segment.header.segment);
                segment.flaws.is_empty() && begin.map_or(dropped, |begin| *begin == segment.first)
            };
            if found.stray.is_empty() && found.segments.iter().all(is_copy) {
                let what = format!(
                    "{} bytes after its end are not read: a process was killed while it archived segments",
                    bytes.len()
                );
                self.remark(&file, what);
            } else {
                self.fault(&file, None, "lines were added after its end, and are not read");
            }
        }
    }

    fn archive(
        &mut self,
        file: &FolderFile,
        bytes: FileBytes,
        state: &IndexState,
        has_index: bool,
    ) {
        let FileBytes { valid: bytes, beyond } = bytes;
        if !beyond.is_empty() {
            self.beyond.push((file.name.clone(), beyond));
        }
        let found = read_segments(&bytes, &mut |_, _| ());
        self.segments(file, &found);
        if found.torn > 0 {
            self.fault(&file.name, None, "its last line is incomplete");
        }
        if has_index {
            let digest =
                found.segments.iter().fold(Hash::NONE, |sum, segment| sum.fold(segment.last));
            match state.archives.get(&file.name) {
                None => self.remark(&file.name, "the index does not list it"),
                Some(known)
                    if (known.bytes, known.segments, known.digest)
                        != (bytes.len() as u64, found.segments.len() as u64, digest) =>
                {
                    self.fault(&file.name, None, "it differs from what the index states");
                }
                Some(_) => {}
            }
        }
        for segment in found.segments {
            self.add_segment(segment, Ending::Killed);
        }
    }

    fn segment(
        &mut self,
        folder: &Path,
        file: &FolderFile,
        bytes: &[u8],
        state: &IndexState,
        has_index: bool,
    ) {
        let found = read_segments(bytes, &mut |_, _| ());
        self.segments(file, &found);
        let torn = found.torn;
        let Some(segment) = found.only() else {
            let is_known = state.segments.contains_key(&file.stem);
            if is_known || torn < bytes.len() {
                self.fault(&file.name, None, "it does not contain exactly one segment");
            } else {
                self.remark(&file.name, "it contains no complete line");
            }
            return;
        };
        if segment.header.segment != file.stem {
            self.fault(&file.name, Some(1), "it contains a segment with another name");
        }
        let known = state.segments.get(&file.stem);
        let end = known.and_then(|known| known.end.as_ref());
        let is_running =
            segment.sealed.is_none() && end.is_none() && is_live(&folder.join(&file.name));
        if known.is_some_and(|known| known.first != segment.first) {
            self.fault(&file.name, Some(1), "its first line differs from the one in the index");
        }
        if known.is_none() && has_index && !is_running {
            self.remark(&file.name, "the index does not list it");
        }
        if let Some(end) = end {
            if segment.lines < end.lines {
                let what =
                    format!("it was cut off: {} of {} lines are there", segment.lines, end.lines);
                self.fault(&file.name, None, what);
            } else if segment.lines > end.lines {
                let what = format!("lines were added after line {}, which was the last", end.lines);
                self.fault(&file.name, None, what);
            } else if segment.last != end.last {
                let line = usize::try_from(end.lines).ok();
                self.fault(&file.name, line, "its last line differs from the one in the index");
            }
        }
        if torn > 0 && segment.sealed.is_some() {
            self.fault(&file.name, None, "bytes were added after its last line");
        } else if torn > 0 && !is_running {
            self.remark(&file.name, format!("its last line is incomplete: {torn} bytes"));
        }
        self.add_segment(segment, if is_running { Ending::Running } else { Ending::Killed });
    }

    fn add_segment(&mut self, segment: ReadSegment, otherwise: Ending) {
        self.report.segments.push(SegmentReport {
            segment: segment.header.segment,
            lines: segment.lines,
            ending: segment.sealed.map_or(otherwise, |sealed| Ending::Sealed(sealed.reason)),
        });
    }
}
