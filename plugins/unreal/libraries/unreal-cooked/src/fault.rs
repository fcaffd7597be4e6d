//! The reasons why a cooked file cannot be read, with messages for the user.

use std::io;
use unreal_package::CursorStop;

/// The reason why a cooked file, or a part of a cooked file, cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The file does not have the magic number of its format.
    #[error(
        "it does not have the magic number of {0}: it is encrypted, damaged or another kind of file"
    )]
    Unknown(&'static str),
    /// The format has a version that this reader does not know.
    #[error(
        "{what} has version {version}, and versions up to {newest} are known here: a newer version of this reader is needed"
    )]
    TooNew {
        /// The format.
        what: &'static str,
        /// Version of the format in the file.
        version: u32,
        /// The newest known version.
        newest: u32,
    },
    /// The version of the format is older than the versions that are read.
    #[error("{what} has version {version}, and versions before {oldest} are not read")]
    TooOld {
        /// The format.
        what: &'static str,
        /// Version of the format in the file.
        version: u32,
        /// The oldest version that is read.
        oldest: u32,
    },
    /// The bytes are encrypted.
    #[error("{what} is encrypted, and encrypted data is not read here (GUID of the key: {key})")]
    Encrypted {
        /// The part.
        what: &'static str,
        /// GUID of the key, as 32 hexadecimal digits; zeros for the game's main key.
        key: String,
    },
    /// The bytes are compressed with a method for which there is no decompressor here.
    #[error(
        "{what} is compressed with {method}, which cannot be unpacked here (Zlib and uncompressed data can)"
    )]
    Compressed {
        /// The part.
        what: &'static str,
        /// Name of the method, such as `Oodle`.
        method: String,
    },
    /// The index of a pak archive is an image of the engine's memory.
    #[error(
        "its index is an image of the engine's memory (`-frozenindex`), which only 4.25 writes, and which is not read here"
    )]
    FrozenIndex,
    /// The part is larger than the limit.
    #[error("{what} has {bytes} bytes: at most {most} are read")]
    TooLarge {
        /// The part.
        what: &'static str,
        /// Size of the part in bytes.
        bytes: u64,
        /// The limit in bytes.
        most: u64,
    },
    /// The bytes are invalid.
    #[error(
        "it is damaged or cut off: invalid or missing {what} at byte {at} of the data that was parsed"
    )]
    Damaged {
        /// The field.
        what: &'static str,
        /// Offset in bytes in the data that are parsed: the file, a chunk, a container, or a part,
        /// such as the index of an archive.
        at: u64,
    },
    /// A chunk lies in a block that the table of contents does not list.
    #[error("it is damaged or cut off: the table of contents has no block {number}")]
    NoBlock {
        /// Number of the block, from 0.
        number: u64,
    },
    /// A file cannot be read.
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
}

impl From<CursorStop> for Fault {
    fn from(stop: CursorStop) -> Self {
        match stop {
            // The readers have the whole input in memory, so that input that ends early is damaged.
            CursorStop::Short { until } => Self::Damaged { what: "end", at: until },
            CursorStop::Damaged { what, at } => Self::Damaged { what, at },
        }
    }
}
