//! `portcullis wrap`: serves the tools of another MCP server, with views, without a configuration file.

use anyhow::bail;
use portcullis_core::families::VIEW_PLUGIN;

use super::setup::Setup;
use super::{End, serve};

/// Arguments of `wrap`.
#[derive(clap::Args)]
// clap names a group after its struct. The group `Args` is that of `serve::Args`.
#[group(skip)]
pub struct Args {
    #[command(flatten)]
    serve: serve::Args,
    /// Name of the server in the audit, and prefix of tool names that collide
    #[arg(long, default_value = "wrapped")]
    name: String,
    /// Pass this environment variable to the server, which gets no other (repeatable)
    #[arg(long = "env", value_name = "NAME")]
    variables: Vec<String>,
    /// Also offer the bundled tools
    #[arg(long)]
    with_bundled: bool,
    /// The server: its URL, or after `--` a program with its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND | URL")]
    server: Vec<String>,
}

impl Args {
    pub(super) async fn run(self, mut setup: Setup) -> anyhow::Result<End> {
        let upstream = portcullis_core::upstreams::Config::typed(&self.server, &self.variables)?;
        if setup.config.upstreams.insert(self.name.clone(), upstream).is_some() {
            bail!("portcullis.toml has an [upstreams.{}] already: give another --name", self.name);
        }
        if !self.with_bundled {
            for (name, plugin) in &mut setup.config.plugins {
                if Some(name.as_str()) != VIEW_PLUGIN && portcullis_core::plugins::is_bundled(name)
                {
                    plugin.enabled = Some(false);
                }
            }
        }
        setup.config.check()?;
        self.serve.run(setup).await
    }
}
