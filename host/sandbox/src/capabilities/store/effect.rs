//! Opening, writing and removing: each takes its permit.

use std::path::PathBuf;
use std::sync::Arc;

use portcullis_checked_files::{PreparedWrite, Records, WriteError};

use super::grant::StoreAsk;
use crate::gate::{Denied, Permit};

/// An open keyspace: a resource of the guest.
pub struct Keyspace {
    /// Those of all the plugin's keyspaces: what it may keep is counted over all of them.
    pub(super) records: Arc<Records>,
    /// What the keys of this one begin with.
    pub(super) prefix: String,
    pub(super) caller_only: bool,
}

impl Keyspace {
    pub(super) fn of(&self, key: &str) -> (Arc<Records>, String) {
        (self.records.clone(), format!("{}{key}", self.prefix))
    }
}

/// Opens a keyspace of the plugin's folder, whose keys begin with `prefix`.
pub fn open(permit: Permit<StoreAsk>, folder: PathBuf, prefix: String) -> Result<Keyspace, Denied> {
    let caller_only = permit.ask().caller_only;
    permit.record_done("opened")?;
    Ok(Keyspace { records: Arc::new(Records::new(folder)), prefix, caller_only })
}

/// Writes a value that was prepared. Answers its new version.
pub fn keep(permit: Permit<StoreAsk>, prepared: PreparedWrite<'_>) -> Result<u64, WriteError> {
    let version = prepared.commit()?;
    permit.record_done("kept").map_err(std::io::Error::other)?;
    Ok(version)
}

/// Removes a value; an absent one is fine.
pub fn remove(permit: Permit<StoreAsk>, records: &Records, key: &str) -> std::io::Result<()> {
    records.remove(key)?;
    permit.record_done("removed").map_err(std::io::Error::other)
}
