//! Tests of sessions, of their events, and of messages between hosts.

use std::time::{Duration, Instant};

use portcullis_cluster_state::{
    ClusterState, EventLog, EventReader, Found, HostId, Look, NewEvent, Received, SessionState,
    StateError, Subscribed,
};

use crate::server::Server;

const TIME: Duration = Duration::from_secs(60);

fn look(restores: bool, changes: u64) -> Look {
    Look { kept: Some(TIME), restores, changes }
}

async fn seen(state: &ClusterState, host: &HostId, changes: u64) -> Option<SessionState> {
    state.look_at_session("s", host, look(false, changes)).await.unwrap()
}

#[tokio::test]
#[ignore = "needs redis-server: just sessions"]
async fn what_one_host_writes_of_a_session_another_one_finds() {
    let server = Server::start(&[]);
    let (one, two) = (server.state(&[1]), server.state(&[1]));
    let (a, b) = (HostId::new().unwrap(), HostId::new().unwrap());
    assert_eq!(seen(&two, &b, 0).await, None);
    one.begin_session("s", &a, b"began", TIME).await.unwrap();
    assert!(one.begin_session("s", &a, b"again", TIME).await.is_err(), "one name, one session");
    let found = two.look_at_session("s", &b, look(true, 0)).await.unwrap().unwrap();
    let nothing = SessionState { subscriptions: Some(Vec::new()), ..SessionState::default() };
    assert_eq!(found, SessionState { began: Some(b"began".to_vec()), ..nothing });
    assert!(!server.ask(&["HGET", "portcullis:session:s", "began"]).contains("began"), "sealed");
    two.set_session_level("s", 3).await.unwrap();
    two.note_changed_roots("s").await.unwrap();
    let found = seen(&one, &a, 0).await.unwrap();
    assert_eq!((found.level, found.roots, found.subscriptions), (3, 1, None));
    let mut hosts = one.hosts_of_session("s").await.unwrap();
    hosts.sort_by_key(ToString::to_string);
    let mut both = vec![a.clone(), b.clone()];
    both.sort_by_key(ToString::to_string);
    assert_eq!(hosts, both);
    assert_eq!(two.end_session("s").await.unwrap().len(), 2);
    assert_eq!(seen(&one, &a, 0).await, None);
    // Nothing brings back a session that has ended.
    one.set_session_level("s", 1).await.unwrap();
    one.note_changed_roots("s").await.unwrap();
    assert_eq!(one.subscribe_session("s", &a, "u", 9).await.unwrap(), Subscribed::NoSession);
    let new = NewEvent { event: b"x", number: 1, max_bytes: 1000, kept: TIME };
    assert_eq!(one.append_session_event("s", EventLog::Common, &a, new).await.unwrap(), None);
    assert_eq!(server.ask(&["KEYS", "*"]).trim(), "");
}

#[tokio::test]
#[ignore = "needs redis-server: just sessions"]
async fn a_session_is_kept_from_its_last_request_on() {
    let server = Server::start(&[]);
    let (state, host) = (server.state(&[1]), HostId::new().unwrap());
    let kept = Duration::from_millis(600);
    state.begin_session("s", &host, b"", kept).await.unwrap();
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let look = Look { kept: Some(kept), restores: false, changes: 0 };
        assert!(state.look_at_session("s", &host, look).await.unwrap().is_some());
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    // A look without a request does not keep it.
    let idle = Look { kept: None, restores: false, changes: 0 };
    assert!(state.look_at_session("s", &host, idle).await.unwrap().is_some());
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert!(state.look_at_session("s", &host, idle).await.unwrap().is_none());
}

#[tokio::test]
#[ignore = "needs redis-server: just sessions"]
async fn one_host_watches_a_resource_and_another_one_if_it_is_gone() {
    let server = Server::start(&[]);
    let state = server.state(&[1]);
    let (a, b) = (HostId::new().unwrap(), HostId::new().unwrap());
    state.inbox(&a).report_alive().await.unwrap();
    state.begin_session("s", &a, b"", TIME).await.unwrap();
    for uri in ["u", "u", "v"] {
        assert_eq!(state.subscribe_session("s", &a, uri, 2).await.unwrap(), Subscribed::Yes);
    }
    assert_eq!(state.subscribe_session("s", &a, "w", 2).await.unwrap(), Subscribed::TooMany);
    let own = |found: &SessionState| {
        let some = found.subscriptions.as_ref().map(|some| {
            let mut some: Vec<_> = some.iter().map(|one| (one.uri.clone(), one.is_own)).collect();
            some.sort();
            some
        });
        some.unwrap_or_default()
    };
    let both = |is_own| vec![("u".to_owned(), is_own), ("v".to_owned(), is_own)];
    let found = seen(&state, &a, 0).await.unwrap();
    assert_eq!(own(&found), both(true));
    assert_eq!(seen(&state, &a, found.changes).await.unwrap().subscriptions, None, "known");
    assert_eq!(own(&seen(&state, &b, 0).await.unwrap()), both(false));
    // The first host is gone: the next one that looks watches.
    server.ask(&["DEL", &format!("portcullis:host:{a}")]);
    state.inbox(&b).report_alive().await.unwrap();
    let taken = seen(&state, &b, found.changes).await.unwrap();
    assert_eq!(own(&taken), both(true));
    assert!(taken.changes > found.changes);
    assert_eq!(own(&seen(&state, &a, found.changes).await.unwrap()), both(false));
    assert_eq!(state.unsubscribe_session("s", "u").await.unwrap(), Some(b.clone()));
    assert_eq!(state.unsubscribe_session("s", "u").await.unwrap(), None);
    assert_eq!(own(&seen(&state, &a, 0).await.unwrap()), [("v".to_owned(), false)]);
    assert_eq!(state.subscribe_session("s", &a, "w", 2).await.unwrap(), Subscribed::Yes);
}

#[tokio::test]
#[ignore = "needs redis-server: just sessions"]
async fn the_newest_stream_reads_each_event_once_and_older_ones_again_by_number() {
    let server = Server::start(&[]);
    let state = server.state(&[1]);
    let (a, b) = (HostId::new().unwrap(), HostId::new().unwrap());
    state.begin_session("s", &a, b"", TIME).await.unwrap();
    let append = async |host: &HostId, number: u64, event: &[u8]| {
        let new = NewEvent { event, number, max_bytes: 10_000, kept: TIME };
        state.append_session_event("s", EventLog::Common, host, new).await.unwrap()
    };
    assert_eq!(append(&a, 1, b"x").await, Some(1));
    assert_eq!(append(&a, 1, b"x").await, None, "an event that is sent again is there once");
    assert_eq!(append(&b, 1, b"y").await, Some(2));
    let (old, new) = (EventReader::new(&a, 1), EventReader::new(&b, 2));
    let read = async |reader: &EventReader, from, claims| {
        state.read_session_events("s", reader, from, claims).await.unwrap()
    };
    let events = |first, some: &[&[u8]]| {
        Found::Events(first, some.iter().map(|&one| one.to_vec()).collect())
    };
    assert_eq!(read(&old, None, true).await, events(1, &[b"x", b"y"]));
    // The host was killed before it said that the client has them, so they count as unread.
    assert_eq!(read(&new, None, true).await, events(1, &[b"x", b"y"]));
    assert_eq!(read(&old, Some(3), false).await, Found::Superseded);
    assert_eq!(read(&new, Some(3), false).await, events(3, &[]));
    assert_eq!(append(&b, 2, b"z").await, Some(3));
    assert_eq!(read(&new, None, true).await, events(3, &[b"z"]), "x and y are read");
    assert_eq!(read(&new, Some(2), true).await, events(2, &[b"y", b"z"]));
    assert_eq!(read(&new, Some(99), true).await, events(3, &[b"z"]), "a number that is not there");
    state.release_session_events("s", &new, 3).await.unwrap();
    assert_eq!(read(&old, None, false).await, events(3, &[b"z"]), "the older stream reads again");
    state.release_session_events("s", &new, 4).await.unwrap();
    assert_eq!(read(&old, None, false).await, events(4, &[]), "z was taken before the end");
    // The oldest events make room, and the newest one stays however large it is.
    for number in 3..200 {
        append(&b, number, b"small").await;
    }
    let Found::Events(first, _) = read(&old, Some(1), false).await else { panic!("events") };
    assert!(first > 60, "{first}");
    append(&b, 200, &[0; 20_000]).await;
    let Found::Events(first, some) = read(&old, Some(1), false).await else { panic!("events") };
    assert_eq!((first, some.len()), (201, 1));
    let Err(StateError::Foreign { .. }) =
        server.state(&[2]).read_session_events("s", &new, Some(1), true).await
    else {
        panic!("events are sealed")
    };
}

#[tokio::test]
#[ignore = "needs redis-server: just sessions"]
async fn a_message_reaches_a_host_that_is_alive_also_after_the_server_was_killed() {
    let mut server = Server::start(&[]);
    let (state, sender) = (server.state(&[1]), server.state(&[1]));
    let host = HostId::new().unwrap();
    assert!(!sender.send_to_host(&host, b"early").await.unwrap(), "no host of this name");
    let mut inbox = state.inbox(&host);
    assert_eq!(inbox.next().await.unwrap(), []);
    let sending = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(sender.send_to_host(&host, b"first").await.unwrap());
        Instant::now()
    };
    let (received, sent) = tokio::join!(inbox.next(), sending);
    assert_eq!(received.unwrap(), [Received::Message(b"first".to_vec())]);
    assert!(sent.elapsed() < Duration::from_millis(500), "the server wakes the host");
    assert!(sender.send_to_host(&host, b"second").await.unwrap());
    server.restart();
    let mut received = Vec::new();
    let until = Instant::now() + Duration::from_secs(10);
    while received.is_empty() && Instant::now() < until {
        received = inbox.next().await.unwrap_or_default();
    }
    assert_eq!(received, [Received::Message(b"second".to_vec())], "once, and not the first again");
    // Another key's message is passed over.
    assert!(server.state(&[2]).send_to_host(&host, b"foreign").await.unwrap());
    assert!(sender.send_to_host(&host, b"third").await.unwrap());
    assert_eq!(inbox.next().await.unwrap(), [Received::Message(b"third".to_vec())]);
    assert_eq!(inbox.next().await.unwrap(), []);
    let kept = server.ask(&["XLEN", &format!("portcullis:host-inbox:{host}")]);
    assert_eq!(kept.trim(), "1", "only the last one is kept");
}
