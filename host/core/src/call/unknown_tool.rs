//! Gets the error of a wrapped server for a tool that is not offered, so that clients see the server's own error.
//!
//! The server never gets the name of the tool, because a tool that is not offered must not run. The server gets a name
//! that no tool has. In the answer, this name is replaced by the name of the tool.

use portcullis_mcp_client::Object;
use serde_json::{Value, json};

use super::{CallFailure, SourceAnswer};

/// A name that no tool has.
const NO_TOOL: &str = "portcullis-no-such-tool";

/// The parameters of the request, with the name that no tool has.
pub fn probe() -> Object {
    Object::from_iter([("name".to_owned(), NO_TOOL.into()), ("arguments".to_owned(), json!({}))])
}

/// The server's answer about the unknown tool `name`. A result without an error becomes the error that the tool is
/// unknown.
///
/// # Errors
///
/// The server's JSON-RPC error, another failure of the call, or [`CallFailure::Unknown`].
pub fn answer(
    name: &str,
    served: Result<SourceAnswer, CallFailure>,
) -> Result<SourceAnswer, CallFailure> {
    match served {
        Ok(SourceAnswer::Upstream(mut result)) if result["isError"] == true => {
            rename(&mut result, name);
            Ok(SourceAnswer::Upstream(result))
        }
        Err(CallFailure::Protocol(mut error)) => {
            error.message = error.message.replace(NO_TOOL, name);
            error.data = error.data.map(|data| match serde_json::from_str::<Value>(&data) {
                Ok(mut data) => {
                    rename(&mut data, name);
                    data.to_string()
                }
                Err(_) => data,
            });
            Err(CallFailure::Protocol(error))
        }
        // Some servers ask for the client's roots before they answer anything.
        Ok(questions @ SourceAnswer::UpstreamQuestions { .. }) => Ok(questions),
        Ok(_) => Err(CallFailure::Unknown(format!("unknown tool: {name}"))),
        Err(failure) => Err(failure),
    }
}

fn rename(value: &mut Value, name: &str) {
    match value {
        Value::String(text) if text.contains(NO_TOOL) => *text = text.replace(NO_TOOL, name),
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, name)),
        Value::Object(members) => {
            members.values_mut().for_each(|member| rename(member, name));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings::types::Error as ProtocolError;

    #[test]
    fn an_error_names_the_tool_of_the_call() {
        let text = format!("Unknown tool: {NO_TOOL}");
        let result = json!({ "content": [{ "type": "text", "text": text }], "isError": true });
        let Ok(SourceAnswer::Upstream(result)) = answer("a", Ok(SourceAnswer::Upstream(result)))
        else {
            panic!("the answer is the server's result");
        };
        assert_eq!(result["content"][0]["text"], "Unknown tool: a");
        let error = ProtocolError {
            code: -32602,
            message: format!("Tool {NO_TOOL} not found"),
            data: Some(json!({ "tool": NO_TOOL }).to_string()),
        };
        let Err(CallFailure::Protocol(error)) = answer("a", Err(CallFailure::Protocol(error)))
        else {
            panic!("the answer is the server's error");
        };
        assert_eq!((error.code, error.message.as_str()), (-32602, "Tool a not found"));
        assert_eq!(error.data.as_deref(), Some(r#"{"tool":"a"}"#));
    }

    #[test]
    fn a_result_for_an_unknown_tool_is_not_passed_on() {
        let result = SourceAnswer::Upstream(json!({ "content": [] }));
        assert!(matches!(answer("a", Ok(result)), Err(CallFailure::Unknown(_))));
    }
}
