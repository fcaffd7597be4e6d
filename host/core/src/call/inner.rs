//! Calls that a plugin makes during its own call, a *run*. Each goes through the pipeline like the call of a client,
//! with the roots, the caller and the client of the run, and a request id of its own: that of the run, a full stop, and
//! the number of the call.
//!
//! A call that has a question ends the round as soon as the plugin waits for nothing else. In the next round, the
//! plugin runs again from the start, and the [`Journal`] answers the calls that have ended.

mod client;
mod journal;
mod value;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use portcullis_audit::Trail;
use portcullis_mcp_client::Object;
use portcullis_roots::Roots;
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::client::{BoxFuture, Client};
use super::upstream::RoundState;
use super::{Call, CallFailure, Decision, Origin, PluginAnswer, SourceAnswer, ToolCall, Work};
use crate::bindings::portcullis::plugin::tool_calls::{Completion, Outcome};
use crate::capabilities::client::PermittedQuestions;
use crate::capabilities::tools::{CallPermit, Started, ToolCalls, ToolRequest};
use crate::catalog::Catalog;
use crate::host::entries;
use crate::plugins::LoadedPlugin;
use crate::sandbox::{Context, Feature, SharedState};
use crate::source::Source;
use client::{InnerClient, step};
use journal::failure;

pub use journal::Journal;

/// Maximum number of calls of one run that are made at the same time. Further calls wait.
const MAX_RUNNING: usize = 8;

/// What a plugin needs to call tools, and what it did in earlier rounds.
pub struct InnerCalls {
    /// The tools and their sources.
    pub catalog: Arc<Catalog>,
    /// State that all calls share, with the definitions of the tools.
    pub shared: Arc<SharedState>,
    /// What was done in earlier rounds.
    pub journal: Journal,
    /// The client's answers to the questions of calls, by the number of the call.
    pub rounds: BTreeMap<u32, InnerRound>,
}

impl InnerCalls {
    /// The first round of a plugin that calls tools of this catalog, for a host without sessions.
    pub fn new(catalog: Arc<Catalog>) -> Self {
        let shared = SharedState::default();
        shared.set_tools(entries(&catalog));
        Self {
            catalog,
            shared: Arc::new(shared),
            journal: Journal::default(),
            rounds: BTreeMap::new(),
        }
    }
}

/// What a call gets that continues after its questions.
pub struct InnerRound {
    /// What a plugin can read about the call: answers and state.
    pub context: Context,
    /// The user's decisions since the previous round.
    pub decisions: Vec<Decision>,
    /// The state of an upstream server's previous round, and the answers.
    pub resumed: Option<(RoundState, Object)>,
}

/// The answer of a round in which calls had questions.
#[derive(Debug)]
pub struct InnerQuestions {
    /// What was done so far.
    pub journal: Journal,
    /// The questions, by the number of the call.
    pub asks: Vec<(u32, InnerAsk)>,
}

impl InnerQuestions {
    /// The tools that have questions, as clients know them.
    pub fn tools(&self) -> impl Iterator<Item = &str> {
        self.asks.iter().filter_map(|(call, _)| self.journal.tool(*call))
    }
}

/// The questions of one call.
pub enum InnerAsk {
    /// Of a plugin.
    Plugin(Arc<LoadedPlugin>, PermittedQuestions),
    /// Of an upstream server, with its state.
    Upstream(Object, RoundState),
}

impl std::fmt::Debug for InnerAsk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Plugin(loaded, _) => f.debug_tuple("Plugin").field(&loaded.plugin.name).finish(),
            Self::Upstream(requests, _) => f.debug_tuple("Upstream").field(requests).finish(),
        }
    }
}

/// The plugin's own call, of which its calls are parts.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    pub request: &'a str,
    pub origin: &'a Origin,
    pub roots: &'a Roots,
    pub context: &'a Context,
    pub client: &'a dyn Client,
    pub task: bool,
    /// The maximum number of calls.
    pub most: u32,
    /// The steps of the run's progress.
    pub steps: &'a AtomicU64,
    /// The trail beside which programs are kept. `None`: the operator does not keep them.
    pub keeps: Option<&'a Trail>,
}

/// Why the calls of a plugin end its round.
pub(super) enum End {
    /// The plugin waits, and only for calls that have questions.
    Questions(Vec<(u32, InnerAsk)>),
    /// The time limit that the plugin set itself has passed: its milliseconds.
    TimedOut(u32),
}

/// How a call ended.
enum CallEnd {
    Outcome(Outcome),
    Asks(InnerAsk),
}

impl CallEnd {
    fn failed(kind: &str, message: impl Into<String>) -> Self {
        Self::Outcome(Outcome::Failed(failure(kind, message)))
    }

    /// The outcome in one word, for the audit.
    fn word(&self) -> &str {
        match self {
            Self::Outcome(Outcome::Value(_)) => "done",
            Self::Outcome(Outcome::Failed(failure)) => &failure.kind,
            Self::Asks(_) => "need-input",
        }
    }
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
pub(super) struct Server<'a> {
    run: Run<'a>,
    catalog: Arc<Catalog>,
    shared: Arc<SharedState>,
    journal: Journal,
    rounds: BTreeMap<u32, InnerRound>,
    requests: UnboundedReceiver<ToolRequest>,
    /// The number of completions of the journal that the plugin knows in this round.
    told: usize,
    /// Calls that have ended and that the plugin does not know of.
    ready: VecDeque<Completion>,
    queue: VecDeque<Queued>,
    asks: Vec<(u32, InnerAsk)>,
    /// When the plugin's own time limit is reached, and its milliseconds.
    until: Option<(Instant, u32)>,
    /// The plugin waits for a completion.
    waiting: Option<oneshot::Sender<Option<Completion>>>,
}

impl<'a> Server<'a> {
    /// The server, and what the guest gets.
    pub fn new(calls: InnerCalls, run: Run<'a>) -> (Self, ToolCalls) {
        let InnerCalls { catalog, shared, journal, rounds } = calls;
        let (sender, requests) = unbounded_channel();
        let known = catalog.clone();
        let is_callable = move |name: &str| {
            known.tool(name).is_some_and(|tool| !calls_tools(tool.source()))
        };
        let replayed = journal.started().into();
        let guest = ToolCalls::new(sender, shared.tools(), Arc::new(is_callable), replayed);
        let server = Self {
            run,
            catalog,
            shared,
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

    /// What was done so far.
    pub fn into_journal(self) -> Journal {
        self.journal
    }

    /// A failure of the plugin, with the calls that it made before: their effects remain.
    pub fn explain(&self, failure: CallFailure) -> CallFailure {
        let Some(made) = self.journal.made() else { return failure };
        let told = |why: String| format!("{why}; it had made these calls, whose effects remain: {made}");
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

    /// Serves the plugin's requests until its calls end the round. Otherwise the plugin's answer ends it, and this
    /// future is dropped, with the calls that still run.
    pub async fn serve(&mut self) -> End {
        let mut running = FuturesUnordered::<BoxFuture<'a, Finished>>::new();
        loop {
            while running.len() < MAX_RUNNING
                && let Some(next) = self.queue.pop_front()
            {
                running.push(self.make(next));
            }
            if self.answer(running.is_empty()) {
                return End::Questions(std::mem::take(&mut self.asks));
            }
            let until = self.until;
            tokio::select! {
                request = self.requests.recv() => match request {
                    Some(request) => self.accept(request),
                    // The instance is gone: the plugin's answer is about to end the round.
                    None => std::future::pending().await,
                },
                Some(finished) = running.next() => self.finish(finished).await,
                () = wait_until(until) => {
                    return End::TimedOut(until.map_or(0, |(_, milliseconds)| milliseconds));
                }
            }
        }
    }

    /// Answers a plugin that waits, if there is an answer. `true`: there will be none in this round.
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
                let limit = milliseconds.map(|limit| {
                    (Instant::now() + Duration::from_millis(limit.into()), limit)
                });
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
                    let why = format!("this run has made {most} calls; `tool-calls` allows no more");
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

    /// Makes a call.
    fn make(&self, queued: Queued) -> BoxFuture<'a, Finished> {
        let Queued { call, tool, arguments, permit, round } = queued;
        let (run, catalog, shared) = (self.run, self.catalog.clone(), self.shared.clone());
        Box::pin(async move {
            let end = made(run, &catalog, &shared, (call, &tool, &arguments), round).await;
            Finished { call, tool, permit, end }
        })
    }
}

/// Whether a source is a plugin that calls tools itself. No plugin can call its tools: a run has one level.
fn calls_tools(source: Source<'_>) -> bool {
    source.plugin().is_some_and(|loaded| loaded.calls_tools())
}

async fn wait_until(until: Option<(Instant, u32)>) {
    match until {
        Some((until, _)) => tokio::time::sleep_until(until).await,
        None => std::future::pending().await,
    }
}

/// Makes one call, up to its end or its questions.
async fn made(
    run: Run<'_>,
    catalog: &Catalog,
    shared: &Arc<SharedState>,
    (call, tool, arguments): (u32, &str, &str),
    round: Option<InnerRound>,
) -> CallEnd {
    let Some(found) = catalog.tool(tool) else {
        let tool = portcullis_sanitize::line(tool, 128);
        return CallEnd::failed("unknown", format!("unknown tool: {tool}"));
    };
    let source = found.source();
    if calls_tools(source) {
        let why = format!("`{tool}` calls tools itself, so it cannot be called by a tool");
        return CallEnd::failed("denied", why);
    }
    let arguments = match serde_json::from_str::<Value>(arguments) {
        Ok(arguments @ Value::Object(_)) => Arc::new(arguments),
        Ok(_) | Err(_) => {
            let why = format!("the arguments of `{tool}` are not a JSON object");
            return CallEnd::failed("invalid-arguments", why);
        }
    };
    let InnerRound { mut context, mut decisions, mut resumed } =
        round.unwrap_or_else(|| first_round(run.context));
    context.shared = Some(shared.clone());
    let has_jobs = source.plugin().is_some_and(|one| one.features.contains(&Feature::Jobs));
    context.job_roots = has_jobs.then(|| run.roots.clone());
    let client = InnerClient { outer: run.client, tool, steps: run.steps };
    loop {
        let inner = Call {
            request: format!("{}.{call}", run.request),
            origin: run.origin.clone(),
            work: Work::Tool(ToolCall {
                name: found.own_name().to_owned(),
                arguments: arguments.clone(),
            }),
            roots: run.roots.clone(),
            context: context.clone(),
            task: run.task,
            decisions: std::mem::take(&mut decisions),
            resumed: resumed.take(),
            client: &client,
            inner: None,
        };
        let answer = match through_pipeline(source, inner).await {
            Ok(answer) => answer,
            Err(failure) => return CallEnd::failed(failure.code(), failure.to_string()),
        };
        shared.keep_result(run.context.principal.clone(), tool, || answer.data());
        match answer {
            SourceAnswer::Plugin(PluginAnswer::Background(state)) if !context.background => {
                (context.background, context.state) = (true, state);
            }
            other => return end_of(source, other),
        }
    }
}

/// What an answer means for the plugin that made the call.
fn end_of(source: Source<'_>, answer: SourceAnswer) -> CallEnd {
    match (answer, source) {
        (SourceAnswer::Plugin(PluginAnswer::Tool(result)), _) => {
            CallEnd::Outcome(value::of_plugin(result))
        }
        (SourceAnswer::Plugin(PluginAnswer::NeedInput(need)), Source::Plugin(loaded)) => {
            CallEnd::Asks(InnerAsk::Plugin(loaded.clone(), need))
        }
        (SourceAnswer::Upstream(result), _) => CallEnd::Outcome(value::of_upstream(result)),
        (SourceAnswer::UpstreamQuestions { requests, state }, _) => {
            CallEnd::Asks(InnerAsk::Upstream(requests, state))
        }
        (SourceAnswer::Plugin(_) | SourceAnswer::InnerQuestions(_), _) => {
            CallEnd::failed("broken-promise", "the answer of the tool is of another kind")
        }
    }
}

/// What a call can read in its first round: what the run can, without the run's own rounds.
fn first_round(run: &Context) -> InnerRound {
    let Context { protocol, principal, meta, features, .. } = run.clone();
    let context = Context { protocol, principal, meta, features, ..Context::default() };
    InnerRound { context, decisions: Vec::new(), resumed: None }
}

/// Boxed with its type, because the pipeline contains this module.
fn through_pipeline<'c>(
    source: Source<'c>,
    call: Call<'c>,
) -> BoxFuture<'c, Result<SourceAnswer, CallFailure>> {
    Box::pin(super::call(source, call))
}
