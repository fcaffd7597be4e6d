//! Tests of resumable event streams: what is replayed, and what is dropped.

use rmcp::model::{JsonRpcMessage, RequestId, ServerResult};

use super::*;

/// The size limit: enough for some small events.
const BYTES: usize = 10_000;

fn event(text: &str) -> ServerSseMessage {
    let result = ServerResult::CustomResult(rmcp::model::CustomResult(text.into()));
    ServerSseMessage::from_message(JsonRpcMessage::response(result, RequestId::Number(1)))
}

fn text(event: &ServerSseMessage) -> String {
    let message = serde_json::to_value(event.message.as_deref().unwrap()).unwrap();
    message["result"].as_str().unwrap().to_owned()
}

async fn read_all(stream: impl Stream<Item = ServerSseMessage>) -> Vec<(String, String)> {
    stream.map(|event| (event.event_id.clone().unwrap(), text(&event))).collect().await
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(id, text)| ((*id).to_owned(), (*text).to_owned())).collect()
}

#[tokio::test]
async fn a_response_that_was_missed_is_read_by_resuming() {
    let streams = Streams::new(BYTES);
    let (sender, written) = futures_channel();
    let mut first = Box::pin(streams.begin(written, None));
    sender.send(event("a")).unwrap();
    assert_eq!(text(&first.next().await.unwrap()), "a");
    // The connection breaks, and the response comes while there is no reader.
    drop(first);
    sender.send(event("b")).unwrap();
    sender.send(event("c")).unwrap();
    drop(sender);
    let again = streams.resume("0/0").unwrap();
    assert_eq!(read_all(again).await, pairs(&[("1/0", "b"), ("2/0", "c")]));
    let from_the_end = streams.resume("2/0").unwrap();
    assert!(read_all(from_the_end).await.is_empty());
    for unknown in ["0/1", "0/x", "x/0", "", "-1/0", "18446744073709551615/0", "0/0/0"] {
        assert!(streams.resume(unknown).is_none(), "{unknown}");
    }
}

#[tokio::test]
async fn only_the_newest_reader_gets_events() {
    let streams = Streams::new(BYTES);
    let (sender, written) = futures_channel();
    let mut older = Box::pin(streams.begin(written, None));
    sender.send(event("a")).unwrap();
    older.next().await.unwrap();
    let mut newest = Box::pin(streams.resume("0/0").unwrap());
    sender.send(event("b")).unwrap();
    assert_eq!(text(&newest.next().await.unwrap()), "b");
    // The newest reader goes away, and the older one gets the events.
    drop(newest);
    sender.send(event("c")).unwrap();
    assert_eq!(text(&older.next().await.unwrap()), "c");
    let mut last = Box::pin(streams.resume("2/0").unwrap());
    drop(sender);
    assert!(last.next().await.is_none() && older.next().await.is_none());
}

#[tokio::test]
async fn the_common_stream_begins_with_the_unread_events() {
    let streams = Streams::new(BYTES);
    assert!(streams.needs_common());
    assert!(!streams.needs_common());
    let (sender, written) = futures_channel();
    streams.write_standalone(written);
    sender.send(event("before")).unwrap();
    let mut one = Box::pin(streams.read_common());
    assert_eq!(text(&one.next().await.unwrap()), "before");
    let mut other = Box::pin(streams.read_common());
    sender.send(event("a")).unwrap();
    assert_eq!(text(&other.next().await.unwrap()), "a");
    drop(other);
    sender.send(event("b")).unwrap();
    assert_eq!(text(&one.next().await.unwrap()), "b");
    let mut again = Box::pin(streams.resume("0").unwrap());
    for expected in ["before", "a", "b"] {
        assert_eq!(text(&again.next().await.unwrap()), expected);
    }
    drop(sender);
    assert!(again.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn the_stream_of_a_slow_reader_ends_and_the_newest_events_are_kept() {
    let streams = Streams::new(BYTES);
    let (sender, written) = futures_channel();
    let mut slow = Box::pin(streams.begin(written, None));
    for number in 0..=MAX_EVENTS {
        sender.send(event(&number.to_string())).unwrap();
    }
    let began = Instant::now();
    drop(sender);
    let log = streams.logs.lock().open[&0].clone();
    log.state.subscribe().wait_for(|state| state.ended.is_some()).await.unwrap();
    assert_eq!(began.elapsed(), SEND_TIMEOUT);
    assert!(slow.next().await.is_none());
    let kept = read_all(streams.resume("0/0").unwrap()).await;
    assert_eq!((kept.len(), kept.last().unwrap().1.as_str()), (MAX_EVENTS, "64"));
}

#[tokio::test(start_paused = true)]
async fn ended_streams_are_dropped_when_they_are_too_many_or_too_large_or_too_old() {
    let streams = Streams::new(BYTES);
    let ended = async |text: &str| {
        let (sender, written) = futures_channel();
        sender.send(event(text)).unwrap();
        drop(sender);
        read_all(streams.begin(written, None)).await;
        // The task that writes the buffer drops ended streams only after the last event was read.
        tokio::task::yield_now().await;
        streams.drop_ended();
    };
    let open = || streams.logs.lock().open.keys().copied().collect::<Vec<_>>();
    for _ in 0..MAX_ENDED + 2 {
        ended("small").await;
    }
    assert_eq!(open(), (2..18).collect::<Vec<_>>());
    ended(&"x".repeat(BYTES / 2)).await;
    ended(&"x".repeat(BYTES / 2)).await;
    // The older of the two large streams was dropped. The small streams fit beside the newer large stream.
    assert_eq!(open(), (4..18).chain([19]).collect::<Vec<_>>());
    // A stream that is too large by itself is dropped, and no other stream.
    ended(&"x".repeat(BYTES)).await;
    assert_eq!(open(), (4..18).chain([19]).collect::<Vec<_>>());
    ended("small").await;
    assert_eq!(open(), (4..18).chain([19, 21]).collect::<Vec<_>>());
    tokio::time::advance(KEEP_ENDED + Duration::from_secs(1)).await;
    ended("small").await;
    assert_eq!(open(), [22]);
}

#[tokio::test]
async fn the_response_is_kept_longer_than_earlier_events() {
    let streams = Streams::new(BYTES);
    let (sender, written) = futures_channel();
    drop(streams.begin(written, None));
    for _ in 0..10 {
        sender.send(event(&"x".repeat(BYTES / 4))).unwrap();
    }
    sender.send(event("the response")).unwrap();
    drop(sender);
    let log = streams.logs.lock().open[&0].clone();
    log.state.subscribe().wait_for(|state| state.ended.is_some()).await.unwrap();
    assert!(log.state.borrow().bytes <= BYTES);
    let kept = read_all(streams.resume("0/0").unwrap()).await;
    assert_eq!(kept.last().unwrap(), &("10/0".to_owned(), "the response".to_owned()));
    assert!((2..5).contains(&kept.len()), "{}", kept.len());
}

/// A channel without a bound, as a stream.
fn futures_channel() -> (
    tokio::sync::mpsc::UnboundedSender<ServerSseMessage>,
    impl Stream<Item = ServerSseMessage> + Send + Unpin + 'static,
) {
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
    let stream = stream::unfold(receiver, |mut receiver| async {
        let event = receiver.recv().await?;
        Some((event, receiver))
    });
    (sender, Box::pin(stream))
}
