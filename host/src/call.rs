//! One call, start to finish: find → check input → designate → run → check output.

mod output;

use std::fmt;
use std::io::ErrorKind;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::audit::Verdict;
use crate::bindings::types::{Error as ProtocolError, Need};
use crate::bindings::{PathAccess, PathArgument, ToolResult};
use crate::capabilities::files::{Access, FileAsk, Origin, Preopen, Scope};
use crate::gate::{Denied, Gate};
use crate::plugins::{Loaded, Plugins, Tool};
use crate::roots::{Refusal, Roots};
use crate::sandbox::{self, Context, ToolCall};

/// How long a guest has to tidy up once its caller has given up.
const GRACE: Duration = Duration::from_millis(25);

/// What a client asks for.
pub struct Call {
    /// Host-made correlation id.
    pub request: String,
    /// Which tool.
    pub tool: String,
    /// Its arguments: a JSON object.
    pub arguments: Value,
    /// The session's directories.
    pub roots: Roots,
    /// What the guest can learn of the call.
    pub context: Context,
    /// Fires when the caller gives up.
    pub cancel: CancellationToken,
}

/// How a call went well.
#[derive(Debug)]
pub enum Answer {
    /// The tool ran; it may say that it failed.
    Done(ToolResult),
    /// The tool needs to know more, all of which it may ask.
    NeedInput(Need),
}

/// How a call went wrong, and whose fault it was.
#[derive(Debug)]
pub enum Failure {
    /// The caller's: there is no such tool.
    UnknownTool(String),
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
            Self::UnknownTool(_) => "unknown-tool",
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
            Self::UnknownTool(name) => write!(f, "unknown tool: {name}"),
            Self::Protocol(error) => f.write_str(&error.message),
            Self::InvalidArguments(why)
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
pub async fn call(plugins: &Plugins, call: Call) -> Result<Answer, Failure> {
    let Some((loaded, tool)) = plugins.tool(&call.tool) else {
        return Err(Failure::UnknownTool(crate::text::line(&call.tool, 80)));
    };
    let plugin = &loaded.plugin;
    let trail =
        plugin.trail(call.request.clone(), call.tool.clone(), call.context.principal.clone());
    let text = call.arguments.to_string();
    let gate = Gate::new(plugin.terms.policy.clone(), trail.clone());
    let ongoing = trail.begin(text.len() as u64).map_err(|error| {
        tracing::error!("the audit cannot be written, so nothing is called: {error}");
        Failure::Host("the host cannot write its audit, so it calls nothing".into())
    })?;
    let served = serve(loaded, tool, gate, call, text).await;
    match &served {
        Ok(Answer::Done(result)) => {
            let outcome = if result.is_error { "tool-error" } else { "done" };
            ongoing.end(Verdict::Allowed, outcome, output::size_of(result));
        }
        Ok(Answer::NeedInput(_)) => ongoing.end(Verdict::Allowed, "need-input", 0),
        Err(failure @ (Failure::Denied(_) | Failure::InvalidArguments(_))) => {
            ongoing.end(Verdict::Denied, failure.code(), 0);
        }
        Err(failure) => ongoing.end(Verdict::Allowed, failure.code(), 0),
    }
    served
}

async fn serve(
    loaded: &Loaded,
    tool: &Tool,
    gate: Gate,
    call: Call,
    text: String,
) -> Result<Answer, Failure> {
    let Call { tool: name, arguments, roots, context, cancel, .. } = call;
    check_input(loaded, tool, &arguments, &text)?;
    let preopens = designate(loaded, tool, &arguments, &roots, &gate)?;
    let cancelled = context.cancelled.clone();
    let call = ToolCall { tool: name, arguments: text, preopens, context };
    let running = loaded.plugin.call(gate.clone(), call);
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
    output::check(loaded, tool, &gate, outcome.map_err(|failure| explain(loaded, failure))?)
}

fn check_input(loaded: &Loaded, tool: &Tool, arguments: &Value, text: &str) -> Result<(), Failure> {
    let most = loaded.plugin.terms.limits.argument_bytes.get();
    if text.len() as u64 > most {
        return Err(Failure::TooLarge(format!(
            "the arguments have {} bytes; `argument-bytes` allows {most}",
            text.len()
        )));
    }
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

/// Opens what the arguments name, and what the grant names beside them.
fn designate(
    loaded: &Loaded,
    tool: &Tool,
    arguments: &Value,
    roots: &Roots,
    gate: &Gate,
) -> Result<Vec<Preopen>, Failure> {
    let mut designated = Vec::new();
    for (path, text) in widest(&tool.definition.paths, arguments) {
        let argument = path.pointer.trim_start_matches('/');
        let opened = roots.designate(text, path.kind, path.access, &path.nearest);
        match opened {
            Ok(opened) => {
                pass(gate, text, path.access)?;
                designated.push(opened);
            }
            Err(refusal) => return Err(refuse(gate, argument, text, path.access, &refusal)),
        }
    }
    let mut preopens = Preopen::of_arguments(designated);
    preopens.extend(granted(loaded, roots)?);
    Ok(preopens)
}

/// The gate is asked for a designated path as for any file, so that a tool whose plugin may not
/// write is refused before it runs.
fn pass(gate: &Gate, text: &str, access: PathAccess) -> Result<(), Failure> {
    let access = access_of(access);
    gate.pass(FileAsk { path: text.into(), access, origin: Origin::Argument, opened_for: access })?;
    Ok(())
}

fn access_of(access: PathAccess) -> Access {
    match access {
        PathAccess::Read => Access::Read,
        PathAccess::Write | PathAccess::Create => Access::Write,
    }
}

fn refuse(
    gate: &Gate,
    argument: &str,
    text: &str,
    access: PathAccess,
    refusal: &Refusal,
) -> Failure {
    let message = format!("`{argument}`: {refusal}: {}", crate::text::line(text, 300));
    if !refusal.is_denial() {
        return Failure::InvalidArguments(message);
    }
    let ask = FileAsk {
        path: text.into(),
        access: access_of(access),
        origin: Origin::Beside,
        opened_for: Access::Read,
    };
    // Recorded as refused; the roots, and not a grant, are what would have to change.
    if let Err(error) = gate.trail().asked(
        crate::capabilities::Capability::Files,
        &crate::gate::Ask::subject(&ask),
        false,
    ) {
        tracing::error!("the audit could not record a refusal: {error}");
    }
    tracing::warn!("{message}");
    Failure::Denied(message)
}

/// The path arguments of a call, each with the widest access that applies to it.
fn widest<'a>(paths: &'a [PathArgument], arguments: &'a Value) -> Vec<(&'a PathArgument, &'a str)> {
    let rank = |access: PathAccess| match access {
        PathAccess::Read => 0,
        PathAccess::Write => 1,
        PathAccess::Create => 2,
    };
    let mut found: Vec<(&PathArgument, &str)> = Vec::new();
    let applies = |path: &&PathArgument| match &path.when {
        None => true,
        Some(when) => arguments.pointer(when) == Some(&Value::Bool(true)),
    };
    for path in paths.iter().filter(applies) {
        for text in values(arguments, &path.pointer) {
            let same = found
                .iter_mut()
                .find(|(known, known_text)| known.pointer == path.pointer && *known_text == text);
            match same {
                Some(same) if rank(path.access) > rank(same.0.access) => same.0 = path,
                Some(_) => {}
                None => found.push((path, text)),
            }
        }
    }
    found
}

/// The strings at a pointer, in which `-` stands for each item of an array.
fn values<'a>(arguments: &'a Value, pointer: &str) -> Vec<&'a str> {
    match pointer.split_once("/-") {
        Some((array, rest)) => {
            let items = arguments.pointer(array).and_then(Value::as_array);
            items.into_iter().flatten().flat_map(|item| values(item, rest)).collect()
        }
        None => arguments.pointer(pointer).and_then(Value::as_str).into_iter().collect(),
    }
}

/// The directories that the grant itself opens.
fn granted(loaded: &Loaded, roots: &Roots) -> Result<Vec<Preopen>, Failure> {
    let Some(grant) = &loaded.plugin.terms.policy.grants.files else { return Ok(Vec::new()) };
    let host = |error: std::io::Error| Failure::Host(format!("opening a granted folder: {error}"));
    let mut preopens = Vec::new();
    if grant.scope == Scope::Roots {
        for root in roots.iter() {
            let handle = root.dir().map_err(host)?.into_std_file();
            let directory = root.path().to_owned();
            preopens.push(Preopen::whole(directory, handle, Origin::Root, grant.access));
        }
    }
    for (directory, access) in grant.beside_the_roots().map_err(host)? {
        let root = match crate::roots::Root::open(directory) {
            // What is only read need not be there yet.
            Err(error) if access == Access::Read && error.kind() == ErrorKind::NotFound => continue,
            root => root.map_err(host)?,
        };
        let handle = root.dir().map_err(host)?.into_std_file();
        preopens.push(Preopen::whole(directory.to_owned(), handle, Origin::Directory, access));
    }
    Ok(preopens)
}

fn explain(loaded: &Loaded, failure: sandbox::Failure) -> Failure {
    let name = &loaded.plugin.name;
    let limits = &loaded.plugin.terms.limits;
    match failure {
        sandbox::Failure::TimedOut(limit) => {
            let ms = if limit == "cpu-ms" { limits.cpu_ms } else { limits.wall_ms };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings::PathKind;
    use serde_json::json;

    fn path(pointer: &str, access: PathAccess, when: Option<&str>) -> PathArgument {
        PathArgument {
            pointer: pointer.into(),
            kind: PathKind::Directory,
            access,
            when: when.map(Into::into),
            nearest: Vec::new(),
        }
    }

    #[test]
    fn the_widest_access_that_applies_counts() {
        let paths = [
            path("/dir", PathAccess::Read, None),
            path("/dir", PathAccess::Write, Some("/fix")),
            path("/files/-", PathAccess::Read, None),
        ];
        let access = |arguments: Value| -> Vec<_> {
            widest(&paths, &arguments)
                .into_iter()
                .map(|(path, text)| (format!("{:?}", path.access), text.to_owned()))
                .collect()
        };
        let pair = |access: &str, text: &str| (access.to_owned(), text.to_owned());
        assert_eq!(access(json!({"dir": "/a"})), [pair("PathAccess::Read", "/a")]);
        assert_eq!(
            access(json!({"dir": "/a", "fix": true, "files": ["/b", "/c"]})),
            [
                pair("PathAccess::Write", "/a"),
                pair("PathAccess::Read", "/b"),
                pair("PathAccess::Read", "/c")
            ]
        );
        assert_eq!(access(json!({"dir": "/a", "fix": "true"})), [pair("PathAccess::Read", "/a")]);
        assert!(access(json!({"files": [1, null]})).is_empty());
    }
}
