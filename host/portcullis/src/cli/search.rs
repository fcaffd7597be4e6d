//! `portcullis plugin search`: lists the repositories of a registry, or the tags of a repository.

use portcullis_plugin_sources::{Listed, Location, list};
use portcullis_sanitize::visible_line;
use serde_json::json;

use super::CommandEnd;
use super::context::{CommandContext, report_if_slow};
use super::sources;
use super::style::faint;

/// Arguments of `plugin search`.
#[derive(clap::Args)]
#[command(after_help = sources::LOGINS)]
pub struct Args {
    /// A registry, `oci://HOST`; or a repository, `oci://HOST/REPOSITORY`, to list its tags
    #[arg(value_name = "REGISTRY")]
    location: String,
    /// Only names that contain this word
    #[arg(value_name = "WORD")]
    word: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Prints the names. Exit code 1: the registry lists no matching name.
    pub(super) async fn run(self, context: &CommandContext) -> anyhow::Result<CommandEnd> {
        let location = Location::parse(&self.location)?;
        let logins = sources::logins();
        let what = format!("asking {location} for its list");
        let listed =
            report_if_slow(&what, list(&location, sources::terms(context, &logins))).await?;
        let word = self.word.as_deref().unwrap_or_default();
        let (kind, names, is_cut) = match listed {
            Listed::Tags { names, is_cut } => ("tags", names, is_cut),
            Listed::Repositories { names, is_cut } => ("repositories", names, is_cut),
            Listed::Nothing => {
                super::log::note(&format!(
                    "{} does not list its repositories, like most public registries; to list the tags of a \
                     repository, name it: `portcullis plugin search oci://HOST/REPOSITORY`",
                    location.host
                ));
                return Ok(CommandEnd::Failed);
            }
        };
        let names: Vec<_> = names.into_iter().filter(|name| name.contains(word)).collect();
        if names.is_empty() {
            let which = if word.is_empty() { "no" } else { "no matching" };
            super::log::note(&format!("{location} has {which} {kind}"));
        }
        if self.json {
            super::print::json(&json!({ "kind": kind, "names": names, "isCut": is_cut }))?;
        } else {
            let registry = Location { repository: String::new(), ..location.clone() };
            let line = |name: &String| match kind {
                "tags" => format!("{location}:{}\n", visible_line(name, 200)),
                _ => format!("{registry}/{}\n", visible_line(name, 300)),
            };
            super::print(&names.iter().map(line).collect::<String>())?;
            if is_cut {
                super::print(&format!(
                    "{}\n",
                    faint("the list is cut off: the registry has more names")
                ))?;
            }
        }
        Ok(if names.is_empty() { CommandEnd::Failed } else { CommandEnd::Done })
    }
}
