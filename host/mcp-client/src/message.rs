//! JSON-RPC messages as MCP uses them. Parameters and results stay JSON, so that no unknown field is lost.

use portcullis_json_bounds::{Excess, Outline, scan};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::prune::pruned;

/// A message of at most this many bytes cannot exceed the limit of units of `portcullis_json_bounds`.
const SURELY_SMALL: usize = 16 * 1024;

/// A JSON object, with its members in the order in which they were sent.
pub type Object = Map<String, Value>;

/// An error of JSON-RPC: the answer to a request that failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RpcError {
    /// The kind of the error. JSON-RPC and MCP use numbers from -32768 to -32000.
    pub code: i64,
    /// A description.
    #[serde(default)]
    pub message: String,
    /// Further details.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl RpcError {
    /// There is no such method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The request is not valid.
    pub const INVALID_REQUEST: i64 = -32600;
    /// Answering the request failed for an internal reason.
    pub const INTERNAL: i64 = -32603;
    /// MCP 2026-07-28: the headers of a request contradict its body.
    pub const HEADER_MISMATCH: i64 = -32020;
    /// MCP 2026-07-28: the server does not support the revision that the request names.
    pub const UNSUPPORTED_VERSION: i64 = -32022;

    /// An error without further details.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }
}

/// Why bytes are not a message.
#[derive(Debug, Error)]
pub(crate) enum MessageError {
    #[error("not JSON")]
    NotJson(#[source] serde_json::Error),
    #[error("JSON, but not an MCP message")]
    NotAMessage,
    #[error("a request with a `method` that is not a string")]
    Method,
    #[error("an error that is not a JSON-RPC error")]
    NotAnError(#[source] serde_json::Error),
    #[error("neither a request nor an answer")]
    Neither,
    #[error("an answer without an id")]
    NoId,
    #[error("an answer with an unknown id")]
    UnknownId,
}

/// A message of the other side.
#[derive(Debug)]
pub(crate) enum Message {
    Request {
        id: Value,
        method: String,
        params: Object,
    },
    Notification {
        method: String,
        params: Object,
    },
    /// The answer to a request of ours, by the id of the request.
    Answer {
        id: u64,
        answer: Result<Value, RpcError>,
    },
    /// An error without an id. It may concern any request.
    Complaint(RpcError),
}

/// A message that was not read.
#[derive(Debug, PartialEq)]
pub(crate) enum UnreadMessage {
    /// A request or a notification of the other side. A request has its id, if the id is known.
    Asking(Option<Value>),
    /// An answer, with the id of its request if the id is known; or something that is not a message.
    Answer(Option<u64>),
}

impl UnreadMessage {
    /// The message with this outline. Both sides number their own requests, so the id alone does not say whose
    /// request a message is about.
    pub(crate) fn of(outline: &Outline) -> Self {
        let id = outline.id();
        if outline.has_method() {
            return Self::Asking(id.and_then(|id| serde_json::from_str(&id).ok()));
        }
        Self::Answer(id.and_then(|id| id.parse().ok()))
    }
}

/// Whether a message may be parsed.
///
/// # Errors
///
/// The message must not be parsed. The error is the known part of the message, and the exceeded limit.
pub(crate) fn check(bytes: &[u8]) -> Result<(), (UnreadMessage, Excess)> {
    // A message of so few bytes has few units, and the parser has its own limit of depth.
    if bytes.len() <= SURELY_SMALL {
        return Ok(());
    }
    let outline = scan(bytes);
    outline.check().map_err(|excess| (UnreadMessage::of(&outline), excess))
}

/// Reads one message, or a batch of messages, which MCP 2025-03-26 allows.
///
/// # Errors
///
/// The bytes are not a message.
pub(crate) fn read(bytes: &[u8]) -> Result<Vec<Message>, MessageError> {
    match value(bytes).map_err(MessageError::NotJson)? {
        Value::Object(object) => Ok(vec![one(object)?]),
        Value::Array(batch) => batch.into_iter().map(|value| one(object(value))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Err(MessageError::NotAMessage)
        }
    }
}

/// The members of a list result that hold the entries of the list. The entries are checked one by one later.
const LISTS: [&str; 4] = ["tools", "prompts", "resources", "resourceTemplates"];

/// Parses JSON. In a list result, values that are nested too deep become `null`. In any other message, they are an
/// error.
fn value(bytes: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice(bytes).or_else(|error| {
        if !error.to_string().contains("recursion limit") {
            return Err(error);
        }
        let value: Value = serde_json::from_slice(&pruned(bytes))?;
        let is_list = LISTS.iter().any(|list| value["result"][*list].is_array());
        if is_list { Ok(value) } else { Err(error) }
    })
}

/// The object, or an empty object if the value is not an object.
pub(crate) fn object(value: Value) -> Object {
    let Value::Object(object) = value else { return Object::new() };
    object
}

fn one(mut object: Object) -> Result<Message, MessageError> {
    let id = object.remove("id").filter(|id| !id.is_null());
    if let Some(method) = object.remove("method") {
        let Value::String(method) = method else {
            return Err(MessageError::Method);
        };
        let params = object.remove("params").map(self::object).unwrap_or_default();
        return Ok(match id {
            Some(id) => Message::Request { id, method, params },
            None => Message::Notification { method, params },
        });
    }
    let answer = match (object.remove("result"), object.remove("error")) {
        (Some(result), None) => Ok(result),
        (_, Some(error)) => Err(serde_json::from_value(error).map_err(MessageError::NotAnError)?),
        (None, None) => return Err(MessageError::Neither),
    };
    match (id, answer) {
        (None, Err(error)) => Ok(Message::Complaint(error)),
        (None, Ok(_)) => Err(MessageError::NoId),
        (Some(id), answer) => match id.as_u64() {
            Some(id) => Ok(Message::Answer { id, answer }),
            None => Err(MessageError::UnknownId),
        },
    }
}

#[derive(Serialize)]
struct Outgoing<'a, I: Serialize> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<I>,
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a Object>,
}

fn bytes(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message).expect("it consists of JSON values")
}

/// A request, as bytes.
pub(crate) fn request(id: u64, method: &str, params: Option<&Object>) -> Vec<u8> {
    bytes(&Outgoing { jsonrpc: "2.0", id: Some(id), method, params })
}

/// A notification, as bytes.
pub(crate) fn notification(method: &str, params: Option<&Object>) -> Vec<u8> {
    bytes(&Outgoing::<u64> { jsonrpc: "2.0", id: None, method, params })
}

/// The notification that cancels a request of ours, as bytes.
pub(crate) fn cancelled(id: u64) -> Vec<u8> {
    let params = json!({"requestId": id, "reason": "no longer wanted"});
    notification("notifications/cancelled", params.as_object())
}

/// An answer to a request of the other side, as bytes.
pub(crate) fn answer(id: &Value, answer: &Result<Value, RpcError>) -> Vec<u8> {
    bytes(&match answer {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_message_is_recognised_and_nothing_is_lost() {
        let text =
            r#"{"jsonrpc":"2.0","id":7,"result":{"z":1,"content":[{"type":"hologram"}],"a":2}}"#;
        let mut read_one = read(text.as_bytes()).unwrap();
        let Some(Message::Answer { id: 7, answer: Ok(result) }) = read_one.pop() else {
            panic!("an answer to 7")
        };
        assert_eq!(result.to_string(), r#"{"z":1,"content":[{"type":"hologram"}],"a":2}"#);
        let batch = br#"[{"id":"a","method":"ping"},{"method":"x","params":[1]},
            {"id":null,"error":{"code":-32700}},{"id":3,"error":{"code":1,"message":"m","data":[]}}]"#;
        let kinds = read(batch).unwrap();
        assert!(matches!(&kinds[0], Message::Request { id, .. } if id == "a"));
        assert!(matches!(&kinds[1], Message::Notification { params, .. } if params.is_empty()));
        assert!(matches!(&kinds[2], Message::Complaint(error) if error.code == -32700));
        assert!(matches!(&kinds[3], Message::Answer { id: 3, answer: Err(e) } if e.data.is_some()));
    }

    #[test]
    fn bytes_that_are_not_a_message_are_refused() {
        for text in ["", "{", "7", "null", "[1]", "{}", r#"{"id":1}"#, r#"{"method":1}"#] {
            assert!(read(text.as_bytes()).is_err(), "{text}");
        }
        for text in [r#"{"id":-1,"result":{}}"#, r#"{"id":"1","result":{}}"#, r#"{"result":{}}"#] {
            assert!(read(text.as_bytes()).is_err(), "{text}");
        }
        assert!(read("[".repeat(100_000).as_bytes()).is_err());
    }

    #[test]
    fn a_message_with_too_many_values_is_not_read_and_its_request_is_known() {
        let many = "{},".repeat(200_000);
        let text = format!(r#"{{"result":[{many}0],"id":9}}"#);
        let refused = |text: &str| check(text.as_bytes()).unwrap_err();
        let answer = || UnreadMessage::Answer(Some(9));
        assert!(matches!(refused(&text), (unread, Excess::Units { .. }) if unread == answer()));
        let deep = format!(r#"{{"id":9,"result":{}"#, "[".repeat(100_000));
        assert_eq!(refused(&deep), (answer(), Excess::Depth));
        for (id, expected) in [("9", json!(9)), ("\"a\"", json!("a"))] {
            let request = deep.replace("9", &format!(r#"{id},"method":"ping""#));
            assert_eq!(refused(&request), (UnreadMessage::Asking(Some(expected)), Excess::Depth));
        }
        let notification = deep.replace("\"id\":9", r#""method":"x""#);
        assert_eq!(refused(&notification), (UnreadMessage::Asking(None), Excess::Depth));
        assert!(check(format!(r#"{{"id":9,"result":"{many}"}}"#).as_bytes()).is_ok());
    }

    #[test]
    fn entries_of_a_list_that_are_too_deep_are_cut_and_nothing_else_is_changed() {
        let (open, close) = ("{\"not\":".repeat(300), "}".repeat(300));
        let deep = format!("{open}1{close}");
        let list = format!(
            r#"{{"id":1,"result":{{"tools":[{{"name":"a"}},{{"name":"b","inputSchema":{deep}}}]}}}}"#
        );
        let mut messages = read(list.as_bytes()).unwrap();
        let Some(Message::Answer { answer: Ok(result), .. }) = messages.pop() else {
            panic!("an answer")
        };
        assert_eq!(result["tools"][0], json!({"name": "a"}));
        assert_eq!(result["tools"][1]["name"], "b");
        let answer = format!(r#"{{"id":1,"result":{{"content":[],"structuredContent":{deep}}}}}"#);
        assert!(read(answer.as_bytes()).is_err(), "an answer is whole or nothing");
    }
}
