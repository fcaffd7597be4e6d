//! Failures of calls as clients see them: results with `isError`, or protocol errors.

use portcullis_core::call::Failure;
use rmcp::model::{CallToolResult, ErrorCode, ErrorData};

use super::convert;

/// The answer to a tool call that failed: what the caller or the model can mend is a result with `isError`.
///
/// # Errors
///
/// The rest: a protocol error.
pub fn tool_answer(failure: &Failure) -> Result<CallToolResult, ErrorData> {
    match failure {
        Failure::InvalidArguments(_)
        | Failure::Denied(_)
        | Failure::ArgumentsTooLarge(_)
        | Failure::TimedOut(_)
        | Failure::TooLarge(_)
        | Failure::PluginFailed(_)
        | Failure::Upstream(_)
        | Failure::Abandoned(_)
        | Failure::BrokenPromise(_) => Ok(convert::error(failure.to_string())),
        Failure::Unknown(_) | Failure::Protocol(_) | Failure::Host(_) | Failure::Cancelled => {
            Err(protocol_error(failure))
        }
    }
}

/// A failure where the answer has no room for one.
pub fn protocol_error(failure: &Failure) -> ErrorData {
    let message = || portcullis_sanitize::line(&failure.to_string(), 1000);
    match failure {
        Failure::Unknown(_) | Failure::InvalidArguments(_) | Failure::Denied(_) => {
            ErrorData::invalid_params(message(), None)
        }
        Failure::Protocol(error) => {
            let data = error.data.as_deref().and_then(|data| serde_json::from_str(data).ok());
            ErrorData::new(ErrorCode(error.code), error.message.clone(), data)
        }
        Failure::ArgumentsTooLarge(_)
        | Failure::TimedOut(_)
        | Failure::TooLarge(_)
        | Failure::PluginFailed(_)
        | Failure::Upstream(_)
        | Failure::Abandoned(_)
        | Failure::BrokenPromise(_)
        | Failure::Host(_)
        | Failure::Cancelled => ErrorData::internal_error(message(), None),
    }
}

/// What went wrong is for the log: the client could do nothing with it.
pub fn internal(error: String) -> ErrorData {
    tracing::error!("{error}");
    ErrorData::internal_error("the host failed; its log says how", None)
}
