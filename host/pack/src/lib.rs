//! What the UI5 plugins fetch, as one file: collected where there is a network, and put where the plugins
//! look where there is none.
//!
//! A pack is a gzipped tar archive. Its first entry, `contents.json`, says what it is of and lists every
//! entry that follows, in order, with its size and its SHA-256. Nothing else may be in it, and where an
//! entry goes is decided here: an archive names no paths.

mod args;
mod collect;
mod contents;
mod unpack;
mod web;
mod write;

pub use args::{Args, Defaults};
pub use collect::{Fetch, Order, SCHEMAS, Version, pack};
pub use contents::{Contents, Item, Part};
pub use ui5_data::Framework;
pub use unpack::{Unpacked, unpack};
pub use web::Web;

/// What a pack is, to be compared on both machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// What is in it.
    pub contents: Contents,
    /// The SHA-256 of the whole file, in hexadecimal.
    pub digest: String,
    /// The size of the file in bytes.
    pub bytes: u64,
}

/// SHA-256 in hexadecimal.
fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
