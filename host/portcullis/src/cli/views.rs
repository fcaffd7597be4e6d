//! Options of `serve` and `wrap` about views.

use std::path::{Path, PathBuf};

use portcullis_core::config::Config;
use portcullis_core::families::VIEW_PLUGIN;

/// Flags for that plugin. What they say counts over the configuration.
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
}

impl Flags {
    /// Writes them into the configuration. Folders are made where there are none.
    ///
    /// # Errors
    ///
    /// In words for whoever typed them.
    pub fn apply(&self, config: &mut Config) -> Result<(), String> {
        if !self.no_cache && self.export_dir.is_none() && self.debug.is_none() {
            return Ok(());
        }
        let name = VIEW_PLUGIN.ok_or("this program has no plugin that makes views")?;
        let plugin = config.plugins.entry(name.to_owned()).or_default();
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
                let folder = made(folder).map_err(|error| {
                    format!("{flag}: making the folder {}: {error}", folder.display())
                })?;
                let text = folder.to_str().ok_or("the folder's name is no text")?;
                plugin.settings.insert(key.into(), text.to_owned());
                plugin.grants.let_write(folder);
            }
        }
        config.check().map_err(|error| error.to_string())
    }
}

#[expect(clippy::disallowed_methods, reason = "the operator has just typed that folder")]
fn made(folder: &Path) -> std::io::Result<PathBuf> {
    let folder = std::path::absolute(folder)?;
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}
