//! Why a path argument was refused.

use std::fmt;
use std::io;

use super::Closed;

/// Why a path argument was not opened. `Display` is for the caller.
#[derive(Debug, PartialEq)]
pub enum Refusal {
    /// The session has no roots.
    NoRoots,
    /// The client has roots and has not named them.
    Unknown,
    /// The path is relative.
    NotAbsolute,
    /// The path is malformed.
    Malformed(&'static str),
    /// The path is beneath none of these roots.
    Outside(String),
    /// A link on the path leads out of the root.
    LeadsOut,
    /// This root is no longer the directory that was opened.
    Moved(String),
    /// The file does not exist.
    Missing,
    /// It is not a regular file.
    NotAFile,
    /// It is not a directory.
    NotADirectory,
    /// It is closed to all calls.
    Closed(Closed),
    /// The system returned an error.
    System(io::ErrorKind),
}

impl Refusal {
    pub(super) fn of(error: &io::Error) -> Self {
        use io::ErrorKind::{CrossesDevices, NotADirectory, NotFound, PermissionDenied};
        let kind = error.kind();
        if let Some(barred) = Closed::of(error) {
            Self::Closed(barred)
        } else if kind == NotFound {
            Self::Missing
        } else if kind == NotADirectory {
            Self::NotADirectory
        // `openat2` (EXDEV) and cap-std report a path that leads out like this.
        } else if kind == CrossesDevices
            || (kind == PermissionDenied && error.raw_os_error().is_none())
        {
            Self::LeadsOut
        } else {
            Self::System(kind)
        }
    }

    /// The reason in a word, for records.
    pub fn word(&self) -> &'static str {
        match self {
            Self::NoRoots => "no-roots",
            Self::Unknown => "roots-unknown",
            Self::NotAbsolute => "not-absolute",
            Self::Malformed(_) => "malformed",
            Self::Outside(_) => "outside",
            Self::LeadsOut => "leads-out",
            Self::Moved(_) => "root-moved",
            Self::Missing => "no-entry",
            Self::NotAFile => "not-a-file",
            Self::NotADirectory => "not-a-directory",
            Self::Closed(barred) => barred.word(),
            Self::System(_) => "refused-by-the-system",
        }
    }

    /// Whether access was denied. Otherwise the path itself is wrong.
    pub fn is_denial(&self) -> bool {
        match self {
            Self::NoRoots
            | Self::Unknown
            | Self::Outside(_)
            | Self::LeadsOut
            | Self::Moved(_)
            | Self::Closed(_) => true,
            Self::NotAbsolute
            | Self::Malformed(_)
            | Self::Missing
            | Self::NotAFile
            | Self::NotADirectory
            | Self::System(_) => false,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRoots => f.write_str("this session has no roots, so no path can be opened"),
            Self::Unknown => {
                f.write_str("the client has roots and has not said which, so no path can be opened")
            }
            Self::NotAbsolute => f.write_str("the path is not absolute"),
            Self::Malformed(why) => write!(f, "the path cannot be used: {why}"),
            Self::Outside(roots) => {
                write!(f, "the path is outside the roots of this session ({roots})")
            }
            Self::LeadsOut => f.write_str("a link in the path leads out of its root"),
            Self::Moved(root) => {
                write!(f, "the root {root} is no longer the directory that was opened")
            }
            Self::Missing => f.write_str("there is no such file or directory"),
            Self::NotAFile => f.write_str("it is not a regular file"),
            Self::NotADirectory => f.write_str("it is not a directory"),
            Self::Closed(barred) => barred.fmt(f),
            Self::System(kind) => write!(f, "the system refused to open it: {kind}"),
        }
    }
}
