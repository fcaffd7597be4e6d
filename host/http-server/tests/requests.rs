//! Tests which requests are served, and the limits of their size, time and number.

use std::num::NonZeroU32;

use serde_json::{Value, json};

use crate::client::{TestServer, call, initialize, soon};

fn number(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap()
}

#[tokio::test]
async fn both_eras_are_served() {
    let server = TestServer::start(|_| {}).await;
    let reply = server.modern(&[], "echo", json!({"text": "modern"})).await;
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(reply.text(), "modern");
    let session = server.session(&[]).await;
    let headers = [("mcp-session-id", session.as_str())];
    let reply = server.post(&headers, &call(1, "echo", json!({"text": "legacy"}))).await;
    assert_eq!(reply.header("content-type"), Some("text/event-stream"));
    assert_eq!(reply.text(), "legacy");
    let gone = server.send("DELETE /mcp", &headers, "").await;
    assert!((200..300).contains(&gone.status), "{gone:?}");
    let reply = server.post(&headers, &call(2, "echo", json!({"text": "gone"}))).await;
    assert_eq!(reply.status, 404, "{reply:?}");
}

#[tokio::test]
async fn headers_that_contradict_the_message_are_refused() {
    let server = TestServer::start(|_| {}).await;
    for wrong in [("mcp-method", "tools/list"), ("mcp-name", "other"), ("mcp-name", "")] {
        let mut headers = crate::client::modern_headers("echo");
        headers.retain(|(name, _)| *name != wrong.0);
        headers.push(wrong);
        let body = crate::client::modern("echo", json!({"text": "x"}));
        let reply = server.post(&headers, &body).await;
        assert_eq!((reply.status, &reply.message()["error"]["code"]), (400, &json!(-32020)));
    }
}

#[tokio::test]
async fn bodies_that_are_not_messages_get_json_rpc_errors() {
    let server = TestServer::start(|_| {}).await;
    for (body, code, id) in [
        ("{", -32700, Value::Null),
        ("", -32700, Value::Null),
        ("[]", -32600, Value::Null),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":7}"#, -32600, json!(7)),
        (r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, -32600, json!("a")),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600, Value::Null),
    ] {
        for path in ["/mcp", "/messages"] {
            let reply = if path == "/mcp" {
                server.send("POST /mcp", &[], body).await
            } else {
                let mut stream = server.connect().await;
                stream.send("GET /sse", &[], "").await;
                stream.head().await.unwrap();
                let endpoint = stream.event().await.unwrap().data;
                server.send(&format!("POST {endpoint}"), &[], body).await
            };
            let said = reply.message();
            assert_eq!(reply.status, 400, "{path} {body}: {reply:?}");
            assert_eq!((&said["error"]["code"], &said["id"]), (&json!(code), &id), "{path} {body}");
        }
    }
}

#[tokio::test]
async fn other_paths_methods_and_types_are_refused() {
    let server = TestServer::start(|_| {}).await;
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    for (line, headers, body, expected) in [
        ("GET /", &[][..], "", 404),
        ("GET /mcp/../secret", &[], "", 404),
        ("POST /other", &[], list, 404),
        ("GET /.well-known/oauth-protected-resource", &[], "", 404),
        ("PUT /mcp", &[], "", 405),
        ("OPTIONS /mcp", &[], "", 405),
        ("TRACE /mcp", &[], "", 405),
        ("POST /sse", &[], list, 405),
        ("GET /messages", &[], "", 405),
        ("POST /messages", &[], list, 404),
        ("POST /messages", &[("content-type", "text/plain")], list, 415),
        ("POST /mcp", &[("content-type", "text/plain")], list, 415),
        ("POST /mcp", &[("content-type", "")], list, 415),
        ("POST /mcp", &[("accept", "text/html")], list, 406),
        ("POST /mcp", &[("accept", "")], list, 406),
        ("POST /mcp", &[("mcp-session-id", "no-such-session")], list, 404),
        ("POST /mcp", &[("mcp-protocol-version", "1999-01-01")], list, 400),
    ] {
        let reply = server.send(line, headers, body).await;
        assert_eq!(reply.status, expected, "{line} {headers:?}: {reply:?}");
    }
}

#[tokio::test]
async fn invalid_http_is_refused_and_the_server_goes_on() {
    let server = TestServer::start(|_| {}).await;
    let long = "x".repeat(200_000);
    for bytes in [
        "\r\n\r\n".to_owned(),
        "hello\r\n\r\n".to_owned(),
        "\u{16}\u{3}\u{1}".to_owned(),
        format!("GET /mcp HTTP/1.1\r\nhost: localhost\r\nx: {long}\r\n\r\n"),
        format!("GET /{long} HTTP/1.1\r\nhost: localhost\r\n\r\n"),
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n".to_owned(),
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\n\
         transfer-encoding: chunked\r\n\r\nzz\r\n"
            .to_owned(),
    ] {
        let mut connection = server.connect().await;
        connection.write(bytes.as_bytes()).await;
        connection.end().await;
        let head = connection.head().await;
        assert!(head.as_ref().is_none_or(|reply| reply.status >= 400), "{head:?}");
    }
    assert_eq!(server.modern(&[], "echo", json!({"text": "alive"})).await.text(), "alive");
}

#[tokio::test]
async fn the_size_and_the_time_of_a_body_are_limited() {
    let server = TestServer::start(|settings| settings.body_bytes = number(10_000)).await;
    let large = "x".repeat(20_000);
    assert_eq!(server.modern(&[], "echo", json!({"text": large})).await.status, 413);
    // The same body in chunks, without a `Content-Length`.
    let head = "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
        accept: application/json, text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let mut connection = server.connect().await;
    connection.write(head.as_bytes()).await;
    for _ in 0..20 {
        connection.write(format!("3e8\r\n{}\r\n", "x".repeat(1000)).as_bytes()).await;
    }
    assert_eq!(connection.reply().await.status, 413);
    // An incomplete body and an incomplete head time out. Other requests are served meanwhile.
    let mut half = server.connect().await;
    half.write(format!("{head}1\r\n{{\r\n").as_bytes()).await;
    let mut head_only = server.connect().await;
    head_only.write(b"POST /mcp HTTP/1.1\r\nhost: 127").await;
    assert_eq!(server.modern(&[], "echo", json!({"text": "meanwhile"})).await.text(), "meanwhile");
    assert_eq!(half.reply().await.status, 408);
    let timed_out = head_only.head().await;
    assert!(timed_out.is_none_or(|reply| reply.status == 408));
}

#[tokio::test]
async fn the_number_of_requests_and_of_connections_is_limited() {
    let server = TestServer::start(|settings| settings.requests_per_second = number(3)).await;
    let mut statuses = Vec::new();
    for _ in 0..20 {
        statuses.push(server.modern(&[], "echo", json!({"text": "x"})).await.status);
    }
    assert!(statuses.contains(&200) && statuses.contains(&429), "{statuses:?}");

    let server = TestServer::start(|settings| settings.connections = number(2)).await;
    let mut one = server.connect().await;
    one.send("GET /sse", &[], "").await;
    assert_eq!(one.head().await.unwrap().status, 200);
    let mut two = server.connect().await;
    two.send("GET /sse", &[], "").await;
    assert_eq!(two.head().await.unwrap().status, 200);
    let mut three = server.connect().await;
    three.send("GET /sse", &[], "").await;
    assert!(three.head().await.is_none(), "the connection is refused");
}

#[tokio::test]
async fn shutdown_ends_open_streams() {
    let mut server = TestServer::start(|_| {}).await;
    let session = server.session(&[]).await;
    let mut common = server.connect().await;
    common.send("GET /mcp", &[("mcp-session-id", &session)], "").await;
    assert_eq!(common.head().await.unwrap().status, 200);
    let mut legacy = server.connect().await;
    legacy.send("GET /sse", &[], "").await;
    assert_eq!(legacy.head().await.unwrap().status, 200);
    server.shutdown.cancel();
    soon(&mut server.served).await.unwrap().unwrap();
    while common.event().await.is_some() {}
    while legacy.event().await.is_some() {}
}

#[tokio::test]
async fn invalid_settings_are_reported_at_the_start() {
    let mut server = TestServer::start(|s| {
        let page = portcullis_http_server::Page::new(|| ("text/plain", "".into()));
        s.pages.insert("/mcp".into(), page);
    })
    .await;
    let error = soon(&mut server.served).await.unwrap().unwrap_err();
    assert!(error.to_string().contains("/mcp"), "{error}");
}

#[tokio::test]
async fn a_closed_connection_cancels_its_call() {
    let server = TestServer::start(|_| {}).await;
    let mut connection = server.connect().await;
    let body = crate::client::modern("wait", json!({})).to_string();
    connection.send("POST /mcp", &crate::client::modern_headers("wait"), &body).await;
    let _begun = soon(server.echo.begun.acquire()).await.unwrap();
    drop(connection);
    let _cancelled = soon(server.echo.cancelled.acquire()).await.unwrap();
}

#[tokio::test]
async fn an_unknown_protocol_version_gets_a_supported_one() {
    let server = TestServer::start(|_| {}).await;
    let reply = server.post(&[], &initialize("2030-01-01")).await;
    assert_eq!(reply.message()["result"]["protocolVersion"], "2025-11-25", "{reply:?}");
}
