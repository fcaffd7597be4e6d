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
use crate::gate::{Ask, Denied, Permit};
use crate::sandbox::State;
use portcullis_checked_files::{PreparedWrite, Records, WriteError};

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
    /// The key, as far as it is shown; empty where it is about all of them.
    pub key: String,
    /// Shared by all callers, or one caller's own.
    pub caller_only: bool,
    /// What for.
    pub act: Act,
}

/// What can be done with a keyspace.
#[derive(Debug, Clone, Copy)]
pub enum Act {
    /// Open it, and read what is there.
    Open,
    /// Write a value: how many bytes the plugin would then keep, in all its keyspaces.
    Keep(u64),
    /// Remove a value.
    Delete,
}

impl Ask for StoreAsk {
    type Grant = StoreGrant;
    const CAPABILITY: Capability = Capability::Store;

    fn grant(grants: &Grants) -> Option<&StoreGrant> {
        grants.store.as_ref()
    }

    fn is_within(&self, grant: &StoreGrant) -> bool {
        match self.act {
            Act::Keep(bytes) => bytes <= grant.bytes.get(),
            Act::Open | Act::Delete => true,
        }
    }

    fn subject(&self) -> String {
        let whose = if self.caller_only { "this caller's" } else { "its" };
        match self.act {
            Act::Open => format!("open {whose} store"),
            Act::Keep(bytes) => format!("keep {bytes} bytes in {whose} store, with: {}", self.key),
            Act::Delete => format!("delete from {whose} store: {}", self.key),
        }
    }

    fn remedy(&self, _: Option<&StoreGrant>) -> String {
        match self.act {
            Act::Keep(bytes) => format!("bytes = {bytes}"),
            Act::Open | Act::Delete => "bytes = 1_000_000".into(),
        }
    }
}

/// An open keyspace: a resource of the guest.
pub struct Keyspace {
    /// Those of all the plugin's keyspaces: what it may keep is counted over all of them.
    records: Arc<Records>,
    /// What the keys of this one begin with.
    prefix: String,
    caller_only: bool,
}

/// Opens a keyspace of the plugin's folder, whose keys begin with `prefix`.
fn open(permit: Permit<StoreAsk>, folder: PathBuf, prefix: String) -> Result<Keyspace, Denied> {
    let caller_only = permit.ask().caller_only;
    permit.record_done("opened")?;
    Ok(Keyspace { records: Arc::new(Records::new(folder)), prefix, caller_only })
}

/// Writes a value that was prepared. Answers its new version.
fn keep(permit: Permit<StoreAsk>, prepared: PreparedWrite<'_>) -> Result<u64, WriteError> {
    let version = prepared.commit()?;
    permit.record_done("kept").map_err(std::io::Error::other)?;
    Ok(version)
}

/// Removes a value; an absent one is fine.
fn remove(permit: Permit<StoreAsk>, records: &Records, key: &str) -> std::io::Result<()> {
    records.remove(key)?;
    permit.record_done("removed").map_err(std::io::Error::other)
}

impl Keyspace {
    fn of(&self, key: &str) -> (Arc<Records>, String) {
        (self.records.clone(), format!("{}{key}", self.prefix))
    }
}

/// A guest's handle of one.
type Handle = Resource<Keyspace>;

/// What a guest is answered. The outer error ends its call: a fault of this program.
type Outcome<T> = wasmtime::Result<Result<T, StoreError>>;

impl store::Host for State {}

impl store::HostKeyspace for State {
    async fn open(&mut self, scope: Scope) -> Outcome<Handle> {
        let caller_only = matches!(scope, Scope::Caller);
        let ask = StoreAsk { key: String::new(), caller_only, act: Act::Open };
        let Ok(permit) = self.gate.pass(ask) else { return Ok(Err(StoreError::Denied)) };
        let prefix = match scope {
            Scope::Plugin => "all/".to_owned(),
            Scope::Caller => {
                let principal = self.call.principal.as_deref().unwrap_or("local");
                format!("{}/", portcullis_checked_files::digest(principal.as_bytes()))
            }
        };
        let keyspace = open(permit, self.places.store.clone(), prefix)?;
        Ok(Ok(self.table.push(keyspace)?))
    }

    async fn get(&mut self, keyspace: Handle, key: String) -> Outcome<Option<Entry>> {
        let (records, key) = self.table.get(&keyspace)?.of(&key);
        let found = blocking(move || records.read(&key)).await;
        Ok(found.map_err(other).map(|found| {
            found.map(|record| Entry { value: record.value, version: record.version })
        }))
    }

    async fn set(
        &mut self,
        keyspace: Handle,
        key: String,
        value: Vec<u8>,
        expect: Option<u64>,
    ) -> Outcome<u64> {
        if key.len() > MAX_KEY {
            return Ok(Err(StoreError::Other(format!("a key has at most {MAX_KEY} bytes"))));
        }
        let keyspace = self.table.get(&keyspace)?;
        let (caller_only, shown) = (keyspace.caller_only, portcullis_sanitize::line(&key, 100));
        let (records, key) = keyspace.of(&key);
        let gate = self.gate.clone();
        let written = blocking(move || {
            let prepared = records.prepare(&key, &value, expect, None)?;
            let act = Act::Keep(prepared.bytes_in_all());
            let permit = gate.pass(StoreAsk { key: shown, caller_only, act });
            keep(permit.map_err(|_| WriteError::Full)?, prepared)
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

    async fn delete(&mut self, keyspace: Handle, key: String) -> Outcome<()> {
        let keyspace = self.table.get(&keyspace)?;
        let shown = portcullis_sanitize::line(&key, 100);
        let ask = StoreAsk { key: shown, caller_only: keyspace.caller_only, act: Act::Delete };
        let Ok(permit) = self.gate.pass(ask) else { return Ok(Err(StoreError::Denied)) };
        let (records, key) = keyspace.of(&key);
        Ok(blocking(move || remove(permit, &records, &key)).await.map_err(other))
    }

    async fn keys(
        &mut self,
        keyspace: Handle,
        prefix: String,
        after: Option<String>,
        limit: u32,
    ) -> Outcome<Vec<String>> {
        let Keyspace { records, prefix: own, .. } = self.table.get(&keyspace)?;
        let (records, own) = (records.clone(), own.clone());
        let keys = blocking(move || records.keys()).await.map_err(other);
        Ok(keys.map(|keys| {
            let mut keys: Vec<_> = keys
                .iter()
                .filter_map(|key| key.strip_prefix(&own))
                .filter(|key| key.starts_with(&prefix))
                .filter(|key| after.as_deref().is_none_or(|after| *key > after))
                .map(str::to_owned)
                .collect();
            keys.sort_unstable();
            keys.truncate(limit as usize);
            keys
        }))
    }

    async fn drop(&mut self, keyspace: Handle) -> wasmtime::Result<()> {
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
        for (act, expected) in [
            (Act::Open, true),
            (Act::Delete, true),
            (Act::Keep(100), true),
            (Act::Keep(101), false),
            (Act::Keep(u64::MAX), false),
        ] {
            assert_eq!(
                StoreAsk { key: "k".into(), caller_only: false, act }.is_within(&grant),
                expected,
                "{act:?}"
            );
        }
    }

    #[test]
    fn zero_bytes_are_not_a_grant() {
        assert!(toml::from_str::<StoreGrant>("bytes = 0").is_err());
    }
}
