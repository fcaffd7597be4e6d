//! Why a path argument was not opened.

use std::fmt;
use std::io;

use super::ProtectedFile;

/// Why a path argument was not opened. The text is for the caller.
#[derive(Debug)]
pub enum Refusal {
    /// The session has no roots.
    NoRoots,
    /// The client has roots, and has not listed them yet.
    RootsNotListed,
    /// The path is relative.
    NotAbsolute,
    /// The path is a Windows path, and the host runs on another system.
    WindowsPath,
    /// The path cannot be used, for this reason.
    Malformed(&'static str),
    /// The path is beneath no root. The text lists the roots.
    Outside(String),
    /// A link on the path leads out of the root.
    EscapesRoot,
    /// The path of this root no longer names the directory that was opened.
    RootReplaced(String),
    /// The file or directory does not exist.
    Missing,
    /// The path names something other than a regular file.
    NotAFile,
    /// The path names something other than a directory.
    NotADirectory,
    /// No guest can access the file.
    Protected(ProtectedFile),
    /// The system returned an error.
    System(io::Error),
}

impl Refusal {
    /// The refusal for an error of the system.
    pub(super) fn of(error: io::Error) -> Self {
        use io::ErrorKind::{CrossesDevices, NotADirectory, NotFound, PermissionDenied};
        let kind = error.kind();
        if let Some(file) = ProtectedFile::of(&error) {
            Self::Protected(file)
        } else if kind == NotFound {
            Self::Missing
        } else if kind == NotADirectory {
            Self::NotADirectory
        // These errors report a path that leads out of the root: EXDEV is from `openat2`, `PermissionDenied` without an
        // OS error code is from cap-std.
        } else if kind == CrossesDevices
            || (kind == PermissionDenied && error.raw_os_error().is_none())
        {
            Self::EscapesRoot
        } else {
            Self::System(error)
        }
    }

    /// The reason in a word, for records.
    pub fn word(&self) -> &'static str {
        match self {
            Self::NoRoots => "no-roots",
            Self::RootsNotListed => "roots-unknown",
            Self::NotAbsolute => "not-absolute",
            Self::WindowsPath => "of-windows",
            Self::Malformed(_) => "malformed",
            Self::Outside(_) => "outside",
            Self::EscapesRoot => "leads-out",
            Self::RootReplaced(_) => "root-moved",
            Self::Missing => "no-entry",
            Self::NotAFile => "not-a-file",
            Self::NotADirectory => "not-a-directory",
            Self::Protected(file) => file.word(),
            Self::System(_) => "refused-by-the-system",
        }
    }

    /// Whether the path is forbidden to the call. If not, the path is wrong, or the system cannot open it.
    pub fn is_denial(&self) -> bool {
        match self {
            Self::NoRoots
            | Self::RootsNotListed
            | Self::Outside(_)
            | Self::EscapesRoot
            | Self::RootReplaced(_)
            | Self::Protected(_) => true,
            Self::NotAbsolute
            | Self::WindowsPath
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
            Self::RootsNotListed => {
                f.write_str("the client has not listed its roots, so no path can be opened")
            }
            Self::NotAbsolute if cfg!(windows) => {
                f.write_str("the path is not absolute: it has to begin with a drive, as in C:\\")
            }
            Self::NotAbsolute => f.write_str("the path is not absolute"),
            Self::WindowsPath => {
                f.write_str("it is a Windows path, and portcullis runs on another system")
            }
            Self::Malformed(why) => write!(f, "the path cannot be used: {why}"),
            Self::Outside(roots) => {
                write!(f, "the path is outside the roots of this session ({roots})")
            }
            Self::EscapesRoot => f.write_str("a link in the path leads out of its root"),
            Self::RootReplaced(root) => {
                write!(f, "the root {root} is no longer the directory that was opened")
            }
            Self::Missing => f.write_str("there is no such file or directory"),
            Self::NotAFile => f.write_str("it is not a regular file"),
            Self::NotADirectory => f.write_str("it is not a directory"),
            Self::Protected(file) => file.fmt(f),
            Self::System(cause) => write!(f, "the system refused to open it: {cause}"),
        }
    }
}

impl std::error::Error for Refusal {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::System(cause) => Some(cause),
            Self::NoRoots
            | Self::RootsNotListed
            | Self::NotAbsolute
            | Self::WindowsPath
            | Self::Malformed(_)
            | Self::Outside(_)
            | Self::EscapesRoot
            | Self::RootReplaced(_)
            | Self::Missing
            | Self::NotAFile
            | Self::NotADirectory
            | Self::Protected(_) => None,
        }
    }
}
