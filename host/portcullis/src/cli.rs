//! Parses the command line, and runs its commands.

mod add;
mod approve;
mod audit;
mod call;
mod check;
mod cluster;
mod cluster_approvals;
mod config;
mod confirm;
mod context;
mod describe;
mod dev;
mod dev_project;
mod doctor;
mod edited_file;
mod family;
mod file_stamps;
mod first_start;
mod grant;
mod import;
mod inspect;
mod list;
mod log;
mod login;
mod models;
mod named_files;
mod new;
mod pages;
mod preview;
mod print;
mod publish;
mod relative;
mod reload;
mod remove;
mod report;
mod report_facts;
mod safety;
mod search;
mod selection;
mod serve;
mod serve_options;
mod setup;
mod signals;
mod sources;
mod start;
mod style;
mod telemetry;
mod test;
mod trail;
mod trial;
mod trial_text;
mod uninstalled;
mod update;
mod views;
mod wrap;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use portcullis_engine::compiler;
use print::print;

/// An MCP server whose tools are sandboxed WebAssembly components.
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
  portcullis setup --root ~/projects           add portcullis to your MCP clients
  portcullis serve --root ~/projects           for one MCP client, over stdio
  portcullis serve --http --root ~/projects    for MCP clients, at http://127.0.0.1:8719/mcp
  portcullis tools                             list the tools
  portcullis call run_manifest_validation --root ~/projects/app --trail \\
      '{\"manifestPath\": \"webapp/manifest.json\"}'
  portcullis audit                             what each plugin can access";

/// Options of every command.
#[derive(clap::Args)]
pub struct Common {
    /// Use this configuration file instead of the user's own
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    /// Allow tools to access this directory (repeatable)
    #[arg(long = "root", value_name = "DIR", global = true)]
    roots: Vec<PathBuf>,
    /// Approve nothing at first use: refuse unapproved plugins, and hold back unapproved tools of servers
    #[arg(long, global = true)]
    locked: bool,
    /// Increase log verbosity (repeatable)
    #[arg(long, short, action = clap::ArgAction::Count, global = true)]
    verbose: u8,
    /// Write the log and all other messages on stderr as lines of JSON
    #[arg(long, global = true)]
    log_json: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Serve MCP over stdio or HTTP
    Serve(serve::Args),
    /// Write Portcullis into the configuration of MCP clients
    Setup(setup::Args),
    /// Add the MCP servers in a client's file to the configuration, as upstream servers
    Import(import::Args),
    /// Check the whole installation, and suggest corrections where they are known
    Doctor(doctor::Args),
    /// Serve the tools of another MCP server, with generated views
    Wrap(wrap::Args),
    /// Show the views of tools in the browser
    Preview(preview::Args),
    /// Call one tool and print its result
    Call(call::Args),
    /// List the tools
    Tools(list::ToolsArgs),
    /// Make the project of a new plugin
    New(new::Args),
    /// Test a plugin in the sandbox, with the cases of its author
    Test(test::Args),
    /// Build, test and serve a plugin again after each change of its project
    Dev(dev::Args),
    /// Manage plugins
    #[command(subcommand)]
    Plugin(Plugin),
    /// Manage logins at other MCP servers
    #[command(subcommand)]
    Upstream(login::Upstreams),
    /// Show what each plugin can access and what it did
    Audit(audit::Args),
    /// Show what plugins and servers did, from the records of the audit
    Trail(trail::Args),
    /// Report what plugins and servers can do and did: a page of HTML, JSON or SARIF
    Report(report::Args),
    /// Check the configuration, the plugins and their grants
    Check {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the configuration, its path, or the JSON Schema of its file
    #[command(subcommand)]
    Config(config::Args),
    #[command(flatten)]
    Family(family::FamilyCall),
    /// Print shell completions
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages and shell completions to a folder
    #[command(hide = true)]
    Pages(pages::Args),
}

/// The end of the help of `plugin`.
const PLUGIN_EXAMPLES: &str = "\
A plugin is a file NAME.wasm in the plugin folder, which `portcullis plugin folder` prints.

Examples:
  portcullis audit ./weather.wasm                  what it could do, before it is installed
  portcullis plugin add ./weather.wasm             the same, and install it if you agree
  portcullis plugin add oci://ghcr.io/org/weather:1.0 --grant wanted
  portcullis plugin grant weather wanted           grant what it wants
  portcullis plugin update weather                 show and install a newer version, if you agree
  portcullis plugin diff weather                   what has changed since it was approved
  portcullis plugin remove weather                 remove the plugin and its grants";

#[derive(Subcommand)]
#[command(after_help = PLUGIN_EXAMPLES)]
enum Plugin {
    /// Install a plugin from a file, an address or a registry: shows what it could do, and asks
    Add(add::Args),
    /// Update plugins from where they were fetched: shows what changed, and asks
    Update(update::Args),
    /// Remove a plugin with its grants: shows the change of portcullis.toml and asks
    Remove(remove::Args),
    /// List the repositories of a registry, or the tags of a repository
    Search(search::Args),
    /// Publish a component in a registry: shows the artifact and asks
    Publish(publish::Args),
    /// Write the comments of WIT files into a component, as the descriptions of its tools
    Describe(describe::Args),
    /// Print the plugin folder
    Folder,
    /// List the plugins and upstream servers, and why one is refused or unreachable
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what changed since a plugin, or the tools of another MCP server, were approved
    Diff(approve::DiffArgs),
    /// Approve a plugin's component, or the tools of another MCP server, as they are now
    Approve(approve::ApproveArgs),
    /// Grant a plugin exactly what you name: shows the change of portcullis.toml and asks
    Grant(grant::Grant),
    /// Revoke grants of a plugin: shows the change of portcullis.toml and asks
    Revoke(grant::Revoke),
}

/// How a command ended. The exit codes: 0 for [`CommandEnd::Done`], 1 for [`CommandEnd::Failed`], 2 for an error, 3 for
/// a server whose shutdown timed out, and 127 for a program that this process could not start in its own place.
pub enum CommandEnd {
    /// The command succeeded.
    Done,
    /// The command ran, and its result is negative, such as a tool's result with `isError`, a check that found a fault,
    /// or an operator who did not agree.
    Failed,
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    // The host starts itself with these subcommands. They are not meant for users.
    if std::env::args_os().nth(1).is_some_and(|first| first == compiler::SUBCOMMAND) {
        let done = compiler::main().map(|()| CommandEnd::Done);
        return finish(done.map_err(Into::into));
    }
    if std::env::args_os().nth(1).is_some_and(|first| first == portcullis_mcp_client::SUBCOMMAND) {
        eprintln!("portcullis: {}", portcullis_mcp_client::become_upstream());
        return ExitCode::from(127);
    }
    if std::env::args_os().nth(1).is_some_and(|first| first == portcullis_confine::SUBCOMMAND) {
        let error = portcullis_confine::main();
        eprintln!("portcullis: {}", portcullis_sanitize::error_chain(&error));
        return ExitCode::from(127);
    }
    log::decide_format();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() && log::is_json() => {
            log::fail(&error.to_string());
            return ExitCode::from(2);
        }
        Err(error) => {
            // Help goes to stdout and is not an error. If it cannot be written, there is nothing else to do.
            let _unread = error.print();
            return if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS };
        }
    };
    let ended = match cli.command {
        Command::Completions { shell } => completions(shell),
        Command::Pages(args) => args.run(Cli::command()).map(|()| CommandEnd::Done),
        // These commands have to work with a configuration that is invalid.
        Command::Config(args) => args.run(cli.common.config.as_deref()),
        Command::Setup(args) => args.run(&cli.common),
        Command::Import(args) => args.run(&cli.common),
        Command::Doctor(args) => args.run(&cli.common),
        Command::New(args) => args.run(&cli.common),
        Command::Test(args) => args.run(&cli.common),
        Command::Dev(args) => args.run(&cli.common),
        Command::Plugin(Plugin::Describe(args)) => args.run(&cli.common),
        command @ (Command::Serve(_)
        | Command::Wrap(_)
        | Command::Preview(_)
        | Command::Call(_)
        | Command::Family(_)
        | Command::Tools(_)
        | Command::Plugin(_)
        | Command::Upstream(_)
        | Command::Audit(_)
        | Command::Trail(_)
        | Command::Report(_)
        | Command::Check { .. }) => start::block_on(&cli.common, command),
    };
    finish(ended)
}

fn finish(ended: anyhow::Result<CommandEnd>) -> ExitCode {
    match ended {
        Ok(CommandEnd::Done) => ExitCode::SUCCESS,
        Ok(CommandEnd::Failed) => ExitCode::from(1),
        Err(error) => {
            // The error may quote untrusted text.
            let error = portcullis_sanitize::error_chain(error.as_ref());
            log::fail(&portcullis_sanitize::visible(&error));
            ExitCode::from(2)
        }
    }
}

fn completions(shell: clap_complete::Shell) -> anyhow::Result<CommandEnd> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "portcullis", &mut text);
    print(&String::from_utf8_lossy(&text))
}

/// The command line's definition, for the generated reference.
pub fn reference() -> clap::Command {
    Cli::command()
}
