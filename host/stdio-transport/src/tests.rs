//! Tests of complete connections.

use tokio::io::AsyncReadExt;

use super::*;

const PING: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";

/// The number of messages in an input, and the output after the input was read to its end.
async fn answers(input: String) -> (usize, String) {
    let (output, mut written) = tokio::io::duplex(64 * 1024);
    let ends = EndSignals::default();
    let mut lines = StdioTransport::new(
        io::Cursor::new(input),
        output,
        PassthroughKey::new().unwrap(),
        ends.clone(),
    );
    let mut messages = 0;
    while lines.receive().await.is_some() {
        messages += 1;
    }
    assert!(ends.input.is_cancelled() && !ends.output.is_cancelled());
    drop(lines);
    let mut said = String::new();
    written.read_to_string(&mut said).await.unwrap();
    (messages, said)
}

#[tokio::test]
async fn a_line_that_is_too_long_is_refused_with_its_id() {
    let long = "x".repeat(MAX_LINE + 1);
    for (line, id) in [
        (long.clone(), "null"),
        (format!("{{\"id\":\"a\",\"method\":\"m\",\"params\":[\"{long}\"]}}"), "\"a\""),
        (format!("{{\"method\":\"m\",\"params\":[\"{long}\"],\"id\":7}}"), "7"),
    ] {
        let (messages, said) = answers(format!("{line}\n{PING}")).await;
        assert_eq!(messages, 1);
        assert!(said.contains(&format!("\"id\":{id}")) && said.contains("-32600"), "{said}");
    }
    // A response gets no answer.
    let answer = format!("{{\"id\":1,\"result\":\"{long}\"}}\n{PING}");
    assert_eq!(answers(answer).await, (1, String::new()));
}

#[tokio::test]
async fn the_size_of_unanswered_requests_is_limited() {
    let large = "x".repeat(MAX_LINE - 1000);
    let call = |id: usize| {
        let params = format!("{{\"name\":\"a\",\"arguments\":{{\"a\":\"{large}\"}}}}");
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{params}}}\n"
        )
    };
    let (messages, said) = answers((0..5).map(call).collect()).await;
    assert_eq!(messages, 4);
    assert!(said.contains("\"id\":4") && said.contains("try again later"), "{said}");
}

#[tokio::test]
async fn a_wrapped_result_is_written_unchanged() {
    let raw = PassthroughKey::new().unwrap();
    let (output, mut written) = tokio::io::duplex(4096);
    let mut lines =
        StdioTransport::new(tokio::io::empty(), output, raw.clone(), EndSignals::default());
    let mut result = rmcp::model::CallToolResult::success(vec![]);
    result.meta = Some(raw.wrap(serde_json::json!({"content": [], "unknown": 1})));
    let message = ServerJsonRpcMessage::response(result.into(), RequestId::Number(3));
    lines.send(message).await.unwrap();
    drop(lines);
    let mut said = String::new();
    written.read_to_string(&mut said).await.unwrap();
    let expected = r#"{"jsonrpc":"2.0","id":3,"result":{"content":[],"unknown":1}}"#;
    assert_eq!(said, format!("{expected}\n"));
}

#[tokio::test]
async fn reading_ends_when_the_output_is_closed() {
    let (input, mut client) = tokio::io::duplex(4096);
    let (output, reader) = tokio::io::duplex(16);
    let ends = EndSignals::default();
    let mut lines =
        StdioTransport::new(input, output, PassthroughKey::new().unwrap(), ends.clone());
    drop(reader);
    client.write_all(b"no JSON\n").await.unwrap();
    // The client keeps the input open.
    assert!(lines.receive().await.is_none());
    assert!(ends.output.is_cancelled() && ends.input.is_cancelled());
}

#[tokio::test]
async fn reading_ends_when_it_is_stopped() {
    let (input, _client) = tokio::io::duplex(4096);
    let ends = EndSignals::default();
    let mut lines =
        StdioTransport::new(input, tokio::io::sink(), PassthroughKey::new().unwrap(), ends.clone());
    ends.input.cancel();
    assert!(lines.receive().await.is_none());
    assert!(!ends.output.is_cancelled());
}
