//! Instances that are prepared in advance. Each is created with nothing granted and serves one call only.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::OwnedSemaphorePermit;
use wasmtime::component::Instance;
use wasmtime::{Store, UpdateDeadline};

use super::offer::Offer;
use super::state::{Parts, Places, State};
use crate::gate::Gate;
use portcullis_engine::{Engine, LimitHit, Limits, Output};

/// An instance that has served no call.
pub struct PreparedInstance {
    /// The store. Its data belong to no call until [`PreparedInstance::begin`].
    pub store: Store<State>,
    /// The instance.
    pub instance: Instance,
    /// The receiver of stdout and stderr.
    pub output: Output,
}

/// Makes instances of one plugin.
#[derive(Clone)]
pub struct InstanceMaker {
    /// The engine.
    pub engine: Engine,
    /// The linked component.
    pub offer: Offer,
    /// The limits of each call.
    pub limits: Limits,
    /// A gate that refuses everything.
    pub gate: Gate,
    /// Where the plugin's data are. They are not used before a call.
    pub places: Places,
}

impl InstanceMaker {
    /// Makes an instance. Nothing is granted during the instantiation.
    ///
    /// # Errors
    ///
    /// The component's start function fails, or a limit is reached.
    pub async fn make(self, output: Output) -> wasmtime::Result<PreparedInstance> {
        let parts = Parts::unassigned(self.gate, self.places, output.clone());
        let mut store = store(&self.engine, &self.limits, parts);
        let instance = self.offer.instantiate(&mut store).await?;
        Ok(PreparedInstance { store, instance, output })
    }
}

impl PreparedInstance {
    /// Assigns the instance to a call, with the call's policy and limits.
    pub fn begin(&mut self, limits: &Limits, parts: Parts) {
        self.store.data_mut().begin(limits, parts);
        bound_time(&mut self.store, limits);
    }
}

/// The store of a fresh instance, with its limits.
pub fn store(engine: &Engine, limits: &Limits, parts: Parts) -> Store<State> {
    let mut store = Store::new(engine.wasmtime(), State::new(limits, parts));
    store.limiter(|state| &mut state.limiter);
    store.set_hostcall_fuel(portcullis_engine::size(limits.import_bytes));
    store.set_max_component_handles(limits.handles.get() as usize);
    bound_time(&mut store, limits);
    store
}

/// Limits the CPU time. The epoch ticks once in a millisecond, and only a guest that computes notices it.
fn bound_time(store: &mut Store<State>, limits: &Limits) {
    let mut left = limits.cpu_ms.get();
    store.set_epoch_deadline(2);
    store.epoch_deadline_callback(move |_| {
        left = left.checked_sub(1).ok_or(LimitHit("cpu-ms"))?;
        Ok(UpdateDeadline::Yield(1))
    });
}

/// The prepared instance for a plugin's next call, with its place among all prepared instances.
pub type Next = Arc<Mutex<Option<(PreparedInstance, OwnedSemaphorePermit)>>>;
