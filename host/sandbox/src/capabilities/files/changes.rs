//! The host's side of the interface `changes`: changes several files together or not at all.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Instant;

use portcullis_file_transaction::TransactionError;
use portcullis_files::{Change, ChangeError, Expected};

use crate::bindings::portcullis::plugin::changes;
use crate::sandbox::InstanceState;

impl changes::Host for InstanceState {
    async fn apply(
        &mut self,
        changes: Vec<changes::Change>,
    ) -> wasmtime::Result<Result<(), changes::ChangeError>> {
        let journals = self.places.journals.clone();
        let cancelled = self.call.cancelled.clone();
        let deadline = self.deadline();
        let is_cancelled = || cancelled.load(Ordering::Relaxed) || Instant::now() > deadline;
        let changes = changes.into_iter().map(Change::from).collect();
        let made = self.files().change(changes, &journals, &is_cancelled).await;
        Ok(made.map_err(Into::into))
    }
}

impl From<changes::Change> for Change {
    fn from(change: changes::Change) -> Self {
        let changes::Change { path, expected, contents } = change;
        let expected = match expected {
            changes::Expected::Nothing => Expected::Nothing,
            changes::Expected::NewDirectory(path) => Expected::NewDirectory(native(path)),
            changes::Expected::File(digest) => Expected::File(digest),
            changes::Expected::Anything => Expected::Anything,
        };
        Self { path: native(path), expected, contents }
    }
}

/// A guest's path in the form of this system. A path that is invalid on this system stays as it is: it is in no
/// directory of the call, and is refused.
fn native(path: String) -> PathBuf {
    portcullis_roots::native_path(&path).unwrap_or_else(|_| path.into())
}

impl From<ChangeError> for changes::ChangeError {
    fn from(error: ChangeError) -> Self {
        let text = |path: &Path| portcullis_roots::guest_path(path);
        match error {
            ChangeError::Denied(path) => Self::Denied(text(&path)),
            ChangeError::Quota(limit) => Self::Quota(limit.to_owned()),
            ChangeError::Failed(TransactionError::Exists(path)) => Self::Exists(text(&path)),
            ChangeError::Failed(TransactionError::Unexpected(path, obstacle)) => {
                Self::Unexpected((text(&path), obstacle.to_string()))
            }
            ChangeError::Failed(TransactionError::Cancelled) => Self::Cancelled,
            ChangeError::Failed(error) => Self::Other(portcullis_sanitize::error_chain(&error)),
        }
    }
}
