//! Connections of sessions to upstream servers. Each session has its own connection, because a server may keep data
//! that other sessions must not see. If the operator sets `share = "all"`, all sessions share one connection.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use portcullis_mcp_client::{
    ClientSettings, Definition, Era, UnassignedNotification, Upstream, UpstreamState,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::UpstreamSource;

/// Maximum number of connections to one server in addition to the first.
const MAX_SESSIONS: usize = 64;

/// Which sessions share a connection to an upstream server and the process of its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// Each session has a connection of its own.
    #[default]
    Session,
    /// All sessions share one connection.
    All,
}

/// A session that owns connections.
#[derive(Debug, Clone)]
pub struct Owner {
    /// A name that no other session has.
    pub name: Arc<str>,
    /// The era of the session's client. A server that supports both eras is used in this one.
    pub era: Era,
    /// Cancelled when the session ends.
    pub end: CancellationToken,
}

/// The method of a server's notification that a resource has changed.
const UPDATED: &str = "notifications/resources/updated";

/// Why a session gets no connection.
#[derive(Debug, thiserror::Error)]
pub enum NoConnection {
    /// Too many sessions have a connection to this server.
    #[error(
        "{most} sessions use `{0}` already: try again later, or set `share = \"all\"` for this \
         server",
        most = MAX_SESSIONS + 1
    )]
    TooManySessions(Arc<str>),
    /// The definition of this server is invalid.
    #[error("`{0}` cannot be connected to for this session: {1}")]
    Definition(Arc<str>, portcullis_mcp_client::DefinitionError),
}

/// The connections of sessions to one server.
pub(super) struct Connections {
    share: Sharing,
    definition: Definition,
    client: ClientSettings,
    owned: Mutex<OwnedConnections>,
}

#[derive(Default)]
struct OwnedConnections {
    /// The session that has the first connection, from which the server's lists are fetched.
    first: Option<Arc<str>>,
    others: HashMap<Arc<str>, Upstream>,
}

/// The connection that a session owns.
enum OwnedConnection {
    First,
    Other(Upstream),
    /// The session's connection was closed already, because it was idle and another session needed its place.
    None,
}

impl OwnedConnections {
    /// Returns the connection of a session that has ended. A connection other than the first is removed.
    fn connection_of(&mut self, session: &Arc<str>) -> OwnedConnection {
        match self.others.remove(session) {
            Some(upstream) => OwnedConnection::Other(upstream),
            None if self.first.as_ref() == Some(session) => OwnedConnection::First,
            None => OwnedConnection::None,
        }
    }
}

impl Connections {
    /// No connections yet.
    pub(super) fn new(share: Sharing, definition: Definition, client: ClientSettings) -> Self {
        // Only the lists that the first connection fetches are remembered.
        let client = ClientSettings { memory: None, ..client };
        Self { share, definition, client, owned: Mutex::default() }
    }

    /// The connections other than the first.
    pub(super) fn others(&self) -> Vec<Upstream> {
        self.owned.lock().others.values().cloned().collect()
    }
}

/// Whether a resource is the one with the URI `whole`, or within it.
fn is_within(uri: &str, whole: &str) -> bool {
    let rest = uri.strip_prefix(whole);
    rest.is_some_and(|rest| {
        rest.is_empty() || whole.ends_with('/') || rest.starts_with(['/', '?', '#'])
    })
}

impl UpstreamSource {
    /// The connection of a session. With `owner: None`, or if all sessions share one connection, the first
    /// connection.
    pub(crate) fn connection_of(
        self: &Arc<Self>,
        owner: Option<&Owner>,
    ) -> Result<Upstream, NoConnection> {
        let Connections { share, definition, client, owned } = &self.connections;
        let Some(owner) = owner.filter(|_| *share == Sharing::Session) else {
            return Ok(self.upstream.clone());
        };
        let mut owned = owned.lock();
        if let Some(upstream) = owned.others.get(&owner.name) {
            return Ok(upstream.clone());
        }
        let first = owned.first.get_or_insert_with(|| {
            self.upstream.prefer(owner.era);
            self.watch_end_of(owner);
            owner.name.clone()
        });
        if *first == owner.name {
            return Ok(self.upstream.clone());
        }
        if owned.others.len() >= MAX_SESSIONS {
            owned.others.retain(|_, other| !matches!(other.state(), UpstreamState::Idle));
        }
        if owned.others.len() >= MAX_SESSIONS {
            return Err(NoConnection::TooManySessions(self.name.clone()));
        }
        let upstream = Upstream::new(&self.name, definition.clone(), client.clone())
            .map_err(|cause| NoConnection::Definition(self.name.clone(), cause))?;
        upstream.prefer(owner.era);
        owned.others.insert(owner.name.clone(), upstream.clone());
        self.watch_end_of(owner);
        Ok(upstream)
    }

    /// Reports changes of the resource with the server's own URI `own`, and of resources within it: sends the URI of
    /// each changed resource to `changed`, with `shown` in the place of `own`. Ends when the connection or the receiver
    /// has ended.
    ///
    /// # Errors
    ///
    /// [`NoConnection`]: the session gets no connection, so no change is noticed.
    pub async fn report_changes_of(
        self: &Arc<Self>,
        own: &str,
        shown: &str,
        owner: &Owner,
        changed: &mpsc::Sender<String>,
    ) -> Result<(), NoConnection> {
        let upstream = self.connection_of(Some(owner))?;
        let mut notices = upstream.notices();
        let _subscription = upstream.watch(own);
        loop {
            let uri = match notices.recv().await {
                Ok(UnassignedNotification { method, params }) if method == UPDATED => {
                    let told = params.get("uri").and_then(Value::as_str).unwrap_or_default();
                    match told.strip_prefix(own).filter(|_| is_within(told, own)) {
                        Some(within) => format!("{shown}{within}"),
                        None => continue,
                    }
                }
                Ok(_) => continue,
                // The resource may be among those whose notices were lost.
                Err(RecvError::Lagged(_)) => shown.to_owned(),
                Err(RecvError::Closed) => return Ok(()),
            };
            if changed.send(uri).await.is_err() {
                return Ok(());
            }
        }
    }

    /// Closes a session's connection when the session ends.
    fn watch_end_of(self: &Arc<Self>, owner: &Owner) {
        let (source, owner) = (Arc::downgrade(self), owner.clone());
        tokio::spawn(async move {
            owner.end.cancelled().await;
            let Some(source) = source.upgrade() else { return };
            let owned = source.connections.owned.lock().connection_of(&owner.name);
            match owned {
                OwnedConnection::Other(upstream) => upstream.close().await,
                // The next session must not see data that this session left.
                OwnedConnection::First => source.upstream.disconnect().await,
                OwnedConnection::None => {}
            }
            let mut owned = source.connections.owned.lock();
            owned.first.take_if(|first| *first == owner.name);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_session_that_has_the_first_connection_ends_it() {
        let (first, other) = (Arc::from("first"), Arc::from("other"));
        let mut owned =
            OwnedConnections { first: Some(Arc::clone(&first)), ..OwnedConnections::default() };
        assert!(matches!(owned.connection_of(&first), OwnedConnection::First));
        // The connection of this session was closed while it was idle.
        assert!(matches!(owned.connection_of(&other), OwnedConnection::None));
    }

    #[test]
    fn a_change_concerns_the_resource_itself_and_what_is_within_it() {
        for (uri, whole, expected) in [
            ("a://b", "a://b", true),
            ("a://b/c", "a://b", true),
            ("a://b?c", "a://b", true),
            ("a://b/c", "a://b/", true),
            ("a://bc", "a://b", false),
            ("a://", "a://b", false),
            ("", "a://b", false),
        ] {
            assert_eq!(is_within(uri, whole), expected, "{uri} {whole}");
        }
    }
}
