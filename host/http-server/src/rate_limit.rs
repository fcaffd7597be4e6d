//! Limits the number of requests per second of each client.

use std::collections::HashMap;
use std::hash::Hash;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

/// Maximum number of clients with a bucket of their own. All other clients share one bucket.
const MAX_CLIENTS: usize = 4096;

/// Shortest time between two removals of unused buckets.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// A token bucket. It fills with time, up to the number of requests of one second.
#[derive(Debug)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Bucket {
    fn take(&mut self, per_second: f64, now: Instant) -> bool {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + since * per_second).min(per_second);
        self.at = now;
        if self.left < 1.0 {
            return false;
        }
        self.left -= 1.0;
        true
    }
}

/// A bucket for each client.
pub(crate) struct RateLimits<K> {
    per_second: f64,
    buckets: HashMap<K, Bucket>,
    /// The bucket of all clients without a bucket of their own.
    rest: Bucket,
    swept: Instant,
}

impl<K: Hash + Eq + Clone> RateLimits<K> {
    pub(crate) fn new(per_second: NonZeroU32) -> Self {
        let per_second = f64::from(per_second.get());
        let swept = Instant::now();
        let rest = Bucket { left: per_second, at: swept };
        Self { per_second, buckets: HashMap::new(), rest, swept }
    }

    /// Counts a request of a client. Returns whether the request is within the limit.
    pub(crate) fn take(&mut self, client: &K, now: Instant) -> bool {
        if let Some(bucket) = self.buckets.get_mut(client) {
            return bucket.take(self.per_second, now);
        }
        if self.buckets.len() >= MAX_CLIENTS
            && now.saturating_duration_since(self.swept) >= SWEEP_INTERVAL
        {
            self.swept = now;
            // A bucket that was not used for a second is full. It can be replaced by a new one.
            self.buckets
                .retain(|_, bucket| now.saturating_duration_since(bucket.at) < SWEEP_INTERVAL);
        }
        if self.buckets.len() >= MAX_CLIENTS {
            return self.rest.take(self.per_second, now);
        }
        let mut bucket = Bucket { left: self.per_second, at: now };
        let taken = bucket.take(self.per_second, now);
        self.buckets.insert(client.clone(), bucket);
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_the_requests_of_one_second_and_refills_with_time() {
        let mut rates = RateLimits::new(NonZeroU32::new(3).unwrap());
        let now = Instant::now();
        assert_eq!((0..5).filter(|_| rates.take(&1, now)).count(), 3);
        let later = now + Duration::from_millis(400);
        assert_eq!((0..5).filter(|_| rates.take(&1, later)).count(), 1);
    }

    #[test]
    fn clients_have_buckets_of_their_own() {
        let mut rates = RateLimits::new(NonZeroU32::new(3).unwrap());
        let now = Instant::now();
        assert_eq!((0..1000).filter(|_| rates.take(&1, now)).count(), 3);
        assert_eq!((0..5).filter(|_| rates.take(&2, now)).count(), 3);
    }

    #[test]
    fn clients_beyond_the_limit_share_one_bucket() {
        let mut rates = RateLimits::new(NonZeroU32::new(3).unwrap());
        let now = Instant::now();
        let admitted = (0..10_000_usize).filter(|client| rates.take(client, now)).count();
        assert_eq!(admitted, MAX_CLIENTS + 3);
        assert_eq!(rates.buckets.len(), MAX_CLIENTS);
        // A client with a bucket of its own keeps it.
        assert!(rates.take(&0, now));
        // Unused buckets are removed.
        assert!(rates.take(&20_000, now + SWEEP_INTERVAL));
        assert_eq!(rates.buckets.len(), 1);
    }
}
