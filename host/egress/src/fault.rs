//! Kinds of failures of outgoing requests. A kind contains no address.

use std::error::Error as StdError;
use std::fmt;

use http_body_util::LengthLimitError;

/// Why a request has no response, or only a part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The client has sent as many requests as it may send.
    TooMany,
    /// The request's address is not a URL, or the URL has a user name, a password or no valid host.
    BadUrl,
    /// The policy does not allow the request.
    Denied,
    /// The policy allows none of the host's addresses.
    AddressDenied,
    /// The configuration or the system is at fault. The log contains the cause.
    Misconfigured,
    /// Nothing listens at the address.
    ConnectionRefused,
    /// The host cannot be reached, or its name cannot be resolved.
    Unreachable,
    /// The host's certificate cannot be trusted.
    Certificate,
    /// The request took too long.
    TimedOut,
    /// The request's body exceeds the limit.
    RequestTooLong,
    /// The request or its response is not valid HTTP, or the failure has another cause.
    Protocol,
    /// The response's body is compressed, so that secrets cannot be found in it.
    Encoded,
    /// The response's body exceeds the limit.
    TooLong,
    /// The response's body ended too early.
    Incomplete,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooMany => "the limit of the number of requests is reached",
            Self::BadUrl => "the URL cannot be used",
            Self::Denied => "the request is not allowed",
            Self::AddressDenied => "no address of the host is allowed",
            Self::Misconfigured => {
                "the configuration or the system is at fault: see the log of Portcullis"
            }
            Self::ConnectionRefused => "the connection was refused",
            Self::Unreachable => "the host cannot be reached",
            Self::Certificate => "the host's certificate cannot be trusted",
            Self::TimedOut => "the request took too long",
            Self::RequestTooLong => "the request's body is too long",
            Self::Protocol => "the HTTP exchange with the server failed",
            Self::Encoded => "the response is compressed, although the request did not allow it",
            Self::TooLong => "the response is too long",
            Self::Incomplete => "the response ended too early",
        })
    }
}

impl StdError for Fault {}

impl Fault {
    /// The fault of a failed request.
    pub(crate) fn of(error: &reqwest::Error) -> Self {
        let mut cause: Option<&dyn StdError> = Some(error);
        while let Some(current) = cause {
            if let Some(fault) = current.downcast_ref::<Self>() {
                return *fault;
            }
            if let Some(rustls::Error::InvalidCertificate(_)) = current.downcast_ref() {
                return Self::Certificate;
            }
            if current.is::<LengthLimitError>() {
                return Self::RequestTooLong;
            }
            let io = current.downcast_ref::<std::io::Error>();
            if io.is_some_and(|io| io.kind() == std::io::ErrorKind::ConnectionRefused) {
                return Self::ConnectionRefused;
            }
            // `source` of an I/O error does not return the error inside the I/O error, but the source of the inner
            // error.
            let inside = io.and_then(std::io::Error::get_ref);
            cause = match inside {
                Some(inside) => Some(inside),
                None => current.source(),
            };
        }
        tracing::debug!("a request failed: {error:?}");
        if error.is_timeout() {
            Self::TimedOut
        } else if error.is_connect() {
            Self::Unreachable
        } else {
            Self::Protocol
        }
    }

    /// The fault of a response's body that could not be read.
    pub(crate) fn of_body(error: &(dyn StdError + Send + Sync + 'static)) -> Self {
        if error.is::<LengthLimitError>() {
            return Self::TooLong;
        }
        error.downcast_ref().map_or(Self::Incomplete, Self::of)
    }
}
