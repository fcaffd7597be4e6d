//! Caches of plugins: values that may vanish at any time. The values of one owner have a common limit of their size,
//! and the oldest ones make room for new ones.
//!
//! The values of one owner are one hash of the server: its fields are the digests of keys, and one more field holds the
//! size of all values together. A sorted set has the same digests with the times at which they were written.

use std::sync::LazyLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use redis::Script;

use portcullis_checked_files::digest;

use crate::ClusterState;
use crate::error::StateError;
use crate::values::{key_of, milliseconds, number};

/// The kind of the values.
const KIND: &str = "cache";

/// The kind of the sorted sets with the times of the values.
const TIMES: &str = "cache-times";

/// Maximum size of a value in bytes. A larger one would delay other operations on the connection, and is not shared.
const MAX_VALUE: usize = 4 * 1024 * 1024;

/// A cache is removed if nothing was written to it for this time.
const UNUSED: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// How long a reader waits for the server. After that, making the value again is the better way.
const PATIENCE: Duration = Duration::from_secs(1);

/// Writes a value, and removes the oldest ones until the size of all is within the limit.
static WRITE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        r"
local hash, times = KEYS[1], KEYS[2]
local before = redis.call('HSTRLEN', hash, ARGV[1])
redis.call('HSET', hash, ARGV[1], ARGV[2])
local all = redis.call('HINCRBY', hash, 'bytes', #ARGV[2] - before)
local now = redis.call('TIME')
redis.call('ZADD', times, now[1] * 1000000 + now[2], ARGV[1])
while all > tonumber(ARGV[3]) do
  local oldest = redis.call('ZPOPMIN', times)
  if not oldest[1] then break end
  all = redis.call('HINCRBY', hash, 'bytes', -redis.call('HSTRLEN', hash, oldest[1]))
  redis.call('HDEL', hash, oldest[1])
end
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, ARGV[4]) end
return all
",
    )
});

/// The cache of one owner.
#[derive(Clone)]
pub struct ClusterCache {
    state: ClusterState,
    owner: String,
    bytes: u64,
}

/// A value of a cache.
#[derive(Debug, PartialEq, Eq)]
pub struct CachedValue {
    /// The value.
    pub bytes: Vec<u8>,
    /// How much longer the value may be used. `None`: without a time limit.
    pub rest: Option<Duration>,
}

impl ClusterState {
    /// The cache of an owner, such as a plugin. `bytes`: the maximum size of all its values at the server.
    pub fn cache_of(&self, owner: &str, bytes: u64) -> ClusterCache {
        ClusterCache { state: self.clone(), owner: owner.to_owned(), bytes }
    }
}

impl ClusterCache {
    /// The value of a key, if there is one that may still be used.
    ///
    /// # Errors
    ///
    /// [`StateError`], after a second at most.
    pub async fn read(&self, key: &str) -> Result<Option<CachedValue>, StateError> {
        self.state.require_reached()?;
        let field = digest(key.as_bytes());
        let mut get = redis::cmd("HGET");
        get.arg(key_of(KIND, &self.owner)).arg(&field);
        let reading = self.state.0.connection.repeat(get);
        let found: Option<Vec<u8>> = match tokio::time::timeout(PATIENCE, reading).await {
            Ok(found) => found?,
            Err(_) => return Err(self.state.away()),
        };
        let Some(sealed) = found else { return Ok(None) };
        let opened = self.state.0.seal.open(&self.place(&field), &sealed, "a cached value")?;
        let (expires, bytes) =
            opened.split_first_chunk().ok_or(StateError::Foreign { what: "a cached value" })?;
        let rest = match u64::from_be_bytes(*expires) {
            0 => None,
            expires => match Duration::from_millis(expires).checked_sub(since_epoch()) {
                Some(rest) => Some(rest),
                None => return Ok(None),
            },
        };
        Ok(Some(CachedValue { bytes: bytes.to_vec(), rest }))
    }

    /// Keeps a value for at most `ttl`; `None`: without a time limit. A value of more than 4 MiB is not kept.
    ///
    /// # Errors
    ///
    /// [`StateError`].
    pub async fn write(
        &self,
        key: &str,
        value: &[u8],
        ttl: Option<Duration>,
    ) -> Result<(), StateError> {
        if value.len() > MAX_VALUE {
            return Ok(());
        }
        self.state.require_reached()?;
        let end = |ttl| u64::try_from(since_epoch().saturating_add(ttl).as_millis());
        let expires = ttl.map_or(0, |ttl| end(ttl).unwrap_or(u64::MAX));
        let field = digest(key.as_bytes());
        let opened = [&expires.to_be_bytes(), value].concat();
        let sealed = self.state.0.seal.seal(&self.place(&field), &opened)?;
        let keys = [KIND, TIMES].map(|kind| key_of(kind, &self.owner)).to_vec();
        let limits = [self.bytes, milliseconds(UNUSED)].map(number);
        let args = [field.into_bytes(), sealed].into_iter().chain(limits).collect();
        self.state.invoke::<i64>(&WRITE, keys, args).await.map(drop)
    }

    /// What a sealed value is bound to.
    fn place<'a>(&'a self, field: &'a str) -> [&'a [u8]; 3] {
        [KIND.as_bytes(), self.owner.as_bytes(), field.as_bytes()]
    }
}

/// The time since the beginning of 1970. The clocks of the hosts have to agree, as for certificates.
fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
