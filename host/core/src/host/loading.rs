//! The progress of loading plugins: the plugins that are loaded so far, and waiting for more.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::plugins::{Loader, LoadingProgress, Plugins};

/// How long lists wait for plugins, counted from the start of loading, and how long the answer to `initialize` waits
/// for all sources if no upstream server is new. Plugins with cached compiled code take less time. Others may take a
/// minute to compile.
pub(super) const LIST_WAIT: Duration = Duration::from_millis(500);

/// How long lists wait while files of plugins are still being opened, counted from the start of loading. Large files on
/// a busy machine or a slow disk take longer than [`LIST_WAIT`].
const OPENING_WAIT: Duration = Duration::from_secs(10);

/// Starts a loader of plugins.
pub(super) type BeginLoading =
    Box<dyn FnOnce() -> Pin<Box<dyn Future<Output = Loader> + Send>> + Send>;

/// The plugins that are loaded so far.
pub(super) struct Loading {
    /// `None`: not even the bundled plugins are loaded.
    plugins: watch::Sender<Option<Arc<Plugins>>>,
    /// Taken when loading begins.
    begin: Mutex<Option<BeginLoading>>,
    /// When loading began. `None`: it has not begun, or all plugins were loaded from the start.
    began: Mutex<Option<Instant>>,
}

impl Loading {
    /// A state in which no plugin is loaded.
    pub(super) fn new(begin: BeginLoading) -> Self {
        Self {
            plugins: watch::channel(None).0,
            begin: Mutex::new(Some(begin)),
            began: Mutex::default(),
        }
    }

    /// A state in which all plugins are loaded.
    pub(super) fn ended(plugins: Plugins) -> Self {
        Self {
            plugins: watch::channel(Some(Arc::new(plugins))).0,
            begin: Mutex::default(),
            began: Mutex::default(),
        }
    }

    /// Takes the function that starts the loader. `None`: an earlier caller took it. The waiting time of lists starts
    /// with the first call.
    pub(super) fn begin(&self) -> Option<BeginLoading> {
        let begin = self.begin.lock().take()?;
        *self.began.lock() = Some(Instant::now());
        Some(begin)
    }

    /// The plugins for a list: see [`is_enough_for_lists`].
    pub(super) async fn for_lists(&self) -> Arc<Plugins> {
        let began = self.began.lock().unwrap_or_else(Instant::now);
        let is_enough = |plugins: &Plugins| {
            is_enough_for_lists(plugins.progress, !plugins.loaded.is_empty(), began.elapsed())
        };
        for wait in [LIST_WAIT, OPENING_WAIT] {
            if let Ok(found) = timeout_at(began + wait, self.wait_for(is_enough)).await {
                return found;
            }
        }
        self.wait_for(is_enough).await
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

/// Whether a list shows the plugins that are loaded so far. `is_any_loaded`: whether a plugin is loaded. `waited`: the time
/// since loading began. A list waits a short time for all plugins, longer for those that only have to be opened, and as
/// long as necessary for the first one. Clients are told of plugins that are loaded later.
fn is_enough_for_lists(progress: LoadingProgress, is_any_loaded: bool, waited: Duration) -> bool {
    match progress {
        LoadingProgress::Complete => true,
        LoadingProgress::Compiling => is_any_loaded && waited >= LIST_WAIT,
        LoadingProgress::Opening => is_any_loaded && waited >= OPENING_WAIT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loading(progress: LoadingProgress) -> Loading {
        let loading = Loading::ended(Plugins { progress, ..Plugins::default() });
        *loading.began.lock() = Some(Instant::now());
        loading
    }

    #[test]
    fn a_list_waits_longer_for_plugins_that_only_have_to_be_opened() {
        use LoadingProgress::{Compiling, Complete, Opening};
        let enough =
            |progress, millis| is_enough_for_lists(progress, true, Duration::from_millis(millis));
        assert!(enough(Complete, 0));
        assert!(!enough(Compiling, 499));
        assert!(enough(Compiling, 500));
        assert!(!enough(Opening, 9_999));
        assert!(enough(Opening, 10_000));
    }

    #[test]
    fn a_list_waits_for_the_first_plugin_unless_all_are_refused() {
        use LoadingProgress::{Compiling, Complete, Opening};
        let late = Duration::from_secs(3_600);
        assert!(!is_enough_for_lists(Opening, false, late));
        assert!(!is_enough_for_lists(Compiling, false, late));
        assert!(is_enough_for_lists(Complete, false, Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_gets_the_plugins_that_were_opened_while_it_waited() {
        let loading = loading(LoadingProgress::Opening);
        let later = async {
            tokio::time::sleep(Duration::from_secs(3)).await;
            let remarks = vec!["all".to_owned()];
            loading.add(Plugins {
                progress: LoadingProgress::Complete,
                remarks,
                ..Plugins::default()
            });
        };
        let began = Instant::now();
        let (found, ()) = tokio::join!(loading.for_lists(), later);
        assert_eq!(found.remarks, ["all"]);
        assert_eq!(began.elapsed(), Duration::from_secs(3));
    }
}
