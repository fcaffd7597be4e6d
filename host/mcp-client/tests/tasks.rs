//! Tests of tools that can be called only as a task of MCP 2025-11-25: their callers get a result, as of any other tool.

mod stand_in;

use portcullis_mcp_client::{Event, RpcError};
use serde_json::{Value, json};
use stand_in::{Web, call, child, defined, has_seen, object, question, said, text, within};

/// The request of a call with a progress token, as an object.
fn with_token(arguments: Value) -> portcullis_mcp_client::Object {
    object(json!({"name": "research", "arguments": arguments, "_meta": {"progressToken": "p"}}))
}

#[tokio::test]
async fn a_tool_that_needs_a_task_is_called_as_one() {
    within(async {
        let web = Web::start(&["http", "legacy", "tasks"]);
        for upstream in [child(&["legacy", "tasks"]), defined(json!({"url": web.url}))] {
            let listing = upstream.listing().await.unwrap();
            let tool = listing.tools.iter().find(|tool| tool.name == "research").unwrap();
            assert_eq!(tool.definition.get("execution"), None, "callers need no task");
            assert_eq!(said(&upstream, "research", json!({})).await, "found");
            let mut asked = call(&upstream, "research", json!({"asks": true}));
            let key = question(&mut asked).await;
            asked.answer(key, Ok(json!({"action": "decline"}))).await.unwrap();
            let Some(Event::Done(Ok(done))) = asked.next().await else { panic!("it has ended") };
            assert_eq!(text(done), "found{\"action\":\"decline\"}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_tasks_status_and_progress_reach_the_caller() {
    within(async {
        let upstream = child(&["legacy", "tasks"]);
        upstream.listing().await.unwrap();
        for (arguments, expected) in [
            (json!({}), vec![json!([0.001, "working..."])]),
            (json!({"reports": true}), vec![json!([0.001, "working..."]), json!([0.5, null])]),
        ] {
            let request = portcullis_mcp_client::UpstreamRequest::new(
                "tools/call",
                with_token(arguments),
                "session",
            );
            let mut calling = upstream.request(request);
            let mut told = Vec::new();
            loop {
                match calling.next().await.expect("it has not ended") {
                    Event::Progress(params) => {
                        assert_eq!(params["progressToken"], "p");
                        told.push(json!([params["progress"], params.get("message")]));
                    }
                    Event::Done(done) => break assert_eq!(text(done.unwrap()), "found"),
                    other @ (Event::Log(_)
                    | Event::Updated(_)
                    | Event::Other { .. }
                    | Event::Ask { .. }
                    | Event::Withdrawn(_)) => panic!("{other:?}"),
                }
            }
            assert_eq!(told, expected);
        }
    })
    .await;
}

#[tokio::test]
async fn a_task_is_cancelled_when_nobody_waits_for_it() {
    within(async {
        let upstream = child(&["legacy", "tasks"]);
        upstream.listing().await.unwrap();
        let mut hanging = call(&upstream, "research", json!({"hangs": true}));
        let waiting = tokio::spawn(async move { hanging.next().await });
        has_seen(&upstream, "tasks/result").await;
        waiting.abort();
        has_seen(&upstream, "tasks/cancel").await;
    })
    .await;
}

#[tokio::test]
async fn a_task_that_has_ended_is_not_cancelled() {
    within(async {
        let upstream = child(&["legacy", "tasks"]);
        upstream.listing().await.unwrap();
        assert_eq!(said(&upstream, "research", json!({})).await, "found");
        assert!(!said(&upstream, "seen", json!({})).await.contains("tasks/cancel"));
    })
    .await;
}

#[tokio::test]
async fn without_tasks_the_tool_is_called_as_any_other() {
    within(async {
        let upstream = child(&["legacy", "no-tasks"]);
        upstream.listing().await.unwrap();
        let mut calling = call(&upstream, "research", json!({}));
        let Some(Event::Done(Ok(done))) = calling.next().await else { panic!("it has ended") };
        let error = RpcError::new(-32601, "Tool research requires task augmentation");
        assert_eq!(done, portcullis_mcp_client::RequestOutcome::Error(error));
    })
    .await;
}
