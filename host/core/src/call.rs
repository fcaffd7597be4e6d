//! One call, from start to end, whatever its source: begin the record, check the input, ask the gate for permits, run,
//! check the output, end the record. What plugins and upstream servers do differently is in `call/plugin.rs` and `call/upstream.rs`.

pub mod client;
mod designate;
mod output;
mod plugin;
pub mod upstream;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use portcullis_audit::{Trail, Verdict};
use portcullis_mcp_client::Object;
use portcullis_roots::Roots;
use serde_json::Value;

use crate::bindings::types::Error as ProtocolError;
use crate::capabilities::Capability;
use crate::capabilities::actions::ToolInput;
use crate::capabilities::client::{ClientAsk, PermittedQuestions};
use crate::gate::{Ask as _, Denied};
use crate::sandbox::{self, Context};
use crate::schema::Schema;
use crate::source::Source;
use client::Client;

pub use plugin::attempted;

/// What is asked of a source, by whom and where.
pub struct Call<'a> {
    /// Host-made correlation id.
    pub request: String,
    /// What is asked for.
    pub work: Work,
    /// The directories that the call may reach.
    pub roots: Roots,
    /// What the guest of a plugin can learn of the call.
    pub context: Context,
    /// Whether the call runs without a client that waits, as a task or a job does: its limit of time is
    /// `background-ms`.
    pub task: bool,
    /// What users decided since the round before.
    pub decisions: Vec<Decision>,
    /// What an upstream server's round before left, and the client's answers to its questions.
    pub resumed: Option<(upstream::RoundState, Object)>,
    /// The client: notified, asked, and able to cancel.
    pub client: &'a dyn Client,
}

/// What came of a question whether the user agrees.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct Decision {
    /// The question, as its record has it: see [`question`].
    pub question: String,
    /// `accepted`, `declined`, `cancelled`, `unanswered`; or `agreed-beforehand`, `could-not-be-asked`.
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

/// The text of a question to the client in its record.
pub fn question(ask: &crate::bindings::types::Ask) -> String {
    ClientAsk::of(ask).map(|ask| ask.subject()).unwrap_or_default()
}

/// Records decisions that no further call of the source will record.
pub fn decided(
    source: Source<'_>,
    work: &Work,
    request: String,
    principal: Option<String>,
    decisions: &[Decision],
) {
    if let Err(error) = record(&trail_of(source, work, request, principal), decisions) {
        tracing::error!("the audit does not contain what the user decided: {error}");
    }
}

/// Records what users decided. Where that fails, what they agreed to does not happen.
fn record(trail: &Trail, decisions: &[Decision]) -> std::io::Result<()> {
    for decision in decisions {
        let Decision { question, outcome } = decision;
        trail.record_outcome(Capability::Client.as_str(), question, decision.verdict(), outcome)?;
    }
    Ok(())
}

/// A tool call in the source's terms.
#[derive(Debug, Clone)]
pub struct ToolCall {
    /// The source's own name for the tool.
    pub name: String,
    /// Its arguments: a JSON object. They are shared by the rounds of a call.
    pub arguments: Arc<Value>,
}

/// What can be asked of a source. An upstream server is asked for tools, prompts, resources and completions only.
pub type Work = sandbox::Work<ToolCall>;

/// What a plugin answers, with questions that it may ask.
pub type Answer = sandbox::Answer<PermittedQuestions>;

/// What a source answers.
#[derive(Debug)]
pub enum Answered {
    /// The answer of a plugin, in the types of the contract.
    Typed(Answer),
    /// The result of an upstream server, as it came: unknown fields are kept.
    Whole(Value),
    /// Questions of an upstream server for a client of 2026-07-28.
    Questions {
        /// By their keys, as the upstream server asks them.
        requests: Object,
        /// What has to come back with the answers. The caller must seal it: otherwise the
        /// client could change it.
        state: upstream::RoundState,
    },
}

impl Answered {
    /// One word for the audit.
    fn outcome(&self) -> &'static str {
        match self {
            Self::Typed(answer) => output::outcome(answer),
            Self::Whole(result) if result["isError"] == true => "tool-error",
            Self::Whole(_) => "done",
            Self::Questions { .. } => "need-input",
        }
    }

    /// Size of the answer in bytes, for the audit.
    fn size(&self) -> u64 {
        match self {
            Self::Typed(answer) => output::size_of(answer),
            Self::Whole(result) => serde_json::to_vec(result).map_or(0, |text| text.len() as u64),
            Self::Questions { .. } => 0,
        }
    }

    /// The structured content of a tool that succeeded: it is displayed as JSON.
    pub fn structured(&self) -> Option<&dyn fmt::Display> {
        match self {
            Self::Typed(Answer::Tool(result)) if !result.is_error => {
                result.structured.as_ref().map(|text| text as &dyn fmt::Display)
            }
            Self::Whole(result) if result["isError"] != true => {
                result.get("structuredContent").map(|value| value as &dyn fmt::Display)
            }
            Self::Typed(_) | Self::Whole(_) | Self::Questions { .. } => None,
        }
    }
}

/// Whether the protocol lets this work end in questions to the client.
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

/// The input of a tool; and the size of all input in bytes.
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

/// For the audit: a tool by its name, everything else by what it is and its name.
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

/// The trail of one call: its records.
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

/// How it went wrong, and whose fault it was.
#[derive(Debug)]
pub enum CallFailure {
    /// The caller's: there is no such thing.
    Unknown(String),
    /// The caller's: what is wrong with which argument.
    InvalidArguments(String),
    /// The gate or the roots refused.
    Denied(String),
    /// The caller's: the arguments are over the source's limit.
    ArgumentsTooLarge(String),
    /// A limit of time was reached; which.
    TimedOut(String),
    /// The source's: its answer is over a limit; or too much is going on.
    TooLarge(String),
    /// The plugin's: it ended without an answer.
    PluginFailed(String),
    /// The source's own JSON-RPC error, sanitised for display.
    Protocol(ProtocolError),
    /// The upstream server's: it did not answer, or not with what MCP has.
    Upstream(String),
    /// The rounds of questions ended without an answer: why.
    Abandoned(String),
    /// The plugin's: its answer is not what it promised.
    BrokenPromise(String),
    /// The host's.
    Host(String),
    /// The caller gave up.
    Cancelled,
}

impl CallFailure {
    /// One word for the audit.
    fn code(&self) -> &'static str {
        match self {
            Self::Unknown(_) => "unknown",
            Self::InvalidArguments(_) => "invalid-arguments",
            Self::Denied(_) => "denied",
            Self::TimedOut(_) => "timed-out",
            Self::ArgumentsTooLarge(_) | Self::TooLarge(_) => "too-large",
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
    /// `Denied`, where the checks of the input or of permissions rejected the call. Every other failure is `Allowed`,
    /// whether or not the source ran.
    fn verdict(&self) -> Verdict {
        match self {
            Self::Denied(_) | Self::InvalidArguments(_) | Self::ArgumentsTooLarge(_) => {
                Verdict::Denied
            }
            Self::Unknown(_)
            | Self::TimedOut(_)
            | Self::TooLarge(_)
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
/// [`CallFailure`]. Each call leaves its records, whichever way it ends.
pub async fn call(source: Source<'_>, call: Call<'_>) -> Result<Answered, CallFailure> {
    let principal = call.context.principal.clone();
    let trail = trail_of(source, &call.work, call.request.clone(), principal);
    let (input, size) = input_of(&call.work);
    let begun = trail.begin_call(size);
    let begun = begun.and_then(|ongoing| record(&trail, &call.decisions).map(|()| ongoing));
    let ongoing = begun.map_err(|error| {
        tracing::error!("the audit cannot be written, so nothing is called: {error}");
        CallFailure::Host("the host cannot write its audit, so it calls nothing".into())
    })?;
    let served = serve(source, &trail, call, (input, size)).await;
    let recorded = match &served {
        Ok(answered) => ongoing.end(Verdict::Allowed, answered.outcome(), answered.size()),
        Err(failure) => ongoing.end(failure.verdict(), failure.code(), 0),
    };
    if let Err(error) = recorded {
        tracing::error!("the audit cannot be written, so no answer is given: {error}");
        return Err(CallFailure::Host(
            "the host cannot write its audit, so it answers nothing".into(),
        ));
    }
    served
}

async fn serve(
    source: Source<'_>,
    trail: &Trail,
    call: Call<'_>,
    (input, size): (Option<Arc<ToolInput>>, u64),
) -> Result<Answered, CallFailure> {
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
        Source::Plugin(loaded) => {
            plugin::serve(loaded, trail, call, input).await.map(Answered::Typed)
        }
        Source::Upstream(offered) => upstream::serve(offered, call).await,
    }
}

/// Checks arguments against the schema of their tool.
fn check_arguments(schema: &Schema, tool: &str, arguments: &Value) -> Result<(), CallFailure> {
    schema.check(arguments).map_err(|faults| {
        CallFailure::InvalidArguments(format!("invalid arguments for `{tool}`: {faults}"))
    })
}

/// A request's correlation id: unlike any other of this machine, and short.
pub fn request_id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    static PROCESS: std::sync::LazyLock<u64> = std::sync::LazyLock::new(|| {
        getrandom::u64().unwrap_or_else(|_| u64::from(std::process::id()))
    });
    format!("{:08x}-{}", *PROCESS & 0xffff_ffff, NEXT.fetch_add(1, Ordering::Relaxed))
}
