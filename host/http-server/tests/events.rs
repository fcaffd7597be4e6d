//! Tests of event streams: clients can resume them, a client that does not read does not hold up its session, and
//! results are unwrapped.

use serde_json::json;

use crate::client::{TestServer, call, call_with_progress, soon};

#[tokio::test]
async fn a_response_that_was_missed_is_read_by_resuming() {
    let server = TestServer::start(|_| {}).await;
    let session = server.session(&[]).await;
    let headers = [("mcp-session-id", session.as_str())];
    let mut broken = server.connect().await;
    let body = call_with_progress(5, "wait", json!({})).to_string();
    broken.send("POST /mcp", &headers, &body).await;
    assert_eq!(broken.head().await.unwrap().status, 200);
    let first = broken.event().await.unwrap();
    assert_eq!((first.data.as_str(), first.retry.as_deref()), ("", Some("3000")));
    let progress = broken.event().await.unwrap();
    assert_eq!(progress.message()["method"], "notifications/progress");
    let last_seen = progress.id.unwrap();
    drop(broken);
    server.echo.release.add_permits(1);
    // When this later call has ended, the first call has ended too.
    let later = server.post(&headers, &call(6, "echo", json!({"text": "later"}))).await;
    assert_eq!(later.text(), "later");
    for after in [last_seen.as_str(), first.id.as_deref().unwrap()] {
        let mut again = server.connect().await;
        let resume = [("mcp-session-id", session.as_str()), ("last-event-id", after)];
        again.send("GET /mcp", &resume, "").await;
        assert_eq!(again.head().await.unwrap().status, 200);
        let mut messages = Vec::new();
        while let Some(event) = again.event().await {
            messages.push(event.message());
        }
        let answer = messages.last().unwrap();
        assert_eq!(answer["result"]["content"][0]["text"], "waited", "{messages:?}");
        // Events up to the one that the client names are not sent again.
        assert_eq!(messages.len(), 1 + usize::from(after != last_seen));
    }
}

#[tokio::test]
async fn a_stream_is_resumed_while_its_call_goes_on() {
    let server = TestServer::start(|_| {}).await;
    let session = server.session(&[]).await;
    let headers = [("mcp-session-id", session.as_str())];
    let mut broken = server.connect().await;
    broken.send("POST /mcp", &headers, &call(5, "wait", json!({})).to_string()).await;
    broken.head().await.unwrap();
    let first = broken.event().await.unwrap().id.unwrap();
    soon(server.echo.begun.acquire()).await.unwrap().forget();
    let mut again = server.connect().await;
    let resume = [("mcp-session-id", session.as_str()), ("last-event-id", first.as_str())];
    again.send("GET /mcp", &resume, "").await;
    assert_eq!(again.head().await.unwrap().status, 200);
    server.echo.release.add_permits(1);
    let answer = again.event().await.unwrap().message();
    assert_eq!(answer["id"], 5, "{answer}");
    assert!(again.event().await.is_none());
    // The old stream gets no more events.
    assert!(broken.event().await.is_none());
}

#[tokio::test]
async fn resuming_a_stream_that_is_not_kept_returns_no_events() {
    let server = TestServer::start(|_| {}).await;
    let (session, other) = (server.session(&[]).await, server.session(&[]).await);
    let reply =
        server.post(&[("mcp-session-id", &session)], &call(1, "echo", json!({"text": "x"}))).await;
    let id = reply.body.lines().find_map(|line| line.strip_prefix("id: ")).unwrap();
    for (session, after) in [(&session, "7/99"), (&session, "nonsense"), (&other, id)] {
        let headers = [("mcp-session-id", session.as_str()), ("last-event-id", after)];
        let reply = server.send("GET /mcp", &headers, "").await;
        assert_eq!((reply.status, reply.body.as_str()), (200, ""), "{after}");
    }
}

#[tokio::test]
async fn requests_of_the_server_come_on_a_stream() {
    let server = TestServer::start(|_| {}).await;
    let session = server.session(&[]).await;
    let headers = [("mcp-session-id", session.as_str())];
    let mut common = server.connect().await;
    common.send("GET /mcp", &headers, "").await;
    assert_eq!(common.head().await.unwrap().status, 200);
    let mut calling = server.connect().await;
    calling.send("POST /mcp", &headers, &call(1, "roots", json!({})).to_string()).await;
    assert_eq!(calling.head().await.unwrap().status, 200);
    // A request that belongs to a call may come on either stream.
    let question = tokio::select! {
        event = question(&mut common) => event,
        event = question(&mut calling) => event,
    };
    assert_eq!(question["method"], "roots/list");
    let roots = json!({"roots": [{"uri": "file:///a"}]});
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": roots});
    assert_eq!(server.post(&headers, &answer).await.status, 202);
    let answer = loop {
        let event = calling.event().await.unwrap();
        if !event.data.is_empty() {
            break event.message();
        }
    };
    assert_eq!(answer["result"]["content"][0]["text"], "file:///a", "{answer}");
}

async fn question(
    stream: &mut crate::client::Connection<tokio::net::TcpStream>,
) -> serde_json::Value {
    loop {
        let event = stream.event().await.unwrap();
        if !event.data.is_empty() {
            return event.message();
        }
    }
}

#[tokio::test]
async fn a_client_that_does_not_read_does_not_hold_up_its_session() {
    let server = TestServer::start(|settings| {
        settings.replay_bytes = std::num::NonZeroU32::new(64_000_000).unwrap();
    })
    .await;
    let session = server.session(&[]).await;
    let headers = [("mcp-session-id", session.as_str())];
    let mut slow = server.connect().await;
    // The events are larger than the buffers of a connection.
    let flood = json!({"count": 40, "bytes": 1_000_000});
    let flood = call_with_progress(1, "flood", flood).to_string();
    slow.send("POST /mcp", &headers, &flood).await;
    assert_eq!(slow.head().await.unwrap().status, 200);
    for id in 2..8 {
        let reply = server.post(&headers, &call(id, "echo", json!({"text": "heard"}))).await;
        assert_eq!(reply.text(), "heard");
    }
    // The client that reads late gets all events.
    let mut steps = 0;
    while let Some(event) = slow.event().await {
        steps += usize::from(event.data.contains("notifications/progress"));
    }
    assert_eq!(steps, 40);
}

#[tokio::test]
async fn a_client_that_reads_gets_all_events_with_a_small_limit() {
    let server = TestServer::start(|settings| {
        settings.replay_bytes = std::num::NonZeroU32::new(1000).unwrap();
    })
    .await;
    let session = server.session(&[]).await;
    let headers = [("mcp-session-id", session.as_str())];
    for bytes in [10, 700, 5000] {
        let body = call_with_progress(1, "flood", json!({"count": 100, "bytes": bytes}));
        let reply = server.post(&headers, &body).await;
        assert_eq!(reply.body.matches("notifications/progress").count(), 100);
        assert_eq!(reply.text(), "flooded");
    }
    let reply = server.post(&headers, &call(2, "large", json!({"bytes": 6_000_000}))).await;
    assert_eq!(reply.text().len(), 6_000_000);
}

#[tokio::test]
async fn wrapped_results_are_sent_unwrapped() {
    let server = TestServer::start(|_| {}).await;
    let made = json!({
        "content": [{"type": "hologram", "size": 1.5, "text": "\u{e4} \"\n\n\" data: x"}],
        "_meta": {"of": "them"}, "unknown": [{}, null],
    });
    let reply = server.modern(&[], "raw", made.clone()).await;
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(reply.message(), json!({"jsonrpc": "2.0", "id": 1, "result": made}));
    let session = server.session(&[]).await;
    let headers = [("mcp-session-id", session.as_str())];
    let reply = server.post(&headers, &call(4, "raw", made.clone())).await;
    assert_eq!(reply.header("content-type"), Some("text/event-stream"));
    assert_eq!(reply.message(), json!({"jsonrpc": "2.0", "id": 4, "result": made}));
    assert!(!reply.body.contains("portcullis.raw"), "{reply:?}");
    // A resumed stream contains the unwrapped result, too.
    let after = reply.body.lines().find_map(|line| line.strip_prefix("id: ")).unwrap();
    let resume = [("mcp-session-id", session.as_str()), ("last-event-id", after)];
    let again = server.send("GET /mcp", &resume, "").await;
    assert_eq!(again.message(), reply.message());
}
