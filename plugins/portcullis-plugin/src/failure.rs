//! The ways in which a call can fail.

use crate::{
    bindings::portcullis::plugin::types::{Ask, Error},
    reply::Reply,
};
use serde_json::{Value, json};
use std::fmt;

/// The reason why a call has no result.
///
/// Every error converts to a failure with `?`: the model reads the message with all causes.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// The tool ran and failed. The model reads the reason and may try something else.
    Told(Box<Reply>),
    /// Questions have to be answered first. Made by [`Request::ask`](crate::Request::ask). The host repeats the call
    /// with the answers.
    NeedInput(Vec<(String, Ask)>),
    /// The rest of the work takes long. Made by [`Request::background`](crate::Request::background). The host repeats
    /// the call as a task, with the state that was set.
    Background,
    /// A JSON-RPC error, for faults of the protocol such as an unknown name. For failures of the work use
    /// [`Failure::new`].
    Protocol(Error),
}

impl Failure {
    /// A failure whose message the model reads.
    pub fn new(message: impl Into<String>) -> Self {
        Self::from(Reply::new().text(message))
    }

    /// The arguments fit the schema but contradict each other.
    pub fn invalid_arguments(message: impl Into<String>) -> Self {
        Self::Protocol(Error { code: INVALID_PARAMS, message: message.into(), data: None })
    }

    /// The client lacks these capabilities, such as `{"sampling": {}}`.
    pub fn missing_capability(required: &Value) -> Self {
        Self::Protocol(Error {
            code: MISSING_CAPABILITY,
            message: "the client lacks a capability that is needed here".to_owned(),
            data: Some(json!({ "requiredCapabilities": required }).to_string()),
        })
    }

    /// The failure as a JSON-RPC error. Questions are returned unchanged.
    pub(crate) fn into_error(self) -> Result<Error, Vec<(String, Ask)>> {
        match self {
            Self::NeedInput(asks) => Err(asks),
            Self::Protocol(error) => Ok(error),
            Self::Told(_) | Self::Background => {
                Ok(Error { code: INTERNAL, message: self.to_string(), data: None })
            }
        }
    }
}

pub(crate) const INVALID_PARAMS: i32 = -32602;
pub(crate) const NOT_FOUND: i32 = -32002;
const INTERNAL: i32 = -32603;
const MISSING_CAPABILITY: i32 = -32021;

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::new(with_causes(&error))
    }
}

/// A failure with any content, not only text.
impl From<Reply> for Failure {
    fn from(reply: Reply) -> Self {
        Self::Told(Box::new(reply.error()))
    }
}

/// Text for people. `Failure` does not implement `Error`: the conversion of every `Error` to a `Failure` would then
/// conflict with `impl From<T> for T`.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Told(reply) => f.write_str(&reply.as_text()),
            Self::NeedInput(asks) => {
                let keys: Vec<&str> = asks.iter().map(|(key, _)| key.as_str()).collect();
                write!(f, "the user has to be asked first: {}", keys.join(", "))
            }
            Self::Background => f.write_str("to be done in the background"),
            Self::Protocol(error) => f.write_str(&error.message),
        }
    }
}

/// Adds the operation that failed to the message of an error.
pub trait OrFail<T> {
    /// Fails with the message `what: why`. For `None`, the message is `what` alone.
    fn or_fail(self, what: impl fmt::Display) -> Result<T, Failure>;
}

impl<T, E: std::error::Error> OrFail<T> for Result<T, E> {
    fn or_fail(self, what: impl fmt::Display) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(format!("{what}: {}", with_causes(&error))))
    }
}

impl<T> OrFail<T> for Option<T> {
    fn or_fail(self, what: impl fmt::Display) -> Result<T, Failure> {
        self.ok_or_else(|| Failure::new(what.to_string()))
    }
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let why = error.to_string();
        // Some errors repeat the text of their cause.
        if !text.ends_with(&why) {
            text.push_str(": ");
            text.push_str(&why);
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read() -> Result<String, Failure> {
        Ok(std::fs::read_to_string("/no/such/file")?)
    }

    #[test]
    fn every_error_is_told() {
        let Err(Failure::Told(reply)) = read() else { panic!("it is told") };
        assert!(reply.is_error);
        assert!(reply.as_text().starts_with("No such file"), "{}", reply.as_text());
    }

    #[test]
    fn what_comes_before_why() {
        let failure = std::fs::read("/no/such/file").or_fail("cannot read it").unwrap_err();
        assert!(failure.to_string().starts_with("cannot read it: No such file"));
        assert_eq!(None::<u8>.or_fail("none").unwrap_err(), Failure::new("none"));
    }
}
