//! Instances that are prepared in advance. Each is created with nothing granted and serves one round of a call only.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::OwnedSemaphorePermit;
use wasmtime::Store;
use wasmtime::component::Instance;

use super::limited_store::{limit_cpu_time, limited_store};
use super::linked_component::LinkedComponent;
use super::state::{CallState, InstanceState, PluginResources};
use crate::gate::Gate;
use portcullis_engine::{Engine, Limits, Output};

/// An instance that has served no call.
pub struct PreparedInstance {
    /// The store, whose data belong to no call until [`PreparedInstance::begin`].
    pub store: Store<InstanceState>,
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
    pub offer: LinkedComponent,
    /// The limits of the plugin.
    pub limits: Limits,
    /// A gate that refuses everything.
    pub gate: Gate,
    /// The plugin's folders, cache and commands, which are not used before a call.
    pub places: PluginResources,
}

impl InstanceMaker {
    /// Makes an instance. Nothing is granted during the instantiation.
    ///
    /// # Errors
    ///
    /// The component's start function fails, or a limit is reached.
    pub async fn make(self, output: Output) -> wasmtime::Result<PreparedInstance> {
        let parts = CallState::unassigned(self.gate, self.places, output.clone());
        let mut store = limited_store(&self.engine, &self.limits, parts);
        let instance = self.offer.instantiate(&mut store).await?;
        Ok(PreparedInstance { store, instance, output })
    }
}

impl PreparedInstance {
    /// Assigns the instance to a call, with the call's policy and limits.
    pub fn begin(&mut self, limits: &Limits, parts: CallState) {
        self.store.data_mut().begin(limits, parts);
        limit_cpu_time(&mut self.store, limits);
    }
}

/// The prepared instance for a plugin's next call, with its slot among all prepared instances.
pub type NextInstance = Arc<Mutex<Option<(PreparedInstance, OwnedSemaphorePermit)>>>;
