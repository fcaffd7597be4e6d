//! Changes several files together or not at all, even if the process is killed.
//!
//! A transaction has these steps. [`Plan::new`] checks the changes against the files on the disk. [`Plan::stage`]
//! writes all new files under hidden names in their directories. [`Staged::commit`] gives each new file its own name. A
//! new directory gets its name together with all its contents. Only the files that the plan names are replaced. If one
//! name cannot be given, all changes are undone. A journal in a folder of the host records each step. After a process
//! was killed, [`recover`] reads the journal, and completes or undoes the transaction.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make the files they need"))]

mod disk;
mod error;
#[cfg(test)]
mod fault;
mod group;
mod journal;
mod plan;
mod stage;

use std::path::PathBuf;
use std::sync::Arc;

use cap_std::fs::Dir;
use portcullis_roots::Guard;

pub use error::{Obstacle, TransactionError};
pub use journal::recover;
pub use plan::Plan;
pub use stage::Staged;

/// The beginning of hidden names. A random part follows.
pub const HIDDEN: &str = ".portcullis-";

/// One file to create or replace.
pub struct Change {
    /// The directory beneath which the change stays.
    pub base: Arc<Dir>,
    /// Protects paths beneath the directory, such as the host's own files.
    pub guard: Guard,
    /// The absolute path of the directory, for messages and for [`recover`].
    pub base_path: PathBuf,
    /// The file's path in the directory: plain names, without `.` and `..`. Missing directories above it are
    /// created.
    pub path: PathBuf,
    /// What must exist at the path before the change.
    pub expected: Expected,
    /// The whole contents of the new file.
    pub contents: Vec<u8>,
}

/// What must exist at a path before it is changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// Nothing.
    Nothing,
    /// Nothing. This directory above the path, given by its absolute path, must be missing, too.
    NewDirectory(PathBuf),
    /// A regular file; if a digest is given, with these contents (SHA-256 in hexadecimal).
    File(Option<String>),
    /// Nothing, or a regular file.
    Anything,
}

#[cfg(test)]
mod tests;
