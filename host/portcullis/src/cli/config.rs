//! `portcullis config`: prints the effective configuration, its path, and the JSON Schema of its file.

use std::path::Path;

use clap::Subcommand;

use super::CommandEnd;
use portcullis_core::config::{Config, ConfigError, ConfigFile, DEFAULT, Folders};

/// The subcommands of `config`.
#[derive(Subcommand)]
pub enum Args {
    /// Print the effective configuration
    Show,
    /// Print the path of the configuration file
    Path,
    /// Print the JSON Schema of the configuration file, for editors
    Schema,
}

impl Args {
    pub(super) fn run(&self, given: Option<&Path>) -> anyhow::Result<CommandEnd> {
        match self {
            Self::Schema => super::print::json(portcullis_core::config::schema()),
            Self::Path => print_path(given),
            Self::Show => print_config(given),
        }
    }
}

fn print_path(given: Option<&Path>) -> anyhow::Result<CommandEnd> {
    let ConfigFile { path, text } = ConfigFile::read(given, &Folders::of_user()?)?;
    if text.is_none() {
        super::log::say("(there is no such file: the defaults in the binary apply)");
    }
    super::print(&format!("{}\n", path.display()))
}

fn print_config(given: Option<&Path>) -> anyhow::Result<CommandEnd> {
    let ConfigFile { path, text } = ConfigFile::read(given, &Folders::of_user()?)?;
    let Some(text) = text else { return super::print(DEFAULT) };
    let with_file = |error: ConfigError| ConfigError { file: Some(path.clone()), ..error };
    let shown = portcullis_core::config::shown(&text).map_err(with_file)?;
    super::print::untrusted(&format!(
        "# {}\n{shown}\n# ---- the defaults in the binary, for bundled plugins not named above\n{DEFAULT}",
        path.display()
    ))?;
    Config::parse(&text).map_err(with_file)?;
    Ok(CommandEnd::Done)
}
