//! Tests of the requests in flight.

use super::*;

fn calls() -> Calls {
    Calls::new("test".into(), broadcast::channel(1).0, Arc::default())
}

fn entered(calls: &Calls) -> EnteredRequest {
    calls.enter(RequestOwner::default()).unwrap()
}

#[test]
fn an_unread_request_of_the_upstream_ends_no_request_of_ours() {
    let calls = calls();
    let own = entered(&calls);
    let deep = "[".repeat(100_000);
    let scanned = |text: &str| UnreadMessage::of(&portcullis_json_bounds::scan(text.as_bytes()));
    for (message, is_request) in [
        (format!(r#"{{"id":{},"method":"sampling/createMessage","params":{deep}"#, own.id), true),
        (format!(r#"{{"method":"notifications/message","params":{deep}"#), false),
    ] {
        for origin in [Origin::Shared, Origin::Request(own.id)] {
            for replies in [
                calls.receive(message.as_bytes(), origin),
                calls.too_large(scanned(&message), origin, 10),
            ] {
                assert!(calls.is_open(own.id), "{origin:?}");
                let replies: Vec<Value> =
                    replies.iter().map(|reply| serde_json::from_slice(reply).unwrap()).collect();
                if is_request {
                    assert_eq!(replies[0]["id"], own.id);
                    assert_eq!(replies[0]["error"]["code"], RpcError::INVALID_REQUEST);
                }
                assert_eq!(replies.len(), usize::from(is_request));
            }
        }
    }
    let answer = format!(r#"{{"id":{},"result":{deep}"#, own.id);
    calls.receive(answer.as_bytes(), Origin::Shared);
    assert!(!calls.is_open(own.id));
}

#[test]
fn an_unread_answer_ends_the_only_request_that_it_may_answer() {
    let calls = calls();
    let own = entered(&calls);
    calls.too_large(UnreadMessage::Answer(Some(77)), Origin::Request(own.id), 10);
    assert!(!calls.is_open(own.id), "an answer in the response to a request ends this request");
    let (one, two) = (entered(&calls), entered(&calls));
    calls.too_large(UnreadMessage::Answer(None), Origin::Shared, 10);
    assert!(calls.is_open(one.id) && calls.is_open(two.id), "it may answer either");
    calls.too_large(UnreadMessage::Answer(Some(one.id)), Origin::Request(two.id), 10);
    assert!(!calls.is_open(one.id));
    calls.too_large(UnreadMessage::Answer(None), Origin::Shared, 10);
    assert!(!calls.is_open(two.id), "it is the only one");
}

#[test]
fn questions_of_a_subscription_that_the_upstream_ends_are_refused() {
    let calls = calls();
    let session = Some("one".into());
    let owner = RequestOwner { session, subscribes: true, ..RequestOwner::default() };
    let mut subscription = calls.enter(owner).unwrap();
    let asked = br#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#;
    assert!(calls.receive(asked, Origin::Shared).is_empty(), "the caller gets the question");
    let ended = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{}}}}}"#,
        subscription.id
    );
    let replies = calls.receive(ended.as_bytes(), Origin::Shared);
    let replies: Vec<Value> =
        replies.iter().map(|reply| serde_json::from_slice(reply).unwrap()).collect();
    assert_eq!(replies[0]["id"], "q");
    assert_eq!(replies[0]["error"]["code"], RpcError::INTERNAL);
    let end = subscription.done.try_recv().unwrap();
    assert!(matches!(end, RequestEnd::Trouble(FaultCause::Lost(_))), "{end:?}");
}
