//! Keeps the lists of an upstream on disk, so that a later process of the host can show them before it starts the
//! upstream.

use std::fmt;
use std::sync::Arc;

use portcullis_checked_files::{Records, digest};
use serde::{Deserialize, Serialize};

use crate::definition::CheckedDefinition;
use crate::message::Object;
use crate::peer::Peer;
use crate::raw_lists::RawLists;
use crate::wire::Era;

/// Largest size of one remembered record, in bytes. Larger lists are not remembered.
const RECORD_BYTES: usize = 8 * 1024 * 1024;

/// Largest size of all remembered records, in bytes. Beyond it, the oldest records are removed.
const ALL_BYTES: u64 = 64 * 1024 * 1024;

/// A folder with the remembered lists of upstreams.
#[derive(Clone)]
pub struct Memory(Arc<Records>);

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Memory")
    }
}

impl Memory {
    /// A memory in these records. The records should be sealed against changes, because models read the remembered
    /// texts.
    pub fn new(records: Records) -> Self {
        Self(Arc::new(records))
    }

    /// The memory of one upstream.
    pub(crate) fn of(&self, name: &str, plan: &CheckedDefinition) -> UpstreamMemory {
        let key = format!("{name}@{}", digest(plan.identity().as_bytes()));
        UpstreamMemory { records: self.0.clone(), key }
    }
}

/// The memory of one upstream. It is bound to the upstream's name and to [`CheckedDefinition::identity`].
#[derive(Clone)]
pub(crate) struct UpstreamMemory {
    records: Arc<Records>,
    key: String,
}

/// What the last process that wrote to the memory learnt about an upstream.
#[derive(Serialize, Deserialize)]
#[serde(tag = "run", rename_all = "kebab-case")]
enum LastRun {
    /// The upstream was listed.
    Listed(Box<LastListing>),
    /// The upstream could not be listed, and nothing was remembered before.
    Failed,
}

/// An upstream's description of itself, and its lists.
#[derive(Serialize, Deserialize)]
struct LastListing {
    is_modern: bool,
    version: String,
    info: Object,
    capabilities: Object,
    instructions: Option<String>,
    lists: RawLists,
}

/// The content of the memory of one upstream.
pub(crate) enum RememberedUpstream {
    Listed(Box<(Peer, RawLists)>),
    Failed,
}

impl UpstreamMemory {
    /// The content. `None`: nothing is remembered, or the content cannot be read. Blocks the thread.
    pub(crate) fn recall(&self) -> Option<RememberedUpstream> {
        let record = self.records.read(&self.key).inspect_err(|error| self.warn("read", error));
        let run = serde_json::from_slice(&record.ok()??.value).inspect_err(|error| {
            tracing::debug!(
                "the remembered lists of an upstream have the format of another version: {error}"
            );
        });
        Some(match run.ok()? {
            LastRun::Failed => RememberedUpstream::Failed,
            LastRun::Listed(listing) => {
                let LastListing { is_modern, version, info, capabilities, instructions, lists } =
                    *listing;
                let era = if is_modern { Era::Modern } else { Era::Legacy };
                let peer = Peer { era, version, info, capabilities, instructions };
                RememberedUpstream::Listed(Box::new((peer, lists)))
            }
        })
    }

    /// Remembers the lists of an upstream, if they are not too large. Blocks the thread.
    pub(crate) fn keep(&self, peer: Peer, lists: RawLists) {
        let Peer { era, version, info, capabilities, instructions } = peer;
        let is_modern = era == Era::Modern;
        self.write(&LastRun::Listed(Box::new(LastListing {
            is_modern,
            version,
            info,
            capabilities,
            instructions,
            lists,
        })));
    }

    /// Remembers that an upstream could not be listed, unless something is remembered already. Blocks the thread.
    pub(crate) fn keep_failure(&self) {
        if self.recall().is_none() {
            self.write(&LastRun::Failed);
        }
    }

    fn write(&self, run: &LastRun) {
        let bytes = serde_json::to_vec(run).expect("it consists of JSON values");
        if bytes.len() > RECORD_BYTES {
            return;
        }
        let written = self.records.write(&self.key, &bytes, None, None, |_| true);
        if let Err(error) = written {
            self.warn("written", &error);
        }
        if let Err(error) = self.records.shrink(ALL_BYTES) {
            self.warn("made smaller", &error);
        }
    }

    fn warn(&self, done: &str, error: &dyn std::error::Error) {
        let name = self.key.split('@').next().unwrap_or_default();
        let error = portcullis_sanitize::error_chain(error);
        tracing::warn!("upstream `{name}`: its remembered lists cannot be {done}: {error}");
    }
}
