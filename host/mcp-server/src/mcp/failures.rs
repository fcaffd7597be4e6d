//! Failures of calls as clients see them: results with `isError`, or protocol errors.

use portcullis_core::call::CallFailure;
use rmcp::model::{CallToolResult, ErrorCode, ErrorData};

use super::convert;

/// The answer to a tool call that failed: what the caller or the model can mend is a result with `isError`.
///
/// # Errors
///
/// The rest: a protocol error.
pub fn tool_answer(failure: &CallFailure) -> Result<CallToolResult, ErrorData> {
    match failure {
        CallFailure::InvalidArguments(_)
        | CallFailure::Denied(_)
        | CallFailure::ArgumentsTooLarge(_)
        | CallFailure::TimedOut(_)
        | CallFailure::TooLarge(_)
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

/// A failure where the answer has no room for one.
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
        | CallFailure::PluginFailed(_)
        | CallFailure::Upstream(_)
        | CallFailure::Abandoned(_)
        | CallFailure::BrokenPromise(_)
        | CallFailure::Host(_)
        | CallFailure::Cancelled => ErrorData::internal_error(message(), None),
    }
}

/// What went wrong is for the log: the client could do nothing with it.
pub fn internal(error: String) -> ErrorData {
    tracing::error!("{error}");
    ErrorData::internal_error("the host failed; its log says how", None)
}
