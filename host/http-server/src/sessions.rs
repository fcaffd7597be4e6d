//! The sessions of streamable HTTP: their callers and their resumable streams. Their number is limited.

use std::cell::Cell;
use std::collections::HashMap;
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
use crate::session_limit::SessionSlot;

tokio::task_local! {
    /// The session that the current request may open. It is task-local, because rmcp does not pass the request to the
    /// session manager.
    static OPENING: Cell<Option<SessionPermit>>;
}

/// The permission of a request to open one session: the place of the session, and its caller.
pub(crate) struct SessionPermit {
    pub(crate) place: SessionSlot,
    pub(crate) principal: Option<Principal>,
}

impl SessionPermit {
    /// Serves a request that may open this session and no other.
    pub(crate) async fn during<T>(self, served: impl Future<Output = T>) -> T {
        OPENING.scope(Cell::new(Some(self)), served).await
    }
}

/// rmcp's sessions with their callers.
pub(crate) struct Sessions {
    local: LocalSessionManager,
    open: RwLock<HashMap<SessionId, Session>>,
    /// Maximum size of the events that are kept, in bytes of JSON: of each open stream, and of all ended streams of a
    /// session together.
    replay_bytes: usize,
}

struct Session {
    principal: Option<Principal>,
    streams: Arc<Streams>,
    _place: SessionSlot,
}

impl Sessions {
    /// No sessions yet. rmcp ends a session after the time `idle` without a message from or to the client.
    pub(crate) fn new(idle: Duration, replay_bytes: usize) -> Self {
        let mut local = LocalSessionManager::default();
        local.session_config.keep_alive = Some(idle);
        Self { local, open: RwLock::default(), replay_bytes }
    }

    /// Whether another caller opened this session.
    pub(crate) fn is_foreign(&self, id: &str, principal: Option<&Principal>) -> bool {
        self.open.read().get(id).is_some_and(|session| session.principal.as_ref() != principal)
    }

    /// Whether there is a session with this id.
    pub(crate) fn is_open(&self, id: &str) -> bool {
        self.open.read().contains_key(id)
    }

    fn streams(&self, id: &SessionId) -> Result<Arc<Streams>, SessionError> {
        self.open.read().get(id).map(|session| session.streams.clone()).ok_or(SessionError::Ended)
    }
}

/// Why there is no session, or no stream.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionError {
    /// The request may not open a session.
    #[error("the request may not open a session")]
    NoPlace,
    /// The session has ended.
    #[error("the session has ended")]
    Ended,
    /// The stream that the client wants to resume is not kept.
    #[error("the stream of this event is not kept any more")]
    StreamNotKept,
    /// rmcp's session manager failed.
    #[error(transparent)]
    Local(#[from] LocalSessionManagerError),
}

impl SessionManager for Sessions {
    type Error = SessionError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionError> {
        let opening = OPENING.try_with(Cell::take).ok().flatten();
        let SessionPermit { place, principal } = opening.ok_or(SessionError::NoPlace)?;
        let (id, transport) = self.local.create_session().await?;
        let session =
            Session { principal, streams: Streams::new(self.replay_bytes), _place: place };
        self.open.write().insert(id.clone(), session);
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionError> {
        Ok(self.local.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionError> {
        Ok(self.open.read().contains_key(id))
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionError> {
        self.open.write().remove(id);
        Ok(self.local.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let streams = self.streams(id)?;
        let written = self.local.create_stream(id, message).await?;
        Ok(streams.begin(Box::pin(written)))
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let streams = self.streams(id)?;
        if streams.needs_common() {
            streams.write_standalone(Box::pin(self.local.create_standalone_stream(id).await?));
        }
        Ok(streams.read_common())
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        self.streams(id)?.resume(&last_event_id).ok_or(SessionError::StreamNotKept)
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), SessionError> {
        Ok(self.local.accept_message(id, message).await?)
    }
}
