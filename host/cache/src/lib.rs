//! A cache of derived data with a limited size, in memory and, if a folder is given, also on disk. A [`Claim`] lets one
//! task compute a value while others wait.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use portcullis_checked_files::Records;
use quick_cache::sync::Cache as Memory;

/// A cache of one plugin: values by key, each of which can be computed again.
pub struct Cache {
    /// Allocated at the first use, because most plugins are never called.
    memory: OnceLock<Memory<String, Value, ByBytes>>,
    bytes: u64,
    disk: Option<Records>,
    /// The keys whose values are being computed.
    claims: Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>,
    hits: AtomicU64,
    misses: AtomicU64,
}

#[derive(Clone)]
struct Value {
    bytes: Arc<[u8]>,
    expires: Option<SystemTime>,
}

impl Value {
    fn is_current(&self) -> bool {
        self.expires.is_none_or(|expires| expires > SystemTime::now())
    }
}

#[derive(Clone)]
struct ByBytes;

impl quick_cache::Weighter<String, Value> for ByBytes {
    fn weight(&self, key: &String, value: &Value) -> u64 {
        (key.len() + value.bytes.len()) as u64
    }
}

/// The right to compute the value of a key. Other tasks that claim the key wait until this claim is dropped.
pub struct Claim(
    #[expect(dead_code, reason = "held, never read")] tokio::sync::OwnedMutexGuard<()>,
);

impl Cache {
    /// A cache of at most `bytes` bytes in memory and, if a folder is given, at most `bytes` bytes on disk.
    pub fn new(bytes: u64, folder: Option<PathBuf>) -> Self {
        Self {
            memory: OnceLock::new(),
            bytes,
            disk: folder.map(Records::new),
            claims: Mutex::default(),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    fn memory(&self) -> &Memory<String, Value, ByBytes> {
        self.memory.get_or_init(|| {
            // The expected number of values is only a hint for the initial size of the table.
            let expected = usize::try_from(self.bytes / 16_384).unwrap_or(usize::MAX);
            Memory::with_weighter(expected.clamp(16, 1024), self.bytes, ByBytes)
        })
    }

    /// The value of a key, if there is one. Reads the disk, and blocks, if the memory does not have the value.
    pub fn get(&self, key: &str) -> Option<Arc<[u8]>> {
        let found = self.find(key);
        self.count_look_up(found.is_some());
        found
    }

    /// Counts a look-up for [`Self::look_ups`]. [`Self::get`] does so itself.
    pub fn count_look_up(&self, found: bool) {
        let count = if found { &self.hits } else { &self.misses };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of look-ups that found a value, and the number of look-ups that found none.
    pub fn look_ups(&self) -> (u64, u64) {
        (self.hits.load(Ordering::Relaxed), self.misses.load(Ordering::Relaxed))
    }

    /// Like [`Self::get`], but the look-up is not counted.
    pub fn find(&self, key: &str) -> Option<Arc<[u8]>> {
        if let Some(value) = self.memory().get(key) {
            if value.is_current() {
                return Some(value.bytes);
            }
            self.memory().remove(key);
        }
        let records = self.disk.as_ref()?;
        let record = records
            .read(key)
            .inspect_err(|error| tracing::warn!("cache: cannot read a record: {error}"))
            .ok()??;
        let value = Value { bytes: record.value.into(), expires: record.expires };
        self.memory().insert(key.to_owned(), value.clone());
        Some(value.bytes)
    }

    /// Keeps a value for at most `ttl`; `None`: without a time limit. Writes to the disk, and blocks, if the cache has
    /// a folder. An error of the disk is only logged.
    pub fn set(&self, key: &str, bytes: Vec<u8>, ttl: Option<Duration>) {
        let expires = ttl.and_then(|ttl| SystemTime::now().checked_add(ttl));
        if let Some(records) = &self.disk {
            let kept = records
                .write(key, &bytes, None, expires, |_| true)
                .and_then(|_| Ok(records.shrink(self.bytes)?));
            if let Err(error) = kept {
                tracing::warn!("cache: cannot write a record: {error}");
            }
        }
        self.memory().insert(key.to_owned(), Value { bytes: bytes.into(), expires });
    }

    /// The right to compute the value of this key. Waits until no other task has this right. `None`: the memory has a
    /// current value now. The disk is not looked at: call [`Self::get`] first.
    pub async fn claim(&self, key: &str) -> Option<Claim> {
        let claim = {
            let mut claims = self.claims.lock();
            claims.retain(|_, claim| claim.strong_count() > 0);
            match claims.get(key).and_then(Weak::upgrade) {
                Some(claim) => claim,
                None => {
                    let claim = Arc::default();
                    claims.insert(key.to_owned(), Arc::downgrade(&claim));
                    claim
                }
            }
        };
        let guard = claim.lock_owned().await;
        if self.memory().get(key).is_some_and(|value| value.is_current()) {
            return None;
        }
        Some(Claim(guard))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_end_with_their_time_and_the_size_stays_within_the_limit() {
        let cache = Cache::new(10_000, None);
        cache.set("short", vec![1], Some(Duration::ZERO));
        assert!(cache.get("short").is_none());
        for n in 0..100 {
            cache.set(&n.to_string(), vec![0; 1000], None);
        }
        let kept = (0..100).filter(|n| cache.get(&n.to_string()).is_some()).count();
        assert!((1..=10).contains(&kept), "{kept}");
    }

    #[test]
    fn the_disk_outlives_the_memory() {
        let folder = tempfile::tempdir().unwrap();
        let cache = || Cache::new(10_000, Some(folder.path().to_owned()));
        cache().set("a", vec![1, 2], None);
        assert_eq!(cache().get("a").as_deref(), Some([1, 2].as_slice()));
    }

    #[tokio::test]
    async fn one_task_computes_a_value_and_the_others_wait() {
        let cache = Arc::new(Cache::new(10_000, None));
        let first = cache.claim("a").await.expect("nobody else is there");
        let second = tokio::spawn({
            let cache = cache.clone();
            async move { cache.claim("a").await.is_none() }
        });
        tokio::task::yield_now().await;
        assert!(!second.is_finished());
        cache.set("a", vec![1], None);
        drop(first);
        assert!(second.await.unwrap(), "the value was made meanwhile");
        assert!(cache.claim("b").await.is_some(), "another key has a claim of its own");
    }
}
