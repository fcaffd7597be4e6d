//! The messages that the benchmark sends, and the check of their answers.

use std::fmt;
use std::path::Path;

use serde_json::{Value, json};

/// The era of MCP.
#[derive(Clone, Copy, PartialEq)]
pub enum Era {
    /// 2025-11-25.
    Legacy,
    /// 2026-07-28.
    Modern,
}

impl fmt::Display for Era {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Legacy => "2025-11-25",
            Self::Modern => "2026-07-28",
        })
    }
}

/// A request in this era.
pub fn request(id: u32, era: Era, method: &str, mut params: Value) -> Value {
    if era == Era::Modern {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "speed", "version": "0"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
    }
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// The first request of a legacy session.
pub fn initialize() -> Value {
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "speed", "version": "0"},
    });
    request(0, Era::Legacy, "initialize", params)
}

/// The notification that follows [`initialize`].
pub fn initialized() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/initialized"})
}

/// A call of a tool that answers with its text.
pub fn echo(id: u32, era: Era, tool: &str, text: &str) -> Value {
    request(id, era, "tools/call", json!({"name": tool, "arguments": {"text": text}}))
}

/// A message as a line.
pub fn line(message: &Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}

/// The line of a call of a tool.
pub fn call(era: Era, tool: &str, arguments: &Value) -> Vec<u8> {
    line(&request(1, era, "tools/call", json!({"name": tool, "arguments": arguments})))
}

/// Writes a manifest into this project, and returns a call of `run_manifest_validation` on it.
#[expect(clippy::disallowed_methods, reason = "a benchmark may write to its own folder")]
pub fn manifest_call(project: &Path) -> Vec<u8> {
    let path = project.join("manifest.json");
    std::fs::write(&path, include_str!("manifest.json")).expect("the project can be written to");
    call(Era::Legacy, "run_manifest_validation", &json!({"manifestPath": path}))
}

/// Whether an answer contains this text.
pub fn holds(answer: &[u8], text: &[u8]) -> bool {
    answer.windows(text.len()).any(|window| window == text)
}

/// Panics unless the answer is a result: a fast error must not count as a fast answer.
pub fn require_result(answer: &[u8]) {
    let failed = holds(answer, br#""isError":true"#) || !holds(answer, br#""result":"#);
    assert!(!failed, "no result: {}", String::from_utf8_lossy(answer));
}
