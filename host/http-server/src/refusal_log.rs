//! Logs refused requests: at most one line for each peer and second. A peer's first line has the reason, and later
//! lines have the number of requests.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::client_address::PeerAddress;

/// Maximum number of peers that are counted separately.
const MAX_PEERS: usize = 1024;

/// Time for which refusals are counted before their number is logged.
const WINDOW: Duration = Duration::from_secs(1);

/// The number of refused requests that were not logged yet, by peer. `None`: all peers beyond the first [`MAX_PEERS`].
#[derive(Clone, Default)]
pub(crate) struct RefusalLog(Arc<Mutex<HashMap<Option<PeerAddress>, u64>>>);

impl RefusalLog {
    /// Counts a refused request of a peer, and logs the peer's first one. `why` must not contain text that the client
    /// sent.
    pub(crate) fn note(&self, peer: PeerAddress, why: &str) {
        let mut open = self.0.lock();
        let is_counted = open.len() < MAX_PEERS || open.contains_key(&Some(peer));
        let key = is_counted.then_some(peer);
        if let Some(count) = open.get_mut(&key) {
            *count += 1;
            return;
        }
        open.insert(key, 0);
        drop(open);
        tracing::warn!("a request of {peer} was refused: {why}");
        let this = self.clone();
        tokio::spawn(async move { this.log_counts(key).await });
    }

    /// Logs the number of refused requests once a second, until there are none.
    async fn log_counts(self, key: Option<PeerAddress>) {
        loop {
            tokio::time::sleep(WINDOW).await;
            let mut open = self.0.lock();
            let count = open.get_mut(&key).map(std::mem::take).unwrap_or_default();
            if count == 0 {
                open.remove(&key);
                return;
            }
            drop(open);
            let whose = key.map_or_else(|| "other peers".to_owned(), |peer| peer.to_string());
            tracing::warn!("{count} more requests of {whose} were refused in the last second");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_peer_is_logged_once_a_second_and_then_forgotten() {
        let log = RefusalLog::default();
        for number in 0..10_000_u32 {
            log.note(PeerAddress::of(std::net::Ipv4Addr::from(number).into()), "a test");
        }
        let open = || log.0.lock().len();
        assert_eq!(open(), MAX_PEERS + 1);
        assert_eq!(log.0.lock()[&None], 10_000 - 1 - u64::try_from(MAX_PEERS).unwrap());
        tokio::time::sleep(WINDOW + WINDOW / 2).await;
        // A peer whose number was logged is counted for another second.
        assert_eq!(open(), 1);
        tokio::time::sleep(WINDOW).await;
        assert_eq!(open(), 0);
    }
}
