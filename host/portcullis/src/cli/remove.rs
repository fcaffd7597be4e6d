//! `portcullis plugin remove`: removes a plugin's file, its section of `portcullis.toml`, and its approval.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use portcullis_core::plugins::{PlaceOf, place_of, uninstall};
use portcullis_sanitize::visible_line;

use super::CommandEnd;
use super::confirm::Consent;
use super::context::CommandContext;
use super::style::faint;

/// Arguments of `plugin remove`.
#[derive(clap::Args)]
pub struct Args {
    /// The plugin's name
    name: String,
    /// Keep the plugin's section of portcullis.toml: a later plugin of this name has its grants
    #[arg(long)]
    keep_grants: bool,
    /// Also remove the data that the plugin stored and cached
    #[arg(long)]
    data: bool,
    #[command(flatten)]
    consent: Consent,
}

impl Args {
    pub(super) async fn run(
        self,
        context: &CommandContext,
        config: Option<&Path>,
    ) -> anyhow::Result<CommandEnd> {
        let name = &self.name;
        let file = match place_of(name, &context.config, &context.folders) {
            PlaceOf::File(path) => path,
            PlaceOf::Binary => bail!(
                "`{name}` comes with Portcullis\n  hint: `enabled = false` under [plugins.{name}] switches it off"
            ),
            PlaceOf::Nowhere => {
                bail!("there is no plugin `{name}`\n  hint: `portcullis plugin list` lists them")
            }
        };
        let removal = match self.keep_grants {
            true => None,
            false => super::grant::removal(context, config, name)?,
        };
        let data: Vec<_> =
            data_folders(context, name).into_iter().filter(|folder| folder.exists()).collect();
        let shown = |path: &Path| visible_line(&path.display().to_string(), 1000);
        if let Some(removal) = &removal {
            removal.show()?;
        }
        let mut text = format!("to be removed: {}\n", shown(&file));
        for folder in &data {
            text += &match self.data {
                true => format!("to be removed: {} (its data)\n", shown(folder)),
                false => format!("stays: {} (its data; `--data` removes it)\n", shown(folder)),
            };
        }
        super::print(&text)?;
        if !self.consent.ask(&format!("Remove the plugin `{name}`?"))? {
            super::print("nothing was removed\n")?;
            return Ok(CommandEnd::Failed);
        }
        // The grants are removed first. If the process is killed afterwards, a later plugin of this name does not have
        // the grants.
        let mut text = String::new();
        if let Some(removal) = &removal {
            text += &removal.write()?;
        }
        uninstall(name, &file, &context.folders)?;
        text += &format!("removed: {}\n", shown(&file));
        for folder in data.iter().filter(|_| self.data) {
            std::fs::remove_dir_all(folder)
                .with_context(|| format!("removing {}", folder.display()))?;
            text += &format!("removed: {}\n", shown(folder));
        }
        super::print(&format!("{text}{}\n", faint(super::print::APPLIED)))
    }
}

/// The folders in which a plugin keeps data.
fn data_folders(context: &CommandContext, name: &str) -> [PathBuf; 2] {
    [context.folders.store.join(name), context.folders.cache.join("plugins").join(name)]
}
