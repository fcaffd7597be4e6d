//! Reads the records of a plugin, wherever they are.

use std::sync::Arc;

use portcullis_checked_files::Records;
use portcullis_cluster_state::{ClusterRecords, StateError};

use crate::bindings::portcullis::plugin::store::{Entry, StoreError};

/// The records of a plugin.
#[derive(Clone)]
pub(super) enum StoreRecords {
    Files(Arc<Records>),
    Cluster(ClusterRecords),
}

impl StoreRecords {
    /// The record of a key.
    pub(super) async fn read(self, key: String) -> Result<Option<Entry>, StoreError> {
        match self {
            Self::Files(records) => {
                let found = blocking(move || records.read(&key)).await.map_err(disk_error)?;
                Ok(found.map(|record| Entry { value: record.value, version: record.version }))
            }
            Self::Cluster(records) => {
                let found = records.read(&key).await.map_err(state_error)?;
                Ok(found.map(|record| Entry { value: record.value, version: record.version }))
            }
        }
    }

    /// The keys of all records.
    pub(super) async fn keys(self) -> Result<Vec<String>, StoreError> {
        match self {
            Self::Files(records) => blocking(move || records.keys()).await.map_err(disk_error),
            Self::Cluster(records) => records.keys().await.map_err(state_error),
        }
    }
}

/// Runs work that blocks.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.expect("reading and writing records does not panic")
}

/// The error that the plugin gets if the host's disk fails. The error contains no path of the host.
pub(super) fn disk_error(error: std::io::Error) -> StoreError {
    tracing::warn!("cannot read or write the store of a plugin: {error}");
    StoreError::Other("the host could not read or write the store".into())
}

/// The error that the plugin gets if the cluster's state cannot be used. The error contains no address.
pub(super) fn state_error(error: StateError) -> StoreError {
    let shown = portcullis_sanitize::error_chain(&error);
    tracing::warn!("cannot read or write the store of a plugin: {shown}");
    let text = if error.is_away() {
        "the store of the hosts cannot be reached now: try again later. A value that was being written may be kept"
    } else {
        "the host could not read or write the store"
    };
    StoreError::Other(text.into())
}
