//! Where the records of a plugin's store are: in a folder, or in the state that several hosts share.

use std::path::PathBuf;

use portcullis_cluster_state::ClusterRecords;

/// Where the records of a plugin's store are.
#[derive(Clone)]
pub enum StorePlace {
    /// In a folder of this machine.
    Folder(PathBuf),
    /// In the state that several hosts share.
    Cluster(ClusterRecords),
}
