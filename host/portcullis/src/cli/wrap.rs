//! `portcullis wrap`: serves the tools of another MCP server, with views. The server is named by the arguments of the
//! command and not by portcullis.toml.

use anyhow::bail;
use portcullis_core::families::VIEW_PLUGIN;
use portcullis_core::upstreams::name_of;

use super::context::CommandContext;
use super::{CommandEnd, serve};

/// Arguments of `wrap`.
#[derive(clap::Args)]
// clap names a group after its struct. The group `Args` already belongs to `serve::Args`.
#[group(skip)]
pub struct Args {
    #[command(flatten)]
    serve: serve::Args,
    /// Name of the server, for the audit and as the prefix of tool names that collide. Default: a word of the command
    /// or URL
    #[arg(long)]
    name: Option<String>,
    /// Pass this environment variable to the server (repeatable). A few others, such as PATH, are always passed
    #[arg(long = "env", value_name = "NAME")]
    variables: Vec<String>,
    /// Also offer the tools of the bundled plugins
    #[arg(long)]
    with_bundled: bool,
    /// The server: its URL, or `--` and a program with its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND | URL")]
    server: Vec<String>,
}

impl Args {
    pub(super) async fn run(mut self, mut context: CommandContext) -> anyhow::Result<CommandEnd> {
        let upstream = portcullis_core::upstreams::Config::typed(&self.server, &self.variables)?;
        let name = self.name.unwrap_or_else(|| free_name(&self.server, &context));
        if context.config.upstreams.insert(name.clone(), upstream).is_some() {
            bail!(
                "portcullis.toml already has [upstreams.{name}]: choose another name with --name"
            );
        }
        if !self.with_bundled {
            for (name, plugin) in &mut context.config.plugins {
                if Some(name.as_str()) != VIEW_PLUGIN && portcullis_core::plugins::is_bundled(name)
                {
                    plugin.enabled = Some(false);
                }
            }
        }
        let is_alone = context.config.upstreams.len() == 1 && !self.with_bundled;
        if is_alone && context.config.profiles.is_empty() {
            // All tools of the server are listed. Even a long list is not replaced by `search_tools`.
            self.serve.list_all_by_default();
        }
        context.config.check()?;
        self.serve.run_once(context).await
    }
}

/// The name of a server for which none was given: a word from its command or URL. If something else has that name, a
/// suffix is added.
fn free_name(server: &[String], context: &CommandContext) -> String {
    let is_taken = |name: &String| {
        let config = &context.config;
        config.upstreams.contains_key(name)
            || config.plugins.contains_key(name)
            || portcullis_core::plugins::is_bundled(name)
    };
    first_free(name_of(server).unwrap_or_else(|| "wrapped".to_owned()), is_taken)
}

/// The name, or the first name made from it that is not taken.
fn first_free(name: String, is_taken: impl Fn(&String) -> bool) -> String {
    let numbered = (2..).map(|number| format!("{name}-wrapped-{number}"));
    let mut names = [name.clone(), format!("{name}-wrapped")].into_iter().chain(numbered);
    names.find(|name| !is_taken(name)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_taken_gets_an_ending_that_is_free() {
        let free = |taken: &[&str]| {
            first_free("git".to_owned(), |name| taken.iter().any(|taken| taken == name))
        };
        assert_eq!(free(&[]), "git");
        assert_eq!(free(&["git"]), "git-wrapped");
        assert_eq!(free(&["git", "git-wrapped"]), "git-wrapped-2");
        assert_eq!(free(&["git", "git-wrapped", "git-wrapped-2"]), "git-wrapped-3");
    }
}
