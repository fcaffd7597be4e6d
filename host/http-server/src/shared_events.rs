//! Event streams of sessions that several hosts serve: each host appends to the logs in the cluster's state, and the host
//! that has the connection of the client reads them.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use data_encoding::BASE64URL_NOPAD;
use futures_util::{Stream, StreamExt, stream};
use parking_lot::Mutex;
use portcullis_cluster_state::{EventLog, EventReader, Found, HostId, NewEvent, StateError};
use portcullis_result_passthrough::PassthroughKey;
use rmcp::model::{
    CustomNotification, CustomRequest, CustomResult, ErrorCode, ErrorData, JsonRpcMessage,
    RequestId, ServerJsonRpcMessage, ServerNotification, ServerRequest, ServerResult,
};
use rmcp::transport::streamable_http_server::session::{EventStream, ServerSseMessage};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::{Notify, mpsc};

use crate::session_share::{Member, SessionShare};
use crate::timeouts::SEND_TIMEOUT;

/// Interval at which a stream looks whether its session goes on, if no host wakes it.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);

/// Interval at which a stream that was begun at another host looks for new events.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(200);

/// Pause after the cluster's state could not be used.
const PAUSE: Duration = Duration::from_millis(500);

/// Maximum length of a request's id in the name of a stream.
const MAX_ID: usize = 96;

/// The error of a request whose host is gone.
const LOST: &str = "the host that served this request has ended or cannot be reached, and its answer is lost. What it did \
                    until then may have taken effect; it was not repeated";

/// The events of the sessions of this host.
#[derive(Clone)]
pub(crate) struct SharedEvents(Arc<Inner>);

struct Inner {
    member: Member,
    raw: PassthroughKey,
    max_bytes: u64,
    /// Numbers events, streams and readers of this host.
    next: AtomicU64,
    /// Wakes the streams of sessions.
    wakes: Mutex<HashMap<String, Weak<Notify>>>,
}

/// An event in response to a request, as the cluster's state has it.
#[derive(Serialize, Deserialize)]
struct ResponseEvent<'a> {
    #[serde(borrow)]
    stream: std::borrow::Cow<'a, str>,
    number: u64,
    /// The message. `None`: the stream has ended without a response.
    #[serde(borrow)]
    message: Option<&'a RawValue>,
}

/// Writes the events of one request's stream to the cluster's state.
pub(crate) struct ResponseLog {
    events: SharedEvents,
    session: Arc<str>,
    stream: String,
    has_response: bool,
}

impl SharedEvents {
    pub(crate) fn new(member: Member, raw: PassthroughKey, max_bytes: u64) -> Self {
        let (next, wakes) = (AtomicU64::new(1), Mutex::default());
        Self(Arc::new(Inner { member, raw, max_bytes, next, wakes }))
    }

    fn next(&self) -> u64 {
        self.0.next.fetch_add(1, Ordering::Relaxed)
    }

    /// The name of a new stream, for the response to a request, and the log of the stream. The name says which host
    /// serves the request, and which request it is.
    pub(crate) fn begin(&self, session: Arc<str>, request: Option<&RequestId>) -> ResponseLog {
        let id = request.and_then(|id| serde_json::to_vec(id).ok()).unwrap_or_default();
        let id = if id.len() > MAX_ID { String::new() } else { BASE64URL_NOPAD.encode(&id) };
        let stream = format!("{}.{}.{id}", self.0.member.host, self.next());
        ResponseLog { events: self.clone(), session, stream, has_response: false }
    }

    /// Wakes the streams of a session.
    pub(crate) fn wake(&self, session: &str) {
        let waiting = self.0.wakes.lock().get(session).and_then(Weak::upgrade);
        if let Some(waiting) = waiting {
            waiting.notify_waiters();
        }
    }

    fn waiting(&self, session: &str) -> Arc<Notify> {
        let mut wakes = self.0.wakes.lock();
        if let Some(waiting) = wakes.get(session).and_then(Weak::upgrade) {
            return waiting;
        }
        wakes.retain(|_, waiting| waiting.strong_count() > 0);
        let waiting = Arc::new(Notify::new());
        wakes.insert(session.to_owned(), Arc::downgrade(&waiting));
        waiting
    }

    /// A message as JSON. A result that was wrapped to pass through rmcp is unwrapped, because other hosts cannot.
    fn json(&self, message: &ServerJsonRpcMessage) -> Option<Vec<u8>> {
        let text = serde_json::to_vec(message).ok()?;
        Some(self.0.raw.unwrap(&text).unwrap_or(text))
    }

    async fn append(
        &self,
        session: &str,
        log: EventLog,
        event: &[u8],
        number: u64,
    ) -> Result<(), StateError> {
        let Member { state, host, kept } = &self.0.member;
        let new = NewEvent { event, number, max_bytes: self.0.max_bytes, kept: *kept };
        state.append_session_event(session, log, host, new).await.map(drop)
    }

    /// Appends the messages of this host that belong to no request, until `events` end.
    pub(crate) async fn write_common(
        self,
        session: Arc<str>,
        events: impl Stream<Item = ServerSseMessage>,
    ) {
        let mut events = pin!(events);
        while let Some(event) = events.next().await {
            let text = event.message.as_deref().and_then(|message| self.json(message));
            let Some(text) = text else { continue };
            let number = self.next();
            let until = tokio::time::Instant::now() + SEND_TIMEOUT;
            while let Err(error) = self.append(&session, EventLog::Common, &text, number).await {
                if !error.is_away() || tokio::time::Instant::now() >= until {
                    tracing::warn!("a message to a client was not kept: {error}");
                    break;
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    /// Reads the messages that belong to no request: from an event on, or those that no stream has read. `share`: the
    /// session at this host, which takes part in watching resources as long as the client reads.
    pub(crate) fn read_common(
        &self,
        session: Arc<str>,
        from: Option<u64>,
        share: Weak<SessionShare>,
    ) -> EventStream {
        let (this, (events, read)) = (self.clone(), mpsc::channel(1));
        let taken = Arc::new(AtomicU64::new(0));
        let last = taken.clone();
        tokio::spawn(async move {
            let reader = EventReader::new(&this.0.member.host, this.next());
            tokio::select! {
                () = this.follow_common(&session, &reader, from, &events, share) => {}
                () = events.closed() => {}
            }
            let (next, state) = (last.load(Ordering::Relaxed) + 1, &this.0.member.state);
            if let Err(error) = state.release_session_events(&session, &reader, next).await {
                tracing::debug!("ending an event stream: {error}");
            }
        });
        received(read, taken)
    }

    async fn follow_common(
        &self,
        session: &str,
        reader: &EventReader,
        mut from: Option<u64>,
        events: &mpsc::Sender<ServerSseMessage>,
        share: Weak<SessionShare>,
    ) {
        let (waiting, mut claims) = (self.waiting(session), true);
        loop {
            let mut woken = pin!(waiting.notified());
            woken.as_mut().enable();
            let state = &self.0.member.state;
            match state.read_session_events(session, reader, from, claims).await {
                Ok(Found::NoSession) => return,
                Ok(Found::Superseded) => claims = false,
                Ok(Found::Events(first, some)) => {
                    claims = false;
                    let next = first + some.len() as u64;
                    from = Some(next);
                    for (number, event) in (first..).zip(&some) {
                        let Some(message) = untyped(event) else { continue };
                        let event = ServerSseMessage::new(number.to_string(), message);
                        if events.send(event).await.is_err() {
                            return;
                        }
                    }
                    // The next call says that these events are read, so the connection has to take the last one first.
                    if events.reserve().await.is_err() {
                        return;
                    }
                    if next > first {
                        continue;
                    }
                }
                Err(error) => {
                    tracing::debug!("reading the events of a session: {error}");
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            }
            if tokio::time::timeout(LOOK_INTERVAL, woken).await.is_err()
                && let Some(share) = share.upgrade()
                && let Err(error) = share.refresh().await
            {
                tracing::debug!("looking at a session: {error}");
            }
        }
    }

    /// Resumes the stream of a request after an event. The stream was begun at another host.
    pub(crate) fn read_responses(
        &self,
        session: Arc<str>,
        stream: String,
        after: u64,
    ) -> EventStream {
        let (this, (events, read)) = (self.clone(), mpsc::channel(1));
        tokio::spawn(async move {
            tokio::select! {
                () = this.follow_responses(&session, &stream, after, &events) => {}
                () = events.closed() => {}
            }
        });
        received(read, Arc::default())
    }

    async fn follow_responses(
        &self,
        session: &str,
        stream: &str,
        mut last: u64,
        events: &mpsc::Sender<ServerSseMessage>,
    ) {
        let Some((host, request)) = parse_stream(stream) else { return };
        let (mut from, state) = (0, &self.0.member.state);
        loop {
            // Asked before the events are read: a host that ends has written its last event before.
            let is_alive = state.is_host_alive(&host).await.unwrap_or(true);
            loop {
                let Ok(found) = state.read_session_responses(session, from).await else { break };
                let Found::Events(first, some) = found else { return };
                from = first + some.len() as u64;
                for one in &some {
                    let Ok(one) = serde_json::from_slice::<ResponseEvent<'_>>(one) else {
                        continue;
                    };
                    if one.stream != stream {
                        continue;
                    }
                    let message = one.message.and_then(|text| untyped(text.get().as_bytes()));
                    let Some(message) = message else { return };
                    let is_last = is_response(&message);
                    if one.number > last {
                        last = one.number;
                        let id = format!("{last}/{stream}");
                        if events.send(ServerSseMessage::new(id, message)).await.is_err() {
                            return;
                        }
                    }
                    if is_last {
                        return;
                    }
                }
                if some.is_empty() {
                    break;
                }
            }
            if !is_alive {
                if let Some(request) = request {
                    let error = ErrorData::new(ErrorCode::INTERNAL_ERROR, LOST, None);
                    let message = JsonRpcMessage::error(error, Some(request));
                    let id = format!("{}/{stream}", last + 1);
                    let _gone = events.send(ServerSseMessage::new(id, message)).await;
                }
                return;
            }
            tokio::time::sleep(FOLLOW_INTERVAL).await;
        }
    }
}

impl ResponseLog {
    /// The name of the stream.
    pub(crate) fn stream(&self) -> &str {
        &self.stream
    }

    /// Appends an event of the stream. A failure is logged: the stream itself goes on.
    pub(crate) async fn append(&mut self, number: u64, message: &ServerJsonRpcMessage) {
        self.has_response |= is_response(message);
        let Some(text) = self.events.json(message) else { return };
        let Ok(text) = serde_json::from_slice::<&RawValue>(&text) else { return };
        self.write(number, Some(text)).await;
    }

    /// Notes the end of the stream.
    pub(crate) async fn end(self, number: u64) {
        if !self.has_response {
            self.write(number, None).await;
        }
    }

    async fn write(&self, number: u64, message: Option<&RawValue>) {
        let event = ResponseEvent { stream: self.stream.as_str().into(), number, message };
        let Ok(text) = serde_json::to_vec(&event) else { return };
        let (events, log) = (&self.events, EventLog::Responses);
        if let Err(error) = events.append(&self.session, log, &text, events.next()).await {
            tracing::debug!("an event cannot be resumed at another host: {error}");
        }
    }
}

/// The host that serves a request, and the id of the request, from the name of a stream.
fn parse_stream(stream: &str) -> Option<(HostId, Option<RequestId>)> {
    let mut parts = stream.split('.');
    let (host, _number, id) = (parts.next()?, parts.next()?, parts.next()?);
    let id = BASE64URL_NOPAD.decode(id.as_bytes()).ok();
    Some((HostId::parse(host)?, id.and_then(|id| serde_json::from_slice(&id).ok())))
}

fn is_response(message: &ServerJsonRpcMessage) -> bool {
    matches!(message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_))
}

/// A message of another host in those of rmcp's types that change nothing in it.
fn untyped(text: &[u8]) -> Option<ServerJsonRpcMessage> {
    let mut message: Value = serde_json::from_slice(text).ok()?;
    let members = message.as_object_mut()?;
    let id: Option<RequestId> = members.get("id").and_then(|id| RequestId::deserialize(id).ok());
    if let Some(result) = members.remove("result") {
        let result = ServerResult::CustomResult(CustomResult(result));
        return Some(JsonRpcMessage::response(result, id?));
    }
    let params = members.remove("params").filter(|params| !params.is_null());
    let method = members.get("method").and_then(Value::as_str).map(str::to_owned);
    let (Some(method), Some(_)) = (method, &params) else {
        // Without parameters, rmcp's types for any method would write `null`.
        return serde_json::from_value(message).ok();
    };
    Some(match id {
        Some(id) => {
            let request = CustomRequest::new(method, params);
            JsonRpcMessage::request(ServerRequest::CustomRequest(request), id)
        }
        None => {
            let sent = CustomNotification::new(method, params);
            JsonRpcMessage::notification(ServerNotification::CustomNotification(sent))
        }
    })
}

/// The stream of these events. `taken`: gets the number of the event that the connection took last.
fn received(events: mpsc::Receiver<ServerSseMessage>, taken: Arc<AtomicU64>) -> EventStream {
    Box::pin(stream::unfold((events, taken), |(mut events, taken)| async {
        let event = events.recv().await?;
        let number = event.event_id.as_deref().and_then(|id| id.parse().ok());
        taken.fetch_max(number.unwrap_or_default(), Ordering::Relaxed);
        Some((event, (events, taken)))
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_of_other_hosts_stay_as_they_are() {
        for message in [
            json!({"jsonrpc": "2.0", "id": 1, "result": {"content": [], "x": {"y": [1.5, null]}}}),
            json!({"jsonrpc": "2.0", "id": "a.0", "method": "elicitation/create",
                   "params": {"mode": "form", "message": "m", "unknown": 1}}),
            json!({"jsonrpc": "2.0", "method": "notifications/message",
                   "params": {"level": "info", "data": {"a": 1}, "unknown": 1}}),
            json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}),
            json!({"jsonrpc": "2.0", "id": 2, "error": {"code": -1, "message": "m", "data": 3}}),
        ] {
            let read = untyped(message.to_string().as_bytes()).unwrap();
            assert_eq!(serde_json::to_value(read).unwrap(), message);
        }
        assert!(untyped(b"{}").is_none() && untyped(b"").is_none());
    }

    #[test]
    fn the_name_of_a_stream_says_which_host_serves_which_request() {
        let host = HostId::new().unwrap();
        for (id, expected) in [
            (BASE64URL_NOPAD.encode(b"7"), Some(RequestId::Number(7))),
            (BASE64URL_NOPAD.encode(b"\"a.b\""), Some(RequestId::String("a.b".into()))),
            (String::new(), None),
        ] {
            assert_eq!(parse_stream(&format!("{host}.3.{id}")), Some((host.clone(), expected)));
        }
        assert_eq!(parse_stream("x.3.Nw"), None);
        assert_eq!(parse_stream("17"), None);
    }
}
