//! Tests of records, values, rates and work, and of a server that is away or refuses.

use std::time::{Duration, Instant};

use portcullis_cluster_state::{
    ClusterState, Credentials, RecordError, Report, Reported, StateError,
};

use crate::server::Server;

const TIME: Duration = Duration::from_secs(60);

#[tokio::test]
#[ignore = "needs redis-server: just sessions"]
async fn a_value_of_one_host_is_read_by_another_and_expires() {
    let server = Server::start(&[]);
    let (one, two) = (server.state(&[1]), server.state(&[1]));
    assert_eq!(one.get("run", "a").await.unwrap(), None);
    one.put("run", "a", b"secret text", TIME).await.unwrap();
    assert_eq!(two.get("run", "a").await.unwrap().as_deref(), Some(&b"secret text"[..]));
    assert!(!server.ask(&["GET", "portcullis:run:a"]).contains("secret"));
    one.put("run", "b", b"short", Duration::from_millis(50)).await.unwrap();
    tokio::time::sleep(Duration::from_millis(120)).await;
    assert_eq!(two.get("run", "b").await.unwrap(), None);
}

#[tokio::test]
#[ignore = "needs redis-server: just sessions"]
async fn the_server_can_neither_forge_a_value_nor_move_it() {
    let server = Server::start(&[]);
    let state = server.state(&[1]);
    state.put("run", "a", b"text", TIME).await.unwrap();
    assert_eq!(server.ask(&["COPY", "portcullis:run:a", "portcullis:run:b"]).trim(), "1");
    let moved = state.get("run", "b").await.unwrap_err();
    assert!(matches!(moved, StateError::Foreign { .. }), "{moved}");
    server.ask(&["SET", "portcullis:run:a", "forged"]);
    assert!(matches!(state.get("run", "a").await, Err(StateError::Foreign { .. })));
    let stranger = server.state(&[2]);
    stranger.put("run", "a", b"text", TIME).await.unwrap();
    assert!(matches!(state.get("run", "a").await, Err(StateError::Foreign { .. })));
    // A record under a newer version, and a record in the place of another one.
    let records = state.records_of("p");
    records.prepare("k", b"one".to_vec(), None).await.unwrap().commit(9999).await.unwrap();
    let newer = "for _, f in ipairs(redis.call('HKEYS', KEYS[1])) do if f ~= 'bytes' then \
        redis.call('HSET', KEYS[1], f, '0000000000000009' .. \
        string.sub(redis.call('HGET', KEYS[1], f), 17)) end end";
    server.ask(&["EVAL", newer, "1", "portcullis:store:p"]);
    assert!(matches!(records.read("k").await, Err(StateError::Foreign { .. })));
    let (from, to) = (state.records_of("q"), state.records_of("r"));
    from.prepare("k", b"one".to_vec(), None).await.unwrap().commit(9999).await.unwrap();
    assert_eq!(server.ask(&["COPY", "portcullis:store:q", "portcullis:store:r"]).trim(), "1");
    assert!(matches!(to.read("k").await, Err(StateError::Foreign { .. })));
    assert!(matches!(to.keys().await, Err(StateError::Foreign { .. })));
}

#[tokio::test]
#[ignore = "needs redis-server: just sessions"]
async fn records_have_versions_and_a_limit_of_their_size() {
    let server = Server::start(&[]);
    let (one, two) = (server.state(&[1]).records_of("p"), server.state(&[1]).records_of("p"));
    assert_eq!(one.read("k").await.unwrap(), None);
    let first = one.prepare("k", b"a".to_vec(), Some(0)).await.unwrap();
    let second = two.prepare("k", b"b".to_vec(), Some(0)).await.unwrap();
    let size = first.bytes_in_all();
    assert_eq!(first.commit(9999).await.unwrap(), 1);
    // The other host expected no record, too.
    assert!(matches!(second.commit(9999).await, Err(RecordError::Conflict)));
    assert!(matches!(two.prepare("k", b"b".to_vec(), Some(2)).await, Err(RecordError::Conflict)));
    assert_eq!(
        two.prepare("k", b"b".to_vec(), Some(1)).await.unwrap().commit(size).await.unwrap(),
        2
    );
    let record = one.read("k").await.unwrap().unwrap();
    assert_eq!((record.value.as_slice(), record.version), (&b"b"[..], 2));
    // The size of all records, as it is predicted and as it is limited.
    let more = one.prepare("l", b"c".to_vec(), None).await.unwrap();
    assert_eq!(more.bytes_in_all(), 2 * size);
    assert!(matches!(more.commit(2 * size - 1).await, Err(RecordError::Full)));
    assert_eq!(one.read("l").await.unwrap(), None);
    let more = one.prepare("l", b"c".to_vec(), None).await.unwrap();
    more.commit(2 * size).await.unwrap();
    let mut keys = two.keys().await.unwrap();
    keys.sort_unstable();
    assert_eq!(keys, ["k", "l"]);
    // Other owners have a limit of their own.
    let other = server.state(&[1]).records_of("q");
    assert_eq!(other.prepare("k", b"x".to_vec(), None).await.unwrap().bytes_in_all(), size);
    for key in ["k", "l", "k"] {
        one.remove(key).await.unwrap();
    }
    assert_eq!(two.read("k").await.unwrap(), None);
    assert_eq!(one.prepare("k", b"x".to_vec(), None).await.unwrap().bytes_in_all(), size);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server: just sessions"]
async fn no_write_of_two_hosts_at_once_is_lost() {
    let server = Server::start(&[]);
    let add = async |state: ClusterState| {
        let records = state.records_of("p");
        let mut added = 0;
        while added < 50 {
            let before = records.read("k").await.unwrap();
            let (sum, version) = before.map_or((0, 0), |record| {
                (String::from_utf8(record.value).unwrap().parse().unwrap(), record.version)
            });
            let next = (sum + 1_u32).to_string().into_bytes();
            match records.prepare("k", next, Some(version)).await {
                Ok(prepared) => match prepared.commit(9999).await {
                    Ok(_) => added += 1,
                    Err(RecordError::Conflict) => {}
                    Err(error) => panic!("{error}"),
                },
                Err(RecordError::Conflict) => {}
                Err(error) => panic!("{error}"),
            }
        }
    };
    let states = [server.state(&[1]), server.state(&[1]), server.state(&[1])];
    let [a, b, c] = states.map(add);
    tokio::join!(a, b, c);
    let record = server.state(&[1]).records_of("p").read("k").await.unwrap().unwrap();
    assert_eq!((record.value.as_slice(), record.version), (&b"150"[..], 150));
    // Without an expected version, the last one to write wins, and no write fails.
    let set = async |state: ClusterState| {
        let records = state.records_of("p");
        for _ in 0..10 {
            records.prepare("l", b"x".to_vec(), None).await.unwrap().commit(9999).await.unwrap();
        }
    };
    let [a, b, c] = [server.state(&[1]), server.state(&[1]), server.state(&[1])].map(set);
    tokio::join!(a, b, c);
    let record = server.state(&[1]).records_of("p").read("l").await.unwrap().unwrap();
    assert_eq!(record.version, 30);
}

#[tokio::test]
#[ignore = "needs redis-server: just sessions"]
async fn records_are_sealed_again_before_a_key_is_removed() {
    let server = Server::start(&[]);
    let old = server.state(&[1]).records_of("p");
    for key in ["a", "b"] {
        old.prepare(key, key.into(), None).await.unwrap().commit(9999).await.unwrap();
    }
    let both = server.state(&[2, 1]);
    both.records_of("p")
        .prepare("c", b"c".to_vec(), None)
        .await
        .unwrap()
        .commit(9999)
        .await
        .unwrap();
    assert!(server.state(&[2]).records_of("p").read("a").await.is_err());
    assert_eq!(
        server.state(&[2]).seal_records_again().await.unwrap(),
        (0, 0),
        "one key: nothing to do"
    );
    assert_eq!(server.state(&[2, 3]).seal_records_again().await.unwrap(), (0, 2), "no key opens");
    assert_eq!(both.seal_records_again().await.unwrap(), (2, 0));
    assert_eq!(both.seal_records_again().await.unwrap(), (0, 0));
    let new = server.state(&[2]).records_of("p");
    for key in ["a", "b", "c"] {
        let record = new.read(key).await.unwrap().unwrap();
        assert_eq!((record.value, record.version), (key.into(), 1));
    }
}

#[tokio::test]
#[ignore = "needs redis-server: just sessions"]
async fn a_rate_is_counted_by_all_hosts_together() {
    let server = Server::start(&[]);
    let (one, two) = (server.state(&[1]), server.state(&[1]));
    let began = Instant::now();
    let mut granted = 0;
    for _ in 0..40 {
        granted += one.take_rate("a", 100, 10).await.unwrap();
        granted += two.take_rate("a", 100, 10).await.unwrap();
    }
    let refilled = began.elapsed().as_secs_f64() * 100.0;
    assert!((100.0..=101.0 + refilled).contains(&f64::from(granted)), "{granted}, {refilled}");
    assert_eq!(one.take_rate("b", 100, 10).await.unwrap(), 10, "another client");
}

#[tokio::test]
#[ignore = "needs redis-server: just sessions"]
async fn what_was_acknowledged_is_there_after_the_server_was_killed() {
    let mut server = Server::start(&[]);
    let state = server.state(&[1]);
    let records = state.records_of("p");
    let mut acknowledged = 0;
    for round in 1..=3 {
        for _ in 0..20 {
            let value = b"x".to_vec();
            acknowledged =
                records.prepare("k", value, None).await.unwrap().commit(9999).await.unwrap();
        }
        server.restart();
        let record = records.read("k").await.unwrap().unwrap();
        assert_eq!(record.version, acknowledged, "round {round}");
    }
}

#[tokio::test]
#[ignore = "needs redis-server: just sessions"]
async fn a_server_that_is_away_is_an_error_in_time_and_comes_back() {
    let mut server = Server::start(&[]);
    let state = server.state(&[1]);
    state.watch().unwrap();
    let reached = async |expected: bool| {
        let until = Instant::now() + Duration::from_secs(10);
        while state.is_reached() != expected {
            assert!(Instant::now() < until, "is_reached becomes {expected}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    reached(true).await;
    state.put("run", "a", b"text", TIME).await.unwrap();
    // Paused: the connection is open, and nobody answers.
    server.signal("-STOP");
    let began = Instant::now();
    let error = state.get("run", "a").await.unwrap_err();
    assert!(error.is_away(), "{error}");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    reached(false).await;
    let began = Instant::now();
    assert!(state.take_rate("a", 10, 1).await.unwrap_err().is_away());
    assert!(began.elapsed() < Duration::from_millis(100), "a request does not wait for its rate");
    server.signal("-CONT");
    reached(true).await;
    assert_eq!(state.get("run", "a").await.unwrap().as_deref(), Some(&b"text"[..]));
    // Killed: the connection is refused.
    server.kill();
    assert!(state.get("run", "a").await.unwrap_err().is_away());
    reached(false).await;
    server.restart();
    reached(true).await;
    assert_eq!(state.get("run", "a").await.unwrap().as_deref(), Some(&b"text"[..]));
}

#[tokio::test]
#[ignore = "needs redis-server: just sessions"]
async fn a_wrong_password_is_the_operators_fault() {
    let server = Server::start(&["--requirepass", "a good password"]);
    for password in [None, Some("another".to_owned())] {
        let credentials = Credentials { password, ..Credentials::default() };
        let state = server.state_with(&[1], credentials).unwrap();
        let began = Instant::now();
        let error = state.get("run", "a").await.unwrap_err();
        assert!(matches!(error, StateError::Refused { .. }), "{error:?}");
        assert!(began.elapsed() < Duration::from_secs(1), "it is not tried again");
    }
    let right =
        Credentials { password: Some("a good password".to_owned()), ..Credentials::default() };
    assert_eq!(server.state_with(&[1], right).unwrap().get("run", "a").await.unwrap(), None);
}

#[tokio::test]
#[ignore = "needs redis-server: just sessions"]
async fn settings_with_which_the_server_loses_data_are_named() {
    let server = Server::start(&[]);
    assert_eq!(server.state(&[1]).remarks().await.unwrap(), Vec::<String>::new());
    let server = Server::start(&["--appendfsync", "everysec", "--maxmemory-policy", "allkeys-lru"]);
    let remarks = server.state(&[1]).remarks().await.unwrap();
    assert_eq!(remarks.len(), 2, "{remarks:?}");
    let server = Server::start(&["--appendonly", "no"]);
    let remarks = server.state(&[1]).remarks().await.unwrap();
    assert!(remarks[0].contains("appendonly yes"), "{remarks:?}");
}

const REPORT: Report<'_> = Report {
    state: Some(b"working"),
    has_ended: false,
    is_heartbeat: true,
    received: 0,
    kept: TIME,
};

#[tokio::test]
#[ignore = "needs redis-server: just sessions"]
async fn another_host_sees_work_and_sends_messages_to_it() {
    let server = Server::start(&[]);
    let (one, two) = (server.state(&[1]), server.state(&[1]));
    assert_eq!(two.look_at_work("w").await.unwrap(), None);
    assert_eq!(one.report("w", REPORT).await.unwrap(), Reported::Messages(Vec::new()));
    let seen = two.look_at_work("w").await.unwrap().unwrap();
    assert_eq!((seen.state.as_slice(), seen.is_lost), (&b"working"[..], false));
    for message in [b"a", b"b"] {
        assert!(two.send_to_work("w", message, TIME).await.unwrap());
    }
    let again = Report { state: None, ..REPORT };
    let both = Reported::Messages(vec![b"a".to_vec(), b"b".to_vec()]);
    assert_eq!(one.report("w", again).await.unwrap(), both);
    // An answer that was lost is no loss: the messages are still there.
    assert_eq!(one.report("w", again).await.unwrap(), both);
    let rest = one.report("w", Report { received: 1, ..again }).await.unwrap();
    assert_eq!(rest, Reported::Messages(vec![b"b".to_vec()]));
    let ended = Report { state: Some(b"done"), has_ended: true, received: 2, ..REPORT };
    assert_eq!(one.report("w", ended).await.unwrap(), Reported::Messages(Vec::new()));
    assert_eq!(two.look_at_work("w").await.unwrap().unwrap().state, b"done");
    let mut sent = 0;
    while two.send_to_work("w", b"x", TIME).await.unwrap() {
        sent += 1;
        assert!(sent < 1000, "the number of messages has a bound");
    }
}

#[tokio::test]
#[ignore = "needs redis-server: just sessions"]
async fn work_of_a_silent_host_is_lost_for_good() {
    let server = Server::start(&[]);
    let (one, two) = (server.state(&[1]), server.state(&[1]));
    let key = "portcullis:task:w";
    one.report("w", REPORT).await.unwrap();
    let silent_for = |field: &str, seconds: u32| {
        let script = "redis.call('HSET', KEYS[1], ARGV[1], redis.call('TIME')[1] - ARGV[2])";
        server.ask(&["EVAL", script, "1", key, field, &seconds.to_string()]);
    };
    let is_lost = async || two.look_at_work("w").await.unwrap().unwrap().is_lost;
    silent_for("heartbeat", 60);
    assert!(!is_lost().await, "the server may have been away: the host gets time for a heartbeat");
    one.report("w", Report { state: None, ..REPORT }).await.unwrap();
    assert_eq!(server.ask(&["HGET", key, "missed"]).trim(), "", "the heartbeat counts");
    silent_for("heartbeat", 60);
    for _ in 0..3 {
        assert!(!is_lost().await, "clients ask several times in the time for a heartbeat");
    }
    silent_for("missed", 6);
    assert!(!is_lost().await, "eight seconds are not over");
    silent_for("missed", 9);
    assert!(is_lost().await);
    // The silent host learns it, and changes nothing any more.
    let ended = Report { state: Some(b"done"), has_ended: true, ..REPORT };
    assert_eq!(one.report("w", ended).await.unwrap(), Reported::Lost);
    let seen = two.look_at_work("w").await.unwrap().unwrap();
    assert_eq!((seen.state.as_slice(), seen.is_lost), (&b"working"[..], true));
    // Work that has ended is not lost, however long ago.
    one.report("v", Report { has_ended: true, ..REPORT }).await.unwrap();
    let old = "redis.call('HSET', KEYS[1], 'heartbeat', 1, 'missed', 1)";
    server.ask(&["EVAL", old, "1", "portcullis:task:v"]);
    assert!(!two.look_at_work("v").await.unwrap().unwrap().is_lost);
}
