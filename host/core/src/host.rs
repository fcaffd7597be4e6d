//! The sources of this process and the published catalog: one [`Host`] for all sessions.
//!
//! All that the configuration decides is in one value, [`Configured`]. A reload of the configuration replaces this
//! value, and the sessions go on.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::RwLock;
use portcullis_mcp_client::{Object, UnassignedNotification};
use portcullis_roots::Roots;
use serde_json::Value;
use tokio::sync::{OnceCell, broadcast};
use tokio_util::sync::CancellationToken;

use crate::bindings::portcullis::plugin::request::ListKind;
use crate::catalog::Catalog;
use crate::plugins::{LoadedPlugin, Loader, LoadingProgress, Plugins};
use crate::sandbox::{Broadcast, Feature, Origin, SharedState};
use crate::upstreams::{UpstreamEvent, UpstreamSource, Upstreams};
pub use configured::Configured;
use loading::{BeginLoading, LIST_WAIT};
pub use views::is_for_models;

mod configured;
mod jobs;
mod loading;
mod views;

/// Maximum number of log records that wait for a slow client. Further ones are lost.
const MAX_WAITING_LOGS: usize = 256;

/// How long the answer to `initialize` waits for an upstream server whose lists were never fetched before. Some clients
/// wait only 30 seconds for the answer.
const FIRST_ANSWER_WAIT: Duration = Duration::from_secs(20);

/// The plugins, the upstream servers and the published catalog, once for the process.
pub struct Host {
    /// What the configuration decides.
    configured: RwLock<Arc<Configured>>,
    /// Whether jobs run.
    has_jobs: AtomicBool,
    /// State that outlives calls of plugins: notifications to all clients, deferred jobs and recent results.
    pub shared_state: Arc<SharedState>,
    /// Log records that upstream servers send outside of any request: the parameters of `notifications/message`.
    pub logs: broadcast::Sender<Object>,
    /// Cancelled when the process shuts down: calls in flight are then cancelled.
    pub shutdown: CancellationToken,
}

/// The catalog that clients see. A change of a source replaces this value.
pub struct VisibleCatalog {
    /// The tools, prompts and resources with their sources.
    pub catalog: Arc<Catalog>,
    /// The definitions of the tools, made when tools are first listed or called.
    tools: OnceCell<Arc<Tools>>,
    /// The [`SharedState::tools_generation`] that the definitions were made for.
    tools_version: AtomicU64,
}

/// Definitions of tools as clients see them.
pub type Tools = Vec<Value>;

impl VisibleCatalog {
    /// The tools, if they have been made.
    pub fn tools_now(&self) -> Option<&Arc<Tools>> {
        self.tools.get()
    }
}

impl Host {
    /// A host that loads its plugins and connects to upstream servers when they are first needed.
    pub fn new(configured: Configured) -> Arc<Self> {
        Arc::new(Self {
            configured: RwLock::new(Arc::new(configured)),
            has_jobs: AtomicBool::new(false),
            shared_state: Arc::default(),
            logs: broadcast::channel(MAX_WAITING_LOGS).0,
            shutdown: CancellationToken::new(),
        })
    }

    /// What the configuration decides now. A caller that needs several parts calls this function once, because a reload
    /// may come between two calls.
    pub fn configured(&self) -> Arc<Configured> {
        self.configured.read().clone()
    }

    /// The upstream servers.
    pub fn upstreams(&self) -> Arc<Upstreams> {
        self.configured.read().upstreams.clone()
    }

    /// The operator's roots.
    pub fn roots(&self) -> Roots {
        self.configured.read().roots.clone()
    }

    /// Replaces the current [`Configured`] by that of a new configuration. Clients are notified that all lists have
    /// changed. Calls in flight go on with the plugins and servers with which they began. A server that the new
    /// configuration lacks ends with its last call.
    pub fn replace(self: &Arc<Self>, configured: Configured) {
        let old = std::mem::replace(&mut *self.configured.write(), Arc::new(configured));
        old.end_reports();
        self.tell_lists_changed();
    }

    /// Notifies clients that all lists have changed.
    fn tell_lists_changed(&self) {
        for list in [ListKind::Tools, ListKind::Prompts, ListKind::Resources] {
            self.shared_state.tell(Broadcast::List(list));
        }
    }

    /// The catalog that clients see. Waits a short time for plugins that are being loaded, and longer for upstream
    /// servers of which nothing is known.
    pub async fn catalog(self: &Arc<Self>) -> Arc<Catalog> {
        self.published().await.catalog.clone()
    }

    /// A catalog for which `has` is true, or else the latest catalog. Tries these in turn: the current catalog, the
    /// bundled plugins, all sources that are known without starting a server, and a new catalog each time a plugin is
    /// compiled, until all are.
    pub async fn catalog_with(self: &Arc<Self>, has: impl Fn(&Catalog) -> bool) -> Arc<Catalog> {
        let configured = self.configured();
        let known = configured.shown.lock().clone().filter(|shown| has(&shown.catalog));
        if let Some(shown) = known.filter(|shown| self.is_current(shown)) {
            return shown.catalog.clone();
        }
        let bundled = self.bundled(&configured).await;
        if has(&bundled) {
            return bundled;
        }
        let upstreams = &configured.upstreams;
        if upstreams.has_new().await {
            // Calls of known servers do not wait for servers that are started for the first time.
            let plugins = self.loaded(&configured, |_| true).await;
            let known =
                Catalog::new(plugins, upstreams.known_offers().await, &upstreams.lock).await;
            if has(&known) {
                return Arc::new(known);
            }
        }
        loop {
            // Read again each time: a reload may have replaced it.
            let configured = self.configured();
            let catalog = self.catalog().await;
            if has(&catalog) || catalog.plugins.is_complete() {
                return catalog;
            }
            // Not until all are loaded: others may take minutes to compile.
            let before = catalog.plugins.loaded.len();
            let is_news = |now: &Plugins| now.is_complete() || now.loaded.len() > before;
            self.loaded(&configured, is_news).await;
        }
    }

    /// The catalog of the bundled plugins, which are loaded without delay.
    async fn bundled(self: &Arc<Self>, configured: &Arc<Configured>) -> Arc<Catalog> {
        let make = || async {
            let plugins = self.loaded(configured, |_| true).await;
            let is_bundled = |one: &&Arc<LoadedPlugin>| one.plugin.origin == Origin::Bundled;
            let loaded = plugins.loaded.iter().filter(is_bundled).cloned().collect();
            let bundled = Plugins { loaded, ..Plugins::default() };
            let lock = &configured.upstreams.lock;
            Arc::new(Catalog::new(Arc::new(bundled), Vec::new(), lock).await)
        };
        configured.bundled.get_or_init(make).await.clone()
    }

    /// Passes an upstream server's event on to the clients that it concerns.
    fn forward_upstream_event(&self, event: UpstreamEvent) {
        let UnassignedNotification { method, params } = match event {
            UpstreamEvent::OfferChanged => return self.discard_if_changed(),
            UpstreamEvent::Notice(notice) => notice,
        };
        // Changes of resources are not forwarded here: a session with a subscription gets them by its own connection to
        // the server.
        if method == "notifications/message" {
            // Sending fails if no client listens, which does not matter.
            let _nobody = self.logs.send(params);
        }
    }

    /// Whether all plugins are loaded, and the host is not shutting down.
    pub fn is_ready(&self) -> bool {
        let loading = &self.configured().loading;
        let is_complete = loading.so_far().is_some_and(|plugins| plugins.is_complete());
        is_complete && !self.shutdown.is_cancelled()
    }

    /// Whether a plugin is refused or a tool is held back. An approval may change this.
    pub fn holds_back(&self) -> bool {
        let configured = self.configured();
        let plugins = configured.plugins_now();
        let shown = configured.shown.lock().clone();
        plugins.is_some_and(|plugins| !plugins.refused.is_empty())
            || shown.is_some_and(|shown| {
                shown.catalog.upstreams.iter().any(|offer| !offer.held.is_empty())
            })
    }

    /// Hits and misses of each plugin's cache.
    pub fn cache_uses(&self) -> Vec<(String, (u64, u64))> {
        let Some(shown) = self.published_now() else { return Vec::new() };
        let loaded = shown.catalog.plugins.loaded.iter();
        let used = |loaded: &Arc<LoadedPlugin>| {
            Some((loaded.plugin.name.to_string(), loaded.plugin.cache_use()?))
        };
        loaded.filter_map(used).collect()
    }

    /// The catalog that clients see now, without waiting. `None`: the catalog has not been made yet, or was
    /// discarded after a change.
    pub fn published_now(&self) -> Option<Arc<VisibleCatalog>> {
        self.configured().shown.lock().clone()
    }

    /// The catalog of the bundled plugins, if it has been made already.
    pub fn bundled_now(&self) -> Option<Arc<Catalog>> {
        self.configured().bundled.get().cloned()
    }

    /// Waits until `is_enough` is true of the loaded plugins. The first waiter starts the loading.
    async fn loaded(
        self: &Arc<Self>,
        configured: &Arc<Configured>,
        is_enough: impl Fn(&Plugins) -> bool,
    ) -> Arc<Plugins> {
        if let Some(begin) = configured.loading.begin() {
            tokio::spawn(load(Arc::downgrade(self), configured.clone(), begin));
        }
        configured.loading.wait_for(is_enough).await
    }

    fn is_current(&self, shown: &VisibleCatalog) -> bool {
        shown.tools_version.load(Ordering::Acquire) == self.shared_state.tools_generation()
    }

    /// The current catalog for clients, which is made if necessary: see [`Self::catalog`].
    async fn published(self: &Arc<Self>) -> Arc<VisibleCatalog> {
        let configured = self.configured();
        let is_current = |shown: &&Arc<VisibleCatalog>| self.is_current(shown);
        if let Some(shown) = configured.shown.lock().as_ref().filter(is_current) {
            return shown.clone();
        }
        let mut reports = configured.has_reports.lock().await;
        if let Some(shown) = configured.shown.lock().as_ref().filter(is_current) {
            return shown.clone();
        }
        if !self.has_jobs.swap(true, Ordering::Relaxed) {
            jobs::run(self);
        }
        if !*reports {
            *reports = true;
            self.report_upstream_events(&configured);
        }
        let offers = configured.upstreams.offers();
        let (plugins, upstreams) = tokio::join!(self.plugins_for_lists(&configured), offers);
        let mut plugins = configured.loading.so_far().unwrap_or(plugins);
        let shown = loop {
            let lock = &configured.upstreams.lock;
            let catalog = Catalog::new(plugins.clone(), upstreams.clone(), lock).await;
            // Locked until the catalog is published. For plugins that are loaded later, `publish_plugins` discards the
            // catalog and notifies clients.
            let mut published = configured.shown.lock();
            let now = configured.loading.so_far();
            if let Some(now) = now.filter(|now| !Arc::ptr_eq(now, &plugins)) {
                plugins = now;
                continue;
            }
            let tools_version = self.shared_state.tools_generation().into();
            let shown = VisibleCatalog {
                catalog: Arc::new(catalog),
                tools: OnceCell::new(),
                tools_version,
            };
            break published.insert(Arc::new(shown)).clone();
        };
        // An upstream server may have changed while the catalog was made.
        self.discard_if_changed();
        shown
    }

    /// Passes the events of upstream servers on to clients, until the configuration is replaced or the host shuts
    /// down.
    fn report_upstream_events(self: &Arc<Self>, configured: &Configured) {
        let host = Arc::downgrade(self);
        let until = configured.reports_until(&self.shutdown);
        configured.upstreams.report_events(&until, move |event| {
            if let Some(host) = host.upgrade() {
                host.forward_upstream_event(event);
            }
        });
    }

    /// The plugins for a list: see [`Loading::for_lists`].
    async fn plugins_for_lists(self: &Arc<Self>, configured: &Arc<Configured>) -> Arc<Plugins> {
        self.loaded(configured, |_| true).await;
        configured.loading.for_lists().await
    }

    /// Publishes the plugins that are loaded so far, and discards the catalog that lacks some of them.
    fn publish_plugins(&self, configured: &Configured, plugins: Plugins) {
        let was_shown = {
            // Locked before the plugins are added, so that a caller that waits for the plugins never gets a catalog
            // without them.
            let mut shown = configured.shown.lock();
            configured.loading.add(plugins);
            shown.take().is_some()
        };
        if was_shown {
            self.tell_lists_changed();
        }
    }

    /// The catalog and the definitions of its tools. Making the definitions also publishes them to plugins.
    pub async fn tools(self: &Arc<Self>) -> (Arc<Catalog>, Arc<Tools>) {
        let shown = self.published().await;
        let make = || async {
            let tools = self.with_views(&shown.catalog).await;
            // A plugin may report a change of its views while it declares them. The definitions contain the declared
            // views already, so the definitions count as current.
            shown.tools_version.store(self.shared_state.tools_generation(), Ordering::Release);
            Arc::new(tools)
        };
        let tools = match shown.tools.get() {
            Some(tools) => tools,
            None => Box::pin(shown.tools.get_or_init(make)).await,
        };
        (shown.catalog.clone(), tools.clone())
    }

    /// The catalog with all plugins. Waits until each plugin is loaded or refused, and makes the definitions of the
    /// tools.
    pub async fn whole_catalog(self: &Arc<Self>) -> Arc<Catalog> {
        self.loaded(&self.configured(), Plugins::is_complete).await;
        self.tools().await.0
    }

    /// Discards the catalog and notifies clients, if an upstream server's list differs from the one in the catalog.
    pub fn discard_if_changed(&self) {
        let configured = self.configured();
        let mut shown = configured.shown.lock();
        let Some(before) = &*shown else { return };
        let is_shown = |source: &Arc<UpstreamSource>| {
            source.upstream.known_listing().is_none_or(|now| {
                before.catalog.upstreams.iter().any(|one| Arc::ptr_eq(&one.listing, &now))
            })
        };
        if configured.upstreams.all.iter().all(is_shown) {
            return;
        }
        *shown = None;
        self.tell_lists_changed();
    }

    /// Waits for the instructions and capabilities of all sources, which are part of the answer to `initialize`.
    /// Waits a short time, or up to 20 seconds if nothing is known of some upstream server yet.
    pub async fn wait_briefly_for_sources(self: &Arc<Self>) {
        let wait = if self.upstreams().has_new().await { FIRST_ANSWER_WAIT } else { LIST_WAIT };
        if tokio::time::timeout(wait, self.catalog()).await.is_err() {
            tracing::info!("the plugins and upstream servers are still being loaded");
        }
    }

    /// Whether a feature is offered. True while no catalog with all plugins is published, because a plugin that is not
    /// loaded yet may offer the feature.
    pub fn supports(&self, feature: Feature) -> bool {
        let Some(shown) = self.published_now() else { return true };
        let catalog = &shown.catalog;
        if !catalog.plugins.is_complete() {
            return true;
        }
        let upstream_has = |capability| {
            catalog.upstreams.iter().any(|upstream| upstream.listing.peer.offers(capability))
        };
        match feature {
            Feature::Manifest | Feature::Tools | Feature::Views | Feature::Jobs => true,
            Feature::Prompts => catalog.prompts().next().is_some() || upstream_has("prompts"),
            Feature::Resources => {
                catalog.with(feature).next().is_some() || upstream_has("resources")
            }
            Feature::Completions => {
                catalog.with(feature).next().is_some() || upstream_has("completions")
            }
        }
    }
}

/// Loads the plugins and publishes them step by step: first the bundled ones, then those whose compiled code is
/// cached, then each of the others once it is compiled.
async fn load(host: Weak<Host>, configured: Arc<Configured>, begin: BeginLoading) {
    let mut loader = begin().await;
    let publish = |loader: &Loader| match host.upgrade() {
        Some(host) if !host.shutdown.is_cancelled() => {
            host.publish_plugins(&configured, loader.so_far());
            true
        }
        _ => false,
    };
    if !publish(&loader) {
        return;
    }
    let mut is_published = true;
    loop {
        let is_compiling = loader.progress() == LoadingProgress::Compiling;
        if is_compiling && !is_published && !publish(&loader) {
            return;
        }
        if !loader.next().await {
            break;
        }
        is_published = false;
    }
    let all = loader.so_far();
    all.warn();
    let _gone = publish(&loader);
}
