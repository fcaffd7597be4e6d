//! Options about views, of `serve`, `wrap` and `preview`.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use portcullis_core::config::Config;
use portcullis_core::families::VIEW_PLUGIN;

use super::models;

/// Options for the plugin that makes views. They override the configuration.
#[derive(clap::Args)]
pub struct Flags {
    /// Do not read or write the cache of generated views
    #[arg(long)]
    no_cache: bool,
    /// Write the pages of views to this directory
    #[arg(long, value_name = "DIR")]
    export_dir: Option<PathBuf>,
    /// Write prompts, model answers and pages to this directory, without secrets
    #[arg(long, value_name = "DIR")]
    debug: Option<PathBuf>,
    #[command(flatten)]
    models: models::Flags,
}

impl Flags {
    /// Applies the options to the configuration. Missing directories are created.
    ///
    /// # Errors
    ///
    /// A directory cannot be created, an option about models is wrong, or the resulting configuration is invalid.
    pub fn apply(&self, config: &mut Config) -> anyhow::Result<()> {
        let has_folders = self.export_dir.is_some() || self.debug.is_some();
        if !self.no_cache && !has_folders && self.models.is_empty() {
            return Ok(());
        }
        let name = VIEW_PLUGIN.context("this program has no plugin that makes views")?;
        let plugin = config.plugins.entry(name.to_owned()).or_default();
        self.models.apply(plugin)?;
        if self.no_cache {
            plugin.settings.insert("cache".into(), "false".into());
            if let Some(cache) = &mut plugin.grants.cache {
                cache.disk = false;
            }
        }
        let folders = [
            ("--export-dir", "export-dir", &self.export_dir),
            ("--debug", "debug-dir", &self.debug),
        ];
        for (flag, key, folder) in folders {
            if let Some(folder) = folder {
                let folder = create(folder)
                    .with_context(|| format!("{flag}: creating the folder {}", folder.display()))?;
                let text = folder.to_str().context("the folder's name is not UTF-8")?;
                plugin.settings.insert(key.into(), text.to_owned());
                plugin.grants.add_writable_directory(folder);
            }
        }
        Ok(config.check()?)
    }
}

#[expect(clippy::disallowed_methods, reason = "the operator names the folder on the command line")]
fn create(folder: &Path) -> std::io::Result<PathBuf> {
    let folder = std::path::absolute(folder)?;
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}
