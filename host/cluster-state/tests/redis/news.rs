//! Tests of news for all hosts.

use std::time::{Duration, Instant};

use portcullis_cluster_state::{HostId, NewsReader};

use crate::server::Server;

/// The next news, also after the server was away for a moment.
async fn next(reader: &mut NewsReader) -> Vec<Vec<u8>> {
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        let found = reader.next().await.unwrap_or_default();
        if !found.is_empty() || Instant::now() > until {
            return found;
        }
    }
}

#[tokio::test]
#[ignore = "needs redis-server: just sessions"]
async fn all_other_hosts_read_news_in_order_and_once_also_after_the_server_was_killed() {
    let mut server = Server::start(&[]);
    let (sender, other) = (server.state(&[1]), server.state(&[1]));
    let hosts = [(); 3].map(|()| HostId::new().unwrap());
    sender.post_news(&hosts[0], b"before").await.unwrap();
    // The names of entries begin with milliseconds.
    tokio::time::sleep(Duration::from_millis(5)).await;
    let [mut own, mut two, mut three] =
        [&hosts[0], &hosts[1], &hosts[2]].map(|one| other.news(one));
    let sending = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        for news in [b"first", b"later"] {
            sender.post_news(&hosts[0], news).await.unwrap();
        }
        Instant::now()
    };
    let (mut read, sent) = tokio::join!(next(&mut two), sending);
    assert!(sent.elapsed() < Duration::from_millis(500), "the server wakes the host");
    if read.len() < 2 {
        read.extend(next(&mut two).await);
    }
    assert_eq!(read, [b"first", b"later"], "without what was there before");
    // This host begins to read now.
    assert_eq!(three.next().await.unwrap(), Vec::<Vec<u8>>::new());
    sender.post_news(&hosts[1], b"of two").await.unwrap();
    server.restart();
    assert_eq!(next(&mut three).await, [b"of two"]);
    sender.post_news(&hosts[0], b"of one").await.unwrap();
    assert_eq!(next(&mut two).await, [b"of one"], "its own news are passed over");
    // Another key's news are passed over, and so are news that name another sender.
    server.state(&[2]).post_news(&hosts[0], b"foreign").await.unwrap();
    let kept = server.ask(&["XREVRANGE", "portcullis:news:all", "+", "-", "COUNT", "2"]);
    assert!(!kept.contains("of one"), "sealed: {kept}");
    assert_eq!(next(&mut three).await, [b"of one"]);
    assert_eq!(own.next().await.unwrap(), Vec::<Vec<u8>>::new());
    let left: i64 = server.ask(&["PTTL", "portcullis:news:all"]).trim().parse().unwrap();
    assert!((1..=600_000).contains(&left), "they are not kept for ever: {left}");
}
