//! The host's side of the interface `store`.

use wasmtime::component::{HasSelf, Linker, Resource};

use super::effect::{self, Keyspace};
use super::grant::{StoreAsk, StoreUse};
use super::place::{StoreRecords, blocking, disk_error, state_error};
use crate::bindings::portcullis::plugin::store::{self, Entry, Scope, StoreError};
use crate::gate::{Gate, Permit};
use crate::sandbox::InstanceState;
use portcullis_checked_files::{Records, WriteError};
use portcullis_cluster_state::{ClusterRecords, RecordError};

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
        Ok(records.read(key).await)
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
        let write = Write { gate: self.gate.clone(), caller_only, shown, key, value, expect };
        Ok(match records {
            StoreRecords::Files(records) => blocking(move || write.write_to_file(&records)).await,
            StoreRecords::Cluster(records) => write.write_to_cluster(&records).await,
        })
    }

    async fn delete(&mut self, keyspace: Handle, key: String) -> LinkResult<()> {
        let keyspace = self.table.get(&keyspace)?;
        let shown = portcullis_sanitize::line(&key, 100);
        let ask = StoreAsk { key: shown, caller_only: keyspace.caller_only, act: StoreUse::Delete };
        let Ok(permit) = self.gate.pass(ask) else { return Ok(Err(StoreError::Denied)) };
        Ok(match keyspace.of(&key) {
            (StoreRecords::Files(records), key) => {
                let removed = blocking(move || effect::remove(permit, &records, &key)).await;
                removed.map_err(disk_error)
            }
            (StoreRecords::Cluster(records), key) => {
                effect::remove_from_cluster(permit, records, &key).await.map_err(state_error)
            }
        })
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
        Ok(records.keys().await.map(|keys| {
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

/// A value to write.
struct Write {
    gate: Gate,
    caller_only: bool,
    /// The key, shortened for display.
    shown: String,
    key: String,
    value: Vec<u8>,
    /// The version that the record must have now. `None`: any version.
    expect: Option<u64>,
}

impl Write {
    /// The granted size.
    fn quota(&self) -> u64 {
        self.gate.grants().store.as_ref().map_or(0, |grant| grant.bytes.get())
    }

    /// Asks to write a value, after which all records have this size.
    fn ask(self, bytes: u64) -> Result<Permit<StoreAsk>, StoreError> {
        let quota = self.quota();
        let Self { gate, caller_only, shown, .. } = self;
        let act = StoreUse::Keep(bytes);
        gate.pass(StoreAsk { key: shown, caller_only, act })
            .map_err(|_| if bytes > quota { StoreError::Quota(quota) } else { StoreError::Denied })
    }

    /// Writes the value to a file. Returns its new version.
    fn write_to_file(self, records: &Records) -> Result<u64, StoreError> {
        let quota = self.quota();
        let failed = move |error| match error {
            WriteError::Conflict => StoreError::Conflict,
            WriteError::Full => StoreError::Quota(quota),
            WriteError::Io(error) => disk_error(error),
        };
        let prepared = records.prepare(&self.key, &self.value, self.expect, None);
        let prepared = prepared.map_err(failed)?;
        let permit = self.ask(prepared.bytes_in_all())?;
        effect::keep(permit, prepared).map_err(failed)
    }

    /// Writes the value to the cluster's state. Returns its new version.
    async fn write_to_cluster(mut self, records: &ClusterRecords) -> Result<u64, StoreError> {
        let quota = self.quota();
        let failed = move |error| match error {
            RecordError::Conflict => StoreError::Conflict,
            RecordError::Full => StoreError::Quota(quota),
            RecordError::State(error) => state_error(error),
        };
        let value = std::mem::take(&mut self.value);
        let prepared = records.prepare(&self.key, value, self.expect).await.map_err(failed)?;
        let permit = self.ask(prepared.bytes_in_all())?;
        effect::keep_in_cluster(permit, prepared, quota).await.map_err(failed)
    }
}
