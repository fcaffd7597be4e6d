//! Errors of HTTP requests.

use super::ErrorCode;
use std::fmt;

/// A request without a response, or with a response that cannot be used.
#[derive(Clone, Debug)]
pub struct Error {
    /// The method of the request.
    pub method: String,
    /// The URL of the request.
    pub url: String,
    /// The cause.
    pub reason: Reason,
}

/// The cause of an HTTP error.
#[derive(Clone, Debug)]
pub enum Reason {
    /// Not an `http` or `https` URL.
    InvalidUrl,
    /// A method or a header that cannot be sent.
    Invalid(&'static str),
    /// The error code of `wasi:http`; see [`Error::is_denied`].
    Code(ErrorCode),
    /// The connection broke during the transfer of a body.
    Interrupted(String),
    /// The body is longer than the limit, which is this many bytes.
    TooLarge(u64),
    /// The function that received the body failed.
    Sink(String),
    /// `go_on` or `watch` returned `false`: see [`Request::send_watched`](super::Request::send_watched).
    GivenUp,
    /// The status is not 2xx.
    Status(u16),
    /// The body is not UTF-8.
    NotText,
    /// The body is not the expected JSON, or the value to send cannot be written as JSON.
    Json(String),
}

impl Error {
    /// Whether Portcullis denied the request: no grant, or a forbidden address.
    pub fn is_denied(&self) -> bool {
        matches!(
            self.reason,
            Reason::Code(ErrorCode::HttpRequestDenied | ErrorCode::DestinationIpProhibited)
        )
    }

    /// Whether a time limit was exceeded.
    pub fn is_timeout(&self) -> bool {
        matches!(
            self.reason,
            Reason::Code(
                ErrorCode::DnsTimeout
                    | ErrorCode::ConnectionTimeout
                    | ErrorCode::ConnectionReadTimeout
                    | ErrorCode::ConnectionWriteTimeout
                    | ErrorCode::HttpResponseTimeout
            )
        )
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.method, self.url, self.reason)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidUrl => f.write_str("not an http or https URL"),
            Self::Invalid(what) => write!(f, "not a valid {what}"),
            Self::Code(code) => write_code(f, code),
            Self::Interrupted(why) => write!(f, "interrupted: {why}"),
            Self::TooLarge(limit) => write!(f, "the body is longer than {limit} bytes"),
            Self::Sink(why) => write!(f, "the body could not be processed: {why}"),
            Self::GivenUp => f.write_str("cancelled while waiting"),
            Self::Status(status) => write!(f, "status {status}"),
            Self::NotText => f.write_str("the body is not UTF-8 text"),
            Self::Json(why) => write!(f, "not the expected JSON: {why}"),
        }
    }
}

/// Describes the common codes; the others are shown by name.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the enum belongs to WASI, and the others are shown by name"
)]
fn write_code(f: &mut fmt::Formatter<'_>, code: &ErrorCode) -> fmt::Result {
    match code {
        ErrorCode::HttpRequestDenied => f.write_str("denied by the host"),
        ErrorCode::DestinationIpProhibited => {
            f.write_str("denied by the host: an address that may not be reached")
        }
        ErrorCode::DnsError(_) | ErrorCode::DestinationNotFound => f.write_str("no such host"),
        ErrorCode::ConnectionRefused => f.write_str("connection refused"),
        ErrorCode::DestinationUnavailable => f.write_str("the host cannot be reached"),
        ErrorCode::ConnectionTimeout
        | ErrorCode::ConnectionReadTimeout
        | ErrorCode::ConnectionWriteTimeout
        | ErrorCode::HttpResponseTimeout => f.write_str("no answer in time"),
        ErrorCode::ConnectionTerminated => f.write_str("the connection was closed"),
        ErrorCode::TlsCertificateError => f.write_str("the host's certificate is not trusted"),
        ErrorCode::HttpResponseBodySize(_) => {
            f.write_str("the answer is larger than the host allows")
        }
        ErrorCode::InternalError(Some(why)) => f.write_str(why),
        other => {
            let name = format!("{other:?}");
            f.write_str(name.strip_prefix("ErrorCode::").unwrap_or(&name))
        }
    }
}
