//! Tests the limit of the number of sessions of streamable HTTP, and when sessions end.

use std::num::NonZeroU32;
use std::time::Duration;

use serde_json::json;

use crate::client::{TestServer, call, initialize};

#[tokio::test]
async fn both_transports_share_the_limit_of_sessions() {
    let server =
        TestServer::start(|settings| settings.sessions = NonZeroU32::new(3).unwrap()).await;
    let one = server.session(&[]).await;
    let two = server.session(&[]).await;
    let mut legacy = server.connect().await;
    legacy.send("GET /sse", &[], "").await;
    assert_eq!(legacy.head().await.unwrap().status, 200);
    for _ in 0..3 {
        assert_eq!(server.post(&[], &initialize("2025-11-25")).await.status, 503);
        assert_eq!(server.send("GET /sse", &[], "").await.status, 503);
    }
    // Open sessions go on, and requests without a session are served.
    let headers = [("mcp-session-id", one.as_str())];
    let reply = server.post(&headers, &call(1, "echo", json!({"text": "in"}))).await;
    assert_eq!(reply.text(), "in");
    assert_eq!(server.modern(&[], "echo", json!({"text": "modern"})).await.text(), "modern");
    // A session that ends makes place for another one.
    server.send("DELETE /mcp", &[("mcp-session-id", &two)], "").await;
    server.session(&[]).await;
    drop(legacy);
    loop {
        // The server notices the closed connection after a moment.
        match server.post(&[], &initialize("2025-11-25")).await.status {
            503 => tokio::task::yield_now().await,
            status => break assert_eq!(status, 200),
        }
    }
}

#[tokio::test]
async fn a_refused_initialize_opens_no_session() {
    let server =
        TestServer::start(|settings| settings.sessions = NonZeroU32::new(1).unwrap()).await;
    for _ in 0..3 {
        let reply = server.post(&[("accept", "text/html")], &initialize("2025-11-25")).await;
        assert_eq!(reply.status, 406);
    }
    server.session(&[]).await;
}

#[tokio::test]
async fn a_session_without_messages_ends() {
    let idle = Duration::from_millis(50);
    let server = TestServer::start(|settings| {
        settings.session_idle = idle;
        settings.sessions = NonZeroU32::new(1).unwrap();
    })
    .await;
    let session = server.post(&[], &initialize("2025-11-25")).await;
    let session = session.header("mcp-session-id").unwrap().to_owned();
    loop {
        // A new session can be opened as soon as the old one has ended.
        match server.post(&[], &initialize("2025-11-25")).await.status {
            503 => tokio::task::yield_now().await,
            status => break assert_eq!(status, 200),
        }
    }
    let headers = [("mcp-session-id", session.as_str())];
    assert_eq!(server.post(&headers, &call(1, "echo", json!({}))).await.status, 404);
}

#[tokio::test]
async fn session_ids_are_long_and_different() {
    let server = TestServer::start(|_| {}).await;
    let mut sessions = Vec::new();
    for _ in 0..4 {
        let session = server.session(&[]).await;
        assert!(session.len() >= 32 && !sessions.contains(&session), "{session}");
        let part = [("mcp-session-id", &session[..20])];
        assert_eq!(server.post(&part, &call(1, "echo", json!({}))).await.status, 404);
        sessions.push(session);
    }
}
