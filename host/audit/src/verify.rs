//! Whether a folder of an audit is whole: what was changed, removed, moved or cut off, and where.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::Path;

use crate::chain::{Flaw, Hash};
use crate::folder::{Held, Listed, is_live};
use crate::index::{INDEX, State, file_of, read as read_index};
use crate::pieces::{Piece, Pieces, pieces};
use crate::record::After;

/// What a folder is found to be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Its segments, the oldest first.
    pub segments: Vec<Found>,
    /// What somebody changed, removed, moved or cut off.
    pub faults: Vec<Fault>,
    /// What is not as it usually is, and can come of processes that were killed.
    pub remarks: Vec<Fault>,
}

impl Report {
    /// Whether nothing was found that somebody must have done.
    pub fn is_whole(&self) -> bool {
        self.faults.is_empty()
    }
}

/// A segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its name.
    pub segment: String,
    /// How many whole lines it has.
    pub lines: u64,
    /// How it ended.
    pub ending: Ending,
}

/// How a segment ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// With a last line, for this reason.
    Sealed(String),
    /// It has not: its process lives.
    Running,
    /// It has not: its process was killed.
    Killed,
}

/// What is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The file.
    pub file: String,
    /// The line, from 1, where one is known.
    pub line: Option<usize>,
    /// What is wrong, in words.
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

/// Holds the segments, the archives and the index of a folder against each other.
///
/// It finds what was done by somebody who did not also compute the chain anew. Whoever can write to the
/// folder can write all of it anew, and then nothing is found.
///
/// # Errors
///
/// Where a file that exists cannot be read.
pub fn verify(folder: &Path) -> io::Result<Report> {
    let held = Held::of(folder)?;
    let mut check = Check { report: Report::default(), ends: HashMap::new(), links: Vec::new() };
    let state = check.index(folder, &held);
    for file in &held.listed {
        let Some(bytes) = held.bytes(folder, file, &state)? else { continue };
        if file.archive {
            check.archive(file, &bytes, &state, held.index.is_some());
        } else {
            check.segment(folder, file, &bytes, &state, held.index.is_some());
        }
    }
    let present: Vec<_> = held.listed.iter().map(|file| file.name.as_str()).collect();
    let segments = state.segments.keys().map(|segment| file_of(segment));
    for missing in segments.chain(state.archives.keys().cloned()) {
        if !present.contains(&missing.as_str()) {
            check.fault(&missing, None, "it was removed: the index knows of it");
        }
    }
    check.links(state.dropped > 0);
    check.report.segments.sort_by(|a, b| a.segment.cmp(&b.segment));
    Ok(check.report)
}

struct Check {
    report: Report,
    /// The last line of each segment.
    ends: HashMap<String, Hash>,
    /// What segments say of the one before, of the same process, and the files of those that say so.
    links: Vec<(String, After)>,
}

impl Check {
    fn fault(&mut self, file: &str, line: Option<usize>, what: impl Into<String>) {
        self.report.faults.push(Fault { file: file.to_owned(), line, what: what.into() });
    }

    fn remark(&mut self, file: &str, what: impl Into<String>) {
        self.report.remarks.push(Fault { file: file.to_owned(), line: None, what: what.into() });
    }

    fn flaws(&mut self, file: &str, flaws: &[Flaw]) {
        for flaw in flaws {
            self.fault(file, Some(flaw.at), flaw.wrong.to_string());
        }
    }

    fn index(&mut self, folder: &Path, held: &Held) -> State {
        let Some(bytes) = &held.index else {
            // The first process of all may be about to write it.
            let live = |file: &Listed| !file.archive && is_live(&folder.join(&file.name));
            if held.listed.iter().all(live) {
                self.remark(INDEX, "it is not there yet");
            } else {
                self.fault(INDEX, None, "it is missing, so removed segments cannot be found");
            }
            return State::default();
        };
        let (state, _, flaws, torn) = read_index(bytes);
        self.flaws(INDEX, &flaws);
        if torn > 0 {
            self.remark(INDEX, format!("its last line is not whole: {torn} bytes"));
        }
        state
    }

    /// What an archive and a segment's own file have in common.
    fn pieces(&mut self, file: &Listed, found: &Pieces) {
        self.flaws(&file.name, &found.stray);
        for piece in &found.pieces {
            self.flaws(&file.name, &piece.flaws);
            let name = &piece.opened.segment;
            if let Some(after) = &piece.opened.after {
                self.links.push((file.name.clone(), after.clone()));
            }
            if self.ends.insert(name.clone(), piece.last).is_some() {
                self.fault(&file.name, None, format!("{name} is there twice"));
            }
        }
    }

    /// Holds what segments say of the ones before against those. Some may have been dropped for space.
    fn links(&mut self, dropped: bool) {
        for (file, After { segment, last }) in std::mem::take(&mut self.links) {
            match self.ends.get(&segment) {
                Some(found) if *found != last => {
                    self.fault(
                        &file,
                        None,
                        format!("{segment} before it does not end as this says"),
                    );
                }
                None if !dropped => {
                    self.fault(&file, None, format!("{segment} before it is missing"));
                }
                Some(_) | None => {}
            }
        }
    }

    fn archive(&mut self, file: &Listed, bytes: &[u8], state: &State, has_index: bool) {
        let found = pieces(bytes, &mut |_, _| ());
        self.pieces(file, &found);
        if found.torn > 0 {
            self.fault(&file.name, None, "its last line is not whole");
        }
        if has_index {
            let digest = found.pieces.iter().fold(Hash::NONE, |sum, piece| sum.fold(piece.last));
            match state.archives.get(&file.name) {
                None => self.remark(&file.name, "the index does not know of it"),
                Some(known)
                    if (known.bytes, known.segments, known.digest)
                        != (bytes.len() as u64, found.pieces.len() as u64, digest) =>
                {
                    self.fault(&file.name, None, "it is not what the index says of it");
                }
                Some(_) => {}
            }
        }
        for piece in found.pieces {
            self.found(piece, Ending::Killed);
        }
    }

    fn segment(
        &mut self,
        folder: &Path,
        file: &Listed,
        bytes: &[u8],
        state: &State,
        has_index: bool,
    ) {
        let found = pieces(bytes, &mut |_, _| ());
        self.pieces(file, &found);
        let torn = found.torn;
        let Some(piece) = found.only() else {
            let known = state.segments.contains_key(&file.stem);
            if known || torn < bytes.len() {
                self.fault(&file.name, None, "it does not hold one segment");
            } else {
                self.remark(&file.name, "it holds no whole line");
            }
            return;
        };
        if piece.opened.segment != file.stem {
            self.fault(&file.name, Some(1), "it holds a segment of another name");
        }
        let known = state.segments.get(&file.stem);
        let end = known.and_then(|known| known.end.as_ref());
        let live = piece.sealed.is_none() && end.is_none() && is_live(&folder.join(&file.name));
        if known.is_some_and(|known| known.first != piece.first) {
            self.fault(&file.name, Some(1), "its first line is not the one the index knows");
        }
        if known.is_none() && has_index && !live {
            self.remark(&file.name, "the index does not know of it");
        }
        if let Some(end) = end {
            if piece.lines < end.lines {
                let what =
                    format!("it was cut off: {} of {} lines are there", piece.lines, end.lines);
                self.fault(&file.name, None, what);
            } else if piece.lines > end.lines {
                let what = format!("lines were added behind the last one, {}", end.lines);
                self.fault(&file.name, None, what);
            } else if piece.last != end.last {
                let line = usize::try_from(end.lines).ok();
                self.fault(&file.name, line, "the last line is not the one the index knows");
            }
        }
        if torn > 0 && piece.sealed.is_some() {
            self.fault(&file.name, None, "there is more behind its last line");
        } else if torn > 0 && !live {
            self.remark(&file.name, format!("its last line is not whole: {torn} bytes"));
        }
        self.found(piece, if live { Ending::Running } else { Ending::Killed });
    }

    fn found(&mut self, piece: Piece, otherwise: Ending) {
        self.report.segments.push(Found {
            segment: piece.opened.segment,
            lines: piece.lines,
            ending: piece.sealed.map_or(otherwise, |sealed| Ending::Sealed(sealed.reason)),
        });
    }
}
