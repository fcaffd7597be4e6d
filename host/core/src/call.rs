//! The pipeline of one call of any source: begins the record, checks the size of the input, lets the source do the
//! work, and ends the record. `call/plugin.rs` and `call/upstream.rs` have the steps that differ between plugins and
//! upstream servers.

pub mod client;
mod consent;
mod designate;
mod guest_paths;
pub mod inner;
mod inner_call;
mod output;
mod plugin;
mod traced;
mod unknown_tool;
pub mod upstream;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use portcullis_audit::{Trail, Verdict};
use portcullis_mcp_client::Object;
use portcullis_roots::Roots;
use serde::de::IgnoredAny;
use serde_json::Value;
use tracing::Instrument as _;

use crate::bindings::types::{ContentBody, Error as ProtocolError};
use crate::capabilities::Capability;
use crate::capabilities::actions::ToolInput;
use crate::capabilities::client::{ClientAsk, PermittedQuestions};
use crate::gate::{Ask as _, Denied};
use crate::sandbox::{self, CallContext};
use crate::schema::Schema;
use crate::source::Source;
use client::Client;

pub use designate::split_at_items;
pub use plugin::record_withheld_call;
pub use traced::{Origin, is_traced};

/// One round of a call: the work, the client and the roots.
pub struct Call<'a> {
    /// The correlation id, which is the same in all rounds. See [`request_id`].
    pub request: String,
    /// The client's request and span, which telemetry names. Empty unless [`is_traced`].
    pub origin: Origin,
    /// What the source does, such as a tool or a prompt.
    pub work: Work,
    /// The roots. A path in the arguments is opened only if it is beneath one of them.
    pub roots: Roots,
    /// The data and the channels of the call that a plugin can use.
    pub context: CallContext,
    /// Whether the call is a task or a job, for which no client waits. The plugin's time limit is then `background-ms`.
    pub task: bool,
    /// The user's decisions since the previous round.
    pub decisions: Vec<Decision>,
    /// The state of an upstream server's previous round, and the client's answers to the questions of that round.
    pub resumed: Option<(upstream::RoundState, Object)>,
    /// The client that is notified and asked, and that can cancel the call.
    pub client: &'a dyn Client,
    /// The tools that the plugin can call. `None`: the source can call no tools.
    pub inner: Option<inner::InnerCalls>,
}

/// The user's decision on a question for consent.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct Decision {
    /// The question, as the audit records it: see [`question`].
    pub question: String,
    /// `accepted`, `declined`, `cancelled` or `unanswered`. If the user was not asked: `agreed-beforehand` or
    /// `could-not-be-asked`.
    pub outcome: String,
}

impl Decision {
    /// Whether the action may happen.
    fn verdict(&self) -> Verdict {
        match self.outcome.as_str() {
            "accepted" | "agreed-beforehand" => Verdict::Allowed,
            _ => Verdict::Denied,
        }
    }
}

/// The text by which the audit records a question to the client.
pub fn question(ask: &crate::bindings::types::Ask) -> String {
    ClientAsk::of(ask).map(|ask| ask.subject()).unwrap_or_default()
}

/// Records decisions that no further round of the call will record.
pub fn record_decisions(
    source: Source<'_>,
    work: &Work,
    request: String,
    principal: Option<String>,
    decisions: &[Decision],
) {
    if let Err(error) = record(&trail_of(source, work, request, principal), decisions) {
        tracing::error!("the user's decisions could not be written to the audit: {error}");
    }
}

/// Records decisions. A call whose decisions cannot be recorded does not run.
fn record(trail: &Trail, decisions: &[Decision]) -> std::io::Result<()> {
    for decision in decisions {
        let Decision { question, outcome } = decision;
        trail.record_outcome(Capability::Client.as_str(), question, decision.verdict(), outcome)?;
    }
    Ok(())
}

/// A tool call.
#[derive(Debug, Clone)]
pub struct ToolCall {
    /// The name of the tool within its source, without a prefix.
    pub name: String,
    /// The arguments: a JSON object.
    pub arguments: Arc<Value>,
}

/// The kinds of work that a source can do. Upstream servers do only four of them: calls of tools, prompts, reads of
/// resources, and completions.
pub type Work = sandbox::Work<ToolCall>;

/// The answer of a plugin, whose questions to the client have passed the gate.
pub type PluginAnswer = sandbox::GuestAnswer<PermittedQuestions>;

/// The answer of a source.
#[derive(Debug)]
pub enum SourceAnswer {
    /// The answer of a plugin, in the types of the plugin contract.
    Plugin(PluginAnswer),
    /// The result of an upstream server, including fields that the host does not know.
    Upstream(Value),
    /// Questions to a client of MCP 2026-07-28: those of an upstream server, or the host's question for consent to the
    /// call.
    UpstreamQuestions {
        /// The questions by their keys, in MCP's JSON.
        requests: Object,
        /// The state that the client sends back with its answers. The state must be sealed before it is sent, so that
        /// the client cannot change it.
        state: upstream::RoundState,
    },
    /// Questions of tools that a plugin has called.
    InnerQuestions(inner::InnerQuestions),
}

impl SourceAnswer {
    /// The outcome in one word, for the audit.
    fn outcome(&self) -> &'static str {
        match self {
            Self::Plugin(answer) => output::outcome(answer),
            Self::Upstream(result) if result["isError"] == true => "tool-error",
            Self::Upstream(_) => "done",
            Self::UpstreamQuestions { .. } | Self::InnerQuestions(_) => "need-input",
        }
    }

    /// Size of the answer in bytes, for the audit.
    fn size(&self) -> u64 {
        match self {
            Self::Plugin(answer) => output::size_of(answer),
            Self::Upstream(result) => {
                serde_json::to_vec(result).map_or(0, |text| text.len() as u64)
            }
            Self::UpstreamQuestions { .. } | Self::InnerQuestions(_) => 0,
        }
    }

    /// The data of a successful tool result as JSON, for views: the structured content, or else the first text that
    /// is a JSON object or list, or else the first text as a JSON string. `None`: the answer is not such a result, or
    /// has no data.
    pub fn data(&self) -> Option<String> {
        match self {
            Self::Plugin(PluginAnswer::Tool(result)) if !result.is_error => {
                let texts = result.content.iter().filter_map(|block| {
                    let ContentBody::Text(text) = &block.body else { return None };
                    Some(text.as_str())
                });
                result.structured.clone().or_else(|| data_in(texts))
            }
            Self::Upstream(result) if result["isError"] != true => {
                let blocks = result["content"].as_array().into_iter().flatten();
                let texts = blocks.filter_map(|block| block["text"].as_str());
                result.get("structuredContent").map(Value::to_string).or_else(|| data_in(texts))
            }
            Self::Plugin(_)
            | Self::Upstream(_)
            | Self::UpstreamQuestions { .. }
            | Self::InnerQuestions(_) => None,
        }
    }
}

/// The first text that is a JSON object or list, or else the first text as a JSON string.
fn data_in<'a>(texts: impl Iterator<Item = &'a str>) -> Option<String> {
    let is_data = |text: &&str| {
        text.trim_start().starts_with(['{', '['])
            && serde_json::from_str::<IgnoredAny>(text).is_ok()
    };
    let texts: Vec<&str> = texts.collect();
    let data = texts.iter().copied().find(is_data).map(str::to_owned);
    data.or_else(|| texts.first().map(|text| Value::from(*text).to_string()))
}

/// Whether MCP allows the answer to this work to be questions to the client.
pub fn may_ask(work: &Work) -> bool {
    match work {
        Work::Tool(_) | Work::Resource(_) | Work::Prompt { .. } => true,
        Work::Resources(_)
        | Work::Version(_)
        | Work::Completion { .. }
        | Work::Views
        | Work::Job(_) => false,
    }
}

/// The tool's input, if the work is a tool call, and the size of the work's input in bytes.
fn input_of(work: &Work) -> (Option<Arc<ToolInput>>, u64) {
    let pairs = |pairs: &[(String, String)]| {
        pairs.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>()
    };
    let size = match work {
        Work::Tool(ToolCall { name, arguments }) => {
            let input = ToolInput::new(name, arguments.clone());
            let size = input.text().len() as u64;
            return (Some(input), size);
        }
        Work::Prompt { arguments, .. } => pairs(arguments),
        Work::Completion { argument, value, context, .. } => {
            argument.len() + value.len() + pairs(context)
        }
        Work::Resources(cursor) => cursor.as_ref().map_or(0, String::len),
        Work::Resource(uri) | Work::Version(uri) => uri.len(),
        Work::Job(job) => job.len(),
        Work::Views => 0,
    };
    (None, size as u64)
}

/// The subject of the call's records: the name of a tool, a text such as `prompts/get NAME`, or the kind of the work.
fn subject_of(work: &Work) -> String {
    match work {
        Work::Tool(call) => call.name.clone(),
        Work::Resources(_) => "resources/list".into(),
        Work::Resource(uri) => format!("resources/read {uri}"),
        Work::Version(uri) => format!("resources/updated {uri}"),
        Work::Prompt { name, .. } => format!("prompts/get {name}"),
        Work::Completion { argument, .. } => format!("completion/complete {argument}"),
        Work::Views => "views".into(),
        Work::Job(_) => "job".into(),
    }
}

/// The audit trail of one call.
fn trail_of(source: Source<'_>, work: &Work, request: String, principal: Option<String>) -> Trail {
    let subject = portcullis_sanitize::line(&subject_of(work), 300);
    match source {
        Source::Plugin(loaded) => loaded.plugin.trail(request, subject, principal),
        Source::Upstream(offered) => {
            let digest = upstream::digest_of(offered, work);
            offered.source.trail(request, subject, digest, principal)
        }
    }
}

/// Why a call failed.
#[derive(Debug)]
pub enum CallFailure {
    /// The caller's fault: there is no such tool, prompt or resource.
    Unknown(String),
    /// The caller's fault: an argument is invalid. The text says what is wrong.
    InvalidArguments(String),
    /// The gate, the roots, the operator's policy for the tool, or the user refused.
    Denied(String),
    /// The caller's fault: the arguments have more bytes than the source's limit.
    ArgumentsTooLarge(String),
    /// A time limit was reached, by the source or by a client that was asked.
    TimedOut(String),
    /// The plugin's fault: its answer has more bytes than `answer-bytes`.
    TooLarge(String),
    /// Too many tasks are running, or the session gets no connection to the upstream server.
    Busy(String),
    /// The plugin ended without an answer, cannot be run, asked too often, or asked a question that the client does not
    /// support or does not answer.
    PluginFailed(String),
    /// The JSON-RPC error of the source, or of a client that was asked. The message is sanitised for display.
    Protocol(ProtocolError),
    /// The upstream server's fault: it did not answer, or its answer is not valid MCP.
    Upstream(String),
    /// The call of an upstream server ended without an answer, for example because the client cancelled it. The text
    /// says why.
    Abandoned(String),
    /// The plugin's fault: its answer does not match its manifest or the contract, or its schema is invalid.
    BrokenPromise(String),
    /// The host's fault, such as an error of the operating system.
    Host(String),
    /// The client cancelled the call.
    Cancelled,
}

impl CallFailure {
    /// The failure in one word, for the audit.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unknown(_) => "unknown",
            Self::InvalidArguments(_) => "invalid-arguments",
            Self::Denied(_) => "denied",
            Self::TimedOut(_) => "timed-out",
            Self::ArgumentsTooLarge(_) | Self::TooLarge(_) => "too-large",
            Self::Busy(_) => "busy",
            Self::PluginFailed(_) => "plugin-failed",
            Self::Protocol(_) => "protocol-error",
            Self::Upstream(_) => "upstream-failed",
            Self::BrokenPromise(_) => "broken-promise",
            Self::Host(_) => "host-failed",
            Self::Abandoned(_) | Self::Cancelled => "cancelled",
        }
    }
}

impl CallFailure {
    /// The verdict for the audit: `Denied` if the host rejected the input, or a permission or the user's consent was
    /// missing, else `Allowed`.
    fn verdict(&self) -> Verdict {
        match self {
            Self::Denied(_) | Self::InvalidArguments(_) | Self::ArgumentsTooLarge(_) => {
                Verdict::Denied
            }
            Self::Unknown(_)
            | Self::TimedOut(_)
            | Self::TooLarge(_)
            | Self::Busy(_)
            | Self::PluginFailed(_)
            | Self::Protocol(_)
            | Self::Upstream(_)
            | Self::Abandoned(_)
            | Self::BrokenPromise(_)
            | Self::Host(_)
            | Self::Cancelled => Verdict::Allowed,
        }
    }
}

impl fmt::Display for CallFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Protocol(error) => f.write_str(&error.message),
            Self::Unknown(why)
            | Self::InvalidArguments(why)
            | Self::Denied(why)
            | Self::ArgumentsTooLarge(why)
            | Self::TimedOut(why)
            | Self::TooLarge(why)
            | Self::Busy(why)
            | Self::PluginFailed(why)
            | Self::BrokenPromise(why)
            | Self::Upstream(why)
            | Self::Abandoned(why)
            | Self::Host(why) => f.write_str(why),
            Self::Cancelled => f.write_str("the call was cancelled"),
        }
    }
}

impl From<Denied> for CallFailure {
    fn from(denied: Denied) -> Self {
        Self::Denied(denied.to_string())
    }
}

/// Serves one call.
///
/// # Errors
///
/// The call was refused, failed or was cancelled: see [`CallFailure`]. Each call is recorded in the audit, however
/// it ends. If the audit cannot be written, the call is refused or its answer is withheld.
pub async fn call(source: Source<'_>, call: Call<'_>) -> Result<SourceAnswer, CallFailure> {
    let traced = traced::Traced::begin(source, &call);
    let served = recorded(source, call).instrument(traced.span()).await;
    traced.end(&served);
    served
}

/// Serves one call, and records it in the audit.
async fn recorded(source: Source<'_>, call: Call<'_>) -> Result<SourceAnswer, CallFailure> {
    let principal = call.context.principal.clone();
    let trail = trail_of(source, &call.work, call.request.clone(), principal);
    let (input, size) = input_of(&call.work);
    let begun = trail.begin_call(size);
    let begun = begun.and_then(|ongoing| record(&trail, &call.decisions).map(|()| ongoing));
    let mut ongoing = begun.map_err(|error| {
        tracing::error!("the audit cannot be written, so the call is refused: {error}");
        CallFailure::Host("the host cannot write its audit, so the call is refused".into())
    })?;
    let mut served = serve(source, &trail, call, (input, size)).await;
    if let Ok(SourceAnswer::Upstream(result)) = &mut served {
        let findings = portcullis_result_findings::mark(result);
        ongoing.add_findings(findings.into_iter().map(|one| one.rule.to_owned()));
    }
    let recorded = match &served {
        Ok(answered) => ongoing.end(Verdict::Allowed, answered.outcome(), answered.size()),
        Err(failure) => ongoing.end(failure.verdict(), failure.code(), 0),
    };
    if let Err(error) = recorded {
        tracing::error!("the audit cannot be written, so the answer is withheld: {error}");
        return Err(CallFailure::Host(
            "the host cannot write its audit, so the answer is withheld".into(),
        ));
    }
    served
}

async fn serve(
    source: Source<'_>,
    trail: &Trail,
    call: Call<'_>,
    (input, size): (Option<Arc<ToolInput>>, u64),
) -> Result<SourceAnswer, CallFailure> {
    let (limit, most) = match source {
        Source::Plugin(loaded) => {
            ("`argument-bytes`", loaded.plugin.terms.limits.argument_bytes.get())
        }
        Source::Upstream(_) => ("the host", upstream::MAX_ARGUMENTS),
    };
    if size > most {
        return Err(CallFailure::ArgumentsTooLarge(format!(
            "the arguments have {size} bytes; {limit} allows {most}"
        )));
    }
    match source {
        // Both futures are boxed, because the futures that contain them are moved several times and should be small.
        Source::Plugin(loaded) => Box::pin(plugin::serve(loaded, trail, call, input)).await,
        Source::Upstream(offered) => Box::pin(upstream::serve(offered, call)).await,
    }
}

/// Checks arguments against the schema of their tool.
fn check_arguments(schema: &Schema, tool: &str, arguments: &Value) -> Result<(), CallFailure> {
    schema.check(arguments).map_err(|faults| {
        CallFailure::InvalidArguments(format!("invalid arguments for `{tool}`: {faults}"))
    })
}

/// A new correlation id: a random number of this process, and a counter.
pub fn request_id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    static PROCESS: std::sync::LazyLock<u64> = std::sync::LazyLock::new(|| {
        getrandom::u64().unwrap_or_else(|_| u64::from(std::process::id()))
    });
    format!("{:08x}-{}", *PROCESS & 0xffff_ffff, NEXT.fetch_add(1, Ordering::Relaxed))
}
