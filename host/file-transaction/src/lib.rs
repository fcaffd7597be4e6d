//! Changes to several files that take effect together or not at all, also when the process is killed.
//!
//! A group of changes goes through four steps. [`Plan::new`] looks at what is there. [`Plan::stage`]
//! writes everything under hidden names beside the places where it belongs. [`Staged::commit`] gives
//! each new file, and each new directory as a whole, its own name; nothing is replaced that was not
//! meant to be, and what was done is undone where a later name cannot be given. A journal in a folder
//! of the host says at every moment what a process that was killed had begun: [`recover`] finishes or
//! undoes it.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make the files they need"))]

mod disk;
#[cfg(test)]
mod fault;
mod group;
mod journal;
mod plan;
mod stage;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use cap_std::fs::Dir;
use portcullis_roots::Guard;

pub use journal::recover;
pub use plan::Plan;
pub use stage::Staged;

/// How the names of files begin that have not taken their places yet. A random part follows.
pub const HIDDEN: &str = ".portcullis-";

/// One file that is to be made or replaced.
pub struct Change {
    /// The directory that the change stays beneath.
    pub base: Arc<Dir>,
    /// What is closed beneath that directory, such as the host's own files.
    pub guard: Guard,
    /// Where that directory is, absolute: for messages, and for [`recover`].
    pub base_path: PathBuf,
    /// The file's path in that directory: plain names, without `.` and `..`. Directories that are
    /// missing above it are made.
    pub path: PathBuf,
    /// What must be there before.
    pub expected: Expected,
    /// All of the new file.
    pub contents: Vec<u8>,
}

/// What must be at a path for its change to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// Nothing.
    Nothing,
    /// Nothing, and neither this directory above it: its absolute path.
    NewDirectory(PathBuf),
    /// A regular file; if a digest is given, with these contents (SHA-256 in hexadecimal).
    File(Option<String>),
    /// Nothing, or a regular file.
    Anything,
}

/// Why no change was made. The paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// Something is there already, and stays as it is.
    Exists(PathBuf),
    /// What is there is not what was expected; and what it is instead.
    Unexpected(PathBuf, String),
    /// The caller gave up before the changes took effect.
    Cancelled,
    /// The paths contradict each other, or the disk failed: what was done to what, and why not.
    Other(String),
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists(path) => write!(f, "`{}` exists already", path.display()),
            Self::Unexpected(path, why) => write!(f, "`{}` {why}", path.display()),
            Self::Cancelled => f.write_str("the call was cancelled"),
            Self::Other(why) => f.write_str(why),
        }
    }
}

#[cfg(test)]
mod tests;
