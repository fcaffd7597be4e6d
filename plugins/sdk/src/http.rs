//! Requests to the hosts the operator granted; the operator's secrets are added on the way out.
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

/// How much of a body is read unless the request says otherwise.
pub const DEFAULT_MAX_BYTES: u64 = 10 * 1024 * 1024;

/// Fetches a URL. Whatever the status: see [`Response::success`].
pub fn get(url: impl Into<String>) -> Result<Response, Error> {
    Request::get(url).send()
}

/// A request being put together.
#[derive(Clone, Debug)]
#[must_use = "a request does nothing until it is sent"]
pub struct Request {
    method: String,
    url: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
    timeouts: Timeouts,
    max_bytes: u64,
    /// What was wrong with what it was given, for [`send`](Self::send) to say.
    wrong: Option<Reason>,
}

/// How long to wait for what. The host has limits of its own.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timeouts {
    pub connect: Option<Duration>,
    pub first_byte: Option<Duration>,
    pub between_bytes: Option<Duration>,
}

/// A request that can be put on the wire.
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
            wrong: None,
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

    /// Adds `name=value` to the URL's query, encoded as it has to be.
    pub fn query(mut self, name: &str, value: &str) -> Self {
        url::add_query(&mut self.url, name, value);
        self
    }

    /// Sets the body.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// Sets the body to JSON, and says so in the headers.
    pub fn json<T: Serialize + ?Sized>(mut self, value: &T) -> Self {
        match serde_json::to_vec(value) {
            Ok(body) => self.header("content-type", "application/json").body(body),
            Err(error) => {
                self.wrong = Some(Reason::Json(error.to_string()));
                self
            }
        }
    }

    /// How long to wait for the connection, for the first byte, and from one byte to the next:
    /// the same for each.
    pub fn timeout(self, limit: Duration) -> Self {
        self.connect_timeout(limit).first_byte_timeout(limit).between_bytes_timeout(limit)
    }

    /// How long to wait for the connection.
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.timeouts.connect = Some(limit);
        self
    }

    /// How long to wait for the first byte of the answer.
    pub fn first_byte_timeout(mut self, limit: Duration) -> Self {
        self.timeouts.first_byte = Some(limit);
        self
    }

    /// How long to wait from one piece of the body to the next.
    pub fn between_bytes_timeout(mut self, limit: Duration) -> Self {
        self.timeouts.between_bytes = Some(limit);
        self
    }

    /// The longest body to accept; [`DEFAULT_MAX_BYTES`] unless it is said.
    pub fn max_bytes(mut self, limit: u64) -> Self {
        self.max_bytes = limit;
        self
    }

    /// Sends it and reads the whole answer.
    pub fn send(self) -> Result<Response, Error> {
        self.send_while(|| true)
    }

    /// Sends it and reads the whole answer. While it waits, `go_on` is asked a few times a second; once
    /// that says no, the request is given up with [`Reason::GivenUp`].
    pub fn send_while(self, mut go_on: impl FnMut() -> bool) -> Result<Response, Error> {
        let mut body = Vec::new();
        let keep = |piece: &[u8]| {
            body.extend_from_slice(piece);
            Ok(())
        };
        let response = self.send_watched(keep, |_| go_on())?;
        Ok(Response { body, ..response })
    }

    /// Sends it and hands over the body piece by piece, as it arrives. The response that is
    /// returned has an empty one.
    pub fn send_to(
        self,
        sink: impl FnMut(&[u8]) -> std::io::Result<()>,
    ) -> Result<Response, Error> {
        self.send_watched(sink, |_| true)
    }

    /// As [`send_to`](Self::send_to); and `watch` is called a few times a second while there is
    /// nothing but to wait, with how long it has been. Where it says no, the request is given up
    /// with [`Reason::GivenUp`], whatever the server makes of it.
    pub fn send_watched(
        self,
        mut sink: impl FnMut(&[u8]) -> std::io::Result<()>,
        mut watch: impl FnMut(Duration) -> bool,
    ) -> Result<Response, Error> {
        let Self { method, url: address, headers, body, timeouts, max_bytes, wrong } = self;
        let failed = |reason| Error { method: method.clone(), url: address.clone(), reason };
        if let Some(reason) = wrong {
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

/// The head of an answer.
pub(crate) type Head = (u16, Vec<(String, Vec<u8>)>);

/// Where a body goes, piece by piece.
pub(crate) type Sink<'a> = dyn FnMut(&[u8]) -> Result<(), Reason> + 'a;

/// What is asked, while there is nothing but to wait, whether to go on.
pub(crate) type Watch<'a> = dyn FnMut(Duration) -> bool + 'a;

/// An answer, whatever its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The method it answers.
    pub method: String,
    /// The URL it answers.
    pub url: String,
    /// Such as 200.
    pub status: u16,
    /// In the order they came.
    pub headers: Vec<(String, Vec<u8>)>,
    /// All of it.
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

    /// The first header of that name, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(found, _)| found.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(value).ok()
    }

    /// The body as text, which must be UTF-8.
    pub fn text(&self) -> Result<String, Error> {
        let text = std::str::from_utf8(&self.body).map_err(|_| self.failed(Reason::NotText))?;
        Ok(text.to_owned())
    }

    /// What the body says in JSON.
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
    fn it_goes_on_until_it_is_told_not_to() {
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
