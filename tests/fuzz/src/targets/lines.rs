//! Fuzzes MCP over stdio: a line of a client becomes a message or is refused, and a refusal has the id of its
//! request.

use std::collections::BTreeSet;
use std::io::Cursor;

use portcullis_result_passthrough::PassthroughKey;
use portcullis_stdio_transport::{EndSignals, StdioTransport};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::AsyncReadExt;
use tokio_util::sync::CancellationToken;

/// Texts that have a meaning for this parser.
pub const WORDS: &[&str] = &[
    "\"jsonrpc\":\"2.0\"",
    "\"id\":7",
    "\"id\":null",
    "\"id\":\"a\"",
    "\"id\":1.5",
    "\"method\":\"tools/call\"",
    "\"method\":\"ping\"",
    "\"params\":{\"name\":\"t\",\"arguments\":{}}",
    "\"result\":{}",
    "\"error\":{}",
    "\n",
    "[[[[[[[[",
    "{\"a\":",
    "\\ud800",
    "\\u0000",
    "1e999",
    "notifications/cancelled",
    "\"requestId\":7",
];

/// Reads all lines. Panics if a line is answered twice or with an id that was not sent, if a request is lost, or if
/// the output is not one message per line.
pub fn target(bytes: &[u8]) {
    let (received, written) = converse(bytes);
    let mut refused = Vec::new();
    for line in written.split_terminator('\n') {
        let said: Value = serde_json::from_str(line).expect("what is written is JSON");
        assert_eq!(said["jsonrpc"], "2.0", "{line}");
        assert!(said["error"]["code"].is_i64() && said["error"]["message"].is_string(), "{line}");
        refused.push(said["id"].clone());
    }
    let known: BTreeSet<_> = received
        .iter()
        .chain(refused.iter().filter(|id| !id.is_null()))
        .map(Value::to_string)
        .collect();
    // A last line without a line break is incomplete, and is ignored.
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(&[][..], |end| &bytes[..end]);
    let mut ids = BTreeSet::new();
    let mut requests = 0;
    for line in whole.split(|byte| *byte == b'\n') {
        let Ok(message) = serde_json::from_slice::<Value>(line) else { continue };
        ids.extend(inner_ids(&message));
        if is_request(&message, line) {
            requests += 1;
            let id = message["id"].to_string();
            assert!(
                known.contains(&id),
                "the request {id} is not answered: {}",
                line.escape_ascii()
            );
        }
    }
    // The id of a line that is not JSON may still be found, because the line contains it, perhaps with escapes.
    let stands = |id: &str| bytes.windows(id.len()).any(|text| text == id.as_bytes());
    let was_sent = |id: &String| ids.contains(id) || stands(id) || bytes.contains(&b'\\');
    assert!(known.iter().all(was_sent), "ids that nobody sent: {known:?}");
    assert!(received.len() + refused.len() >= requests, "each request has its own answer");
    let lines = whole.split(|byte| *byte == b'\n').count();
    assert!(received.len() + refused.len() <= lines, "there are more answers than lines");
}

/// The ids of the requests that were received, and the output.
fn converse(bytes: &[u8]) -> (Vec<Value>, String) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let (output, mut written) = tokio::io::duplex(1 << 24);
        let raw = PassthroughKey::new().expect("random bytes");
        let ended = CancellationToken::new();
        let ends = EndSignals { input: ended.clone(), output: CancellationToken::new() };
        let mut lines = StdioTransport::new(Cursor::new(bytes.to_vec()), output, raw, ends);
        let mut received = Vec::new();
        while let Some(message) = lines.receive().await {
            if let ClientJsonRpcMessage::Request(request) = message {
                received.push(serde_json::json!(request.id));
            }
        }
        assert!(ended.is_cancelled(), "the end of the input is the end of the server");
        drop(lines);
        let mut text = String::new();
        written.read_to_string(&mut text).await.expect("what is written is text");
        (received, text)
    })
}

/// Whether a line is a request in its plainest form. Only then must a refusal have the id of the request.
fn is_request(message: &Value, line: &[u8]) -> bool {
    let Some(object) = message.as_object() else { return false };
    let id_is_plain = match &object.get("id") {
        Some(Value::String(_)) => true,
        Some(Value::Number(number)) => number.as_i64().is_some_and(|number| number.abs() < 1 << 53),
        _ => false,
    };
    let names = ["jsonrpc", "id", "method", "params"];
    let count = |word: &[u8]| line.windows(word.len()).filter(|window| *window == word).count();
    id_is_plain
        && object.get("method").is_some_and(Value::is_string)
        && object.keys().all(|key| names.contains(&key.as_str()))
        && count(b"\"id\"") == 1
        && count(b"\"method\"") == 1
        && count(b"\\") == 0
}

/// The values of all keys `id` in a message, at any depth.
fn inner_ids(value: &Value) -> Vec<String> {
    match value {
        Value::Object(members) => {
            let own = members.get("id").map(Value::to_string);
            own.into_iter().chain(members.values().flat_map(inner_ids)).collect()
        }
        Value::Array(items) => items.iter().flat_map(inner_ids).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}
