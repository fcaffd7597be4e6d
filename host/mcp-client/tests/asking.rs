//! Tests that a question of an upstream reaches only the session that it belongs to.

mod stand_in;

use portcullis_mcp_client::{Event, FaultCause, InFlight, RpcError, Upstream, UpstreamRequest};
use serde_json::{Value, json};
use stand_in::{
    Web, call, call_for, child, defined, has_seen, object, question, said, text, within,
};

fn answer() -> Result<Value, RpcError> {
    Ok(json!({"action": "accept"}))
}

async fn end(mut call: InFlight) -> String {
    loop {
        if let Event::Done(done) = call.next().await.expect("it has not ended") {
            return text(done.expect("it answers"));
        }
    }
}

/// Starts a request of this session that is never answered.
async fn hanging(upstream: &Upstream, session: &str) -> tokio::task::JoinHandle<Option<Event>> {
    let mut hanging = call_for(upstream, session, "hang", json!({}));
    let waiting = tokio::spawn(async move { hanging.next().await });
    has_seen(upstream, "tools/call").await;
    waiting
}

#[tokio::test]
async fn each_kind_of_question_is_asked_and_answered() {
    within(async {
        let upstream = child(&["legacy"]);
        for method in ["sampling/createMessage", "elicitation/create", "roots/list"] {
            let mut asked = call(&upstream, "ask", json!({"method": method}));
            let key = question(&mut asked).await;
            asked.answer(key, answer()).await.unwrap();
            // A second answer has no effect.
            asked.answer(key, answer()).await.unwrap();
            assert_eq!(end(asked).await, r#"{"action":"accept"}"#);
        }
        let other = said(&upstream, "ask", json!({"method": "tasks/list"})).await;
        assert!(other.contains("the method tasks/list is not supported"), "{other}");
        assert_eq!(said(&upstream, "ping", json!({})).await, "{}");
    })
    .await;
}

#[tokio::test]
async fn a_refusal_reaches_the_upstream() {
    within(async {
        let upstream = child(&["legacy"]);
        let mut asked = call(&upstream, "ask", json!({}));
        let key = question(&mut asked).await;
        asked.answer(key, Err(RpcError::new(-1, "not today"))).await.unwrap();
        assert_eq!(end(asked).await, "\"not today\"");
        assert!(
            said(&upstream, "ask", json!({})).await.contains("questions are not answered here")
        );
    })
    .await;
}

#[tokio::test]
async fn over_one_pipe_a_question_belongs_to_the_newest_request_of_the_only_session() {
    within(async {
        let web = Web::start(&["sse", "legacy"]);
        for upstream in [child(&["legacy"]), defined(json!({"url": web.url, "transport": "sse"}))] {
            let older = hanging(&upstream, "one").await;
            let mut asked = call_for(&upstream, "one", "ask", json!({}));
            let key = question(&mut asked).await;
            asked.answer(key, answer()).await.unwrap();
            assert_eq!(end(asked).await, r#"{"action":"accept"}"#);
            assert!(!older.is_finished());
        }
    })
    .await;
}

#[tokio::test]
async fn over_one_pipe_with_two_sessions_questions_are_refused() {
    within(async {
        let upstream = child(&["legacy"]);
        let other = hanging(&upstream, "other").await;
        let told = said(&upstream, "ask", json!({})).await;
        assert!(told.contains("cannot be assigned to a request"), "{told}");
        // A log record reaches neither request: it may belong to the other session.
        let mut notices = upstream.notices();
        let mut logging = call(&upstream, "log", json!({}));
        let Some(Event::Done(Ok(_))) = logging.next().await else {
            panic!("the request gets no notification")
        };
        assert_eq!(notices.recv().await.unwrap().method, "notifications/message");
        assert!(!other.is_finished());
    })
    .await;
}

#[tokio::test]
async fn over_http_a_question_belongs_to_the_request_of_its_response() {
    within(async {
        let web = Web::start(&["http", "legacy"]);
        let upstream = defined(json!({"url": web.url}));
        let other = hanging(&upstream, "other").await;
        let mut asked = call(&upstream, "ask", json!({}));
        let key = question(&mut asked).await;
        asked.answer(key, answer()).await.unwrap();
        assert_eq!(end(asked).await, r#"{"action":"accept"}"#);
        assert!(!other.is_finished());
    })
    .await;
}

#[tokio::test]
async fn the_time_to_answer_a_question_does_not_count_for_the_timeout() {
    within(async {
        let upstream = stand_in::child_with(&["legacy"], json!({"timeout-seconds": 1}));
        let mut asked = call(&upstream, "ask", json!({}));
        let key = question(&mut asked).await;
        // Another request times out. The one with the question does not.
        let fault = call(&upstream, "hang", json!({})).outcome().await.unwrap_err();
        assert!(matches!(fault.trouble, FaultCause::TimedOut(_)), "{fault}");
        asked.answer(key, answer()).await.unwrap();
        assert_eq!(end(asked).await, r#"{"action":"accept"}"#);
    })
    .await;
}

#[tokio::test]
async fn the_question_of_a_request_that_could_not_be_sent_is_refused() {
    within(async {
        let web = Web::start(&["sse", "legacy", "late"]);
        let upstream = defined(json!({"url": web.url, "transport": "sse"}));
        let mut asked = call(&upstream, "ask", json!({}));
        question(&mut asked).await;
        // The server refuses the request after the question.
        said(&upstream, "seen", json!({})).await;
        let fault = asked.outcome().await.unwrap_err();
        assert!(matches!(fault.trouble, FaultCause::Refused(500, _)), "{fault}");
        has_seen(&upstream, "refusal: the request that this question belonged to has ended").await;
    })
    .await;
}

#[tokio::test]
async fn a_dropped_request_is_cancelled() {
    within(async {
        let legacy = Web::start(&["http", "legacy"]);
        let modern = Web::start(&["http", "modern"]);
        let sse = Web::start(&["sse", "legacy"]);
        for (upstream, told) in [
            (child(&["legacy"]), "notifications/cancelled"),
            (child(&["modern"]), "notifications/cancelled"),
            (defined(json!({"url": legacy.url})), "notifications/cancelled"),
            (defined(json!({"url": modern.url})), "closed"),
            (defined(json!({"url": sse.url, "transport": "sse"})), "notifications/cancelled"),
        ] {
            let waiting = hanging(&upstream, "one").await;
            waiting.abort();
            has_seen(&upstream, told).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_modern_upstream_is_told_the_capabilities_with_each_request() {
    within(async {
        let upstream = child(&["modern"]);
        let params =
            json!({"name": "meta", "_meta": {"traceparent": "00-1", "progressToken": "mine"}});
        let mut request = UpstreamRequest::new("tools/call", object(params), "one");
        request.capabilities = Some(object(json!({"roots": {}})));
        let meta = text(upstream.request(request).outcome().await.unwrap());
        let meta: Value = serde_json::from_str(&meta).unwrap();
        assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], json!({"roots": {}}));
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "test");
        assert_eq!(meta["traceparent"], "00-1");
        assert!(meta["progressToken"].is_u64(), "{meta}");
    })
    .await;
}
