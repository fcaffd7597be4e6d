//! One piece of work for a plugin, start to finish: check input → designate → run → check output.

mod designate;
mod output;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use portcullis_roots::Roots;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::bindings::types::Error as ProtocolError;
use crate::bindings::{Completion, Dressing, Page, PromptResult, ReadResult, Subject, ToolResult};
use crate::capabilities::Capability;
use crate::capabilities::actions::{ActionAsk, PermittedTool};
use crate::capabilities::client::{ClientAsk, PermittedQuestions};
use crate::gate::{Ask as _, Denied, Gate};
use crate::plugins::{Loaded, Tool};
use crate::sandbox::{self, Context, Job, Work};
use portcullis_audit::{Trail, Verdict};

/// How long a guest has to tidy up once its caller has given up.
const GRACE: Duration = Duration::from_millis(25);

/// What a client asks of a plugin.
pub struct Call {
    /// Host-made correlation id.
    pub request: String,
    /// What it asks for.
    pub what: What,
    /// The session's directories.
    pub roots: Roots,
    /// What the guest can learn of the call.
    pub context: Context,
    /// Whether nobody waits for it: it may then take `background-ms`.
    pub task: bool,
    /// Fires when the caller gives up.
    pub cancel: CancellationToken,
    /// What users decided since the round before.
    pub decisions: Vec<Decision>,
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
    /// Whether it allows the deed.
    fn verdict(&self) -> Verdict {
        match self.outcome.as_str() {
            "accepted" | "agreed-beforehand" => Verdict::Allowed,
            _ => Verdict::Denied,
        }
    }
}

/// A question to the client as its record has it.
pub fn question(ask: &crate::bindings::types::Ask) -> String {
    ClientAsk::of(ask).map(|ask| ask.subject()).unwrap_or_default()
}

/// Records what was decided where no further call of the plugin does.
pub fn decided(
    loaded: &Loaded,
    what: &What,
    request: String,
    principal: Option<String>,
    decisions: &[Decision],
) {
    let subject = portcullis_sanitize::line(&what.subject(), 300);
    if let Err(error) = record(&loaded.plugin.trail(request, subject, principal), decisions) {
        tracing::error!("the audit does not say what was decided: {error}");
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

/// What can be asked of a plugin.
#[derive(Debug, Clone)]
pub enum What {
    /// To call a tool.
    Tool {
        /// The plugin's own name for it.
        name: String,
        /// Its arguments: a JSON object. They are shared by the rounds of a call.
        arguments: Arc<Value>,
    },
    /// A page of its resources.
    Resources {
        /// Where the page before ended.
        cursor: Option<String>,
    },
    /// A resource, by its URI.
    Resource(String),
    /// The tag that changes with a resource.
    Version(String),
    /// A prompt.
    Prompt {
        /// The plugin's own name for it.
        name: String,
        /// Its arguments.
        arguments: Vec<(String, String)>,
    },
    /// What an argument may be.
    Completion {
        /// Of what.
        subject: Subject,
        /// Which argument.
        argument: String,
        /// What has been typed of it.
        value: String,
        /// The arguments before it.
        context: Vec<(String, String)>,
    },
    /// Which tools have which views.
    Views,
    /// What it put off.
    Job(Vec<u8>),
}

impl What {
    /// Whether the protocol lets it end in questions to the client.
    pub fn may_ask(&self) -> bool {
        match self {
            Self::Tool { .. } | Self::Resource(_) | Self::Prompt { .. } => true,
            Self::Resources { .. }
            | Self::Version(_)
            | Self::Completion { .. }
            | Self::Views
            | Self::Job(_) => false,
        }
    }

    /// The arguments of a tool as the plugin gets them, as JSON text; and the size of all input in bytes.
    fn input(&self) -> (String, u64) {
        let pairs = |pairs: &[(String, String)]| {
            pairs.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>()
        };
        let size = match self {
            Self::Tool { arguments, .. } => {
                let text = arguments.to_string();
                let size = text.len() as u64;
                return (text, size);
            }
            Self::Prompt { arguments, .. } => pairs(arguments),
            Self::Completion { argument, value, context, .. } => {
                argument.len() + value.len() + pairs(context)
            }
            Self::Resources { cursor } => cursor.as_ref().map_or(0, String::len),
            Self::Resource(uri) | Self::Version(uri) => uri.len(),
            Self::Job(job) => job.len(),
            Self::Views => 0,
        };
        (String::new(), size as u64)
    }

    /// For the audit: a tool by its name, everything else by what it is and its name.
    fn subject(&self) -> String {
        match self {
            Self::Tool { name, .. } => name.clone(),
            Self::Resources { .. } => "resources/list".into(),
            Self::Resource(uri) => format!("resources/read {uri}"),
            Self::Version(uri) => format!("resources/updated {uri}"),
            Self::Prompt { name, .. } => format!("prompts/get {name}"),
            Self::Completion { argument, .. } => format!("completion/complete {argument}"),
            Self::Views => "views".into(),
            Self::Job(_) => "job".into(),
        }
    }
}

/// How it went well.
#[derive(Debug)]
pub enum Answer {
    /// The tool ran; it may say that it failed.
    Tool(ToolResult),
    /// A page of resources.
    Resources(Page),
    /// A resource.
    Resource(ReadResult),
    /// The tag of a resource.
    Version(Option<String>),
    /// A prompt.
    Prompt(PromptResult),
    /// What an argument may be.
    Completion(Completion),
    /// Which tools have which views.
    Views(Vec<Dressing>),
    /// The job is done.
    Job,
    /// The plugin needs to know more, all of which it may ask.
    NeedInput(PermittedQuestions),
    /// What is left takes long, and is to be done with this state.
    Background(Option<Vec<u8>>),
}

/// How it went wrong, and whose fault it was.
#[derive(Debug)]
pub enum Failure {
    /// The caller's: there is no such thing.
    Unknown(String),
    /// The caller's: what is wrong with which argument.
    InvalidArguments(String),
    /// The gate or the roots refused.
    Denied(String),
    /// A limit of time was reached; which.
    TimedOut(String),
    /// The plugin's: arguments or answer are over a limit.
    TooLarge(String),
    /// The plugin's: it ended without an answer.
    PluginFailed(String),
    /// The plugin's own JSON-RPC error.
    Protocol(ProtocolError),
    /// The plugin's: its answer is not what it promised.
    BrokenPromise(String),
    /// The host's.
    Host(String),
    /// The caller gave up.
    Cancelled,
}

impl Failure {
    /// One word for the audit.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unknown(_) => "unknown",
            Self::InvalidArguments(_) => "invalid-arguments",
            Self::Denied(_) => "denied",
            Self::TimedOut(_) => "timed-out",
            Self::TooLarge(_) => "too-large",
            Self::PluginFailed(_) => "plugin-failed",
            Self::Protocol(_) => "protocol-error",
            Self::BrokenPromise(_) => "broken-promise",
            Self::Host(_) => "host-failed",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Protocol(error) => f.write_str(&error.message),
            Self::Unknown(why)
            | Self::InvalidArguments(why)
            | Self::Denied(why)
            | Self::TimedOut(why)
            | Self::TooLarge(why)
            | Self::PluginFailed(why)
            | Self::BrokenPromise(why)
            | Self::Host(why) => f.write_str(why),
            Self::Cancelled => f.write_str("the call was cancelled"),
        }
    }
}

impl From<Denied> for Failure {
    fn from(denied: Denied) -> Self {
        Self::Denied(denied.to_string())
    }
}

/// Serves one call.
///
/// # Errors
///
/// [`Failure`]. Each call leaves its record, whichever way it ends.
pub async fn call(loaded: &Loaded, call: Call) -> Result<Answer, Failure> {
    let plugin = &loaded.plugin;
    let subject = portcullis_sanitize::line(&call.what.subject(), 300);
    let trail = plugin.trail(call.request.clone(), subject, call.context.principal.clone());
    let (text, size) = call.what.input();
    let gate = Gate::new(plugin.terms.policy.clone(), trail.clone());
    let begun = trail.begin_call(size);
    let begun = begun.and_then(|ongoing| record(&trail, &call.decisions).map(|()| ongoing));
    let ongoing = begun.map_err(|error| {
        tracing::error!("the audit cannot be written, so nothing is called: {error}");
        Failure::Host("the host cannot write its audit, so it calls nothing".into())
    })?;
    let served = serve(loaded, gate, call, (text, size)).await;
    let recorded = match &served {
        Ok(answer) => {
            ongoing.end(Verdict::Allowed, output::outcome(answer), output::size_of(answer))
        }
        Err(failure @ (Failure::Denied(_) | Failure::InvalidArguments(_))) => {
            ongoing.end(Verdict::Denied, failure.code(), 0)
        }
        Err(failure) => ongoing.end(Verdict::Allowed, failure.code(), 0),
    };
    if let Err(error) = recorded {
        tracing::error!("the audit cannot be written, so no answer is given: {error}");
        return Err(Failure::Host("the host cannot write its audit, so it answers nothing".into()));
    }
    served
}

/// Records that somebody tried to call a tool that is withheld, as an action of it is not granted: what
/// was to be done, and that it was refused.
pub fn attempted(loaded: &Loaded, tool: &Tool, arguments: &Value, principal: Option<String>) {
    let name = &tool.definition.name;
    let trail = loaded.plugin.trail(request_id(), name.clone(), principal);
    let size = arguments.to_string().len() as u64;
    let gate = Gate::new(loaded.plugin.terms.policy.clone(), trail.clone());
    let recorded = trail.begin_call(size).and_then(|ongoing| {
        let needs = tool.definition.needs.iter();
        // The first refusal is enough.
        for action in needs {
            match gate.pass(ActionAsk::of(action, name, arguments)) {
                Ok(permit) => permit.record("withheld").map_err(std::io::Error::other)?,
                Err(_) => break,
            }
        }
        ongoing.end(Verdict::Denied, "unknown", 0)
    });
    if let Err(error) = recorded {
        tracing::error!("the audit does not say that somebody tried to call `{name}`: {error}");
    }
}

async fn serve(
    loaded: &Loaded,
    gate: Gate,
    call: Call,
    (text, size): (String, u64),
) -> Result<Answer, Failure> {
    let Call { what, roots, context, task, cancel, .. } = call;
    let most = loaded.plugin.terms.limits.argument_bytes.get();
    if size > most {
        return Err(Failure::TooLarge(format!(
            "the arguments have {size} bytes; `argument-bytes` allows {most}"
        )));
    }
    let (work, described) = match what {
        What::Tool { name, arguments } => {
            let tool = loaded.tools.iter().find(|tool| tool.definition.name == name);
            let tool = tool.ok_or_else(|| Failure::Unknown(format!("unknown tool: {name}")))?;
            check_input(tool, &arguments)?;
            let needs = &tool.definition.needs;
            let permit = |action: &String| gate.pass(ActionAsk::of(action, &name, &arguments));
            let permits = needs.iter().map(permit).collect::<Result<Vec<_>, _>>()?;
            let call = PermittedTool::new(name, text, needs, permits).map_err(Failure::Host)?;
            (Work::Tool(call), Some((tool, arguments)))
        }
        What::Prompt { name, arguments } => {
            check_prompt(loaded, &name, &arguments)?;
            (Work::Prompt { name, arguments }, None)
        }
        What::Resources { cursor } => (Work::Resources(cursor), None),
        What::Resource(uri) => (Work::Resource(uri), None),
        What::Version(uri) => (Work::Version(uri), None),
        What::Completion { subject, argument, value, context } => {
            (Work::Completion { subject, argument, value, context }, None)
        }
        What::Views => (Work::Views, None),
        What::Job(job) => (Work::Job(job), None),
    };
    let preopens = match &described {
        Some((tool, arguments)) => designate::designate(loaded, tool, arguments, &roots, &gate)?,
        None => designate::granted(loaded, &roots)?,
    };
    let cancelled = context.cancelled.clone();
    let limits = &loaded.plugin.terms.limits;
    let wall = if task { limits.background() } else { limits.wall() };
    let running = loaded.plugin.run(gate.clone(), Job { work, preopens, context, wall });
    tokio::pin!(running);
    let outcome = tokio::select! {
        biased;
        outcome = &mut running => outcome,
        () = cancel.cancelled() => {
            cancelled.store(true, Ordering::Relaxed);
            match tokio::time::timeout(GRACE, running).await {
                Ok(outcome) => outcome,
                Err(_) => return Err(Failure::Cancelled),
            }
        }
    };
    let outcome = outcome.map_err(|failure| explain(loaded, failure, wall))?;
    output::check(loaded, described.map(|(tool, _)| tool), &gate, outcome)
}

fn check_input(tool: &Tool, arguments: &Value) -> Result<(), Failure> {
    let schema = tool.input().map_err(|error| {
        Failure::BrokenPromise(format!("the plugin's own input schema is wrong: {error}"))
    })?;
    schema.check(arguments).map_err(|faults| {
        Failure::InvalidArguments(format!(
            "invalid arguments for `{}`: {faults}",
            tool.definition.name
        ))
    })
}

/// Arguments of a prompt are those that its manifest names, and the required ones are there.
fn check_prompt(
    loaded: &Loaded,
    name: &str,
    arguments: &[(String, String)],
) -> Result<(), Failure> {
    let prompt = loaded.manifest.prompts.iter().find(|prompt| prompt.name == name);
    let prompt = prompt.ok_or_else(|| Failure::Unknown(format!("unknown prompt: {name}")))?;
    let given = |name: &str| arguments.iter().any(|(given, _)| given == name);
    let missing = prompt.arguments.iter().find(|one| one.required && !given(&one.name));
    let known = |name: &str| prompt.arguments.iter().any(|known| known.name == name);
    let fault = match (missing, arguments.iter().find(|(name, _)| !known(name))) {
        (Some(missing), _) => format!("`{}` is missing", missing.name),
        (None, Some((other, _))) => format!("it has no `{}`", portcullis_sanitize::line(other, 80)),
        (None, None) => return Ok(()),
    };
    Err(Failure::InvalidArguments(format!("invalid arguments for the prompt `{name}`: {fault}")))
}

fn explain(loaded: &Loaded, failure: sandbox::Failure, wall: Duration) -> Failure {
    let name = &loaded.plugin.name;
    let limits = &loaded.plugin.terms.limits;
    match failure {
        sandbox::Failure::TimedOut(limit) => {
            let ms = match limit {
                "cpu-ms" => u128::from(limits.cpu_ms.get()),
                _ => wall.as_millis(),
            };
            Failure::TimedOut(format!("`{name}` was stopped after {ms} ms (`{limit}`)"))
        }
        sandbox::Failure::Limit(hit) => {
            Failure::PluginFailed(format!("`{name}` was stopped: {hit}"))
        }
        sandbox::Failure::Crashed(why) => Failure::PluginFailed(format!("`{name}` failed: {why}")),
        sandbox::Failure::Unusable(why) => {
            tracing::error!("`{name}` cannot be run: {why}");
            Failure::PluginFailed(format!("`{name}` cannot be run"))
        }
        sandbox::Failure::Protocol(error) => Failure::Protocol(error),
        sandbox::Failure::Host(why) => {
            tracing::error!("calling `{name}`: {why}");
            Failure::Host("the host failed; its log says how".into())
        }
    }
}

/// A request's correlation id: unlike any other of this machine, and short.
pub fn request_id() -> String {
    use std::sync::atomic::AtomicU64;
    static NEXT: AtomicU64 = AtomicU64::new(0);
    static PROCESS: std::sync::LazyLock<u64> = std::sync::LazyLock::new(|| {
        getrandom::u64().unwrap_or_else(|_| u64::from(std::process::id()))
    });
    format!("{:08x}-{}", *PROCESS & 0xffff_ffff, NEXT.fetch_add(1, Ordering::Relaxed))
}
