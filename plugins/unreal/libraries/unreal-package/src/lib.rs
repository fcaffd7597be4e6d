//! Reads Unreal Engine packages (`.uasset`, `.umap`) of versions 4.0 to 5.8, and headers of cooked
//! packages.
//!
//! The reader trusts nothing in the file: counts are checked against the bytes left, nesting has a
//! limit, and an unreadable part becomes a warning while the rest is read.

#![forbid(unsafe_code)]

mod blueprint;
mod contents;
mod cooked;
mod cursor;
mod curves;
mod difference;
mod fault;
mod graph;
mod header;
mod instanced;
mod layout;
mod markdown;
mod natives;
mod niagara;
mod object;
mod outline;
mod pins;
mod properties;
mod pseudo_code;
mod registry;
mod render;
mod rows;
mod state_tree;
mod summary;
mod t3d;
mod tables;
mod tags;
mod text;
mod thumbnails;
mod titles;
mod value;
mod version;
mod visible;
mod widgets;
#[cfg(feature = "writer")]
pub mod writer;

pub use blueprint::{Blueprint, Component, Variable};
pub use contents::{Action, Contents, GraphContents, Literal, NodeContents};
pub use cooked::Cooked;
pub use cursor::Cursor;
pub use difference::{Change, Difference, Part, difference, listing};
pub use fault::{CursorStop, Fault, Warning};
pub use graph::{Graph, Link, Node, NodeKind, NodePin};
pub use header::Header;
pub use object::{Object, Package, get};
pub use pins::{Pin, PinRef};
pub use registry::{Asset, Dependency, DependencyKind};
pub use render::Render;
pub use rows::{Rows, Strings};
pub use summary::{Summary, flags};
pub use t3d::{T3d, T3dStatistics};
pub use tables::{Export, Import, Index, Name};
pub use thumbnails::Thumbnail;
pub use value::{Container, Label, PinType, Property, SoftPath, Struct, Text, Value};
pub use version::{Engine, Versions, custom, ue4, ue5};
pub use visible::visible;
pub use widgets::Binding;

use std::fmt;

/// Maximum depth of nested values.
const MAX_DEPTH: usize = 16;

/// A GUID: four numbers, written as 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Guid(pub [u32; 4]);

impl Guid {
    /// Reads a GUID.
    ///
    /// # Errors
    ///
    /// When there are too few bytes.
    pub fn read(cursor: &mut Cursor<'_>) -> Result<Self, CursorStop> {
        let what = "GUID";
        Ok(Self([cursor.u32(what)?, cursor.u32(what)?, cursor.u32(what)?, cursor.u32(what)?]))
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self([a, b, c, d]) = self;
        write!(f, "{a:08X}{b:08X}{c:08X}{d:08X}")
    }
}
