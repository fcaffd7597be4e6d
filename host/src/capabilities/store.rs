//! The capability `store`: small durable state of one plugin, one record a file.
//!
//! Writes are versioned, so that two calls (or two processes) that change one key at once notice
//! each other.

use std::fmt;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use wasmtime::component::Resource;

use crate::bindings::portcullis::plugin::store::{self, Entry, Scope, StoreError};
use crate::capabilities::{Capability, Grants};
use crate::gate::Ask;
use crate::records::{Records, WriteError};
use crate::sandbox::State;

/// Longest key, in bytes.
const MAX_KEY: usize = 512;

/// How much one plugin may keep.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoreGrant {
    /// Bytes of all keys and values together.
    pub bytes: NonZeroU64,
}

impl fmt::Display for StoreGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "keep up to {} bytes", self.bytes)
    }
}

/// Adds a want to what is wanted so far.
pub(super) fn want(sum: &mut Option<StoreGrant>, target: &str) -> Result<(), String> {
    let bytes = target.parse().map_err(|_| "the target is a number of bytes above 0")?;
    *sum = Some(StoreGrant { bytes });
    Ok(())
}

/// Use of a keyspace.
#[derive(Debug)]
pub struct StoreAsk {
    /// Shared by all callers, or one caller's own.
    pub caller_only: bool,
    /// Bytes that would be kept after a write; 0 to open the keyspace.
    pub bytes: u64,
}

impl Ask for StoreAsk {
    type Grant = StoreGrant;
    const CAPABILITY: Capability = Capability::Store;

    fn grant(grants: &Grants) -> Option<&StoreGrant> {
        grants.store.as_ref()
    }

    fn is_within(&self, grant: &StoreGrant) -> bool {
        self.bytes <= grant.bytes.get()
    }

    fn subject(&self) -> String {
        let whose = if self.caller_only { "this caller's" } else { "its" };
        match self.bytes {
            0 => format!("open {whose} store"),
            bytes => format!("keep {bytes} bytes in {whose} store"),
        }
    }

    fn remedy(&self) -> String {
        format!("bytes = {}", self.bytes.max(1))
    }
}

/// An open keyspace: a resource of the guest.
pub struct Keyspace {
    records: Arc<Records>,
    caller_only: bool,
}

impl store::Host for State {}

impl store::HostKeyspace for State {
    async fn open(
        &mut self,
        scope: Scope,
    ) -> wasmtime::Result<Result<Resource<Keyspace>, StoreError>> {
        let caller_only = matches!(scope, Scope::Caller);
        if self.gate.pass(StoreAsk { caller_only, bytes: 0 }).is_err() {
            return Ok(Err(StoreError::Denied));
        }
        let folder: PathBuf = match scope {
            Scope::Plugin => self.places.store.join("all-callers"),
            Scope::Caller => {
                let principal = self.call.principal.as_deref().unwrap_or("local");
                self.places.store.join("callers").join(crate::records::file_name(principal))
            }
        };
        let keyspace = Keyspace { records: Arc::new(Records::new(folder)), caller_only };
        Ok(Ok(self.table.push(keyspace)?))
    }

    async fn get(
        &mut self,
        keyspace: Resource<Keyspace>,
        key: String,
    ) -> wasmtime::Result<Result<Option<Entry>, StoreError>> {
        let records = self.table.get(&keyspace)?.records.clone();
        let found = blocking(move || records.read(&key)).await;
        Ok(found.map_err(other).map(|found| {
            found.map(|record| Entry { value: record.value, version: record.version })
        }))
    }

    async fn set(
        &mut self,
        keyspace: Resource<Keyspace>,
        key: String,
        value: Vec<u8>,
        expect: Option<u64>,
    ) -> wasmtime::Result<Result<u64, StoreError>> {
        let Keyspace { records, caller_only } = self.table.get(&keyspace)?;
        let (records, caller_only) = (records.clone(), *caller_only);
        if key.len() > MAX_KEY {
            return Ok(Err(StoreError::Other(format!("a key has at most {MAX_KEY} bytes"))));
        }
        let gate = self.gate.clone();
        let written = blocking(move || {
            let allowed = |bytes| gate.pass(StoreAsk { caller_only, bytes }).is_ok();
            records.write(&key, &value, expect, None, allowed)
        })
        .await;
        Ok(written.map_err(|error| match error {
            WriteError::Conflict => StoreError::Conflict,
            WriteError::Full => StoreError::Quota(
                self.gate.grants().store.as_ref().map_or(0, |grant| grant.bytes.get()),
            ),
            WriteError::Io(error) => other(error),
        }))
    }

    async fn delete(
        &mut self,
        keyspace: Resource<Keyspace>,
        key: String,
    ) -> wasmtime::Result<Result<(), StoreError>> {
        let records = self.table.get(&keyspace)?.records.clone();
        Ok(blocking(move || records.remove(&key)).await.map_err(other))
    }

    async fn keys(
        &mut self,
        keyspace: Resource<Keyspace>,
        prefix: String,
        after: Option<String>,
        limit: u32,
    ) -> wasmtime::Result<Result<Vec<String>, StoreError>> {
        let records = self.table.get(&keyspace)?.records.clone();
        let keys = blocking(move || records.keys()).await.map_err(other);
        Ok(keys.map(|mut keys| {
            keys.sort_unstable();
            keys.into_iter()
                .filter(|key| key.starts_with(&prefix))
                .filter(|key| after.as_ref().is_none_or(|after| key > after))
                .take(limit as usize)
                .collect()
        }))
    }

    async fn drop(&mut self, keyspace: Resource<Keyspace>) -> wasmtime::Result<()> {
        self.table.delete(keyspace)?;
        Ok(())
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.expect("reading and writing records does not panic")
}

/// What the plugin may read of a fault of the host's disk: no path of the host.
fn other(error: std::io::Error) -> StoreError {
    tracing::warn!("store: {error}");
    StoreError::Other("the host could not read or write its store".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn within_is_up_to_the_granted_bytes() {
        let grant: StoreGrant = toml::from_str("bytes = 100").unwrap();
        for (bytes, expected) in [(0, true), (100, true), (101, false), (u64::MAX, false)] {
            assert_eq!(StoreAsk { caller_only: false, bytes }.is_within(&grant), expected);
        }
    }

    #[test]
    fn zero_bytes_are_not_a_grant() {
        assert!(toml::from_str::<StoreGrant>("bytes = 0").is_err());
    }
}
