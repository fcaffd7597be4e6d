//! Sessions of streamable HTTP: their number, their owners, and their resumable streams.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::Stream;
use parking_lot::RwLock;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::SessionManager;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError,
};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId};

use crate::principal::Principal;
use crate::replay::Streams;
use crate::session_limit::SessionPlace;

tokio::task_local! {
    /// For whom a session may be opened while one request is served: rmcp does not say whose
    /// request it is that opens one.
    static OPENING: Cell<Option<Opening>>;
}

/// The place of a session that is being opened, and its owner.
pub(crate) struct Opening {
    pub(crate) room: SessionPlace,
    pub(crate) principal: Option<Principal>,
}

impl Opening {
    /// Serves a request that may open this session, and no other.
    pub(crate) async fn during<T>(self, served: impl Future<Output = T>) -> T {
        OPENING.scope(Cell::new(Some(self)), served).await
    }
}

/// rmcp's sessions, with owners.
pub(crate) struct Sessions {
    local: LocalSessionManager,
    open: RwLock<HashMap<SessionId, Session>>,
    /// What is kept of the streams of one session, in bytes.
    replay: usize,
}

struct Session {
    principal: Option<Principal>,
    streams: Arc<Streams>,
    _room: SessionPlace,
}

impl Sessions {
    /// No session. One without a message for `idle` will end.
    pub(crate) fn new(idle: Duration, replay: usize) -> Self {
        let mut local = LocalSessionManager::default();
        local.session_config.keep_alive = Some(idle);
        Self { local, open: RwLock::default(), replay }
    }

    /// Whether somebody else opened it.
    pub(crate) fn is_foreign(&self, id: &str, principal: Option<&Principal>) -> bool {
        self.open.read().get(id).is_some_and(|session| session.principal.as_ref() != principal)
    }

    fn streams(&self, id: &SessionId) -> Result<Arc<Streams>, Error> {
        self.open.read().get(id).map(|session| session.streams.clone()).ok_or(Error::Gone)
    }
}

/// Why there is no session, or no stream.
#[derive(Debug)]
pub(crate) enum Error {
    /// The request may not open one.
    NoRoom,
    /// It has ended.
    Gone,
    /// What the client wants to come back to is not kept.
    Forgotten,
    Local(LocalSessionManagerError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRoom => f.write_str("there is no room for a session"),
            Self::Gone => f.write_str("the session has ended"),
            Self::Forgotten => f.write_str("the stream of this event is not kept any more"),
            Self::Local(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<LocalSessionManagerError> for Error {
    fn from(error: LocalSessionManagerError) -> Self {
        Self::Local(error)
    }
}

impl SessionManager for Sessions {
    type Error = Error;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Error> {
        let opening = OPENING.try_with(Cell::take).ok().flatten();
        let Opening { room, principal } = opening.ok_or(Error::NoRoom)?;
        let (id, transport) = self.local.create_session().await?;
        let session = Session { principal, streams: Streams::new(self.replay), _room: room };
        self.open.write().insert(id.clone(), session);
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Error> {
        Ok(self.local.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Error> {
        Ok(self.open.read().contains_key(id))
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Error> {
        self.open.write().remove(id);
        Ok(self.local.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Error> {
        let streams = self.streams(id)?;
        let written = self.local.create_stream(id, message).await?;
        Ok(streams.begin(Box::pin(written)))
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Error> {
        let streams = self.streams(id)?;
        if streams.needs_common() {
            streams.write_common(Box::pin(self.local.create_standalone_stream(id).await?));
        }
        Ok(streams.read_common())
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Error> {
        self.streams(id)?.resume(&last_event_id).ok_or(Error::Forgotten)
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Error> {
        Ok(self.local.accept_message(id, message).await?)
    }
}
