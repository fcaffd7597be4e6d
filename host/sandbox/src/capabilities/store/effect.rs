//! Opens keyspaces, and writes and removes values. Each function takes a permit.

use std::path::PathBuf;
use std::sync::Arc;

use portcullis_checked_files::{PreparedWrite, Records, WriteError};

use super::grant::StoreAsk;
use crate::gate::{Denied, Permit};

/// An open keyspace: a resource of the guest.
pub struct Keyspace {
    /// The records of all the plugin's keyspaces: the limit of size is for all of them together.
    pub(super) records: Arc<Records>,
    /// The prefix of this keyspace's keys.
    pub(super) prefix: String,
    pub(super) caller_only: bool,
}

impl Keyspace {
    pub(super) fn of(&self, key: &str) -> (Arc<Records>, String) {
        (self.records.clone(), format!("{}{key}", self.prefix))
    }
}

/// Opens the keyspace of the keys that begin with `prefix`, in the plugin's folder.
pub fn open(permit: Permit<StoreAsk>, folder: PathBuf, prefix: String) -> Result<Keyspace, Denied> {
    let caller_only = permit.ask().caller_only;
    permit.record_done("opened")?;
    Ok(Keyspace { records: Arc::new(Records::new(folder)), prefix, caller_only })
}

/// Writes a prepared value. Returns its new version.
pub fn keep(permit: Permit<StoreAsk>, prepared: PreparedWrite<'_>) -> Result<u64, WriteError> {
    let version = prepared.commit()?;
    permit.record_done("kept").map_err(std::io::Error::other)?;
    Ok(version)
}

/// Removes a value, if it exists.
pub fn remove(permit: Permit<StoreAsk>, records: &Records, key: &str) -> std::io::Result<()> {
    records.remove(key)?;
    permit.record_done("removed").map_err(std::io::Error::other)
}
