//! `portcullis config`: what counts, and where it is.

use clap::Subcommand;

use super::End;
use super::start::Ready;
use crate::config::{DEFAULT, Source};

/// What `config` takes.
#[derive(Subcommand)]
pub enum Args {
    /// Print the configuration that counts
    Show,
    /// Print where the configuration is, or would be
    Path,
}

impl Args {
    #[expect(clippy::disallowed_methods, reason = "the file is shown as it is")]
    pub(super) fn run(&self, ready: &Ready) -> Result<End, String> {
        match (self, &ready.source) {
            (Self::Path, Source::File(path)) => super::print(&format!("{}\n", path.display())),
            (Self::Path, Source::Default) => {
                anstream::eprintln!("(there is no such file: the defaults in the binary count)");
                super::print(&format!("{}\n", ready.folders.config.display()))
            }
            (Self::Show, Source::Default) => super::print(DEFAULT),
            (Self::Show, Source::File(path)) => {
                let text = std::fs::read_to_string(path)
                    .map_err(|error| format!("{}: {error}", path.display()))?;
                super::print(&format!(
                    "# {}\n{text}\n# ---- the defaults in the binary, for bundled plugins not named above\n{DEFAULT}",
                    path.display()
                ))
            }
        }
    }
}
