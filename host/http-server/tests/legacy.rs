//! Tests of the transport of 2024-11-05 (HTTP+SSE).

use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::client::{
    Connection, Reply, TestServer, call, call_with_progress, initialize, initialized, soon,
};

/// One session.
struct Session {
    stream: Connection<TcpStream>,
    endpoint: String,
}

impl Session {
    async fn open(server: &TestServer, headers: &[(&str, &str)]) -> Self {
        let mut stream = server.connect().await;
        stream.send("GET /sse", headers, "").await;
        let head = stream.head().await.unwrap();
        assert_eq!(head.status, 200, "{head:?}");
        assert_eq!(head.header("content-type"), Some("text/event-stream"));
        let event = stream.event().await.unwrap();
        assert_eq!(event.kind, "endpoint");
        Self { stream, endpoint: event.data }
    }

    async fn post(&self, server: &TestServer, headers: &[(&str, &str)], body: &Value) -> Reply {
        server.send(&format!("POST {}", self.endpoint), headers, &body.to_string()).await
    }

    async fn begin(server: &TestServer) -> Self {
        let mut session = Self::open(server, &[]).await;
        assert_eq!(session.post(server, &[], &initialize("2024-11-05")).await.status, 202);
        let answer = session.message().await;
        assert_eq!(answer["result"]["protocolVersion"], "2024-11-05", "{answer}");
        assert_eq!(session.post(server, &[], &initialized()).await.status, 202);
        session
    }

    async fn message(&mut self) -> Value {
        let event = self.stream.event().await.unwrap();
        assert_eq!(event.kind, "message");
        event.message()
    }
}

#[tokio::test]
async fn responses_and_requests_of_the_server_come_on_the_stream() {
    let server = TestServer::start(|_| {}).await;
    let mut session = Session::begin(&server).await;
    session.post(&server, &[], &call(1, "echo", json!({"text": "hello"}))).await;
    let answer = session.message().await;
    assert_eq!(
        (&answer["id"], &answer["result"]["content"][0]["text"]),
        (&json!(1), &json!("hello"))
    );
    session.post(&server, &[], &call(2, "roots", json!({}))).await;
    let question = session.message().await;
    assert_eq!(question["method"], "roots/list");
    let roots = json!({"roots": [{"uri": "file:///a"}]});
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": roots});
    assert_eq!(session.post(&server, &[], &answer).await.status, 202);
    assert_eq!(session.message().await["result"]["content"][0]["text"], "file:///a");
    let made = json!({"content": [{"type": "hologram"}], "unknown": 1});
    session.post(&server, &[], &call(3, "raw", made.clone())).await;
    assert_eq!(session.message().await, json!({"jsonrpc": "2.0", "id": 3, "result": made}));
}

#[tokio::test]
async fn the_status_of_a_message_says_whether_an_answer_comes() {
    let server = TestServer::start(|_| {}).await;
    let mut session = Session::open(&server, &[]).await;
    let result = json!({"jsonrpc": "2.0", "id": 7, "result": {}});
    let error = json!({"jsonrpc": "2.0", "id": 7, "error": {"code": -1, "message": "no"}});
    for early in [&initialized(), &result] {
        let reply = session.post(&server, &[], early).await;
        let expected = "ignored: the first message of a session is a request";
        assert_eq!((reply.status, &*reply.body), (202, expected), "{early}");
    }
    let request = call(1, "echo", json!({"text": "hello"}));
    for (message, expected) in [
        (initialize("2024-11-05"), "accepted: the answer comes on the stream"),
        (initialized(), "accepted: a notification gets no answer"),
        (request, "accepted: the answer comes on the stream"),
        (result, "accepted: a response gets no answer"),
        (error, "accepted: a response gets no answer"),
    ] {
        let reply = session.post(&server, &[], &message).await;
        assert_eq!((reply.status, &*reply.body), (202, expected), "{message}");
    }
    assert_eq!(session.message().await["result"]["protocolVersion"], "2024-11-05");
    assert_eq!(session.message().await["id"], 1);
}

#[tokio::test]
async fn all_progress_comes_before_the_response() {
    let server = TestServer::start(|_| {}).await;
    let mut session = Session::begin(&server).await;
    let flood = json!({"count": 100, "bytes": 1000});
    session.post(&server, &[], &call_with_progress(1, "flood", flood)).await;
    for step in 0..100 {
        let progress = session.message().await;
        assert_eq!(progress["method"], "notifications/progress", "{step}");
    }
    assert_eq!(session.message().await["id"], 1);
}

#[tokio::test]
async fn a_session_ends_with_its_stream() {
    let server = TestServer::start(|_| {}).await;
    let session = Session::begin(&server).await;
    session.post(&server, &[], &call(1, "wait", json!({}))).await;
    let _begun = soon(server.echo.begun.acquire()).await.unwrap();
    let endpoint = session.endpoint.clone();
    drop(session);
    let _cancelled = soon(server.echo.cancelled.acquire()).await.unwrap();
    let line = format!("POST {endpoint}");
    let body = call(2, "echo", json!({"text": "x"})).to_string();
    while server.send(&line, &[], &body).await.status != 404 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_session_is_found_by_its_whole_id_only() {
    let server = TestServer::start(|_| {}).await;
    let (one, other) = (Session::open(&server, &[]).await, Session::open(&server, &[]).await);
    let id = one.endpoint.strip_prefix("/messages?sessionId=").unwrap();
    assert!(id.len() == 32 && one.endpoint != other.endpoint, "{id}");
    let body = initialize("2024-11-05").to_string();
    for query in ["", "?", "?sessionId=", "?sessionid=x", &format!("?sessionId={}", &id[..31])] {
        let reply = server.send(&format!("POST /messages{query}"), &[], &body).await;
        assert_eq!(reply.status, 404, "{query}");
    }
}

#[tokio::test]
async fn messages_out_of_order_do_not_end_the_session() {
    let server = TestServer::start(|_| {}).await;
    let mut session = Session::open(&server, &[]).await;
    // rmcp would end the session if it got one of these messages before the first request.
    let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
    for early in [initialized(), answer] {
        assert_eq!(session.post(&server, &[], &early).await.status, 202);
    }
    let reply = session.post(&server, &[], &initialize("2024-11-05")).await;
    assert_eq!(reply.status, 202);
    session.message().await;
    session.post(&server, &[], &call(9, "wait", json!({}))).await;
    soon(server.echo.begun.acquire()).await.unwrap().forget();
    let twice = session.post(&server, &[], &call(9, "echo", json!({"text": "x"}))).await;
    assert_eq!((twice.status, &twice.message()["id"]), (400, &json!(9)), "{twice:?}");
    server.echo.release.add_permits(1);
    assert_eq!(session.message().await["result"]["content"][0]["text"], "waited");
    session.post(&server, &[], &call(9, "echo", json!({"text": "again"}))).await;
    assert_eq!(session.message().await["result"]["content"][0]["text"], "again");
    // A cancelled request gets no response. Its id may be used again.
    session.post(&server, &[], &call(10, "wait", json!({}))).await;
    soon(server.echo.begun.acquire()).await.unwrap().forget();
    let cancel = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 10},
    });
    session.post(&server, &[], &cancel).await;
    soon(server.echo.cancelled.acquire()).await.unwrap().forget();
    session.post(&server, &[], &call(10, "echo", json!({"text": "free"}))).await;
    assert_eq!(session.message().await["result"]["content"][0]["text"], "free");
}

#[tokio::test]
async fn the_transport_can_be_switched_off() {
    let server = TestServer::start(|settings| settings.legacy_sse = false).await;
    for line in ["GET /sse", "POST /sse", "POST /messages", "POST /messages?sessionId=x"] {
        assert_eq!(server.send(line, &[], "{}").await.status, 404, "{line}");
    }
}
