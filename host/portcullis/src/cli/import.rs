//! `portcullis import`: takes MCP servers from a client's file into `portcullis.toml`, as upstream servers.

mod secrets;
mod translate;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use portcullis_client_setup::{is_portcullis, servers};
use portcullis_core::config::edit::{Presence, UpstreamKeys, add_upstreams, presence};
use portcullis_core::config::{self, ConfigFile, Folders};
use portcullis_sanitize::{visible, visible_line};
use similar::TextDiff;

use super::confirm::Consent;
use super::edited_file::write_config;
use super::style::{faint, green, red};
use super::{CommandEnd, Common};
use secrets::SecretFiles;
use translate::{Translated, translate};

/// The end of the help.
const ABOUT: &str = "\
Each server becomes a section [upstreams.NAME] of portcullis.toml. Passwords and tokens are written into files that \
only you can read, in the folder `secrets` beside portcullis.toml. The section names these files.

Examples:
  portcullis import ~/.cursor/mcp.json --dry-run
  portcullis import .vscode/mcp.json";

/// Arguments of `import`.
#[derive(clap::Args)]
// clap names a group after its struct, and other structs have this name.
#[group(skip)]
#[command(after_help = ABOUT)]
pub struct Args {
    /// The file of a client: JSON with `mcpServers`, `servers` or `context_servers`, Codex's TOML, or YAML of goose or Continue
    file: PathBuf,
    /// Show the changes and write nothing
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    #[command(flatten)]
    consent: Consent,
}

/// A server that is to be added.
struct NewServer {
    name: String,
    translated: Translated,
}

impl Args {
    pub(super) fn run(self, common: &Common) -> anyhow::Result<CommandEnd> {
        super::log::begin(common.verbose, common.log_json, None);
        let found = servers(&self.file)?;
        let config = ConfigFile::read(common.config.as_deref(), &Folders::of_user()?)?;
        let text = config.text.clone().unwrap_or_default();
        let secrets = config.path.with_file_name("secrets");
        let (new, left_out) = select(&text, &secrets, found)?;
        if new.is_empty() {
            super::print("nothing to write\n")?;
            return Ok(if left_out == 0 { CommandEnd::Done } else { CommandEnd::Failed });
        }
        // To check a configuration, the host reads the files with secrets. Until the user agrees, these files are in a
        // temporary folder, which is removed at the end of this command.
        let trial = tempfile::tempdir().context("creating a temporary folder")?;
        let after = write_into(trial.path(), &text, &new)?;
        let shown =
            after.replace(&trial.path().display().to_string(), &secrets.display().to_string());
        super::print(&difference(&config, &text, &shown)?)?;
        if self.dry_run {
            super::print("nothing is written: --dry-run\n")?;
            return Ok(CommandEnd::Done);
        }
        if !self.consent.ask("Write this?")? {
            super::print("nothing is written\n")?;
            return Ok(CommandEnd::Failed);
        }
        let after = write_into(&secrets, &text, &new)?;
        let written = write_config(&config, &after)?;
        let next = format!(
            "next: remove these servers from {}, so that only portcullis starts them; `portcullis plugin list` shows \
             whether they start",
            visible_line(&self.file.display().to_string(), 1000)
        );
        super::print(&format!("{written}{}\n", faint(&next)))?;
        Ok(if left_out == 0 { CommandEnd::Done } else { CommandEnd::Failed })
    }
}

/// Writes the secrets of servers into a folder. Returns the configuration with the servers, whose sections name the
/// files.
fn write_into(folder: &Path, text: &str, new: &[NewServer]) -> anyhow::Result<String> {
    let mut files = SecretFiles::new(folder);
    let mut servers = Vec::new();
    for NewServer { name, translated } in new {
        servers.push((name.clone(), write_secrets(name, translated, &mut files)?));
    }
    Ok(add_upstreams(text, &servers)?)
}

/// Writes the secrets of a server into files. Returns the keys of the server, with the paths of the files in place of
/// the secrets.
fn write_secrets(
    name: &str,
    server: &Translated,
    files: &mut SecretFiles<'_>,
) -> anyhow::Result<UpstreamKeys> {
    let mut keys = server.keys.clone();
    for (table, key, secret) in &server.secrets {
        let file = files.write(&format!("{name}.{key}"), secret)?;
        let reference = serde_json::json!({ "file": file });
        let table = keys.entry(*table).or_insert_with(|| serde_json::json!({}));
        if let Some(table) = table.as_object_mut() {
            table.insert(key.clone(), reference);
        }
    }
    Ok(keys)
}

/// The servers that are new, and how many are left out. Prints what is done with each server.
fn select(
    text: &str,
    secrets: &Path,
    found: Vec<(String, serde_json::Value)>,
) -> anyhow::Result<(Vec<NewServer>, usize)> {
    let (mut new, mut left_out): (Vec<NewServer>, _) = (Vec::new(), 0);
    for (original, entry) in found {
        let shown = visible_line(&original, 100);
        if is_portcullis(&entry) {
            super::print(&format!("-- `{shown}` is portcullis itself\n"))?;
            continue;
        }
        let translated = match translate(&entry) {
            Ok(translated) => translated,
            Err(why) => {
                left_out += 1;
                super::print(&format!("{} `{shown}` is left out: {}\n", red("!!"), visible(&why)))?;
                continue;
            }
        };
        let name = name_of(&original);
        let with_references = keys_with_references(&name, &translated, secrets);
        let why = match presence(text, &name, &with_references)? {
            _ if new.iter().any(|other| other.name == name) => {
                "another server of this file has its name"
            }
            Presence::Absent => {
                super::print(&format!("{} `{shown}` becomes [upstreams.{name}]\n", green("ok")))?;
                for remark in &translated.remarks {
                    super::print(&format!("   {}\n", visible(remark)))?;
                }
                new.push(NewServer { name, translated });
                continue;
            }
            Presence::Same => {
                super::print(&format!("-- `{shown}` is in portcullis.toml already\n"))?;
                continue;
            }
            Presence::Other => "portcullis.toml has another server of this name",
            Presence::Plugin => "a plugin has this name",
        };
        left_out += 1;
        super::print(&format!(
            "{} `{shown}` is left out: {why}; rename the server in the client's file\n",
            red("!!")
        ))?;
    }
    Ok((new, left_out))
}

/// The keys of a server, with the paths of files in place of the secrets.
fn keys_with_references(name: &str, server: &Translated, folder: &Path) -> UpstreamKeys {
    let mut keys = server.keys.clone();
    for (table, key, _) in &server.secrets {
        let file = secrets::path(folder, &format!("{name}.{key}"));
        let table = keys.entry(*table).or_insert_with(|| serde_json::json!({}));
        if let Some(table) = table.as_object_mut() {
            table.insert(key.clone(), serde_json::json!({ "file": file.display().to_string() }));
        }
    }
    keys
}

/// A valid name for an upstream server, made from the name in the client's file.
fn name_of(original: &str) -> String {
    let allowed_letter =
        |letter: char| if letter.is_ascii_alphanumeric() || letter == '_' { letter } else { '-' };
    let name: String = original.chars().map(allowed_letter).take(64).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "server".to_owned() } else { name.to_owned() }
}

/// The difference between two configurations, without secrets.
fn difference(file: &ConfigFile, before: &str, after: &str) -> anyhow::Result<String> {
    let path = file.path.display().to_string();
    let (before, after) = (config::shown(before)?, config::shown(after)?);
    let difference = TextDiff::from_lines(&before, &after);
    let old = if file.text.is_some() { path.as_str() } else { "/dev/null" };
    let text = difference.unified_diff().context_radius(1).header(old, &path).to_string();
    let lines = text.lines().map(|line| {
        let seen = visible(line);
        match line.bytes().next() {
            Some(b'+') => green(&seen),
            Some(b'-') => red(&seen),
            Some(b'@') => faint(&seen),
            _ => seen.into_owned(),
        }
    });
    Ok(format!("{}\n", lines.collect::<Vec<_>>().join("\n")))
}
