//! `portcullis pages`: writes the manual pages and shell completions, for packages.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Command, ValueEnum as _};
use clap_complete::Shell;

/// Arguments of `pages`.
#[derive(clap::Args)]
pub struct Args {
    /// The folder to write to
    folder: PathBuf,
}

impl Args {
    /// Writes `man/*.1`, one page for each command, and `completions/*`, one file for each shell.
    ///
    /// # Errors
    ///
    /// The folder cannot be written to.
    #[expect(clippy::disallowed_methods, reason = "the operator names the folder")]
    pub fn run(&self, command: Command) -> anyhow::Result<()> {
        let make_folder = |folder: &str| -> anyhow::Result<PathBuf> {
            let path = self.folder.join(folder);
            std::fs::create_dir_all(&path)
                .with_context(|| format!("cannot make {}", path.display()))?;
            Ok(path)
        };
        let manual = make_folder("man")?;
        clap_mangen::generate_to(command.clone(), &manual)
            .with_context(|| cannot_write(&manual))?;
        let completions = make_folder("completions")?;
        let mut command = command;
        for shell in Shell::value_variants() {
            clap_complete::generate_to(*shell, &mut command, "portcullis", &completions)
                .with_context(|| cannot_write(&completions))?;
        }
        Ok(())
    }
}

fn cannot_write(folder: &Path) -> String {
    format!("cannot write to {}", folder.display())
}
