//! Sizes and times of an audit's folder.

use std::time::Duration;

/// Bounds of the size of an audit's folder, and times to wait.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Size in bytes at which a process begins another segment.
    pub segment: u64,
    /// Maximum size of all files together, in bytes. If the files are larger, the oldest files are deleted.
    pub total: u64,
    /// A file is deleted when its last write is longer ago than this. `None`: files are deleted for space only.
    pub age: Option<Duration>,
    /// Segments that have ended and are smaller than this, in bytes, are moved into archives.
    pub small: u64,
    /// The number of small segments at which they are archived.
    pub many: usize,
    /// Size in bytes at which the index is compacted.
    pub index: u64,
    /// Time after its last write for which a file without a lock is left alone, because its process may not have locked
    /// the file yet.
    pub settle: Duration,
    /// How long a process that ends waits for the index.
    pub index_wait: Duration,
}

impl Limits {
    /// The default of [`Limits::total`].
    pub const TOTAL: u64 = 128 * 1024 * 1024;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            segment: 16 * 1024 * 1024,
            total: Self::TOTAL,
            age: None,
            small: 1024 * 1024,
            many: 64,
            index: 512 * 1024,
            settle: Duration::from_secs(2),
            index_wait: Duration::from_secs(2),
        }
    }
}
