//! HTTP requests to granted hosts. The operator's secrets for a host are added outside the sandbox.
//!
//! ```no_run
//! # use portcullis_plugin::prelude::*;
//! # fn news() -> Result<(), Failure> {
//! let page = http::get("https://example.org/news")?.success()?.text()?;
//! let found: Vec<String> = http::Request::post("https://example.org/search")
//!     .query("limit", "10")
//!     .json(&json!({ "words": ["gate"] }))
//!     .max_bytes(100_000)
//!     .send()?
//!     .success()?
//!     .json()?;
//! # Ok(())
//! # }
//! ```

mod error;
mod url;
#[cfg(target_family = "wasm")]
mod wire;

pub use error::{Error, Reason};
pub use wasip2::http::types::ErrorCode;

#[cfg(not(target_family = "wasm"))]
use crate::rehearsal::http as wire;
use serde::{Serialize, de::DeserializeOwned};
use std::time::Duration;
pub(crate) use url::Url;

/// Maximum length of a response's body in bytes, unless the request sets another.
pub const DEFAULT_MAX_BYTES: u64 = 10 * 1024 * 1024;

/// Fetches a URL. The status may be any: see [`Response::success`].
pub fn get(url: impl Into<String>) -> Result<Response, Error> {
    Request::get(url).send()
}

/// A request under construction.
#[derive(Clone, Debug)]
#[must_use = "a request does nothing until it is sent"]
pub struct Request {
    method: String,
    url: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
    timeouts: Timeouts,
    max_bytes: u64,
    /// An error of construction, which [`send`](Self::send) returns.
    construction_error: Option<Reason>,
}

/// The time limits of a request. Portcullis has limits of its own.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timeouts {
    pub connect: Option<Duration>,
    pub first_byte: Option<Duration>,
    pub between_bytes: Option<Duration>,
}

/// A request that is complete and valid.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub method: String,
    pub url: Url,
    pub headers: Vec<(String, String)>,
    pub body: Option<Vec<u8>>,
    pub timeouts: Timeouts,
}

impl Request {
    /// A request with any method.
    pub fn new(method: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            method: method.into(),
            url: url.into(),
            headers: Vec::new(),
            body: None,
            timeouts: Timeouts::default(),
            max_bytes: DEFAULT_MAX_BYTES,
            construction_error: None,
        }
    }

    /// A `GET` request.
    pub fn get(url: impl Into<String>) -> Self {
        Self::new("GET", url)
    }

    /// A `POST` request.
    pub fn post(url: impl Into<String>) -> Self {
        Self::new("POST", url)
    }

    /// Adds a header.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Adds `name=value` to the URL's query; both are percent-encoded.
    pub fn query(mut self, name: &str, value: &str) -> Self {
        url::add_query(&mut self.url, name, value);
        self
    }

    /// Sets the body.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// Sets the body to JSON, and the header `Content-Type`.
    pub fn json<T: Serialize + ?Sized>(mut self, value: &T) -> Self {
        match serde_json::to_vec(value) {
            Ok(body) => self.header("content-type", "application/json").body(body),
            Err(error) => {
                self.construction_error = Some(Reason::Json(error.to_string()));
                self
            }
        }
    }

    /// Sets the same time limit for the connection, for the first byte, and between two pieces of the body.
    pub fn timeout(self, limit: Duration) -> Self {
        self.connect_timeout(limit).first_byte_timeout(limit).between_bytes_timeout(limit)
    }

    /// Limits the time to connect.
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.timeouts.connect = Some(limit);
        self
    }

    /// Limits the time until the first byte of the response.
    pub fn first_byte_timeout(mut self, limit: Duration) -> Self {
        self.timeouts.first_byte = Some(limit);
        self
    }

    /// Limits the time between two pieces of the body.
    pub fn between_bytes_timeout(mut self, limit: Duration) -> Self {
        self.timeouts.between_bytes = Some(limit);
        self
    }

    /// Sets the maximum length of the response's body in bytes; the default is [`DEFAULT_MAX_BYTES`].
    pub fn max_bytes(mut self, limit: u64) -> Self {
        self.max_bytes = limit;
        self
    }

    /// Sends the request and reads the whole response.
    pub fn send(self) -> Result<Response, Error> {
        self.send_while(|| true)
    }

    /// Like [`send`](Self::send). During a wait, `go_on` is called a few times a second; `false` ends the request
    /// with [`Reason::GivenUp`].
    pub fn send_while(self, mut go_on: impl FnMut() -> bool) -> Result<Response, Error> {
        let mut body = Vec::new();
        let keep = |piece: &[u8]| {
            body.extend_from_slice(piece);
            Ok(())
        };
        let response = self.send_watched(keep, |_| go_on())?;
        Ok(Response { body, ..response })
    }

    /// Sends the request and passes each piece of the body to `sink` as it arrives. The body of the
    /// returned response is empty.
    pub fn send_to(
        self,
        sink: impl FnMut(&[u8]) -> std::io::Result<()>,
    ) -> Result<Response, Error> {
        self.send_watched(sink, |_| true)
    }

    /// Like [`send_to`](Self::send_to). During a wait, `watch` is called a few times a second with
    /// the time waited so far; `false` ends the request with [`Reason::GivenUp`].
    pub fn send_watched(
        self,
        mut sink: impl FnMut(&[u8]) -> std::io::Result<()>,
        mut watch: impl FnMut(Duration) -> bool,
    ) -> Result<Response, Error> {
        let Self { method, url: address, headers, body, timeouts, max_bytes, construction_error } =
            self;
        let failed = |reason| Error { method: method.clone(), url: address.clone(), reason };
        if let Some(reason) = construction_error {
            return Err(failed(reason));
        }
        let url = Url::parse(&address).ok_or_else(|| failed(Reason::InvalidUrl))?;
        let outgoing = Outgoing { method: method.clone(), url, headers, body, timeouts };
        let mut left = max_bytes;
        let mut take = |piece: &[u8]| {
            left = left.checked_sub(piece.len() as u64).ok_or(Reason::TooLarge(max_bytes))?;
            sink(piece).map_err(|error| Reason::Sink(error.to_string()))
        };
        let (status, headers) = wire::send(outgoing, &mut take, &mut watch).map_err(failed)?;
        Ok(Response { method, url: address, status, headers, body: Vec::new() })
    }
}

/// Status and headers of a response.
pub(crate) type Head = (u16, Vec<(String, Vec<u8>)>);

/// Receives the pieces of a body.
pub(crate) type Sink<'a> = dyn FnMut(&[u8]) -> Result<(), Reason> + 'a;

/// Called during a wait with the time so far; `false` ends the request.
pub(crate) type Watch<'a> = dyn FnMut(Duration) -> bool + 'a;

/// A response with any status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The method of the request.
    pub method: String,
    /// The URL of the request.
    pub url: String,
    /// The status code, such as 200.
    pub status: u16,
    /// The headers, in the order received.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The whole body; empty after [`Request::send_to`] and [`Request::send_watched`].
    pub body: Vec<u8>,
}

impl Response {
    /// Fails unless the status is 2xx.
    pub fn success(self) -> Result<Self, Error> {
        match self.status {
            200..=299 => Ok(self),
            status => Err(self.failed(Reason::Status(status))),
        }
    }

    /// The value of the first header with that name, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(found, _)| found.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(value).ok()
    }

    /// The body as text, which must be UTF-8.
    pub fn text(&self) -> Result<String, Error> {
        let text = std::str::from_utf8(&self.body).map_err(|_| self.failed(Reason::NotText))?;
        Ok(text.to_owned())
    }

    /// The body parsed as JSON.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_slice(&self.body)
            .map_err(|error| self.failed(Reason::Json(error.to_string())))
    }

    fn failed(&self, reason: Reason) -> Error {
        Error { method: self.method.clone(), url: self.url.clone(), reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rehearsal::Rehearsal;
    use serde_json::{Value, json};

    #[test]
    fn there_and_back() {
        let rehearsal = Rehearsal::new().page("https://example.org/a?q=1%202", 200, r#"{"n":1}"#);
        let response = Request::post("https://example.org/a")
            .query("q", "1 2")
            .json(&json!({ "a": 1 }))
            .send()
            .expect("it is there");
        let value: Value = response.success().expect("it is 200").json().expect("it is JSON");
        assert_eq!(value, json!({ "n": 1 }));
        let sent = rehearsal.sent();
        assert_eq!(sent[0].body, br#"{"a":1}"#);
        assert_eq!(sent[0].headers[0].1, "application/json");
    }

    #[test]
    fn a_request_ends_when_go_on_returns_false() {
        let rehearsal = Rehearsal::new().page("http://example.org/", 200, "there");
        let request = || Request::get("http://example.org/");
        assert_eq!(request().send_while(|| true).expect("it is there").body, b"there");
        let stopped = request().send_while(|| false).expect_err("nobody waits");
        assert!(matches!(stopped.reason, Reason::GivenUp));
        assert_eq!(rehearsal.sent().len(), 2);
    }

    #[test]
    fn every_failure_says_what_and_where() {
        let _rehearsal = Rehearsal::new().page("http://example.org/", 404, "gone");
        let denied = get("https://elsewhere.example/").expect_err("it is not granted");
        assert!(denied.is_denied());
        assert_eq!(denied.to_string(), "GET https://elsewhere.example/: denied by the host");
        let gone = get("http://example.org").expect("it answers").success();
        assert_eq!(gone.expect_err("404").to_string(), "GET http://example.org: status 404");
        let large = Request::get("http://example.org").max_bytes(3).send();
        assert!(matches!(large.expect_err("4 bytes").reason, Reason::TooLarge(3)));
        let wrong = get("example.org").expect_err("it has no scheme");
        assert!(matches!(wrong.reason, Reason::InvalidUrl));
    }
}
