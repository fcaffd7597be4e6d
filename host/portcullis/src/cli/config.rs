//! `portcullis config`: what counts, and where it is.

use std::path::Path;

use clap::Subcommand;

use super::End;
use portcullis_core::config::{Config, DEFAULT, Folders};

/// What `config` takes.
#[derive(Subcommand)]
pub enum Args {
    /// Print the effective configuration
    Show,
    /// Print the path of the configuration file
    Path,
}

impl Args {
    pub(super) fn run(&self, given: Option<&Path>) -> Result<End, String> {
        let folders = Folders::of_user()?;
        let (path, text) = portcullis_user_dirs::find(given, &folders)?;
        match (self, text) {
            (Self::Path, Some(_)) => super::print(&format!("{}\n", path.display())),
            (Self::Path, None) => {
                super::log::say("(there is no such file: the defaults in the binary count)");
                super::print(&format!("{}\n", path.display()))
            }
            (Self::Show, None) => super::print(DEFAULT),
            (Self::Show, Some(text)) => {
                let at = |error| format!("{}: {error}", path.display());
                let shown = portcullis_core::config::shown(&text).map_err(at)?;
                super::print::outside(&format!(
                    "# {}\n{shown}\n# ---- the defaults in the binary, for bundled plugins not named above\n{DEFAULT}",
                    path.display()
                ))?;
                Config::parse(&text).map_err(at)?;
                Ok(End::Done)
            }
        }
    }
}
