//! Requests that a guest sends to the pipeline over a channel. The pipeline serves the requests while it runs the
//! plugin's call.

use std::pin::Pin;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use super::grant::ToolAsk;
use crate::bindings::portcullis::plugin::catalog::Entry;
use crate::bindings::portcullis::plugin::tool_calls::{Beginning, Completion, Failure};
use crate::gate::Permit;

/// The permit of a call that runs. If this value is dropped before the call ends, the record says that the call was
/// stopped.
pub struct CallPermit(Option<Permit<ToolAsk>>);

impl CallPermit {
    pub(super) fn new(permit: Permit<ToolAsk>) -> Self {
        Self(Some(permit))
    }

    /// Records the outcome of the call, in a word.
    pub fn end(mut self, outcome: &str) {
        self.record(outcome);
    }

    fn record(&mut self, outcome: &str) {
        if let Some(permit) = self.0.take() {
            let recorded = permit.record(outcome);
            debug_assert!(recorded.is_ok(), "a call is on record before it starts");
        }
    }
}

impl Drop for CallPermit {
    fn drop(&mut self) {
        self.record("stopped");
    }
}

/// A request of a guest to the pipeline.
pub enum ToolRequest {
    /// A run begins.
    Begin {
        /// The text of the program that decides about the calls. Empty: the plugin itself decides.
        program: String,
        /// The digest of the program. `None`: there is no program.
        digest: Option<String>,
        /// The time limit of the run in milliseconds. `None`: the plugin's own limit.
        milliseconds: Option<u32>,
        /// The receiver of the answer.
        reply: oneshot::Sender<Result<Beginning, String>>,
    },
    /// A call starts.
    Start {
        /// The number of the call.
        call: u32,
        /// The tool's name, as clients know it.
        tool: String,
        /// The arguments, as JSON text.
        arguments: String,
        /// The permit. `None`: the call was permitted or refused in an earlier round.
        permit: Option<CallPermit>,
    },
    /// A call was refused before it started.
    Refuse {
        /// The number of the call.
        call: u32,
        /// The tool and the arguments.
        started: Started,
        /// Why the call was refused.
        failure: Failure,
    },
    /// The guest waits for the end of a call.
    Next(oneshot::Sender<Option<Completion>>),
}

/// A call that was started, as an entry of the journal. The next round must start the same calls in the same order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// The tool's name, as clients know it.
    pub tool: String,
    /// SHA-256 of the arguments' JSON text, in hexadecimal.
    pub arguments: String,
}

impl Started {
    /// The entry for a call with these arguments.
    pub fn of(tool: &str, arguments: &str) -> Self {
        Self { tool: tool.to_owned(), arguments: digest_of(arguments) }
    }
}

/// SHA-256 of a text, in hexadecimal.
pub fn digest_of(text: &str) -> String {
    portcullis_checked_files::digest(text.as_bytes())
}

/// The tools that exist, and which of them plugins can call.
#[derive(Clone)]
pub struct KnownTools {
    /// The tools of all sources.
    pub entries: Arc<[Entry]>,
    /// Whether plugins can call the tool of this name at all, whatever is granted.
    pub is_callable: Arc<dyn Fn(&str) -> bool + Send + Sync>,
}

/// Waits until all plugins are loaded, and returns the tools that exist then.
pub type AllTools = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = KnownTools> + Send>> + Send + Sync>;

/// The state of the capability `tools` in one round: the tools, the channel to the pipeline, and the calls so far.
#[derive(Clone)]
pub struct ToolCalls {
    /// The channel for requests to the pipeline.
    pub requests: UnboundedSender<ToolRequest>,
    /// The tools that are known so far.
    pub(super) known: KnownTools,
    /// Waits for the plugins that are still being loaded. `None`: all tools are known.
    pub(super) all: Option<AllTools>,
    /// Whether the guest has asked for the names of the tools before.
    pub(super) is_listed: bool,
    /// The calls of earlier rounds, which this round has to repeat.
    pub replayed: Arc<[Started]>,
    /// The number of the next call. `None`: the guest has not begun the run in this round.
    pub(super) started: Option<u32>,
}

impl ToolCalls {
    /// The state before a run begins.
    pub fn new(
        requests: UnboundedSender<ToolRequest>,
        known: KnownTools,
        all: Option<AllTools>,
        replayed: Arc<[Started]>,
    ) -> Self {
        Self { requests, known, all, is_listed: false, replayed, started: None }
    }
}
