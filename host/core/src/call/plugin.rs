//! Calls of plugins: checks the arguments, opens the paths in them, runs the plugin in a fresh instance and checks the
//! answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use portcullis_audit::{Trail, Verdict};
use portcullis_engine::on_a_thread;
use portcullis_files::Preopen;
use portcullis_roots::{GuestDirectories, Roots};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::client::{Client, Notification};
use super::{
    Call, CallFailure, SourceAnswer, ToolCall, Work, check_arguments, designate, guest_paths,
    inner, output, request_id,
};
use crate::capabilities::actions::{ActionAsk, PermittedTool, ToolInput};
use crate::gate::{Gate, Policy};
use crate::plugins::{LoadedPlugin, PluginTool};
use crate::sandbox::{self, CallContext, CallNotification, Round};

/// How long a plugin may still run after its client has cancelled the call.
const GRACE: Duration = Duration::from_millis(25);

/// Serves a call of a plugin. `input` is the input of a tool call.
pub(super) async fn serve(
    loaded: &Arc<LoadedPlugin>,
    trail: &Trail,
    call: Call<'_>,
    input: Option<Arc<ToolInput>>,
) -> Result<SourceAnswer, CallFailure> {
    let Call { request, origin, work, roots, mut context, task, client, inner, .. } = call;
    let gate = gate(&loaded.plugin.terms.policy, trail, &work);
    if let Work::Prompt { name, arguments } = &work {
        check_prompt(loaded, name, arguments)?;
    }
    let mut called = None;
    let work = work.try_map_tool(|ToolCall { name, arguments }| {
        let place = loaded.tools.iter().position(|tool| tool.definition.name == name);
        let place = place.ok_or_else(|| CallFailure::Unknown(format!("unknown tool: {name}")))?;
        let input = input.unwrap_or_else(|| ToolInput::new(&name, arguments.clone()));
        let permitted = permitted(&loaded.tools[place], input, &arguments, &roots, &gate)?;
        called = Some((place, arguments));
        Ok::<_, CallFailure>(permitted)
    })?;
    let tool = called.as_ref().map(|(place, _)| &loaded.tools[*place]);
    let preopens = open_files(loaded, called, roots.clone(), &gate).await?;
    let directories = guest_paths::directories(&preopens);
    let limits = &loaded.plugin.terms.limits;
    let time_limit = if task {
        TimeLimit { key: "background-ms", time: limits.background() }
    } else {
        TimeLimit { key: "wall-ms", time: limits.wall() }
    };
    let (steps, own) = (AtomicU64::new(0), context.clone());
    let run = inner::OuterCall {
        request: &request,
        origin: &origin,
        roots: &roots,
        context: &own,
        client,
        task,
        most: limits.tool_calls.get(),
        steps: &steps,
        keeps: loaded.keeps_programs().then_some(trail),
    };
    let mut server = None;
    if let Some(inner) = inner {
        let (serving, calls) = inner::InnerCallServer::new(inner, run);
        (server, context.tool_calls) = (Some(serving), Some(calls));
    }
    let notices = client.is_notified().then(|| notices(&mut context));
    let cancelled = context.cancelled.clone();
    let running =
        loaded.plugin.run(gate.clone(), Round { work, preopens, context, wall: time_limit.time });
    let shown = ClientPaths { client, directories: &directories };
    let outcome = outcome_of(running, server.as_mut(), shown, notices, &cancelled).await?;
    let outcome = match outcome {
        Outcome::Guest(outcome) => {
            outcome.map_err(|failure| explain(loaded, failure, time_limit, &directories))
        }
        Outcome::Calls(end) => return ended_by_calls(end, server),
    };
    match (outcome, server) {
        (Ok(mut answer), _) => {
            guest_paths::show_answer(&directories, &mut answer);
            output::check(loaded, tool, &gate, answer).map(SourceAnswer::Plugin)
        }
        (Err(failure), Some(server)) => Err(server.explain(failure)),
        (Err(failure), None) => Err(failure),
    }
}

/// The answer or the failure of a round that the server of its inner calls ended.
fn ended_by_calls(
    end: inner::RoundEnd,
    server: Option<inner::InnerCallServer<'_>>,
) -> Result<SourceAnswer, CallFailure> {
    let server = server
        .ok_or_else(|| CallFailure::Host("the calls of a plugin cannot be served here".into()))?;
    match end {
        inner::RoundEnd::Questions(asks) => {
            let journal = server.into_journal();
            Ok(SourceAnswer::InnerQuestions(inner::InnerQuestions { journal, asks }))
        }
        inner::RoundEnd::TimedOut(ms) => {
            let why =
                format!("the run was stopped after {ms} ms, the time limit that it set for itself");
            Err(server.explain(CallFailure::TimedOut(why)))
        }
    }
}

/// The receiver of a guest's notices. The context gets the sender.
fn notices(context: &mut CallContext) -> UnboundedReceiver<CallNotification> {
    let (sender, receiver) = unbounded_channel();
    context.notices = Some(sender);
    receiver
}

/// The client, and the directories whose paths are translated for the client.
#[derive(Clone, Copy)]
struct ClientPaths<'a> {
    client: &'a dyn Client,
    directories: &'a GuestDirectories,
}

impl ClientPaths<'_> {
    async fn notify(self, notice: CallNotification) {
        let notice = guest_paths::show_notice(self.directories, notice);
        self.client.notify(Notification::Plugin(notice)).await;
    }
}

/// How a round ended: by the guest, or by the server of the guest's inner calls.
enum Outcome {
    Guest(Result<sandbox::GuestAnswer, sandbox::GuestFailure>),
    Calls(inner::RoundEnd),
}

/// Waits for the end of a round. Meanwhile, sends notices to the client and serves the guest's calls of tools.
async fn outcome_of(
    running: impl Future<Output = Result<sandbox::GuestAnswer, sandbox::GuestFailure>>,
    server: Option<&mut inner::InnerCallServer<'_>>,
    shown: ClientPaths<'_>,
    mut notices: Option<UnboundedReceiver<CallNotification>>,
    cancelled: &AtomicBool,
) -> Result<Outcome, CallFailure> {
    tokio::pin!(running);
    let gone = shown.client.gone();
    tokio::pin!(gone);
    let mut serving = server.map(|server| Box::pin(server.serve()));
    let outcome = loop {
        tokio::select! {
            biased;
            outcome = &mut running => break Outcome::Guest(outcome),
            Some(notice) = next(&mut notices) => {
                shown.notify(notice).await;
            }
            () = &mut gone => {
                cancelled.store(true, Ordering::Relaxed);
                match tokio::time::timeout(GRACE, running).await {
                    Ok(outcome) => break Outcome::Guest(outcome),
                    Err(_) => return Err(CallFailure::Cancelled),
                }
            }
            end = ended(&mut serving) => break Outcome::Calls(end),
        }
    };
    // Notifications from before the end of the call are sent before the answer.
    while let Some(notice) = notices.as_mut().and_then(|notices| notices.try_recv().ok()) {
        shown.notify(notice).await;
    }
    Ok(outcome)
}

/// Waits until the server of the inner calls ends the round. `None`: the guest can call no tools, so this function
/// never returns.
async fn ended<F: Future<Output = inner::RoundEnd> + Unpin>(
    serving: &mut Option<F>,
) -> inner::RoundEnd {
    match serving {
        Some(serving) => serving.await,
        None => std::future::pending().await,
    }
}

/// Checks the arguments of a tool, and asks the gate for the actions that the tool needs.
fn permitted(
    tool: &PluginTool,
    input: Arc<ToolInput>,
    arguments: &Value,
    roots: &Roots,
    gate: &Gate,
) -> Result<PermittedTool, CallFailure> {
    check_input(tool, arguments)?;
    let needs = &tool.definition.needs;
    let permit = |action: &String| gate.pass(ActionAsk::of(action, &input));
    let permits = needs.iter().map(permit).collect::<Result<Vec<_>, _>>()?;
    let permitted = PermittedTool::new(input, needs, permits)
        .map_err(|error| CallFailure::Host(error.to_string()))?;
    Ok(match guest_paths::arguments(arguments, &tool.definition.paths, roots) {
        Some(arguments) => permitted.with_guest_arguments(Arc::new(arguments)),
        None => permitted,
    })
}

/// The gate of one call. The arguments of a tool can name hosts that are granted for this call. Other kinds of work
/// cannot name hosts.
fn gate(policy: &Arc<Policy>, trail: &Trail, work: &Work) -> Gate {
    let policy = match work {
        Work::Tool(ToolCall { arguments, .. }) => policy.of_call(arguments),
        Work::Resources(_)
        | Work::Resource(_)
        | Work::Version(_)
        | Work::Prompt { .. }
        | Work::Completion { .. }
        | Work::Views
        | Work::Job(_) => policy.clone(),
    };
    Gate::new(policy, trail.clone())
}

/// Opens the paths in the arguments of a tool and the granted directories. `called` is the tool's index with its
/// arguments.
async fn open_files(
    loaded: &Arc<LoadedPlugin>,
    called: Option<(usize, Arc<Value>)>,
    roots: Roots,
    gate: &Gate,
) -> Result<Vec<Preopen>, CallFailure> {
    let tool = called.as_ref().map(|(place, _)| &loaded.tools[*place]);
    if !designate::opens_files(loaded, tool) {
        return Ok(Vec::new());
    }
    let (loaded, gate) = (loaded.clone(), gate.clone());
    on_a_thread(move || match called {
        Some((place, arguments)) => {
            designate::designate(&loaded, &loaded.tools[place], &arguments, &roots, &gate)
        }
        None => designate::granted(&loaded, &roots),
    })
    .await
}

async fn next(
    notices: &mut Option<UnboundedReceiver<CallNotification>>,
) -> Option<CallNotification> {
    match notices {
        Some(notices) => notices.recv().await,
        None => std::future::pending().await,
    }
}

fn check_input(tool: &PluginTool, arguments: &Value) -> Result<(), CallFailure> {
    let schema = tool.input().map_err(|error| {
        CallFailure::BrokenPromise(format!("the plugin's own input schema is wrong: {error}"))
    })?;
    check_arguments(schema, &tool.definition.name, arguments)
}

/// Checks that all required arguments of a prompt are present, and that the manifest declares every argument.
fn check_prompt(
    loaded: &LoadedPlugin,
    name: &str,
    arguments: &[(String, String)],
) -> Result<(), CallFailure> {
    let prompt = loaded.manifest.prompts.iter().find(|prompt| prompt.name == name);
    let prompt = prompt.ok_or_else(|| CallFailure::Unknown(format!("unknown prompt: {name}")))?;
    let given = |name: &str| arguments.iter().any(|(given, _)| given == name);
    let missing = prompt.arguments.iter().find(|one| one.required && !given(&one.name));
    let known = |name: &str| prompt.arguments.iter().any(|known| known.name == name);
    let fault = match (missing, arguments.iter().find(|(name, _)| !known(name))) {
        (Some(missing), _) => format!("`{}` is missing", missing.name),
        (None, Some((other, _))) => {
            format!("it has no argument `{}`", portcullis_sanitize::line(other, 80))
        }
        (None, None) => return Ok(()),
    };
    Err(CallFailure::InvalidArguments(format!(
        "invalid arguments for the prompt `{name}`: {fault}"
    )))
}

/// Records an attempt to call a withheld tool, which needs an action that is not granted. The trail has the asks for
/// the tool's actions up to the first refusal, and the end of the call.
pub fn record_withheld_call(
    loaded: &LoadedPlugin,
    tool: &PluginTool,
    arguments: Value,
    principal: Option<String>,
) {
    let name = &tool.definition.name;
    let input = ToolInput::new(name, Arc::new(arguments));
    let trail = loaded.plugin.trail(request_id(), name.clone(), principal);
    let size = input.text().len() as u64;
    let gate = Gate::new(loaded.plugin.terms.policy.clone(), trail.clone());
    let recorded = trail.begin_call(size).and_then(|ongoing| {
        let needs = tool.definition.needs.iter();
        for action in needs {
            match gate.pass(ActionAsk::of(action, &input)) {
                Ok(permit) => permit.record("withheld").map_err(std::io::Error::other)?,
                Err(_) => break,
            }
        }
        ongoing.end(Verdict::Denied, "unknown", 0)
    });
    if let Err(error) = recorded {
        tracing::error!("the attempt to call `{name}` could not be written to the audit: {error}");
    }
}

/// A limit of a call's time, on the clock or of the CPU: the key of the limit, and its value.
#[derive(Clone, Copy)]
struct TimeLimit {
    key: &'static str,
    time: Duration,
}

impl std::fmt::Display for TimeLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ms (`{}`)", self.time.as_millis(), self.key)
    }
}

fn explain(
    loaded: &LoadedPlugin,
    failure: sandbox::GuestFailure,
    time_limit: TimeLimit,
    directories: &GuestDirectories,
) -> CallFailure {
    let name = &loaded.plugin.name;
    let limits = &loaded.plugin.terms.limits;
    match failure {
        sandbox::GuestFailure::TimedOut(limit) => {
            let limit = match limit {
                "cpu-ms" => TimeLimit { key: limit, time: limits.cpu() },
                _ => time_limit,
            };
            CallFailure::TimedOut(format!("`{name}` was stopped after {limit}"))
        }
        sandbox::GuestFailure::GaveUp(mut text) => {
            guest_paths::show(directories, &mut text);
            let text = portcullis_sanitize::line(&text, 1000);
            let said = if text.is_empty() { text } else { format!("; its message: {text}") };
            CallFailure::TimedOut(format!("`{name}` was stopped after {time_limit}{said}"))
        }
        sandbox::GuestFailure::Limit(hit) => {
            CallFailure::PluginFailed(format!("`{name}` was stopped: {hit}"))
        }
        sandbox::GuestFailure::Crashed(why) => {
            CallFailure::PluginFailed(format!("`{name}` failed: {why}"))
        }
        sandbox::GuestFailure::Unusable(why) => {
            tracing::error!("`{name}` cannot be run: {why}");
            CallFailure::PluginFailed(format!("`{name}` cannot be run"))
        }
        sandbox::GuestFailure::Protocol(mut error) => {
            guest_paths::show(directories, &mut error.message);
            error.message = portcullis_sanitize::line(&error.message, 1000);
            CallFailure::Protocol(error)
        }
        sandbox::GuestFailure::Host(why) => {
            tracing::error!("calling `{name}`: {why}");
            CallFailure::Host("the host failed: see its log".into())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use portcullis_audit::Audit;
    use portcullis_checked_files::SealKey;
    use portcullis_roots::{HostFiles, Root};
    use serde_json::json;
    use tokio::time::timeout;

    use super::*;
    use crate::bindings::{PathAccess, PathKind};
    use crate::config::{Config, Folders};
    use crate::lock::Lock;
    use crate::plugins::Plugins;
    use crate::sandbox::Sandbox;

    /// A plugin, the index of one of its tools, and an argument of the tool that is the path of a file to read.
    fn tool_with_path(plugins: &Plugins) -> (Arc<LoadedPlugin>, usize, String) {
        let mut all = plugins.loaded.iter().flat_map(|loaded| {
            loaded.tools.iter().enumerate().map(move |(index, tool)| (loaded, index, tool))
        });
        let found = all.find_map(|(loaded, index, tool)| {
            let path = tool.definition.paths.first()?;
            let is_file = matches!((path.kind, path.access), (PathKind::File, PathAccess::Read));
            let argument = path.pointer.strip_prefix('/').filter(|rest| !rest.contains('/'))?;
            is_file.then(|| (loaded.clone(), index, argument.to_owned()))
        });
        found.expect("a bundled plugin has a tool that reads a file")
    }

    #[test]
    fn paths_are_opened_on_a_thread_that_may_block() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file.json");
        std::fs::write(&path, "{}").unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(1)
            .build()
            .unwrap();
        let audit = Audit::to_folder(folder.path().join("audit"));
        let key = SealKey::at(folder.path().join("key"));
        let config = Config::parse("").unwrap();
        let largest = config.largest_limits();
        let sandbox = Sandbox::new(largest, folder.path().join("cache"), key, audit.clone());
        let folders = Folders {
            plugins: folder.path().join("plugins"),
            lock: folder.path().join("lock"),
            ..Folders::of_user().unwrap()
        };
        let lock = Lock::at(folders.lock.clone());
        let plugins = Plugins::load(Arc::new(sandbox), &config, &folders, lock);
        let plugins = runtime.block_on(plugins);
        let (loaded, index, argument) = tool_with_path(&plugins);
        let roots = Roots::new(
            vec![Root::open(folder.path(), &HostFiles::default()).unwrap()],
            HostFiles::default(),
        );
        let trail = loaded.plugin.trail("1".into(), "test".into(), None);
        let gate = Gate::new(loaded.plugin.terms.policy.clone(), trail);
        let arguments = Arc::new(json!({ argument: path.to_str().unwrap() }));
        // The only thread for blocking work is occupied until `release` is dropped.
        let (release, released) = std::sync::mpsc::channel::<()>();
        runtime.spawn_blocking(move || {
            let _released = released.recv();
        });
        runtime.block_on(async {
            let opening = open_files(&loaded, Some((index, arguments)), roots, &gate);
            tokio::pin!(opening);
            let early = timeout(Duration::from_millis(50), &mut opening).await;
            assert!(early.is_err(), "the thread that serves clients opens the file itself");
            drop(release);
            let opened = timeout(Duration::from_secs(60), opening).await.unwrap().unwrap();
            assert!(!opened.is_empty(), "the file is opened");
        });
    }
}
