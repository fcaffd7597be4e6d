//! The limits of an instance, such as memory, handles and CPU time.

use wasmtime::{Store, UpdateDeadline};

use super::state::{CallState, InstanceState};
use portcullis_engine::{Engine, LimitHit, Limits};

/// Room for the tasks of the call itself, beside those that count as handles of the guest.
const OWN_TASKS: usize = 16;

/// The store of a fresh instance, with its limits.
pub fn limited_store(engine: &Engine, limits: &Limits, parts: CallState) -> Store<InstanceState> {
    let mut store = Store::new(engine.wasmtime(), InstanceState::new(limits, parts));
    store.limiter(|state| &mut state.limiter);
    store.set_hostcall_fuel(portcullis_engine::size(limits.import_bytes));
    let handles = limits.handles.get() as usize;
    store.set_max_component_handles(handles);
    // In an engine with concurrency, this table has the guest's streams, futures and tasks.
    if let Some(table) = store.concurrent_resource_table() {
        table.set_max_capacity(handles.saturating_add(OWN_TASKS));
    }
    limit_cpu_time(&mut store, limits);
    store
}

/// Stops the guest when it has used `cpu-ms`. The epoch ticks once in a millisecond. A guest that waits does not use
/// up ticks.
pub fn limit_cpu_time(store: &mut Store<InstanceState>, limits: &Limits) {
    let mut ticks_left = limits.cpu_ms.get();
    store.set_epoch_deadline(2);
    store.epoch_deadline_callback(move |_| {
        ticks_left = ticks_left.checked_sub(1).ok_or(LimitHit("cpu-ms"))?;
        Ok(UpdateDeadline::Yield(1))
    });
}
