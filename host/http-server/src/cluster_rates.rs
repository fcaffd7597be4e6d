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
    taken: Mutex<HashMap<Principal, Lease>>,
}

/// The tokens that this host took for one caller.
#[derive(Clone, Copy)]
struct Lease {
    left: u32,
    /// Until when the tokens may be used or, if none were left, until when the bucket is not asked again.
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
        let now = Instant::now();
        if let Some(lease) = self.taken.lock().get_mut(caller).filter(|lease| now < lease.until) {
            let is_within = lease.left > 0;
            lease.left = lease.left.saturating_sub(1);
            // The last token was used: the next request asks for more.
            if is_within && lease.left == 0 {
                lease.until = now;
            }
            return is_within;
        }
        let name = HEXLOWER.encode(&Sha256::digest(caller.to_string().as_bytes()));
        let batch = self.batch();
        match (self.rates.0)(name, self.per_second, batch).await {
            None => true,
            Some(0) => {
                // The time in which the bucket gets one token.
                let pause = Duration::from_secs(1) / self.per_second;
                self.keep(caller, Lease { left: 0, until: now + pause });
                false
            }
            Some(taken) => {
                if taken > 1 {
                    self.keep(caller, Lease { left: taken - 1, until: now + LEASE_TIME });
                }
                true
            }
        }
    }

    /// Keeps the tokens of a caller. Without a free place, they are lost.
    fn keep(&self, caller: &Principal, lease: Lease) {
        let now = Instant::now();
        let mut taken = self.taken.lock();
        if taken.len() >= MAX_CALLERS {
            taken.retain(|_, lease| now < lease.until);
        }
        if taken.len() < MAX_CALLERS || taken.contains_key(caller) {
            taken.insert(caller.clone(), lease);
        }
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

    #[tokio::test]
    async fn without_the_bucket_the_limit_of_the_host_alone_counts() {
        let away = ClusterRates::new(|_, _, _| std::future::ready(None));
        let leases = Leases::new(away, NonZeroU32::new(1).unwrap());
        assert_eq!(admitted(&leases, 5).await, 5);
    }
}
