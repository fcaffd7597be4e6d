//! The transports to an upstream: stdio, streamable HTTP and HTTP+SSE.

mod event_stream;
mod http;
mod legacy;
mod requests;
mod stdio;

use std::sync::Arc;

use reqwest::header::HeaderMap;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::calls::{Calls, EnteredRequest, QuestionKey, RequestEnd, RequestEvent, RequestOwner};
use crate::fault::FaultCause;
use crate::message;

pub(crate) use http::Http;
pub(crate) use legacy::Sse;
pub(crate) use requests::Requests;
pub(crate) use stdio::Stdio;

/// The era of a protocol revision: with or without a handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// With a handshake and sessions: 2024-11-05 to 2025-11-25.
    Legacy,
    /// Without a handshake: 2026-07-28.
    Modern,
}

/// A request, ready to be sent.
pub(crate) struct Outgoing {
    pub(crate) body: Vec<u8>,
    /// HTTP headers. Only streamable HTTP sends them.
    pub(crate) headers: HeaderMap,
    pub(crate) era: Era,
}

/// A transport to an upstream.
pub(crate) enum Wire {
    Stdio(Stdio),
    Http(Http),
    Sse(Sse),
}

/// A reserved place for one outgoing message.
enum OutgoingSlot<'a> {
    Queue(mpsc::Permit<'a, Vec<u8>>),
    Http(&'a Http),
    Sse(&'a Sse),
}

impl Wire {
    async fn place(&self) -> Result<OutgoingSlot<'_>, FaultCause> {
        Ok(match self {
            Self::Stdio(stdio) => OutgoingSlot::Queue(stdio.place().await?),
            Self::Http(http) => OutgoingSlot::Http(http),
            Self::Sse(sse) => OutgoingSlot::Sse(sse),
        })
    }

    /// Sends a notification or an answer.
    pub(crate) async fn send(&self, message: Vec<u8>) -> Result<(), FaultCause> {
        match self {
            Self::Stdio(stdio) => {
                stdio.place().await?.send(message);
                Ok(())
            }
            Self::Http(http) => http.send(message).await,
            Self::Sse(sse) => sse.send(message).await,
        }
    }

    /// Sends messages in the background.
    fn send_soon(self: &Arc<Self>, messages: Vec<Vec<u8>>) {
        if messages.is_empty() {
            return;
        }
        match &**self {
            Self::Stdio(stdio) => messages.into_iter().for_each(|message| stdio.send_soon(message)),
            Self::Http(http) => http.send_soon(messages),
            Self::Sse(sse) => sse.send_soon(messages),
        }
    }

    /// Closes the connection, and waits until that is done.
    pub(crate) async fn close(&self) {
        match self {
            Self::Stdio(stdio) => stdio.close().await,
            Self::Http(http) => http.close().await,
            Self::Sse(sse) => sse.close(),
        }
    }

    /// The process id of the child, if there is one.
    pub(crate) fn process(&self) -> Option<u32> {
        match self {
            Self::Stdio(stdio) => stdio.process(),
            Self::Http(_) | Self::Sse(_) => None,
        }
    }
}

/// A transport with the requests in flight on it.
#[derive(Clone)]
pub(crate) struct Channel {
    pub(crate) wire: Arc<Wire>,
    pub(crate) calls: Arc<Calls>,
}

impl Channel {
    /// Sends the request that `make` returns for its id. If the future is dropped before it is ready, nothing was sent.
    pub(crate) async fn begin(
        &self,
        whose: RequestOwner,
        make: impl FnOnce(u64) -> Outgoing,
    ) -> Result<PendingRequest, FaultCause> {
        let place = self.wire.place().await?;
        let EnteredRequest { id, happenings, done } = self.calls.enter(whose)?;
        let outgoing = make(id);
        let era = outgoing.era;
        let exchange = match place {
            OutgoingSlot::Queue(permit) => {
                permit.send(outgoing.body);
                None
            }
            OutgoingSlot::Http(http) => Some(http.begin(id, outgoing)),
            OutgoingSlot::Sse(sse) => Some(sse.begin(id, outgoing.body)),
        };
        Ok(PendingRequest {
            id,
            happenings,
            done,
            channel: self.clone(),
            exchange,
            era,
            is_handshake: false,
        })
    }
}

/// A request in flight. Dropping it before its end cancels the request.
pub(crate) struct PendingRequest {
    pub(crate) id: u64,
    pub(crate) happenings: mpsc::Receiver<RequestEvent>,
    pub(crate) done: tokio::sync::oneshot::Receiver<RequestEnd>,
    channel: Channel,
    /// The task that sends the request over HTTP.
    exchange: Option<AbortHandle>,
    era: Era,
    /// Whether the request is a handshake. A handshake must not be cancelled at the upstream.
    pub(crate) is_handshake: bool,
}

impl PendingRequest {
    /// Waits for the end, and ignores everything else.
    pub(crate) async fn done(&mut self) -> RequestEnd {
        ended((&mut self.done).await)
    }

    /// Answers a question of the upstream.
    pub(crate) async fn answer(
        &self,
        key: QuestionKey,
        answer: &Result<serde_json::Value, message::RpcError>,
    ) -> Result<(), FaultCause> {
        match self.channel.calls.take_ask(self.id, key) {
            Some(id) => self.channel.wire.send(message::answer(&id, answer)).await,
            // The question was withdrawn, or the request has ended.
            None => Ok(()),
        }
    }
}

/// How a request ended. The sender is dropped without a value only when the connection is closed.
pub(crate) fn ended(
    done: Result<RequestEnd, tokio::sync::oneshot::error::RecvError>,
) -> RequestEnd {
    done.unwrap_or_else(|_| RequestEnd::Trouble(FaultCause::Closed))
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        let Some(mut messages) = self.channel.calls.forget(self.id) else { return };
        if let Some(exchange) = &self.exchange {
            exchange.abort();
        }
        // Over HTTP, a modern request is cancelled by closing the response.
        let by_message = match (&*self.channel.wire, self.era) {
            (Wire::Http(_), Era::Modern) => false,
            (Wire::Http(_), Era::Legacy) | (Wire::Stdio(_) | Wire::Sse(_), _) => true,
        };
        if by_message && !self.is_handshake {
            messages.push(message::cancelled(self.id));
        }
        self.channel.wire.send_soon(messages);
    }
}
