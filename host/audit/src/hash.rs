//! SHA-256 digests of lines.

use std::borrow::Cow;
use std::fmt;

use data_encoding::HEXLOWER;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

/// A SHA-256 digest, written in hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Hash([u8; 32]);

impl Hash {
    /// The digest that the first line of a chain carries, because there is no line before.
    pub const NONE: Self = Self([0; 32]);

    /// The digest of a line without its line end.
    pub fn of(line: &[u8]) -> Self {
        Self(Sha256::digest(line).into())
    }

    /// The digest of two digests, one after the other.
    pub(crate) fn fold(self, next: Self) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(self.0);
        hasher.update(next.0);
        Self(hasher.finalize().into())
    }

    pub(crate) fn hexadecimal(self) -> [u8; 64] {
        let mut text = [0; 64];
        HEXLOWER.encode_mut(&self.0, &mut text);
        text
    }

    fn parse(text: &str) -> Option<Self> {
        let text: &[u8; 64] = text.as_bytes().try_into().ok()?;
        let mut hash = [0; 32];
        HEXLOWER.decode_mut(text, &mut hash).ok()?;
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
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("not 64 hexadecimal digits"))
    }
}
