//! The files of an audit's folder: created for their owner alone, read, locked and removed.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

/// A file that lines are added to.
pub(crate) trait SegmentFile: Send {
    /// Writes bytes to the end of the file. After an error, some of them may have been written.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Truncates the file to this size in bytes.
    fn truncate(&mut self, size: u64) -> io::Result<()>;
    /// Whether the file still exists. Always `true` on systems other than Unix.
    fn exists(&self) -> bool;
}

impl SegmentFile for File {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn truncate(&mut self, size: u64) -> io::Result<()> {
        self.set_len(size)
    }

    #[cfg(unix)]
    fn exists(&self) -> bool {
        use std::os::unix::fs::MetadataExt;
        self.metadata().is_ok_and(|metadata| metadata.nlink() > 0)
    }

    #[cfg(not(unix))]
    fn exists(&self) -> bool {
        true
    }
}

/// Creates the file of a segment. Fails if the file exists.
pub(crate) type CreateSegmentFile = fn(&Path) -> io::Result<Box<dyn SegmentFile>>;

/// Creates the file of a segment for its owner alone. On Unix, the file is locked while it is open, which tells
/// other processes that the segment is still being written: see [`is_live`].
pub(crate) fn create_segment_file(path: &Path) -> io::Result<Box<dyn SegmentFile>> {
    let mut options = OpenOptions::new();
    options.create_new(true).append(true);
    owner_only(&mut options);
    let file = options.open(path)?;
    // On Windows, a lock keeps other processes from reading the file.
    #[cfg(unix)]
    if let Err(error) = file.try_lock() {
        tracing::debug!("cannot lock the audit's segment: {error}");
    }
    Ok(Box::new(file))
}

/// Whether the process that writes a segment is still running. `true` if the lock cannot be checked.
#[cfg(unix)]
pub(crate) fn is_live(segment: &Path) -> bool {
    let Ok(file) = File::open(segment) else { return true };
    match file.try_lock_shared() {
        Ok(()) => false,
        Err(std::fs::TryLockError::WouldBlock | std::fs::TryLockError::Error(_)) => true,
    }
}

/// Whether the process that writes a segment may still be running. Segments are not locked on this system,
/// so a segment counts as live for a week after it was last written.
#[cfg(not(unix))]
pub(crate) fn is_live(segment: &Path) -> bool {
    const WEEK: std::time::Duration = std::time::Duration::from_secs(7 * 24 * 60 * 60);
    let changed = File::open(segment).and_then(|file| file.metadata()).and_then(|m| m.modified());
    changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age < WEEK))
}

/// Makes new files readable and writable by their owner alone.
pub(crate) fn owner_only(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let _ = options;
}

/// Creates a folder, and those above it, for their owner alone.
pub(crate) fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Reads a whole file.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Removes a file. A failure is only logged: maintenance later removes the files that the index lists as archived or
/// deleted.
#[expect(clippy::disallowed_methods, reason = "the audit's job is its folder")]
pub(crate) fn remove(path: &Path) {
    if let Err(error) = std::fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!("the audit's file {} cannot be removed: {error}", path.display());
    }
}

/// Whether a file exists.
#[expect(clippy::disallowed_methods, reason = "the audit's job is its folder")]
pub(crate) fn exists(path: &Path) -> bool {
    std::fs::metadata(path).is_ok()
}
