//! Caches values. Each function takes a permit.

use std::time::Duration;

use super::grant::CacheAsk;
use crate::gate::Permit;
use crate::sandbox::CachePlace;

/// Caches one value, for at most `ttl`. `None`: without a time limit.
pub async fn keep(
    permit: Permit<CacheAsk>,
    cache: CachePlace,
    key: String,
    value: Vec<u8>,
    ttl: Option<Duration>,
) -> wasmtime::Result<()> {
    cache.keep(key, value, ttl).await?;
    Ok(permit.record_done("kept")?)
}
