//! Tests of behaviour that only HTTP transports have: forgotten sessions, interrupted streams and headers.

mod stand_in;

use portcullis_mcp_client::{FaultCause, Object, UpstreamRequest};
use serde_json::json;
use stand_in::{Web, call, defined, has_seen, object, said, text, within};

#[tokio::test]
async fn a_forgotten_session_is_replaced_without_an_error() {
    within(async {
        for options in [&["http", "legacy"][..], &["http", "legacy", "400"]] {
            let web = Web::start(options);
            let upstream = defined(json!({"url": web.url}));
            assert_eq!(said(&upstream, "forget", json!({})).await, "forgotten");
            assert_eq!(said(&upstream, "log", json!({})).await, "logged");
            let seen = said(&upstream, "seen", json!({})).await;
            assert_eq!(seen.matches("initialize\n").count(), 2, "{seen}");
            // The era is known from the first connection.
            assert_eq!(seen.matches("server/discover").count(), 0, "{seen}");
            assert!(seen.contains("mcp-protocol-version: 2025-11-25"), "{seen}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_server_that_forgets_each_session_is_given_up() {
    within(async {
        let web = Web::start(&["http", "legacy", "amnesia"]);
        let upstream = defined(json!({"url": web.url, "protocol": "legacy"}));
        let fault = call(&upstream, "log", json!({})).outcome().await.unwrap_err();
        assert!(matches!(fault.trouble, FaultCause::Lost(_)), "{fault}");
    })
    .await;
}

#[tokio::test]
async fn an_interrupted_answer_is_resumed() {
    within(async {
        let web = Web::start(&["http", "legacy"]);
        let upstream = defined(json!({"url": web.url}));
        assert_eq!(said(&upstream, "interrupted", json!({})).await, "resumed");
        has_seen(&upstream, "last-event-id: 7").await;
        // In 2026-07-28, streams cannot be resumed.
        let web = Web::start(&["http", "modern"]);
        let upstream = defined(json!({"url": web.url}));
        let fault = call(&upstream, "interrupted", json!({})).outcome().await.unwrap_err();
        assert!(matches!(fault.trouble, FaultCause::Lost(_)), "{fault}");
    })
    .await;
}

#[tokio::test]
async fn a_session_is_deleted_when_its_upstream_is_closed_or_dropped() {
    within(async {
        let web = Web::start(&["http", "legacy"]);
        let watching = defined(json!({"url": web.url}));
        let upstream = defined(json!({"url": web.url}));
        upstream.listing().await.unwrap();
        upstream.close().await;
        has_seen(&watching, "DELETE").await;
        let dropped = defined(json!({"url": web.url}));
        dropped.listing().await.unwrap();
        drop(dropped);
        while said(&watching, "seen", json!({})).await.matches("DELETE").count() < 2 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn arguments_are_sent_in_headers_if_a_tool_demands_it() {
    within(async {
        let web = Web::start(&["http", "modern"]);
        let upstream = defined(json!({"url": web.url}));
        // The tools were not listed before.
        said(&upstream, "change", json!({"region": "zürich"})).await;
        has_seen(&upstream, "mcp-param-region: =?base64?esO8cmljaA==?=").await;
        has_seen(&upstream, "mcp-name: change").await;
        has_seen(&upstream, "mcp-protocol-version: 2026-07-28").await;
    })
    .await;
}

#[tokio::test]
async fn missing_headers_are_added_after_a_refusal() {
    within(async {
        let web = Web::start(&["http", "modern", "quiet"]);
        let upstream = defined(json!({"url": web.url}));
        // The tool `added` is new since the listing, and demands a header.
        upstream.listing().await.unwrap();
        said(&upstream, "change", json!({})).await;
        assert!(said(&upstream, "added", json!({"region": "x"})).await.contains("x"));
        // The tool `log` demands a header that its definition does not name.
        let params: Object = object(json!({"name": "log", "arguments": {"region": "x"}}));
        let outcome =
            upstream.request(UpstreamRequest::new("tools/call", params, "one")).outcome().await;
        assert!(format!("{outcome:?}").contains("-32020"), "{outcome:?}");
    })
    .await;
}

#[tokio::test]
async fn a_server_without_a_stream_of_its_own_works() {
    within(async {
        let web = Web::start(&["http", "legacy", "no-get"]);
        let upstream = defined(json!({"url": web.url}));
        let outcome = call(&upstream, "log", json!({})).outcome().await.unwrap();
        assert_eq!(text(outcome), "logged");
    })
    .await;
}
