//! Caches values. Each function takes a permit.

use std::sync::Arc;
use std::time::Duration;

use portcullis_cache::Cache;

use super::grant::CacheAsk;
use crate::gate::Permit;

/// Caches one value, for at most `ttl`. `None`: without a time limit.
pub async fn keep(
    permit: Permit<CacheAsk>,
    cache: Arc<Cache>,
    key: String,
    value: Vec<u8>,
    ttl: Option<Duration>,
) -> wasmtime::Result<()> {
    tokio::task::spawn_blocking(move || cache.set(&key, value, ttl)).await?;
    Ok(permit.record_done("kept")?)
}
