//! What all sessions share: plugins, other servers, and what clients see of them until something changes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use portcullis_checked_files::Records;
use portcullis_mcp_client::{Notice, Object};
use portcullis_roots::Roots;
use serde_json::Value;
use tokio::sync::{OnceCell, broadcast};
use tokio_util::sync::CancellationToken;

use crate::bindings::portcullis::plugin::request::ListKind;
use crate::catalog::Catalog;
use crate::plugins::{Loaded, Loader, Plugins};
use crate::sandbox::{Feature, News, Origin, SharedState};
use crate::upstreams::{UpstreamEvent, UpstreamSource, Upstreams};
use loading::{Begin, Loading, SOON};

mod jobs;
mod loading;
mod views;

/// Log records that may wait for a slow client before it misses some.
const LOGS: usize = 256;

/// What all sessions share.
pub struct Host {
    loading: Loading,
    /// What is bundled, by the names that it always has: calls of it wait for nothing else.
    bundled: OnceCell<Arc<Catalog>>,
    /// Other MCP servers.
    pub upstreams: Arc<Upstreams>,
    shown: Mutex<Option<Arc<Shown>>>,
    /// Held while `shown` is made. True once background work (jobs, events of upstream servers) has started.
    showing: tokio::sync::Mutex<bool>,
    /// What plugins said of the views of tools when they were last asked.
    views: Records,
    /// The operator's roots.
    pub roots: Roots,
    /// What plugins and sessions share.
    pub shared_state: Arc<SharedState>,
    /// Log records of upstream servers that belong to no request: the parameters of `notifications/message`.
    pub logs: broadcast::Sender<Object>,
    /// Fires when the process is about to end: calls in flight are then given up.
    pub shutdown: CancellationToken,
}

/// What clients see, until something changes.
pub struct Shown {
    /// Everything with its source.
    pub catalog: Arc<Catalog>,
    /// Its tools, made when they are first listed or called: an introduction does without.
    tools: OnceCell<Arc<Tools>>,
    /// See [`SharedState::tools_changed`].
    age: AtomicU64,
}

/// Definitions of tools as clients see them.
pub type Tools = Vec<Value>;

impl Shown {
    /// The tools, if they have been made.
    pub fn tools_now(&self) -> Option<&Arc<Tools>> {
        self.tools.get()
    }
}

impl Host {
    /// A host that loads its plugins, and starts other servers, when they are first needed.
    pub fn new<F: Future<Output = Loader> + Send + 'static>(
        roots: Roots,
        upstreams: Upstreams,
        views: Records,
        load: impl FnOnce() -> F + Send + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            loading: Loading::new(Box::new(move || Box::pin(load()))),
            bundled: OnceCell::new(),
            upstreams: Arc::new(upstreams),
            shown: Mutex::new(None),
            showing: tokio::sync::Mutex::new(false),
            views,
            roots,
            shared_state: Arc::default(),
            logs: broadcast::channel(LOGS).0,
            shutdown: CancellationToken::new(),
        })
    }

    /// What clients can see.
    pub async fn catalog(self: &Arc<Self>) -> Arc<Catalog> {
        self.shown().await.catalog.clone()
    }

    /// A catalog for which `has` is true, if there is one. Tries the current catalog, then the bundled plugins, then a
    /// new catalog. Where plugins are still being compiled, it waits for all of them last.
    pub async fn catalog_with(self: &Arc<Self>, has: impl Fn(&Catalog) -> bool) -> Arc<Catalog> {
        let known = self.shown.lock().clone().filter(|shown| has(&shown.catalog));
        if let Some(shown) = known.filter(|shown| self.is_current(shown)) {
            return shown.catalog.clone();
        }
        let bundled = self.bundled().await;
        if has(&bundled) {
            return bundled;
        }
        let catalog = self.catalog().await;
        if has(&catalog) || catalog.plugins.complete {
            return catalog;
        }
        self.loaded(|plugins| plugins.complete).await;
        self.catalog().await
    }

    /// What is bundled. It is loaded at once.
    async fn bundled(self: &Arc<Self>) -> Arc<Catalog> {
        let make = || async {
            let plugins = self.loaded(|_| true).await;
            let is_bundled = |one: &&Arc<Loaded>| one.plugin.origin == Origin::Bundled;
            let loaded = plugins.loaded.iter().filter(is_bundled).cloned().collect();
            let bundled = Plugins { loaded, ..Plugins::default() };
            Arc::new(Catalog::new(Arc::new(bundled), Vec::new(), &self.upstreams.lock).await)
        };
        self.bundled.get_or_init(make).await.clone()
    }

    /// Passes on what an upstream server reports unasked to those whom it concerns.
    fn report(&self, event: UpstreamEvent) {
        let Notice { method, mut params } = match event {
            UpstreamEvent::OfferChanged => return self.changed(),
            UpstreamEvent::Notice(notice) => notice,
        };
        // Where no client listens, sending fails, which does not matter.
        match method.as_str() {
            "notifications/resources/updated" => {
                if let Some(Value::String(uri)) = params.remove("uri") {
                    self.shared_state.tell(News::Resource(uri));
                }
            }
            "notifications/message" => {
                let _nobody = self.logs.send(params);
            }
            _ => {}
        }
    }

    /// How often each plugin's cache had what was looked for, and how often not.
    pub fn cache_uses(&self) -> Vec<(String, (u64, u64))> {
        let Some(shown) = self.shown.lock().clone() else { return Vec::new() };
        let loaded = shown.catalog.plugins.loaded.iter();
        let used = |loaded: &Arc<Loaded>| {
            Some((loaded.plugin.name.to_string(), loaded.plugin.cache_use()?))
        };
        loaded.filter_map(used).collect()
    }

    /// What clients see at the moment, without waiting for it. `None`: nobody has asked yet.
    pub fn shown_now(&self) -> Option<Arc<Shown>> {
        self.shown.lock().clone()
    }

    /// What is bundled, if it has been needed before.
    pub fn bundled_now(&self) -> Option<&Arc<Catalog>> {
        self.bundled.get()
    }

    /// Waits until `enough` is true of the loaded plugins. The first waiter starts the loading.
    async fn loaded(self: &Arc<Self>, enough: impl Fn(&Plugins) -> bool) -> Arc<Plugins> {
        if let Some(begin) = self.loading.begin() {
            tokio::spawn(load(Arc::downgrade(self), begin));
        }
        self.loading.wait_for(enough).await
    }

    fn is_current(&self, shown: &Shown) -> bool {
        shown.age.load(Ordering::Acquire) == self.shared_state.tools_changed()
    }

    /// What clients see. Lists wait a short time for plugins that are being loaded.
    async fn shown(self: &Arc<Self>) -> Arc<Shown> {
        let is_current = |shown: &&Arc<Shown>| self.is_current(shown);
        if let Some(shown) = self.shown.lock().as_ref().filter(is_current) {
            return shown.clone();
        }
        let mut kept = self.showing.lock().await;
        if let Some(shown) = self.shown.lock().as_ref().filter(is_current) {
            return shown.clone();
        }
        if !*kept {
            *kept = true;
            jobs::run(self);
            let host = Arc::downgrade(self);
            self.upstreams.follow(&self.shutdown, move |event| {
                if let Some(host) = host.upgrade() {
                    host.report(event);
                }
            });
        }
        let (plugins, others) = tokio::join!(self.plugins_for_lists(), self.upstreams.offered());
        let mut plugins = self.loading.so_far().unwrap_or(plugins);
        let shown = loop {
            let lock = &self.upstreams.lock;
            let catalog = Catalog::new(plugins.clone(), others.clone(), lock).await;
            // Held until it is shown: clients are notified of plugins that are loaded later.
            let mut place = self.shown.lock();
            let now = self.loading.so_far();
            if let Some(now) = now.filter(|now| !Arc::ptr_eq(now, &plugins)) {
                plugins = now;
                continue;
            }
            let age = self.shared_state.tools_changed().into();
            let shown = Shown { catalog: Arc::new(catalog), tools: OnceCell::new(), age };
            break place.insert(Arc::new(shown)).clone();
        };
        // Another server may have changed while the catalog was made.
        self.changed();
        shown
    }

    /// The plugins for a list: all, or those that are there soon. Where there is none at all yet, the list
    /// waits for the first.
    async fn plugins_for_lists(self: &Arc<Self>) -> Arc<Plugins> {
        self.loaded(|_| true).await;
        let until = self.loading.deadline();
        match tokio::time::timeout_at(until, self.loaded(|all| all.complete)).await {
            Ok(all) => all,
            Err(_) => self.loaded(|some| some.complete || !some.loaded.is_empty()).await,
        }
    }

    /// More plugins are loaded than before.
    fn more_plugins(&self, plugins: Plugins) {
        self.loading.add(plugins);
        let was_shown = self.shown.lock().take().is_some();
        if was_shown {
            for list in [ListKind::Tools, ListKind::Prompts, ListKind::Resources] {
                self.shared_state.tell(News::List(list));
            }
        }
    }

    /// The catalog and the definitions of its tools. Making the definitions also publishes them to plugins.
    pub async fn tools(self: &Arc<Self>) -> (Arc<Catalog>, Arc<Tools>) {
        let shown = self.shown().await;
        let make = || async {
            let tools = self.with_views(&shown.catalog).await;
            // Notices of changes that plugins sent while they added views need no second round.
            shown.age.store(self.shared_state.tools_changed(), Ordering::Release);
            Arc::new(tools)
        };
        let tools = match shown.tools.get() {
            Some(tools) => tools,
            None => Box::pin(shown.tools.get_or_init(make)).await,
        };
        (shown.catalog.clone(), tools.clone())
    }

    /// Discards the catalog and notifies clients, if the offer of an upstream server differs from what the catalog has.
    pub fn changed(&self) {
        let mut shown = self.shown.lock();
        let Some(before) = &*shown else { return };
        let is_shown = |source: &Arc<UpstreamSource>| {
            source.upstream.known().is_none_or(|now| {
                before.catalog.others.iter().any(|other| Arc::ptr_eq(&other.listing, &now))
            })
        };
        if self.upstreams.all.iter().all(is_shown) {
            return;
        }
        *shown = None;
        for list in [ListKind::Tools, ListKind::Prompts, ListKind::Resources] {
            self.shared_state.tell(News::List(list));
        }
    }

    /// Waits a short time for the plugins, whose advice is part of the answer to `initialize`.
    pub async fn plugins_soon(self: &Arc<Self>) {
        if tokio::time::timeout(SOON, self.catalog()).await.is_err() {
            tracing::info!("the plugins are still being loaded");
        }
    }

    /// Whether a feature is offered. True until all plugins are loaded, as one of them may offer it.
    pub fn offers(&self, feature: Feature) -> bool {
        let Some(shown) = self.shown.lock().clone() else { return true };
        let catalog = &shown.catalog;
        if !catalog.plugins.complete {
            return true;
        }
        let other =
            |capability| catalog.others.iter().any(|other| other.listing.peer.offers(capability));
        match feature {
            Feature::Manifest | Feature::Tools | Feature::Views | Feature::Jobs => true,
            Feature::Prompts => catalog.prompts().next().is_some() || other("prompts"),
            Feature::Resources => catalog.with(feature).next().is_some() || other("resources"),
            Feature::Completions => catalog.with(feature).next().is_some() || other("completions"),
        }
    }
}

/// Loads plugins, and passes on which are there: what is bundled at once, and then all that is known from
/// before; each that has to be compiled when it is ready.
async fn load(host: Weak<Host>, begin: Begin) {
    let mut loader = begin().await;
    let tell = |loader: &Loader| match host.upgrade() {
        Some(host) if !host.shutdown.is_cancelled() => {
            host.more_plugins(loader.so_far());
            true
        }
        _ => false,
    };
    if !tell(&loader) {
        return;
    }
    let mut is_told = true;
    loop {
        let is_compiling = loader.is_compiling();
        if is_compiling && !is_told && !tell(&loader) {
            return;
        }
        if !loader.next().await {
            break;
        }
        is_told = false;
    }
    let all = loader.so_far();
    all.warn();
    let _gone = tell(&loader);
}
