//! Sessions of streamable HTTP that several hosts serve.
//!
//! Each host can serve a session of the cluster: at the first request of it, the host opens the session with what
//! the client sent in `initialize`. What changes a session later is in the cluster's state. A client's response goes to
//! the host that asked, and a cancellation to all hosts.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::Stream;
use portcullis_cluster_state::{ClusterState, HostId, Look, Received, StateError};
use portcullis_result_passthrough::PassthroughKey;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, InitializeRequestParams, JsonRpcMessage,
};
use rmcp::transport::streamable_http_server::session::{EventStream, ServerSseMessage, SessionId};
use serde::{Deserialize, Serialize};

use crate::host_ids::waiting_host;
use crate::principal::Principal;
use crate::replay::Streams;
use crate::session_share::{About, HostMessage, Member, SessionShare};
use crate::shared_events::{ResponseLog, SharedEvents};

/// Pause after the inbox of this host could not be read.
const PAUSE: Duration = Duration::from_millis(500);

/// What a request needs to open a session that several hosts serve.
pub(crate) struct Opening {
    pub(crate) share: Arc<SessionShare>,
    /// How the session began at another host. `None`: it begins here.
    pub(crate) began: Option<InitializeRequestParams>,
}

/// What the cluster's state says of a session that a request names.
pub(crate) enum Looked {
    /// There is no such session of this caller.
    NoSession,
    /// The session can be opened here.
    Elsewhere(Box<Opening>),
    /// The session is open here.
    Here,
}

/// How a session began, for the other hosts.
#[derive(Serialize, Deserialize)]
struct Began {
    principal: Option<String>,
    initialize: InitializeRequestParams,
}

/// The sessions of this host's cluster.
#[derive(Clone)]
pub(crate) struct SharedSessions {
    member: Member,
    events: SharedEvents,
}

impl SharedSessions {
    /// The sessions in this state. `kept`: how long a session is kept without a message.
    ///
    /// # Errors
    ///
    /// The system has no random numbers.
    pub(crate) fn new(
        state: ClusterState,
        kept: Duration,
        raw: PassthroughKey,
        max_bytes: u64,
    ) -> Result<Self, StateError> {
        let member = Member { state, host: HostId::new()?, kept };
        Ok(Self { events: SharedEvents::new(member.clone(), raw, max_bytes), member })
    }

    /// The name of this host.
    pub(crate) fn host(&self) -> HostId {
        self.member.host.clone()
    }

    /// Whether the server of the cluster's state answered when it was last asked.
    pub(crate) fn is_reached(&self) -> bool {
        self.member.state.is_reached()
    }

    /// What a request needs to begin a session.
    pub(crate) fn opening(&self) -> Opening {
        Opening { share: SessionShare::new(self.member.clone()), began: None }
    }

    /// Looks at the session that a request names. `share`: the session, if it is open at this host.
    ///
    /// # Errors
    ///
    /// The cluster's state cannot be used.
    pub(crate) async fn look(
        &self,
        id: &str,
        principal: Option<&Principal>,
        share: Option<&SessionShare>,
    ) -> Result<Looked, StateError> {
        // An id that no host makes is not looked for.
        if id.len() > 64 || !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            return Ok(Looked::NoSession);
        }
        let Member { state, host, kept } = &self.member;
        let changes = share.map_or(0, SessionShare::changes);
        let look = Look { kept: Some(*kept), restores: share.is_none(), changes };
        let Some(mut found) = state.look_at_session(id, host, look).await? else {
            return Ok(Looked::NoSession);
        };
        if let Some(share) = share {
            share.apply(found);
            return Ok(Looked::Here);
        }
        let began = found.began.take().unwrap_or_default();
        let began: Began = serde_json::from_slice(&began).map_err(|error| {
            tracing::warn!("a session of another host cannot be read: {error}");
            StateError::Foreign { what: "a session" }
        })?;
        if began.principal != principal.map(ToString::to_string) {
            return Ok(Looked::NoSession);
        }
        let share = SessionShare::new(self.member.clone());
        share.name(id.into());
        share.apply(found);
        Ok(Looked::Elsewhere(Box::new(Opening { share, began: Some(began.initialize) })))
    }

    /// Makes a session known that began at this host.
    ///
    /// # Errors
    ///
    /// The cluster's state cannot be used.
    pub(crate) async fn begin(
        &self,
        id: &str,
        initialize: InitializeRequestParams,
        principal: Option<&Principal>,
    ) -> Result<(), StateError> {
        let began = Began { principal: principal.map(ToString::to_string), initialize };
        let text = serde_json::to_vec(&began)
            .map_err(|error| StateError::Machine(format!("a session: {error}")))?;
        let Member { state, host, kept } = &self.member;
        state.begin_session(id, host, &text, *kept).await
    }

    /// Ends a session at all hosts.
    ///
    /// # Errors
    ///
    /// The cluster's state cannot be used.
    pub(crate) async fn end(&self, id: &str) -> Result<(), StateError> {
        let hosts = self.member.state.end_session(id).await?;
        let message = HostMessage { session: id.to_owned(), about: About::Ended };
        self.member.send_to_others(hosts, &message).await;
        self.events.wake(id);
        Ok(())
    }

    /// Sends a message of a client to the hosts that it concerns. Returns the message if it also concerns this host.
    ///
    /// # Errors
    ///
    /// The cluster's state cannot be used.
    pub(crate) async fn route(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<Option<ClientJsonRpcMessage>, StateError> {
        let Member { state, host, .. } = &self.member;
        let for_host = |message: &ClientJsonRpcMessage| {
            let text = serde_json::to_string(message)
                .map_err(|error| StateError::Machine(format!("a message of a client: {error}")))?;
            Ok(HostMessage { session: id.to_string(), about: About::Client(text) })
        };
        if let Some(waiting) = waiting_host(&mut message) {
            if waiting == *host {
                return Ok(Some(message));
            }
            if !self.member.send(&waiting, &for_host(&message)?).await? {
                tracing::info!("the host that waits for an answer of a client is gone");
            }
            return Ok(None);
        }
        let JsonRpcMessage::Notification(sent) = &message else { return Ok(Some(message)) };
        if let ClientNotification::CancelledNotification(_) = &sent.notification {
            match state.hosts_of_session(id).await {
                Ok(hosts) => self.member.send_to_others(hosts, &for_host(&message)?).await,
                Err(error) => tracing::warn!("a request is cancelled here only: {error}"),
            }
        } else if let ClientNotification::RootsListChangedNotification(_) = &sent.notification {
            state.note_changed_roots(id).await?;
        }
        Ok(Some(message))
    }

    /// The log of the stream that responds to a request.
    pub(crate) fn response_log(
        &self,
        id: &SessionId,
        message: &ClientJsonRpcMessage,
    ) -> ResponseLog {
        let request = match message {
            JsonRpcMessage::Request(request) => Some(&request.id),
            JsonRpcMessage::Response(_)
            | JsonRpcMessage::Notification(_)
            | JsonRpcMessage::Error(_) => None,
        };
        self.events.begin(id.clone(), request)
    }

    /// Writes the messages of this host that belong to no request, until the session ends here.
    pub(crate) fn write_common(
        &self,
        id: SessionId,
        events: impl Stream<Item = ServerSseMessage> + Send + 'static,
    ) {
        tokio::spawn(self.events.clone().write_common(id, events));
    }

    /// Reads the messages of all hosts that belong to no request.
    pub(crate) fn read_common(
        &self,
        id: &SessionId,
        from: Option<u64>,
        share: Option<Arc<SessionShare>>,
    ) -> EventStream {
        let share = share.as_ref().map_or_else(Weak::new, Arc::downgrade);
        self.events.read_common(id.clone(), from, share)
    }

    /// Resumes a stream after an event. `own`: the streams that began at this host. `None`: the id is invalid.
    pub(crate) fn resume(
        &self,
        id: &SessionId,
        after: &str,
        own: &Arc<Streams>,
        share: Option<Arc<SessionShare>>,
    ) -> Option<EventStream> {
        let Some((number, stream)) = after.split_once('/') else {
            return Some(self.read_common(id, Some(after.parse::<u64>().ok()? + 1), share));
        };
        if let Some(resumed) = own.resume(after) {
            return Some(resumed);
        }
        let number = number.parse().ok()?;
        Some(self.events.read_responses(id.clone(), stream.to_owned(), number))
    }
}

/// Where messages of other hosts go: the sessions of this host.
pub(crate) trait OpenSessions: Send + Sync + 'static {
    /// What several hosts know of an open session.
    fn share(&self, id: &str) -> Option<Arc<SessionShare>>;

    /// Gives a client's message to an open session.
    fn pass_on(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = ()> + Send;

    /// Closes an open session at this host.
    fn close(&self, id: &SessionId) -> impl Future<Output = ()> + Send;
}

/// Receives the messages of other hosts as long as there are sessions.
pub(crate) async fn receive<S: OpenSessions>(shared: SharedSessions, sessions: Weak<S>) {
    let mut inbox = shared.member.state.inbox(&shared.member.host);
    while sessions.strong_count() > 0 {
        let received = match inbox.next().await {
            Ok(received) => received,
            Err(error) => {
                tracing::debug!("the messages of other hosts: {error}");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let Some(sessions) = sessions.upgrade() else { return };
        for one in received {
            match one {
                Received::Wake(session) => shared.events.wake(&session),
                Received::Message(text) => match serde_json::from_slice(&text) {
                    Ok(message) => apply(&shared, &*sessions, message).await,
                    Err(error) => tracing::warn!("a message of another host: {error}"),
                },
            }
        }
    }
}

async fn apply<S: OpenSessions>(shared: &SharedSessions, sessions: &S, message: HostMessage) {
    let id: SessionId = message.session.into();
    match message.about {
        About::Client(text) => match serde_json::from_str(&text) {
            Ok(message) => sessions.pass_on(&id, message).await,
            Err(error) => tracing::warn!("a client's message from another host: {error}"),
        },
        About::Ended => {
            sessions.close(&id).await;
            shared.events.wake(&id);
        }
        About::Changed => {
            if let Some(share) = sessions.share(&id)
                && let Err(error) = share.refresh().await
            {
                tracing::debug!("looking at a session: {error}");
            }
        }
    }
}
