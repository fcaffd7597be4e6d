//! Errors: why a file cannot be read as a package, with messages for the user.

use std::{error::Error, fmt};

/// The reason why a file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// More of the file is needed: its first `bytes` bytes.
    NeedMore {
        /// Number of bytes from the start of the file; at most the size of the file.
        bytes: u64,
    },
    /// The file is a Git LFS pointer; the asset is stored elsewhere.
    LfsPointer {
        /// Size of the asset in bytes, if the pointer states it.
        size: Option<u64>,
    },
    /// The file does not start with the magic number of packages.
    NotAPackage,
    /// The package was saved for a big-endian console.
    BigEndian,
    /// The package was cooked without version numbers.
    Unversioned,
    /// The package was saved by Unreal Engine 3, or by an early preview of Unreal Engine 4. No later
    /// engine reads such packages.
    TooOld {
        /// Version of the file format.
        legacy: i32,
        /// Object version of Unreal Engine 4.
        ue4: i32,
    },
    /// The package was saved by an engine that is newer than the supported engines.
    TooNew {
        /// Version of the file format. Newer versions have smaller numbers.
        legacy: i32,
        /// Object version of Unreal Engine 5.
        ue5: i32,
    },
    /// The summary, which is required to read anything, is invalid.
    Damaged {
        /// The field.
        what: &'static str,
        /// Offset in the file, in bytes.
        at: u64,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeedMore { bytes } => write!(f, "the first {bytes} bytes of the file are needed"),
            Self::LfsPointer { size: Some(size) } => write!(
                f,
                "the file is a Git LFS pointer to an asset of {size} bytes: run `git lfs pull` to get the asset"
            ),
            Self::LfsPointer { size: None } => {
                f.write_str("the file is a Git LFS pointer: run `git lfs pull` to get the asset")
            }
            Self::NotAPackage => f.write_str(
                "it does not begin with the magic number of Unreal packages: it is encrypted, damaged or \
                 another kind of file",
            ),
            Self::BigEndian => f.write_str("it is a package for a big-endian console"),
            Self::Unversioned => f.write_str(
                "it is cooked and contains no engine version: packaged games have no editor data; use the \
                 project's own Content folder",
            ),
            Self::TooOld { legacy, ue4 } => write!(
                f,
                "it was saved by an engine older than 4.0 (file version {legacy}, object version {ue4}): \
                 save it again with a newer engine"
            ),
            Self::TooNew { legacy, ue5 } => write!(
                f,
                "it was saved by an engine newer than 5.8 (file version {legacy}, object version {ue5}): a newer \
                 version of this reader is needed"
            ),
            Self::Damaged { what, at } => {
                write!(
                    f,
                    "it is damaged or cut off: invalid or missing {what} at byte {at} of the file"
                )
            }
        }
    }
}

impl Error for Fault {}

/// A part of a package that could not be read, while the rest could.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The part.
    pub section: &'static str,
    /// The field.
    pub what: &'static str,
    /// Offset in the file, in bytes.
    pub at: u64,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { section, what, at } = self;
        write!(
            f,
            "the {section} could not be read completely: invalid or missing {what} at byte {at} of \
             the file"
        )
    }
}

/// The reason why a cursor stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CursorStop {
    /// The file has the needed bytes, but they are not in memory.
    Short {
        /// Number of bytes, from the start of the file.
        until: u64,
    },
    /// The bytes are invalid.
    Damaged {
        /// The field.
        what: &'static str,
        /// Offset in the file, in bytes.
        at: u64,
    },
}

impl CursorStop {
    /// Converts to a warning about a section.
    pub fn in_section(self, section: &'static str) -> Warning {
        match self {
            Self::Short { until } => Warning { section, what: "end", at: until },
            Self::Damaged { what, at } => Warning { section, what, at },
        }
    }
}

impl From<CursorStop> for Fault {
    fn from(stop: CursorStop) -> Self {
        match stop {
            CursorStop::Short { until } => Self::NeedMore { bytes: until },
            CursorStop::Damaged { what, at } => Self::Damaged { what, at },
        }
    }
}
