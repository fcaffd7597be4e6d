//! The progress of loading plugins: the plugins that are loaded so far, and waiting for more.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::plugins::{Loader, Plugins};

/// How long lists wait for plugins, counted from the start of loading, and how long the answer to `initialize` waits
/// for all sources if no upstream server is new. Plugins with cached compiled code take less time. Others may take a
/// minute to compile.
pub(super) const LIST_WAIT: Duration = Duration::from_millis(500);

/// Starts a loader of plugins.
pub(super) type BeginLoading =
    Box<dyn FnOnce() -> Pin<Box<dyn Future<Output = Loader> + Send>> + Send>;

/// The plugins that are loaded so far.
pub(super) struct Loading {
    /// `None`: not even the bundled plugins are loaded.
    plugins: watch::Sender<Option<Arc<Plugins>>>,
    /// Taken when loading begins.
    begin: Mutex<Option<BeginLoading>>,
    /// Until when lists wait for plugins.
    deadline: Mutex<Option<Instant>>,
}

impl Loading {
    /// A state in which no plugin is loaded.
    pub(super) fn new(begin: BeginLoading) -> Self {
        Self {
            plugins: watch::channel(None).0,
            begin: Mutex::new(Some(begin)),
            deadline: Mutex::default(),
        }
    }

    /// A state in which all plugins are loaded.
    pub(super) fn ended(plugins: Plugins) -> Self {
        Self {
            plugins: watch::channel(Some(Arc::new(plugins))).0,
            begin: Mutex::default(),
            deadline: Mutex::default(),
        }
    }

    /// Takes the function that starts the loader. `None`: an earlier caller took it. The waiting time of lists starts
    /// with the first call.
    pub(super) fn begin(&self) -> Option<BeginLoading> {
        let begin = self.begin.lock().take()?;
        *self.deadline.lock() = Some(Instant::now() + LIST_WAIT);
        Some(begin)
    }

    /// Until when lists wait for plugins.
    pub(super) fn deadline(&self) -> Instant {
        self.deadline.lock().unwrap_or_else(Instant::now)
    }

    /// Waits until `is_enough` is true of the loaded plugins.
    pub(super) async fn wait_for(&self, is_enough: impl Fn(&Plugins) -> bool) -> Arc<Plugins> {
        let mut plugins = self.plugins.subscribe();
        let found = plugins.wait_for(|plugins| plugins.as_ref().is_some_and(|all| is_enough(all)));
        let found = found.await.expect("the sender lives as long as this value").clone();
        found.expect("`wait_for` returns plugins only")
    }

    /// The plugins that are loaded so far.
    pub(super) fn so_far(&self) -> Option<Arc<Plugins>> {
        self.plugins.borrow().clone()
    }

    /// Replaces the loaded plugins by `plugins`, which has all of them and further ones.
    pub(super) fn add(&self, plugins: Plugins) {
        self.plugins.send_replace(Some(Arc::new(plugins)));
    }
}
