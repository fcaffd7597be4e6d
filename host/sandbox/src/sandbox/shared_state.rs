//! State shared by all calls of one host: notifications, deferred jobs, and the tools and answers that plugins may see.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};
use portcullis_roots::Roots;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Notify, broadcast};

use super::outbox::Outbox;
use crate::bindings::portcullis::plugin::catalog::Entry;
use crate::bindings::portcullis::plugin::request::ListKind;

/// Maximum number of notifications that wait for a slow client. If there are more, the oldest are lost: see [`News::next`].
const MAX_BROADCASTS: usize = 256;

/// Maximum number of waiting jobs of one plugin.
const MAX_JOBS: usize = 32;

/// Maximum number of tool answers that are kept for plugins with the capability `catalog`.
const MAX_RESULTS: usize = 256;
/// Maximum size of a kept answer, in bytes.
const MAX_RESULT_BYTES: usize = 64 * 1024;

/// A notification to all clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Broadcast {
    /// A resource has changed.
    Resource(String),
    /// A list has changed.
    List(ListKind),
    /// Any resource may have changed, because what was said about them was lost.
    AnyResource,
}

/// The notifications that one client gets.
pub struct News {
    received: broadcast::Receiver<Broadcast>,
    /// What the client is told instead of what was lost.
    instead_of_lost: Vec<Broadcast>,
}

impl News {
    /// The next notification. If some were lost, because the client takes them too slowly, the client is told that all
    /// lists and resources may have changed. `None`: the host has ended.
    pub async fn next(&mut self) -> Option<Broadcast> {
        loop {
            if let Some(one) = self.instead_of_lost.pop() {
                return Some(one);
            }
            match self.received.recv().await {
                Ok(one) => return Some(one),
                Err(RecvError::Lagged(_)) => {
                    let lists = [ListKind::Tools, ListKind::Prompts, ListKind::Resources];
                    self.instead_of_lost.push(Broadcast::AnyResource);
                    self.instead_of_lost.extend(lists.map(Broadcast::List));
                }
                Err(RecvError::Closed) => return None,
            }
        }
    }
}

/// A job that a plugin deferred.
#[derive(Debug)]
pub struct DeferredJob {
    /// The name of the plugin.
    pub plugin: Arc<str>,
    /// The correlation id of the request in which the job was first deferred.
    pub request: String,
    /// The plugin's data for the job.
    pub job: Vec<u8>,
    /// The roots of the call that deferred the job.
    pub roots: Roots,
}

/// The principal and the tool of a kept answer.
type ResultKey = (Option<String>, String);

/// State shared by all calls of one host.
pub struct SharedState {
    /// What plugins said, for the other hosts of a cluster.
    pub outbox: Outbox,
    news: broadcast::Sender<Broadcast>,
    tools_generation: AtomicU64,
    have_views_changed: AtomicBool,
    jobs: Mutex<VecDeque<DeferredJob>>,
    more_jobs: Notify,
    tools: RwLock<Arc<[Entry]>>,
    are_results_wanted: AtomicBool,
    results: Mutex<(HashMap<ResultKey, String>, VecDeque<ResultKey>)>,
}

impl Default for SharedState {
    fn default() -> Self {
        Self {
            outbox: Outbox::default(),
            news: broadcast::channel(MAX_BROADCASTS).0,
            tools_generation: AtomicU64::new(0),
            have_views_changed: AtomicBool::new(false),
            jobs: Mutex::default(),
            more_jobs: Notify::new(),
            tools: RwLock::new(Arc::new([])),
            are_results_wanted: AtomicBool::new(false),
            results: Mutex::default(),
        }
    }
}

impl SharedState {
    /// Notifies all clients.
    pub fn tell(&self, news: Broadcast) {
        if news == Broadcast::List(ListKind::Tools) {
            self.tools_generation.fetch_add(1, Ordering::AcqRel);
        }
        // Sending fails if no client listens.
        let _nobody = self.news.send(news);
    }

    /// Notifies all clients, also those of other hosts, on behalf of a plugin. Returns the number of the news in
    /// [`Self::outbox`], if there are other hosts.
    pub(super) fn tell_for_plugin(&self, news: Broadcast) -> Option<u64> {
        let number = self.outbox.add(&news);
        self.tell_of_plugin(news);
        number
    }

    /// Notifies the clients of this host of what a plugin said here or at another host. A change of the list of tools also
    /// marks the views of all plugins as changed.
    pub fn tell_of_plugin(&self, news: Broadcast) {
        if news == Broadcast::List(ListKind::Tools) {
            self.have_views_changed.store(true, Ordering::Release);
        }
        self.tell(news);
    }

    /// Whether a plugin has reported a change of the list of tools since the start of the host.
    pub fn have_views_changed(&self) -> bool {
        self.have_views_changed.load(Ordering::Acquire)
    }

    /// A receiver of all notifications from now on.
    pub fn listen(&self) -> News {
        News { received: self.news.subscribe(), instead_of_lost: Vec::new() }
    }

    /// A number that grows with each reported change of the list of tools.
    pub fn tools_generation(&self) -> u64 {
        self.tools_generation.load(Ordering::Acquire)
    }

    /// Adds a job, unless the same job waits already. `false`: too many jobs of the plugin wait.
    pub fn add_job(&self, plugin: Arc<str>, request: &str, job: Vec<u8>, roots: &Roots) -> bool {
        let mut jobs = self.jobs.lock();
        let mut own = jobs.iter().filter(|other| other.plugin == plugin);
        if own.clone().any(|other| other.job == job) {
            return true;
        }
        if own.nth(MAX_JOBS - 1).is_some() {
            return false;
        }
        let (request, roots) = (request.to_owned(), roots.clone());
        jobs.push_back(DeferredJob { plugin, request, job, roots });
        self.more_jobs.notify_one();
        true
    }

    /// Waits for the next job, and removes it from the queue.
    pub async fn next_job(&self) -> DeferredJob {
        loop {
            let more = self.more_jobs.notified();
            if let Some(job) = self.jobs.lock().pop_front() {
                return job;
            }
            more.await;
        }
    }

    /// The tools that plugins with the capability `catalog` may see.
    pub fn tools(&self) -> Arc<[Entry]> {
        self.tools.read().clone()
    }

    /// Replaces the tools that plugins may see.
    pub fn set_tools(&self, tools: Vec<Entry>) {
        *self.tools.write() = tools.into();
    }

    /// Sets whether any plugin may see answers of tools, or ask about them. If no plugin may, no answer is kept
    /// from now on, and those that were kept are removed: they would no longer be the last ones when a plugin may see
    /// answers again.
    pub fn want_results(&self, is_wanted: bool) {
        let mut results = self.results.lock();
        self.are_results_wanted.store(is_wanted, Ordering::Relaxed);
        if !is_wanted {
            *results = Default::default();
        }
    }

    /// Keeps the data of a tool's answer for the caller, as JSON, if some plugin may see answers. If there are no data,
    /// or more than `MAX_RESULT_BYTES`, the caller's previous answer of this tool is removed instead. If there are too
    /// many answers, the answer whose pair of caller and tool was added first is removed.
    pub fn keep_result(
        &self,
        principal: Option<String>,
        tool: &str,
        result: impl FnOnce() -> Option<String>,
    ) {
        if !self.are_results_wanted.load(Ordering::Relaxed) {
            return;
        }
        let result = result().filter(|result| result.len() <= MAX_RESULT_BYTES);
        let key = (principal, tool.to_owned());
        let mut results = self.results.lock();
        if !self.are_results_wanted.load(Ordering::Relaxed) {
            // Since the beginning of this function, the configuration was read again.
            return;
        }
        let (kept, order) = &mut *results;
        let Some(result) = result else {
            if kept.remove(&key).is_some() {
                order.retain(|other| *other != key);
            }
            return;
        };
        if kept.insert(key.clone(), result).is_none() {
            order.push_back(key);
        }
        if order.len() > MAX_RESULTS
            && let Some(oldest) = order.pop_front()
        {
            kept.remove(&oldest);
        }
    }

    /// The data of the last answer of a tool to this caller, if they were kept.
    pub fn result(&self, principal: Option<String>, tool: &str) -> Option<String> {
        self.results.lock().0.get(&(principal, tool.to_owned())).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn each_job_waits_once_and_the_number_of_jobs_is_limited() {
        let shared = SharedState::default();
        assert!(shared.add_job("a".into(), "first", b"1".to_vec(), &Roots::default()));
        assert!(
            shared.add_job("a".into(), "second", b"1".to_vec(), &Roots::default()),
            "it waits already"
        );
        for job in 0..MAX_JOBS {
            shared.add_job("a".into(), "", vec![u8::try_from(job).unwrap(), 0], &Roots::default());
        }
        assert!(!shared.add_job("a".into(), "", b"one too many".to_vec(), &Roots::default()));
        assert!(
            shared.add_job("b".into(), "", b"1".to_vec(), &Roots::default()),
            "another plugin's jobs do not count"
        );
        let first = shared.next_job().await;
        assert_eq!((&*first.request, &*first.job), ("first", b"1".as_slice()));
        assert_eq!(shared.next_job().await.job, [0, 0]);
    }

    #[tokio::test]
    async fn a_client_that_lost_notifications_is_told_that_everything_may_have_changed() {
        let shared = SharedState::default();
        let mut news = shared.listen();
        let one = |n: usize| Broadcast::Resource(format!("a://{n}"));
        (0..MAX_BROADCASTS).for_each(|n| shared.tell(one(n)));
        assert_eq!(news.next().await, Some(one(0)), "all of them wait");
        (0..2).for_each(|n| shared.tell(one(n)));
        for list in [ListKind::Resources, ListKind::Prompts, ListKind::Tools] {
            assert_eq!(news.next().await, Some(Broadcast::List(list)));
        }
        assert_eq!(news.next().await, Some(Broadcast::AnyResource));
        assert_eq!(news.next().await, Some(one(2)), "only the oldest were lost");
        drop(shared);
        for _ in 0..MAX_BROADCASTS - 1 {
            assert!(news.next().await.is_some());
        }
        assert_eq!(news.next().await, None);
    }

    #[test]
    fn an_answer_is_for_its_caller_alone() {
        let shared = SharedState::default();
        let text = |text: &'static str| move || Some(text.to_owned());
        shared.keep_result(None, "t", text("{}"));
        assert_eq!(shared.result(None, "t"), None, "no plugin may see answers");
        shared.want_results(true);
        shared.keep_result(Some("ada".into()), "t", text("{}"));
        assert_eq!(shared.result(Some("ada".into()), "t").as_deref(), Some("{}"));
        assert_eq!(shared.result(None, "t"), None);
        shared.want_results(false);
        shared.keep_result(Some("ada".into()), "t", text("[]"));
        shared.want_results(true);
        assert_eq!(shared.result(Some("ada".into()), "t"), None, "it is not the last answer");
        shared.keep_result(Some("ada".into()), "t", text("{}"));
        shared.keep_result(None, "t", text("1"));
        shared.keep_result(None, "t", || Some("x".repeat(MAX_RESULT_BYTES + 1)));
        assert_eq!(
            shared.result(None, "t"),
            None,
            "the last answer is too long, and the one before is not the last"
        );
        for tool in 0..MAX_RESULTS {
            shared.keep_result(None, &tool.to_string(), text("1"));
        }
        assert_eq!(shared.result(Some("ada".into()), "t"), None, "the oldest answer is removed");
    }
}
