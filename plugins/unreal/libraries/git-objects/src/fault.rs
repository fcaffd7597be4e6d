//! The reasons why a revision of a file cannot be read.

use std::{io, path::PathBuf};

/// The reason why a revision of a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// No folder above the file has a `.git` that can be seen.
    #[error(
        "no git repository is visible above {}: the folder with `.git` has to be inside the \
         session's roots", .0.display()
    )]
    NoRepository(PathBuf),
    /// The folder of the repository, or another folder that it refers to, cannot be read.
    #[error(
        "the git repository is at {}, which cannot be read: add it to the session's roots",
        .0.display()
    )]
    Elsewhere(PathBuf, #[source] io::Error),
    /// The repository uses a format that is not supported.
    #[error("the git repository uses {0}, which is not supported")]
    Unsupported(String),
    /// No reference and no object has that name.
    #[error("the git repository has no revision `{0}`: name a branch, a tag or a commit")]
    UnknownRevision(String),
    /// A commit has no such parent, or the revision goes back too many commits.
    #[error("the git repository has no commit `{0}`: a commit on the way to it has no such parent")]
    NoParent(String),
    /// The text is not a supported form of a revision.
    #[error(
        "`{0}` is not a supported revision: write a branch, a tag or a commit, and then ~N or ^N, \
         such as HEAD~2"
    )]
    NotARevision(String),
    /// Several objects begin with these digits.
    #[error("several objects of the git repository begin with {0}: write more digits")]
    Ambiguous(String),
    /// The revision names an object that is not a commit.
    #[error("`{0}` is a {1} in git, not a commit")]
    NotACommit(String, &'static str),
    /// The repository does not have the object.
    #[error(
        "the git repository does not have object {0}: in a shallow or partial clone, fetch it \
         first, for example with `git fetch --unshallow`"
    )]
    Missing(String),
    /// An object or a file of the repository has more bytes than the limit.
    #[error("an object or file of the git repository has {size} bytes: at most {most} are read")]
    TooLarge {
        /// Size of the object or file in bytes.
        size: u64,
        /// The limit in bytes.
        most: u64,
    },
    /// The path is not a file in the revision.
    #[error("`{0}` is a {1} in that revision, not a file")]
    NotAFile(String, &'static str),
    /// Several files of the revision have names that differ from the name asked for only in case.
    #[error(
        "in that revision no file is named `{0}`, and several names differ from it only in case: name one of {1}"
    )]
    SeveralNames(String, String),
    /// Git LFS has not downloaded the content with this SHA-256 and this size in bytes.
    #[error(
        "Git LFS has not downloaded this version ({1} bytes, SHA-256 {0}): run `git lfs fetch` \
         for that revision"
    )]
    NotDownloaded(String, u64),
    /// A file of the repository does not have the documented form.
    #[error("the git repository is damaged: {0}")]
    Malformed(String),
    /// A file of the repository cannot be read.
    #[error("cannot read {}", .0.display())]
    Unreadable(PathBuf, #[source] io::Error),
}

impl Fault {
    /// The fault for an object without the documented form. `what` completes a sentence about the
    /// object, such as "is not a blob".
    pub(crate) fn object(id: &crate::Id, what: &str) -> Self {
        Self::Malformed(format!("object {id} {what}"))
    }
}
