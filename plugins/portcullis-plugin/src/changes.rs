//! Changes to several files that take effect together or not at all.
//!
//! With `std::fs`, a call that fails, is cancelled or is killed leaves the files that it has written so far.
//! [`Changes::apply`] makes all changes or none. Changes that were made stay, however the call ends. No file is
//! ever visible half-written. Commands that run later in the same call see the files.
//!
//! ```no_run
//! # use portcullis_plugin::prelude::*;
//! # fn make() -> Result<(), Failure> {
//! changes::new()
//!     .create("/project/src/main.rs", "fn main() {}\n")
//!     .replace("/project/Cargo.toml", "[package]\nname = \"new\"\n")
//!     .apply()?;
//! # Ok(())
//! # }
//! ```

#[cfg(target_family = "wasm")]
use crate::bindings::portcullis::plugin::changes as host;
use crate::bindings::portcullis::plugin::changes::{Change, ChangeError, Expected};
#[cfg(not(target_family = "wasm"))]
use crate::rehearsal::changes as host;
use std::{fmt, path::Path};

/// An empty group of changes.
pub fn new() -> Changes {
    Changes(Vec::new())
}

/// Files to be created or replaced together. Their paths are absolute, and beneath directories that
/// the call may write; missing directories are created.
#[derive(Debug)]
#[must_use = "nothing is changed until it is applied"]
pub struct Changes(Vec<Change>);

impl Changes {
    /// Creates a file. The path must not exist yet.
    pub fn create(self, path: impl AsRef<Path>, contents: impl Into<Vec<u8>>) -> Self {
        self.add(path.as_ref(), Expected::Nothing, contents.into())
    }

    /// Creates a file in a new directory, at a `path` relative to the directory. The directory must not exist yet,
    /// and appears together with all files that these changes create in it.
    pub fn create_in_new(
        self,
        directory: impl AsRef<Path>,
        path: impl AsRef<Path>,
        contents: impl Into<Vec<u8>>,
    ) -> Self {
        let (directory, path) = (directory.as_ref(), path.as_ref());
        let new = Expected::NewDirectory(directory.to_str().unwrap_or_default().to_owned());
        self.add(&directory.join(path), new, contents.into())
    }

    /// Replaces an existing file. Its owner, mode and attributes stay.
    pub fn replace(self, path: impl AsRef<Path>, contents: impl Into<Vec<u8>>) -> Self {
        self.add(path.as_ref(), Expected::File(None), contents.into())
    }

    /// Replaces a file whose contents still have this SHA-256 (lower-case hexadecimal).
    pub fn replace_version(
        self,
        path: impl AsRef<Path>,
        sha256: &str,
        contents: impl Into<Vec<u8>>,
    ) -> Self {
        self.add(path.as_ref(), Expected::File(Some(sha256.to_owned())), contents.into())
    }

    /// Creates a file, or replaces an existing one.
    pub fn put(self, path: impl AsRef<Path>, contents: impl Into<Vec<u8>>) -> Self {
        self.add(path.as_ref(), Expected::Anything, contents.into())
    }

    fn add(mut self, path: &Path, expected: Expected, contents: Vec<u8>) -> Self {
        // WASI allows only UTF-8 paths. Any other path becomes an empty path, which the host refuses.
        let path = path.to_str().unwrap_or_default().to_owned();
        self.0.push(Change { path, expected, contents });
        self
    }

    /// Makes all of the changes, or none.
    pub fn apply(self) -> Result<(), Error> {
        Ok(host::apply(&self.0)?)
    }
}

/// Why none of the changes was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// This path is not granted, or the call may not write it.
    Denied(String),
    /// Something is at this path already.
    Exists(String),
    /// The path is not in the expected state: the path, and the state that was found.
    Unexpected(String, String),
    /// The changes exceed what one call may write: the name of the limit.
    Quota(String),
    /// The call was cancelled.
    Cancelled,
    /// Any other failure: the operation, the path and the reason.
    Other(String),
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(path) => write!(f, "`{path}` may not be written by this call"),
            Self::Exists(path) => write!(f, "`{path}` exists already"),
            Self::Unexpected(path, why) => write!(f, "`{path}` {why}"),
            Self::Quota(limit) => {
                write!(
                    f,
                    "the changes exceed the limit `{limit}`, which the operator sets for each call"
                )
            }
            Self::Cancelled => f.write_str("the call was cancelled"),
            Self::Other(why) => f.write_str(why),
        }
    }
}

impl From<ChangeError> for Error {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::Denied(path) => Self::Denied(path),
            ChangeError::Exists(path) => Self::Exists(path),
            ChangeError::Unexpected((path, why)) => Self::Unexpected(path, why),
            ChangeError::Quota(limit) => Self::Quota(limit),
            ChangeError::Cancelled => Self::Cancelled,
            ChangeError::Other(why) => Self::Other(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn all_changes_are_made_or_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        new().create(path("d/a"), "a").put(path("b"), "b").apply().expect("nothing is in the way");
        let failed = new().put(path("b"), "c").create(path("d/a"), "c").apply();
        assert_eq!(failed, Err(Error::Exists(path("d/a").display().to_string())));
        assert_eq!(fs::read_to_string(path("b")).expect("it is there"), "b");
        let failed = new().create(path("x"), "x").replace(path("y"), "y").apply();
        assert!(matches!(failed, Err(Error::Unexpected(..))), "{failed:?}");
        assert!(!path("x").exists());
        new().replace(path("d/a"), "c").apply().expect("it is there");
        assert_eq!(fs::read_to_string(path("d/a")).expect("it is there"), "c");
        let failed = new().create_in_new(path("d"), "x", "x").apply();
        assert_eq!(failed, Err(Error::Exists(path("d").display().to_string())));
        let digest_of_c = "2e7d2c03a9507ae265ecf5b5356885a53393a2029d241394997265a1a25aefc6";
        let failed = new().replace_version(path("b"), digest_of_c, "d").apply();
        assert!(matches!(failed, Err(Error::Unexpected(..))), "{failed:?}");
        new().replace_version(path("d/a"), digest_of_c, "d").apply().expect("it is that version");
        let failed = new().create("relative", "").apply();
        assert!(matches!(failed, Err(Error::Denied(_))), "{failed:?}");
    }
}
