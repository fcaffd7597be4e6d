//! Where a command works: a directory that is open already.

use std::fs::File;
use std::path::PathBuf;

/// A directory for a command.
#[derive(Debug)]
pub struct Place {
    /// Its path, as it was named.
    pub path: PathBuf,
    /// The open directory.
    pub handle: File,
    /// Whether the command may change what is in it.
    pub write: bool,
}

impl Place {
    /// A path that leads to the open directory, whatever stands at its own path by now.
    pub(crate) fn way(&self) -> PathBuf {
        #[cfg(target_os = "linux")]
        {
            use std::os::fd::AsRawFd;
            PathBuf::from(format!("/proc/self/fd/{}", self.handle.as_raw_fd()))
        }
        #[cfg(not(target_os = "linux"))]
        self.path.clone()
    }

    /// Which directory it is. One that stands at the same path is not the same for that.
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
            write: self.write,
        })
    }
}

/// Which directory, and what may be done there.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Identity {
    #[cfg(unix)]
    node: (u64, u64),
    path: PathBuf,
    write: bool,
}
