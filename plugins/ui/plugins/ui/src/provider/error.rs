//! Errors of model services, with the same codes for all services.

use super::Budget;
use crate::folders;
use portcullis_plugin::{http, serde_json::Value};
use std::{fmt, time::Duration};

/// Longest quotation of a service's own message, in characters.
const WORDS: usize = 300;

/// An error of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The kind of error.
    pub code: Code,
    /// Message for people.
    pub why: String,
    /// Whether the same request may succeed later.
    retryable: bool,
    /// The delay that the service asks for.
    pub retry_after: Option<Duration>,
}

/// The kinds of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// The time budget is used up, or the service did not answer in time.
    Timeout,
    /// Too many requests.
    RateLimit,
    /// The account's quota is used up.
    Quota,
    /// The key is missing, wrong or lacks a permission.
    Auth,
    /// The service refuses the request, or has no such model.
    InvalidRequest,
    /// The service failed, is overloaded, or gave an answer that cannot be used.
    ServerError,
    /// The service could not be reached, or Portcullis denied the request.
    NetworkError,
    /// A filter withheld the answer.
    ContentFiltered,
    /// The model refused.
    Refused,
    /// The answer exceeds the limit of tokens.
    Truncated,
    /// The prompt exceeds the model's context.
    ContextTooLong,
    /// The caller cancelled.
    Aborted,
}

impl Code {
    /// The name for people and logs.
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
    /// An error of that kind.
    pub fn new(code: Code, why: impl Into<String>) -> Self {
        let retryable = matches!(code, Code::RateLimit | Code::ServerError | Code::NetworkError);
        Self { code, why: why.into(), retryable, retry_after: None }
    }

    /// The answer was cut off.
    pub fn truncated() -> Self {
        Self::new(Code::Truncated, "the answer is longer than `max-output-tokens` allows")
    }

    /// The answer was withheld.
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

/// The error of a request without a complete response.
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

/// The error of a response with an error status.
pub fn of_status(response: &http::Response, answer: &Value) -> Error {
    let error = &answer["error"];
    let words = error["message"].as_str().or_else(|| error.as_str()).unwrap_or_default();
    // Some services repeat the refused key.
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
        // Redirects are not followed: they would send the key elsewhere.
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

/// The delay that the service asks for: `retry-after` in seconds, or `retry-after-ms`, which some services
/// add.
fn retry_after(response: &http::Response) -> Option<Duration> {
    let number = |name: &str| response.header(name)?.trim().parse::<f64>().ok();
    let seconds =
        number("retry-after-ms").map(|ms| ms / 1000.0).or_else(|| number("retry-after"))?;
    Duration::try_from_secs_f64(seconds).ok()
}
