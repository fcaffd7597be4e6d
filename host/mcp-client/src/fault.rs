//! Why a request to an upstream server has no answer, and what to do about it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Why there is no answer. The text names the failed action, the upstream and the cause, and says what to do if
/// that is known.
#[derive(Debug, Clone)]
pub struct Fault {
    /// The upstream's name, as the operator wrote it.
    pub upstream: Arc<str>,
    /// The failed action: usually the method of the request.
    pub doing: Box<str>,
    /// The cause.
    pub trouble: FaultCause,
}

/// The cause of a [`Fault`]. In its text, "it" is the upstream.
#[derive(Debug, Clone, PartialEq)]
pub enum FaultCause {
    /// The upstream could not be started or reached.
    NotRunning(Box<str>),
    /// The upstream demands a token, and there is none that it accepts. The text says why.
    Login(Box<str>),
    /// The upstream could not be started or reached before, and no new attempt is made yet.
    Connecting {
        /// How long it takes until a new attempt is possible.
        again: Duration,
        /// Why the last attempt failed.
        because: Box<str>,
    },
    /// The upstream did not answer within this time.
    TimedOut(Duration),
    /// The upstream sent a message with more bytes than its definition allows. The number is the limit.
    TooLarge(usize),
    /// The pages of one list of the upstream have more bytes together than its definition allows.
    ListTooLarge {
        /// The method that lists.
        method: Box<str>,
        /// The limit.
        most: usize,
    },
    /// The upstream sent a message that would take too much memory or is nested too deep. The text names the exceeded
    /// limit.
    TooManyValues(Box<str>),
    /// The connection ended before the request was answered.
    Lost(Box<str>),
    /// The upstream sent something that is not valid MCP.
    Protocol(Box<str>),
    /// The upstream is not the server that its definition says it is.
    Configuration(Box<str>),
    /// The upstream answered with this HTTP status and this text.
    Refused(u16, Box<str>),
    /// Too many requests already wait for answers of the upstream. The number is the maximum.
    Busy(usize),
    /// The host has closed the connection to the upstream.
    Closed,
}

impl FaultCause {
    pub(crate) fn lost(because: impl Into<Box<str>>) -> Self {
        Self::Lost(because.into())
    }

    pub(crate) fn protocol(because: impl Into<Box<str>>) -> Self {
        Self::Protocol(because.into())
    }
}

impl fmt::Display for FaultCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRunning(because) => write!(f, "it could not be started or reached: {because}"),
            Self::Login(what) => f.write_str(what),
            Self::Connecting { again, because } => write!(
                f,
                "the last attempt to connect failed: {because}; the next attempt is possible in {} s",
                again.as_secs_f32().ceil()
            ),
            Self::TimedOut(after) => write!(
                f,
                "it did not answer within {} s; if that is too short, raise its \
                 `timeout-seconds` (or `start-seconds`, if it is slow to start)",
                after.as_secs_f32()
            ),
            Self::TooLarge(most) => write!(
                f,
                "its answer has more than {most} bytes; request less data, or raise its \
                 `answer-bytes`"
            ),
            Self::ListTooLarge { method, most } => write!(
                f,
                "the pages of its answer to {method} have more than {most} bytes together; raise its `answer-bytes`"
            ),
            Self::TooManyValues(what) => {
                write!(f, "its answer was not read: {what}; request less data")
            }
            Self::Lost(because) => write!(
                f,
                "the connection was lost before the answer: {because}; whether the request had an \
                 effect is not known; the next request connects again"
            ),
            Self::Protocol(because) => {
                write!(
                    f,
                    "it violates the protocol: {because}; if its configuration is right, report this to its authors"
                )
            }
            Self::Configuration(because) => {
                write!(f, "its configuration does not fit the server: {because}")
            }
            Self::Refused(status @ (401 | 403), text) => write!(
                f,
                "it refused the request with HTTP status {status}{}{text}; set what it requires in \
                 `headers`, such as `Authorization`",
                if text.is_empty() { "" } else { ": " }
            ),
            Self::Refused(status, text) => write!(
                f,
                "it answered with HTTP status {status}{}{text}; check its `url`",
                if text.is_empty() { "" } else { ": " }
            ),
            Self::Busy(most) => {
                write!(
                    f,
                    "it already has {most} unanswered requests, which is the maximum; try again later"
                )
            }
            Self::Closed => f.write_str("the host has closed the connection to it"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at the upstream `{}`: {}", self.doing, self.upstream, self.trouble)
    }
}

impl std::error::Error for Fault {}
