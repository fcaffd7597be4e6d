//! Reads files that Unreal Engine's cooker and packager write: IoStore containers (`.utoc` and
//! `.ucas`) of 4.26 to 5.8, asset registries (`AssetRegistry.bin`) of 4.16 to 5.8, and the indexes
//! of pak archives (`.pak`) of all versions up to 12.
//!
//! The readers trust nothing in the files: counts are checked against the bytes left, and walks of
//! folders and lists are bounded. To read data that are encrypted, or compressed with an unsupported
//! method, is an error ([`Fault`]); an encrypted list of files is not an error, but empty. Cooked
//! packages in files of their own are read by [`unreal_package::Header::read_cooked`].

#![forbid(unsafe_code)]

pub mod asset_registry;
mod fault;
pub mod io_store;
mod names;
pub mod pak;
#[cfg(feature = "writer")]
pub mod writer;

pub use asset_registry::Registry;
pub use fault::Fault;
pub use io_store::Toc;
pub use pak::Pak;
