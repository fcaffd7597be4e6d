//! Makes one round of an inner call, up to the end of the call or its questions for the client.

pub(super) mod client;
mod value;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use portcullis_audit::Trail;
use portcullis_mcp_client::Object;
use portcullis_roots::Roots;
use serde_json::Value;

use super::client::{BoxFuture, Client};
use super::inner::journal::failure;
use super::upstream::RoundState;
use super::{Call, CallFailure, Decision, Origin, PluginAnswer, SourceAnswer, ToolCall, Work};
use crate::bindings::portcullis::plugin::tool_calls::Outcome;
use crate::capabilities::client::PermittedQuestions;
use crate::catalog::Catalog;
use crate::plugins::LoadedPlugin;
use crate::sandbox::{CallContext, Feature, SharedState};
use crate::source::Source;
use client::InnerClient;

/// The data for one round of an inner call.
pub struct InnerRound {
    /// The context of the call. After questions, it has the answers and the state of the called plugin.
    pub context: CallContext,
    /// The user's decisions since the previous round.
    pub decisions: Vec<Decision>,
    /// The state of an upstream server's previous round, and the answers.
    pub resumed: Option<(RoundState, Object)>,
}

/// The questions of one inner call.
pub enum InnerAsk {
    /// The questions of a plugin.
    Plugin(Arc<LoadedPlugin>, PermittedQuestions),
    /// The questions of an upstream server, or the question for consent to its call. The second value is the state of
    /// the call.
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

/// The run: the call of the plugin that makes the inner calls.
#[derive(Clone, Copy)]
pub(super) struct OuterCall<'a> {
    pub request: &'a str,
    pub origin: &'a Origin,
    pub roots: &'a Roots,
    pub context: &'a CallContext,
    pub client: &'a dyn Client,
    pub task: bool,
    /// The maximum number of calls.
    pub most: u32,
    /// The number of progress notifications about inner calls that this round of the run has sent.
    pub steps: &'a AtomicU64,
    /// The audit trail that keeps the program that the plugin executes, such as a model's script. `None`: the grant
    /// does not say that programs are kept.
    pub keeps: Option<&'a Trail>,
}

/// How a round of a call ended: with the outcome of the call, or with questions.
pub(super) enum CallEnd {
    Outcome(Outcome),
    Asks(InnerAsk),
}

impl CallEnd {
    fn failed(kind: &str, message: impl Into<String>) -> Self {
        Self::Outcome(Outcome::Failed(failure(kind, message)))
    }

    /// The outcome in one word, for the audit.
    pub fn word(&self) -> &str {
        match self {
            Self::Outcome(Outcome::Value(_)) => "done",
            Self::Outcome(Outcome::Failed(failure)) => &failure.kind,
            Self::Asks(_) => "need-input",
        }
    }
}

/// Whether a source is a plugin that may call tools. No plugin can call the tools of such a plugin, so runs are never
/// nested.
pub(super) fn may_call_tools(source: Source<'_>) -> bool {
    source.plugin().is_some_and(|loaded| loaded.may_call_tools())
}

/// The failure of a call of an unknown tool.
pub(super) fn unknown(tool: &str) -> CallEnd {
    let tool = portcullis_sanitize::line(tool, 128);
    CallEnd::failed("unknown", format!("unknown tool: {tool}"))
}

/// Makes one call, up to its end or its questions.
pub(super) async fn made(
    run: OuterCall<'_>,
    catalog: &Catalog,
    shared: &Arc<SharedState>,
    (call, tool, arguments): (u32, &str, &str),
    round: Option<InnerRound>,
) -> CallEnd {
    let Some(found) = catalog.tool(tool) else { return unknown(tool) };
    let source = found.source();
    if may_call_tools(source) {
        let why =
            format!("`{tool}` belongs to a plugin that may call tools, so no tool can call it");
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
            answer @ (SourceAnswer::Plugin(_)
            | SourceAnswer::Upstream(_)
            | SourceAnswer::UpstreamQuestions { .. }
            | SourceAnswer::InnerQuestions(_)) => return end_of(source, answer),
        }
    }
}

/// Converts the answer of a tool for the plugin that called the tool.
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
            CallEnd::failed("broken-promise", "the tool returned an answer of the wrong kind")
        }
    }
}

/// The first round of a call. The called plugin sees the protocol, the principal, `_meta` and the features of the run,
/// and nothing else of the run's context.
fn first_round(run: &CallContext) -> InnerRound {
    let CallContext { protocol, principal, meta, features, .. } = run.clone();
    let context = CallContext { protocol, principal, meta, features, ..CallContext::default() };
    InnerRound { context, decisions: Vec::new(), resumed: None }
}

/// Sends a call through the pipeline. The future is boxed, because the pipeline calls itself here.
fn through_pipeline<'c>(
    source: Source<'c>,
    call: Call<'c>,
) -> BoxFuture<'c, Result<SourceAnswer, CallFailure>> {
    Box::pin(crate::call::call(source, call))
}
