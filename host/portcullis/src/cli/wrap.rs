//! `portcullis wrap`: another MCP server, with views for its tools, without a configuration file.

use portcullis_core::families::VIEW_PLUGIN;

use super::setup::Setup;
use super::{End, serve};

/// What `wrap` takes.
#[derive(clap::Args)]
// Its name is taken, by what it contains.
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
    pub(super) async fn run(self, mut setup: Setup) -> Result<End, String> {
        let upstream = portcullis_core::upstreams::Config::typed(&self.server, &self.variables)?;
        if setup.config.upstreams.insert(self.name.clone(), upstream).is_some() {
            return Err(format!(
                "portcullis.toml has an [upstreams.{}] already: give another --name",
                self.name
            ));
        }
        if !self.with_bundled {
            for (name, plugin) in &mut setup.config.plugins {
                if Some(name.as_str()) != VIEW_PLUGIN && portcullis_core::plugins::is_bundled(name)
                {
                    plugin.enabled = Some(false);
                }
            }
        }
        setup.config.check().map_err(|error| error.to_string())?;
        self.serve.run(setup).await
    }
}
