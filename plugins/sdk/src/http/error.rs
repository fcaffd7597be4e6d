//! Why there is no answer from the web.

use super::ErrorCode;
use std::fmt;

/// A request that got no answer, or none that could be used.
#[derive(Clone, Debug)]
pub struct Error {
    /// What was to be done.
    pub method: String,
    /// Where.
    pub url: String,
    /// What came of it.
    pub reason: Reason,
}

/// Why there is no answer.
#[derive(Clone, Debug)]
pub enum Reason {
    /// Not an `http` or `https` URL.
    InvalidUrl,
    /// A method or a header that cannot be sent.
    Invalid(&'static str),
    /// What the host says went wrong; see [`Error::is_denied`].
    Code(ErrorCode),
    /// The connection broke while a body was on its way.
    Interrupted(String),
    /// The body is longer than this many bytes.
    TooLarge(u64),
    /// What reads the body could not go on.
    Sink(String),
    /// Whoever waited did not want to wait any longer.
    GivenUp,
    /// The status is not 2xx.
    Status(u16),
    /// The body is not UTF-8.
    NotText,
    /// The body is not the JSON that was expected, or what was to be sent cannot be JSON.
    Json(String),
}

impl Error {
    /// Whether the host forbids it: not granted, or an address that may not be reached.
    pub fn is_denied(&self) -> bool {
        matches!(
            self.reason,
            Reason::Code(ErrorCode::HttpRequestDenied | ErrorCode::DestinationIpProhibited)
        )
    }

    /// Whether it took too long.
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
            Self::Sink(why) => write!(f, "the body could not be taken in: {why}"),
            Self::GivenUp => f.write_str("given up while waiting"),
            Self::Status(status) => write!(f, "status {status}"),
            Self::NotText => f.write_str("the body is not UTF-8 text"),
            Self::Json(why) => write!(f, "not the JSON it should be: {why}"),
        }
    }
}

/// The codes a person meets, in words; the others by name.
#[expect(clippy::wildcard_enum_match_arm, reason = "the enum is not ours, and each has a name")]
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
