//! The working directory of a command: an open directory.

use std::fs::File;
use std::path::PathBuf;

/// A directory that a command works in.
#[derive(Debug)]
pub struct WorkingDirectory {
    /// Its path, as the call names it.
    pub path: PathBuf,
    /// The open directory.
    pub handle: File,
    /// Whether the command may write to the directory.
    pub writable: bool,
}

impl WorkingDirectory {
    /// A path to the open directory. On Linux, the path leads to this directory even if another directory now stands at
    /// [`WorkingDirectory::path`].
    pub(crate) fn stable_path(&self) -> PathBuf {
        #[cfg(target_os = "linux")]
        {
            use std::os::fd::AsRawFd;
            PathBuf::from(format!("/proc/self/fd/{}", self.handle.as_raw_fd()))
        }
        #[cfg(not(target_os = "linux"))]
        self.path.clone()
    }

    /// Identifies the directory. On Unix, another directory at the same path has another identity.
    pub(crate) fn identity(&self) -> std::io::Result<Identity> {
        #[cfg(unix)]
        let node = {
            use std::os::unix::fs::MetadataExt;
            let metadata = self.handle.metadata()?;
            (metadata.dev(), metadata.ino())
        };
        Ok(Identity {
            #[cfg(unix)]
            node,
            path: self.path.clone(),
            writable: self.writable,
        })
    }
}

/// The identity of a directory, and whether it may be written to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Identity {
    #[cfg(unix)]
    node: (u64, u64),
    path: PathBuf,
    writable: bool,
}
