//! State of one upstream server that its handles, its requests and its background tasks share.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::connect::{PeerTraits, Settings, connect, pause_after};
use crate::connection::Connection;
use crate::fault::{Fault, FaultCause};
use crate::listing::{Fetched, Listing, fetch};
use crate::memory::{RememberedUpstream, UpstreamMemory};
use crate::raw_lists::RawLists;
use crate::wire::Era;

/// The longest time for which a listing counts as current, if its upstream names a time.
const MAX_FRESHNESS: Duration = Duration::from_secs(24 * 60 * 60);

/// The state of one upstream. The connection ends when this value is dropped.
pub(crate) struct Shared {
    pub(crate) settings: Arc<Settings>,
    pub(crate) slot: Mutex<ConnectionSlot>,
    pub(crate) listing: watch::Sender<Option<Arc<Listing>>>,
    /// The end of the time for which the listing counts as current. `None`: it is current until the upstream reports a
    /// change, or is connected again.
    fresh_until: Mutex<Option<Instant>>,
    /// Whether the listing was fetched, and not only remembered.
    is_fetched: AtomicBool,
    /// Keeps the lists for later processes. `None`: nothing is remembered.
    memory: Option<UpstreamMemory>,
    /// Set when the memory was read: whether it held a failure instead of a listing.
    recalled: tokio::sync::OnceCell<bool>,
    /// The number of the last refresh that succeeded. The lock is held during a refresh.
    refreshing: tokio::sync::Mutex<u64>,
    refreshes: AtomicU64,
    /// Whether the background task that refreshes the listing was started.
    pub(crate) has_refresher: AtomicBool,
    /// The notifications that the upstream has to send.
    pub(crate) wanted: watch::Sender<WantedNotifications>,
    /// The background task that asks for the `wanted` notifications on the current connection.
    pub(crate) follower: Mutex<Option<AbortOnDropHandle<()>>>,
    pub(crate) end: CancellationToken,
    /// Starts the background tasks of a new connection. It is a function pointer, because the modules of these tasks
    /// depend on this module.
    on_connect: fn(&Arc<Shared>, &Arc<Connection>),
}

/// The notifications that an upstream has to send.
#[derive(Debug, Clone, Default)]
pub(crate) struct WantedNotifications {
    /// The resources whose changes are wanted, each with the number of its watchers.
    pub(crate) uris: BTreeMap<String, usize>,
    /// The least level of log records. `None`: the upstream decides.
    pub(crate) level: Option<String>,
}

/// An attempt to connect: `None` until it succeeded or failed.
pub(crate) type Attempt = watch::Receiver<Option<Result<Arc<Connection>, FaultCause>>>;

/// The connection to an upstream, and the traits that earlier connections showed.
pub(crate) struct ConnectionSlot {
    pub(crate) now: ConnectionState,
    /// The era to use if the upstream supports both, and the configuration leaves the choice.
    pub(crate) preferred: Era,
    traits: PeerTraits,
    /// Failures to connect in a row.
    failures: u32,
}

/// The state of the connection to an upstream.
pub(crate) enum ConnectionState {
    /// Not connected: the upstream was not needed yet, or the host has ended the last connection.
    Idle,
    Connecting(Attempt),
    Ready(Arc<Connection>),
    /// The last attempt failed. There is no new attempt before this instant.
    Resting(Instant, FaultCause),
    Closed,
}

impl ConnectionSlot {
    /// Whether the connection accepts requests, and connecting again would not lead to the preferred era.
    fn suits(&self, connection: &Connection) -> bool {
        let era = connection.peer.era;
        !connection.has_ended() && !self.traits.is_worth_reconnecting(era, self.preferred)
    }
}

impl Shared {
    /// The state of an upstream that is not connected yet.
    pub(crate) fn new(
        settings: Settings,
        on_connect: fn(&Arc<Self>, &Arc<Connection>),
    ) -> Arc<Self> {
        let memory = settings.client.memory.as_ref();
        let memory = memory.map(|memory| memory.of(&settings.name, &settings.plan));
        Arc::new(Self {
            memory,
            recalled: tokio::sync::OnceCell::new(),
            is_fetched: AtomicBool::new(false),
            settings: Arc::new(settings),
            slot: Mutex::new(ConnectionSlot {
                now: ConnectionState::Idle,
                preferred: Era::Modern,
                traits: PeerTraits::default(),
                failures: 0,
            }),
            listing: watch::channel(None).0,
            fresh_until: Mutex::default(),
            refreshing: tokio::sync::Mutex::default(),
            refreshes: AtomicU64::new(0),
            has_refresher: AtomicBool::new(false),
            wanted: watch::channel(WantedNotifications::default()).0,
            follower: Mutex::default(),
            end: CancellationToken::new(),
            on_connect,
        })
    }

    /// A fault of this upstream. `doing`: the failed action.
    pub(crate) fn fault(&self, doing: &str, trouble: FaultCause) -> Fault {
        Fault { upstream: self.settings.name.clone(), doing: doing.into(), trouble }
    }

    /// The last listing, fetched or recalled. `None`: there was none yet.
    pub(crate) fn known_listing(&self) -> Option<Arc<Listing>> {
        self.listing.borrow().clone()
    }

    /// Whether this process fetched the listing, and not only recalled it.
    pub(crate) fn is_fetched(&self) -> bool {
        self.is_fetched.load(Ordering::Acquire)
    }

    /// Takes the listing that an earlier process remembered, if none is known yet. Returns whether the memory holds a
    /// failure instead of a listing.
    pub(crate) async fn recall(&self) -> bool {
        let recall = || async {
            let Some(memory) = self.memory.clone() else { return false };
            match on_a_thread(move || memory.recall()).await.flatten() {
                None => false,
                Some(RememberedUpstream::Failed) => true,
                Some(RememberedUpstream::Listed(known)) => {
                    let (peer, lists) = *known;
                    let listing = lists.checked(peer, Vec::new());
                    let is_new = self.listing.send_if_modified(|known| {
                        let is_new = known.is_none();
                        known.get_or_insert_with(|| Arc::new(listing));
                        is_new
                    });
                    if is_new {
                        self.outdated();
                    }
                    false
                }
            }
        };
        *self.recalled.get_or_init(recall).await
    }

    /// Whether the listing still counts as current.
    pub(crate) fn is_fresh(&self) -> bool {
        self.fresh_until.lock().is_none_or(|until| Instant::now() < until)
    }

    /// The connection, if there is one.
    pub(crate) fn ready(&self) -> Option<Arc<Connection>> {
        match &self.slot.lock().now {
            ConnectionState::Ready(connection) if !connection.has_ended() => {
                Some(connection.clone())
            }
            ConnectionState::Idle
            | ConnectionState::Connecting(_)
            | ConnectionState::Ready(_)
            | ConnectionState::Resting(..)
            | ConnectionState::Closed => None,
        }
    }

    /// The connection. Connects first if there is none, or if the upstream may support the preferred era and the
    /// connection has the other.
    pub(crate) async fn connection(self: &Arc<Self>) -> Result<Arc<Connection>, FaultCause> {
        loop {
            let mut attempt = {
                let mut slot = self.slot.lock();
                match &slot.now {
                    ConnectionState::Ready(connection) if slot.suits(connection) => {
                        return Ok(connection.clone());
                    }
                    // An attempt whose sender was dropped was given up.
                    ConnectionState::Connecting(attempt) if attempt.has_changed().is_ok() => {
                        attempt.clone()
                    }
                    ConnectionState::Resting(until, trouble) if Instant::now() < *until => {
                        let again = until.saturating_duration_since(Instant::now());
                        let because = trouble.to_string().into();
                        return Err(FaultCause::Connecting { again, because });
                    }
                    ConnectionState::Closed => return Err(FaultCause::Closed),
                    ConnectionState::Idle
                    | ConnectionState::Ready(_)
                    | ConnectionState::Connecting(_)
                    | ConnectionState::Resting(..) => {
                        let attempt = self.attempt(slot.traits, slot.preferred);
                        let next = ConnectionState::Connecting(attempt.clone());
                        self.abandon(std::mem::replace(&mut slot.now, next));
                        attempt
                    }
                }
            };
            let connection = match attempt.wait_for(Option::is_some).await {
                Ok(outcome) => outcome.clone().unwrap_or(Err(FaultCause::Closed))?,
                Err(_) => return Err(FaultCause::Closed),
            };
            // The attempt may have begun before another era was preferred.
            let slot = self.slot.lock();
            if connection.has_ended() || slot.suits(&connection) {
                return Ok(connection);
            }
        }
    }

    /// Ends a connection of another era than the preferred one, if there is one.
    fn abandon(&self, before: ConnectionState) {
        if let ConnectionState::Ready(connection) = before
            && !connection.has_ended()
        {
            // The follower would take the end of its subscription for a change, and connect again.
            *self.follower.lock() = None;
            let why = "the host uses the revision of MCP that the session's client speaks";
            connection.channel.calls.retire(FaultCause::lost(why));
            tokio::spawn(async move { connection.channel.wire.close().await });
        }
    }

    /// Begins to connect in the background.
    fn attempt(self: &Arc<Self>, traits: PeerTraits, preferred: Era) -> Attempt {
        let (outcome, attempt) = watch::channel(None);
        let settings = self.settings.clone();
        let (shared, end) = (Arc::downgrade(self), self.end.clone());
        tokio::spawn(async move {
            let connected = end.run_until_cancelled(connect(&settings, traits, preferred)).await;
            let (Some(connected), Some(shared)) = (connected, shared.upgrade()) else { return };
            outcome.send_replace(Some(shared.connected(connected)));
        });
        attempt
    }

    /// Takes the result of an attempt to connect.
    fn connected(
        self: &Arc<Self>,
        connected: Result<(Connection, PeerTraits), FaultCause>,
    ) -> Result<Arc<Connection>, FaultCause> {
        let mut slot = self.slot.lock();
        if let ConnectionState::Closed = slot.now {
            return Err(FaultCause::Closed);
        }
        let connection = match connected {
            Ok((connection, traits)) => {
                slot.traits = traits;
                slot.failures = 0;
                Arc::new(connection)
            }
            Err(trouble) => {
                // Another server may be at this address by now.
                slot.traits = PeerTraits::default();
                // No pause: as soon as the user has logged in, the next request has to work.
                let is_login = matches!(trouble, FaultCause::Login(_));
                let pause = if is_login { Duration::ZERO } else { pause_after(slot.failures) };
                slot.failures = slot.failures.saturating_add(u32::from(!is_login));
                slot.now = ConnectionState::Resting(Instant::now() + pause, trouble.clone());
                tracing::warn!("upstream `{}`: {trouble}", self.settings.name);
                return Err(trouble);
            }
        };
        slot.now = ConnectionState::Ready(connection.clone());
        drop(slot);
        // A listing that was only recalled is fetched anew when it is first used.
        if self.is_fetched() {
            // The server may have been replaced while it was not connected.
            *self.fresh_until.lock() = Some(Instant::now());
            self.settings.changed.notify_one();
        }
        (self.on_connect)(self, &connection);
        Ok(connection)
    }

    /// Fetches the listing. Concurrent callers share a refresh that begins after their calls.
    pub(crate) async fn refresh(self: &Arc<Self>) -> Result<Arc<Listing>, Fault> {
        let before = self.refreshes.load(Ordering::Relaxed);
        let mut last = self.refreshing.lock().await;
        // A refresh that began before this call may have missed the change that caused this call.
        if *last > before
            && let Some(listing) = self.known_listing()
        {
            return Ok(listing);
        }
        let number = self.refreshes.fetch_add(1, Ordering::Relaxed) + 1;
        let fetched = match self.fetch().await {
            // The connection may have been lost earlier, which is noticed only when it is used.
            Err(FaultCause::Lost(_)) => self.fetch().await,
            fetched => fetched,
        };
        let has_failed =
            fetched.as_ref().err().is_some_and(|trouble| !matches!(trouble, FaultCause::Closed));
        if has_failed && self.known_listing().is_none() {
            self.remember(|memory| memory.keep_failure()).await;
        }
        let fetched = fetched
            .map_err(|trouble| self.fault("listing tools, prompts and resources", trouble))?;
        *last = number;
        for warning in &fetched.listing.warnings {
            tracing::warn!("upstream `{}`: {warning}", self.settings.name);
        }
        let holds = fetched.fresh_for.map(|time| Instant::now() + time.min(MAX_FRESHNESS));
        *self.fresh_until.lock() = holds;
        let peer = fetched.listing.peer.clone();
        let fetched_listing = Arc::new(fetched.listing);
        let mut listing = fetched_listing.clone();
        let is_new = self.listing.send_if_modified(|known| {
            if let Some(known) = known.as_ref().filter(|known| ***known == *fetched_listing) {
                listing = known.clone();
                return false;
            }
            *known = Some(fetched_listing);
            true
        });
        self.is_fetched.store(true, Ordering::Release);
        if is_new {
            let raw: RawLists = fetched.raw;
            self.remember(move |memory| memory.keep(peer, raw)).await;
        }
        Ok(listing)
    }

    /// Writes to the memory, if there is one.
    async fn remember(&self, write: impl FnOnce(UpstreamMemory) + Send + 'static) {
        if let Some(memory) = self.memory.clone() {
            let _written = on_a_thread(move || write(memory)).await;
        }
    }

    async fn fetch(self: &Arc<Self>) -> Result<Fetched, FaultCause> {
        let plan = &self.settings.plan;
        let connection = self.connection().await?;
        fetch(&connection, &self.settings.client, plan.answer_bytes, plan.timeout).await
    }

    /// Marks the listing as out of date.
    pub(crate) fn outdated(&self) {
        *self.fresh_until.lock() = Some(Instant::now());
    }
}

/// Does blocking work on a thread of its own. `None`: the work has panicked, or the runtime is shutting down.
async fn on_a_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.inspect_err(|error| tracing::warn!("cannot read or write remembered lists: {error}")).ok()
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.end.cancel();
    }
}
