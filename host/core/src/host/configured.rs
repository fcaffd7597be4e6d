//! What the configuration decides, as one value that a reload of the configuration replaces.

use std::sync::Arc;

use parking_lot::Mutex;
use portcullis_checked_files::Records;
use portcullis_roots::Roots;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use super::VisibleCatalog;
use super::loading::Loading;
use crate::catalog::Catalog;
use crate::plugins::{Loader, Plugins};
use crate::upstreams::Upstreams;

/// The plugins, the upstream servers and the roots of one configuration, and the catalog that is made of them.
pub struct Configured {
    pub(super) loading: Loading,
    /// The catalog of the bundled plugins alone. Other sources take no names from bundled plugins, so calls of bundled
    /// plugins do not wait for other sources.
    pub(super) bundled: OnceCell<Arc<Catalog>>,
    /// The upstream servers.
    pub upstreams: Arc<Upstreams>,
    /// The operator's roots.
    pub roots: Roots,
    /// The views that plugins last declared for the listed tools.
    pub(super) views: Records,
    /// The published catalog. `None`: it has not been made yet, or was discarded after a change.
    pub(super) shown: Mutex<Option<Arc<VisibleCatalog>>>,
    /// Serialises the making of the catalog. The value: whether the events of upstream servers are reported.
    pub(super) has_reports: tokio::sync::Mutex<bool>,
    /// Cancelled when another configuration takes the place of this one.
    is_replaced: CancellationToken,
}

impl Configured {
    /// A configuration whose plugins are loaded when they are first needed. `load` begins the loading.
    pub fn new<F: Future<Output = Loader> + Send + 'static>(
        roots: Roots,
        upstreams: Upstreams,
        views: Records,
        load: impl FnOnce() -> F + Send + 'static,
    ) -> Self {
        Self::of(roots, upstreams, views, Loading::new(Box::new(move || Box::pin(load()))))
    }

    /// A configuration whose plugins are loaded already.
    pub fn with_loaded(
        roots: Roots,
        upstreams: Upstreams,
        views: Records,
        plugins: Plugins,
    ) -> Self {
        Self::of(roots, upstreams, views, Loading::ended(plugins))
    }

    fn of(roots: Roots, upstreams: Upstreams, views: Records, loading: Loading) -> Self {
        Self {
            loading,
            bundled: OnceCell::new(),
            upstreams: Arc::new(upstreams),
            roots,
            views,
            shown: Mutex::new(None),
            has_reports: tokio::sync::Mutex::new(false),
            is_replaced: CancellationToken::new(),
        }
    }

    /// The plugins that are loaded so far. `None`: not even the bundled plugins are loaded.
    pub fn plugins_now(&self) -> Option<Arc<Plugins>> {
        self.loading.so_far()
    }

    /// Ends the reports of events of upstream servers.
    pub(super) fn end_reports(&self) {
        self.is_replaced.cancel();
    }

    /// A token that is cancelled when this configuration is replaced, or when `shutdown` is cancelled.
    pub(super) fn reports_until(&self, shutdown: &CancellationToken) -> CancellationToken {
        let until = shutdown.child_token();
        let (replaced, end) = (self.is_replaced.clone(), until.clone());
        tokio::spawn(async move {
            end.run_until_cancelled(replaced.cancelled()).await;
            end.cancel();
        });
        until
    }
}
