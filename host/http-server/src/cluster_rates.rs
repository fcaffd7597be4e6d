//! Counts the requests of authenticated callers at several hosts together.
//!
//! A host takes several tokens at once from the bucket of a caller that all hosts share, so that only some requests ask
//! for it. Requests of callers that are not authenticated count at their host alone: behind a proxy, they have the
//! address of the proxy.

use std::collections::HashMap;
use std::fmt;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use data_encoding::HEXLOWER;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use crate::principal::Principal;

/// The bucket holds this many times the tokens that a host takes at once.
const PARTS: u32 = 50;

/// The time after which a host does not use the tokens any more that it took.
const LEASE_TIME: Duration = Duration::from_millis(200);

/// Maximum number of callers whose tokens a host keeps.
const MAX_CALLERS: usize = 4096;

/// Takes tokens from the buckets that several hosts share.
///
/// The function gets the name of a bucket, the number of tokens that the bucket holds and that it gets in one second, and
/// how many tokens are wanted. It returns how many of these were left, or `None` if nobody knows now: the requests then
/// count at this host alone. The name is a digest of the caller.
#[derive(Clone)]
pub struct ClusterRates(Arc<TakeFn>);

type TakeFn =
    dyn Fn(String, u32, u32) -> Pin<Box<dyn Future<Output = Option<u32>> + Send>> + Send + Sync;

impl ClusterRates {
    /// Takes tokens with `take`.
    pub fn new<F, R>(take: F) -> Self
    where
        F: Fn(String, u32, u32) -> R + Send + Sync + 'static,
        R: Future<Output = Option<u32>> + Send + 'static,
    {
        Self(Arc::new(move |name, per_second, wanted| Box::pin(take(name, per_second, wanted))))
    }
}

impl fmt::Debug for ClusterRates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClusterRates(..)")
    }
}

/// The tokens that this host took.
pub(crate) struct Leases {
    rates: ClusterRates,
    per_second: u32,
    /// The lease of each caller. While a request asks for tokens, it holds the lock, and other requests of the caller wait
    /// for what it gets: each of them would take as many, and most would be lost.
    taken: Mutex<HashMap<Principal, Arc<tokio::sync::Mutex<Lease>>>>,
}

/// The tokens that this host took for one caller.
struct Lease {
    /// The number of tokens. `None`: nobody knows, and requests count at this host alone.
    left: Option<u32>,
    /// Until when the tokens may be used or, if there are none, until when the bucket is not asked again.
    until: Instant,
}

impl Leases {
    pub(crate) fn new(rates: ClusterRates, per_second: NonZeroU32) -> Self {
        Self { rates, per_second: per_second.get(), taken: Mutex::default() }
    }

    /// The number of tokens to take at once.
    fn batch(&self) -> u32 {
        (self.per_second / PARTS).max(1)
    }

    /// Counts a request of a caller. Returns whether the request is within the limit.
    pub(crate) async fn take(&self, caller: &Principal) -> bool {
        let lease = self.lease(caller);
        let mut lease = lease.lock().await;
        let now = Instant::now();
        if now < lease.until {
            let Some(left) = lease.left else { return true };
            lease.left = Some(left.saturating_sub(1));
            // The last token was used: the next request asks for more.
            if left == 1 {
                lease.until = now;
            }
            return left > 0;
        }
        let name = HEXLOWER.encode(&Sha256::digest(caller.to_string().as_bytes()));
        let taken = (self.rates.0)(name, self.per_second, self.batch()).await;
        let now = Instant::now();
        // Of one token, nothing is left. If there was none, the bucket gets one in this time.
        let kept = match taken {
            Some(0) => Duration::from_secs(1) / self.per_second,
            Some(1) => Duration::ZERO,
            Some(_) | None => LEASE_TIME,
        };
        *lease = Lease { left: taken.map(|taken| taken.saturating_sub(1)), until: now + kept };
        taken != Some(0)
    }

    /// The lease of a caller.
    fn lease(&self, caller: &Principal) -> Arc<tokio::sync::Mutex<Lease>> {
        let mut taken = self.taken.lock();
        if let Some(lease) = taken.get(caller) {
            return lease.clone();
        }
        let now = Instant::now();
        let lease = Arc::new(tokio::sync::Mutex::new(Lease { left: None, until: now }));
        if taken.len() >= MAX_CALLERS {
            taken.retain(|_, lease| match lease.try_lock() {
                Ok(lease) => now < lease.until,
                Err(_) => true,
            });
        }
        // Without a free place, the tokens are lost.
        if taken.len() < MAX_CALLERS {
            taken.insert(caller.clone(), lease.clone());
        }
        lease
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(name: &str) -> Principal {
        Principal::Subject { issuer: "i".into(), subject: name.into() }
    }

    /// Leases of a host, from a bucket of these tokens that never fills, and the number of times that it was asked.
    fn leases(tokens: u32, per_second: u32) -> (Leases, Arc<Mutex<(u32, u32)>>) {
        let state = Arc::new(Mutex::new((tokens, 0)));
        let bucket = state.clone();
        let rates = ClusterRates::new(move |_, _, wanted| {
            let mut bucket = bucket.lock();
            let granted = wanted.min(bucket.0);
            *bucket = (bucket.0 - granted, bucket.1 + 1);
            std::future::ready(Some(granted))
        });
        (Leases::new(rates, NonZeroU32::new(per_second).unwrap()), state)
    }

    async fn admitted(leases: &Leases, requests: u32) -> u32 {
        let mut admitted = 0;
        for _ in 0..requests {
            admitted += u32::from(leases.take(&caller("a")).await);
        }
        admitted
    }

    #[tokio::test]
    async fn a_host_admits_what_it_took_and_asks_for_some_requests_only() {
        let (leases, state) = leases(100, 500);
        assert_eq!(admitted(&leases, 100).await, 100);
        assert_eq!(state.lock().1, 10, "ten tokens at a time");
        assert_eq!(admitted(&leases, 20).await, 0);
    }

    #[tokio::test]
    async fn a_refused_caller_does_not_have_the_bucket_asked_each_time() {
        let (leases, state) = leases(0, 1);
        assert_eq!(admitted(&leases, 50).await, 0);
        assert_eq!(state.lock().1, 1);
    }

    #[tokio::test]
    async fn tokens_are_not_used_later() {
        let (leases, state) = leases(20, 500);
        assert_eq!(admitted(&leases, 1).await, 1);
        tokio::time::sleep(LEASE_TIME + Duration::from_millis(50)).await;
        assert_eq!(admitted(&leases, 20).await, 10, "nine of the first ten were not used in time");
        assert_eq!(state.lock().0, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn requests_at_once_take_no_more_than_one_after_the_other() {
        let state = Arc::new(Mutex::new((100, 0)));
        let bucket = state.clone();
        let rates = ClusterRates::new(move |_, _, wanted| {
            let bucket = bucket.clone();
            async move {
                tokio::time::sleep(Duration::from_millis(2)).await;
                let mut bucket = bucket.lock();
                let granted = wanted.min(bucket.0);
                *bucket = (bucket.0 - granted, bucket.1 + 1);
                Some(granted)
            }
        });
        let leases = Leases::new(rates, NonZeroU32::new(500).unwrap());
        let caller = caller("a");
        let requests = (0..30).map(|_| leases.take(&caller));
        assert!(futures_util::future::join_all(requests).await.into_iter().all(|one| one));
        assert_eq!(*state.lock(), (70, 3), "ten tokens at a time");
    }

    #[tokio::test]
    async fn without_the_bucket_the_limit_of_the_host_alone_counts() {
        let away = ClusterRates::new(|_, _, _| std::future::ready(None));
        let leases = Leases::new(away, NonZeroU32::new(1).unwrap());
        assert_eq!(admitted(&leases, 5).await, 5);
    }
}
