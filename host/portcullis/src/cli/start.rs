//! Runs the commands that need the configuration, on a runtime with one thread.

use anyhow::Context as _;

use super::context::{CommandContext, ReadConfig};
use super::{Command, CommandEnd, Common, Plugin, telemetry};

/// Runs a command that needs the [`CommandContext`], on a runtime of its own.
///
/// # Errors
///
/// The configuration is invalid, a root cannot be opened, or the command fails.
pub(super) fn block_on(common: &Common, command: Command) -> anyhow::Result<CommandEnd> {
    let read = ReadConfig::new(common)?;
    // Only calls of these commands are sent as telemetry.
    let may_call_tools = matches!(
        command,
        Command::Serve(_) | Command::Wrap(_) | Command::Call(_) | Command::Family(_)
    );
    let telemetry = if may_call_tools { telemetry::start(&read.config)? } else { None };
    super::log::begin(common.verbose, common.log_json, telemetry.as_ref());
    let ended = CommandContext::new(common, read).and_then(|context| {
        if let Some(telemetry) = &telemetry {
            telemetry::send_audit(telemetry, &context.audit);
        }
        run(common, context, command)
    });
    if let Some(telemetry) = telemetry {
        telemetry.end();
    }
    ended
}

/// Runs a command with its [`CommandContext`].
fn run(common: &Common, context: CommandContext, command: Command) -> anyhow::Result<CommandEnd> {
    // These commands show the warnings in their own output.
    if !matches!(command, Command::Check { .. } | Command::Audit(_) | Command::Report(_)) {
        for warning in super::safety::warnings(&context) {
            tracing::warn!("{warning}");
        }
    }
    let audit = context.audit.clone();
    let runtime = runtime()?;
    let ended = runtime.block_on(async move {
        super::signals::survive_file_limits()?;
        match command {
            Command::Serve(args) => args.run(common, context).await,
            Command::Wrap(args) => args.run(context).await,
            Command::Preview(args) => args.run(context).await,
            Command::Call(args) => args.run(context).await,
            Command::Family(call) => call.run(context).await,
            Command::Tools(args) => super::list::tools(&context, &args).await,
            Command::Plugin(Plugin::Add(args)) => args.run(context, common.config.as_deref()).await,
            Command::Plugin(Plugin::Update(args)) => args.run(context).await,
            Command::Plugin(Plugin::Remove(args)) => {
                args.run(&context, common.config.as_deref()).await
            }
            Command::Plugin(Plugin::Search(args)) => args.run(&context).await,
            Command::Plugin(Plugin::Publish(args)) => args.run(context).await,
            Command::Plugin(Plugin::Folder) => super::list::folder(&context),
            Command::Plugin(Plugin::List { json }) => super::list::plugins(&context, json).await,
            Command::Plugin(Plugin::Diff(args)) => args.run(context).await,
            Command::Plugin(Plugin::Approve(args)) => args.run(context).await,
            Command::Plugin(Plugin::Grant(args)) => {
                super::grant::grant(context, common.config.as_deref(), args).await
            }
            Command::Plugin(Plugin::Revoke(args)) => {
                super::grant::revoke(context, common.config.as_deref(), args).await
            }
            Command::Upstream(args) => args.run(context).await,
            Command::Audit(args) => args.run(context).await,
            Command::Trail(args) => args.run(context).await,
            Command::Report(args) => args.run(context).await,
            Command::Check { json } => super::check::run(&context, json).await,
            Command::Config(_)
            | Command::Completions { .. }
            | Command::Pages(_)
            | Command::Setup(_)
            | Command::Import(_)
            | Command::New(_)
            | Command::Test(_)
            | Command::Dev(_)
            | Command::Plugin(Plugin::Describe(_))
            | Command::Doctor(_) => {
                unreachable!("`main` runs these commands")
            }
        }
    });
    // `shutdown_background` does not wait for threads that are still in a blocking read: the result is not needed.
    runtime.shutdown_background();
    if let Err(error) = audit.end() {
        tracing::error!("the audit of this process could not be sealed: {error}");
    }
    ended
}

/// A runtime with one thread. It serves the client of stdio: passing a message between threads takes longer than most
/// calls. Connections over HTTP, long-running plugins and blocking work have threads of their own.
fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().context("starting the runtime")
}

/// Runs work of a command on a runtime of its own.
///
/// # Errors
///
/// The work failed.
pub(super) fn alone<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = runtime()?;
    let done = runtime.block_on(work);
    runtime.shutdown_background();
    done
}
