//! Why a guest's operation on a file fails.

use portcullis_roots::ProtectedFile;
use wasmtime_wasi::p2::FsError;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

/// Why an operation failed.
pub(super) struct FileFailure {
    /// The error code for the guest.
    pub code: ErrorCode,
    /// If the path is protected or leads out of its directory: the reason in a word, for the record.
    pub closed: Option<&'static str>,
}

impl From<ErrorCode> for FileFailure {
    fn from(code: ErrorCode) -> Self {
        Self { code, closed: None }
    }
}

impl From<FsError> for FileFailure {
    fn from(error: FsError) -> Self {
        error.downcast().unwrap_or(ErrorCode::Io).into()
    }
}

impl From<FileFailure> for FsError {
    fn from(failure: FileFailure) -> Self {
        failure.code.into()
    }
}

impl From<&std::io::Error> for FileFailure {
    fn from(error: &std::io::Error) -> Self {
        use std::io::ErrorKind::{CrossesDevices, PermissionDenied};
        let closed = match ProtectedFile::of(error) {
            Some(closed) => Some(closed.word()),
            // A path that leads out: `openat2` returns EXDEV, and cap-std returns `PermissionDenied` without an OS
            // error code.
            None if error.kind() == CrossesDevices
                || (error.kind() == PermissionDenied && error.raw_os_error().is_none()) =>
            {
                Some("leads-out")
            }
            None => None,
        };
        let code = closed.map_or_else(|| ErrorCode::from(error), |_| ErrorCode::NotPermitted);
        Self { code, closed }
    }
}
