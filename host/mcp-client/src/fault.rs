//! Why a request to an upstream server has no answer, and what to do about it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Why there is no answer. Its text says what was being done, to which upstream, whose fault it is,
/// and what to do.
#[derive(Debug, Clone)]
pub struct Fault {
    /// The upstream's name, as the operator wrote it.
    pub upstream: Arc<str>,
    /// What was being done: mostly the method.
    pub doing: Box<str>,
    /// What happened.
    pub trouble: Trouble,
}

/// What happened. "It" is the upstream, here and in the text.
#[derive(Debug, Clone, PartialEq)]
pub enum Trouble {
    /// It could not be started or reached.
    NotRunning(Box<str>),
    /// It wants a token, and there is none: why, and what to do.
    Login(Box<str>),
    /// It could not be started or reached before, and it is not tried again yet.
    Connecting {
        /// The time until the next attempt.
        again: Duration,
        /// Why it failed.
        because: Box<str>,
    },
    /// It did not answer in time.
    TimedOut(Duration),
    /// It sent a message with more bytes than its definition allows: the limit.
    TooLarge(usize),
    /// It sent a message that would take too much memory, or is nested too deep: the exceeded limit, in words.
    TooManyValues(Box<str>),
    /// The connection ended while the request was on its way.
    Lost(Box<str>),
    /// It sent something that is not valid MCP.
    Protocol(Box<str>),
    /// It answered with this HTTP status and this text.
    Refused(u16, Box<str>),
    /// Already this many requests wait for its answers, which is the maximum.
    Busy(usize),
    /// The host has closed the connection to it.
    Closed,
}

impl Trouble {
    pub(crate) fn lost(because: impl Into<Box<str>>) -> Self {
        Self::Lost(because.into())
    }

    pub(crate) fn protocol(because: impl Into<Box<str>>) -> Self {
        Self::Protocol(because.into())
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRunning(because) => write!(f, "it is not running: {because}"),
            Self::Login(what) => f.write_str(what),
            Self::Connecting { again, because } => write!(
                f,
                "it is not running: {because}; it is tried again in {} s",
                again.as_secs_f32().ceil()
            ),
            Self::TimedOut(after) => write!(
                f,
                "it did not answer within {} s; where that is too short, raise its \
                 `timeout-seconds` (or `start-seconds`, if it is slow to start)",
                after.as_secs_f32()
            ),
            Self::TooLarge(most) => write!(
                f,
                "its answer has more than {most} bytes; ask it for less, or raise its \
                 `answer-bytes`"
            ),
            Self::TooManyValues(what) => {
                write!(f, "its answer was not read: {what}; ask it for less")
            }
            Self::Lost(because) => write!(
                f,
                "the connection was lost before it answered: {because}; whether it did what was \
                 asked is not known; the next request connects anew"
            ),
            Self::Protocol(because) => {
                write!(f, "it does not keep to the protocol: {because}; tell its authors")
            }
            Self::Refused(status @ (401 | 403), text) => write!(
                f,
                "it refuses us with HTTP status {status}{}{text}; give it what it wants in \
                 `headers`, such as `Authorization`",
                if text.is_empty() { "" } else { ": " }
            ),
            Self::Refused(status, text) => write!(
                f,
                "it answered with HTTP status {status}{}{text}; see that its `url` is right",
                if text.is_empty() { "" } else { ": " }
            ),
            Self::Busy(most) => {
                write!(f, "{most} requests wait for it already; let some of them finish first")
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
