//! Connections of sessions to upstream servers. Each session has its own connection, because a server may keep data
//! that other sessions must not see; or all sessions share one connection.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use portcullis_mcp_client::{ClientSettings, Definition, Upstream, UpstreamState};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::UpstreamSource;

/// Maximum number of sessions with a connection of their own to one server.
const MAX_SESSIONS: usize = 64;

/// Who shares a connection to an upstream server, and its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// Nobody: each session of a client has its own.
    #[default]
    Session,
    /// All sessions have one.
    All,
}

/// A session that owns connections.
#[derive(Debug, Clone)]
pub struct Owner {
    /// A name that no other session has.
    pub name: Arc<str>,
    /// Cancelled when the session ends.
    pub end: CancellationToken,
}

/// Why a session gets no connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoConnection {
    #[error(
        "{MAX_SESSIONS} sessions use `{0}` already: try again later, or set `share = \"all\"` for this \
         server"
    )]
    TooManySessions(Arc<str>),
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
        owned.others.insert(owner.name.clone(), upstream.clone());
        self.watch_end_of(owner);
        Ok(upstream)
    }

    /// Closes a session's connection when the session ends.
    fn watch_end_of(self: &Arc<Self>, owner: &Owner) {
        let (source, owner) = (Arc::downgrade(self), owner.clone());
        tokio::spawn(async move {
            owner.end.cancelled().await;
            let Some(source) = source.upgrade() else { return };
            let other = source.connections.owned.lock().others.remove(&owner.name);
            match other {
                Some(upstream) => upstream.close().await,
                // The next session must not see data that this session left.
                None => source.upstream.disconnect().await,
            }
            let mut owned = source.connections.owned.lock();
            owned.first.take_if(|first| *first == owner.name);
        });
    }
}
