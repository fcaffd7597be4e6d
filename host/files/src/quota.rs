//! The quota for writing files in one round of a call: bytes in total, bytes per file, new files and directories,
//! depth.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use wasmtime_wasi::p2::{DynOutputStream, OutputStream, Pollable, StreamError, StreamResult};

/// The amounts that are left of the quota of one round of a call.
#[derive(Debug)]
pub struct Quota {
    bytes: AtomicU64,
    entries: AtomicU64,
    /// Maximum size of one file in bytes, sparse or not.
    file_bytes: u64,
    /// Maximum depth of an entry below a preopened directory, whose own entries have depth 1.
    depth: u32,
}

impl Quota {
    /// An unused quota: `bytes` in total, `file_bytes` per file, `entries` created or replaced, and `depth`.
    pub fn new(bytes: u64, file_bytes: u64, entries: u64, depth: u32) -> Self {
        Self { bytes: bytes.into(), entries: entries.into(), file_bytes, depth }
    }

    /// Takes this number of bytes from the quota. `false`: fewer are left, and none are taken.
    pub fn take_bytes(&self, bytes: u64) -> bool {
        take(&self.bytes, bytes)
    }

    /// Takes one new file or directory from the quota. `false`: none is left.
    pub fn take_entry(&self) -> bool {
        take(&self.entries, 1)
    }

    /// Whether a file may have this size, in bytes. `None` stands for a size that overflows, and is never allowed.
    pub fn allows_size(&self, size: Option<u64>) -> bool {
        size.is_some_and(|size| size <= self.file_bytes)
    }

    /// The number of levels that may be below an entry at this depth. `None`: the entry itself is too deep.
    pub fn depth_below(&self, depth: u32) -> Option<u32> {
        self.depth.checked_sub(depth)
    }

    /// Whether an entry may be at this depth.
    pub fn allows_depth(&self, depth: u32) -> bool {
        depth <= self.depth
    }
}

fn take(left: &AtomicU64, amount: u64) -> bool {
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(amount)).is_ok()
}

/// A stream into a file. The bytes written are taken from the quota.
pub struct Metered {
    /// The stream into the file.
    pub inner: DynOutputStream,
    /// The quota.
    pub quota: Arc<Quota>,
    /// The offset in the file at which the next bytes are written.
    pub position: u64,
}

#[wasmtime_wasi::async_trait]
impl Pollable for Metered {
    async fn ready(&mut self) {
        self.inner.ready().await;
    }
}

impl Metered {
    /// Takes the next bytes from the quota.
    fn take(&mut self, bytes: &Bytes) -> StreamResult<()> {
        let end = self.position.checked_add(bytes.len() as u64);
        if !self.quota.allows_size(end) || !self.quota.take_bytes(bytes.len() as u64) {
            return Err(StreamError::LastOperationFailed(quota_error().into()));
        }
        self.position = end.expect("the quota allows no size that overflows");
        Ok(())
    }
}

#[wasmtime_wasi::async_trait]
impl OutputStream for Metered {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.take(&bytes)?;
        self.inner.write(bytes)
    }

    /// Writes on the current thread, without a task for it.
    async fn blocking_write_and_flush(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.take(&bytes)?;
        self.inner.blocking_write_and_flush(bytes).await
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.inner.flush()
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        self.inner.check_write()
    }

    async fn cancel(&mut self) {
        self.inner.cancel().await;
    }
}

/// The error of a disk quota that is used up. Guests know its error code.
#[cfg(unix)]
fn quota_error() -> io::Error {
    rustix::io::Errno::DQUOT.into()
}

#[cfg(not(unix))]
fn quota_error() -> io::Error {
    io::ErrorKind::QuotaExceeded.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_used_up_once() {
        let quota = Quota::new(10, 5, 1, 2);
        assert!(quota.take_bytes(6));
        assert!(!quota.take_bytes(5), "only 4 are left");
        assert!(quota.take_bytes(4));
        assert!(quota.take_entry());
        assert!(!quota.take_entry());
        assert!(quota.allows_size(Some(5)));
        assert!(!quota.allows_size(Some(6)));
        assert!(!quota.allows_size(None), "an offset that overflows");
        assert!(quota.allows_depth(2));
        assert!(!quota.allows_depth(3));
    }
}
