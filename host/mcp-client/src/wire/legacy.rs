//! The transport HTTP+SSE, of MCP 2024-11-05. All messages of the server are events of one response. The first event
//! names the endpoint for messages to the server.

use std::sync::Arc;

use reqwest::header::{self, HeaderMap, HeaderValue};
use reqwest::{Method, Response};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use url::Url;

use super::event_stream::{Event, Events};
use super::requests::{EVENTS, Requests, SEND, is};
use crate::calls::{Origin, RequestEnd};
use crate::fault::FaultCause;

/// The transport to one server.
pub(crate) struct Sse {
    shared: Arc<Shared>,
    runtime: Handle,
    end: CancellationToken,
    _ends_with_this: DropGuard,
}

struct Shared {
    requests: Requests,
    /// The endpoint for messages to the server.
    endpoint: Url,
}

impl Sse {
    /// Connects, and waits until the server names the endpoint for messages.
    pub(crate) async fn open(requests: Requests) -> Result<Self, FaultCause> {
        let request = requests
            .request(Method::GET, requests.url().clone())
            .header(header::ACCEPT, HeaderValue::from_static(EVENTS));
        let response = requests.answer(request).await?;
        if !response.status().is_success() {
            return Err(match requests.refusal(response).await {
                RequestEnd::Trouble(trouble) => trouble,
                RequestEnd::Answer(..) | RequestEnd::SessionGone => {
                    FaultCause::protocol("it refuses the event stream")
                }
            });
        }
        if !is(&response, EVENTS) {
            let because = "it does not send an event stream at its `url`; check `url`, and remove `transport`";
            return Err(FaultCause::Configuration(because.into()));
        }
        let events = Events::new(requests.most);
        let mut stream = Stream { response, events, read: Vec::new() };
        let endpoint = stream.endpoint(requests.url()).await?;
        let shared = Arc::new(Shared { requests, endpoint });
        let end = CancellationToken::new();
        let reading = shared.clone().read(stream);
        let until = end.clone();
        let runtime = Handle::current();
        runtime.spawn(async move { until.run_until_cancelled(reading).await });
        Ok(Self { shared, runtime, _ends_with_this: end.clone().drop_guard(), end })
    }

    /// Sends a request. The answer is one of the events.
    pub(crate) fn begin(&self, id: u64, body: Vec<u8>) -> AbortHandle {
        let shared = self.shared.clone();
        let sending = async move {
            if let Err(trouble) = shared.send(body).await {
                // The server may have asked questions for the request before the request failed.
                let done = RequestEnd::Trouble(trouble);
                shared.reply(shared.requests.calls.finish(id, done)).await;
            }
        };
        self.runtime.spawn(sending).abort_handle()
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

    pub(crate) fn close(&self) {
        self.end.cancel();
        self.shared.requests.calls.end(&FaultCause::Closed);
    }
}

impl Drop for Sse {
    fn drop(&mut self) {
        self.shared.requests.calls.end(&FaultCause::Closed);
    }
}

impl Shared {
    async fn send(&self, message: Vec<u8>) -> Result<(), FaultCause> {
        let request = self.requests.post(self.endpoint.clone(), HeaderMap::new(), message);
        let response = self.requests.answer(request).await?;
        if response.status().is_success() {
            return Ok(());
        }
        Err(match self.requests.refusal(response).await {
            RequestEnd::Trouble(trouble) => trouble,
            RequestEnd::Answer(Err(error), _) => FaultCause::protocol(format!(
                "it refuses a message: {} {}",
                error.code, error.message
            )),
            RequestEnd::Answer(Ok(_), _) | RequestEnd::SessionGone => {
                FaultCause::protocol("it refuses a message")
            }
        })
    }

    async fn reply(&self, messages: Vec<Vec<u8>>) {
        for message in messages {
            if let Ok(Err(trouble)) = timeout(SEND, self.send(message)).await {
                self.requests
                    .calls
                    .warn(&format!("a message to it could not be delivered: {trouble}"));
            }
        }
    }

    /// Passes the messages of the server on, until the stream ends.
    async fn read(self: Arc<Self>, mut stream: Stream) {
        let because = loop {
            match stream.next().await {
                Ok(event) => {
                    self.reply(self.requests.receive(event, Origin::Shared)).await;
                }
                Err(trouble) => break trouble,
            }
        };
        self.requests.calls.end(&because);
    }
}

/// The events of a server.
struct Stream {
    response: Response,
    events: Events,
    /// Events that were read and not yet returned, in reverse order.
    read: Vec<Event>,
}

impl Stream {
    async fn next(&mut self) -> Result<Event, FaultCause> {
        loop {
            if let Some(event) = self.read.pop() {
                return Ok(event);
            }
            match self.response.chunk().await {
                Ok(Some(chunk)) => {
                    self.read = self.events.feed(&chunk);
                    self.read.reverse();
                }
                Ok(None) => return Err(FaultCause::lost("it ended the event stream")),
                Err(error) => return Err(FaultCause::lost(super::requests::describe(error))),
            }
        }
    }

    /// The endpoint for messages. It must be on the same server, because the headers may contain secrets.
    async fn endpoint(&mut self, url: &Url) -> Result<Url, FaultCause> {
        loop {
            let Event::Whole { kind, data } = self.next().await? else { continue };
            if kind != "endpoint" {
                continue;
            }
            let endpoint =
                std::str::from_utf8(&data).ok().and_then(|data| url.join(data.trim()).ok());
            return match endpoint {
                Some(endpoint) if endpoint.origin() == url.origin() => Ok(endpoint),
                Some(_) => {
                    Err(FaultCause::protocol("its endpoint for messages is on another server"))
                }
                None => {
                    Err(FaultCause::protocol("its endpoint for messages is not a valid address"))
                }
            };
        }
    }
}
