//! `portcullis setup`: adds Portcullis to the configuration files of MCP clients, or removes it.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context as _, bail};
use clap::builder::PossibleValuesParser;
use portcullis_client_setup::{
    CLIENTS, Change, Client, Machine, Plan, Refusal, Roots, Scope, Server,
};
use portcullis_core::config::{self, Folders, is_name};
use portcullis_core::families::FAMILIES;
use portcullis_sanitize::{visible, visible_line};

use super::confirm::Consent;
use super::edited_file::about_lost;
use super::style::{faint, green, red};
use super::{CommandEnd, Common};

/// Maximum number of attempts to write a change. Each attempt fails if another program changes the file meanwhile.
const MAX_ATTEMPTS: usize = 10;

/// The end of the help.
const EXAMPLES: &str = "\
Examples:
  portcullis setup --root ~/projects               all clients that are found, after a question
  portcullis setup claude-desktop --root ~/projects --name sandbox
  portcullis setup vscode-workspace                .vscode/mcp.json in the working directory
  portcullis setup --dry-run                       what would be written
  portcullis setup --remove                        remove Portcullis from all clients";

/// Arguments of `setup`.
#[derive(clap::Args)]
// clap names a group after its struct, and other structs have this name.
#[group(skip)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The clients. Default: those that are found on this machine, and with --remove also the files of this project
    #[arg(value_name = "CLIENT", value_parser = PossibleValuesParser::new(CLIENTS.iter().map(|client| client.id)))]
    clients: Vec<String>,
    /// Let the clients see only the tools of these families (separated by commas)
    #[arg(long, value_name = "FAMILIES", value_delimiter = ',')]
    with: Vec<String>,
    /// The name of the entry in the clients' files
    #[arg(long, default_value = "portcullis")]
    name: String,
    /// Remove the entry. The file is then as it was before, unless something else changed in it
    #[arg(long, conflicts_with = "with")]
    remove: bool,
    /// Show the changes and write nothing
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    #[command(flatten)]
    consent: Consent,
}

impl Args {
    pub(super) fn run(self, common: &Common) -> anyhow::Result<CommandEnd> {
        self.check()?;
        let machine = machine()?;
        let clients = self.clients(&machine);
        if clients.is_empty() {
            let all: Vec<_> = CLIENTS.iter().map(|client| client.id).collect();
            super::print(&format!(
                "no client was found on this machine\nname one, and setup creates its file: {}\n",
                all.join(", ")
            ))?;
            return Ok(CommandEnd::Failed);
        }
        let server =
            Server { name: self.name.clone(), command: command()?, args: self.arguments(common)? };
        let mut plans = Vec::new();
        let mut refused = 0;
        for client in clients {
            match self.plan(client, &machine, &server) {
                Ok(plan) => {
                    super::print(&plan_text(client, &plan))?;
                    if plan.change != Change::Nothing {
                        plans.push((client, plan));
                    }
                }
                Err(refusal) => {
                    refused += 1;
                    super::print(&refusal_text(client, &refusal))?;
                }
            }
        }
        let end = |refused: usize| if refused == 0 { CommandEnd::Done } else { CommandEnd::Failed };
        if plans.is_empty() {
            super::print("nothing to write\n")?;
            return Ok(end(refused));
        }
        if self.dry_run {
            super::print("nothing is written: --dry-run\n")?;
            return Ok(end(refused));
        }
        let files = if plans.len() == 1 {
            "this file".to_owned()
        } else {
            format!("these {} files", plans.len())
        };
        if !self.consent.ask(&format!("Write {files}?"))? {
            super::print("nothing is written\n")?;
            return Ok(CommandEnd::Failed);
        }
        for (client, plan) in plans {
            match self.write(client, &machine, &server, plan) {
                Ok(text) => super::print(&text)?,
                Err(refusal) => {
                    refused += 1;
                    super::print(&refusal_text(client, &refusal))?
                }
            };
        }
        if !self.remove {
            super::print(&faint("`portcullis doctor` checks the whole installation\n"))?;
        }
        Ok(end(refused))
    }

    fn check(&self) -> anyhow::Result<()> {
        if !is_name(&self.name) {
            bail!("--name: a name has letters, digits, `-` and `_` only, and at most 64 of them");
        }
        let families: Vec<_> = FAMILIES.iter().map(|family| family.name).collect();
        if let Some(unknown) = self.with.iter().find(|name| !families.contains(&name.as_str())) {
            bail!(
                "--with: no family is called `{unknown}`\n  hint: the families are {}",
                families.join(", ")
            );
        }
        Ok(())
    }

    /// The clients that are named, or those that are found.
    fn clients(&self, machine: &Machine) -> Vec<&'static Client> {
        let is_asked = |client: &&Client| match self.clients.as_slice() {
            [] => client.is_present(machine) && (client.scope == Scope::User || self.remove),
            named => named.iter().any(|id| id == client.id),
        };
        CLIENTS.iter().filter(is_asked).collect()
    }

    fn plan(&self, client: &Client, machine: &Machine, server: &Server) -> Result<Plan, Refusal> {
        if self.remove {
            Plan::remove(client, machine, &server.name)
        } else {
            Plan::add(client, machine, server)
        }
    }

    /// The arguments of an entry. `None`: no option adds an argument, so an existing entry keeps its arguments.
    fn arguments(&self, common: &Common) -> anyhow::Result<Option<Vec<String>>> {
        let mut arguments = vec!["serve".to_owned()];
        if let Some(config) = &common.config {
            arguments.extend(["--config".to_owned(), absolute(config)?]);
        }
        for root in &common.roots {
            if !root.is_dir() {
                bail!(
                    "the root `{}` is not a folder\n  hint: create it, or pass an existing folder with --root",
                    root.display()
                );
            }
            arguments.extend(["--root".to_owned(), absolute(root)?]);
        }
        if !self.with.is_empty() {
            arguments.extend(["--tools".to_owned(), self.with.join(",")]);
        }
        Ok((arguments.len() > 1).then_some(arguments))
    }

    /// Writes a plan. If another program changed the file after the plan was made, makes a new plan for the same
    /// change.
    fn write(
        &self,
        client: &Client,
        machine: &Machine,
        server: &Server,
        mut plan: Plan,
    ) -> Result<String, Refusal> {
        let mut written = plan.write();
        for _ in 1..MAX_ATTEMPTS {
            if !written.as_ref().is_err_and(Refusal::is_race) {
                break;
            }
            plan = self.plan(client, machine, server)?;
            written = plan.write();
        }
        let written = written?;
        let path = visible_line(&plan.path.display().to_string(), 1000);
        let mut text = match plan.change {
            Change::RemoveFile => format!("{} {path}\n", green("removed")),
            Change::Nothing | Change::Add | Change::Correct(_) | Change::Remove => {
                format!("{} {path}\n", green("written"))
            }
        };
        if let Some(backup) = &written.backup {
            text += &format!("  before: {}\n", visible_line(&backup.display().to_string(), 1000));
        }
        text += &about_lost(written.lost);
        if !self.remove {
            text += &format!("  next: {}\n", client.reload);
            text += &self.about_roots(client, machine);
        }
        Ok(text)
    }

    /// A warning that tools can open no files. Empty if the client, the entry or the configuration names a root.
    fn about_roots(&self, client: &Client, machine: &Machine) -> String {
        let entries = Plan::installed(client, machine).unwrap_or_default();
        let own = entries.iter().find(|entry| entry.name == self.name);
        let has_root =
            own.is_some_and(|entry| entry.args.iter().any(|arg| arg.starts_with("--root")));
        if client.roots == Roots::Named || has_root || configured_roots() {
            return String::new();
        }
        format!(
            "  {} does not tell servers its folders, so tools can open no files until you name a folder:\n  \
             portcullis setup {} --root FOLDER\n",
            client.name, client.id
        )
    }
}

/// Whether the user's configuration names roots.
fn configured_roots() -> bool {
    let loaded = Folders::of_user().ok().map(|folders| config::load(None, &folders));
    loaded.and_then(Result::ok).is_some_and(|(config, _)| !config.roots.is_empty())
}

/// The machine with the files of the clients.
///
/// # Errors
///
/// The working directory or the home folder is not known.
#[expect(
    clippy::disallowed_methods,
    reason = "files of a project are in the folder of the user's shell"
)]
pub(super) fn machine() -> anyhow::Result<Machine> {
    let project = std::env::current_dir().context("finding the working directory")?;
    Ok(Machine::of_user(&project)?)
}

/// The path of this program for the files of clients. If a path in `PATH` leads to this program, this path is used,
/// because it stays the same when a package manager installs another version.
///
/// # Errors
///
/// The path is not known, or is not UTF-8 and cannot be written into a client's file.
#[expect(clippy::disallowed_methods, reason = "clients start the program that runs")]
pub(super) fn command() -> anyhow::Result<String> {
    let own = std::env::current_exe().context("finding the path of portcullis")?;
    let real = std::fs::canonicalize(&own).unwrap_or_else(|_| own.clone());
    let folders: OsString = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&folders)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join("portcullis").with_extension(std::env::consts::EXE_EXTENSION))
        .find(|path| std::fs::canonicalize(path).is_ok_and(|found| found == real));
    text_of(&in_path.unwrap_or(own))
}

fn absolute(path: &Path) -> anyhow::Result<String> {
    text_of(&std::path::absolute(path).with_context(|| format!("finding {}", path.display()))?)
}

fn text_of(path: &Path) -> anyhow::Result<String> {
    let text = path.to_str().map(str::to_owned);
    text.with_context(|| {
        format!("{} is not UTF-8: a configuration file cannot name it", path.display())
    })
}

fn refusal_text(client: &Client, refusal: &Refusal) -> String {
    let why = visible(&portcullis_sanitize::error_chain(refusal)).into_owned();
    format!("{} {}\n  {why}\n", red("!!"), client.name)
}

/// What a plan changes. Only the entry is shown, because the rest of the file may hold secrets.
fn plan_text(client: &Client, plan: &Plan) -> String {
    let path = visible_line(&plan.path.display().to_string(), 1000);
    let entry = |mark: &str| -> Vec<String> {
        plan.entry.lines().map(|line| format!("{mark} {line}")).collect()
    };
    let (what, lines) = match &plan.change {
        Change::Nothing => ("nothing to do", Vec::new()),
        Change::Add => ("adds this entry, and leaves the rest as it is", entry("+")),
        Change::Remove => ("removes this entry, and leaves the rest as it is", entry("-")),
        Change::RemoveFile => ("removes the file, which contains nothing else", entry("-")),
        Change::Correct(keys) => {
            let lines = keys.iter().flat_map(|(key, old, new)| {
                let old = old.as_ref().map(|old| format!("- {key}: {old}"));
                old.into_iter().chain([format!("+ {key}: {new}")])
            });
            ("corrects these keys, and leaves the rest as it is", lines.collect())
        }
    };
    let mut text = format!("{} {}\n  {what}\n", green(client.name), faint(&path));
    for line in lines {
        let line = visible(&line);
        text += &format!("  {}\n", if line.starts_with('+') { green(&line) } else { red(&line) });
    }
    text
}
