//! The capability `cache`: derived data of one plugin that the host may drop at any time.

use std::fmt;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use portcullis_cache::{Cache, Flight};
use serde::Deserialize;
use wasmtime::component::Resource;

use crate::bindings::portcullis::plugin::cache;
use crate::capabilities::{Capability, Grants};
use crate::gate::{Ask, Permit};
use crate::sandbox::State;

/// How much one plugin may have cached.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheGrant {
    /// Bytes of all keys and values together.
    pub bytes: NonZeroU64,
    /// Whether it is kept on disk from one start of the host to the next.
    #[serde(default)]
    pub disk: bool,
}

impl fmt::Display for CacheGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.disk { "on disk" } else { "in memory" };
        write!(f, "cache up to {} bytes {place}", self.bytes)
    }
}

/// Adds a want to what is wanted so far.
pub(super) fn want(sum: &mut Option<CacheGrant>, target: &str) -> Result<(), String> {
    let bytes = target.parse().map_err(|_| "the target is a number of bytes above 0")?;
    *sum = Some(CacheGrant { bytes, disk: false });
    Ok(())
}

/// Caching one value.
#[derive(Debug)]
pub struct CacheAsk {
    /// The key, as far as it is shown.
    pub key: String,
    /// Size of key and value.
    pub bytes: u64,
}

impl Ask for CacheAsk {
    type Grant = CacheGrant;
    const CAPABILITY: Capability = Capability::Cache;

    fn grant(grants: &Grants) -> Option<&CacheGrant> {
        grants.cache.as_ref()
    }

    /// A value larger than the whole cache is refused; that all of them together keep to the
    /// granted size is the cache's own work, which drops the oldest.
    fn is_within(&self, grant: &CacheGrant) -> bool {
        self.bytes <= grant.bytes.get()
    }

    fn subject(&self) -> String {
        format!("cache {} bytes: {}", self.bytes, self.key)
    }

    fn remedy(&self, granted: Option<&CacheGrant>) -> String {
        let disk = if granted.is_some_and(|granted| granted.disk) { "\ndisk = true" } else { "" };
        format!("bytes = {}{disk}", self.bytes.max(1))
    }
}

/// Keeps one value, for `ttl` where that is given.
async fn keep(
    permit: Permit<CacheAsk>,
    cache: Arc<Cache>,
    key: String,
    value: Vec<u8>,
    ttl: Option<Duration>,
) -> wasmtime::Result<()> {
    tokio::task::spawn_blocking(move || cache.set(&key, value, ttl)).await?;
    Ok(permit.record_done("kept")?)
}

/// The right to make a value: a resource of the guest.
pub struct Claim(#[expect(dead_code, reason = "held, never read")] Flight);

impl cache::Host for State {
    async fn get(&mut self, key: String) -> wasmtime::Result<Option<Vec<u8>>> {
        let Some(cache) = self.places.cache.clone() else { return Ok(None) };
        let found = tokio::task::spawn_blocking(move || cache.get(&key)).await?;
        Ok(found.map(|bytes| bytes.to_vec()))
    }

    async fn set(&mut self, key: String, value: Vec<u8>, ttl_ms: u64) -> wasmtime::Result<()> {
        let Some(cache) = self.places.cache.clone() else { return Ok(()) };
        let bytes = (key.len() + value.len()) as u64;
        let ask = CacheAsk { key: portcullis_sanitize::line(&key, 100), bytes };
        let ttl = (ttl_ms > 0).then(|| Duration::from_millis(ttl_ms));
        match self.gate.pass(ask) {
            Ok(permit) => keep(permit, cache, key, value, ttl).await,
            // The plugin is not told: a cache may drop any value.
            Err(_) => Ok(()),
        }
    }
}

impl cache::HostClaim for State {
    async fn take(&mut self, key: String) -> wasmtime::Result<Option<Resource<Claim>>> {
        let Some(cache) = self.places.cache.clone() else { return Ok(None) };
        match cache.claim(&key).await {
            Some(flight) => Ok(Some(self.table.push(Claim(flight))?)),
            None => Ok(None),
        }
    }

    async fn drop(&mut self, claim: Resource<Claim>) -> wasmtime::Result<()> {
        self.table.delete(claim)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_larger_than_the_cache_is_not_within() {
        let grant: CacheGrant = toml::from_str("bytes = 100").unwrap();
        for (bytes, expected) in [(0, true), (100, true), (101, false)] {
            assert_eq!(CacheAsk { key: "k".into(), bytes }.is_within(&grant), expected);
        }
        assert!(!grant.disk, "memory unless the operator says disk");
    }
}
