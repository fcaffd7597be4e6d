//! A line of an audit, by its kind.

use crate::index_entry::IndexEntry;
use crate::record::{Record, SegmentHeader, SegmentSeal};

/// A line of a segment or of the index.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    /// A segment begins.
    Opened(Box<SegmentHeader>),
    /// A record.
    Record(Box<Record>),
    /// A segment ends.
    Sealed(SegmentSeal),
    /// A line of the index.
    Index(Box<IndexEntry>),
    /// A line of a kind that this version does not know.
    Other(String),
}
