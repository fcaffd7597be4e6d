//! Keeps the journal of a run between two rounds: in the state that the client carries, or, if it is large, on disk or in
//! the state that several hosts share.

use std::sync::Arc;
use std::time::SystemTime;

use portcullis_checked_files::{Records, WriteError, digest};
use portcullis_cluster_state::{ClusterState, StateError};
use portcullis_core::call::inner::Journal;
use portcullis_core::upstreams::ANSWER_TIME;
use portcullis_sanitize::error_chain;
use serde::{Deserialize, Serialize};

/// Maximum size in bytes of a journal that the client carries. Of a larger journal, the client carries the digest.
const MAX_CARRIED_BYTES: usize = 32 * 1024;

/// Maximum size of all journals on disk together, in bytes. The oldest are removed first.
const MAX_KEPT_BYTES: u64 = 256 * 1024 * 1024;

/// A journal between two rounds.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum KeptJournal {
    /// The journal itself.
    Whole(Box<Journal>),
    /// The digest of a journal on disk, or in the cluster's state.
    Stored(String),
}

impl Default for KeptJournal {
    fn default() -> Self {
        Self::Whole(Box::default())
    }
}

/// Why the journal of a run could not be kept, or read again.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The journal cannot be written as JSON, or the file does not contain a journal as JSON.
    #[error("cannot convert the journal of a run to JSON or from JSON")]
    Json(#[from] serde_json::Error),
    /// The file of the journal could not be written.
    #[error("cannot write the journal of a run")]
    Write(#[from] WriteError),
    /// The file of the journal could not be read.
    #[error("cannot read the journal of a run")]
    Read(#[from] std::io::Error),
    /// The cluster's state could not be used.
    #[error("cannot read or write the journal of a run")]
    Cluster(#[from] StateError),
    /// The thread that reads or writes the journal panicked.
    #[error("cannot read or write the journal of a run")]
    Thread(#[from] tokio::task::JoinError),
}

/// The error for a client whose journal is no longer kept.
const GONE: &str = "the state of this run is no longer kept: start the run again. The tool calls of the lost run took effect, and the new run repeats them";

/// The error for a client whose journal cannot be read now.
const AWAY: &str = "the state of this run cannot be read now: send the same request again later";

/// The kind of journals in the cluster's state.
const KIND: &str = "run";

/// Keeps journals that are too large for clients to carry, at most for as long as states of requests are valid.
pub(super) enum Journals {
    /// On disk.
    Files(Arc<Records>),
    /// In the state that several hosts share.
    Cluster(ClusterState),
}

impl Journals {
    /// Keeps journals in the cluster's state, if there is one, or else in `records`.
    pub(super) fn new(records: Records, cluster: Option<ClusterState>) -> Self {
        cluster.map_or_else(|| Self::Files(Arc::new(records)), Self::Cluster)
    }

    /// If the journal has more than [`MAX_CARRIED_BYTES`] bytes, stores it and replaces it in `kept` by its digest.
    pub(super) async fn store(&self, kept: &mut KeptJournal) -> Result<(), JournalError> {
        let KeptJournal::Whole(journal) = &*kept else { return Ok(()) };
        let text = serde_json::to_vec(journal)?;
        if text.len() <= MAX_CARRIED_BYTES {
            return Ok(());
        }
        let key = digest(&text);
        *kept = KeptJournal::Stored(key.clone());
        let records = match self {
            Self::Files(records) => records.clone(),
            Self::Cluster(state) => return Ok(state.put(KIND, &key, &text, ANSWER_TIME).await?),
        };
        let write = move || {
            let expires = Some(SystemTime::now() + ANSWER_TIME);
            records.write(&key, &text, None, expires, |_| true)?;
            records.shrink(MAX_KEPT_BYTES).map_err(WriteError::from)
        };
        Ok(tokio::task::spawn_blocking(write).await??)
    }

    /// Replaces the digest of a stored journal by the journal. The error is a text for the client.
    pub(super) async fn load(&self, kept: &mut KeptJournal) -> Result<(), &'static str> {
        let KeptJournal::Stored(key) = &*kept else { return Ok(()) };
        let read = self.read(key.clone()).await.inspect_err(|error| {
            tracing::warn!("{}", error_chain(error));
        });
        let journal = match read {
            Err(JournalError::Cluster(error)) if error.is_away() => return Err(AWAY),
            read => read.ok().flatten().ok_or(GONE)?,
        };
        *kept = KeptJournal::Whole(Box::new(journal));
        Ok(())
    }

    /// Reads a journal. `None`: it is not kept.
    async fn read(&self, key: String) -> Result<Option<Journal>, JournalError> {
        let text = match self {
            Self::Files(records) => {
                let records = records.clone();
                let read = tokio::task::spawn_blocking(move || records.read(&key)).await??;
                read.map(|record| record.value)
            }
            Self::Cluster(state) => state.get(KIND, &key).await?,
        };
        Ok(text.map(|text| serde_json::from_slice(&text)).transpose()?)
    }
}
