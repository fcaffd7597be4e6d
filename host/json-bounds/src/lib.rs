//! Measures, before a JSON message is parsed, how much memory the parsed message would need.
//!
//! A parsed message takes far more memory than its text: two bytes of `[0,0,…]` become a value of 72 bytes. [`Scan`]
//! reads the text once, in pieces of any size, without allocation and without recursion. A scan counts what a parser
//! would allocate for, and measures how deep the message is nested. A scan also finds the members `id`, `method`,
//! `result` and `error` of a JSON-RPC message, because the refusal of a request has to contain the request's `id`.
//! [`scan`] scans a complete message.
//!
//! The scan does not validate: a parser may refuse a message that the scan accepts. For a text that is not JSON, the
//! scan counts at least as much as a parser allocates before it fails.

mod members;
mod outline;

pub use outline::{Excess, MAX_DEPTH, MAX_UNITS, Outline, UNIT_BYTES, most_units};

use members::Members;

/// Additional units ([`Outline::units`]) for the first member of an array or an object, because a vector allocates
/// several places at once.
const FIRST_MEMBER: u64 = 4;

/// A scan of one message, fed in pieces.
#[derive(Debug, Default)]
pub struct Scan {
    token: CurrentToken,
    bytes: u64,
    units: u64,
    depth: u32,
    deepest: u32,
    /// Whether the innermost array or object has no member yet.
    is_just_opened: bool,
    members: Members,
}

/// The token that the next byte belongs to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum CurrentToken {
    /// No token.
    #[default]
    Between,
    /// A string.
    Text,
    /// A string, after a backslash.
    Escape,
    /// A number, or `true`, `false` or `null`.
    Word,
}

/// Scans a complete message.
pub fn scan(message: &[u8]) -> Outline {
    let mut scan = Scan::default();
    scan.feed(message);
    scan.finish()
}

impl Scan {
    /// Scans the next piece of the message.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        while !bytes.is_empty() {
            bytes = match self.token {
                CurrentToken::Between => self.between(bytes),
                CurrentToken::Text => self.text(bytes),
                CurrentToken::Escape => {
                    self.members.keep(&bytes[..1]);
                    self.token = CurrentToken::Text;
                    &bytes[1..]
                }
                CurrentToken::Word => self.word(bytes),
            };
        }
    }

    /// The result, as if the message ended here.
    pub fn finish(self) -> Outline {
        let is_complete =
            self.depth == 0 && !matches!(self.token, CurrentToken::Text | CurrentToken::Escape);
        Outline {
            bytes: self.bytes,
            units: self.units,
            depth: self.deepest,
            is_complete,
            members: self.members,
        }
    }

    /// Scans the bytes between tokens, up to the next token.
    fn between<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => {}
                b',' => self.members.comma(self.depth),
                b'"' => {
                    self.begin();
                    self.members.begin_text(self.depth);
                    self.token = CurrentToken::Text;
                    return &bytes[at + 1..];
                }
                b'{' | b'[' => {
                    self.begin();
                    self.depth = self.depth.saturating_add(1);
                    self.deepest = self.deepest.max(self.depth);
                    self.is_just_opened = true;
                    self.members.open(self.depth, *byte == b'{');
                }
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    self.is_just_opened = false;
                    self.members.close(self.depth);
                }
                b':' => self.members.colon(self.depth),
                _ => {
                    self.begin();
                    self.members.begin_word(self.depth);
                    self.token = CurrentToken::Word;
                    return &bytes[at..];
                }
            }
        }
        &[]
    }

    /// Counts a key or a value.
    fn begin(&mut self) {
        self.units += if self.is_just_opened { 1 + FIRST_MEMBER } else { 1 };
        self.is_just_opened = false;
    }

    fn text<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let Some(end) = memchr::memchr2(b'"', b'\\', bytes) else {
            self.members.keep(bytes);
            return &[];
        };
        if bytes[end] == b'"' {
            self.members.keep(&bytes[..end]);
            self.members.end();
            self.token = CurrentToken::Between;
        } else {
            self.members.keep(&bytes[..=end]);
            self.token = CurrentToken::Escape;
        }
        &bytes[end + 1..]
    }

    fn word<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let ends = |byte: &u8| {
            matches!(
                byte,
                b' ' | b'\t' | b'\r' | b'\n' | b',' | b':' | b'"' | b'{' | b'}' | b'[' | b']'
            )
        };
        let Some(end) = bytes.iter().position(ends) else {
            self.members.keep(bytes);
            return &[];
        };
        self.members.keep(&bytes[..end]);
        self.members.end();
        self.token = CurrentToken::Between;
        &bytes[end..]
    }
}
