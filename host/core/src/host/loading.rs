//! Loading of the plugins: it begins when they are first needed, and what is loaded so far can be waited for.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::plugins::{Loader, Plugins};

/// How long introductions and lists wait for plugins that are not loaded yet, counted from when loading began.
/// Plugins that are known from before take less; those that have to be compiled first may take a minute.
pub(super) const SOON: Duration = Duration::from_millis(500);

/// Makes a loader of plugins.
pub(super) type Begin = Box<dyn FnOnce() -> Pin<Box<dyn Future<Output = Loader> + Send>> + Send>;

/// The plugins that are loaded so far.
pub(super) struct Loading {
    /// `None`: not even what is bundled.
    plugins: watch::Sender<Option<Arc<Plugins>>>,
    /// Taken when loading begins.
    begin: Mutex<Option<Begin>>,
    /// Until when lists wait for plugins.
    deadline: Mutex<Option<Instant>>,
}

impl Loading {
    /// Nothing is loaded yet.
    pub(super) fn new(begin: Begin) -> Self {
        Self {
            plugins: watch::channel(None).0,
            begin: Mutex::new(Some(begin)),
            deadline: Mutex::default(),
        }
    }

    /// What makes the loader, for the first who asks: the time of lists runs from then on.
    pub(super) fn begin(&self) -> Option<Begin> {
        let begin = self.begin.lock().take()?;
        *self.deadline.lock() = Some(Instant::now() + SOON);
        Some(begin)
    }

    /// Until when lists wait for plugins.
    pub(super) fn deadline(&self) -> Instant {
        self.deadline.lock().unwrap_or_else(Instant::now)
    }

    /// Waits until as many plugins are loaded as that.
    pub(super) async fn wait_for(&self, enough: impl Fn(&Plugins) -> bool) -> Arc<Plugins> {
        let mut plugins = self.plugins.subscribe();
        let found = plugins.wait_for(|plugins| plugins.as_ref().is_some_and(|one| enough(one)));
        let found = found.await.expect("the sender lives as long as this value").clone();
        found.expect("it was waited for")
    }

    /// What is loaded so far.
    pub(super) fn so_far(&self) -> Option<Arc<Plugins>> {
        self.plugins.borrow().clone()
    }

    /// More plugins are loaded than before.
    pub(super) fn add(&self, plugins: Plugins) {
        self.plugins.send_replace(Some(Arc::new(plugins)));
    }
}
