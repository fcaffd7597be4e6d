//! The host's side of the interface `cache`.

use std::time::Duration;

use wasmtime::component::{HasSelf, Linker, Resource};

use super::effect;
use super::grant::CacheAsk;
use crate::bindings::portcullis::plugin::cache;
use crate::sandbox::InstanceState;

/// Links the interface.
pub(super) fn link(linker: &mut Linker<InstanceState>) -> wasmtime::Result<()> {
    cache::add_to_linker::<InstanceState, HasSelf<InstanceState>>(linker, |state| state)
}

/// The right to compute a value: a resource of the guest.
pub struct Claim(#[expect(dead_code, reason = "held, never read")] portcullis_cache::Claim);

impl cache::Host for InstanceState {
    async fn get(&mut self, key: String) -> wasmtime::Result<Option<Vec<u8>>> {
        let Some(cache) = self.places.cache.clone() else { return Ok(None) };
        Ok(cache.look_up(key).await?.map(|bytes| bytes.to_vec()))
    }

    async fn set(&mut self, key: String, value: Vec<u8>, ttl_ms: u64) -> wasmtime::Result<()> {
        let Some(cache) = self.places.cache.clone() else { return Ok(()) };
        let bytes = (key.len() + value.len()) as u64;
        let ask = CacheAsk { key: portcullis_sanitize::line(&key, 100), bytes };
        let ttl = (ttl_ms > 0).then(|| Duration::from_millis(ttl_ms));
        match self.gate.pass(ask) {
            Ok(permit) => effect::keep(permit, cache, key, value, ttl).await,
            // The plugin gets no error: a cache may drop any value.
            Err(_) => Ok(()),
        }
    }
}

impl cache::HostClaim for InstanceState {
    async fn take(&mut self, key: String) -> wasmtime::Result<Option<Resource<Claim>>> {
        let Some(cache) = self.places.cache.clone() else { return Ok(None) };
        match cache.here().claim(&key).await {
            Some(claim) => Ok(Some(self.table.push(Claim(claim))?)),
            None => Ok(None),
        }
    }

    async fn take_within(
        &mut self,
        key: String,
        ms: u64,
    ) -> wasmtime::Result<Option<Resource<Claim>>> {
        let taken = tokio::time::timeout(Duration::from_millis(ms), self.take(key)).await;
        taken.unwrap_or(Ok(None))
    }

    async fn drop(&mut self, claim: Resource<Claim>) -> wasmtime::Result<()> {
        self.table.delete(claim)?;
        Ok(())
    }
}
