//! Runs plugins: reads a component's imports and manifest, and serves each round of a call in a fresh instance.

mod cache_place;
mod component_info;
mod concurrent;
mod foreign;
mod guest_failure;
mod limited_store;
mod linked_component;
mod outbox;
mod prepared;
mod shared_state;
mod sockets;
mod state;
mod store_place;
mod work;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use portcullis_files::Preopen;
use tokio::sync::{OnceCell, Semaphore};
use wasmtime::component::{Component, Linker};

pub use cache_place::CachePlace;
pub use component_info::{
    ComponentInfo, Import, ManifestError, Missing, RefusedComponent, dispensable, imports_sockets,
    missing,
};
pub use guest_failure::GuestFailure;
use guest_failure::{WALL_LIMIT, error_text};
pub use linked_component::Feature;
use linked_component::LinkedComponent;
pub use outbox::Outbox;
use prepared::{InstanceMaker, NextInstance, PreparedInstance};
pub use shared_state::{Broadcast, DeferredJob, News, SharedState};
pub use state::{
    ALWAYS_LINKED, CallContext, CallNotification, InstanceState, PluginResources, RequestHandle,
};
pub use store_place::StorePlace;
pub use work::{GuestAnswer, Work};

use crate::bindings::Manifest;
use crate::gate::{Gate, Policy};
use portcullis_audit::{Audit, CallIdentity, Trail};
use portcullis_checked_files::{Records, SealKey, WriteError};
use portcullis_cluster_state::ClusterState;
use portcullis_engine::ComponentFile;
use portcullis_engine::code::{CodeCache, PageAligned};
use portcullis_engine::{
    CALLS, Engine, EngineKind, Engines, Guests, LimitHit, Limits, Output, SPARES,
};

/// State that all plugins share, such as the engine, compiled code, the audit, and the threads for guests.
pub struct Sandbox {
    engines: Arc<Engines>,
    codes: CodeCache,
    /// Information about components, and refusals of components, by digest.
    remembered: Records,
    audit: Audit,
    slots: Arc<Semaphore>,
    /// Limits the number of prepared instances.
    spares: Arc<Semaphore>,
    guests: Guests,
    /// The state that several hosts share. `None`: this host shares none.
    cluster: Option<ClusterState>,
}

impl Sandbox {
    /// A sandbox. `largest`: the largest value of each limit among all plugins. An engine is made when it is first
    /// needed. Compiled code and information about components are kept in the folder `cache`, sealed with `key`.
    pub fn new(largest: Limits, cache: PathBuf, key: SealKey, audit: Audit) -> Self {
        Self {
            engines: Arc::new(Engines::new(largest)),
            codes: CodeCache::new(cache.join("compiled"), key.clone()),
            remembered: Records::sealed(cache.join("described"), key),
            audit,
            slots: Arc::new(Semaphore::new(CALLS as usize)),
            spares: Arc::new(Semaphore::new(SPARES as usize)),
            guests: Guests::default(),
            cluster: None,
        }
    }

    /// This sandbox, with the stores and caches of plugins in the state that several hosts share.
    #[must_use]
    pub fn sharing(self, state: Option<ClusterState>) -> Self {
        Self { cluster: state, ..self }
    }

    /// The state that several hosts share, if they do.
    pub fn cluster(&self) -> Option<&ClusterState> {
        self.cluster.as_ref()
    }

    /// The audit that records the calls.
    pub fn audit(&self) -> &Audit {
        &self.audit
    }

    /// The remembered information about a component, or its refusal within these limits. `None`: nothing is remembered.
    pub fn remembered(
        &self,
        digest: &str,
        limits: &Limits,
    ) -> Option<Result<ComponentInfo, RefusedComponent>> {
        let before = self.remembered.read(&component_info::key(digest)).ok().flatten();
        if let Some(info) = before.and_then(|record| ComponentInfo::from_bytes(&record.value)) {
            return Some(Ok(info));
        }
        self.refusal(digest, limits).map(|why| {
            Err(RefusedComponent(format!(
                "{why}\nThis refusal is remembered: after `portcullis plugin approve`, the component is tried again"
            )))
        })
    }

    fn refusal(&self, digest: &str, limits: &Limits) -> Option<String> {
        let record =
            self.remembered.read(&component_info::refusal_key(digest, limits)).ok().flatten()?;
        String::from_utf8(record.value).ok()
    }

    /// Forgets the refusal of a component, so that the component is tried again.
    pub fn forget(&self, digest: &str, limits: &Limits) {
        if let Err(error) = self.remembered.remove(&component_info::refusal_key(digest, limits)) {
            tracing::warn!("cannot forget the refusal of a component: {error}");
        }
    }

    fn remember(&self, key: &str, bytes: &[u8]) -> Result<(), WriteError> {
        self.remembered.write(key, bytes, None, None, |_| true).map(drop)
    }

    fn engine(&self, kind: EngineKind) -> Result<&Engine, GuestFailure> {
        self.engines
            .get(kind)
            .map_err(|error| GuestFailure::Host(format!("cannot start wasmtime: {error:#}")))
    }
}

/// Where a plugin's component comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum Origin {
    /// The component is part of this binary.
    Bundled,
    /// A file.
    File(PathBuf),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bundled => f.write_str("bundled"),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

/// The code of a component.
#[derive(Clone)]
pub enum Code {
    /// Code that was compiled when this binary was built.
    Bundled(&'static PageAligned<[u8]>),
    /// The file of a component, which a child process compiles.
    File(Arc<ComponentFile>),
}

/// The terms under which one plugin runs.
#[derive(Debug, Clone)]
pub struct PluginTerms {
    /// The grants and wants.
    pub policy: Arc<Policy>,
    /// The limits of the plugin.
    pub limits: Limits,
    /// The settings that the plugin can read.
    pub settings: Arc<BTreeMap<String, String>>,
}

/// A plugin: a component with its name, terms and data.
pub struct Plugin {
    /// The operator's name for the plugin.
    pub name: Arc<str>,
    /// The SHA-256 digest of the component.
    pub digest: Arc<str>,
    /// Where the component comes from.
    pub origin: Origin,
    /// The policy, limits and settings.
    pub terms: PluginTerms,
    code: Code,
    places: PluginResources,
    sandbox: Arc<Sandbox>,
    offer: OnceCell<LinkedComponent>,
    next: NextInstance,
    slots: Semaphore,
}

/// One round of a plugin's call: its work, directories, context and time limit.
pub struct Round {
    /// The work.
    pub work: Work,
    /// The directories that the guest gets.
    pub preopens: Vec<Preopen>,
    /// The data and the channels of the call that the guest can use.
    pub context: CallContext,
    /// The time limit of the guest. The wait for a free slot has the same limit, separately.
    pub wall: Duration,
}

impl Plugin {
    /// A plugin of this component. Nothing is read or run yet.
    pub fn new(
        sandbox: Arc<Sandbox>,
        name: Arc<str>,
        digest: Arc<str>,
        origin: Origin,
        code: Code,
        terms: PluginTerms,
        places: PluginResources,
    ) -> Self {
        let slots = Semaphore::new(terms.limits.calls.get() as usize);
        let offer = OnceCell::new();
        let next = NextInstance::default();
        Self { name, digest, origin, terms, code, places, sandbox, offer, next, slots }
    }

    /// Hits and misses of the plugin's cache. `None`: no cache is granted.
    pub fn cache_use(&self) -> Option<(u64, u64)> {
        self.places.cache.as_ref().map(|cache| cache.here().look_ups())
    }

    /// The audit trail of one request to this plugin.
    pub fn trail(&self, request: String, tool: String, principal: Option<String>) -> Trail {
        let subject = CallIdentity {
            request,
            plugin: self.name.clone(),
            digest: self.digest.clone(),
            tool,
            principal,
        };
        Trail::new(self.sandbox.audit.clone(), subject)
    }

    /// Information about the component: remembered, or read now. To return its manifest, the component runs with
    /// nothing granted. A component that is foreign, or imports what the policy does not link, does not run.
    ///
    /// # Errors
    ///
    /// [`RefusedComponent`]: the component cannot be compiled or instantiated, or its manifest is missing or too large.
    /// The refusal is remembered, unless the host failed or the time limit `wall-ms` was reached.
    pub async fn examine(&self) -> Result<ComponentInfo, RefusedComponent> {
        let limits = &self.terms.limits;
        if let Some(remembered) = self.sandbox.remembered(&self.digest, limits) {
            return remembered;
        }
        let found = self.examine_now().await;
        let key = component_info::key(&self.digest);
        match found {
            Ok(info) => {
                let bytes = info.to_bytes().map_err(std::io::Error::other);
                let kept = bytes.map_err(WriteError::from);
                let kept = kept.and_then(|bytes| self.sandbox.remember(&key, &bytes));
                if let Err(error) = kept {
                    tracing::warn!(
                        "cannot store the information about the component of `{}`: {error}",
                        self.name
                    );
                }
                Ok(info)
            }
            Err(failure) => {
                let is_lasting = failure.is_lasting();
                let refused = failure.into_refusal();
                let key = component_info::refusal_key(&self.digest, limits);
                if is_lasting && let Err(error) = self.sandbox.remember(&key, refused.0.as_bytes())
                {
                    tracing::warn!("cannot remember the refusal of `{}`: {error}", self.name);
                }
                Err(refused)
            }
        }
    }

    async fn examine_now(&self) -> Result<ComponentInfo, GuestFailure> {
        let component = self.component().await?;
        let engine = self.sandbox.engine(EngineKind::of(&component))?;
        let imports = component_info::imports(engine, &component);
        let mut info = ComponentInfo { imports, features: Feature::of(&component), manifest: None };
        if !info.features.contains(&Feature::Manifest) {
            let bytes = match &self.code {
                Code::File(file) => file.bytes().map_err(|error| {
                    GuestFailure::Host(portcullis_sanitize::error_chain(&error))
                })?,
                Code::Bundled(_) => Vec::new(),
            };
            info.manifest = Some(foreign::describe(engine, &component, &self.name, &bytes));
        } else if missing(&info.imports, &self.terms.policy).is_empty() {
            info.manifest = Some(self.describe().await?);
        }
        info.check_size().map_err(|error| GuestFailure::Unusable(error.to_string()))?;
        Ok(info)
    }

    async fn component(&self) -> Result<Component, GuestFailure> {
        let component = match &self.code {
            Code::Bundled(code) => {
                CodeCache::bundled(self.sandbox.engine(EngineKind::Synchronous)?, code)
            }
            Code::File(file) => {
                // Another process may have refused the component in the meantime.
                let refused = || self.sandbox.refusal(&self.digest, &self.terms.limits);
                self.sandbox.codes.foreign(&self.sandbox.engines, file, &refused).await
            }
        };
        component.map_err(|error| {
            let text = portcullis_sanitize::error_chain(&error);
            if error.is_refusal() { GuestFailure::Unusable(text) } else { GuestFailure::Host(text) }
        })
    }

    async fn offer(&self) -> Result<&LinkedComponent, GuestFailure> {
        let make = || async {
            let component = self.component().await?;
            let mut linker = Linker::new(component.engine());
            state::link(&mut linker, &self.terms.policy, EngineKind::of(&component))
                .and_then(|()| LinkedComponent::new(linker.instantiate_pre(&component)?))
                .map_err(|error| GuestFailure::Unusable(format!("{error:#}")))
        };
        match self.offer.get() {
            Some(offer) => Ok(offer),
            None => Box::pin(self.offer.get_or_try_init(make)).await,
        }
    }

    /// Asks the component for its manifest, with nothing granted.
    async fn describe(&self) -> Result<Manifest, GuestFailure> {
        let maker = self.maker().await?;
        let (output, running) = (state::output(&self.terms.limits), maker.engine.run());
        let printed = output.clone();
        let work = Box::pin(async move {
            let _running = running;
            let PreparedInstance { mut store, instance, .. } = maker.make(printed).await?;
            maker.offer.describe(&mut store, &instance).await
        });
        self.run_bounded(work, self.terms.limits.wall(), &output).await
    }

    /// Does the work in a fresh instance.
    ///
    /// # Errors
    ///
    /// [`GuestFailure`]: the guest returned no answer, or a JSON-RPC error, or any error after it was told to stop.
    pub async fn run(&self, gate: Gate, job: Round) -> Result<GuestAnswer, GuestFailure> {
        let Round { work, preopens, context, wall } = job;
        let wait = async {
            let own_slot = self.slots.acquire().await.expect("the semaphore is never closed");
            let shared_slot = self
                .sandbox
                .slots
                .clone()
                .acquire_owned()
                .await
                .expect("the semaphore is never closed");
            (own_slot, shared_slot)
        };
        let Ok((own_slot, shared_slot)) = tokio::time::timeout(wall, wait).await else {
            return Err(GuestFailure::TimedOut(WALL_LIMIT));
        };
        let maker = self.maker().await?;
        let (next_maker, running) = (maker.clone(), maker.engine.run());
        let fresh = self.next.lock().take().map(|(fresh, _place)| fresh);
        let output = fresh.as_ref().map(|fresh| fresh.output.clone());
        let output = output.unwrap_or_else(|| state::output(&maker.limits));
        let parts = state::CallState {
            gate,
            context,
            preopens,
            settings: self.terms.settings.clone(),
            places: self.places.clone(),
            output: output.clone(),
            wall,
        };
        let work = Box::pin(async move {
            let begun = maker.begin(fresh, parts).await?;
            // Dropped in this order, so that `shared_slot` is free only after the store is dropped.
            let mut remains = (begun, running, shared_slot);
            let begun = &mut remains.0;
            let answer = maker.offer.work(&mut begun.store, &begun.instance, work).await?;
            Ok((answer, remains))
        });
        let (answer, remains) = self.run_bounded(work, wall, &output).await?;
        self.log_output(&output);
        let is_told_to_stop = remains.0.store.data().is_told_to_stop();
        let delivery = remains.0.store.data().delivery();
        self.clean_up(remains, next_maker);
        drop(own_slot);
        if let Some(delivery) = delivery {
            // What a client knows to have changed, other hosts know, too, also if this one is killed.
            delivery.await;
        }
        if let Some(text) = error_text(&answer).filter(|_| is_told_to_stop) {
            return Err(GuestFailure::GaveUp(text));
        }
        answer.map_err(GuestFailure::Protocol)
    }

    /// Starts a task that drops the instance, and prepares another one if none is ready and there is room for it. The
    /// answer does not wait for the task.
    fn clean_up(&self, remains: impl Send + 'static, maker: InstanceMaker) {
        let (next, sandbox) = (self.next.clone(), self.sandbox.clone());
        tokio::spawn(async move {
            tokio::task::yield_now().await;
            drop(remains);
            let Ok(place) = sandbox.spares.clone().try_acquire_owned() else { return };
            if next.lock().is_none() && !maker.offer.needs_directories_early() {
                let (wall, running) = (maker.limits.wall(), maker.engine.run());
                let output = state::output(&maker.limits);
                let work = Box::pin(async move {
                    let _running = running;
                    maker.make(output).await
                });
                // A failure is not reported here: the next call makes its own instance and reports its own failure.
                if let Ok(Ok(fresh)) = tokio::time::timeout(wall, sandbox.guests.run(work)).await {
                    next.lock().get_or_insert((fresh, place));
                }
            }
        });
    }

    async fn maker(&self) -> Result<InstanceMaker, GuestFailure> {
        let trail = self.trail("prepare".into(), String::new(), None);
        let offer = self.offer().await?;
        Ok(InstanceMaker {
            offer: offer.clone(),
            engine: self.sandbox.engine(offer.engine_kind())?.clone(),
            limits: self.terms.limits.clone(),
            gate: Gate::new(Arc::default(), trail),
            places: self.places.clone(),
        })
    }

    /// Runs a guest within its time limit: first on this thread, and on the threads for guests if it does not end at
    /// once.
    async fn run_bounded<T: Send + 'static>(
        &self,
        work: Pin<Box<impl Future<Output = wasmtime::Result<T>> + Send + 'static>>,
        wall: Duration,
        output: &Output,
    ) -> Result<T, GuestFailure> {
        match tokio::time::timeout(wall, self.sandbox.guests.run(work)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(self.explain(&error, output)),
            Err(_) => {
                self.log_output(output);
                Err(GuestFailure::TimedOut(WALL_LIMIT))
            }
        }
    }

    fn explain(&self, error: &wasmtime::Error, output: &Output) -> GuestFailure {
        let printed = self.log_output(output);
        if let Some(hit) = error.downcast_ref::<LimitHit>() {
            return match hit.0 {
                "cpu-ms" => GuestFailure::TimedOut(hit.0),
                _ => GuestFailure::Limit(*hit),
            };
        }
        if error.is::<wasmtime::component::ResourceTableError>() {
            return GuestFailure::Limit(LimitHit("handles"));
        }
        // The message of a panic says more than the trap that follows it.
        let message = match printed.find("panicked at") {
            Some(from) => printed[from..].lines().take(3).collect::<Vec<_>>().join(" "),
            None => match error.downcast_ref::<wasmtime::Trap>() {
                Some(trap) => trap.to_string(),
                None => error.root_cause().to_string(),
            },
        };
        tracing::debug!("`{}` failed: {error:?}", self.name);
        GuestFailure::Crashed(portcullis_sanitize::line(&message, 500))
    }

    /// Logs the text that the guest printed, and returns it.
    fn log_output(&self, output: &Output) -> String {
        let (printed, dropped) = output.take();
        for line in printed.lines().filter(|line| !line.trim().is_empty()) {
            tracing::info!(target: "plugin", plugin = %self.name, "{line}");
        }
        if dropped > 0 {
            tracing::info!(target: "plugin", plugin = %self.name, "({dropped} more bytes dropped)");
        }
        printed
    }
}
