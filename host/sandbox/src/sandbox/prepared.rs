//! Instances that are prepared in advance. Each is created with nothing granted and serves one round of a call only. A
//! component that asks for its directories when an instance is made has none prepared: its instances are made in the call,
//! with what is granted to it.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::OwnedSemaphorePermit;
use wasmtime::Store;
use wasmtime::component::Instance;

use super::limited_store::{limit_cpu_time, limited_store};
use super::linked_component::LinkedComponent;
use super::state::{CallState, InstanceState, PluginResources};
use crate::gate::Gate;
use portcullis_engine::{Engine, EngineKind, Limits, Output};

/// An instance that has served no call.
pub struct PreparedInstance {
    /// The store, whose data belong to no call until [`InstanceMaker::begin`].
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
    pub async fn make(&self, output: Output) -> wasmtime::Result<PreparedInstance> {
        let (gate, places) = (self.gate.clone(), self.places.clone());
        let parts = CallState::unassigned(gate, places, output.clone());
        let mut store = limited_store(&self.engine, &self.limits, parts);
        let instance = self.offer.instantiate(&mut store).await?;
        Ok(PreparedInstance { store, instance, output })
    }

    /// The instance of a call, with the call's policy and limits: the prepared one, or one that is made now.
    ///
    /// # Errors
    ///
    /// The component's start function fails, or a limit is reached.
    pub async fn begin(
        &self,
        prepared: Option<PreparedInstance>,
        parts: CallState,
    ) -> wasmtime::Result<PreparedInstance> {
        let mut prepared = prepared;
        if prepared.is_none() && !self.offer.needs_directories_early() {
            prepared = Some(self.make(parts.output.clone()).await?);
        }
        // The first instance that was made may have shown that it is of no use.
        let prepared = prepared.filter(|_| !self.offer.needs_directories_early());
        let mut begun = match prepared {
            Some(mut prepared) => {
                prepared.store.data_mut().begin(&self.limits, parts);
                limit_cpu_time(&mut prepared.store, &self.limits);
                prepared
            }
            None => self.make_for(parts).await?,
        };
        if self.offer.engine_kind() == EngineKind::Concurrent {
            begun.store.data_mut().files.leave_client_thread().await;
        }
        Ok(begun)
    }

    /// Makes an instance for a call. What is granted to the call is granted during the instantiation, too.
    async fn make_for(&self, parts: CallState) -> wasmtime::Result<PreparedInstance> {
        let output = parts.output.clone();
        let mut store = limited_store(&self.engine, &self.limits, parts);
        if self.offer.engine_kind() == EngineKind::Concurrent {
            store.data_mut().files.leave_client_thread().await;
        }
        let instance = self.offer.instantiate(&mut store).await?;
        Ok(PreparedInstance { store, instance, output })
    }
}

/// The prepared instance for a plugin's next call, with its slot among all prepared instances.
pub type NextInstance = Arc<Mutex<Option<(PreparedInstance, OwnedSemaphorePermit)>>>;
