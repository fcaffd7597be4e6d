//! Removes secrets from bytes that arrive in pieces.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use crate::Scrub;
use crate::automaton::{State, fold};
use crate::decode::{Reading, Token, token};

/// At the end of a stream, the beginning of a secret is removed if it has at least this many bytes, because a server
/// may cut off its answer.
const MIN_CUT_OFF_BYTES: usize = 8;

/// Number of bytes that may stay in the buffer after they were returned. More of them may stay while they are at most
/// half of the buffer.
const SLACK_BYTES: usize = 64 * 1024;

/// Removes secrets from a stream of bytes. Positions are counted from the beginning of the stream.
pub struct Stream {
    scrub: Arc<Scrub>,
    /// The bytes that are held back, and before them bytes that were returned.
    buffer: Vec<u8>,
    /// The position of the buffer's first byte.
    begin: usize,
    /// The position of the first byte that is held back.
    given: usize,
    readers: [Reader; Reading::ALL.len()],
}

/// Decodes the stream in one way, and finds secrets in the decoded bytes.
struct Reader {
    reading: Reading,
    /// The position of the first byte that is not decoded yet.
    at: usize,
    state: State,
    /// The positions of those last decoded bytes that are the beginning of a needle.
    starts: VecDeque<usize>,
    /// The positions of secrets, in order.
    found: VecDeque<Range<usize>>,
}

impl Stream {
    /// A stream without any bytes so far.
    pub fn new(scrub: Arc<Scrub>) -> Self {
        let readers = Reading::ALL.map(|reading| Reader {
            reading,
            at: 0,
            state: 0,
            starts: VecDeque::new(),
            found: VecDeque::new(),
        });
        Self { scrub, buffer: Vec::new(), begin: 0, given: 0, readers }
    }

    /// Takes the next bytes. Returns the bytes that can be passed on, possibly none: the last bytes are held back.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        if self.scrub.is_empty() {
            return bytes.to_vec();
        }
        self.buffer.extend_from_slice(bytes);
        let mut until = (self.begin + self.buffer.len()).saturating_sub(self.scrub.kept_back());
        for reader in &mut self.readers {
            reader.read(&self.scrub, &self.buffer, self.begin, false);
            until = until.min(reader.undecided());
        }
        self.give(until)
    }

    /// Ends the stream. Returns the bytes that were held back.
    pub fn finish(mut self) -> Vec<u8> {
        for reader in &mut self.readers {
            reader.read(&self.scrub, &self.buffer, self.begin, true);
        }
        self.give(self.begin + self.buffer.len())
    }

    /// Returns the bytes before the position `until` that were held back, without the secrets in them.
    fn give(&mut self, until: usize) -> Vec<u8> {
        if until <= self.given {
            return Vec::new();
        }
        let from = std::mem::replace(&mut self.given, until);
        let mut bytes = self.buffer[from - self.begin..until - self.begin].to_vec();
        for reader in &mut self.readers {
            while let Some(found) = reader.found.front_mut() {
                let range = found.start.max(from)..found.end.min(until);
                if range.is_empty() {
                    break;
                }
                for byte in &mut bytes[range.start - from..range.end - from] {
                    // Line ends and zero bytes are kept, so that lines and UTF-16 stay valid.
                    if !matches!(byte, b'\r' | b'\n' | 0) {
                        *byte = b'*';
                    }
                }
                if found.end > until {
                    break;
                }
                reader.found.pop_front();
            }
        }
        if self.given - self.begin > SLACK_BYTES.max(self.buffer.len() / 2) {
            self.buffer.drain(..self.given - self.begin);
            self.begin = self.given;
        }
        bytes
    }
}

impl Reader {
    fn read(&mut self, scrub: &Scrub, buffer: &[u8], begin: usize, is_end: bool) {
        while let Some(bytes) = buffer.get(self.at - begin..).filter(|bytes| !bytes.is_empty()) {
            let from = self.at;
            match token(self.reading, bytes, is_end) {
                Token::Unknown => return,
                Token::Nothing(length) => self.at += length,
                Token::Bytes(decoded, count, length) => {
                    self.at += length;
                    for byte in &decoded[..count] {
                        self.step(scrub, *byte, from);
                    }
                }
            }
        }
        if is_end && self.starts.len() >= MIN_CUT_OFF_BYTES {
            self.hide(self.starts.len());
        }
    }

    /// Adds a decoded byte, whose encoded form begins at the position `from`.
    fn step(&mut self, scrub: &Scrub, byte: u8, from: usize) {
        self.state = scrub.automaton.step(self.state, fold(byte));
        let depth = scrub.automaton.depth(self.state);
        if depth == 0 {
            self.starts.clear();
            return;
        }
        self.starts.push_back(from);
        self.starts.drain(..self.starts.len() - depth);
        if let Some(length) = scrub.automaton.found(self.state) {
            self.hide(length);
        }
    }

    /// Notes that the last `length` decoded bytes are a secret.
    fn hide(&mut self, length: usize) {
        let start = self.starts[self.starts.len() - length];
        while self.found.back().is_some_and(|last| last.start >= start) {
            self.found.pop_back();
        }
        match self.found.back_mut() {
            Some(last) if last.end >= start => last.end = self.at,
            Some(_) | None => self.found.push_back(start..self.at),
        }
    }

    /// The position of the first byte that may be part of a secret. All bytes before it are decided.
    fn undecided(&self) -> usize {
        self.starts.front().copied().unwrap_or(self.at).min(self.at)
    }
}
