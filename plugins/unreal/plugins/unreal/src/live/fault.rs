//! Errors of the connection to the editor, with messages for the user.

use portcullis_plugin::prelude::*;
use std::{error::Error, fmt, time::Duration};

/// The reason why there is no result from the editor.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// No URL is configured.
    NotSet,
    /// The operator has not granted requests to this URL.
    NotGranted(String),
    /// No server listens at this URL.
    NotRunning(String),
    /// The server did not answer in time.
    Busy(String, Duration),
    /// The editor is busy with a change for another call.
    AtWork(String),
    /// The call has no time left for a request.
    NoTime,
    /// The call was cancelled during the wait.
    Cancelled,
    /// The URL does not lead to the expected server, for this reason.
    WrongServer(String, String),
    /// The editor has another project open.
    OtherProject {
        /// The URL.
        url: String,
        /// The editor's project, as reported.
        theirs: String,
    },
    /// The editor lacks this toolset. It may still be starting.
    Starting(String),
    /// The response from this URL cannot be used, for this reason: it is cut off, too long or
    /// malformed, or has the status of an error.
    InvalidResponse(String, String),
    /// The answer of a tool does not have the required form: the tool, and why.
    Misshapen(String, String),
    /// The editor at this URL does not report the absolute folder of its project.
    Unidentified(String),
    /// The session has ended and has to be started again.
    NoSession,
    /// The server refused the message, with a code and a text.
    Refused(i64, String),
    /// The tool failed, with a reason.
    Failed(String),
    /// The server has no tool for this.
    Unsupported(&'static str),
    /// The server has a tool for this, which refuses this call.
    Refuses(&'static str),
    /// A change was requested, and its outcome is unknown.
    Unknown(Box<Fault>),
    /// Not a fault of the editor: the call ends with this failure, or with a question to the user.
    Answer(Box<Failure>),
}

impl Fault {
    /// Whether the editor may have run the request, or may still run it.
    pub fn may_have_run(&self) -> bool {
        match self {
            Self::Busy(..) | Self::Cancelled | Self::InvalidResponse(..) | Self::Misshapen(..) => {
                true
            }
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
            | Self::Refuses(_)
            | Self::Unidentified(_)
            | Self::Unknown(_)
            | Self::Answer(_) => false,
        }
    }

    /// Whether this is the usual case without an editor, which needs no warning.
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
                 that waits for an answer",
                limit.as_secs_f32().ceil()
            ),
            Self::AtWork(url) => {
                write!(
                    f,
                    "the editor at {url} is still busy with a change that another call requested"
                )
            }
            Self::NoTime => f.write_str("there is no time left in this call to ask the editor"),
            Self::Cancelled => f.write_str(
                "cancelled while waiting for the editor; the editor may still finish the request",
            ),
            Self::WrongServer(url, what) => {
                write!(f, "the program at {url} cannot be used as an Unreal editor: {what}")
            }
            Self::OtherProject { url, theirs } => {
                write!(f, "the editor at {url} has another project open: {theirs}")
            }
            Self::Starting(what) => {
                write!(
                    f,
                    "the editor has no toolset {what}: try again if it has just started, or enable the plugin with this toolset"
                )
            }
            Self::InvalidResponse(url, why) => {
                write!(f, "the answer from {url} is not valid: {why}")
            }
            Self::NoSession => f.write_str("the editor has ended the session"),
            Self::Refused(code, why) => write!(f, "the request was refused: {why} ({code})"),
            Self::Failed(why) => f.write_str(why),
            Self::Unsupported(what) | Self::Refuses(what) => f.write_str(what),
            Self::Misshapen(tool, why) => {
                write!(f, "the editor's answer to `{tool}` has an unexpected form: {why}")
            }
            Self::Unidentified(url) => write!(
                f,
                "nothing was changed: the editor at {url} does not report the absolute folder of its \
                 project, so that it is not known which project would be changed. Update the \
                 editor's MCP plugin, or start the editor with the absolute path of the .uproject file"
            ),
            Self::Unknown(why) => write!(
                f,
                "the outcome is not known: {why}. The editor may have carried out the request, or may \
                 still do so: check in the editor before you repeat it. It was not repeated automatically"
            ),
            Self::Answer(failure) => failure.fmt(f),
        }
    }
}
