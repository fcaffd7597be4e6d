//! The question that asks the user for consent before a call of an upstream tool, if the operator's policy for the
//! tool requires consent.

use portcullis_mcp_client::Object;
use serde_json::{Value, json};

use crate::call::CallFailure;

/// The key of the question among the questions of a round.
pub const KEY: &str = "consent";

/// The MCP method that asks the user.
pub const METHOD: &str = "elicitation/create";

/// Maximum length of the arguments in the question, in characters.
const SHOWN_ARGUMENTS: usize = 4000;

/// The parameters of the question. `params`: the parameters of the request to the server.
pub fn question(tool: &str, server: &str, params: &Object) -> Object {
    let arguments = params.get("arguments").unwrap_or(&Value::Null).to_string();
    let shown = portcullis_sanitize::visible_line(&arguments, SHOWN_ARGUMENTS);
    let message = format!("Call `{tool}` of the MCP server `{server}` with {shown}?");
    let form = json!({ "type": "object", "properties": {} });
    Object::from_iter([
        ("message".to_owned(), message.into()),
        ("requestedSchema".to_owned(), form),
    ])
}

/// Checks the user's answer.
///
/// # Errors
///
/// The user did not agree.
pub fn check(answer: Option<&Value>) -> Result<(), CallFailure> {
    match answer.and_then(|answer| answer["action"].as_str()) {
        Some("accept") => Ok(()),
        _ => Err(missing("the user did not agree")),
    }
}

/// The failure of a call without consent.
pub fn missing(why: &str) -> CallFailure {
    CallFailure::Denied(format!("the call was not made: {why}"))
}
