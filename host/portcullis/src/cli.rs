//! What you can type.

mod approve;
mod audit;
mod call;
mod check;
mod config;
mod list;
mod log;
mod login;
mod preview;
mod print;
mod relative;
mod safety;
mod serve;
mod signals;
mod start;
mod views;
mod wrap;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use portcullis_engine::child;
use print::print;

/// An MCP server whose every tool is a sandboxed WebAssembly component.
#[derive(Parser)]
#[command(name = "portcullis", version, about, max_term_width = 100, after_help = EXAMPLES)]
struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  portcullis serve --root ~/projects           for an MCP client, over stdin and stdout
  portcullis serve --http --root ~/projects    for MCP clients, at http://127.0.0.1:8719/mcp
  portcullis tools                             what can be called
  portcullis call run_manifest_validation --root ~/projects/app --trail \\
      '{\"manifestPath\": \"webapp/manifest.json\"}'
  portcullis audit                             what each plugin can reach";

/// What every command takes.
#[derive(clap::Args)]
pub struct Common {
    /// Read this configuration instead of the user's own
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    /// Let tools work in this directory; may be given several times
    #[arg(long = "root", value_name = "DIR", global = true)]
    roots: Vec<PathBuf>,
    /// Say more on stderr; twice: everything
    #[arg(long, short, action = clap::ArgAction::Count, global = true)]
    verbose: u8,
    /// Write the log as lines of JSON, each with the request that it belongs to
    #[arg(long, global = true)]
    log_json: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Serve an MCP client over stdin and stdout, or MCP clients over HTTP
    Serve(serve::Args),
    /// Serve another MCP server's tools, with views made for them
    Wrap(wrap::Args),
    /// Show the tools' views in the browser, as a client would
    Preview(preview::Args),
    /// Call one tool and print its answer
    Call(call::Args),
    /// List the tools
    Tools {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Look after plugins
    #[command(subcommand)]
    Plugin(Plugin),
    /// Log in at other MCP servers
    #[command(subcommand)]
    Upstream(login::Upstreams),
    /// Show what each plugin can reach, and what it did last
    Audit(audit::Args),
    /// Check configuration, plugins and grants against each other
    Check {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the configuration, or where it is
    #[command(subcommand)]
    Config(config::Args),
    /// Print completions for a shell
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
}

#[derive(Subcommand)]
enum Plugin {
    /// List the plugins: loaded, or refused and why
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Approve a plugin's file, or the tools of another MCP server, as they are now
    Approve {
        /// The plugin's name, or the server's in portcullis.toml
        name: String,
        /// A server behind `wrap`, as `wrap` has it: a program and its arguments, behind `--`, or an address
        #[arg(trailing_var_arg = true, value_name = "COMMAND | URL")]
        server: Vec<String>,
        /// Hand this variable of the environment on to such a server (repeatable)
        #[arg(long = "env", value_name = "NAME", requires = "server")]
        variables: Vec<String>,
    },
}

/// How a command ended. Its exit code: done 0, the tool said it failed 1, refused or misused 2. A server that had to
/// leave something behind which did not end has 3.
pub enum End {
    /// What was asked for was done.
    Done,
    /// The tool ran and said that it failed, or `check` found faults.
    Failed,
}

/// Runs what was typed.
pub fn main() -> ExitCode {
    // Started by the host itself, and for nobody to type.
    if std::env::args_os().nth(1).is_some_and(|first| first == child::SUBCOMMAND) {
        return finish(child::main().map(|()| End::Done));
    }
    if std::env::args_os().nth(1).is_some_and(|first| first == portcullis_mcp_client::SUBCOMMAND) {
        eprintln!("portcullis: {}", portcullis_mcp_client::become_upstream());
        return ExitCode::from(127);
    }
    if std::env::args_os().nth(1).is_some_and(|first| first == portcullis_confine::SUBCOMMAND) {
        eprintln!("portcullis: {}", portcullis_confine::main());
        return ExitCode::from(127);
    }
    log::decide();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() && log::is_json() => {
            log::fail(&error.to_string());
            return ExitCode::from(2);
        }
        Err(error) => {
            // Help goes to stdout and is no fault; where neither can be written, nobody reads it.
            let _unread = error.print();
            return if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS };
        }
    };
    let ended = match cli.command {
        Command::Completions { shell } => completions(shell),
        // It helps to mend a configuration with which nothing else runs.
        Command::Config(args) => args.run(cli.common.config.as_deref()),
        command @ (Command::Serve(_)
        | Command::Wrap(_)
        | Command::Preview(_)
        | Command::Call(_)
        | Command::Tools { .. }
        | Command::Plugin(_)
        | Command::Upstream(_)
        | Command::Audit(_)
        | Command::Check { .. }) => start::block_on(&cli.common, command),
    };
    finish(ended)
}

fn finish(ended: Result<End, String>) -> ExitCode {
    match ended {
        Ok(End::Done) => ExitCode::SUCCESS,
        Ok(End::Failed) => ExitCode::from(1),
        Err(error) => {
            // The error may quote text from outside.
            log::fail(&portcullis_sanitize::visible(&error));
            ExitCode::from(2)
        }
    }
}

fn completions(shell: clap_complete::Shell) -> Result<End, String> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "portcullis", &mut text);
    print(&String::from_utf8_lossy(&text))
}

/// The whole command line, for the generated reference.
pub fn reference() -> clap::Command {
    Cli::command()
}
