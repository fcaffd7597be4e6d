//! The host's side of the interface `store`.

use wasmtime::component::{HasSelf, Linker, Resource};

use super::effect::{self, Keyspace};
use super::grant::{StoreAsk, StoreUse};
use crate::bindings::portcullis::plugin::store::{self, Entry, Scope, StoreError};
use crate::sandbox::InstanceState;
use portcullis_checked_files::WriteError;

/// Maximum length of a key, in bytes.
const MAX_KEY_BYTES: usize = 512;

/// Links the interface.
pub(super) fn link(linker: &mut Linker<InstanceState>) -> wasmtime::Result<()> {
    store::add_to_linker::<InstanceState, HasSelf<InstanceState>>(linker, |state| state)
}

/// A guest's handle of a keyspace.
type Handle = Resource<Keyspace>;

/// The result for a guest. The outer error is a fault of this program and ends the call.
type LinkResult<T> = wasmtime::Result<Result<T, StoreError>>;

impl store::Host for InstanceState {}

impl store::HostKeyspace for InstanceState {
    async fn open(&mut self, scope: Scope) -> LinkResult<Handle> {
        let caller_only = matches!(scope, Scope::Caller);
        let ask = StoreAsk { key: String::new(), caller_only, act: StoreUse::Open };
        let Ok(permit) = self.gate.pass(ask) else { return Ok(Err(StoreError::Denied)) };
        let prefix = match scope {
            Scope::Plugin => "all/".to_owned(),
            Scope::Caller => {
                let principal = self.call.principal.as_deref().unwrap_or("local");
                format!("{}/", portcullis_checked_files::digest(principal.as_bytes()))
            }
        };
        let keyspace = effect::open(permit, self.places.store.clone(), prefix)?;
        Ok(Ok(self.table.push(keyspace)?))
    }

    async fn get(&mut self, keyspace: Handle, key: String) -> LinkResult<Option<Entry>> {
        let (records, key) = self.table.get(&keyspace)?.of(&key);
        let found = blocking(move || records.read(&key)).await;
        Ok(found.map_err(disk_error).map(|found| {
            found.map(|record| Entry { value: record.value, version: record.version })
        }))
    }

    async fn set(
        &mut self,
        keyspace: Handle,
        key: String,
        value: Vec<u8>,
        expect: Option<u64>,
    ) -> LinkResult<u64> {
        if key.len() > MAX_KEY_BYTES {
            return Ok(Err(StoreError::Other(format!(
                "the key has more than {MAX_KEY_BYTES} bytes"
            ))));
        }
        let keyspace = self.table.get(&keyspace)?;
        let (caller_only, shown) = (keyspace.caller_only, portcullis_sanitize::line(&key, 100));
        let (records, key) = keyspace.of(&key);
        let gate = self.gate.clone();
        let quota = self.gate.grants().store.as_ref().map_or(0, |grant| grant.bytes.get());
        let failed = move |error| match error {
            WriteError::Conflict => StoreError::Conflict,
            WriteError::Full => StoreError::Quota(quota),
            WriteError::Io(error) => disk_error(error),
        };
        let written = blocking(move || {
            let prepared = records.prepare(&key, &value, expect, None).map_err(failed)?;
            let bytes = prepared.bytes_in_all();
            let act = StoreUse::Keep(bytes);
            match gate.pass(StoreAsk { key: shown, caller_only, act }) {
                Ok(permit) => effect::keep(permit, prepared).map_err(failed),
                Err(_) if bytes > quota => Err(StoreError::Quota(quota)),
                Err(_) => Err(StoreError::Denied),
            }
        })
        .await;
        Ok(written)
    }

    async fn delete(&mut self, keyspace: Handle, key: String) -> LinkResult<()> {
        let keyspace = self.table.get(&keyspace)?;
        let shown = portcullis_sanitize::line(&key, 100);
        let ask = StoreAsk { key: shown, caller_only: keyspace.caller_only, act: StoreUse::Delete };
        let Ok(permit) = self.gate.pass(ask) else { return Ok(Err(StoreError::Denied)) };
        let (records, key) = keyspace.of(&key);
        Ok(blocking(move || effect::remove(permit, &records, &key)).await.map_err(disk_error))
    }

    async fn keys(
        &mut self,
        keyspace: Handle,
        prefix: String,
        after: Option<String>,
        limit: u32,
    ) -> LinkResult<Vec<String>> {
        let Keyspace { records, prefix: own_prefix, .. } = self.table.get(&keyspace)?;
        let (records, own_prefix) = (records.clone(), own_prefix.clone());
        let keys = blocking(move || records.keys()).await.map_err(disk_error);
        Ok(keys.map(|keys| {
            let mut keys: Vec<_> = keys
                .iter()
                .filter_map(|key| key.strip_prefix(&own_prefix))
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

/// The error that the plugin gets if the host's disk fails. The error contains no path of the host.
fn disk_error(error: std::io::Error) -> StoreError {
    tracing::warn!("cannot read or write the store of a plugin: {error}");
    StoreError::Other("the host could not read or write the store".into())
}
