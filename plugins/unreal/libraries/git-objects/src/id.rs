//! The name of an object: its SHA-1 or SHA-256.

use std::fmt;

/// Shortest abbreviation of an object name, in digits, as in git.
const MIN_DIGITS: usize = 4;

/// The name of an object: 20 or 32 bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id(Vec<u8>);

impl Id {
    /// The object name in `bytes`. `None` if they are not `length` bytes.
    pub fn of(bytes: &[u8], length: usize) -> Option<Self> {
        (bytes.len() == length).then(|| Self(bytes.to_vec()))
    }

    /// Parses an object name of `length` bytes, written as hexadecimal digits. `None` for other text.
    pub fn parse(text: &str, length: usize) -> Option<Self> {
        let prefix = Prefix::parse(text, length)?;
        (prefix.digits.len() == length * 2).then_some(prefix.id)
    }

    /// The bytes of the object name: 20 or 32.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The first digits of an object name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefix {
    digits: String,
    /// The digits, padded with zeros to a whole object name.
    id: Id,
}

impl Prefix {
    /// Parses the first digits, at least 4, of an object name of `length` bytes. `None` for other
    /// text.
    pub fn parse(text: &str, length: usize) -> Option<Self> {
        let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hex || text.len() < MIN_DIGITS || text.len() > length * 2 {
            return None;
        }
        let digits = text.to_ascii_lowercase();
        let filled = format!("{digits:0<width$}", width = length * 2);
        let pair = |at: usize| u8::from_str_radix(filled.get(at..at + 2)?, 16).ok();
        let bytes: Option<Vec<u8>> = (0..length).map(|at| pair(at * 2)).collect();
        Some(Self { digits, id: Id(bytes?) })
    }

    /// The digits in lower case.
    pub fn digits(&self) -> &str {
        &self.digits
    }

    /// The least object name with this prefix.
    pub fn least(&self) -> &Id {
        &self.id
    }

    /// Whether an object name begins with the prefix.
    pub fn matches(&self, id: &[u8]) -> bool {
        let digit = |at: usize| {
            let byte = id.get(at / 2)?;
            char::from_digit(
                u32::from(if at.is_multiple_of(2) { byte >> 4 } else { byte & 15 }),
                16,
            )
        };
        self.digits.chars().enumerate().all(|(at, wanted)| digit(at) == Some(wanted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_has_four_digits_or_more() {
        let prefix = Prefix::parse("aBcDe", 20).expect("five digits");
        assert_eq!((prefix.digits(), prefix.least().bytes()[2]), ("abcde", 0xe0));
        assert!(prefix.matches(&[0xab, 0xcd, 0xe7]) && !prefix.matches(&[0xab, 0xcd, 0xf0]));
        for text in ["abc", "abcg", "main", "", &"a".repeat(41)] {
            assert_eq!(Prefix::parse(text, 20), None, "{text}");
        }
        assert!(Id::parse(&"a".repeat(40), 20).is_some() && Id::parse("abcd", 20).is_none());
        assert!(Id::parse(&"a".repeat(64), 32).is_some());
    }
}
