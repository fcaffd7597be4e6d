//! Tests of the pages that the server serves beside MCP.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use portcullis_http_server::Page;

use crate::client::TestServer;

#[tokio::test]
async fn a_page_is_made_each_time_it_is_read() {
    let read = Arc::new(AtomicU64::new(0));
    let server = TestServer::start(|settings| {
        let page = Page::new(move || {
            let times = read.fetch_add(1, Ordering::Relaxed);
            ("text/plain; version=0.0.4", format!("reads {times}\n").into())
        });
        settings.pages.insert("/metrics".into(), page);
    })
    .await;
    for expected in ["reads 0\n", "reads 1\n"] {
        let reply = server.send("GET /metrics", &[], "").await;
        assert_eq!((reply.status, reply.body.as_str()), (200, expected));
        assert_eq!(reply.header("content-type"), Some("text/plain; version=0.0.4"));
    }
    for (line, expected) in
        [("POST /metrics", 405), ("DELETE /metrics", 405), ("GET /metrics/x", 404)]
    {
        assert_eq!(server.send(line, &[], "").await.status, expected, "{line}");
    }
    let mut connection = server.connect().await;
    connection.send("HEAD /metrics", &[], "").await;
    assert_eq!(connection.head().await.unwrap().status, 200);
}

#[tokio::test]
async fn connections_are_given_to_threads_in_turn_and_stay_there() {
    let server = TestServer::start(|settings| {
        settings.more_threads = 2;
        let thread = || format!("{:?}", std::thread::current().id());
        settings.pages.insert("/thread".into(), Page::new(move || ("text/plain", thread().into())));
    })
    .await;
    let mut connections = Vec::new();
    for _ in 0..6 {
        connections.push(server.connect().await);
    }
    let mut rounds = Vec::new();
    for _ in 0..2 {
        let mut threads = Vec::new();
        for connection in &mut connections {
            connection.send("GET /thread", &[], "").await;
            threads.push(connection.reply().await.body);
        }
        rounds.push(threads);
    }
    assert_eq!(rounds[0], rounds[1]);
    assert_eq!(rounds[0][..3], rounds[0][3..]);
    assert_eq!(rounds[0].iter().collect::<BTreeSet<_>>().len(), 3);
}
