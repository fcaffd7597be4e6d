//! The sessions of streamable HTTP: their callers and their resumable streams. Their number is limited. Several hosts may
//! serve a session: see [`shared_sessions`](crate::shared_sessions).

use std::cell::Cell;
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::Stream;
use parking_lot::RwLock;
use portcullis_cluster_state::StateError;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, InitializeRequestParams, JsonRpcMessage,
    ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_server::SessionManager;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError,
};
use rmcp::transport::streamable_http_server::session::{
    RestoreOutcome, ServerSseMessage, SessionId, SessionState, SessionStore, SessionStoreError,
};

use crate::host_ids::HostIds;
use crate::openings::{Claim, Openings};
use crate::principal::Principal;
use crate::replay::Streams;
use crate::session_limit::SessionSlot;
use crate::session_share::SessionShare;
use crate::shared_sessions::{Looked, OpenSessions, Opening, SharedSessions};

tokio::task_local! {
    /// The session that the current request may open. It is task-local, because rmcp does not pass the request to the
    /// session manager.
    static OPENING: Cell<Option<SessionPermit>>;
}

/// The permission of a request to open one session: the place of the session, and its caller.
pub(crate) struct SessionPermit {
    pub(crate) place: SessionSlot,
    pub(crate) principal: Option<Principal>,
    /// If several hosts may serve the session, what they know of it.
    pub(crate) shared: Option<Opening>,
}

impl SessionPermit {
    /// Serves a request that may open this session and no other.
    pub(crate) async fn during<T>(self, served: impl Future<Output = T>) -> T {
        OPENING.scope(Cell::new(Some(self)), served).await
    }

    /// Takes the permission of the current request.
    fn take() -> Result<Self, SessionError> {
        OPENING.try_with(Cell::take).ok().flatten().ok_or(SessionError::NoPlace)
    }

    /// How the session began at another host, if the current request may open that session here.
    pub(crate) fn began() -> Option<InitializeRequestParams> {
        OPENING
            .try_with(|opening| {
                let permit = opening.take();
                let began =
                    permit.as_ref().and_then(|permit| permit.shared.as_ref()?.began.clone());
                opening.set(permit);
                began
            })
            .ok()
            .flatten()
    }
}

/// rmcp's sessions with their callers.
pub(crate) struct Sessions {
    local: LocalSessionManager,
    /// The sessions that several hosts serve. `None`: this host shares none.
    pub(crate) shared: Option<SharedSessions>,
    open: RwLock<HashMap<SessionId, Session>>,
    /// The sessions of other hosts that are being opened here.
    openings: Openings,
    /// Maximum size of the events that are kept, in bytes of JSON: of each open stream, and of all ended streams of a
    /// session together.
    replay_bytes: usize,
}

struct Session {
    principal: Option<Principal>,
    streams: Arc<Streams>,
    share: Option<Arc<SessionShare>>,
    /// Whether the session began at another host.
    is_restored: bool,
    _place: SessionSlot,
}

impl Sessions {
    /// No sessions yet. rmcp ends a session after the time `idle` without a message from or to the client.
    pub(crate) fn new(idle: Duration, replay_bytes: usize, shared: Option<SharedSessions>) -> Self {
        let mut local = LocalSessionManager::default();
        local.session_config.keep_alive = Some(idle);
        let (open, openings) = (RwLock::default(), Openings::default());
        Self { local, shared, open, openings, replay_bytes }
    }

    /// Whether another caller opened this session.
    pub(crate) fn is_foreign(&self, id: &str, principal: Option<&Principal>) -> bool {
        self.open.read().get(id).is_some_and(|session| session.principal.as_ref() != principal)
    }

    /// Whether there is a session with this id.
    pub(crate) fn is_open(&self, id: &str) -> bool {
        self.open.read().contains_key(id)
    }

    /// Adds a session that the current request opens.
    fn open(&self, id: &SessionId, permit: SessionPermit, is_restored: bool) {
        let SessionPermit { place, principal, shared } = permit;
        let (streams, share) =
            (Streams::new(self.replay_bytes), shared.map(|opening| opening.share));
        if let Some(share) = &share {
            share.name(id.clone());
        }
        let session = Session { principal, streams, share, is_restored, _place: place };
        self.open.write().insert(id.clone(), session);
    }

    /// Shares a session that has begun here.
    async fn share_new(
        &self,
        shared: &SharedSessions,
        id: &SessionId,
        began: Option<InitializeRequestParams>,
    ) -> Result<(), SessionError> {
        let (is_restored, principal) = {
            let open = self.open.read();
            let session = open.get(id).ok_or(SessionError::Ended)?;
            (session.is_restored, session.principal.clone())
        };
        if !is_restored && let Some(began) = began {
            shared.begin(id, began, principal.as_ref()).await?;
        }
        let common = self.local.create_standalone_stream(id).await?;
        shared.write_common(id.clone(), common);
        Ok(())
    }

    /// What a request needs to begin a session, if several hosts may serve it.
    ///
    /// # Errors
    ///
    /// The server of the cluster's state is known to be away.
    pub(crate) fn opening(&self) -> Result<Option<Opening>, NotAdmitted> {
        let Some(shared) = &self.shared else { return Ok(None) };
        match shared.is_reached() {
            true => Ok(Some(shared.opening())),
            false => Err(NotAdmitted::Away),
        }
    }

    /// Whether a request of this caller may use the session that it names. `Some`: it may open the session here, and
    /// other requests of the session wait until the claim is dropped.
    ///
    /// # Errors
    ///
    /// [`NotAdmitted`].
    pub(crate) async fn admit(
        &self,
        id: &str,
        principal: Option<&Principal>,
        ends: bool,
    ) -> Result<Option<(Opening, Claim)>, NotAdmitted> {
        loop {
            self.openings.settled(id).await;
            match self.admit_now(id, principal, ends).await? {
                // Otherwise, another request opens the session since.
                None if ends || !self.openings.has(id) => return Ok(None),
                None => {}
                Some(opening) => {
                    let claim = self.openings.claim(id).filter(|_| !self.is_open(id));
                    if let Some(claim) = claim {
                        return Ok(Some((opening, claim)));
                    }
                }
            }
        }
    }

    async fn admit_now(
        &self,
        id: &str,
        principal: Option<&Principal>,
        ends: bool,
    ) -> Result<Option<Opening>, NotAdmitted> {
        let is_unusable = || self.is_foreign(id, principal) || (ends && !self.is_open(id));
        let Some(shared) = &self.shared else {
            return if is_unusable() { Err(NotAdmitted::NoSession) } else { Ok(None) };
        };
        let (share, looked) = loop {
            let share = self.share(id);
            match shared.look(id, principal, share.as_deref()).await {
                // It was closed here meanwhile, so its caller is not known any more.
                Ok(Looked::Here) if !self.is_open(id) => {}
                looked => break (share, looked),
            }
        };
        match looked {
            Ok(Looked::NoSession) => {
                if share.is_some() {
                    self.close(&id.into()).await;
                }
                Err(NotAdmitted::NoSession)
            }
            Ok(Looked::Here) if self.is_foreign(id, principal) => Err(NotAdmitted::NoSession),
            Ok(_) if ends => {
                shared.end(id).await?;
                Ok(None)
            }
            Ok(Looked::Here) => Ok(None),
            Ok(Looked::Elsewhere(opening)) => Ok(Some(*opening)),
            // A session that is open here goes on while the cluster's state is away.
            Err(_) if share.is_some() && !ends => match self.is_foreign(id, principal) {
                true => Err(NotAdmitted::NoSession),
                false => Ok(None),
            },
            Err(error) => Err(error.into()),
        }
    }

    fn streams(&self, id: &SessionId) -> Result<Arc<Streams>, SessionError> {
        self.open.read().get(id).map(|session| session.streams.clone()).ok_or(SessionError::Ended)
    }
}

/// The parameters of `initialize`, if the message is such a request.
fn initialize_params(message: &ClientJsonRpcMessage) -> Option<InitializeRequestParams> {
    let JsonRpcMessage::Request(request) = message else { return None };
    let ClientRequest::InitializeRequest(initialize) = &request.request else { return None };
    Some(initialize.params.clone())
}

/// Why a request may not use the session that it names.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotAdmitted {
    /// There is no such session, or it is another caller's.
    #[error("there is no such session")]
    NoSession,
    /// A session cannot begin, because the server of the cluster's state is away.
    #[error("the server of the cluster's state is away")]
    Away,
    /// Nobody knows now, because the cluster's state cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
}

impl OpenSessions for Sessions {
    fn share(&self, id: &str) -> Option<Arc<SessionShare>> {
        self.open.read().get(id).and_then(|session| session.share.clone())
    }

    async fn pass_on(&self, id: &SessionId, message: ClientJsonRpcMessage) {
        if let Err(error) = self.local.accept_message(id, message).await {
            tracing::debug!("a message of a client to another host: {error}");
        }
    }

    async fn close(&self, id: &SessionId) {
        if let Err(error) = self.close_session(id).await {
            tracing::debug!("a session that has ended: {error}");
        }
    }
}

/// How rmcp opens sessions that began at other hosts.
pub(crate) struct Restored;

impl SessionStore for Restored {
    fn load<'a, 'b, 'c>(&'a self, _: &'b str) -> Stored<'c, Option<SessionState>>
    where
        'a: 'c,
        'b: 'c,
        Self: 'c,
    {
        // `Sessions::admit` has found the session.
        let began = SessionPermit::began();
        Box::pin(std::future::ready(Ok(began.map(SessionState::new))))
    }

    fn store<'a, 'b, 'c, 'd>(&'a self, _: &'b str, _: &'c SessionState) -> Stored<'d, ()>
    where
        'a: 'd,
        'b: 'd,
        'c: 'd,
        Self: 'd,
    {
        // `Sessions::initialize_session` has stored the session, and fails if it cannot.
        Box::pin(std::future::ready(Ok(())))
    }

    fn delete<'a, 'b, 'c>(&'a self, _: &'b str) -> Stored<'c, ()>
    where
        'a: 'c,
        'b: 'c,
        Self: 'c,
    {
        // `Sessions::admit` has ended the session.
        Box::pin(std::future::ready(Ok(())))
    }
}

/// What rmcp's store of sessions returns.
type Stored<'a, T> = Pin<Box<dyn Future<Output = Result<T, SessionStoreError>> + Send + 'a>>;

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
    /// The cluster's state cannot be used.
    #[error("the state that the hosts share cannot be used")]
    State(#[from] StateError),
    /// rmcp's session manager failed.
    #[error(transparent)]
    Local(#[from] LocalSessionManagerError),
}

impl SessionManager for Sessions {
    type Error = SessionError;
    type Transport = HostIds<<LocalSessionManager as SessionManager>::Transport>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionError> {
        let permit = SessionPermit::take()?;
        let (id, transport) = self.local.create_session().await?;
        self.open(&id, permit, false);
        let host = self.shared.as_ref().map(SharedSessions::host);
        Ok((id, HostIds::new(transport, host)))
    }

    async fn restore_session(
        &self,
        id: SessionId,
    ) -> Result<RestoreOutcome<Self::Transport>, SessionError> {
        let permit = SessionPermit::take()?;
        let host = self.shared.as_ref().map(SharedSessions::host);
        let restored = self.local.restore_session(id.clone()).await?;
        let RestoreOutcome::Restored(transport) = restored else {
            return Ok(RestoreOutcome::AlreadyPresent);
        };
        self.open(&id, permit, true);
        Ok(RestoreOutcome::Restored(HostIds::new(transport, host)))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionError> {
        let Some(shared) = &self.shared else {
            return Ok(self.local.initialize_session(id, message).await?);
        };
        let began = initialize_params(&message);
        let response = self.local.initialize_session(id, message).await?;
        if let JsonRpcMessage::Response(_) = &response
            && let Err(error) = self.share_new(shared, id, began).await
        {
            self.close_session(id).await?;
            return Err(error);
        }
        Ok(response)
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
        let log = self.shared.as_ref().map(|shared| shared.response_log(id, &message));
        let written = self.local.create_stream(id, message).await?;
        Ok(streams.begin(Box::pin(written), log))
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let streams = self.streams(id)?;
        if let Some(shared) = &self.shared {
            return Ok(shared.read_common(id, None, self.share(id)));
        }
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
        let streams = self.streams(id)?;
        let resumed = match &self.shared {
            None => streams.resume(&last_event_id),
            Some(shared) => shared.resume(id, &last_event_id, &streams, self.share(id)),
        };
        resumed.ok_or(SessionError::StreamNotKept)
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), SessionError> {
        let message = match &self.shared {
            None => message,
            Some(shared) => match shared.route(id, message).await? {
                Some(message) => message,
                None => return Ok(()),
            },
        };
        Ok(self.local.accept_message(id, message).await?)
    }
}
