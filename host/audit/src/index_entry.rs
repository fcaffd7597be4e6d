//! The lines of the index, and the state of the folder that they add up to.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::hash::Hash;
use crate::record::Record;
use crate::usage::Usage;

/// A line of the index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum IndexEntry {
    /// The index begins, with the state of the previous index.
    IndexOpened {
        /// Version of the format.
        format: u32,
        /// The digest of the last line of the previous index.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<Hash>,
        /// The state of the previous index. Empty in the first index.
        state: IndexState,
    },
    /// A process began a segment.
    SegmentOpened {
        /// The segment's name.
        segment: String,
        /// The digest of its first line.
        first: Hash,
    },
    /// A segment ended: nothing will be appended to it.
    SegmentEnded {
        /// The segment's name.
        segment: String,
        /// The digest of its first line.
        first: Hash,
        /// How it ended.
        end: SegmentEnd,
    },
    /// Small segments were moved into one file, unchanged.
    Archived {
        /// The names of the segments.
        segments: Vec<String>,
        /// The file.
        into: String,
        /// The archive, with these segments.
        archive: Archive,
    },
    /// A file was deleted, because all files together were too large or the file was too old.
    Dropped {
        /// The file.
        file: String,
        /// The number of segments in the file.
        segments: u64,
        /// The counts and denials of these segments.
        usage: Usage,
        /// The records that were deleted. Absent in folders of earlier versions.
        #[serde(flatten)]
        dropped: DeletedRecords,
    },
}

/// Records that were deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeletedRecords {
    /// The number of records.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub records: u64,
    /// The time of the earliest record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The time of the latest record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl DeletedRecords {
    /// Adds a record.
    pub(crate) fn add(&mut self, record: &Record) {
        let time = Some(record.time.clone());
        self.merge(Self { records: 1, from: time.clone(), until: time });
    }

    /// Adds other records.
    pub(crate) fn merge(&mut self, other: Self) {
        self.records = self.records.saturating_add(other.records);
        self.from = [self.from.take(), other.from].into_iter().flatten().min();
        self.until = self.until.take().max(other.until);
    }
}

impl IndexEntry {
    /// Whether an index entry has this name in its field `event`.
    pub(crate) fn is_named(name: &str) -> bool {
        matches!(name, "index-opened" | "segment-opened" | "segment-ended" | "archived" | "dropped")
    }

    /// Whether the entry is the first line of an index.
    pub(crate) fn begins(&self) -> bool {
        matches!(self, Self::IndexOpened { .. })
    }
}

/// How a segment ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentEnd {
    /// The number of lines.
    pub lines: u64,
    /// The digest of the last line.
    pub last: Hash,
    /// Whether its last line is a [`SegmentSeal`](crate::SegmentSeal). If not, the process was killed, or could not
    /// write the seal.
    pub sealed: bool,
}

/// One archive, as the index knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Archive {
    /// Size in bytes.
    pub bytes: u64,
    /// The number of segments in it.
    pub segments: u64,
    /// One digest over the digests of the last lines of all segments, in their order.
    pub digest: Hash,
}

/// One segment, as the index knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexedSegment {
    /// The digest of its first line.
    pub first: Hash,
    /// How it ended. `None`: it has not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<SegmentEnd>,
}

/// The state of a folder, which is the sum of all lines of its index.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct IndexState {
    /// The segments that have files of their own, by name.
    pub segments: BTreeMap<String, IndexedSegment>,
    /// The archives, by the names of their files.
    pub archives: BTreeMap<String, Archive>,
    /// The number of segments that were deleted.
    pub dropped: u64,
    /// The records in deleted segments. Records that earlier versions deleted are not counted.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub dropped_records: DeletedRecords,
    /// The counts and denials of deleted segments.
    pub usage: Usage,
    /// Files that were archived or deleted. A file is still there if it cannot be removed, or if a process was killed
    /// before it removed the file. Absent in folders of earlier versions.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub leftover: BTreeSet<String>,
}

fn is_nothing(dropped: &DeletedRecords) -> bool {
    *dropped == DeletedRecords::default()
}

/// The name of the file of a segment.
pub(crate) fn file_name(segment: &str) -> String {
    format!("{segment}.jsonl")
}

impl IndexState {
    /// Applies one more line of the index.
    pub fn apply(&mut self, entry: IndexEntry) {
        match entry {
            IndexEntry::IndexOpened { state, .. } => *self = state,
            IndexEntry::SegmentOpened { segment, first } => {
                let known = self.segments.entry(segment);
                known.or_insert(IndexedSegment { first, end: None });
            }
            IndexEntry::SegmentEnded { segment, first, end } => {
                // Another process may have archived or deleted the segment in the meantime.
                if !self.leftover.contains(&file_name(&segment)) {
                    self.segments.insert(segment, IndexedSegment { first, end: Some(end) });
                }
            }
            IndexEntry::Archived { segments, into, archive } => {
                for segment in segments {
                    self.segments.remove(&segment);
                    self.leftover.insert(file_name(&segment));
                }
                self.archives.insert(into, archive);
            }
            IndexEntry::Dropped { file, segments, usage, dropped } => {
                self.archives.remove(&file);
                self.segments.remove(file.trim_end_matches(".jsonl"));
                self.leftover.insert(file);
                self.dropped = self.dropped.saturating_add(segments);
                self.dropped_records.merge(dropped);
                self.usage.merge(usage);
            }
        }
    }
}
