//! Serves inner calls: the calls of tools that a plugin makes during its own call. The plugin's own call is then a
//! *run*. Each inner call goes through the pipeline like a client's call, with the roots, the caller and the client of
//! the run. The request id of an inner call is the id of the run, a full stop, and the number of the inner call.
//!
//! If an inner call has questions for the client, the round ends as soon as the plugin waits and all other inner calls
//! have ended. In the next round, the plugin runs again from the start, and the [`Journal`] answers the inner calls
//! that have ended.

pub(super) mod journal;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::CallFailure;
use super::client::BoxFuture;
use super::inner_call::client::step;
use super::inner_call::{CallEnd, made, may_call_tools, unknown};
use crate::bindings::portcullis::plugin::tool_calls::{Completion, Outcome};
use crate::capabilities::tools::{
    AllTools, CallPermit, KnownTools, Started, ToolCalls, ToolRequest,
};
use crate::catalog::Catalog;
use crate::definitions::entries;
use crate::sandbox::SharedState;
use journal::failure;

pub(super) use super::inner_call::OuterCall;
pub use super::inner_call::{InnerAsk, InnerRound};
pub use journal::Journal;

/// Maximum number of calls of one run that are made at the same time. Further calls wait.
const MAX_RUNNING: usize = 8;

/// The tools that a plugin can call, and its calls in earlier rounds.
pub struct InnerCalls {
    /// The tools and their sources, as far as plugins are loaded.
    pub catalog: Arc<Catalog>,
    /// Waits for the plugins that are still being loaded. `None`: all plugins are loaded.
    pub all: Option<WholeCatalog>,
    /// State that all calls share, with the definitions of the tools.
    pub shared: Arc<SharedState>,
    /// Whether the client may not call the tool of this name. The plugin may not call such a tool, either.
    pub is_excluded: Excludes,
    /// The calls of earlier rounds.
    pub journal: Journal,
    /// The client's answers to the questions of calls, by the number of the call.
    pub rounds: BTreeMap<u32, InnerRound>,
}

/// Waits until all plugins are loaded, and returns the catalog with their tools. The definitions of these tools are
/// then in the shared state.
pub type WholeCatalog = Arc<dyn Fn() -> BoxFuture<'static, Arc<Catalog>> + Send + Sync>;

/// Returns whether a client may not call the tool of this name.
pub type Excludes = Arc<dyn Fn(&Catalog, &str) -> bool + Send + Sync>;

impl InnerCalls {
    /// The first round of a plugin that calls tools of this catalog, for a host without sessions.
    pub fn new(catalog: Arc<Catalog>) -> Self {
        let shared = SharedState::default();
        shared.set_tools(entries(&catalog));
        Self {
            catalog,
            all: None,
            shared: Arc::new(shared),
            is_excluded: Arc::new(|_, _| false),
            journal: Journal::default(),
            rounds: BTreeMap::new(),
        }
    }
}

/// The answer of a round in which calls had questions.
#[derive(Debug)]
pub struct InnerQuestions {
    /// The calls that were made so far.
    pub journal: Journal,
    /// The questions, by the number of the call.
    pub asks: Vec<(u32, InnerAsk)>,
}

impl InnerQuestions {
    /// The names of the tools that have questions, as clients know them.
    pub fn tools(&self) -> impl Iterator<Item = &str> {
        self.asks.iter().filter_map(|(call, _)| self.journal.tool(*call))
    }
}

/// Why the server of the inner calls ends the plugin's round.
pub(super) enum RoundEnd {
    /// The plugin waits, and only for calls that have questions.
    Questions(Vec<(u32, InnerAsk)>),
    /// The time limit that the plugin set for the run has passed. The value is the limit in milliseconds.
    TimedOut(u32),
}

/// A call that waits for its turn.
struct Queued {
    call: u32,
    tool: String,
    arguments: String,
    permit: Option<CallPermit>,
    round: Option<InnerRound>,
}

/// A call that has ended.
struct Finished {
    call: u32,
    tool: String,
    permit: Option<CallPermit>,
    end: CallEnd,
}

/// Serves the calls of one round of a plugin.
pub(super) struct InnerCallServer<'a> {
    run: OuterCall<'a>,
    catalog: Arc<Catalog>,
    all: Option<WholeCatalog>,
    shared: Arc<SharedState>,
    is_excluded: Excludes,
    journal: Journal,
    rounds: BTreeMap<u32, InnerRound>,
    requests: UnboundedReceiver<ToolRequest>,
    /// The number of completions of the journal that the plugin knows in this round.
    told: usize,
    /// Completions of calls that the plugin does not know yet.
    ready: VecDeque<Completion>,
    queue: VecDeque<Queued>,
    asks: Vec<(u32, InnerAsk)>,
    /// The time limit that the plugin set for the run: when it is reached, and its milliseconds.
    until: Option<(Instant, u32)>,
    /// Set while the plugin waits for a completion: where the completion is sent.
    waiting: Option<oneshot::Sender<Option<Completion>>>,
}

impl<'a> InnerCallServer<'a> {
    /// The server, and the guest's access to it.
    pub fn new(calls: InnerCalls, run: OuterCall<'a>) -> (Self, ToolCalls) {
        let InnerCalls { catalog, all, shared, is_excluded, journal, rounds } = calls;
        let (sender, requests) = unbounded_channel();
        let known = known_tools(catalog.clone(), &shared, is_excluded.clone());
        let all_tools = all.clone().map(|all| all_tools(all, shared.clone(), is_excluded.clone()));
        let replayed = journal.started().into();
        let guest = ToolCalls::new(sender, known, all_tools, replayed);
        let server = Self {
            run,
            catalog,
            all,
            shared,
            is_excluded,
            journal,
            rounds,
            requests,
            told: 0,
            ready: VecDeque::new(),
            queue: VecDeque::new(),
            asks: Vec::new(),
            until: None,
            waiting: None,
        };
        (server, guest)
    }

    /// The calls that were made so far.
    pub fn into_journal(self) -> Journal {
        self.journal
    }

    /// Adds the calls of the run to a failure of the plugin, because the effects of these calls remain.
    pub fn explain(&self, failure: CallFailure) -> CallFailure {
        let Some(made) = self.journal.made() else { return failure };
        let told =
            |why: String| format!("{why}; it had made these calls, whose effects remain: {made}");
        match failure {
            CallFailure::TimedOut(why) => CallFailure::TimedOut(told(why)),
            CallFailure::PluginFailed(why) => CallFailure::PluginFailed(told(why)),
            CallFailure::TooLarge(why) => CallFailure::TooLarge(told(why)),
            CallFailure::BrokenPromise(why) => CallFailure::BrokenPromise(told(why)),
            other @ (CallFailure::Unknown(_)
            | CallFailure::InvalidArguments(_)
            | CallFailure::Denied(_)
            | CallFailure::ArgumentsTooLarge(_)
            | CallFailure::Busy(_)
            | CallFailure::Protocol(_)
            | CallFailure::Upstream(_)
            | CallFailure::Abandoned(_)
            | CallFailure::Host(_)
            | CallFailure::Cancelled) => other,
        }
    }

    /// Serves the plugin's requests until questions or the run's time limit end the round. If the plugin's answer ends
    /// the round first, this future is dropped, and the calls that still run are dropped with it.
    pub async fn serve(&mut self) -> RoundEnd {
        let mut running = FuturesUnordered::<BoxFuture<'a, Finished>>::new();
        loop {
            while running.len() < MAX_RUNNING
                && let Some(next) = self.queue.pop_front()
            {
                running.push(self.make(next));
            }
            if self.answer(running.is_empty()) {
                return RoundEnd::Questions(std::mem::take(&mut self.asks));
            }
            let until = self.until;
            tokio::select! {
                request = self.requests.recv() => match request {
                    Some(request) => self.accept(request),
                    // The instance is gone: the plugin's answer or failure is about to end the round.
                    None => std::future::pending().await,
                },
                Some(finished) = running.next() => self.finish(finished).await,
                () = wait_until(until) => {
                    return RoundEnd::TimedOut(until.map_or(0, |(_, milliseconds)| milliseconds));
                }
            }
        }
    }

    /// Sends the next completion to a plugin that waits for one. Returns `true` if the plugin waits, and only calls
    /// with questions are left: no further completion is possible in this round.
    fn answer(&mut self, is_idle: bool) -> bool {
        let Some(reply) = self.waiting.take() else { return false };
        if self.told == self.journal.ended()
            && let Some(ready) = self.ready.pop_front()
        {
            self.journal.add(ready);
        }
        let next = self.journal.completion(self.told).cloned();
        if next.is_none() && !is_idle {
            self.waiting = Some(reply);
            return false;
        }
        if next.is_none() && !self.asks.is_empty() {
            return true;
        }
        self.told += usize::from(next.is_some());
        // Sending fails if the instance is gone.
        let _gone = reply.send(next);
        false
    }

    fn accept(&mut self, request: ToolRequest) {
        match request {
            ToolRequest::Begin { program, digest, milliseconds, reply } => {
                if let (Some(trail), Some(digest)) = (self.run.keeps, digest)
                    && let Err(error) = trail.keep_program(&digest, &program)
                {
                    tracing::error!("a program cannot be kept, so it is not run: {error}");
                    let _gone = reply.send(Err("the host cannot keep the program".into()));
                    return;
                }
                let limit = milliseconds
                    .map(|limit| (Instant::now() + Duration::from_millis(limit.into()), limit));
                self.until = limit;
                let _gone = reply.send(Ok(self.journal.begin()));
            }
            ToolRequest::Start { call, tool, arguments, permit } => {
                self.journal.start(call, Started::of(&tool, &arguments));
                if self.journal.has_ended(call) {
                    return;
                }
                if call >= self.run.most {
                    let most = self.run.most;
                    let why =
                        format!("this run has made {most} calls; `tool-calls` allows no more");
                    return self.refuse(call, permit, Outcome::Failed(failure("limit", why)));
                }
                let round = self.rounds.remove(&call);
                self.queue.push_back(Queued { call, tool, arguments, permit, round });
            }
            ToolRequest::Refuse { call, started, failure } => {
                self.journal.start(call, started);
                self.refuse(call, None, Outcome::Failed(failure));
            }
            ToolRequest::Next(reply) => self.waiting = Some(reply),
        }
    }

    fn refuse(&mut self, call: u32, permit: Option<CallPermit>, outcome: Outcome) {
        if let Some(permit) = permit {
            permit.end("limit");
        }
        let completion = self.journal.completion_of(call, outcome);
        self.ready.push_back(completion);
    }

    async fn finish(&mut self, finished: Finished) {
        let Finished { call, tool, permit, end } = finished;
        if let Some(permit) = permit {
            permit.end(end.word());
        }
        if self.run.client.is_notified() {
            let told = step(self.run.steps, &tool, end.word());
            self.run.client.notify(told).await;
        }
        match end {
            CallEnd::Asks(ask) => self.asks.push((call, ask)),
            CallEnd::Outcome(outcome) => {
                let completion = self.journal.completion_of(call, outcome);
                self.ready.push_back(completion);
            }
        }
    }

    fn make(&self, queued: Queued) -> BoxFuture<'a, Finished> {
        let Queued { call, tool, arguments, permit, round } = queued;
        let (run, mut catalog, shared) = (self.run, self.catalog.clone(), self.shared.clone());
        let (is_excluded, all) = (self.is_excluded.clone(), self.all.clone());
        Box::pin(async move {
            if let Some(all) = all.filter(|_| catalog.tool(&tool).is_none()) {
                // The tool may belong to a plugin that is still being loaded.
                catalog = all().await;
            }
            let end = if is_excluded(&catalog, &tool) {
                // The plugin gets the same failure as for a tool that does not exist.
                unknown(&tool)
            } else {
                made(run, &catalog, &shared, (call, &tool, &arguments), round).await
            };
            Finished { call, tool, permit, end }
        })
    }
}

/// The tools of a catalog, for a guest.
fn known_tools(catalog: Arc<Catalog>, shared: &SharedState, is_excluded: Excludes) -> KnownTools {
    let is_callable = move |name: &str| {
        let found = catalog.tool(name).filter(|_| !is_excluded(&catalog, name));
        found.is_some_and(|tool| !may_call_tools(tool.source()))
    };
    KnownTools { entries: shared.tools(), is_callable: Arc::new(is_callable) }
}

/// The tools of the catalog with all plugins, for a guest that waits for them.
fn all_tools(all: WholeCatalog, shared: Arc<SharedState>, is_excluded: Excludes) -> AllTools {
    Arc::new(move || {
        let (all, shared, is_excluded) = (all(), shared.clone(), is_excluded.clone());
        Box::pin(async move { known_tools(all.await, &shared, is_excluded) })
    })
}

async fn wait_until(until: Option<(Instant, u32)>) {
    match until {
        Some((until, _)) => tokio::time::sleep_until(until).await,
        None => std::future::pending().await,
    }
}
