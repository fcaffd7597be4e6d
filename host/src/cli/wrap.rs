//! `portcullis wrap`: another MCP server, with views for its tools, without a configuration file.

use std::path::PathBuf;

use super::start::Ready;
use super::{End, serve};

/// What `wrap` takes.
#[derive(clap::Args)]
// Its name is taken, by what it contains.
#[group(skip)]
pub struct Args {
    #[command(flatten)]
    serve: serve::Args,
    /// What the server is called here: in the audit, and before names that another tool has, too
    #[arg(long, default_value = "wrapped")]
    name: String,
    /// Hand this variable of the environment on to the server; it gets no other. May be given several
    /// times
    #[arg(long = "env", value_name = "NAME")]
    variables: Vec<String>,
    /// Let the bundled tools be called, too
    #[arg(long)]
    with_bundled: bool,
    /// Make every view anew
    #[arg(long)]
    no_cache: bool,
    /// Leave the pages of views in this folder
    #[arg(long, value_name = "DIR")]
    export_dir: Option<PathBuf>,
    /// Leave prompts, models' answers and pages in this folder, without secrets, to find faults
    #[arg(long, value_name = "DIR")]
    debug: Option<PathBuf>,
    /// The server: a program and its arguments, behind `--`, or an address
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND | URL")]
    server: Vec<String>,
}

/// The bundled plugin that dresses tools.
const VIEWS: &str = "ui";

impl Args {
    pub(super) async fn run(self, mut ready: Ready) -> Result<End, String> {
        let upstream = portcullis_wrap::Config::typed(&self.server, &self.variables)?;
        if ready.config.upstreams.insert(self.name.clone(), upstream).is_some() {
            return Err(format!(
                "portcullis.toml has an [upstreams.{}] already: give another --name",
                self.name
            ));
        }
        if !self.with_bundled {
            for (name, plugin) in &mut ready.config.plugins {
                if name != VIEWS && crate::plugins::is_bundled(name) {
                    plugin.enabled = Some(false);
                }
            }
        }
        let views = ready.config.plugins.entry(VIEWS.to_owned()).or_default();
        if self.no_cache {
            views.settings.insert("cache".into(), "false".into());
        }
        for (key, folder) in [("export-dir", &self.export_dir), ("debug-dir", &self.debug)] {
            if let Some(folder) = folder {
                let folder = std::path::absolute(folder).map_err(|error| error.to_string())?;
                let text = folder.to_str().ok_or("the folder's name is no text")?;
                views.settings.insert(key.into(), text.to_owned());
                views.grants.let_write(folder);
            }
        }
        ready.config.check()?;
        self.serve.run(ready).await
    }
}
