//! One upstream: connected with its first use, kept, and connected anew when it has gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use portcullis_login::Login;
use tokio::sync::{Notify, broadcast, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::calls::Notice;
use crate::connect::{Known, Settings, connect, login, pause_after};
use crate::connection::{Client, Connection, Peer};
use crate::definition::{Definition, DefinitionError, Plan};
use crate::fault::{Fault, Trouble};
use crate::inflight::{InFlight, Request};
use crate::listing::{Fetched, Listing, fetch};
use crate::message;
use crate::refresh;
use crate::wanted::{self, Wanted, Watched};
use crate::wire::Era;

/// How many notices wait for one who listens. Of one who is slower, the oldest are lost.
const NOTICES: usize = 256;

/// Longest time for which a listing is taken to hold because its upstream says so.
const LONGEST_FRESHNESS: Duration = Duration::from_secs(24 * 60 * 60);

/// Another MCP server. Clones are the same one; with the last of them, the connection ends, and a
/// child process with it.
#[derive(Clone)]
pub struct Upstream(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) settings: Arc<Settings>,
    link: Mutex<Link>,
    listing: watch::Sender<Option<Arc<Listing>>>,
    /// Until when the listing holds. `None`: until something is heard.
    fresh_until: Mutex<Option<Instant>>,
    /// Held while a listing is asked for: the number of the one that was asked for last.
    refreshing: tokio::sync::Mutex<u64>,
    refreshes: AtomicU64,
    /// Whether there is somebody who sees to it that the listing holds.
    kept: AtomicBool,
    /// What it is to tell us beside answers.
    pub(crate) wanted: watch::Sender<Wanted>,
    /// Sees to it that it does, on the connection that there is now.
    telling: Mutex<Option<AbortOnDropHandle<()>>>,
    pub(crate) end: CancellationToken,
}

/// A connection that is being made: what has come of it.
type Attempt = watch::Receiver<Option<Result<Arc<Connection>, Trouble>>>;

struct Link {
    now: Now,
    known: Known,
    /// Failures to connect in a row.
    failures: u32,
}

enum Now {
    /// Nothing, as nobody needed it yet, or the last connection was lost.
    Idle,
    Connecting(Attempt),
    Ready(Arc<Connection>),
    /// It could not be reached, and is left alone until then.
    Resting(Instant, Trouble),
    Closed,
}

/// How an upstream is.
#[derive(Debug, Clone)]
pub enum State {
    /// Not connected: it has not been needed yet, or the connection was lost.
    Idle,
    /// Being started or reached.
    Connecting,
    /// Connected.
    Ready {
        /// Who it is.
        peer: Peer,
        /// The child's process id.
        process: Option<u32>,
    },
    /// It could not be started or reached.
    Resting {
        /// When the next use tries again.
        again: Duration,
        /// Why.
        because: String,
    },
    /// Closed by us.
    Closed,
}

impl Upstream {
    /// An upstream with the name that it has in the configuration. Nothing is started or reached yet.
    ///
    /// # Errors
    ///
    /// The definition cannot be used: which key, and what to do.
    pub fn new(
        name: &str,
        definition: Definition,
        client: Client,
    ) -> Result<Self, DefinitionError> {
        let plan: Plan = definition.try_into()?;
        let login = login(name, &plan, &client)?.map(Arc::new);
        let (notices, _) = broadcast::channel(NOTICES);
        let changed = Arc::new(Notify::new());
        Ok(Self(Arc::new(Inner {
            settings: Arc::new(Settings {
                name: name.into(),
                plan,
                client,
                login,
                notices,
                changed,
            }),
            link: Mutex::new(Link { now: Now::Idle, known: Known::default(), failures: 0 }),
            listing: watch::channel(None).0,
            fresh_until: Mutex::default(),
            refreshing: tokio::sync::Mutex::default(),
            refreshes: AtomicU64::new(0),
            kept: AtomicBool::new(false),
            wanted: watch::channel(Wanted::default()).0,
            telling: Mutex::default(),
            end: CancellationToken::new(),
        })))
    }

    /// Its operator's name for it.
    pub fn name(&self) -> &str {
        &self.0.settings.name
    }

    /// Where its tokens come from, if it may want any.
    pub fn login(&self) -> Option<&Login> {
        self.0.settings.login.as_deref()
    }

    /// A request, which begins when its first event is waited for.
    pub fn request(&self, request: Request) -> InFlight {
        InFlight::new(self.0.clone(), request)
    }

    /// Tells it that the roots have changed which it may ask for: one of the era in which it would not
    /// ask each time, if it is connected.
    ///
    /// # Errors
    ///
    /// Where it is, and does not take it.
    pub async fn roots_changed(&self) -> Result<(), Fault> {
        let method = "notifications/roots/list_changed";
        let connection = self.0.ready().filter(|connection| connection.peer.era == Era::Legacy);
        let Some(connection) = connection else { return Ok(()) };
        let sent = connection.channel.wire.send(message::notification(method, None)).await;
        sent.map_err(|trouble| self.0.fault(method, trouble))
    }

    /// Has it tell of changes to a resource, among its [notices](Self::notices), for as long as what is
    /// returned is kept: now, or once it is connected, where it does that at all.
    #[must_use]
    pub fn watch(&self, uri: &str) -> Watched {
        Watched::new(self.0.clone(), uri)
    }

    /// From now on, it is to send log records of this level and above, such as `info`, where it is one
    /// of the era in which it is told so once. The others are told by each request.
    pub fn want_logs(&self, level: &str) {
        self.0.wanted.send_if_modified(|wanted| {
            let is_new = wanted.level.as_deref() != Some(level);
            wanted.level = Some(level.to_owned());
            is_new
        });
    }

    /// What it offers: as known, where that still holds, or asked for now.
    ///
    /// # Errors
    ///
    /// Where that does not hold, or is not known, and cannot be had. What was known stays
    /// [`known`](Self::known).
    pub async fn listing(&self) -> Result<Arc<Listing>, Fault> {
        match self.known() {
            Some(listing) if self.0.is_fresh() => Ok(listing),
            Some(_) | None => self.refresh().await,
        }
    }

    /// What it offers, asked for now.
    ///
    /// # Errors
    ///
    /// Where it cannot be had.
    pub async fn refresh(&self) -> Result<Arc<Listing>, Fault> {
        self.0.refresh().await
    }

    /// What it offered when it was asked last. `None`: it never was.
    pub fn known(&self) -> Option<Arc<Listing>> {
        self.0.known()
    }

    /// Tells whenever it offers something else than before.
    pub fn changes(&self) -> watch::Receiver<Option<Arc<Listing>>> {
        self.0.listing.subscribe()
    }

    /// What it says that belongs to no request: resources that were updated, mostly.
    pub fn notices(&self) -> broadcast::Receiver<Notice> {
        self.0.settings.notices.subscribe()
    }

    /// How it is.
    pub fn state(&self) -> State {
        match &self.0.link.lock().now {
            Now::Idle => State::Idle,
            Now::Connecting(_) => State::Connecting,
            Now::Ready(connection) if connection.has_ended() => State::Idle,
            Now::Ready(connection) => State::Ready {
                peer: connection.peer.clone(),
                process: connection.channel.wire.process(),
            },
            Now::Resting(until, trouble) => State::Resting {
                again: until.saturating_duration_since(Instant::now()),
                because: trouble.to_string(),
            },
            Now::Closed => State::Closed,
        }
    }

    /// Ends the connection properly, and waits for that: a session is deleted, a child has ended.
    pub async fn close(&self) {
        let before = std::mem::replace(&mut self.0.link.lock().now, Now::Closed);
        self.0.end.cancel();
        if let Now::Ready(connection) = before {
            connection.channel.wire.close().await;
        }
    }
}

impl Inner {
    pub(crate) fn fault(&self, doing: &str, trouble: Trouble) -> Fault {
        Fault { upstream: self.settings.name.clone(), doing: doing.into(), trouble }
    }

    pub(crate) fn known(&self) -> Option<Arc<Listing>> {
        self.listing.borrow().clone()
    }

    fn is_fresh(&self) -> bool {
        self.fresh_until.lock().is_none_or(|until| Instant::now() < until)
    }

    /// The connection, if there is one.
    fn ready(&self) -> Option<Arc<Connection>> {
        match &self.link.lock().now {
            Now::Ready(connection) if !connection.has_ended() => Some(connection.clone()),
            Now::Idle | Now::Connecting(_) | Now::Ready(_) | Now::Resting(..) | Now::Closed => None,
        }
    }

    /// The connection, made if there is none.
    pub(crate) async fn connection(self: &Arc<Self>) -> Result<Arc<Connection>, Trouble> {
        let mut attempt = {
            let mut link = self.link.lock();
            match &link.now {
                Now::Ready(connection) if !connection.has_ended() => return Ok(connection.clone()),
                // One without its sender was given up.
                Now::Connecting(attempt) if attempt.has_changed().is_ok() => attempt.clone(),
                Now::Resting(until, trouble) if Instant::now() < *until => {
                    let again = until.saturating_duration_since(Instant::now());
                    let because = trouble.to_string().into();
                    return Err(Trouble::Connecting { again, because });
                }
                Now::Closed => return Err(Trouble::Closed),
                Now::Idle | Now::Ready(_) | Now::Connecting(_) | Now::Resting(..) => {
                    let attempt = self.attempt(link.known);
                    link.now = Now::Connecting(attempt.clone());
                    attempt
                }
            }
        };
        match attempt.wait_for(Option::is_some).await {
            Ok(outcome) => outcome.clone().unwrap_or(Err(Trouble::Closed)),
            Err(_) => Err(Trouble::Closed),
        }
    }

    /// Begins to connect, for whoever waits for it.
    fn attempt(self: &Arc<Self>, known: Known) -> Attempt {
        let (outcome, attempt) = watch::channel(None);
        let settings = self.settings.clone();
        let (inner, end) = (Arc::downgrade(self), self.end.clone());
        tokio::spawn(async move {
            let connected = end.run_until_cancelled(connect(&settings, known)).await;
            let (Some(connected), Some(inner)) = (connected, inner.upgrade()) else { return };
            outcome.send_replace(Some(inner.connected(connected)));
        });
        attempt
    }

    fn connected(
        self: &Arc<Self>,
        connected: Result<(Connection, Known), Trouble>,
    ) -> Result<Arc<Connection>, Trouble> {
        let mut link = self.link.lock();
        if let Now::Closed = link.now {
            return Err(Trouble::Closed);
        }
        let connection = match connected {
            Ok((connection, known)) => {
                link.known = known;
                link.failures = 0;
                Arc::new(connection)
            }
            Err(trouble) => {
                // It may be another one by now.
                link.known = Known::default();
                // A person may log in at any time, and then it goes on at once.
                let is_login = matches!(trouble, Trouble::Login(_));
                let pause = if is_login { Duration::ZERO } else { pause_after(link.failures) };
                link.failures = link.failures.saturating_add(u32::from(!is_login));
                link.now = Now::Resting(Instant::now() + pause, trouble.clone());
                tracing::warn!("upstream `{}`: {trouble}", self.settings.name);
                return Err(trouble);
            }
        };
        link.now = Now::Ready(connection.clone());
        drop(link);
        if self.known().is_some() {
            // It may have been replaced by another in between.
            *self.fresh_until.lock() = Some(Instant::now());
            self.settings.changed.notify_one();
        }
        *self.telling.lock() = Some(wanted::follow(self, &connection));
        if !self.kept.swap(true, Ordering::Relaxed) {
            refresh::keep(self);
        }
        Ok(connection)
    }

    /// Asks for what it offers. Whoever asks at the same time is answered with the same.
    pub(crate) async fn refresh(self: &Arc<Self>) -> Result<Arc<Listing>, Fault> {
        let before = self.refreshes.load(Ordering::Relaxed);
        let mut last = self.refreshing.lock().await;
        // One that was begun before we asked may have missed what we ask because of.
        if *last > before
            && let Some(listing) = self.known()
        {
            return Ok(listing);
        }
        let number = self.refreshes.fetch_add(1, Ordering::Relaxed) + 1;
        let fetched = match self.fetch().await {
            // The connection was no longer one, which showed only now.
            Err(Trouble::Lost(_)) => self.fetch().await,
            fetched => fetched,
        };
        let fetched = fetched.map_err(|trouble| self.fault("listing what is offered", trouble))?;
        *last = number;
        for warning in &fetched.listing.warnings {
            tracing::warn!("upstream `{}`: {warning}", self.settings.name);
        }
        let holds = fetched.fresh_for.map(|time| Instant::now() + time.min(LONGEST_FRESHNESS));
        *self.fresh_until.lock() = holds;
        let listing = Arc::new(fetched.listing);
        self.listing.send_if_modified(|known| {
            if known.as_ref().is_some_and(|known| **known == *listing) {
                return false;
            }
            *known = Some(listing.clone());
            true
        });
        Ok(listing)
    }

    async fn fetch(self: &Arc<Self>) -> Result<Fetched, Trouble> {
        let plan = &self.settings.plan;
        let connection = self.connection().await?;
        fetch(&connection, &self.settings.client, plan.answer_bytes, plan.timeout).await
    }

    /// That the listing no longer holds.
    pub(crate) fn outdated(&self) {
        *self.fresh_until.lock() = Some(Instant::now());
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.end.cancel();
    }
}
