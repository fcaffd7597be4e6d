//! What plugins say to the clients of all hosts, on its way to the other hosts of a cluster.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use super::shared_state::Broadcast;

/// How long a call waits until the other hosts know what it said.
const DELIVERY_TIME: Duration = Duration::from_secs(5);

/// Maximum number of different news that wait. If there are more, the oldest are lost.
const MAX_WAITING: usize = 1024;

/// News that the other hosts do not know yet.
#[derive(Default)]
pub struct Outbox {
    is_open: AtomicBool,
    waiting: Mutex<Waiting>,
    more: Notify,
    /// The number of the newest news that the other hosts know.
    delivered: watch::Sender<u64>,
}

#[derive(Default)]
struct Waiting {
    news: Vec<Broadcast>,
    /// The number of the newest news.
    last: u64,
}

impl Outbox {
    /// Keeps news for the other hosts from now on.
    pub fn open(&self) {
        self.is_open.store(true, Ordering::Release);
    }

    /// Adds news. Returns their number for [`Self::delivery`]. `None`: there are no other hosts.
    pub(super) fn add(&self, news: &Broadcast) -> Option<u64> {
        if !self.is_open.load(Ordering::Acquire) {
            return None;
        }
        let mut waiting = self.waiting.lock();
        waiting.last += 1;
        if !waiting.news.contains(news) {
            waiting.news.push(news.clone());
        }
        if waiting.news.len() > MAX_WAITING {
            waiting.news.remove(0);
        }
        self.more.notify_one();
        Some(waiting.last)
    }

    /// Waits for news, and takes all of them, with the number of the newest. Whoever takes them calls
    /// [`Self::delivered`] or [`Self::put_back`].
    pub async fn take(&self) -> (Vec<Broadcast>, u64) {
        loop {
            let more = self.more.notified();
            {
                let mut waiting = self.waiting.lock();
                if !waiting.news.is_empty() {
                    return (std::mem::take(&mut waiting.news), waiting.last);
                }
            }
            more.await;
        }
    }

    /// The other hosts know all news up to this number.
    pub fn delivered(&self, number: u64) {
        self.delivered.send_replace(number);
    }

    /// News that could not be delivered wait again, before those that came meanwhile.
    pub fn put_back(&self, mut news: Vec<Broadcast>) {
        let mut waiting = self.waiting.lock();
        let newer = std::mem::take(&mut waiting.news);
        news.extend(newer.into_iter().filter(|one| !news.contains(one)).collect::<Vec<_>>());
        waiting.news = news;
        self.more.notify_one();
    }

    /// Waits until the other hosts know the news of this number, but not for ever: news that cannot be delivered now are
    /// delivered later.
    pub(super) async fn delivery(&self, number: u64) {
        let mut delivered = self.delivered.subscribe();
        let known = delivered.wait_for(|known| *known >= number);
        let _late = tokio::time::timeout(DELIVERY_TIME, known).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(uri: &str) -> Broadcast {
        Broadcast::Resource(uri.to_owned())
    }

    #[tokio::test(start_paused = true)]
    async fn news_wait_in_their_order_and_each_once_until_they_are_delivered() {
        let outbox = Outbox::default();
        assert_eq!(outbox.add(&resource("a")), None, "there are no other hosts");
        outbox.open();
        for uri in ["a", "b", "a"] {
            outbox.add(&resource(uri));
        }
        let (news, number) = outbox.take().await;
        assert_eq!((news.as_slice(), number), (&[resource("a"), resource("b")][..], 3));
        outbox.add(&resource("c"));
        outbox.add(&resource("b"));
        outbox.put_back(news);
        let (news, number) = outbox.take().await;
        assert_eq!((news.as_slice(), number), (&["a", "b", "c"].map(resource)[..], 5));
        let began = tokio::time::Instant::now();
        outbox.delivery(5).await;
        assert_eq!(began.elapsed(), DELIVERY_TIME, "they are not delivered");
        outbox.delivered(number);
        outbox.delivery(5).await;
        assert_eq!(began.elapsed(), DELIVERY_TIME);
    }

    #[tokio::test]
    async fn the_number_of_waiting_news_is_limited() {
        let outbox = Outbox::default();
        outbox.open();
        for number in 0..=MAX_WAITING {
            outbox.add(&resource(&number.to_string()));
        }
        let (news, _) = outbox.take().await;
        assert_eq!((news.len(), &news[0]), (MAX_WAITING, &resource("1")));
    }
}
