//! Instances that are prepared in advance: created with nothing granted, for one call alone.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::OwnedSemaphorePermit;
use wasmtime::component::Instance;
use wasmtime::{Store, UpdateDeadline};

use super::offer::Offer;
use super::state::{Parts, Places, State};
use crate::gate::Gate;
use portcullis_engine::{Engine, LimitHit, Limits, Output};

/// An instance that has served nobody.
pub struct PreparedInstance {
    /// Its data: of no call, until [`PreparedInstance::begin`].
    pub store: Store<State>,
    /// What runs in it.
    pub instance: Instance,
    /// Where its output goes.
    pub output: Output,
}

/// Makes instances of one plugin.
#[derive(Clone)]
pub struct InstanceMaker {
    /// What they run in.
    pub engine: Engine,
    /// What they are instances of.
    pub offer: Offer,
    /// What each of them may use up.
    pub limits: Limits,
    /// A gate that lets nothing through.
    pub gate: Gate,
    /// Where the plugin's data are: not for use before a call.
    pub places: Places,
}

impl InstanceMaker {
    /// Makes an instance. While it is instantiated, nothing is granted to it.
    ///
    /// # Errors
    ///
    /// Where the component's own beginning fails, or a limit is reached.
    pub async fn make(self, output: Output) -> wasmtime::Result<PreparedInstance> {
        let parts = Parts::of_nobody(self.gate, self.places, output.clone());
        let mut store = store(&self.engine, &self.limits, parts);
        let instance = self.offer.instantiate(&mut store).await?;
        Ok(PreparedInstance { store, instance, output })
    }
}

impl PreparedInstance {
    /// Makes it the instance of a call: what that may do and use up.
    pub fn begin(&mut self, limits: &Limits, parts: Parts) {
        self.store.data_mut().begin(limits, parts);
        bound_time(&mut self.store, limits);
    }
}

/// The data of a fresh instance, within its limits.
pub fn store(engine: &Engine, limits: &Limits, parts: Parts) -> Store<State> {
    let mut store = Store::new(engine.wasmtime(), State::new(limits, parts));
    store.limiter(|state| &mut state.limiter);
    store.set_hostcall_fuel(portcullis_engine::size(limits.import_bytes));
    store.set_max_component_handles(limits.handles.get() as usize);
    bound_time(&mut store, limits);
    store
}

/// A tick is a millisecond, and only guests that compute notice it.
fn bound_time(store: &mut Store<State>, limits: &Limits) {
    let mut left = limits.cpu_ms.get();
    store.set_epoch_deadline(2);
    store.epoch_deadline_callback(move |_| {
        left = left.checked_sub(1).ok_or(LimitHit("cpu-ms"))?;
        Ok(UpdateDeadline::Yield(1))
    });
}

/// The instance that waits for a plugin's next call, with its place among those that wait.
pub type Next = Arc<Mutex<Option<(PreparedInstance, OwnedSemaphorePermit)>>>;
