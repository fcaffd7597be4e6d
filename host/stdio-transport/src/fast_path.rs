//! Parses the most frequent message, `tools/call`, faster than rmcp. rmcp's own deserialisation tries several types,
//! and copies the values between its attempts.

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, JsonObject,
    RequestId, RequestMetaObject,
};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolCall<'a> {
    jsonrpc: &'a str,
    id: RequestId,
    method: &'a str,
    params: JsonObject,
}

/// Parses a tool call in its simplest form. `None`: the line is another message or invalid, and rmcp has to parse it.
pub fn tool_call(line: &[u8]) -> Option<ClientJsonRpcMessage> {
    // serde would also accept an array as the struct.
    if line.first() != Some(&b'{') {
        return None;
    }
    let ToolCall { jsonrpc: "2.0", id, method: "tools/call", mut params } =
        serde_json::from_slice(line).ok()?
    else {
        return None;
    };
    let Some(Value::String(name)) = params.shift_remove("name") else { return None };
    let mut take_object = |name: &str| match params.shift_remove(name) {
        None | Some(Value::Null) => Some(None),
        Some(Value::Object(object)) => Some(Some(object)),
        Some(_) => None,
    };
    let (arguments, meta) = (take_object("arguments")?, take_object("_meta")?);
    if !params.is_empty() {
        return None;
    }
    let mut call = CallToolRequestParams::new(name);
    call.arguments = arguments;
    let mut request = CallToolRequest::new(call);
    if let Some(meta) = meta {
        request.extensions.insert(RequestMetaObject::from(meta));
    }
    Some(ClientJsonRpcMessage::request(ClientRequest::CallToolRequest(request), id))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message as text, with its `_meta`. `==` would ignore `_meta`, because rmcp's extensions always compare as
    /// equal.
    fn told(message: &ClientJsonRpcMessage) -> String {
        let request = message.clone().into_request().map(|(request, _)| request);
        let Some(ClientRequest::CallToolRequest(call)) = request else { panic!("{message:?}") };
        format!("{message:?} {:?}", call.extensions.get::<RequestMetaObject>())
    }

    #[test]
    fn a_tool_call_is_read_as_rmcp_reads_it() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}"#,
            r#"{"params":{"arguments":{},"name":"\u0061"},"method":"tools/call","id":"x","jsonrpc":"2.0"}"#,
            r#"{"jsonrpc":"2.0","id":-3,"method":"tools/call","params":{"name":"a","arguments":null,"_meta":null}}"#,
            r#"{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":7,"x/y":[1]},
                "arguments":{"n":[18446744073709551615,-1,1.5,1e400000,123456789012345678901234567890,null,true,"é",{"b":{}}],"d":1,"d":2}}}"#,
        ] {
            let rmcp = serde_json::from_str::<ClientJsonRpcMessage>(line);
            match (tool_call(line.as_bytes()), rmcp) {
                (Some(ours), Ok(rmcps)) => assert_eq!(told(&ours), told(&rmcps)),
                (None, Err(_)) => {}
                (ours, rmcps) => panic!("{line}: {ours:?}, {rmcps:?}"),
            }
        }
    }

    #[test]
    fn all_other_messages_are_left_to_rmcp() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"a"}}"#,
            r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"a"}}"#,
            r#"{"jsonrpc":"1.0","id":1,"method":"tools/call","params":{"name":"a"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","requestState":"s"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","inputResponses":{}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":1}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":[]}}"#,
            r#"["2.0",1,"tools/call",{"name":"a"}]"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"},"more":1}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["a"]} "#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"a"}}"#,
            "[]",
            "",
        ] {
            assert_eq!(tool_call(line.as_bytes()).map(|message| told(&message)), None, "{line}");
        }
    }
}
