//! The handle of one upstream server. Its first use connects, and so does the next use after the connection has ended.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use portcullis_login::Login;
use tokio::sync::{Notify, broadcast, watch};
use tokio::time::Instant;

use crate::calls::UnassignedNotification;
use crate::connect::{Settings, login};
use crate::connection::{ClientSettings, Connection};
use crate::definition::{CheckedDefinition, Definition, Protocol};
use crate::definition_error::DefinitionError;
use crate::fault::{Fault, FaultCause};
use crate::idle;
use crate::inflight::{InFlight, UpstreamRequest};
use crate::listing::Listing;
use crate::message;
use crate::notifications::{self, ResourceSubscription};
use crate::peer::Peer;
use crate::refresh;
use crate::shared::{ConnectionState, Shared};
use crate::wire::Era;

/// Maximum number of notifications that wait for a receiver. A receiver that is too slow loses the oldest ones.
const NOTICES: usize = 256;

/// An upstream server. Clones share one connection. When all clones, requests and [`ResourceSubscription`]s of the
/// upstream are dropped, the connection ends, and its child process with it.
#[derive(Clone)]
pub struct Upstream(Arc<Shared>);

/// Whether an upstream is connected.
#[derive(Debug, Clone)]
pub enum UpstreamState {
    /// Not connected: the upstream was not needed yet, or the last connection has ended.
    Idle,
    /// Being started or reached.
    Connecting,
    /// Connected.
    Ready {
        /// The upstream's description of itself.
        peer: Peer,
        /// The process id of the child, if the upstream is a child process.
        process: Option<u32>,
    },
    /// The last attempt to connect failed.
    Resting {
        /// How long no new attempt is made. The first use after this time makes one.
        again: Duration,
        /// Why the last attempt failed.
        because: String,
    },
    /// [`Upstream::close`] was called. Later uses do not connect again.
    Closed,
}

impl Upstream {
    /// An upstream with its name in the configuration. It is not started or reached yet.
    ///
    /// # Errors
    ///
    /// The definition cannot be used. The error names the key.
    pub fn new(
        name: &str,
        definition: Definition,
        client: ClientSettings,
    ) -> Result<Self, DefinitionError> {
        let plan: CheckedDefinition = definition.try_into()?;
        let login = login(name, &plan, &client)?.map(Arc::new);
        let (notices, _) = broadcast::channel(NOTICES);
        let changed = Arc::new(Notify::new());
        let settings = Settings { name: name.into(), plan, client, login, notices, changed };
        Ok(Self(Shared::new(settings, start_tasks)))
    }

    /// The name that the operator gave to the upstream.
    pub fn name(&self) -> &str {
        &self.0.settings.name
    }

    /// The source of access tokens. `None`: no tokens are obtained for the upstream.
    pub fn login(&self) -> Option<&Login> {
        self.0.settings.login.as_deref()
    }

    /// From now on, this era is used if the upstream supports both and the definition has `protocol = "auto"`. A
    /// connection of the other era ends with the next use, unless the upstream is known to refuse this era. By default,
    /// the modern era is preferred.
    pub fn prefer(&self, era: Era) {
        if self.0.settings.plan.protocol == Protocol::Auto {
            self.0.slot.lock().preferred = era;
        }
    }

    /// A request. It is sent when its first event is awaited.
    pub fn request(&self, request: UpstreamRequest) -> InFlight {
        InFlight::new(self.0.clone(), request)
    }

    /// Tells the upstream that the roots have changed, if it is connected and of the legacy era. Modern servers ask for
    /// the roots in each request that needs them.
    ///
    /// # Errors
    ///
    /// The notification could not be sent.
    pub async fn roots_changed(&self) -> Result<(), Fault> {
        let method = "notifications/roots/list_changed";
        let connection = self.0.ready().filter(|connection| connection.peer.era == Era::Legacy);
        let Some(connection) = connection else { return Ok(()) };
        let sent = connection.channel.wire.send(message::notification(method, None)).await;
        sent.map_err(|trouble| self.0.fault(method, trouble))
    }

    /// Subscribes to changes of a resource until the returned value is dropped. The changes are among the
    /// [notices](Self::notices). If there is no connection, the subscription is made on the next connection. An
    /// upstream that does not support subscriptions is not asked.
    #[must_use]
    pub fn watch(&self, uri: &str) -> ResourceSubscription {
        ResourceSubscription::new(self.0.clone(), uri)
    }

    /// From now on, a legacy upstream is asked for log records of this level, such as `info`, and above. Modern
    /// upstreams are told the level with each request.
    pub fn want_logs(&self, level: &str) {
        self.0.wanted.send_if_modified(|wanted| {
            let is_new = wanted.level.as_deref() != Some(level);
            wanted.level = Some(level.to_owned());
            is_new
        });
    }

    /// The listing of the upstream: the last one while it is current, or a new one.
    ///
    /// # Errors
    ///
    /// A new listing was needed and could not be fetched. [`known_listing`](Self::known_listing) still returns the last
    /// one.
    pub async fn listing(&self) -> Result<Arc<Listing>, Fault> {
        match self.known_listing() {
            Some(listing) if self.0.is_fresh() => Ok(listing),
            Some(_) | None => self.refresh().await,
        }
    }

    /// The last listing that this process fetched, or a new one. A listing that is only remembered does not count.
    ///
    /// # Errors
    ///
    /// A new listing was needed and could not be fetched.
    pub async fn fetched_listing(&self) -> Result<Arc<Listing>, Fault> {
        match self.known_listing().filter(|_| self.0.is_fetched()) {
            Some(listing) => Ok(listing),
            None => self.refresh().await,
        }
    }

    /// If no listing is known yet, the listing that an earlier process remembered becomes the
    /// [`known_listing`](Self::known_listing). The upstream is not started. Returns whether the memory holds a failure
    /// instead of a listing.
    pub async fn recall(&self) -> bool {
        self.0.recall().await
    }

    /// Fetches the listing, even if the last one is still current.
    ///
    /// # Errors
    ///
    /// The listing could not be fetched.
    pub async fn refresh(&self) -> Result<Arc<Listing>, Fault> {
        self.0.refresh().await
    }

    /// The last listing. `None`: none was fetched or recalled yet.
    pub fn known_listing(&self) -> Option<Arc<Listing>> {
        self.0.known_listing()
    }

    /// Receives the last listing, and is notified when a listing differs from the one before.
    pub fn changes(&self) -> watch::Receiver<Option<Arc<Listing>>> {
        self.0.listing.subscribe()
    }

    /// Receives notifications that belong to no request, such as those of updated resources.
    pub fn notices(&self) -> broadcast::Receiver<UnassignedNotification> {
        self.0.settings.notices.subscribe()
    }

    /// Whether the upstream is connected.
    pub fn state(&self) -> UpstreamState {
        match &self.0.slot.lock().now {
            ConnectionState::Idle => UpstreamState::Idle,
            ConnectionState::Connecting(_) => UpstreamState::Connecting,
            ConnectionState::Ready(connection) if connection.has_ended() => UpstreamState::Idle,
            ConnectionState::Ready(connection) => UpstreamState::Ready {
                peer: connection.peer.clone(),
                process: connection.channel.wire.process(),
            },
            ConnectionState::Resting(until, trouble) => UpstreamState::Resting {
                again: until.saturating_duration_since(Instant::now()),
                because: trouble.to_string(),
            },
            ConnectionState::Closed => UpstreamState::Closed,
        }
    }

    /// Ends the connection, and its child process with it. The next use connects again.
    pub async fn disconnect(&self) {
        let connection = self.0.ready();
        if let Some(connection) = connection {
            connection.channel.calls.retire(FaultCause::lost("its session has ended"));
            idle::disconnect(&self.0, &connection).await;
        }
    }

    /// Closes the connection and waits until its session is deleted or its child process has ended.
    pub async fn close(&self) {
        let before = std::mem::replace(&mut self.0.slot.lock().now, ConnectionState::Closed);
        self.0.end.cancel();
        if let ConnectionState::Ready(connection) = before {
            connection.channel.wire.close().await;
        }
    }
}

/// Starts the background tasks of a new connection: one asks for notifications, another ends an idle connection. The
/// first connection also starts the task that refreshes the listing.
fn start_tasks(shared: &Arc<Shared>, connection: &Arc<Connection>) {
    *shared.follower.lock() = Some(notifications::follow(shared, connection));
    idle::keep(shared, connection);
    if !shared.has_refresher.swap(true, Ordering::Relaxed) {
        refresh::keep(shared);
    }
}
