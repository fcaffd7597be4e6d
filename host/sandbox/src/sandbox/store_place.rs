//! Where the records of a plugin's store are: in a folder, or in the state that several hosts share.

use std::path::{Path, PathBuf};

use portcullis_cluster_state::{ClusterRecords, ClusterState};

/// Where the records of a plugin's store are.
#[derive(Clone)]
pub enum StorePlace {
    /// In a folder of this machine.
    Folder(PathBuf),
    /// In the state that several hosts share.
    Cluster(ClusterRecords),
}

impl StorePlace {
    /// The store of a plugin: in the state that several hosts share, or else beneath this folder of all stores.
    pub fn new(plugin: &str, folder: &Path, state: Option<&ClusterState>) -> Self {
        match state {
            Some(state) => Self::Cluster(state.records_of(plugin)),
            None => Self::Folder(folder.join(plugin)),
        }
    }
}
