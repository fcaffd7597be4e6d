//! The HTTP client of both HTTP transports: without redirects, with verified TLS, for configured addresses only.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use portcullis_login::{Challenge, Login, NoToken, Token};
use portcullis_scrub::{Scrub, secret_parts};
use reqwest::header::{self, HeaderMap, HeaderValue};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use url::Url;

use super::event_stream::Event;
use crate::calls::{Calls, Origin, RequestEnd};
use crate::definition::Address;
use crate::fault::FaultCause;
use crate::message;
use crate::text;

/// The longest time to send a message in the background.
pub(crate) const SEND: Duration = Duration::from_secs(10);

/// How long a connection is idle before TCP probes it.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// Maximum size of an error response that is read, in bytes.
const REFUSAL_BYTES: usize = 64 * 1024;

pub(crate) const EVENTS: &str = "text/event-stream";
pub(crate) const JSON: &str = "application/json";

/// Maximum number of times that a request is sent again with a new token.
const TOKENS: usize = 2;

/// Requests to one address.
pub(crate) struct Requests {
    client: reqwest::Client,
    address: Address,
    /// The source of access tokens. `None`: no tokens are obtained.
    login: Option<Arc<Login>>,
    pub(crate) calls: Arc<Calls>,
    /// Maximum size of a message, in bytes.
    pub(crate) most: usize,
}

/// Why there is no response.
pub(crate) enum Unanswered {
    Http(reqwest::Error),
    /// The server demands a token, and there is none that it accepts. The text says why.
    Login(Box<str>),
}

impl Requests {
    pub(crate) fn new(
        address: &Address,
        login: Option<Arc<Login>>,
        calls: &Arc<Calls>,
        most: usize,
        connect: Duration,
    ) -> Result<Self, FaultCause> {
        let failed = |error: String| FaultCause::NotRunning(error.into());
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(portcullis_egress::tls_config())
            // The headers may contain secrets, which the target of a redirect must not receive.
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .connect_timeout(connect)
            // Otherwise an idle stream would stay open after the server has ended.
            .tcp_keepalive(KEEPALIVE)
            .user_agent(concat!("portcullis/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| failed(describe(error)))?;
        let (address, calls) = (address.clone(), calls.clone());
        Ok(Self { client, address, login, calls, most })
    }

    pub(crate) fn url(&self) -> &Url {
        &self.address.url
    }

    pub(crate) fn request(&self, method: Method, url: Url) -> RequestBuilder {
        self.client.request(method, url).headers(self.address.headers.clone())
    }

    /// A POST request with a message.
    pub(crate) fn post(&self, url: Url, headers: HeaderMap, body: Vec<u8>) -> RequestBuilder {
        self.request(Method::POST, url)
            .headers(headers)
            .header(header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"))
            .header(header::CONTENT_TYPE, HeaderValue::from_static(JSON))
            .body(body)
    }

    /// Sends a request, with a token if there is one. Sends it again if the server demands another token and the login
    /// has one.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Response, Unanswered> {
        let Some(login) = &self.login else {
            return request.send().await.map_err(Unanswered::Http);
        };
        let mut token = login.token().await;
        let mut was_unknown = false;
        for round in 0.. {
            let Some(again) = request.try_clone() else { break };
            let response = with(again, token.as_ref()).send().await.map_err(Unanswered::Http)?;
            let challenge = Challenge::of(response.status().as_u16(), response.headers());
            let Some(challenge) = challenge else { return Ok(response) };
            let is_unknown = response.status() == StatusCode::UNAUTHORIZED;
            // A second 401 means that the server refuses a token that was just issued.
            let another = match (is_unknown && was_unknown) || round == TOKENS {
                true => Err(login.new_token_refused()),
                false => login.refused(token.as_ref(), challenge).await,
            };
            was_unknown |= is_unknown;
            token = match another {
                Ok(token) => Some(token),
                Err(NoToken::LoginNeeded(needed)) => {
                    return Err(Unanswered::Login(needed.to_string().into()));
                }
                Err(NoToken::Failed(error)) => {
                    let error = portcullis_sanitize::error_chain(&error);
                    return Err(Unanswered::Login(format!("it demands a token: {error}").into()));
                }
            };
        }
        with(request, token.as_ref()).send().await.map_err(Unanswered::Http)
    }

    /// As [`Self::send`], but returns a [`FaultCause`] if there is no response.
    pub(crate) async fn answer(&self, request: RequestBuilder) -> Result<Response, FaultCause> {
        self.send(request).await.map_err(|unanswered| match unanswered {
            Unanswered::Http(error) => self.unanswered(error),
            Unanswered::Login(what) => FaultCause::Login(what),
        })
    }

    /// The error for a request without a response. If the server cannot be reached, the connection ends.
    pub(crate) fn unanswered(&self, error: reqwest::Error) -> FaultCause {
        let is_unreachable = error.is_connect();
        let because = describe(error);
        if !is_unreachable {
            return FaultCause::lost(because);
        }
        let because = format!("{because}; check that it runs, and check its `url`");
        let trouble = FaultCause::NotRunning(because.into());
        self.calls.retire(trouble.clone());
        trouble
    }

    /// Passes an event to the request that it belongs to. Returns the messages that have to be sent to the server.
    pub(crate) fn receive(&self, event: Event, origin: Origin) -> Vec<Vec<u8>> {
        match event {
            Event::Whole { kind, data } if kind == "message" => self.calls.receive(&data, origin),
            Event::Whole { .. } => Vec::new(),
            Event::TooLong(unread) => self.calls.too_large(unread, origin, self.most),
        }
    }

    /// A text of the server, without the secrets that were sent to it.
    fn hide(&self, text: &str) -> String {
        let text = scrub(&self.address.headers).text(text);
        self.login.as_ref().map(|login| login.hide(&text)).unwrap_or(text)
    }

    /// The end of a request with an error response: its JSON-RPC error, or its status and text.
    pub(crate) async fn refusal(&self, mut response: Response) -> RequestEnd {
        let status = response.status();
        let body = match body(&mut response, REFUSAL_BYTES).await {
            Ok(Some(body)) => body,
            Ok(None) | Err(_) => Vec::new(),
        };
        let told = message::read(&body).ok().and_then(|mut messages| messages.pop());
        match told {
            Some(
                message::Message::Answer { answer: Err(error), .. }
                | message::Message::Complaint(error),
            ) if status != StatusCode::UNAUTHORIZED && status != StatusCode::FORBIDDEN => {
                RequestEnd::Answer(Err(error), body.len())
            }
            _ => {
                let said = String::from_utf8_lossy(&body);
                let said = text::line(&self.hide(&said), 200);
                RequestEnd::Trouble(FaultCause::Refused(status.as_u16(), said.into()))
            }
        }
    }
}

/// Finds the secrets of these headers in responses.
fn scrub(headers: &HeaderMap) -> Arc<Scrub> {
    let values = headers.values().filter(|value| value.is_sensitive());
    let values = values.filter_map(|value| value.to_str().ok());
    let parts: Vec<_> = values.filter_map(|value| secret_parts(value).ok()).flatten().collect();
    Arc::new(Scrub::new(parts.iter().map(String::as_str)))
}

fn with(request: RequestBuilder, token: Option<&Token>) -> RequestBuilder {
    match token {
        Some(token) => request.header(header::AUTHORIZATION, token.header().clone()),
        None => request,
    }
}

/// Reads a body. `None`: it has more than `most` bytes.
pub(crate) async fn body(
    response: &mut Response,
    most: usize,
) -> Result<Option<Vec<u8>>, reqwest::Error> {
    if response.content_length().is_some_and(|length| length > most as u64) {
        return Ok(None);
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > most {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body))
}

/// Whether a response has this media type.
pub(crate) fn is(response: &Response, expected: &str) -> bool {
    let value = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value
        .and_then(|value| value.split(';').next())
        .is_some_and(|kind| kind.trim().eq_ignore_ascii_case(expected))
}

/// An error with its causes, and without the URL, which may contain a secret.
pub(crate) fn describe(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(reason) = source {
        let more = reason.to_string();
        if !text.contains(&more) {
            text += ": ";
            text += &more;
        }
        source = reason.source();
    }
    text::line(&text, 300)
}
