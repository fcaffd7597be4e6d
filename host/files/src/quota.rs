//! How much one call may write: bytes in all, bytes a file, new files and directories, depth.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use wasmtime_wasi::p2::{DynOutputStream, OutputStream, Pollable, StreamError, StreamResult};

/// What is left of one call's allowance.
#[derive(Debug)]
pub struct Quota {
    bytes: AtomicU64,
    entries: AtomicU64,
    /// Largest size of one file, sparse or not.
    file_bytes: u64,
    /// Deepest directory below a preopened one.
    depth: u32,
}

impl Quota {
    /// A whole allowance.
    pub fn new(bytes: u64, file_bytes: u64, entries: u64, depth: u32) -> Self {
        Self { bytes: bytes.into(), entries: entries.into(), file_bytes, depth }
    }

    /// Takes some bytes from it, or none.
    pub fn take_bytes(&self, bytes: u64) -> bool {
        take(&self.bytes, bytes)
    }

    /// Takes a new file or directory from it.
    pub fn take_entry(&self) -> bool {
        take(&self.entries, 1)
    }

    /// Whether a file may be this large.
    pub fn allows_size(&self, size: Option<u64>) -> bool {
        size.is_some_and(|size| size <= self.file_bytes)
    }

    /// How many levels may lie below one of this depth. `None`: it is too deep itself.
    pub fn depth_below(&self, depth: u32) -> Option<u32> {
        self.depth.checked_sub(depth)
    }

    /// Whether something may lie this deep.
    pub fn allows_depth(&self, depth: u32) -> bool {
        depth <= self.depth
    }
}

fn take(left: &AtomicU64, amount: u64) -> bool {
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(amount)).is_ok()
}

/// A stream into a file that takes what it writes from the quota.
pub struct Metered {
    /// The stream into the file.
    pub inner: DynOutputStream,
    /// What it draws on.
    pub quota: Arc<Quota>,
    /// Where in the file it is.
    pub position: u64,
}

#[wasmtime_wasi::async_trait]
impl Pollable for Metered {
    async fn ready(&mut self) {
        self.inner.ready().await;
    }
}

#[wasmtime_wasi::async_trait]
impl OutputStream for Metered {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        let end = self.position.checked_add(bytes.len() as u64);
        if !self.quota.allows_size(end) || !self.quota.take_bytes(bytes.len() as u64) {
            return Err(StreamError::LastOperationFailed(full().into()));
        }
        self.position = end.expect("checked above");
        self.inner.write(bytes)
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

/// As if the disk's own quota were used up, so that a guest understands it.
#[cfg(unix)]
fn full() -> io::Error {
    rustix::io::Errno::DQUOT.into()
}

#[cfg(not(unix))]
fn full() -> io::Error {
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
