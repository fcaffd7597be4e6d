//! What all hosts of a cluster know of a session, as the handler of the session uses it.

use std::fmt;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use portcullis_cluster_state::{
    ClusterState, HostId, Look, SessionState, StateError, Subscribed, Subscription,
};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

/// A message of one host to another.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HostMessage {
    /// The session that the message is about.
    pub(crate) session: String,
    pub(crate) about: About,
}

/// What a message of one host to another is about.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum About {
    /// A message of the client, as JSON: a response that the host waits for, or a cancellation.
    Client(String),
    /// The session has ended.
    Ended,
    /// The subscriptions have changed.
    Changed,
}

/// This host in its cluster.
#[derive(Clone)]
pub(crate) struct Member {
    pub(crate) state: ClusterState,
    pub(crate) host: HostId,
    /// How long a session is kept after its last message.
    pub(crate) kept: Duration,
}

impl Member {
    /// Sends a message to another host. `false`: that host is gone.
    pub(crate) async fn send(
        &self,
        host: &HostId,
        message: &HostMessage,
    ) -> Result<bool, StateError> {
        let text = serde_json::to_vec(message)
            .map_err(|error| StateError::Machine(format!("a message to a host: {error}")))?;
        self.state.send_to_host(host, &text).await
    }

    /// Sends a message to all other hosts of these.
    pub(crate) async fn send_to_others(&self, hosts: Vec<HostId>, message: &HostMessage) {
        for host in hosts.iter().filter(|host| **host != self.host) {
            if let Err(error) = self.send(host, message).await {
                tracing::warn!("a message to another host was not sent: {error}");
            }
        }
    }
}

/// A session that several hosts serve. The handler finds it in the extensions of the request's
/// [`http::request::Parts`], when the session begins at this host.
pub struct SessionShare {
    member: Member,
    id: OnceLock<Arc<str>>,
    level: AtomicU8,
    roots: AtomicU64,
    changes: AtomicU64,
    subscriptions: watch::Sender<Arc<Vec<Subscription>>>,
}

impl SessionShare {
    /// A session that begins.
    pub(crate) fn new(member: Member) -> Arc<Self> {
        Arc::new(Self {
            member,
            id: OnceLock::new(),
            level: AtomicU8::new(0),
            roots: AtomicU64::new(0),
            changes: AtomicU64::new(0),
            subscriptions: watch::Sender::default(),
        })
    }

    /// Names the session.
    pub(crate) fn name(&self, id: Arc<str>) {
        let _named_before = self.id.set(id);
    }

    /// The id of the session, which is the same at all hosts.
    pub fn id(&self) -> &str {
        self.id.get().map_or("", AsRef::as_ref)
    }

    /// The number of changes of the subscriptions that this host knows.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// Applies what was found in the cluster's state.
    pub(crate) fn apply(&self, found: SessionState) {
        self.level.store(found.level, Ordering::Relaxed);
        self.roots.fetch_max(found.roots, Ordering::Relaxed);
        if let Some(subscriptions) = found.subscriptions {
            // A later look may have been applied meanwhile.
            if self.changes.fetch_max(found.changes, Ordering::Relaxed) <= found.changes {
                self.subscriptions.send_replace(Arc::new(subscriptions));
            }
        }
    }

    /// Reads the session in the cluster's state. It is not kept longer for that.
    pub(crate) async fn refresh(&self) -> Result<(), StateError> {
        let look = Look { kept: None, restores: false, changes: self.changes() };
        let found = self.member.state.look_at_session(self.id(), &self.member.host, look).await?;
        if let Some(found) = found {
            self.apply(found);
        }
        Ok(())
    }

    /// The log level that the client has set at any host, as the number that it was set with.
    pub fn level(&self) -> Option<u8> {
        Some(self.level.load(Ordering::Relaxed)).filter(|level| *level > 0)
    }

    /// Sets the log level, a number above 0, at all hosts.
    ///
    /// # Errors
    ///
    /// [`StateError`].
    pub async fn set_level(&self, level: u8) -> Result<(), StateError> {
        self.member.state.set_session_level(self.id(), level).await?;
        self.level.store(level, Ordering::Relaxed);
        Ok(())
    }

    /// How many times the client has said, to any host, that its roots have changed.
    pub fn changes_of_roots(&self) -> u64 {
        self.roots.load(Ordering::Relaxed)
    }

    /// The subscriptions of the client, at all hosts.
    pub fn subscriptions(&self) -> watch::Receiver<Arc<Vec<Subscription>>> {
        self.subscriptions.subscribe()
    }

    /// Subscribes the client to a resource. At most `max` subscriptions are accepted. One host watches the resource.
    ///
    /// # Errors
    ///
    /// [`StateError`].
    pub async fn subscribe(&self, uri: &str, max: usize) -> Result<Subscribed, StateError> {
        let Member { state, host, .. } = &self.member;
        let done = state.subscribe_session(self.id(), host, uri, max).await?;
        self.refresh().await?;
        Ok(done)
    }

    /// Ends the subscription of the client to a resource.
    ///
    /// # Errors
    ///
    /// [`StateError`].
    pub async fn unsubscribe(&self, uri: &str) -> Result<(), StateError> {
        let watching = self.member.state.unsubscribe_session(self.id(), uri).await?;
        let message = HostMessage { session: self.id().to_owned(), about: About::Changed };
        self.member.send_to_others(watching.into_iter().collect(), &message).await;
        self.refresh().await
    }
}

impl fmt::Debug for SessionShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SessionShare").field(&self.id()).finish()
    }
}
