//! The chain of lines: each line carries its number and the SHA-256 digest of the line before it. Therefore, a line
//! that is changed, removed or moved no longer matches the line after it.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use crate::entry::Entry;
use crate::hash::Hash;
use crate::index_entry::IndexEntry;
use crate::record::{Counted, Event, Record, Verdict};

/// The end of a chain that lines are added to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Chain {
    /// The number of the next line.
    pub next: u64,
    /// The digest of the last line.
    pub last: Hash,
}

impl Chain {
    /// Writes the object into `line` as the next line of the chain, line end included. The old contents of `line` are
    /// dropped. The chain itself changes only with [`advance`](Self::advance).
    ///
    /// # Errors
    ///
    /// The object cannot be written as JSON.
    pub fn link(self, object: &impl Serialize, line: &mut Vec<u8>) -> io::Result<()> {
        line.clear();
        serde_json::to_writer(&mut *line, object).map_err(io::Error::other)?;
        let end = line.pop();
        debug_assert_eq!(end, Some(b'}'), "a line is an object");
        write!(line, ",\"n\":{},\"prev\":\"", self.next)?;
        line.extend_from_slice(&self.last.hexadecimal());
        line.extend_from_slice(b"\"}\n");
        Ok(())
    }

    /// Notes that this line was written to the file.
    pub fn advance(&mut self, line: &[u8]) {
        self.next += 1;
        self.last = Hash::of(line.strip_suffix(b"\n").unwrap_or(line));
    }
}

/// A line that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The line's place in the file, from 1.
    pub at: usize,
    /// The line's number in the chain, from 0.
    pub n: u64,
    /// The digest of the line before, which this line carries.
    pub prev: Hash,
    /// The digest of the line itself.
    pub hash: Hash,
    /// The content.
    pub entry: Entry,
}

/// A line that does not fit its chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenLink {
    /// The line's place in the file, from 1.
    pub line: usize,
    /// What is wrong.
    pub kind: FlawKind,
}

/// What is wrong with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlawKind {
    /// The text is not a line of an audit.
    NotALine,
    /// The first line of the segment is missing.
    MissingHeader,
    /// The number of the line is not the next number: lines were removed, moved or repeated.
    Number {
        /// The number that should follow.
        expected: u64,
        /// The number of the line.
        found: u64,
    },
    /// The line does not carry the digest of the line before: one of the two lines was changed.
    Digest,
    /// The line follows the seal of its segment.
    AfterSeal,
    /// The number of lines that the seal states is not the number of lines before the seal.
    LineCount {
        /// The number that the seal states.
        expected: u64,
        /// The number of lines before the seal.
        found: u64,
    },
}

impl fmt::Display for FlawKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotALine => f.write_str("this is not a line of an audit"),
            Self::MissingHeader => f.write_str("the first line of its segment is missing"),
            Self::Number { expected, found } => write!(
                f,
                "line number {found} is in the place of number {expected}: lines were removed or moved"
            ),
            Self::Digest => f.write_str("this line or the line before it was changed"),
            Self::AfterSeal => f.write_str("this line was added after the end of its segment"),
            Self::LineCount { expected, found } => {
                write!(f, "the segment should have {expected} lines and has {found}")
            }
        }
    }
}

/// The kinds of lines that are records.
const RECORD_KINDS: [&str; 5] = ["ask", "outcome", "more", "call", "approval"];

/// The fields of the chain and all fields that a record may have. Reading them in one step is faster than
/// reading the kind of the line first, and an audit has very many records.
#[derive(Deserialize)]
struct LineFields<'a> {
    #[serde(borrow)]
    event: Cow<'a, str>,
    n: u64,
    prev: Hash,
    time: Option<String>,
    request: Option<String>,
    plugin: Option<String>,
    digest: Option<String>,
    tool: Option<String>,
    principal: Option<String>,
    capability: Option<String>,
    subject: Option<String>,
    verdict: Option<Verdict>,
    outcome: Option<String>,
    of: Option<Counted>,
    count: Option<u64>,
    total: Option<u64>,
    covers: Option<u64>,
    first: Option<String>,
    last: Option<String>,
    duration_us: Option<u64>,
    bytes_in: Option<u64>,
    bytes_out: Option<u64>,
    #[serde(default)]
    findings: Vec<String>,
    before: Option<String>,
    user: Option<String>,
    reason: Option<String>,
}

impl LineFields<'_> {
    /// The record. `None`: a field is missing.
    fn record(self) -> Option<Record> {
        let event = match &*self.event {
            "ask" => Event::Ask {
                capability: self.capability?,
                subject: self.subject?,
                verdict: self.verdict?,
                outcome: self.outcome,
            },
            "outcome" => Event::Outcome {
                capability: self.capability?,
                subject: self.subject?,
                verdict: self.verdict?,
                outcome: self.outcome?,
            },
            "more" => Event::More {
                of: self.of?,
                capability: self.capability?,
                verdict: self.verdict?,
                outcome: self.outcome,
                count: self.count?,
                total: self.total?,
                covers: self.covers?,
                first: self.first?,
                last: self.last?,
            },
            "call" => Event::Call {
                verdict: self.verdict?,
                outcome: self.outcome?,
                duration_us: self.duration_us?,
                bytes_in: self.bytes_in?,
                bytes_out: self.bytes_out?,
                findings: self.findings,
            },
            "approval" => {
                Event::Approval { before: self.before, user: self.user?, reason: self.reason? }
            }
            _ => return None,
        };
        Some(Record {
            time: self.time?,
            request: self.request?,
            plugin: self.plugin?,
            digest: self.digest?,
            tool: self.tool?,
            principal: self.principal,
            event,
        })
    }
}

/// The fields of the chain in a line that is not a record.
#[derive(Deserialize)]
struct ChainFields<'a> {
    #[serde(borrow)]
    event: Cow<'a, str>,
    n: u64,
    prev: Hash,
}

/// Reads a line of a file, without its line end. `None`: the text is not a line of an audit.
fn read(at: usize, text: &[u8]) -> Option<Line> {
    let hash = Hash::of(text);
    if let Ok(flat) = serde_json::from_slice::<LineFields<'_>>(text)
        && RECORD_KINDS.contains(&&*flat.event)
    {
        let (n, prev) = (flat.n, flat.prev);
        let entry = Entry::Record(Box::new(flat.record()?));
        return Some(Line { at, n, prev, hash, entry });
    }
    let ChainFields { event, n, prev } = serde_json::from_slice(text).ok()?;
    let entry = match &*event {
        "opened" => Entry::Opened(Box::new(serde_json::from_slice(text).ok()?)),
        "sealed" => Entry::Sealed(serde_json::from_slice(text).ok()?),
        // A record with a field that could not be read.
        known if RECORD_KINDS.contains(&known) => return None,
        known if IndexEntry::is_named(known) => {
            Entry::Index(Box::new(serde_json::from_slice(text).ok()?))
        }
        other => Entry::Other(other.to_owned()),
    };
    Some(Line { at, n, prev, hash, entry })
}

/// A line of a file: its number, its bytes, and its content if it is a line of an audit.
type ReadLine<'a> = (usize, &'a [u8], Option<Line>);

/// The complete lines of a file, and the bytes after the last line end.
pub(crate) fn lines(bytes: &[u8]) -> (impl Iterator<Item = ReadLine<'_>>, &[u8]) {
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let (complete, torn) = bytes.split_at(end);
    let lines = complete.split_inclusive(|byte| *byte == b'\n').enumerate().map(|(index, line)| {
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        (index + 1, line, read(index + 1, text))
    });
    (lines, torn)
}

/// Compares each line with the line before it.
#[derive(Default)]
pub(crate) struct ChainCheck {
    /// `None`: no chain has begun. Otherwise the next number, and the digest of the last line if that line could be
    /// read.
    before: Option<(u64, Option<Hash>)>,
}

impl ChainCheck {
    /// Checks the next line of the file. `None` for `line`: the line could not be read.
    pub fn next(&mut self, line: Option<&Line>) -> Option<FlawKind> {
        let Some(line) = line else {
            self.before = self.before.map(|(next, _)| (next.saturating_add(1), None));
            return Some(FlawKind::NotALine);
        };
        let is_first = match &line.entry {
            Entry::Opened(_) => true,
            Entry::Index(note) => note.begins(),
            Entry::Record(_) | Entry::Sealed(_) | Entry::Other(_) => false,
        };
        let before = if is_first { Some((0, Some(Hash::NONE))) } else { self.before };
        self.before = Some((line.n.saturating_add(1), Some(line.hash)));
        match before {
            None => Some(FlawKind::MissingHeader),
            Some((expected, _)) if expected != line.n => {
                Some(FlawKind::Number { expected, found: line.n })
            }
            Some((_, Some(last))) if last != line.prev => Some(FlawKind::Digest),
            Some(_) => None,
        }
    }
}

/// The contents of a file of an audit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parsed {
    /// The lines of an audit; other lines are left out.
    pub lines: Vec<Line>,
    /// The flaws, in the order of the lines.
    pub flaws: Vec<BrokenLink>,
    /// The number of bytes after the last line end: an incomplete line.
    pub torn: usize,
}

/// Reads a segment, an archive or the index of an audit. Any bytes can be read: flaws are part of the
/// result.
pub fn parse(bytes: &[u8]) -> Parsed {
    let (lines, torn) = lines(bytes);
    let mut parsed = Parsed { torn: torn.len(), ..Parsed::default() };
    let mut check = ChainCheck::default();
    for (at, _, line) in lines {
        if let Some(kind) = check.next(line.as_ref()) {
            parsed.flaws.push(BrokenLink { line: at, kind });
        }
        parsed.lines.extend(line);
    }
    parsed
}
