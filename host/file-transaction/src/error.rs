//! Why a transaction failed.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a transaction failed. No change remains, except in the case of `NotUndone`. All paths are absolute, except in
/// `DirectoryGone`.
#[derive(Debug, thiserror::Error)]
pub enum TransactionError {
    /// A file or directory exists already, and stays as it is.
    #[error("`{}` exists already", .0.display())]
    Exists(PathBuf),
    /// The file is not as expected, and is not changed.
    #[error("`{}` {}", .0.display(), .1)]
    Unexpected(PathBuf, Obstacle),
    /// The changes were cancelled before they took effect.
    #[error("the call was cancelled")]
    Cancelled,
    /// Two changes contradict each other.
    #[error(
        "`{}` cannot be written together with `{}`: both are the same file, or the latter would have to be a directory",
        second.display(), first.display()
    )]
    Overlap {
        /// The path that equals `second` or is a parent of `second`.
        first: PathBuf,
        /// The path that equals `first` or is beneath `first`.
        second: PathBuf,
    },
    /// The path has parts such as `..`, or is not UTF-8.
    #[error("`{}` is not a plain path: it has parts such as `..`, or is not UTF-8", .0.display())]
    NotPlain(PathBuf),
    /// The path names the base directory itself.
    #[error("`{}` is the base directory, and not a file in it", .0.display())]
    IsBase(PathBuf),
    /// The directory of a file was removed or replaced meanwhile. The path is only the name of the file.
    #[error("the directory of `{}` no longer exists", .0.display())]
    DirectoryGone(PathBuf),
    /// The system failed.
    #[error("cannot {action} `{}`", path.display())]
    Disk {
        /// What could not be done, such as `write`.
        action: &'static str,
        /// The file or the directory.
        path: PathBuf,
        /// The error of the system.
        #[source]
        cause: io::Error,
    },
    /// The system has no random numbers.
    #[error("cannot get a random number")]
    Random(#[source] getrandom::Error),
    /// The changes failed, and some could not be undone.
    #[error("these changes could not be undone: {}", listed(left))]
    NotUndone {
        /// Why the changes failed.
        #[source]
        cause: Box<TransactionError>,
        /// The paths that are not as before.
        left: Vec<PathBuf>,
    },
}

impl TransactionError {
    /// Turns an error of the system into a [`TransactionError::Disk`].
    pub(crate) fn disk(action: &'static str, path: &Path) -> impl Fn(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |cause| Self::Disk { action, path: path.clone(), cause }
    }
}

fn listed(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// Why a file is not replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// There is no file.
    Missing,
    /// A directory above the file is a symbolic link whose target does not exist.
    DanglingLink,
    /// The file is a symbolic link.
    Link,
    /// The path names a directory, a FIFO or a device.
    NotRegular,
    /// The file is read-only.
    ReadOnly,
    /// The file has several names (hard links).
    HardLinks,
    /// Another program changed the file.
    Changed,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "does not exist",
            Self::DanglingLink => "is a link whose target does not exist",
            Self::Link => "is a link, and links are not replaced",
            Self::NotRegular => "is not a regular file",
            Self::ReadOnly => "is read-only",
            Self::HardLinks => {
                "has several names (hard links), and only one of them would be replaced"
            }
            Self::Changed => "was changed by another program in the meantime",
        })
    }
}
