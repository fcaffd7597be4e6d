//! The options that say which tools clients see.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::bail;
use portcullis_core::families::FAMILIES;
use portcullis_core::listing::{Selection, Selections};
use portcullis_core::plugins::folders_of;

use super::context::CommandContext;

/// The options that say which tools clients see. Without them, profiles of the configuration or the projects in the
/// roots decide.
#[derive(clap::Args, Default)]
// clap names a group after its struct, and other structs have this name.
#[group(skip)]
pub struct Flags {
    /// Let clients see only the tools of these families, plugins and servers. `all`: every tool; `search`: clients find
    /// tools by search; `code`: models call tools in programs
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    tools: Vec<String>,
    /// Let clients see the tools of this profile of the configuration
    #[arg(long, value_name = "NAME", conflicts_with = "tools")]
    profile: Option<String>,
}

impl Flags {
    /// Whether one of these options is given.
    pub fn is_given(&self) -> bool {
        !self.tools.is_empty() || self.profile.is_some()
    }

    /// Lists every tool, if none of these options is given.
    pub fn list_all_by_default(&mut self) {
        if !self.is_given() {
            self.tools.push("all".to_owned());
        }
    }

    /// The selections of all clients.
    ///
    /// # Errors
    ///
    /// No family, plugin, upstream server or profile has one of the names.
    pub fn selections(&self, context: &CommandContext) -> anyhow::Result<Selections> {
        let config = &context.config;
        if let Some(name) = &self.profile {
            let Some(profile) = Selection::named(config, name) else {
                let known: Vec<_> = config.profiles.keys().map(String::as_str).collect();
                bail!(
                    "there is no profile `{name}`\n  hint: {}",
                    or_none("the profiles are", &known)
                );
            };
            return Ok(Selections::new(config, Some(profile)));
        }
        if self.tools.is_empty() {
            return Ok(Selections::new(config, None));
        }
        let known = names(context);
        if let Some(unknown) = self.tools.iter().find(|name| !known.contains(name)) {
            let known: Vec<_> = known.iter().map(String::as_str).collect();
            bail!(
                "--tools: no family, plugin or server is called `{unknown}`\n  hint: {}",
                or_none("the names are", &known)
            );
        }
        Ok(Selections::new(config, Some(Selection::typed(&self.tools))))
    }
}

fn or_none(start: &str, names: &[&str]) -> String {
    if names.is_empty() {
        "there are none".to_owned()
    } else {
        format!("{start} {}", names.join(", "))
    }
}

/// The names that `--tools` accepts.
fn names(context: &CommandContext) -> Vec<String> {
    let config = &context.config;
    let modes = ["all", "search", "code"].map(ToOwned::to_owned).into_iter();
    let families = FAMILIES.iter().map(|family| family.name.to_owned());
    let configured = config.plugins.keys().chain(config.upstreams.keys()).cloned();
    let files = folders_of(config, &context.folders).into_iter().flat_map(plugin_files);
    let mut names: Vec<String> = modes.chain(families).chain(configured).chain(files).collect();
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}

/// The names of the plugins in a folder.
#[expect(
    clippy::disallowed_methods,
    reason = "the operator's plugin folder is listed, as when plugins are loaded"
)]
fn plugin_files(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    let plugins = paths.filter(|path| path.extension().is_some_and(|end| end == "wasm"));
    plugins.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect()
}
