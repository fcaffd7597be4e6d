//! Parses a line into a message, or into the error to send back. An invalid line that needs no response is ignored.

use portcullis_json_bounds::{Excess, Outline, scan};
use rmcp::model::{ClientJsonRpcMessage, ErrorCode, ErrorData, RequestId};
use serde_json::Value;

use crate::fast_path;
use crate::input::{InputLine, MAX_LINE};

/// A line of at most this many bytes cannot have too many values and keys (`Outline::units` of
/// `portcullis_json_bounds`).
const MAX_UNCHECKED_BYTES: usize = 16 * 1024;

/// The content of a line.
pub(crate) enum Read {
    /// The line is ignored: nobody waits for an answer to it.
    Nothing,
    /// A message.
    Message(Box<ClientJsonRpcMessage>),
    /// The line is answered with an error.
    Refused(Option<RequestId>, ErrorData),
}

impl Read {
    /// Refuses a message. A response or a notification is ignored instead, because nobody waits for an answer to it.
    fn refused(outline: &Outline, code: ErrorCode, why: String) -> Self {
        let is_notification = outline.has_method() && !outline.has_id() && outline.is_complete();
        if is_notification || outline.is_answer() {
            let what = if is_notification { "a notification" } else { "an answer" };
            tracing::warn!("{what} of the client is ignored: {why}");
            return Self::Nothing;
        }
        let id = outline.id().and_then(|id| serde_json::from_str(&id).ok());
        Self::Refused(id, ErrorData::new(code, why, None))
    }
}

/// Parses a line.
pub(crate) fn read(line: &InputLine) -> Read {
    let line = match line {
        InputLine::Text(line) => line.trim_ascii(),
        InputLine::TooLong(outline) => {
            let why = format!(
                "the message has {} bytes; the maximum is {MAX_LINE}: send smaller messages",
                outline.bytes()
            );
            return Read::refused(outline, ErrorCode::INVALID_REQUEST, why);
        }
    };
    if line.is_empty() {
        return Read::Nothing;
    }
    if line.len() > MAX_UNCHECKED_BYTES {
        let outline = scan(line);
        if let Err(excess) = outline.check() {
            return Read::refused(&outline, error_code(excess), excess.to_string());
        }
    }
    let message = fast_path::tool_call(line).map_or_else(|| serde_json::from_slice(line), Ok);
    match message {
        Ok(message) if is_answer(&message) && has_result_and_error(line) => {
            tracing::warn!("an answer of the client is ignored: it has both result and error");
            Read::Nothing
        }
        Ok(message) => Read::Message(Box::new(message)),
        Err(error) => not_a_message(line, &error),
    }
}

fn error_code(excess: Excess) -> ErrorCode {
    match excess {
        // The code for short lines that are nested too deep. Short lines are not scanned: the JSON parser, whose depth
        // limit is the same, refuses them with this code.
        Excess::Depth => ErrorCode::PARSE_ERROR,
        Excess::Units { .. } => ErrorCode::INVALID_REQUEST,
    }
}

fn is_answer(message: &ClientJsonRpcMessage) -> bool {
    matches!(message, ClientJsonRpcMessage::Response(_) | ClientJsonRpcMessage::Error(_))
}

fn has_result_and_error(line: &[u8]) -> bool {
    let outline = scan(line);
    outline.has_result() && outline.has_error()
}

/// The error for a line that is not a message.
fn not_a_message(line: &[u8], error: &serde_json::Error) -> Read {
    let outline = scan(line);
    match serde_json::from_slice::<Value>(line) {
        Err(error) => {
            Read::refused(&outline, ErrorCode::PARSE_ERROR, format!("this is not JSON: {error}"))
        }
        Ok(value) => {
            let why = if value.is_array() {
                "batches are not supported".to_owned()
            } else {
                format!("this is not a JSON-RPC message: {error}")
            };
            Read::refused(&outline, ErrorCode::INVALID_REQUEST, why)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(line: &str) -> Read {
        read(&InputLine::Text(line.into()))
    }

    fn refused(line: &str) -> (Option<RequestId>, i32) {
        match text(line) {
            Read::Refused(id, error) => (id, error.code.0),
            Read::Nothing | Read::Message(_) => panic!("{line} is refused"),
        }
    }

    #[test]
    fn what_cannot_be_read_is_answered_with_the_right_code() {
        for line in ["{", "nul", "{\"a\":1e400}", "\"\\ud800\"", &"[".repeat(100_000)] {
            assert_eq!(refused(line), (None, -32700), "{}", &line[..line.len().min(20)]);
        }
        for line in ["[]", "1", "{}", r#"{"jsonrpc":"1.0","id":null,"method":"ping"}"#] {
            assert_eq!(refused(line), (None, -32600), "{line}");
        }
        assert!(matches!(text("  \r"), Read::Nothing));
    }

    #[test]
    fn a_refusal_names_the_request() {
        let number = |id| Some(RequestId::Number(id));
        let many = "0,".repeat(200_000);
        for (line, expected) in [
            (r#"{"id":7,"method":"ping"}"#.to_owned(), (number(7), -32600)),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"s":"\ud800"}}"#.to_owned(),
                (number(7), -32700),
            ),
            (r#"{"id":7,"method":"ping","params":["#.to_owned(), (number(7), -32700)),
            // Of two members `id`, the last one counts, as in a parsed message.
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#.to_owned(), (number(2), -32600)),
            (format!(r#"{{"params":[{many}0],"id":7,"method":"x"}}"#), (number(7), -32600)),
            (
                format!(r#"{{"params":{},"id":"a","method":"x"}}"#, "[".repeat(100_000)),
                (None, -32700),
            ),
            (
                format!(r#"{{"id":"a","method":"x","params":{}}}"#, "[".repeat(100_000)),
                (Some(RequestId::String("a".into())), -32700),
            ),
        ] {
            assert_eq!(refused(&line), expected, "{}", &line[..line.len().min(80)]);
        }
    }

    #[test]
    fn an_answer_or_a_notification_is_never_answered() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"},"result":null}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"s":"\ud800"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/x","params":{"s":"\ud800"}}"#,
            r#"{"jsonrpc":"2.0","method":1}"#,
        ] {
            assert!(matches!(text(line), Read::Nothing), "{line}");
        }
        let many = "0,".repeat(200_000);
        assert!(matches!(text(&format!(r#"{{"id":1,"result":[{many}0]}}"#)), Read::Nothing));
    }

    #[test]
    fn a_large_message_of_few_values_is_read() {
        let large = "x".repeat(10_000_000);
        let numbers = vec!["12"; 100_000].join(",");
        for arguments in [format!("\"{large}\""), format!("[{numbers}]")] {
            let params = format!(r#"{{"name":"a","arguments":{{"a":{arguments}}}}}"#);
            let line =
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
            assert!(matches!(text(&line), Read::Message(_)));
        }
    }
}
