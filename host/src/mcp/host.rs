//! What all sessions share: plugins, other servers, and what clients see of them until something changes.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _, Shared};
use parking_lot::Mutex;
use portcullis_raw::Raw;
use portcullis_records::Records;
use portcullis_roots::Roots;
use portcullis_upstream::Object;
use portcullis_wrap::{Source, Upstreams, Wrap};
use rmcp::model::Tool as McpTool;
use rmcp::task_manager::TaskManager;
use serde_json::Value;
use tokio::sync::{OnceCell, broadcast};
use tokio_util::sync::CancellationToken;

use super::session::Session;
use super::{input, jobs};
use crate::bindings::portcullis::plugin::request::ListKind;
use crate::catalog::Catalog;
use crate::plugins::Plugins;
use crate::sandbox::{Around, Feature, News};

/// Log records that may wait for a slow client before it misses some.
const LOGS: usize = 256;

/// How often it is looked whether calls are in flight, when the host is to end.
const IDLE_STEP: Duration = Duration::from_millis(50);

/// How long a client's introduction waits for the plugins.
const SOON: Duration = Duration::from_millis(500);

/// What all sessions share.
pub struct Host {
    plugins: Shared<BoxFuture<'static, Arc<Plugins>>>,
    /// Other MCP servers.
    pub upstreams: Arc<Upstreams>,
    pub(super) shown: Mutex<Option<Arc<Shown>>>,
    /// Held while that is being made.
    showing: tokio::sync::Mutex<bool>,
    /// What plugins said of the tools when they were last asked.
    pub(super) dressings: Records,
    /// The operator's roots.
    pub(super) roots: Roots,
    pub(super) seal: input::Seal,
    /// The key under which results travel that rmcp's types would change.
    pub raw: Raw,
    pub(super) wrap: Wrap,
    pub(super) calls: AtomicUsize,
    pub(super) tasks: TaskManager,
    pub(super) around: Arc<Around>,
    /// Log records of other servers that belong to no request.
    pub(super) logs: broadcast::Sender<Object>,
    /// Those that said which log records they want.
    pub(super) logging: Mutex<Vec<Weak<Session>>>,
    /// Fires when the process is about to end: calls in flight are then given up.
    pub shutdown: CancellationToken,
}

/// What clients see, until something changes.
pub(super) struct Shown {
    pub(super) catalog: Arc<Catalog>,
    /// Its tools, made when they are first listed or called: an introduction does without.
    pub(super) tools: OnceCell<Arc<Tools>>,
    /// See [`Around::tools_changed`].
    pub(super) age: AtomicU64,
}

/// Tools as clients see them.
pub(super) struct Tools {
    /// As they are defined.
    pub(super) whole: Vec<Value>,
    /// The same in rmcp's types.
    pub(super) typed: Vec<McpTool>,
}

impl Host {
    /// A host that loads its plugins, and starts other servers, when they are first needed.
    pub fn new(
        roots: Roots,
        upstreams: Upstreams,
        dressed: Records,
        load: impl Future<Output = Arc<Plugins>> + Send + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            plugins: load.boxed().shared(),
            upstreams: Arc::new(upstreams),
            shown: Mutex::new(None),
            showing: tokio::sync::Mutex::new(false),
            dressings: dressed,
            roots,
            seal: input::Seal::new(),
            raw: Raw::new().expect("the system has randomness"),
            wrap: Wrap::default(),
            calls: AtomicUsize::new(0),
            tasks: TaskManager::new(),
            around: Arc::default(),
            logs: broadcast::channel(LOGS).0,
            logging: Mutex::default(),
            shutdown: CancellationToken::new(),
        })
    }

    /// What clients can see.
    pub async fn catalog(self: &Arc<Self>) -> Arc<Catalog> {
        self.shown().await.catalog.clone()
    }

    pub(super) async fn shown(self: &Arc<Self>) -> Arc<Shown> {
        let is_new =
            |shown: &&Arc<Shown>| shown.age.load(Ordering::Acquire) == self.around.tools_changed();
        if let Some(shown) = self.shown.lock().as_ref().filter(is_new) {
            return shown.clone();
        }
        let mut kept = self.showing.lock().await;
        if let Some(shown) = self.shown.lock().as_ref().filter(is_new) {
            return shown.clone();
        }
        if !*kept {
            *kept = true;
            jobs::run(self);
            let host = Arc::downgrade(self);
            self.upstreams.keep(&self.shutdown, move |heard| {
                if let Some(host) = host.upgrade() {
                    host.hear(heard);
                }
            });
        }
        let plugins = self.plugins.clone().await;
        let catalog = Arc::new(Catalog::new(plugins, self.upstreams.offered().await));
        let age = self.around.tools_changed().into();
        let shown = Arc::new(Shown { catalog, tools: OnceCell::new(), age });
        *self.shown.lock() = Some(shown.clone());
        shown
    }

    /// What clients see, with the tools, which plugins can from now on see, too.
    pub(super) async fn tools(self: &Arc<Self>) -> (Arc<Catalog>, Arc<Tools>) {
        let shown = self.shown().await;
        let make = || async {
            let tools = self.dressed(&shown.catalog).await;
            // What plugins said while they dressed the tools is already seen to.
            shown.age.store(self.around.tools_changed(), Ordering::Release);
            Arc::new(tools)
        };
        let tools = match shown.tools.get() {
            Some(tools) => tools,
            None => Box::pin(shown.tools.get_or_init(make)).await,
        };
        (shown.catalog.clone(), tools.clone())
    }

    /// Another server offers something else than before.
    pub(super) fn changed(&self) {
        let mut shown = self.shown.lock();
        let Some(before) = &*shown else { return };
        let is_shown = |source: &Arc<Source>| {
            source.upstream.known().is_none_or(|now| {
                before.catalog.others.iter().any(|other| Arc::ptr_eq(&other.listing, &now))
            })
        };
        if self.upstreams.all.iter().all(is_shown) {
            return;
        }
        *shown = None;
        for list in [ListKind::Tools, ListKind::Prompts, ListKind::Resources] {
            self.around.tell(News::List(list));
        }
    }

    /// Waits until no call is in flight, and what was answered last had time to be written.
    pub async fn idle(&self) {
        while self.calls.load(Ordering::Relaxed) > 0 {
            tokio::time::sleep(IDLE_STEP).await;
        }
        tokio::time::sleep(IDLE_STEP).await;
    }

    /// Waits for the plugins, whose advice is part of the introduction; but not for what takes long,
    /// which a later session will know.
    pub(super) async fn plugins_soon(self: &Arc<Self>) {
        if tokio::time::timeout(SOON, self.catalog()).await.is_err() {
            tracing::info!("the plugins are still being loaded");
        }
    }

    /// Whether a feature is offered. As long as the plugins are being loaded: it may be.
    pub(super) fn offers(&self, feature: Feature) -> bool {
        let Some(shown) = self.shown.lock().clone() else { return true };
        let catalog = &shown.catalog;
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
