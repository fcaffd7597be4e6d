//! Files that no guest can open: the host's own files, and files in virtual file systems of the kernel.

use std::fmt;
use std::io;

/// Why no guest can open a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtectedFile {
    /// The file belongs to the host, has a name that is reserved for a file of the host, or is a directory above such a
    /// file.
    HostFile,
    /// The file is in a virtual file system of the kernel, with this name.
    Kernel(&'static str),
}

impl fmt::Display for ProtectedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HostFile => f.write_str(
                "it is a file of portcullis, such as the configuration, a plugin or the audit, or it is a name or \
                 directory that protects such a file; no plugin can open or change it",
            ),
            Self::Kernel(name) => write!(
                f,
                "it is in {name}, a file system of the kernel, which no plugin can access"
            ),
        }
    }
}

impl std::error::Error for ProtectedFile {}

impl From<ProtectedFile> for io::Error {
    fn from(file: ProtectedFile) -> Self {
        Self::new(io::ErrorKind::PermissionDenied, file)
    }
}

impl ProtectedFile {
    /// The reason in a word, for records.
    pub fn word(self) -> &'static str {
        match self {
            Self::HostFile => "host-file",
            Self::Kernel(_) => "kernel-file",
        }
    }

    /// The [`ProtectedFile`] that an error was made from. `None`: the error has another cause.
    pub fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}
