//! State that all MCP sessions of a process share.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use portcullis_checked_files::Records;
use portcullis_cluster_state::ClusterState;
use portcullis_core::host::{Configured, Host, Tools};
use portcullis_core::listing::Selections;
use portcullis_core::projects::Projects;
use portcullis_result_passthrough::PassthroughKey;
use rmcp::model::Tool;
use serde::Deserialize as _;

use super::journals::Journals;
use super::log_levels::{level_name, rank};
use super::project_searches::ProjectSearches;
use super::results::Results;
use super::seal::Seal;
use super::session::Session;
use super::state_keys::StateKeys;
use super::tasks::Tasks;

/// Maximum number of calls that wait or run at the same time, of all sessions together. Further calls are refused.
pub(super) const MAX_CALLS: usize = 512;

/// Interval at which a process that is about to end checks whether calls are in flight.
const IDLE_STEP: Duration = Duration::from_millis(50);

/// Tools in rmcp's types, with the definitions from which they were made.
type TypedTools = (Arc<Tools>, Arc<Vec<Tool>>);

/// State that all MCP sessions share.
pub struct Shared {
    /// The plugins, the upstream servers and the catalog.
    pub host: Arc<Host>,
    /// The state that several hosts share. `None`: this host shares none.
    pub(crate) cluster: Option<ClusterState>,
    /// Seals the state that clients carry between the rounds of a call.
    pub(super) seal: Seal,
    /// Keeps the journals of runs that are too large for clients to carry.
    pub(super) journals: Journals,
    /// Wraps results whose fields rmcp's types would change, so that they pass through rmcp unchanged.
    pub(crate) raw: PassthroughKey,
    pub(super) tasks: Tasks,
    /// Which tools each client sees.
    selections: RwLock<Arc<Selections>>,
    /// Answers that were too long for their clients.
    pub(super) results: Results,
    /// The projects for which tools were last listed to a client of 2026-07-28: those beneath the operator's roots.
    pub(super) seen: Mutex<Option<Arc<Projects>>>,
    /// The projects beneath the sessions' roots.
    pub(super) looks: ProjectSearches,
    calls: AtomicUsize,
    /// Sessions that have set the level of the log records that they want.
    logging: Mutex<Vec<Weak<Session>>>,
    typed: Mutex<Option<TypedTools>>,
}

impl Shared {
    /// The shared state of a host's sessions. `selections` decide which tools the sessions see. `keys` seal the
    /// states that clients carry. Journals that are too large for clients to carry are kept in `journals`, or in the
    /// state that several hosts share.
    pub fn new(
        host: Arc<Host>,
        selections: Selections,
        keys: &StateKeys,
        journals: Records,
        cluster: Option<ClusterState>,
    ) -> Arc<Self> {
        Arc::new(Self {
            host,
            seal: Seal::new(keys),
            journals: Journals::new(journals, cluster.clone()),
            cluster,
            raw: PassthroughKey::new().expect("the system has randomness"),
            tasks: Tasks::default(),
            selections: RwLock::new(Arc::new(selections)),
            results: Results::default(),
            seen: Mutex::default(),
            looks: ProjectSearches::default(),
            calls: AtomicUsize::new(0),
            logging: Mutex::default(),
            typed: Mutex::default(),
        })
    }

    /// Applies a new configuration to all sessions: replaces what the host has from the old configuration, and the
    /// selections.
    pub fn replace(&self, configured: Configured, selections: Selections) {
        *self.selections.write() = Arc::new(selections);
        self.host.replace(configured);
    }

    /// Which tools each client sees.
    pub(super) fn selections(&self) -> Arc<Selections> {
        self.selections.read().clone()
    }

    /// Counts a call until the result is dropped. `None`: [`MAX_CALLS`] calls are running.
    pub(super) fn count_call(&self) -> Option<CountedCall<'_>> {
        CountedCall::begin(&self.calls)
    }

    /// Waits until no call is in flight and the last answer had time to be written.
    pub async fn idle(&self) {
        while self.calls.load(Ordering::Relaxed) > 0 {
            tokio::time::sleep(IDLE_STEP).await;
        }
        tokio::time::sleep(IDLE_STEP).await;
    }

    /// These tools in rmcp's types. A definition that rmcp's types cannot represent is left out.
    pub(super) fn typed(&self, tools: &Arc<Tools>) -> Arc<Vec<Tool>> {
        let mut kept = self.typed.lock();
        if let Some((_, typed)) = kept.as_ref().filter(|(from, _)| Arc::ptr_eq(from, tools)) {
            return typed.clone();
        }
        let typed = tools.iter().filter_map(|tool| Tool::deserialize(tool).ok());
        let typed = Arc::new(typed.collect());
        *kept = Some((tools.clone(), Arc::clone(&typed)));
        typed
    }

    /// Asks upstream servers for log records of the lowest level that any session has set.
    pub(super) fn want_logs(&self, session: &Arc<Session>) {
        let mut all = self.logging.lock();
        all.retain(|one| one.strong_count() > 0 && one.as_ptr() != Arc::as_ptr(session));
        all.push(Arc::downgrade(session));
        let levels = all.iter().filter_map(|one| one.upgrade()?.log_level());
        if let Some(level) = levels.min_by_key(|level| rank(*level)) {
            self.host.upstreams().want_logs(level_name(level));
        }
    }
}

/// Counts a call until this value is dropped, even if the call's future panics or is dropped before its end.
pub(super) struct CountedCall<'a>(&'a AtomicUsize);

impl<'a> CountedCall<'a> {
    /// Counts a call. `None`: [`MAX_CALLS`] are counted already.
    fn begin(calls: &'a AtomicUsize) -> Option<Self> {
        let counted = Self(calls);
        (calls.fetch_add(1, Ordering::Relaxed) < MAX_CALLS).then_some(counted)
    }
}

impl Drop for CountedCall<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn a_call_that_panics_gives_its_slot_back() {
        let calls = AtomicUsize::new(0);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _counted = CountedCall::begin(&calls).expect("all slots are free");
            assert_eq!(calls.load(Ordering::Relaxed), 1);
            std::panic::resume_unwind(Box::new("a fault in a call"));
        }));
        let payload = panicked.expect_err("it panics");
        assert_eq!(payload.downcast_ref(), Some(&"a fault in a call"));
        assert_eq!(calls.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_call_that_is_refused_takes_no_slot() {
        let calls = AtomicUsize::new(0);
        let mut counted: Vec<_> =
            (0..MAX_CALLS).map(|_| CountedCall::begin(&calls).expect("a slot is free")).collect();
        for _ in 0..3 {
            assert!(CountedCall::begin(&calls).is_none());
        }
        counted.pop();
        assert!(CountedCall::begin(&calls).is_some());
        drop(counted);
        assert_eq!(calls.load(Ordering::Relaxed), 0);
    }
}
