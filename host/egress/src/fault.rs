//! Why an outgoing request failed: a kind, without an address.

use std::error::Error as StdError;
use std::fmt;

use http_body_util::LengthLimitError;

/// Why there is no answer, or not the whole of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// No request is left of those that may be made.
    TooMany,
    /// The request's address is none, or one that no request goes to.
    BadAddress,
    /// The policy does not allow the request.
    Denied,
    /// The policy allows none of the addresses that the host has.
    AddressDenied,
    /// It is the fault of whoever set this up; the log says more.
    Misconfigured,
    /// Nothing listens there.
    ConnectionRefused,
    /// There is no way there.
    Unreachable,
    /// The other side's certificate cannot be trusted.
    Certificate,
    /// It took too long.
    TimedOut,
    /// What was sent or what came is no HTTP.
    Protocol,
    /// The answer's body is compressed, so that no secret can be found in it.
    Encoded,
    /// The answer's body is longer than it may be.
    TooLong,
    /// The answer's body ended too early.
    Incomplete,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooMany => "no more requests may be made",
            Self::BadAddress => "the address cannot be used",
            Self::Denied => "the request is not allowed",
            Self::AddressDenied => "every address of the host was refused",
            Self::Misconfigured => "requests are set up wrongly",
            Self::ConnectionRefused => "the connection was refused",
            Self::Unreachable => "the host cannot be reached",
            Self::Certificate => "the host's certificate cannot be trusted",
            Self::TimedOut => "the request took too long",
            Self::Protocol => "the request or its answer is no proper HTTP",
            Self::Encoded => "the answer is compressed, which was not asked for",
            Self::TooLong => "the answer is too long",
            Self::Incomplete => "the answer ended too early",
        })
    }
}

impl StdError for Fault {}

impl Fault {
    /// What became of a request.
    pub(crate) fn of(error: &reqwest::Error) -> Self {
        let mut cause: Option<&dyn StdError> = Some(error);
        while let Some(current) = cause {
            if let Some(fault) = current.downcast_ref::<Self>() {
                return *fault;
            }
            if let Some(rustls::Error::InvalidCertificate(_)) = current.downcast_ref() {
                return Self::Certificate;
            }
            if let Some(error) = current.downcast_ref::<std::io::Error>()
                && error.kind() == std::io::ErrorKind::ConnectionRefused
            {
                return Self::ConnectionRefused;
            }
            cause = current.source();
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

    /// What became of an answer's body.
    pub(crate) fn of_body(error: &(dyn StdError + Send + Sync + 'static)) -> Self {
        if error.is::<LengthLimitError>() {
            return Self::TooLong;
        }
        error.downcast_ref().map_or(Self::Incomplete, Self::of)
    }
}
