//! The transport of MCP 2024-11-05 (HTTP+SSE): the server sends messages as events of a stream, and the client sends
//! its messages with POST.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, Response, StatusCode, header};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use parking_lot::Mutex;
use portcullis_result_passthrough::PassthroughKey;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, GetExtensions, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use rmcp::{RoleServer, ServerHandler, ServiceExt};
use tokio::sync::mpsc;
use tokio::time::Interval;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::MESSAGES_PATH;
use crate::principal::Principal;
use crate::request_body::Envelope;
use crate::responses::{HttpResponse, ignore_malformed, text_response};
use crate::session_limit::SessionSlot;
use crate::timeouts::{RECEIVE_TIMEOUT, SEND_TIMEOUT};

/// Interval of the comments that keep an idle stream open.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// Maximum number of messages that wait in one session, in each direction.
const MAX_WAITING: usize = 16;

/// The transport, with its open sessions.
pub(crate) struct Legacy {
    open: Mutex<HashMap<String, Arc<Session>>>,
    raw: PassthroughKey,
    shutdown: CancellationToken,
}

struct Session {
    principal: Option<Principal>,
    posted: mpsc::Sender<ClientJsonRpcMessage>,
    /// The ids of the requests that have no response yet. A second request with one of these ids is refused, because
    /// rmcp would respond to only one of the two requests. `None`: no request was received yet. Messages before the
    /// first request are dropped, because rmcp would end the session.
    waiting: Mutex<Option<HashSet<RequestId>>>,
}

impl Legacy {
    pub(crate) fn new(raw: PassthroughKey, shutdown: CancellationToken) -> Arc<Self> {
        Arc::new(Self { open: Mutex::default(), raw, shutdown })
    }

    /// Opens a session. The session ends when its stream is closed.
    pub(crate) fn open<S: ServerHandler>(
        self: &Arc<Self>,
        handler: S,
        principal: Option<Principal>,
        place: SessionSlot,
    ) -> HttpResponse {
        let id = match random_id() {
            Ok(id) => id,
            Err(why) => {
                tracing::error!("opening a session: asking for random bytes: {why}");
                return text_response(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "the system has no random numbers",
                );
            }
        };
        let end = self.shutdown.child_token();
        let (events, written) = mpsc::channel(MAX_WAITING);
        let (posted, received) = mpsc::channel(MAX_WAITING);
        let endpoint = format!("event: endpoint\ndata: {MESSAGES_PATH}?sessionId={id}\n\n");
        events.try_send(endpoint.into()).expect("the channel is empty");
        let session = Arc::new(Session { principal, posted, waiting: Mutex::default() });
        self.open.lock().insert(id.clone(), session.clone());
        let transport =
            SessionTransport { session, received, events, raw: self.raw.clone(), end: end.clone() };
        let (this, ending) = (self.clone(), end.clone());
        tokio::spawn(async move {
            let _place = place;
            match handler.serve_with_ct(transport, ending).await {
                Ok(service) => drop(service.waiting().await),
                Err(error) => tracing::debug!("a session ended before it began: {error}"),
            }
            this.open.lock().remove(&id);
        });
        let first = tokio::time::Instant::now() + KEEP_ALIVE_INTERVAL;
        let keep_alive = tokio::time::interval_at(first, KEEP_ALIVE_INTERVAL);
        let mut response =
            Response::new(EventStream { written, keep_alive, _end: end.drop_guard() }.boxed());
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        // Without this header, nginx buffers events.
        headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
        response
    }

    /// Accepts a message for a session.
    pub(crate) async fn post(
        &self,
        parts: Parts,
        body: &[u8],
        principal: Option<&Principal>,
    ) -> HttpResponse {
        let Some(session) = session_id(&parts).and_then(|id| self.find(id, principal)) else {
            return text_response(
                StatusCode::NOT_FOUND,
                "there is no such session: open one with GET /sse",
            );
        };
        let envelope = match Envelope::of(body) {
            Ok(envelope) => envelope,
            Err(response) => return response,
        };
        if envelope.is_malformed_response() {
            return ignore_malformed();
        }
        let Ok(mut message) = serde_json::from_slice::<ClientJsonRpcMessage>(body) else {
            return envelope.unreadable(body);
        };
        if !session.admits(&message) {
            return envelope.invalid("another request with this id has no answer yet");
        }
        if session.waiting.lock().is_none() {
            let ignored = "ignored: the first message of a session is a request";
            return text_response(StatusCode::ACCEPTED, ignored);
        }
        let accepted = match &mut message {
            JsonRpcMessage::Request(request) => {
                request.request.extensions_mut().insert(parts);
                "accepted: the answer comes on the stream"
            }
            JsonRpcMessage::Notification(message) => {
                message.notification.extensions_mut().insert(parts);
                "accepted: a notification gets no answer"
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {
                "accepted: a response gets no answer"
            }
        };
        match session.posted.send_timeout(message, RECEIVE_TIMEOUT).await {
            Ok(()) => text_response(StatusCode::ACCEPTED, accepted),
            Err(mpsc::error::SendTimeoutError::Timeout(message)) => {
                if let JsonRpcMessage::Request(request) = &message {
                    session.finish(&request.id);
                }
                text_response(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "too many messages wait in this session",
                )
            }
            Err(mpsc::error::SendTimeoutError::Closed(_)) => text_response(
                StatusCode::NOT_FOUND,
                "the session has ended: open one with GET /sse",
            ),
        }
    }

    fn find(&self, id: &str, principal: Option<&Principal>) -> Option<Arc<Session>> {
        let open = self.open.lock();
        open.get(id).filter(|session| session.principal.as_ref() == principal).cloned()
    }
}

impl Session {
    /// Adds the id of a new request to the waiting ones, or removes the id of a cancelled request. Returns whether the
    /// message is accepted. A request is refused while another request with the same id has no response.
    fn admits(&self, message: &ClientJsonRpcMessage) -> bool {
        let mut waiting = self.waiting.lock();
        match message {
            JsonRpcMessage::Request(request) => {
                waiting.get_or_insert_default().insert(request.id.clone())
            }
            JsonRpcMessage::Notification(message) => {
                // A cancelled request gets no response.
                if let ClientNotification::CancelledNotification(cancelled) = &message.notification
                    && let (Some(id), Some(waiting)) = (&cancelled.params.request_id, &mut *waiting)
                {
                    waiting.remove(id);
                }
                true
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => true,
        }
    }

    /// Removes the request that this message responds to.
    fn responded(&self, message: &ServerJsonRpcMessage) {
        match message {
            JsonRpcMessage::Response(response) => self.finish(&response.id),
            JsonRpcMessage::Error(response) => {
                response.id.iter().for_each(|id| self.finish(id));
            }
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => {}
        }
    }

    /// Removes a request that no longer waits for a response. Its id may be used again.
    fn finish(&self, request: &RequestId) {
        if let Some(waiting) = &mut *self.waiting.lock() {
            waiting.remove(request);
        }
    }
}

/// The transport of one session, for rmcp.
struct SessionTransport {
    session: Arc<Session>,
    received: mpsc::Receiver<ClientJsonRpcMessage>,
    events: mpsc::Sender<Bytes>,
    raw: PassthroughKey,
    end: CancellationToken,
}

impl Transport<RoleServer> for SessionTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.session.responded(&message);
        let (events, raw, end) = (self.events.clone(), self.raw.clone(), self.end.clone());
        async move {
            let mut event = b"event: message\ndata: ".to_vec();
            event.extend(raw.to_json(message)?);
            event.extend(b"\n\n");
            events.send_timeout(event.into(), SEND_TIMEOUT).await.map_err(|error| {
                end.cancel();
                match error {
                    mpsc::error::SendTimeoutError::Timeout(_) => {
                        io::Error::new(io::ErrorKind::TimedOut, "the client does not read")
                    }
                    mpsc::error::SendTimeoutError::Closed(_) => {
                        io::Error::new(io::ErrorKind::BrokenPipe, "the client has disconnected")
                    }
                }
            })
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        tokio::select! {
            message = self.received.recv() => message,
            () = self.end.cancelled() => None,
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.end.cancel();
        Ok(())
    }
}

/// The event stream of one session. The session ends when the stream is dropped.
struct EventStream {
    written: mpsc::Receiver<Bytes>,
    keep_alive: Interval,
    _end: DropGuard,
}

impl Body for EventStream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Poll::Ready(event) = self.written.poll_recv(cx) {
            return Poll::Ready(event.map(|event| Ok(Frame::data(event))));
        }
        self.keep_alive.poll_tick(cx).map(|_| Some(Ok(Frame::data(Bytes::from_static(b":\n\n")))))
    }
}

/// The id of the session, from the query of the URL.
fn session_id(parts: &Parts) -> Option<&str> {
    let query = parts.uri.query()?;
    query.split('&').find_map(|pair| pair.strip_prefix("sessionId="))
}

/// An id of 128 random bits, which cannot be guessed.
fn random_id() -> Result<String, getrandom::Error> {
    let mut random = [0; 16];
    getrandom::fill(&mut random)?;
    Ok(data_encoding::HEXLOWER.encode(&random))
}

#[cfg(test)]
mod tests {
    use rmcp::model::ServerResult;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_loses_its_session() {
        let (posted, received) = mpsc::channel(1);
        let (events, mut written) = mpsc::channel(MAX_WAITING);
        let session = Arc::new(Session { principal: None, posted, waiting: Mutex::default() });
        let (raw, end) = (PassthroughKey::new().unwrap(), CancellationToken::new());
        let mut transport = SessionTransport { session, received, events, raw, end: end.clone() };
        let response = || JsonRpcMessage::response(ServerResult::empty(()), RequestId::Number(1));
        for _ in 0..MAX_WAITING {
            transport.send(response()).await.unwrap();
        }
        // A client that reads late does not lose its session.
        let (sent, ()) = tokio::join!(transport.send(response()), async {
            tokio::time::sleep(SEND_TIMEOUT / 2).await;
            written.recv().await.unwrap();
        });
        sent.unwrap();
        assert!(!end.is_cancelled());
        let error = transport.send(response()).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(end.is_cancelled() && transport.receive().await.is_none());
    }
}
