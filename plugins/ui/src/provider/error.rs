//! What goes wrong with a service, in the same words for all of them.

use super::Budget;
use crate::folders;
use portcullis_plugin::{http, serde_json::Value};
use std::{fmt, time::Duration};

/// How much of a service's own words is told.
const WORDS: usize = 300;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What kind of thing went wrong.
    pub code: Code,
    /// In words, without what looks like a key.
    pub why: String,
    /// Whether the same request may succeed later.
    retryable: bool,
    /// When, in the service's words.
    pub retry_after: Option<Duration>,
}

/// The kinds of things that go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Our time is over.
    Timeout,
    /// Too many requests.
    RateLimit,
    /// The account has nothing left.
    Quota,
    /// No key, a wrong one, or one that may not.
    Auth,
    /// The service does not understand us, or has no such model.
    InvalidRequest,
    /// The service is broken, or busy.
    ServerError,
    /// It was not reached.
    NetworkError,
    /// A filter kept the answer back.
    ContentFiltered,
    /// The model would not.
    Refused,
    /// The answer is longer than it may be.
    Truncated,
    /// The question is longer than it may be.
    ContextTooLong,
    /// Whoever asked does not want it any more.
    Aborted,
}

impl Code {
    /// As people and logs see it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Timeout => "TIMEOUT",
            Self::RateLimit => "RATE_LIMIT",
            Self::Quota => "QUOTA",
            Self::Auth => "AUTH",
            Self::InvalidRequest => "INVALID_REQUEST",
            Self::ServerError => "SERVER_ERROR",
            Self::NetworkError => "NETWORK_ERROR",
            Self::ContentFiltered => "CONTENT_FILTERED",
            Self::Refused => "REFUSED",
            Self::Truncated => "TRUNCATED",
            Self::ContextTooLong => "CONTEXT_TOO_LONG",
            Self::Aborted => "ABORTED",
        }
    }
}

impl Error {
    /// Something that went wrong.
    pub fn new(code: Code, why: impl Into<String>) -> Self {
        let retryable = matches!(code, Code::RateLimit | Code::ServerError | Code::NetworkError);
        Self { code, why: why.into(), retryable, retry_after: None }
    }

    /// The answer is cut.
    pub fn truncated() -> Self {
        Self::new(Code::Truncated, "the answer is longer than `max-output-tokens` allows")
    }

    /// The answer is kept back.
    pub fn filtered() -> Self {
        Self::new(Code::ContentFiltered, "the service's filter kept the answer back")
    }

    /// Whether the same request may succeed later.
    pub fn is_worth_another_try(&self) -> bool {
        self.retryable
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.name(), self.why)
    }
}

/// No answer came.
pub fn of_http(failed: &http::Error, budget: &Budget<'_>) -> Error {
    if failed.is_denied() {
        let why = format!(
            "{failed}: the operator's `grants.http` must name this host, with the method POST"
        );
        return Error { retryable: false, ..Error::new(Code::NetworkError, why) };
    }
    if let Err(over) = budget.left() {
        return over;
    }
    if let http::Reason::TooLarge(_) = failed.reason {
        return Error { retryable: false, ..Error::new(Code::ServerError, failed.to_string()) };
    }
    if failed.is_timeout() {
        return Error { retryable: true, ..Error::new(Code::Timeout, failed.to_string()) };
    }
    Error::new(Code::NetworkError, failed.to_string())
}

/// An answer came, and it is an error.
pub fn of_status(response: &http::Response, answer: &Value) -> Error {
    let error = &answer["error"];
    let words = error["message"].as_str().or_else(|| error.as_str()).unwrap_or_default();
    // Some services say the key back that they do not like.
    let words: String = folders::redacted(words).chars().take(WORDS).collect();
    let kind = [&error["code"], &error["type"]].map(|name| name.as_str().unwrap_or_default());
    let is = |name: &str| kind.contains(&name);
    let speaks_of = |part: &str| words.to_ascii_lowercase().contains(part);
    let code = match response.status {
        _ if is("insufficient_quota") || is("billing_error") => Code::Quota,
        402 => Code::Quota,
        429 if speaks_of("current quota") || speaks_of("credit balance") => Code::Quota,
        400 if speaks_of("credit balance") => Code::Quota,
        _ if is("content_filter") || is("content_policy_violation") => Code::ContentFiltered,
        _ if is("context_length_exceeded") => Code::ContextTooLong,
        400 | 413 if speaks_of("context length") || speaks_of("prompt is too long") => {
            Code::ContextTooLong
        }
        413 => Code::ContextTooLong,
        401 | 403 => Code::Auth,
        429 => Code::RateLimit,
        408 | 409 | 500..=599 => Code::ServerError,
        // Redirects are not followed: they would take the key elsewhere.
        _ => Code::InvalidRequest,
    };
    let said = if words.is_empty() { String::new() } else { format!(": {words}") };
    let mut told = Error::new(code, format!("status {}{said}", response.status));
    told.retry_after = retry_after(response);
    if response.header("x-should-retry") == Some("false") {
        told.retryable = false;
    }
    told
}

/// Seconds, or milliseconds in a header that some services send besides.
fn retry_after(response: &http::Response) -> Option<Duration> {
    let number = |name: &str| response.header(name)?.trim().parse::<f64>().ok();
    let seconds =
        number("retry-after-ms").map(|ms| ms / 1000.0).or_else(|| number("retry-after"))?;
    Duration::try_from_secs_f64(seconds).ok()
}
