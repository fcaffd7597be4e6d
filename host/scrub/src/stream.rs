//! Removes secrets from bytes that arrive in pieces.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use crate::Scrub;
use crate::automaton::{State, fold};
use crate::decode::{Reading, Token, token};

/// So much of the beginning of a secret at the very end counts as the secret: a server may cut off its answer.
const CUT_OFF: usize = 8;

/// Bytes that were given away and still lie in the buffer before they are moved out of it.
const SLACK: usize = 64 * 1024;

/// A stream of bytes without the secrets. Places are counted from the beginning of the stream.
pub struct Stream {
    scrub: Arc<Scrub>,
    /// What is kept back, and before it what has been given away.
    buffer: Vec<u8>,
    /// The place of the buffer's first byte.
    begin: usize,
    /// The place of the first byte that is kept back.
    given: usize,
    readers: [Reader; Reading::ALL.len()],
}

/// One way to read the stream.
struct Reader {
    reading: Reading,
    /// The place of the first byte that has not been read.
    at: usize,
    state: State,
    /// The place at which each byte begins that counts for the state.
    starts: VecDeque<usize>,
    /// Where secrets are, in order.
    found: VecDeque<Range<usize>>,
}

impl Stream {
    /// A stream of which nothing has come.
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

    /// Takes the next bytes. Answers the bytes that can be given away now, maybe none: the last bytes so far are kept
    /// back, whatever they are.
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

    /// Answers the rest of the bytes: there are no more to come.
    pub fn finish(mut self) -> Vec<u8> {
        for reader in &mut self.readers {
            reader.read(&self.scrub, &self.buffer, self.begin, true);
        }
        self.give(self.begin + self.buffer.len())
    }

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
                    // No secret holds these; UTF-16 and lines stay what they are.
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
        if self.given - self.begin > SLACK.max(self.buffer.len() / 2) {
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
        if is_end && self.starts.len() >= CUT_OFF {
            self.hide(self.starts.len());
        }
    }

    /// One more byte, which begins at this place.
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

    /// The last so many bytes are a secret.
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

    /// The place from which on something may still turn out to be a secret.
    fn undecided(&self) -> usize {
        self.starts.front().copied().unwrap_or(self.at).min(self.at)
    }
}
