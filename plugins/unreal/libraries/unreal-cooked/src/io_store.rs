//! IoStore containers: a table of contents (`.utoc`) and its data in blocks (`.ucas`).

mod blocks;
mod directory;
mod package;
mod packages;
mod script_objects;
mod toc;

pub use blocks::Partitions;
pub use directory::{PackedFile, package_name};
pub use package::{PackageExport, PackageHeader};
pub use packages::{PackageId, Packages};
pub use script_objects::ScriptObjects;
pub use toc::{Chunk, ChunkKind, Toc};
