//! State shared by all calls of one host: news for clients, jobs for later, and the tools that plugins may see.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};
use portcullis_roots::Roots;
use tokio::sync::{Notify, broadcast};

use crate::bindings::portcullis::plugin::catalog::Entry;
use crate::bindings::portcullis::plugin::request::ListKind;

/// News that may wait for a slow client before it misses some.
const NEWS: usize = 256;

/// Jobs of one plugin that may wait.
const MAX_JOBS: usize = 32;

/// Answers that are kept for plugins that may see them, and the longest of them, in bytes.
const MAX_RESULTS: usize = 256;
const MAX_RESULT: usize = 64 * 1024;

/// What clients beside the caller may want to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// A resource has changed.
    Resource(String),
    /// A list has changed.
    List(ListKind),
}

/// Something a plugin asked to be called with later.
#[derive(Debug)]
pub struct LaterJob {
    /// Which plugin.
    pub plugin: Arc<str>,
    /// The request that it belongs to: the one in which it was put off first.
    pub request: String,
    /// What it wrote itself.
    pub job: Vec<u8>,
    /// The roots of the call that put it off.
    pub roots: Roots,
}

/// Whose answer, and of which tool.
type ResultOf = (Option<String>, String);

/// State shared by all calls of one host.
pub struct SharedState {
    news: broadcast::Sender<News>,
    tools_changed: AtomicU64,
    views_changed: AtomicBool,
    jobs: Mutex<VecDeque<LaterJob>>,
    more_jobs: Notify,
    tools: RwLock<Arc<[Entry]>>,
    results_wanted: AtomicBool,
    results: Mutex<(HashMap<ResultOf, String>, VecDeque<ResultOf>)>,
}

impl Default for SharedState {
    fn default() -> Self {
        Self {
            news: broadcast::channel(NEWS).0,
            tools_changed: AtomicU64::new(0),
            views_changed: AtomicBool::new(false),
            jobs: Mutex::default(),
            more_jobs: Notify::new(),
            tools: RwLock::new(Arc::new([])),
            results_wanted: AtomicBool::new(false),
            results: Mutex::default(),
        }
    }
}

impl SharedState {
    /// Tells all clients.
    pub fn tell(&self, news: News) {
        if news == News::List(ListKind::Tools) {
            self.tools_changed.fetch_add(1, Ordering::AcqRel);
        }
        // No client listens.
        let _nobody = self.news.send(news);
    }

    /// Tells all clients what a plugin says. Where it is about the list of tools, its views may be others
    /// from now on.
    pub fn tell_for_plugin(&self, news: News) {
        if news == News::List(ListKind::Tools) {
            self.views_changed.store(true, Ordering::Release);
        }
        self.tell(news);
    }

    /// Whether a plugin has said so since the host began.
    pub fn have_views_changed(&self) -> bool {
        self.views_changed.load(Ordering::Acquire)
    }

    /// The news from here on.
    pub fn listen(&self) -> broadcast::Receiver<News> {
        self.news.subscribe()
    }

    /// A number that grows whenever the list of tools is said to have changed.
    pub fn tools_changed(&self) -> u64 {
        self.tools_changed.load(Ordering::Acquire)
    }

    /// Keeps a job, unless too many of that plugin wait. One that waits already is not added again.
    pub fn later(&self, plugin: Arc<str>, request: &str, job: Vec<u8>, roots: &Roots) -> bool {
        let mut jobs = self.jobs.lock();
        let mut own = jobs.iter().filter(|other| other.plugin == plugin);
        if own.clone().any(|other| other.job == job) {
            return true;
        }
        if own.nth(MAX_JOBS - 1).is_some() {
            return false;
        }
        let (request, roots) = (request.to_owned(), roots.clone());
        jobs.push_back(LaterJob { plugin, request, job, roots });
        self.more_jobs.notify_one();
        true
    }

    /// The next job, once there is one.
    pub async fn next_job(&self) -> LaterJob {
        loop {
            let more = self.more_jobs.notified();
            if let Some(job) = self.jobs.lock().pop_front() {
                return job;
            }
            more.await;
        }
    }

    /// The tools that plugins with the capability may see.
    pub fn tools(&self) -> Arc<[Entry]> {
        self.tools.read().clone()
    }

    /// From now on these are the tools.
    pub fn set_tools(&self, tools: Vec<Entry>) {
        *self.tools.write() = tools.into();
    }

    /// Says whether any plugin may see answers: none is kept for nobody.
    pub fn want_results(&self, wanted: bool) {
        self.results_wanted.store(wanted, Ordering::Relaxed);
    }

    /// Keeps a tool's structured answer, for that caller; the oldest ones go.
    pub fn keep_result(
        &self,
        principal: Option<String>,
        tool: &str,
        result: impl FnOnce() -> String,
    ) {
        if !self.results_wanted.load(Ordering::Relaxed) {
            return;
        }
        let result = result();
        if result.len() > MAX_RESULT {
            return;
        }
        let key = (principal, tool.to_owned());
        let mut results = self.results.lock();
        let (kept, order) = &mut *results;
        if kept.insert(key.clone(), result).is_none() {
            order.push_back(key);
        }
        if order.len() > MAX_RESULTS
            && let Some(oldest) = order.pop_front()
        {
            kept.remove(&oldest);
        }
    }

    /// The structured answer that this caller last had from a tool.
    pub fn result(&self, principal: Option<String>, tool: &str) -> Option<String> {
        self.results.lock().0.get(&(principal, tool.to_owned())).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn jobs_wait_once_each_and_not_without_end() {
        let shared = SharedState::default();
        assert!(shared.later("a".into(), "first", b"1".to_vec(), &Roots::default()));
        assert!(
            shared.later("a".into(), "second", b"1".to_vec(), &Roots::default()),
            "it waits already"
        );
        for job in 0..MAX_JOBS {
            shared.later("a".into(), "", vec![u8::try_from(job).unwrap(), 0], &Roots::default());
        }
        assert!(!shared.later("a".into(), "", b"one too many".to_vec(), &Roots::default()));
        assert!(
            shared.later("b".into(), "", b"1".to_vec(), &Roots::default()),
            "another plugin's jobs do not count"
        );
        let first = shared.next_job().await;
        assert_eq!((&*first.request, &*first.job), ("first", b"1".as_slice()));
        assert_eq!(shared.next_job().await.job, [0, 0]);
    }

    #[test]
    fn an_answer_is_for_its_caller_alone() {
        let shared = SharedState::default();
        let text = |text: &'static str| move || text.to_owned();
        shared.keep_result(None, "t", text("{}"));
        assert_eq!(shared.result(None, "t"), None, "nobody may see it");
        shared.want_results(true);
        shared.keep_result(Some("ada".into()), "t", text("{}"));
        assert_eq!(shared.result(Some("ada".into()), "t").as_deref(), Some("{}"));
        assert_eq!(shared.result(None, "t"), None);
        shared.keep_result(None, "t", || "x".repeat(MAX_RESULT + 1));
        assert_eq!(shared.result(None, "t"), None, "it is too long to be kept");
        for tool in 0..MAX_RESULTS {
            shared.keep_result(None, &tool.to_string(), text("1"));
        }
        assert_eq!(shared.result(Some("ada".into()), "t"), None, "the oldest goes");
    }
}
