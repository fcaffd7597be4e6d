//! The chain of lines: each line carries its number and the SHA-256 of the line before it, so that a
//! line that is changed, removed or moved no longer fits the line after it.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

use crate::record::{Counted, Entry, Event, Record, Verdict};

/// A SHA-256 digest, written in hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Hash([u8; 32]);

impl Hash {
    /// What the first line of a chain carries.
    pub const NONE: Self = Self([0; 32]);

    /// Of a line, without its line end.
    pub fn of(line: &[u8]) -> Self {
        Self(Sha256::digest(line).into())
    }

    /// Of two digests, one after the other.
    pub(crate) fn fold(self, next: Self) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(self.0);
        hasher.update(next.0);
        Self(hasher.finalize().into())
    }

    fn hexadecimal(self) -> [u8; 64] {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0; 64];
        for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        text
    }

    fn parse(text: &str) -> Option<Self> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let text: &[u8; 64] = text.as_bytes().try_into().ok()?;
        let mut hash = [0; 32];
        for (byte, pair) in hash.iter_mut().zip(text.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Some(Self(hash))
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.hexadecimal()).expect("digits are ASCII"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = <Cow<'de, str>>::deserialize(from)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("64 hexadecimal digits"))
    }
}

/// The end of a chain that lines are added to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Chain {
    /// The number of the next line.
    pub next: u64,
    /// The digest of the last one.
    pub last: Hash,
}

impl Chain {
    /// Makes the next line, with its line end, of an object.
    ///
    /// # Errors
    ///
    /// Where it cannot be written as JSON.
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

    /// Goes on behind a line that was written.
    pub fn wrote(&mut self, line: &[u8]) {
        self.next += 1;
        self.last = Hash::of(line.strip_suffix(b"\n").unwrap_or(line));
    }
}

/// A line that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Its place in the file, from 1.
    pub at: usize,
    /// Its number in the chain, from 0.
    pub n: u64,
    /// The digest that it carries: that of the line before.
    pub prev: Hash,
    /// Its own digest.
    pub hash: Hash,
    /// What it says.
    pub entry: Entry,
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// Its place in the file, from 1.
    pub at: usize,
    /// What is wrong.
    pub wrong: Wrong,
}

/// What can be wrong with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    /// It is no line of an audit.
    NotALine,
    /// There is no first line before it.
    NoBeginning,
    /// Its number is not the next one: lines between were removed, or lines were moved or repeated.
    Number {
        /// The next one.
        expected: u64,
        /// Its own.
        found: u64,
    },
    /// It does not carry the digest of the line before: one of the two was changed.
    Digest,
    /// It comes after the last line of its segment.
    BehindTheEnd,
    /// The last line of the segment counts other lines than there are.
    Count {
        /// That many it says.
        said: u64,
        /// That many there are.
        found: u64,
    },
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotALine => f.write_str("this is no line of an audit"),
            Self::NoBeginning => f.write_str("the first line of its segment is missing"),
            Self::Number { expected, found } => write!(
                f,
                "line number {found} stands where {expected} should: lines were removed or moved"
            ),
            Self::Digest => f.write_str("this line, or the one before, was changed"),
            Self::BehindTheEnd => f.write_str("a line behind the end of its segment"),
            Self::Count { said, found } => {
                write!(f, "the segment should have {said} lines and has {found}")
            }
        }
    }
}

/// The part of each line that makes the chain, and what a record may have: read at once, as there are
/// very many of them.
#[derive(Deserialize)]
struct Flat<'a> {
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
}

impl Flat<'_> {
    /// The record, where nothing of it is missing.
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
            },
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

/// What makes the chain, of a line that is no record.
#[derive(Deserialize)]
struct Link<'a> {
    #[serde(borrow)]
    event: Cow<'a, str>,
    n: u64,
    prev: Hash,
}

/// A line of a file, without its line end. `None`: it is none of an audit.
fn read(at: usize, text: &[u8]) -> Option<Line> {
    let hash = Hash::of(text);
    if let Ok(flat) = serde_json::from_slice::<Flat<'_>>(text)
        && matches!(&*flat.event, "ask" | "outcome" | "more" | "call")
    {
        let (n, prev) = (flat.n, flat.prev);
        let entry = Entry::Record(Box::new(flat.record()?));
        return Some(Line { at, n, prev, hash, entry });
    }
    let Link { event, n, prev } = serde_json::from_slice(text).ok()?;
    let entry = match &*event {
        "opened" => Entry::Opened(Box::new(serde_json::from_slice(text).ok()?)),
        "sealed" => Entry::Sealed(serde_json::from_slice(text).ok()?),
        // One of these that could not be read.
        "ask" | "outcome" | "more" | "call" => return None,
        known if crate::index::Note::is_named(known) => {
            Entry::Note(Box::new(serde_json::from_slice(text).ok()?))
        }
        other => Entry::Other(other.to_owned()),
    };
    Some(Line { at, n, prev, hash, entry })
}

/// A line of a file: its number, its bytes, and what was read if it is a line of an audit.
type ReadLine<'a> = (usize, &'a [u8], Option<Line>);

/// The lines of a file that end, each read or not; and the bytes behind the last of them.
pub(crate) fn lines(bytes: &[u8]) -> (impl Iterator<Item = ReadLine<'_>>, &[u8]) {
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let (whole, torn) = bytes.split_at(end);
    let lines = whole.split_inclusive(|byte| *byte == b'\n').enumerate().map(|(index, line)| {
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        (index + 1, line, read(index + 1, text))
    });
    (lines, torn)
}

/// Holds each line against the one before.
#[derive(Default)]
pub(crate) struct Walk {
    /// The next number, and the digest of the last line where it is known.
    before: Option<(u64, Option<Hash>)>,
}

impl Walk {
    /// Goes on to a line, and says what is wrong with it.
    pub fn step(&mut self, line: Option<&Line>) -> Option<Wrong> {
        let Some(line) = line else {
            self.before = self.before.map(|(next, _)| (next.saturating_add(1), None));
            return Some(Wrong::NotALine);
        };
        let begins = match &line.entry {
            Entry::Opened(_) => true,
            Entry::Note(note) => note.begins(),
            Entry::Record(_) | Entry::Sealed(_) | Entry::Other(_) => false,
        };
        let before = if begins { Some((0, Some(Hash::NONE))) } else { self.before };
        self.before = Some((line.n.saturating_add(1), Some(line.hash)));
        match before {
            None => Some(Wrong::NoBeginning),
            Some((expected, _)) if expected != line.n => {
                Some(Wrong::Number { expected, found: line.n })
            }
            Some((_, Some(last))) if last != line.prev => Some(Wrong::Digest),
            Some(_) => None,
        }
    }
}

/// What a file of an audit holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parsed {
    /// Its lines, without those that are none of an audit.
    pub lines: Vec<Line>,
    /// What is wrong with lines, in their order.
    pub flaws: Vec<Flaw>,
    /// How many bytes are behind the last line end: a line that was not written whole.
    pub torn: usize,
}

/// Reads a segment, an archive or the index of an audit. Any bytes can be read: what is wrong with them
/// is part of the result.
pub fn parse(bytes: &[u8]) -> Parsed {
    let (lines, torn) = lines(bytes);
    let mut parsed = Parsed { torn: torn.len(), ..Parsed::default() };
    let mut walk = Walk::default();
    for (at, _, line) in lines {
        if let Some(wrong) = walk.step(line.as_ref()) {
            parsed.flaws.push(Flaw { at, wrong });
        }
        parsed.lines.extend(line);
    }
    parsed
}
