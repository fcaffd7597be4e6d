//! Opens keyspaces, and writes and removes values. Each function with an effect takes a permit.

use std::sync::Arc;

use portcullis_checked_files::{PreparedWrite, Records, WriteError};
use portcullis_cluster_state::{ClusterRecords, PreparedRecord, RecordError, StateError};

use super::grant::StoreAsk;
use super::place::StoreRecords;
use crate::gate::{Denied, Permit};
use crate::sandbox::StorePlace;

/// An open keyspace: a resource of the guest.
pub struct Keyspace {
    /// The records of all the plugin's keyspaces: the limit of size is for all of them together.
    pub(super) records: StoreRecords,
    /// The prefix of this keyspace's keys.
    pub(super) prefix: String,
    pub(super) caller_only: bool,
}

impl Keyspace {
    pub(super) fn of(&self, key: &str) -> (StoreRecords, String) {
        (self.records.clone(), format!("{}{key}", self.prefix))
    }
}

/// Opens the keyspace of the keys that begin with `prefix`.
pub fn open(
    permit: Permit<StoreAsk>,
    place: StorePlace,
    prefix: String,
) -> Result<Keyspace, Denied> {
    let caller_only = permit.ask().caller_only;
    permit.record_done("opened")?;
    let records = match place {
        StorePlace::Folder(folder) => StoreRecords::Files(Arc::new(Records::new(folder))),
        StorePlace::Cluster(records) => StoreRecords::Cluster(records),
    };
    Ok(Keyspace { records, prefix, caller_only })
}

/// Writes a prepared value to its file. Returns its new version.
pub fn keep(permit: Permit<StoreAsk>, prepared: PreparedWrite<'_>) -> Result<u64, WriteError> {
    let version = prepared.commit()?;
    permit.record_done("kept").map_err(std::io::Error::other)?;
    Ok(version)
}

/// Writes a prepared value to the cluster's state. Returns its new version. `limit`: the maximum size of all records of
/// the plugin, in bytes.
pub async fn keep_in_cluster(
    permit: Permit<StoreAsk>,
    prepared: PreparedRecord,
    limit: u64,
) -> Result<u64, RecordError> {
    let version = prepared.commit(limit).await?;
    permit.record_done("kept").map_err(unrecorded)?;
    Ok(version)
}

/// Removes the file of a value, if it exists.
pub fn remove(permit: Permit<StoreAsk>, records: &Records, key: &str) -> std::io::Result<()> {
    records.remove(key)?;
    permit.record_done("removed").map_err(std::io::Error::other)
}

/// Removes a value from the cluster's state, if it exists.
pub async fn remove_from_cluster(
    permit: Permit<StoreAsk>,
    records: ClusterRecords,
    key: &str,
) -> Result<(), StateError> {
    records.remove(key).await?;
    permit.record_done("removed").map_err(unrecorded)
}

/// The error for an effect that could not be recorded.
fn unrecorded(denied: Denied) -> StateError {
    StateError::Machine(denied.to_string())
}
