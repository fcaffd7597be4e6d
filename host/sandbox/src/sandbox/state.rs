//! The state of one instance: the data of its store, and the host's side of the interface `request`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use portcullis_confine::Commands;
use portcullis_files::{Files, FilesView, Preopen, Quota};
use portcullis_roots::Roots;
use tokio::sync::mpsc::UnboundedSender;
use wasmtime::Result;
use wasmtime::component::{HasSelf, Linker, Resource};
use wasmtime_wasi::{ResourceTable, WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use super::cache_place::CachePlace;
use super::shared_state::{Broadcast, SharedState};
use super::store_place::StorePlace;
use super::{concurrent, sockets};
use crate::bindings::portcullis::plugin::{request, settings};
use crate::bindings::types::Answer;
use crate::capabilities::Capability;
use crate::capabilities::http::Http;
use crate::capabilities::tools::ToolCalls;
use crate::gate::{Gate, Policy};
use portcullis_engine::{EngineKind, Limiter, Limits, Output, size};

/// Maximum size of a job's data in bytes.
const MAX_JOB_BYTES: usize = 32 * 1024;

/// The folders, the cache and the commands of the host that one plugin uses.
#[derive(Clone)]
pub struct PluginResources {
    /// Where the plugin's store is.
    pub store: StorePlace,
    /// The folder for journals of file transactions. All plugins share it.
    pub journals: PathBuf,
    /// The plugin's cache. `None`: no cache is granted.
    pub cache: Option<CachePlace>,
    /// All commands of the host. The gate decides which of them the plugin may use.
    pub commands: Arc<Commands>,
}

/// A notification to the client during a call.
#[derive(Debug, Clone, PartialEq)]
pub enum CallNotification {
    /// The progress of the call.
    Progress {
        /// The amount that is done.
        done: f64,
        /// The total amount, if it is known.
        total: Option<f64>,
        /// A description.
        message: Option<String>,
    },
    /// A log record.
    Log {
        /// The level.
        level: request::Level,
        /// The name of the logger.
        logger: Option<String>,
        /// The record: any JSON.
        data: serde_json::Value,
    },
}

/// The data and the channels of a call that its guest can use.
#[derive(Clone, Default)]
pub struct CallContext {
    /// The revision of MCP that the client speaks.
    pub protocol: String,
    /// The principal, if the transport authenticates callers.
    pub principal: Option<String>,
    /// The request's `_meta` as JSON text, without the reserved keys. `None`: there are no other keys.
    pub meta: Option<String>,
    /// The features that the client supports.
    pub features: Vec<String>,
    /// The answers to the questions of earlier rounds.
    pub answers: BTreeMap<String, Answer>,
    /// The plugin's state from the previous round.
    pub state: Option<Vec<u8>>,
    /// Set when the client has cancelled the call.
    pub cancelled: Arc<AtomicBool>,
    /// Whether the call continues work that the plugin deferred, or is a deferred job.
    pub background: bool,
    /// The channel for notifications. `None`: the client wants no notifications.
    pub notices: Option<UnboundedSender<CallNotification>>,
    /// The state that all calls share.
    pub shared: Option<Arc<SharedState>>,
    /// The roots for jobs that the plugin defers. `None`: the plugin cannot defer jobs.
    pub job_roots: Option<Roots>,
    /// The tools that the plugin can call, and the channel for these calls. `None`: the plugin cannot call tools.
    pub tool_calls: Option<ToolCalls>,
}

/// The data of one instance's store.
pub struct InstanceState {
    pub(crate) table: ResourceTable,
    pub(crate) gate: Gate,
    pub(crate) call: CallContext,
    pub(crate) settings: Arc<BTreeMap<String, String>>,
    pub(crate) places: PluginResources,
    pub(super) limiter: Limiter,
    pub(super) wasi: WasiCtx,
    pub(crate) files: Files,
    http_ctx: WasiHttpCtx,
    http: Http,
    deadline: Instant,
    wall: Duration,
    /// Whether the guest was told to stop because its time is nearly over.
    is_told_to_stop: bool,
    notices_left: u32,
    /// The number of the last news for other hosts.
    told: Option<u64>,
    /// Maximum size of the answer in bytes.
    pub(super) answer_bytes: usize,
    /// The number of paths into kept answers of tools that may still be followed in this round.
    pub(crate) paths_left: u32,
}

/// The parts of an [`InstanceState`] that belong to one round of a call.
pub struct CallState {
    /// The gate of the call.
    pub gate: Gate,
    /// The data and the channels of the call that the guest can use.
    pub context: CallContext,
    /// The directories that the guest gets.
    pub preopens: Vec<Preopen>,
    /// The operator's settings for the plugin.
    pub settings: Arc<BTreeMap<String, String>>,
    /// The plugin's folders, cache and commands.
    pub places: PluginResources,
    /// Where stdout and stderr are written to.
    pub output: Output,
    /// The time limit of the guest.
    pub wall: Duration,
}

impl CallState {
    /// The parts of a prepared instance, which serves no call yet.
    pub fn unassigned(gate: Gate, places: PluginResources, output: Output) -> Self {
        let places = PluginResources { cache: None, commands: Arc::default(), ..places };
        let (context, settings) = (CallContext::default(), Arc::default());
        let wall = Duration::ZERO;
        Self { gate, context, preopens: Vec::new(), settings, places, output, wall }
    }
}

impl InstanceState {
    /// The data of a fresh instance.
    pub fn new(limits: &Limits, parts: CallState) -> Self {
        let CallState { gate, context, preopens, settings, places, output, wall } = parts;
        let mut table = ResourceTable::new();
        table.set_max_capacity(usize::try_from(limits.handles.get()).unwrap_or(usize::MAX));
        // By default, a `WasiCtx` has no environment, arguments, stdin or inherited stdio.
        let wasi = WasiCtx::builder().stdout(output.clone()).stderr(output).build();
        Self {
            table,
            files: Files::new(gate.clone(), preopens, quota(limits)),
            http: Http::new(gate.clone(), limits),
            gate,
            call: context,
            settings,
            places,
            limiter: Limiter::new(limits),
            wasi,
            http_ctx: WasiHttpCtx::new(),
            deadline: Instant::now() + wall,
            wall,
            is_told_to_stop: false,
            notices_left: limits.notifications.get(),
            told: None,
            answer_bytes: size(limits.answer_bytes),
            paths_left: crate::capabilities::catalog::MAX_PATHS,
        }
    }

    /// Turns a prepared instance into the instance of a call. The resource table is kept: the guest may hold handles
    /// that it got during its initialisation.
    pub fn begin(&mut self, limits: &Limits, parts: CallState) {
        let CallState { gate, context, preopens, settings, places, output: _, wall } = parts;
        self.files = Files::new(gate.clone(), preopens, quota(limits));
        self.http = Http::new(gate.clone(), limits);
        (self.gate, self.call, self.settings, self.places) = (gate, context, settings, places);
        (self.deadline, self.wall) = (Instant::now() + wall, wall);
    }

    /// The time at which the guest must have ended.
    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Whether the guest was told to stop because its time is nearly over.
    pub(super) fn is_told_to_stop(&self) -> bool {
        self.is_told_to_stop
    }

    /// Notifies all clients, within the limit of notifications.
    fn announce(&mut self, news: Broadcast) {
        if let Some(shared) = &self.call.shared
            && let Some(left) = self.notices_left.checked_sub(1)
        {
            self.notices_left = left;
            self.told = shared.tell_for_plugin(news).or(self.told);
        }
    }

    /// Waits until the other hosts know what the guest said to clients. `None`: it said nothing, or there are no other
    /// hosts.
    pub(super) fn delivery(&self) -> Option<impl Future<Output = ()> + Send + use<>> {
        let (shared, number) = (self.call.shared.clone()?, self.told?);
        Some(async move { shared.outbox.delivery(number).await })
    }

    fn notify(&mut self, notice: impl FnOnce() -> CallNotification) {
        if let Some(notices) = &self.call.notices
            && let Some(left) = self.notices_left.checked_sub(1)
        {
            self.notices_left = left;
            // If the receiver is gone, the call is about to end.
            let _gone = notices.send(notice());
        }
    }
}

fn quota(limits: &Limits) -> Quota {
    Quota::new(
        limits.file_write_bytes.get(),
        limits.file_bytes.get(),
        limits.file_entries.get(),
        limits.file_depth.get(),
    )
}

/// Links the interfaces that every guest has, and those of the capabilities that are granted or dispensable. A
/// dispensable capability that is not granted refuses every ask. All other capabilities are not linked. A foreign
/// component also gets sockets that refuse everything. In an engine with concurrency, the interfaces of WASI 0.3 are
/// linked beside those of WASI 0.2.
///
/// # Errors
///
/// An interface is linked twice: a defect of the host.
pub fn link(linker: &mut Linker<InstanceState>, policy: &Policy, kind: EngineKind) -> Result<()> {
    use wasmtime_wasi::cli::{WasiCli, WasiCliView};
    use wasmtime_wasi::clocks::{WasiClocks, WasiClocksView};
    use wasmtime_wasi::p2::bindings::{cli, clocks, random};
    use wasmtime_wasi::random::WasiRandom;

    wasmtime_wasi_io::add_to_linker_async(linker)?;
    clocks::wall_clock::add_to_linker::<InstanceState, WasiClocks>(linker, InstanceState::clocks)?;
    clocks::monotonic_clock::add_to_linker::<InstanceState, WasiClocks>(
        linker,
        InstanceState::clocks,
    )?;
    random::random::add_to_linker::<InstanceState, WasiRandom>(linker, |s| s.wasi.random())?;
    random::insecure::add_to_linker::<InstanceState, WasiRandom>(linker, |s| s.wasi.random())?;
    random::insecure_seed::add_to_linker::<InstanceState, WasiRandom>(linker, |s| s.wasi.random())?;
    cli::exit::add_to_linker::<InstanceState, WasiCli>(linker, InstanceState::cli)?;
    cli::environment::add_to_linker::<InstanceState, WasiCli>(linker, InstanceState::cli)?;
    cli::stdin::add_to_linker::<InstanceState, WasiCli>(linker, InstanceState::cli)?;
    cli::stdout::add_to_linker::<InstanceState, WasiCli>(linker, InstanceState::cli)?;
    cli::stderr::add_to_linker::<InstanceState, WasiCli>(linker, InstanceState::cli)?;
    cli::terminal_input::add_to_linker::<InstanceState, WasiCli>(linker, InstanceState::cli)?;
    cli::terminal_output::add_to_linker::<InstanceState, WasiCli>(linker, InstanceState::cli)?;
    cli::terminal_stdin::add_to_linker::<InstanceState, WasiCli>(linker, InstanceState::cli)?;
    cli::terminal_stdout::add_to_linker::<InstanceState, WasiCli>(linker, InstanceState::cli)?;
    cli::terminal_stderr::add_to_linker::<InstanceState, WasiCli>(linker, InstanceState::cli)?;
    request::add_to_linker::<InstanceState, HasSelf<InstanceState>>(linker, |s| s)?;
    settings::add_to_linker::<InstanceState, HasSelf<InstanceState>>(linker, |s| s)?;
    for capability in Capability::ALL.into_iter().filter(|c| policy.has(*c)) {
        capability.link(linker, kind)?;
    }
    if policy.is_foreign {
        sockets::link(linker, kind)?;
    }
    match kind {
        EngineKind::Synchronous => Ok(()),
        EngineKind::Concurrent => concurrent::link(linker),
    }
}

/// The interfaces that every guest may import, as prefixes of their names. Must agree with `link` above.
pub const ALWAYS_LINKED: &[&str] = &[
    "wasi:io/",
    "wasi:clocks/types",
    "wasi:clocks/wall-clock",
    "wasi:clocks/system-clock",
    "wasi:clocks/monotonic-clock",
    "wasi:random/",
    "wasi:cli/",
    "portcullis:plugin/types",
    "portcullis:plugin/request",
    "portcullis:plugin/settings",
];

impl InstanceState {
    /// The files of the call.
    pub(crate) fn files(&mut self) -> FilesView<'_> {
        FilesView::new(&mut self.files, &mut self.table)
    }
}

impl wasmtime_wasi_io::IoView for InstanceState {
    fn table(&mut self) -> &mut ResourceTable {
        &mut self.table
    }
}

impl WasiView for InstanceState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for InstanceState {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { ctx: &mut self.http_ctx, table: &mut self.table, hooks: &mut self.http }
    }
}

/// The host's side of the WIT resource `request`, which is empty: the data of the request are in [`CallContext`].
pub struct RequestHandle;

/// A guest's handle to the request.
type CurrentRequest = Resource<RequestHandle>;

impl request::Host for InstanceState {}

impl crate::bindings::types::Host for InstanceState {}

impl request::HostRequest for InstanceState {
    async fn id(&mut self, _: CurrentRequest) -> Result<String> {
        Ok(self.gate.trail().request().to_owned())
    }

    async fn protocol(&mut self, _: CurrentRequest) -> Result<String> {
        Ok(self.call.protocol.clone())
    }

    async fn principal(&mut self, _: CurrentRequest) -> Result<Option<String>> {
        Ok(self.call.principal.clone())
    }

    async fn meta(&mut self, _: CurrentRequest) -> Result<Option<String>> {
        Ok(self.call.meta.clone())
    }

    async fn supports(&mut self, _: CurrentRequest, feature: String) -> Result<bool> {
        Ok(self.call.features.contains(&feature))
    }

    async fn answer(&mut self, _: CurrentRequest, key: String) -> Result<Option<Answer>> {
        Ok(self.call.answers.get(&key).cloned())
    }

    async fn state(&mut self, _: CurrentRequest) -> Result<Option<Vec<u8>>> {
        Ok(self.call.state.clone())
    }

    async fn in_background(&mut self, _: CurrentRequest) -> Result<bool> {
        Ok(self.call.background)
    }

    async fn resource_updated(&mut self, _: CurrentRequest, uri: String) -> Result<()> {
        self.announce(Broadcast::Resource(uri));
        Ok(())
    }

    async fn list_changed(&mut self, _: CurrentRequest, kind: request::ListKind) -> Result<()> {
        self.announce(Broadcast::List(kind));
        Ok(())
    }

    async fn later(&mut self, _: CurrentRequest, job: Vec<u8>) -> Result<bool> {
        let (Some(shared), Some(roots)) = (&self.call.shared, &self.call.job_roots) else {
            return Ok(false);
        };
        let trail = self.gate.trail();
        Ok(job.len() <= MAX_JOB_BYTES
            && shared.add_job(trail.plugin(), trail.request(), job, roots))
    }

    async fn cancelled(&mut self, _: CurrentRequest) -> Result<bool> {
        // In the last tenth of its time, the guest is told to stop as if the call were cancelled, so that it can
        // clean up.
        let is_near_end = self.deadline.saturating_duration_since(Instant::now()) < self.wall / 10;
        let is_cancelled = self.call.cancelled.load(Ordering::Relaxed);
        self.is_told_to_stop |= is_near_end && !is_cancelled;
        Ok(is_near_end || is_cancelled)
    }

    async fn remaining(&mut self, _: CurrentRequest) -> Result<Option<u64>> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        Ok(Some(u64::try_from(left.as_millis()).unwrap_or(u64::MAX)))
    }

    async fn progress(
        &mut self,
        _: CurrentRequest,
        done: f64,
        total: Option<f64>,
        message: Option<String>,
    ) -> Result<()> {
        // JSON has no NaN and no infinity.
        if done.is_finite() && total.is_none_or(f64::is_finite) {
            self.notify(|| CallNotification::Progress { done, total, message });
        }
        Ok(())
    }

    async fn log(
        &mut self,
        _: CurrentRequest,
        level: request::Level,
        logger: Option<String>,
        data: String,
    ) -> Result<()> {
        let (plugin, request) = (self.gate.trail().plugin(), self.gate.trail().request());
        let text = portcullis_sanitize::line(&data, 2000);
        // A plugin's text is logged as information at most: warnings and errors are the host's own.
        if level == request::Level::Debug {
            tracing::debug!(target: "plugin", %plugin, request, "{text}");
        } else {
            tracing::info!(target: "plugin", %plugin, request, level = ?level, "{text}");
        }
        self.notify(|| {
            let data = serde_json::from_str(&data).unwrap_or(serde_json::Value::String(data));
            CallNotification::Log { level, logger, data }
        });
        Ok(())
    }

    async fn drop(&mut self, request: CurrentRequest) -> Result<()> {
        self.table.delete(request)?;
        Ok(())
    }
}

/// The output of a guest of a plugin with these limits.
pub fn output(limits: &Limits) -> Output {
    Output::new(size(limits.log_bytes))
}
