//! The result of a scan, and the limits of a message.

use std::fmt;

use crate::members::{MemberValue, Members, is_text};

/// Maximum nesting of a message in levels. `serde_json` has the same maximum.
pub const MAX_DEPTH: u32 = 127;

/// Maximum number of units ([`Outline::units`]) of a message of up to 8 MiB. See [`most_units`] for longer
/// messages.
pub const MAX_UNITS: u64 = 128 * 1024;

/// Minimum number of bytes per unit in a message of more than 8 MiB.
pub const UNIT_BYTES: u64 = 64;

/// Maximum number of units of a message of this length in bytes: 131,072, or one for each 64 bytes if that is more.
///
/// A unit takes at most about 320 bytes while a message is parsed: a `serde_json::Value` has 72 bytes and a member of
/// an object 104, vectors of them double their size, and serde also buffers untagged enums. The values of a message
/// therefore take at most 42 MB, or five times the message's length if that is more than 8 MiB.
pub fn most_units(bytes: u64) -> u64 {
    MAX_UNITS.max(bytes / UNIT_BYTES)
}

/// The result of a scan.
#[derive(Debug)]
pub struct Outline {
    pub(crate) bytes: u64,
    pub(crate) units: u64,
    pub(crate) depth: u32,
    pub(crate) is_complete: bool,
    pub(crate) members: Members,
}

impl Outline {
    /// The length in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The number of units: one for each value and each key, and four more for each array or object that is not empty.
    pub fn units(&self) -> u64 {
        self.units
    }

    /// The nesting of arrays and objects: 0 for a number, 1 for `[]`.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// Whether each array, object and string that begins also ends.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Whether the message is within the limits.
    ///
    /// # Errors
    ///
    /// The limit that the message exceeds.
    pub fn check(&self) -> Result<(), Excess> {
        if self.depth > MAX_DEPTH {
            return Err(Excess::Depth);
        }
        let most = most_units(self.bytes);
        if self.units > most { Err(Excess::Units { units: self.units, most }) } else { Ok(()) }
    }

    /// Whether the message has a member `id`.
    pub fn has_id(&self) -> bool {
        !matches!(self.members.id, MemberValue::Missing)
    }

    /// The `id` of the message as JSON, if it is a string or an integer of at most 256 bytes. Of several members
    /// `id`, the last counts, as in a parsed message.
    pub fn id(&self) -> Option<String> {
        match &self.members.id {
            MemberValue::Missing | MemberValue::Unknown => None,
            MemberValue::Text(piece) => Some(format!("\"{}\"", str::from_utf8(piece.get()?).ok()?)),
            MemberValue::Word(piece) => {
                let word = str::from_utf8(piece.get()?).ok()?;
                let digits = word.strip_prefix('-').unwrap_or(word);
                let is_integer = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
                is_integer.then(|| word.to_owned())
            }
        }
    }

    /// Whether the message has a member `method`, of any type.
    pub fn has_method(&self) -> bool {
        !matches!(self.members.method, MemberValue::Missing)
    }

    /// Whether the `method` of the message is a string.
    pub fn has_named_method(&self) -> bool {
        matches!(self.members.method, MemberValue::Text(_))
    }

    /// Whether the `method` of the message is `name`, however the message escapes it. Of several members `method`, the
    /// last counts.
    pub fn is_method(&self, name: &str) -> bool {
        match &self.members.method {
            MemberValue::Text(piece) => piece.get().is_some_and(|written| is_text(written, name)),
            MemberValue::Missing | MemberValue::Unknown | MemberValue::Word(_) => false,
        }
    }

    /// Whether the message has a member `result`.
    pub fn has_result(&self) -> bool {
        self.members.has_result
    }

    /// Whether the message has a member `error`.
    pub fn has_error(&self) -> bool {
        self.members.has_error
    }

    /// Whether the message is a JSON-RPC response, even an invalid one. Responses are not answered.
    pub fn is_answer(&self) -> bool {
        !self.has_method() && (self.has_result() || self.has_error())
    }
}

/// The limit that a message exceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excess {
    /// The maximum nesting: [`MAX_DEPTH`].
    Depth,
    /// The maximum number of units: [`most_units`].
    Units {
        /// The number of units of the message.
        units: u64,
        /// The maximum number for a message of this length.
        most: u64,
    },
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Depth => write!(
                f,
                "the message is nested deeper than {MAX_DEPTH} levels: send it with fewer levels"
            ),
            Self::Units { units, most } => write!(
                f,
                "the message has too many values: they count as {units} units, and a message of this length may \
                 have {most}; send fewer values at once, or send them as text"
            ),
        }
    }
}

impl std::error::Error for Excess {}
