//! Why the work of a guest failed.

use portcullis_engine::LimitHit;

use super::{GuestAnswer, RefusedComponent};
use crate::bindings::types::{ContentBody, Error as ProtocolError};

/// The limit of wall-clock time, by its name in `portcullis.toml`.
pub(super) const WALL_LIMIT: &str = "wall-ms";

/// Why the work of a guest failed.
#[derive(Debug)]
pub enum GuestFailure {
    /// A time limit was reached: its name in `portcullis.toml`.
    TimedOut(&'static str),
    /// The guest was told that `wall-ms` is nearly reached, and then failed, with this text.
    GaveUp(String),
    /// Another limit was reached.
    Limit(LimitHit),
    /// The guest trapped or exited, with this message.
    Crashed(String),
    /// The component cannot be run at all.
    Unusable(String),
    /// The plugin answered with a JSON-RPC error.
    Protocol(ProtocolError),
    /// The host failed.
    Host(String),
}

impl GuestFailure {
    /// Whether the host remembers this failure and does not try the component again with the same limits.
    pub(super) fn is_lasting(&self) -> bool {
        match self {
            // Wall-clock time also passes while a busy machine runs other processes.
            Self::TimedOut(limit) => *limit != WALL_LIMIT,
            Self::Limit(_) | Self::Crashed(_) | Self::Unusable(_) => true,
            Self::GaveUp(_) | Self::Protocol(_) | Self::Host(_) => false,
        }
    }

    /// The refusal of a component, for a failure that occurred while the component was compiled or its manifest was
    /// read.
    pub(super) fn into_refusal(self) -> RefusedComponent {
        RefusedComponent(match self {
            Self::Unusable(why) => format!("not a runnable component: {why}"),
            Self::Crashed(why) => format!("it failed while it returned its manifest: {why}"),
            Self::TimedOut(limit) => {
                format!("it took longer than `{limit}` to return its manifest")
            }
            Self::GaveUp(text) => format!("it returned no manifest within `wall-ms`: {text}"),
            Self::Limit(hit) => format!("while it returned its manifest, {hit}"),
            Self::Protocol(error) => format!("it returned no manifest: {}", error.message),
            Self::Host(why) => why,
        })
    }
}

/// The text of a guest's error. `None`: the guest did not fail.
pub(super) fn error_text(answer: &Result<GuestAnswer, ProtocolError>) -> Option<String> {
    match answer {
        Ok(GuestAnswer::Tool(result)) if result.is_error => {
            let texts = result.content.iter().filter_map(|content| match &content.body {
                ContentBody::Text(text) => Some(text.as_str()),
                ContentBody::Image(_)
                | ContentBody::Audio(_)
                | ContentBody::Resource(_)
                | ContentBody::Link(_)
                | ContentBody::Other(_) => None,
            });
            Some(texts.collect::<Vec<_>>().join("\n"))
        }
        Ok(_) => None,
        Err(error) => Some(error.message.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_that_a_busy_machine_can_cause_is_not_remembered() {
        assert!(GuestFailure::TimedOut("cpu-ms").is_lasting());
        assert!(GuestFailure::Crashed("it trapped".to_owned()).is_lasting());
        assert!(!GuestFailure::TimedOut(WALL_LIMIT).is_lasting());
        assert!(!GuestFailure::GaveUp("no time left".to_owned()).is_lasting());
    }
}
