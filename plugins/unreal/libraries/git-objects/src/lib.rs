//! Reads a file of a git revision from the repository's objects, without running git.
//!
//! A plugin cannot run git. A library that maps packs into memory does not work in the sandbox
//! either, since WASI has no memory mapping. So this crate seeks in the repository's files and
//! reads references, commits, trees and one file. It supports loose objects, packs of version 2,
//! object names of 20 and 32 bytes, alternates, linked working trees, submodules and Git LFS. It
//! writes nothing.
//!
//! Git documents the formats in `gitformat-pack`, `gitrepository-layout` and `gitrevisions`.

mod delta;
mod fault;
mod id;
mod object;
mod pack;
mod repository;
mod revision;
mod tree;

pub use fault::Fault;
pub use id::Id;
pub use object::Commit;
pub use repository::{Blob, Repository};
