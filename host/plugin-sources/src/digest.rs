//! SHA-256 digests as registries write them.

use std::fmt;
use std::str::FromStr;

/// A SHA-256 digest: `sha256:` and 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Digest(String);

/// A text is not a digest that can be checked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a digest that can be checked: write `sha256:` and 64 hexadecimal digits in lower case"
)]
pub struct InvalidDigest(pub String);

const PREFIX: &str = "sha256:";

impl Digest {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(format!("{PREFIX}{}", portcullis_checked_files::digest(bytes)))
    }

    /// The hexadecimal digits alone, as the lock file has them.
    pub fn hex(&self) -> &str {
        &self.0[PREFIX.len()..]
    }
}

impl FromStr for Digest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, InvalidDigest> {
        let hex = text.strip_prefix(PREFIX).unwrap_or_default();
        let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let fits = hex.len() == 64 && hex.bytes().all(is_hex);
        fits.then(|| Self(text.to_owned())).ok_or_else(|| InvalidDigest(text.to_owned()))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sha_256_in_lower_case_is_a_digest() {
        let digest = Digest::of(b"");
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(digest.hex(), empty);
        assert_eq!(digest.to_string().parse(), Ok(digest));
        for other in [
            String::new(),
            empty.to_owned(),
            format!("sha256:{}", empty.to_uppercase()),
            format!("sha256:{}", &empty[1..]),
            format!("sha512:{empty}{empty}"),
            format!("sha256:{empty}/../x"),
        ] {
            assert!(other.parse::<Digest>().is_err(), "{other}");
        }
    }
}
