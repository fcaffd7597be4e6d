//! Maps failures of calls to what clients get: a result with `isError`, or a JSON-RPC error.

use std::error::Error;

use portcullis_cluster_state::StateError;
use portcullis_core::call::CallFailure;
use rmcp::model::{CallToolResult, ErrorCode, ErrorData};

use super::convert;

/// The answer to a tool call that failed: a result with `isError`, if the client's model can react to the failure.
///
/// # Errors
///
/// A JSON-RPC error for all other failures.
pub fn tool_answer(failure: &CallFailure) -> Result<CallToolResult, ErrorData> {
    match failure {
        CallFailure::InvalidArguments(_)
        | CallFailure::Denied(_)
        | CallFailure::ArgumentsTooLarge(_)
        | CallFailure::TimedOut(_)
        | CallFailure::TooLarge(_)
        | CallFailure::Busy(_)
        | CallFailure::PluginFailed(_)
        | CallFailure::Upstream(_)
        | CallFailure::Abandoned(_)
        | CallFailure::BrokenPromise(_) => Ok(convert::error(failure.to_string())),
        CallFailure::Unknown(_)
        | CallFailure::Protocol(_)
        | CallFailure::Host(_)
        | CallFailure::Cancelled => Err(protocol_error(failure)),
    }
}

/// The JSON-RPC error for a failure that does not become a result with `isError`.
pub fn protocol_error(failure: &CallFailure) -> ErrorData {
    let message = || portcullis_sanitize::line(&failure.to_string(), 1000);
    match failure {
        CallFailure::Unknown(_) | CallFailure::InvalidArguments(_) | CallFailure::Denied(_) => {
            ErrorData::invalid_params(message(), None)
        }
        CallFailure::Protocol(error) => {
            let data = error.data.as_deref().and_then(|data| serde_json::from_str(data).ok());
            ErrorData::new(ErrorCode(error.code), error.message.clone(), data)
        }
        CallFailure::ArgumentsTooLarge(_)
        | CallFailure::TimedOut(_)
        | CallFailure::TooLarge(_)
        | CallFailure::Busy(_)
        | CallFailure::PluginFailed(_)
        | CallFailure::Upstream(_)
        | CallFailure::Abandoned(_)
        | CallFailure::BrokenPromise(_)
        | CallFailure::Host(_)
        | CallFailure::Cancelled => ErrorData::internal_error(message(), None),
    }
}

/// The JSON-RPC error for a fault of the host. The cause is written to the log only.
pub fn internal(error: impl Into<Box<dyn Error + Send + Sync>>) -> ErrorData {
    tracing::error!("{}", portcullis_sanitize::error_chain(&*error.into()));
    ErrorData::internal_error("the host failed: see its log", None)
}

/// The JSON-RPC error for a failed use of the cluster's state. `what`: what it was used for, for the log.
pub fn cluster(what: &str, error: &StateError) -> ErrorData {
    tracing::warn!("{what}: {}", portcullis_sanitize::error_chain(error));
    let text = if error.is_away() {
        "the state that the hosts share cannot be reached now: try again later"
    } else {
        "the host cannot use the state that the hosts share"
    };
    ErrorData::internal_error(text, None)
}
