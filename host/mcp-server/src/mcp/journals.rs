//! Keeps the journal of a run between two rounds: in the state that the client carries, or on disk if it is large.

use std::sync::Arc;
use std::time::SystemTime;

use portcullis_checked_files::{Records, WriteError, digest};
use portcullis_core::call::inner::Journal;
use portcullis_core::upstreams::ANSWER_TIME;
use portcullis_sanitize::error_chain;
use serde::{Deserialize, Serialize};

/// Maximum size in bytes of a journal that the client carries. A larger journal is kept on disk, and the client
/// carries its digest.
const MAX_CARRIED_BYTES: usize = 32 * 1024;

/// Maximum size of all journals on disk together, in bytes. The oldest are removed first.
const MAX_KEPT_BYTES: u64 = 256 * 1024 * 1024;

/// A journal between two rounds.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum KeptJournal {
    /// The journal itself.
    Whole(Box<Journal>),
    /// The digest of a journal on disk.
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
    /// The thread that reads or writes the journal panicked.
    #[error("cannot read or write the journal of a run")]
    Thread(#[from] tokio::task::JoinError),
}

/// The error for a client whose journal is no longer kept.
const GONE: &str = "the state of this run is no longer kept: start the run again. The tool calls of the lost run took effect, and the new run repeats them";

/// Keeps journals that are too large for clients to carry, at most for as long as states of requests are valid.
pub(super) struct Journals(Arc<Records>);

impl Journals {
    pub(super) fn new(records: Records) -> Self {
        Self(Arc::new(records))
    }

    /// If the journal has more than [`MAX_CARRIED_BYTES`] bytes, stores it on disk and replaces it in `kept` by its
    /// digest.
    pub(super) async fn store(&self, kept: &mut KeptJournal) -> Result<(), JournalError> {
        let KeptJournal::Whole(journal) = &*kept else { return Ok(()) };
        let text = serde_json::to_vec(journal)?;
        if text.len() <= MAX_CARRIED_BYTES {
            return Ok(());
        }
        let (records, key) = (self.0.clone(), digest(&text));
        *kept = KeptJournal::Stored(key.clone());
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
        let (records, key) = (self.0.clone(), key.clone());
        let read = move || -> Result<Option<Journal>, JournalError> {
            let record = records.read(&key)?;
            Ok(record.map(|record| serde_json::from_slice(&record.value)).transpose()?)
        };
        let read = tokio::task::spawn_blocking(read).await.map_err(JournalError::from);
        let journal = read.flatten().inspect_err(|error| {
            tracing::warn!("{}", error_chain(error));
        });
        *kept = KeptJournal::Whole(Box::new(journal.ok().flatten().ok_or(GONE)?));
        Ok(())
    }
}
