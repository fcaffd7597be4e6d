//! The keys that seal the state which clients carry between the rounds of a call.

use std::io;
use std::path::{Path, PathBuf};

use portcullis_checked_files::{SealKey, derive_key};

/// A key.
pub(super) type StateKey = [u8; 32];

/// The purpose for which the keys are derived. Another purpose results in other keys.
const PURPOSE: &str = "states of requests";

/// Minimum length of a line in a key file, in bytes. A shorter text could be guessed.
const MIN_LINE_BYTES: usize = 32;

/// Maximum number of keys in a file. Each refused state is tried with all keys.
const MAX_KEYS: usize = 8;

/// The keys that seal states: at least one.
pub struct StateKeys {
    first: StateKey,
    /// Earlier keys, which open states and do not seal.
    others: Vec<StateKey>,
}

/// Why a file with keys cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateKeyError {
    /// The file cannot be read.
    #[error("cannot read the state key file {}: {cause}", .file.display())]
    Unreadable {
        /// The path of the file.
        file: PathBuf,
        /// Why the file cannot be read.
        #[source]
        cause: io::Error,
    },
    /// The file contains no key.
    #[error("the state key file {} contains no key: write one random key a line", .file.display())]
    Empty {
        /// The path of the file.
        file: PathBuf,
    },
    /// A line is so short that the key could be guessed.
    #[error(
        "line {line} of the state key file {} has fewer than {MIN_LINE_BYTES} bytes: write a random key, for example \
         that of `openssl rand -base64 32`",
        .file.display()
    )]
    ShortKey {
        /// The path of the file.
        file: PathBuf,
        /// The number of the line, from 1.
        line: usize,
    },
    /// The file contains too many keys.
    #[error("the state key file {} has more than {MAX_KEYS} keys: remove the oldest ones, at the end", .file.display())]
    TooMany {
        /// The path of the file.
        file: PathBuf,
    },
}

impl StateKeys {
    /// A key derived from the host's key, which all processes of one user of the operating system share. States
    /// therefore stay valid after a restart. If the host's key cannot be read or made, a random key is used, and
    /// states are valid in this process only.
    pub fn of_host(key: &SealKey) -> Self {
        let first = key.derive(PURPOSE).unwrap_or_else(|error| {
            tracing::warn!("the host's key cannot be read or made, so clients cannot continue calls after a restart: {error}");
            let mut key = [0; 32];
            getrandom::fill(&mut key).expect("the system has randomness");
            key
        });
        Self { first, others: Vec::new() }
    }

    /// The keys derived from the lines of a file, which several hosts share: see [`keys_in_file`].
    ///
    /// # Errors
    ///
    /// The file cannot be read, has no key or too many keys, or a line is too short.
    pub fn in_file(file: &Path) -> Result<Self, StateKeyError> {
        let mut keys = keys_in_file(file, PURPOSE)?.into_iter();
        match keys.next() {
            Some(first) => Ok(Self { first, others: keys.collect() }),
            None => Err(StateKeyError::Empty { file: file.to_owned() }),
        }
    }

    /// The keys. The first one seals.
    pub(super) fn all(&self) -> impl Iterator<Item = &StateKey> {
        std::iter::once(&self.first).chain(&self.others)
    }
}

/// The keys for a purpose, derived from the lines of a file, which several hosts share. Empty lines are ignored. There is
/// at least one key.
///
/// # Errors
///
/// The file cannot be read, has no key or too many keys, or a line is too short.
#[expect(
    clippy::disallowed_methods,
    reason = "the operator names the file, at the start of the server"
)]
pub fn keys_in_file(file: &Path, purpose: &str) -> Result<Vec<[u8; 32]>, StateKeyError> {
    let path = || file.to_owned();
    let text = std::fs::read_to_string(file)
        .map_err(|cause| StateKeyError::Unreadable { file: path(), cause })?;
    let mut keys = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        if line.len() < MIN_LINE_BYTES {
            return Err(StateKeyError::ShortKey { file: path(), line: number + 1 });
        }
        if keys.len() == MAX_KEYS {
            return Err(StateKeyError::TooMany { file: path() });
        }
        keys.push(derive_key(line.as_bytes(), purpose));
    }
    if keys.is_empty() {
        return Err(StateKeyError::Empty { file: path() });
    }
    Ok(keys)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files they need")]
mod tests {
    use super::*;

    fn error_of(text: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("keys");
        std::fs::write(&file, text).unwrap();
        StateKeys::in_file(&file).err().expect("the file is refused").to_string()
    }

    #[test]
    fn a_file_that_cannot_be_used_is_refused_with_the_reason() {
        let long = "k".repeat(MIN_LINE_BYTES);
        assert!(error_of("").contains("contains no key"));
        assert!(error_of(" \n\n").contains("contains no key"));
        assert!(error_of(&format!("{long}\n\n{}\n", &long[1..])).contains("line 3"));
        assert!(error_of(&format!("{long}\n").repeat(MAX_KEYS + 1)).contains("more than 8 keys"));
        let missing = StateKeys::in_file(Path::new("/no/such/file"));
        let error = missing.err().expect("the file is refused");
        assert!(error.to_string().contains("/no/such/file"));
    }
}
