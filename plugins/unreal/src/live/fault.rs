//! Why the editor gave no answer, in words for whoever has to do something about it.

use portcullis_plugin::prelude::*;
use std::{error::Error, fmt, time::Duration};

/// Why the editor gave no answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// No address is set.
    NotSet,
    /// The operator has not granted requests to this address.
    NotGranted(String),
    /// Nobody listens at this address.
    NotRunning(String),
    /// It has not answered in time.
    Busy(String, Duration),
    /// It is at work on a change that another call has asked for.
    AtWork(String),
    /// The call has no time left to ask it.
    NoTime,
    /// The caller has cancelled while it was waited for.
    Cancelled,
    /// Something else than the editor listens at this address.
    WrongServer(String, String),
    /// It has another project open.
    OtherProject {
        /// Where it listens.
        url: String,
        /// What it has open, as it says.
        theirs: String,
    },
    /// It has just started, and lacks what is needed yet.
    Starting(String),
    /// What came is no answer: cut off, too long, or not in the form it should have.
    Garbled(String, String),
    /// The session has ended: to be begun anew.
    NoSession,
    /// It refused the message, with a code and words of its own.
    Refused(i64, String),
    /// It tried and failed, and says why.
    Failed(String),
    /// It offers nothing to answer this with.
    Unsupported(&'static str),
    /// A change was asked for, and it is not known whether it was made.
    Unknown(Box<Fault>),
    /// There is an answer to the call all the same: a failure, or a question to the user.
    Answer(Box<Failure>),
}

impl Fault {
    /// Whether the editor may have done what it was asked to, or may still do it.
    pub fn may_have_run(&self) -> bool {
        match self {
            Self::Busy(..) | Self::Cancelled | Self::Garbled(..) => true,
            Self::NotSet
            | Self::NotGranted(_)
            | Self::NotRunning(_)
            | Self::NoTime
            | Self::AtWork(_)
            | Self::WrongServer(..)
            | Self::OtherProject { .. }
            | Self::Starting(_)
            | Self::NoSession
            | Self::Refused(..)
            | Self::Failed(_)
            | Self::Unsupported(_)
            | Self::Unknown(_)
            | Self::Answer(_) => false,
        }
    }

    /// Whether it is as usual that the files answer, so that nothing has to be said of it.
    pub fn is_usual(&self) -> bool {
        matches!(self, Self::NotSet | Self::NotRunning(_))
    }
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        Self::Answer(Box::new(failure))
    }
}

impl Error for Fault {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSet => f.write_str(
                "no editor is configured: set `editor-url` (or `epic-url`) for this plugin, and \
                 grant it requests to that address",
            ),
            Self::NotGranted(url) => {
                write!(f, "requests to {url} are not granted to this plugin")
            }
            Self::NotRunning(url) => write!(f, "no editor listens at {url}"),
            Self::Busy(url, limit) => write!(
                f,
                "the editor at {url} did not answer within {} s: it is busy, or shows a dialogue \
                 that waits for somebody",
                limit.as_secs_f32().ceil()
            ),
            Self::AtWork(url) => {
                write!(f, "the editor at {url} is at work on what another call asked it to change")
            }
            Self::NoTime => f.write_str("there is no time left in this call to ask the editor"),
            Self::Cancelled => f.write_str(
                "cancelled while the editor was waited for; it may still finish what it was asked",
            ),
            Self::WrongServer(url, what) => {
                write!(f, "at {url} listens something else than an editor: {what}")
            }
            Self::OtherProject { url, theirs } => {
                write!(f, "the editor at {url} has another project open: {theirs}")
            }
            Self::Starting(what) => {
                write!(f, "the editor has just started, and has no {what} yet: try again soon")
            }
            Self::Garbled(url, why) => {
                write!(f, "what came from the editor at {url} is no answer: {why}")
            }
            Self::NoSession => f.write_str("the editor has ended the session"),
            Self::Refused(code, why) => write!(f, "the editor refused: {why} ({code})"),
            Self::Failed(why) => f.write_str(why),
            Self::Unsupported(what) => f.write_str(what),
            Self::Unknown(why) => write!(
                f,
                "the outcome is not known: {why}. The editor may have done it, or may still do \
                 it: look there before it is asked for again. Nothing was tried twice"
            ),
            Self::Answer(failure) => failure.fmt(f),
        }
    }
}
