//! The transport streamable HTTP. Each message to the server is a POST request. An MCP request is answered by JSON or
//! by server-sent events.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response, StatusCode};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::event_stream::Events;
use super::requests::{EVENTS, JSON, Requests, SEND, Unanswered, body, is};
use super::{Era, Outgoing};
use crate::calls::{Origin, RequestEnd};
use crate::fault::FaultCause;
use crate::message;

pub(crate) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// Maximum length of a session id, in bytes.
const SESSION_BYTES: usize = 1024;

/// How long to wait before a stream is opened again if the server names no time, and up to what time failures lengthen
/// the wait.
const RETRY: Duration = Duration::from_secs(1);
const MAX_RETRY: Duration = Duration::from_secs(30);

/// Maximum number of attempts to resume the interrupted stream of an answer.
const RESUMPTIONS: u32 = 5;

/// After the answer, a stream is read to its end so that the connection can be reused: at most this many bytes, for
/// at most this long.
const REST_BYTES: usize = 64 * 1024;
const REST_TIME: Duration = Duration::from_millis(500);

/// The transport to one server.
pub(crate) struct Http {
    shared: Arc<Shared>,
    runtime: Handle,
    end: CancellationToken,
    _ends_with_this: DropGuard,
}

struct Shared {
    requests: Requests,
    /// The session id of a legacy server, if it has sessions.
    session: Mutex<Option<HeaderValue>>,
    /// The agreed revision of a legacy server.
    version: OnceLock<HeaderValue>,
}

impl Http {
    pub(crate) fn open(requests: Requests) -> Self {
        let shared = Shared { requests, session: Mutex::default(), version: OnceLock::new() };
        let end = CancellationToken::new();
        Self {
            shared: Arc::new(shared),
            runtime: Handle::current(),
            _ends_with_this: end.clone().drop_guard(),
            end,
        }
    }

    /// Sends a request in the background. The handle aborts the sending and the wait for the response.
    pub(crate) fn begin(&self, id: u64, outgoing: Outgoing) -> AbortHandle {
        let shared = self.shared.clone();
        let exchange = async move {
            if let Err(done) = shared.exchange(id, outgoing).await {
                shared.reply(shared.requests.calls.finish(id, done)).await;
            }
        };
        self.runtime.spawn(exchange).abort_handle()
    }

    /// Sends a notification or an answer.
    pub(crate) async fn send(&self, message: Vec<u8>) -> Result<(), FaultCause> {
        self.shared.send(message).await
    }

    /// Sends messages in the background.
    pub(crate) fn send_soon(&self, messages: Vec<Vec<u8>>) {
        let shared = self.shared.clone();
        self.runtime.spawn(async move { shared.reply(messages).await });
    }

    /// Sets the revision that a legacy server agreed on.
    pub(crate) fn agree(&self, version: HeaderValue) {
        // The revision is set once for each connection.
        let _first = self.shared.version.set(version);
    }

    /// Starts to receive messages of a legacy server that belong to no request.
    pub(crate) fn listen(&self) {
        let (shared, end) = (self.shared.clone(), self.end.clone());
        self.runtime.spawn(async move { end.run_until_cancelled(shared.listen()).await });
    }

    /// Ends the requests in flight and the session.
    pub(crate) async fn close(&self) {
        self.end.cancel();
        self.shared.requests.calls.end(&FaultCause::Closed);
        let Some(session) = self.shared.session.lock().take() else { return };
        self.shared.clone().delete(session).await;
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        self.shared.requests.calls.end(&FaultCause::Closed);
        if let Some(session) = self.shared.session.lock().take() {
            self.runtime.spawn(self.shared.clone().delete(session));
        }
    }
}

impl Shared {
    /// The headers that a legacy server demands with every request.
    fn session_headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let Some(session) = self.session.lock().clone() {
            headers.insert(SESSION, session);
        }
        if let Some(version) = self.version.get() {
            headers.insert(VERSION, version.clone());
        }
        headers
    }

    /// Sends a request and passes the response on, up to the answer.
    ///
    /// # Errors
    ///
    /// The request ended with an error response, or without an answer.
    async fn exchange(&self, id: u64, outgoing: Outgoing) -> Result<(), RequestEnd> {
        let requests = &self.requests;
        let mut headers = outgoing.headers;
        if outgoing.era == Era::Legacy {
            headers.extend(self.session_headers());
        }
        let in_session = headers.contains_key(SESSION);
        let request = requests.post(requests.url().clone(), headers, outgoing.body);
        let mut response = requests.answer(request).await.map_err(RequestEnd::Trouble)?;
        let status = response.status();
        if !status.is_success() {
            let refusal = requests.refusal(response).await;
            if in_session && (status == StatusCode::NOT_FOUND || is_about_session(status, &refusal))
            {
                requests.calls.retire(FaultCause::lost("it has forgotten the session"));
                return Err(RequestEnd::SessionGone);
            }
            return Err(refusal);
        }
        if outgoing.era == Era::Legacy && !in_session {
            self.keep_session(&response)?;
        }
        if is(&response, EVENTS) {
            return self.follow(id, response, outgoing.era).await;
        }
        if !is(&response, JSON) {
            let because = "it answers a request with neither JSON nor events; check that `url` is \
                its MCP endpoint";
            return Err(RequestEnd::Trouble(FaultCause::Configuration(because.into())));
        }
        let read = body(&mut response, requests.most).await;
        let read = read.map_err(|error| RequestEnd::Trouble(requests.unanswered(error)))?;
        let body = read.ok_or(RequestEnd::Trouble(FaultCause::TooLarge(requests.most)))?;
        self.reply(requests.calls.receive(&body, Origin::Request(id))).await;
        if requests.calls.is_open(id) {
            return Err(RequestEnd::Trouble(FaultCause::protocol(
                "its response does not answer the request",
            )));
        }
        Ok(())
    }

    fn keep_session(&self, response: &Response) -> Result<(), RequestEnd> {
        let Some(session) = response.headers().get(SESSION) else { return Ok(()) };
        if session.len() > SESSION_BYTES || session.to_str().is_err() {
            return Err(RequestEnd::Trouble(FaultCause::protocol("its session id is not valid")));
        }
        *self.session.lock() = Some(session.clone());
        Ok(())
    }

    /// Reads the events of a response. If the stream is interrupted, a legacy server may resume it.
    async fn follow(&self, id: u64, mut response: Response, era: Era) -> Result<(), RequestEnd> {
        let requests = &self.requests;
        let mut events = Events::new(requests.most);
        let mut resumptions = 0;
        loop {
            let because = loop {
                let chunk = match response.chunk().await {
                    Ok(Some(chunk)) => chunk,
                    Ok(None) => break "it ended the event stream before the answer".to_owned(),
                    Err(error) => break super::requests::describe(error),
                };
                for event in events.feed(&chunk) {
                    self.reply(requests.receive(event, Origin::Request(id))).await;
                }
                if !requests.calls.is_open(id) {
                    read_rest(response).await;
                    return Ok(());
                }
            };
            let Some(last) = events.last_id.clone().filter(|_| era == Era::Legacy) else {
                return Err(RequestEnd::Trouble(FaultCause::lost(because)));
            };
            response = loop {
                resumptions += 1;
                if resumptions > RESUMPTIONS {
                    return Err(RequestEnd::Trouble(FaultCause::lost(because)));
                }
                sleep(events.retry.unwrap_or(RETRY)).await;
                match self.stream(Some(&last)).await {
                    Ok(response) if response.status().is_success() => break response,
                    Ok(_) | Err(_) => {}
                }
            };
        }
    }

    /// Opens a stream: of messages that belong to no request, or of the events after `last`.
    async fn stream(&self, last: Option<&str>) -> Result<Response, Unanswered> {
        let mut request = self
            .requests
            .request(Method::GET, self.requests.url().clone())
            .headers(self.session_headers())
            .header(header::ACCEPT, HeaderValue::from_static(EVENTS));
        if let Some(last) = last.and_then(|last| HeaderValue::from_str(last).ok()) {
            request = request.header(LAST_EVENT, last);
        }
        self.requests.send(request).await
    }

    /// Reads messages of a legacy server that belong to no request, until the server refuses the stream or the
    /// connection accepts no further request.
    async fn listen(&self) {
        let mut failures = 0;
        let mut last = None;
        let mut retry = None;
        while !self.requests.calls.has_ended() {
            match self.stream(last.as_deref()).await {
                Ok(response) if response.status().is_success() && is(&response, EVENTS) => {
                    failures = 0;
                    let mut events = Events::new(self.requests.most);
                    self.overhear(response, &mut events).await;
                    last = events.last_id.or(last);
                    retry = events.retry.or(retry);
                }
                Ok(response) if response.status() == StatusCode::NOT_FOUND => {
                    if self.session.lock().is_some() {
                        let gone = FaultCause::lost("it has forgotten the session");
                        self.requests.calls.retire(gone);
                    }
                    return;
                }
                // The server has no such stream.
                Ok(response) if !response.status().is_server_error() => return,
                Ok(_) | Err(_) => failures += 1,
            }
            let wait = retry.unwrap_or(RETRY);
            sleep(wait.max(wait.saturating_mul(1 << failures.min(5)).min(MAX_RETRY))).await;
        }
    }

    async fn overhear(&self, mut response: Response, events: &mut Events) {
        while let Ok(Some(chunk)) = response.chunk().await {
            for event in events.feed(&chunk) {
                self.reply(self.requests.receive(event, Origin::Shared)).await;
            }
        }
    }

    async fn send(&self, message: Vec<u8>) -> Result<(), FaultCause> {
        let requests = &self.requests;
        let request = requests.post(requests.url().clone(), self.session_headers(), message);
        let response = requests.answer(request).await?;
        if response.status().is_success() {
            return Ok(());
        }
        match requests.refusal(response).await {
            RequestEnd::Answer(Err(message::RpcError { message, .. }), _) => {
                Err(FaultCause::protocol(format!("it refuses a notification: {message}")))
            }
            RequestEnd::Trouble(trouble) => Err(trouble),
            RequestEnd::Answer(Ok(_), _) | RequestEnd::SessionGone => Ok(()),
        }
    }

    /// Sends messages, one after the other, and logs failures.
    async fn reply(&self, messages: Vec<Vec<u8>>) {
        for message in messages {
            if let Ok(Err(trouble)) = timeout(SEND, self.send(message)).await {
                self.requests
                    .calls
                    .warn(&format!("a message to it could not be delivered: {trouble}"));
            }
        }
    }

    async fn delete(self: Arc<Self>, session: HeaderValue) {
        let url = self.requests.url().clone();
        let mut request = self.requests.request(Method::DELETE, url).header(SESSION, session);
        if let Some(version) = self.version.get() {
            request = request.header(VERSION, version.clone());
        }
        // The server may not support `DELETE`, or may have ended.
        let _ended = timeout(SEND, self.requests.send(request)).await;
    }
}

/// Whether an answer with status 400 means that the server has forgotten the session. The specification demands 404,
/// but many servers follow an example that answers 400.
fn is_about_session(status: StatusCode, refusal: &RequestEnd) -> bool {
    match refusal {
        RequestEnd::Answer(Err(error), _) => {
            status == StatusCode::BAD_REQUEST
                && error.message.to_ascii_lowercase().contains("session id")
        }
        RequestEnd::Answer(Ok(_), _) | RequestEnd::Trouble(_) | RequestEnd::SessionGone => false,
    }
}

/// Reads the rest of a response, if it is short.
async fn read_rest(mut response: Response) {
    let rest = async {
        let mut left = REST_BYTES;
        while let Ok(Some(chunk)) = response.chunk().await {
            left = left.saturating_sub(chunk.len());
            if left == 0 {
                return;
            }
        }
    };
    let _near = timeout(REST_TIME, rest).await;
}
