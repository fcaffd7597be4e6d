//! A plugin: load, describe, call.

mod component_info;
mod foreign;
mod offer;
mod prepared;
mod shared_state;
mod sockets;
mod state;
mod work;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use portcullis_files::Preopen;
use tokio::sync::{OnceCell, Semaphore};
use wasmtime::component::{Component, Linker};

pub use component_info::{ComponentInfo, Import, Missing, dispensable, imports_sockets, missing};
pub use offer::Feature;
use offer::Offer;
use prepared::{InstanceMaker, Next, PreparedInstance};
pub use shared_state::{LaterJob, News, SharedState};
pub use state::{ALWAYS, Context, Notice, Places, Request, State};
pub use work::{Answer, Work};

use crate::bindings::Manifest;
use crate::bindings::types::Error as ProtocolError;
use crate::gate::{Gate, Policy};
use portcullis_audit::{Audit, Subject, Trail};
use portcullis_checked_files::{Records, SealKey};
use portcullis_engine::ComponentFile;
use portcullis_engine::code::{Aligned, CodeCache};
use portcullis_engine::{CALLS, Engine, Guests, LimitHit, Limits, Output, SPARES};

/// What all plugins share: the engine, the code, the audit, and the threads for guests.
pub struct Sandbox {
    engine: OnceLock<Engine>,
    memory_bytes: u64,
    codes: CodeCache,
    known: Records,
    audit: Audit,
    slots: Arc<Semaphore>,
    /// For instances that wait for a call.
    spares: Arc<Semaphore>,
    guests: Guests,
}

impl Sandbox {
    /// A sandbox whose engine is made when the first guest runs, with room for guests of
    /// `memory_bytes`, and that keeps what it knows of plugins beneath `cache`, sealed with `key`.
    pub fn new(memory_bytes: u64, cache: PathBuf, key: SealKey, audit: Audit) -> Self {
        Self {
            engine: OnceLock::new(),
            memory_bytes,
            codes: CodeCache::new(cache.join("compiled"), key.clone()),
            known: Records::sealed(cache.join("described"), key),
            audit,
            slots: Arc::new(Semaphore::new(CALLS as usize)),
            spares: Arc::new(Semaphore::new(SPARES as usize)),
            guests: Guests::default(),
        }
    }

    /// Where calls are recorded.
    pub fn audit(&self) -> &Audit {
        &self.audit
    }

    /// What is known of a component from before: how it describes itself, or why it is refused within these
    /// limits.
    pub fn known(&self, digest: &str, limits: &Limits) -> Option<Result<ComponentInfo, String>> {
        let before = self.known.read(&component_info::key(digest)).ok().flatten();
        if let Some(known) = before.and_then(|record| ComponentInfo::from_bytes(&record.value)) {
            return Some(Ok(known));
        }
        self.refusal(digest, limits).map(|why| {
            Err(format!(
                "{why}\nThis was found out before; `portcullis plugin approve` has the file tried again"
            ))
        })
    }

    fn refusal(&self, digest: &str, limits: &Limits) -> Option<String> {
        let record =
            self.known.read(&component_info::refusal_key(digest, limits)).ok().flatten()?;
        String::from_utf8(record.value).ok()
    }

    /// Forgets why a component was refused, so that it is tried again.
    pub fn forget(&self, digest: &str, limits: &Limits) {
        if let Err(error) = self.known.remove(&component_info::refusal_key(digest, limits)) {
            tracing::warn!("why a component was refused is not forgotten: {error}");
        }
    }

    fn keep(&self, key: &str, bytes: &[u8]) -> Result<(), String> {
        let written = self.known.write(key, bytes, None, None, |_| true);
        written.map(drop).map_err(|error| format!("{error:?}"))
    }

    fn engine(&self) -> Result<&Engine, GuestFailure> {
        if let Some(engine) = self.engine.get() {
            return Ok(engine);
        }
        let engine = Engine::new(self.memory_bytes)
            .map_err(|error| GuestFailure::Host(format!("starting wasmtime: {error:#}")))?;
        Ok(self.engine.get_or_init(|| engine))
    }
}

/// Where a plugin's component is.
#[derive(Debug, Clone, PartialEq)]
pub enum Origin {
    /// In this binary.
    Bundled,
    /// In a file.
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

/// Where the code of a component is.
#[derive(Clone)]
pub enum Code {
    /// Compiled ahead of time, when this binary was built.
    Bundled(&'static Aligned<[u8]>),
    /// The file of a component, which a child process compiles.
    File(Arc<ComponentFile>),
}

/// What the operator says of one plugin.
#[derive(Debug, Clone)]
pub struct Terms {
    /// What it may do.
    pub policy: Arc<Policy>,
    /// What it may use up.
    pub limits: Limits,
    /// What it can read.
    pub settings: Arc<BTreeMap<String, String>>,
}

/// A component that can be called.
pub struct Plugin {
    /// The operator's name for it.
    pub name: Arc<str>,
    /// SHA-256 of the component.
    pub digest: Arc<str>,
    /// Where it came from.
    pub origin: Origin,
    /// What the operator says of it.
    pub terms: Terms,
    code: Code,
    places: Places,
    sandbox: Arc<Sandbox>,
    offer: OnceCell<Offer>,
    next: Next,
    slots: Semaphore,
}

/// Why a guest gave no answer.
#[derive(Debug)]
pub enum GuestFailure {
    /// A limit of time, by its name in `portcullis.toml`, was reached.
    TimedOut(&'static str),
    /// Another limit was reached.
    Limit(LimitHit),
    /// The guest ended by itself, with these words.
    Crashed(String),
    /// The component cannot be run at all.
    Unusable(String),
    /// The plugin answered with a JSON-RPC error.
    Protocol(ProtocolError),
    /// The host failed.
    Host(String),
}

impl GuestFailure {
    /// Whether the host remembers this failure, and does not try again with the same limits.
    fn is_lasting(&self) -> bool {
        match self {
            Self::TimedOut(_) | Self::Limit(_) | Self::Crashed(_) | Self::Unusable(_) => true,
            Self::Protocol(_) | Self::Host(_) => false,
        }
    }

    /// Why a component cannot be a plugin, in words for the operator.
    fn of_describing(self) -> String {
        match self {
            Self::Unusable(why) => format!("not a runnable component: {why}"),
            Self::Crashed(why) => format!("it failed while it described itself: {why}"),
            Self::TimedOut(limit) => format!("describing itself took longer than `{limit}`"),
            Self::Limit(hit) => format!("while it described itself, {hit}"),
            Self::Protocol(error) => format!("it could not describe itself: {}", error.message),
            Self::Host(why) => why,
        }
    }
}

/// One run of a plugin: its work, directories, context and limit of time.
pub struct Run {
    /// What is to be done.
    pub work: Work,
    /// The directories it has.
    pub preopens: Vec<Preopen>,
    /// What the guest can learn of the call.
    pub context: Context,
    /// The limit of time for the guest. Waiting for a free thread has the same limit, separately.
    pub wall: Duration,
}

impl Plugin {
    /// A component, before anything is known about it.
    pub fn new(
        sandbox: Arc<Sandbox>,
        name: Arc<str>,
        digest: Arc<str>,
        origin: Origin,
        code: Code,
        terms: Terms,
        places: Places,
    ) -> Self {
        let slots = Semaphore::new(terms.limits.calls.get() as usize);
        let offer = OnceCell::new();
        let next = Next::default();
        Self { name, digest, origin, terms, code, places, sandbox, offer, next, slots }
    }

    /// How many look-ups in its cache found something, and how many did not.
    pub fn cache_use(&self) -> Option<(u64, u64)> {
        self.places.cache.as_ref().map(|cache| cache.look_ups())
    }

    /// The trail of one request to this plugin.
    pub fn trail(&self, request: String, tool: String, principal: Option<String>) -> Trail {
        let subject = Subject {
            request,
            plugin: self.name.clone(),
            digest: self.digest.clone(),
            tool,
            principal,
        };
        Trail::new(self.sandbox.audit.clone(), subject)
    }

    /// What is known of the component: from an earlier run, or found out now. It describes itself with nothing granted.
    /// It is not run where it imports an unknown interface, or a capability that the policy does not give.
    ///
    /// # Errors
    ///
    /// In words for the operator, where it cannot be compiled, instantiated or described. If that is the
    /// component's own fault, it is remembered, and the component is not tried again.
    pub async fn know(&self) -> Result<ComponentInfo, String> {
        let limits = &self.terms.limits;
        if let Some(known) = self.sandbox.known(&self.digest, limits) {
            return known;
        }
        let found = self.find_out().await;
        let key = component_info::key(&self.digest);
        match found {
            Ok(known) => {
                let kept = known.to_bytes().and_then(|bytes| self.sandbox.keep(&key, &bytes));
                if let Err(error) = kept {
                    tracing::warn!("what is known of `{}` is not kept: {error}", self.name);
                }
                Ok(known)
            }
            Err(failure) => {
                let lasting = failure.is_lasting();
                let why = failure.of_describing();
                let key = component_info::refusal_key(&self.digest, limits);
                if lasting && let Err(error) = self.sandbox.keep(&key, why.as_bytes()) {
                    tracing::warn!("why `{}` is refused is not kept: {error}", self.name);
                }
                Err(why)
            }
        }
    }

    async fn find_out(&self) -> Result<ComponentInfo, GuestFailure> {
        let component = self.component().await?;
        let engine = self.sandbox.engine()?;
        let imports = component_info::imports(engine, &component);
        let mut known =
            ComponentInfo { imports, features: Feature::of(&component), manifest: None };
        if !known.features.contains(&Feature::Manifest) {
            let bytes = match &self.code {
                Code::File(file) => file.bytes().map_err(|error| {
                    GuestFailure::Host(portcullis_sanitize::error_chain(&error))
                })?,
                Code::Bundled(_) => Vec::new(),
            };
            known.manifest = Some(foreign::describe(engine, &component, &self.name, &bytes));
        } else if missing(&known.imports, &self.terms.policy).is_empty() {
            known.manifest = Some(self.describe().await?);
        }
        known.check_size().map_err(GuestFailure::Unusable)?;
        Ok(known)
    }

    async fn component(&self) -> Result<Component, GuestFailure> {
        let engine = self.sandbox.engine()?;
        let component = match &self.code {
            Code::Bundled(code) => CodeCache::bundled(engine, code),
            Code::File(file) => {
                // Another process may have found out in the meantime that it cannot be run.
                let refused = || self.sandbox.refusal(&self.digest, &self.terms.limits);
                self.sandbox.codes.foreign(engine, file, &refused).await
            }
        };
        component.map_err(|error| {
            let text = portcullis_sanitize::error_chain(&error);
            if error.is_refusal() { GuestFailure::Unusable(text) } else { GuestFailure::Host(text) }
        })
    }

    async fn offer(&self) -> Result<&Offer, GuestFailure> {
        let make = || async {
            let component = self.component().await?;
            let mut linker = Linker::new(self.sandbox.engine()?.wasmtime());
            state::link(&mut linker, &self.terms.policy)
                .and_then(|()| Offer::new(linker.instantiate_pre(&component)?))
                .map_err(|error| GuestFailure::Unusable(format!("{error:#}")))
        };
        match self.offer.get() {
            Some(offer) => Ok(offer),
            None => Box::pin(self.offer.get_or_try_init(make)).await,
        }
    }

    /// Asks the component what it is, with nothing granted.
    async fn describe(&self) -> Result<Manifest, GuestFailure> {
        let maker = self.maker().await?;
        let (output, running) = (state::output(&self.terms.limits), maker.engine.run());
        let (offer, making) = (maker.offer.clone(), maker.make(output.clone()));
        let work = Box::pin(async move {
            let _running = running;
            let PreparedInstance { mut store, instance, .. } = making.await?;
            offer.describe(&mut store, &instance).await
        });
        self.bounded(work, self.terms.limits.wall(), &output).await
    }

    /// Does some work in a fresh instance.
    ///
    /// # Errors
    ///
    /// See [`GuestFailure`]. Nothing of a failed call outlives it.
    pub async fn run(&self, gate: Gate, job: Run) -> Result<Answer, GuestFailure> {
        let Run { work, preopens, context, wall } = job;
        let wait = async {
            let mine = self.slots.acquire().await.expect("never closed");
            let of_all = self.sandbox.slots.clone().acquire_owned().await.expect("never closed");
            (mine, of_all)
        };
        let Ok((_mine, of_all)) = tokio::time::timeout(wall, wait).await else {
            return Err(GuestFailure::TimedOut("wall-ms"));
        };
        let limits = self.terms.limits.clone();
        let maker = self.maker().await?;
        let (again, running) = (maker.clone(), maker.engine.run());
        let fresh = self.next.lock().take().map(|(fresh, _place)| fresh);
        let output = fresh.as_ref().map(|fresh| fresh.output.clone());
        let output = output.unwrap_or_else(|| state::output(&limits));
        let parts = state::Parts {
            gate,
            context,
            preopens,
            settings: self.terms.settings.clone(),
            places: self.places.clone(),
            output: output.clone(),
            wall,
        };
        let work = Box::pin(async move {
            let offer = maker.offer.clone();
            let made = match fresh {
                Some(fresh) => fresh,
                None => maker.make(parts.output.clone()).await?,
            };
            // Dropped in this order: the slot of the pool is free only when the store is gone.
            let mut remains = (made, running, of_all);
            let fresh = &mut remains.0;
            fresh.begin(&limits, parts);
            let answer = offer.work(&mut fresh.store, &fresh.instance, work).await?;
            Ok((answer, remains))
        });
        let (answer, remains) = self.bounded(work, wall, &output).await?;
        self.show(&output);
        self.tidy_up(remains, again);
        answer.map_err(GuestFailure::Protocol)
    }

    /// What nobody has to wait for, as the answer goes first: this instance is cleaned up, and the
    /// next one made.
    fn tidy_up(&self, remains: impl Send + 'static, maker: InstanceMaker) {
        let (next, sandbox) = (self.next.clone(), self.sandbox.clone());
        tokio::spawn(async move {
            tokio::task::yield_now().await;
            drop(remains);
            let Ok(place) = sandbox.spares.clone().try_acquire_owned() else { return };
            if next.lock().is_none() {
                let (wall, running) = (maker.limits.wall(), maker.engine.run());
                let output = state::output(&maker.limits);
                let work = Box::pin(async move {
                    let _running = running;
                    maker.make(output).await
                });
                // One that fails does so again, and with words, in the call that needs it.
                if let Ok(Ok(fresh)) = tokio::time::timeout(wall, sandbox.guests.run(work)).await {
                    next.lock().get_or_insert((fresh, place));
                }
            }
        });
    }

    async fn maker(&self) -> Result<InstanceMaker, GuestFailure> {
        let trail = self.trail("prepare".into(), String::new(), None);
        Ok(InstanceMaker {
            offer: self.offer().await?.clone(),
            engine: self.sandbox.engine()?.clone(),
            limits: self.terms.limits.clone(),
            gate: Gate::new(Arc::default(), trail),
            places: self.places.clone(),
        })
    }

    /// Runs a guest within its wall time: begun on this thread, and moved to the threads for
    /// guests if it does not end at once.
    async fn bounded<T: Send + 'static>(
        &self,
        work: Pin<Box<impl Future<Output = wasmtime::Result<T>> + Send + 'static>>,
        wall: Duration,
        output: &Output,
    ) -> Result<T, GuestFailure> {
        match tokio::time::timeout(wall, self.sandbox.guests.run(work)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(self.explain(&error, output)),
            Err(_) => {
                self.show(output);
                Err(GuestFailure::TimedOut("wall-ms"))
            }
        }
    }

    fn explain(&self, error: &wasmtime::Error, output: &Output) -> GuestFailure {
        let said = self.show(output);
        if let Some(hit) = error.downcast_ref::<LimitHit>() {
            return match hit.0 {
                "cpu-ms" => GuestFailure::TimedOut(hit.0),
                _ => GuestFailure::Limit(*hit),
            };
        }
        if error.is::<wasmtime::component::ResourceTableError>() {
            return GuestFailure::Limit(LimitHit("handles"));
        }
        // A panic says more than the trap it ends in.
        let words = match said.find("panicked at") {
            Some(from) => said[from..].lines().take(3).collect::<Vec<_>>().join(" "),
            None => match error.downcast_ref::<wasmtime::Trap>() {
                Some(trap) => trap.to_string(),
                None => error.root_cause().to_string(),
            },
        };
        tracing::debug!("`{}` failed: {error:?}", self.name);
        GuestFailure::Crashed(portcullis_sanitize::line(&words, 500))
    }

    /// Hands what the guest printed to the log, and back.
    fn show(&self, output: &Output) -> String {
        let (said, dropped) = output.take();
        for line in said.lines().filter(|line| !line.trim().is_empty()) {
            tracing::info!(target: "plugin", plugin = %self.name, "{line}");
        }
        if dropped > 0 {
            tracing::info!(target: "plugin", plugin = %self.name, "({dropped} more bytes dropped)");
        }
        said
    }
}
