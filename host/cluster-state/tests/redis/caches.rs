//! Tests of caches: they end, they have a limit, and the server cannot change them.

use std::time::Duration;

use portcullis_cluster_state::{CachedValue, ClusterCache, StateError};

use crate::server::Server;

/// The bytes that may be kept by the caches of these tests.
const BYTES: u64 = 10_000;

async fn value(cache: &ClusterCache, key: &str) -> Option<Vec<u8>> {
    cache.read(key).await.unwrap().map(|value| value.bytes)
}

#[tokio::test]
#[ignore = "needs redis-server: just sessions"]
async fn what_one_host_made_is_found_by_another_until_its_time_is_over() {
    let server = Server::start(&[]);
    let [one, two] = [1, 1].map(|key| server.state(&[key]).cache_of("p", BYTES));
    assert_eq!(two.read("k").await.unwrap(), None);
    one.write("k", b"secret text", None).await.unwrap();
    let found = CachedValue { bytes: b"secret text".to_vec(), rest: None };
    assert_eq!(two.read("k").await.unwrap(), Some(found));
    one.write("k", b"newer", Some(Duration::from_secs(60))).await.unwrap();
    let found = two.read("k").await.unwrap().unwrap();
    assert_eq!(found.bytes, b"newer");
    let rest = found.rest.expect("the value has a time");
    assert!(rest > Duration::from_secs(50) && rest <= Duration::from_secs(60), "{rest:?}");
    one.write("k", b"short", Some(Duration::from_millis(50))).await.unwrap();
    tokio::time::sleep(Duration::from_millis(120)).await;
    assert_eq!(two.read("k").await.unwrap(), None);
    // A name of the server's key contains no key of the plugin, and no value is readable.
    one.write("a readable key", b"readable", None).await.unwrap();
    let all = server.ask(&["HGETALL", "portcullis:cache:p"]);
    assert!(!all.contains("readable") && !all.contains("secret"), "{all}");
}

#[tokio::test]
#[ignore = "needs redis-server: just sessions"]
async fn the_oldest_values_make_room_and_each_owner_has_its_own_limit() {
    let server = Server::start(&[]);
    let state = server.state(&[1]);
    let (cache, other) = (state.cache_of("p", BYTES), state.cache_of("q", BYTES));
    other.write("k", b"text", None).await.unwrap();
    for n in 0..30 {
        cache.write(&n.to_string(), &[0; 1000], None).await.unwrap();
        // A value that is written again is as large as one, and is the newest.
        cache.write("again", &[n; 1000], None).await.unwrap();
    }
    let mut kept = Vec::new();
    for n in 0..30 {
        kept.extend(value(&cache, &n.to_string()).await.map(|_| n));
    }
    assert_eq!(kept, (30 - kept.len()..30).collect::<Vec<_>>(), "the newest ones");
    assert!((6..=8).contains(&kept.len()), "{kept:?}");
    assert_eq!(value(&cache, "again").await, Some(vec![29; 1000]));
    assert_eq!(value(&other, "k").await.as_deref(), Some(&b"text"[..]));
    let bytes: u64 = server.ask(&["HGET", "portcullis:cache:p", "bytes"]).trim().parse().unwrap();
    assert!(bytes <= BYTES, "{bytes}");
    let fields: usize = server.ask(&["HLEN", "portcullis:cache:p"]).trim().parse().unwrap();
    assert_eq!(fields, kept.len() + 2, "what was removed takes no room");
    // A cache that nobody uses ends, and what is too large is not sent.
    for key in ["portcullis:cache:p", "portcullis:cache-times:p"] {
        let rest: i64 = server.ask(&["PTTL", key]).trim().parse().unwrap();
        assert!(rest > 6 * 86_400_000, "{key}: {rest}");
    }
    let large = state.cache_of("r", u64::MAX >> 1);
    large.write("k", &vec![0; 4 * 1024 * 1024 + 1], None).await.unwrap();
    assert_eq!(server.ask(&["EXISTS", "portcullis:cache:r"]).trim(), "0");
}

#[tokio::test]
#[ignore = "needs redis-server: just sessions"]
async fn the_server_can_neither_move_a_value_nor_make_it_last() {
    let server = Server::start(&[]);
    let state = server.state(&[1]);
    let cache = state.cache_of("p", BYTES);
    cache.write("a", b"text", Some(Duration::from_millis(80))).await.unwrap();
    // The server keeps what should have ended.
    tokio::time::sleep(Duration::from_millis(150)).await;
    assert_eq!(server.ask(&["HLEN", "portcullis:cache:p"]).trim(), "2");
    assert_eq!(cache.read("a").await.unwrap(), None);
    cache.write("a", b"text", None).await.unwrap();
    assert_eq!(server.ask(&["COPY", "portcullis:cache:p", "portcullis:cache:q"]).trim(), "1");
    let moved = state.cache_of("q", BYTES).read("a").await.unwrap_err();
    assert!(matches!(moved, StateError::Foreign { .. }), "{moved}");
    let forge = "for _, f in ipairs(redis.call('HKEYS', KEYS[1])) do if f ~= 'bytes' then \
        redis.call('HSET', KEYS[1], f, 'forged') end end";
    server.ask(&["EVAL", forge, "1", "portcullis:cache:p"]);
    assert!(matches!(cache.read("a").await, Err(StateError::Foreign { .. })));
}

#[tokio::test]
#[ignore = "needs redis-server: just sessions"]
async fn nobody_waits_long_for_a_server_that_does_not_answer() {
    let server = Server::start(&[]);
    let cache = server.state(&[1]).cache_of("p", BYTES);
    cache.write("a", b"text", None).await.unwrap();
    server.signal("-STOP");
    let began = std::time::Instant::now();
    let failed = cache.read("a").await.unwrap_err();
    assert!(failed.is_away(), "{failed}");
    assert!(began.elapsed() < Duration::from_millis(2500), "{:?}", began.elapsed());
    server.signal("-CONT");
    assert_eq!(value(&cache, "a").await.as_deref(), Some(&b"text"[..]));
}
