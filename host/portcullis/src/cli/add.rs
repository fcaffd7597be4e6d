//! `portcullis plugin add`: fetches a component, shows what it could do, asks, and installs it.

use std::path::Path;

use anyhow::bail;
use portcullis_core::capabilities::Capability;
use portcullis_core::plugins::Installation;
use portcullis_core::plugins::inspect::Inspection;
use portcullis_plugin_sources::Source;
use portcullis_sanitize::{visible, visible_line};

use super::CommandEnd;
use super::confirm::Consent;
use super::context::CommandContext;
use super::grant::PlannedGrants;
use super::sources;
use super::style::{faint, red};

/// Arguments of `plugin add`.
#[derive(clap::Args)]
#[command(after_help = sources::LOGINS)]
pub struct Args {
    /// A file, an address (`https://…`, with `#sha256=HEX` if you know its digest), or an artifact in a registry:
    /// `oci://HOST/REPOSITORY:TAG` or `oci://HOST/REPOSITORY@sha256:HEX`
    #[arg(value_name = "SOURCE")]
    source: String,
    /// The plugin's name, instead of the last part of the source
    #[arg(long)]
    name: Option<String>,
    /// Grant this, as `plugin grant` does (repeatable); `wanted` for everything that the plugin wants
    #[arg(long = "grant", value_name = "CAPABILITY=VALUE")]
    grants: Vec<String>,
    /// The reason, which is kept with the approval and in the audit
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
    #[command(flatten)]
    consent: Consent,
}

impl Args {
    pub(super) async fn run(
        self,
        context: CommandContext,
        config: Option<&Path>,
    ) -> anyhow::Result<CommandEnd> {
        let source = sources::parse(&self.source)?;
        let name = self.plugin_name(&source)?;
        // The name is checked before anything is fetched.
        let place = Installation::place(&name, &context.config, &context.folders)?;
        let fetched = sources::fetch(&context, &source).await?;
        let sandbox = context.sandbox();
        let inspect = async |config| {
            let part = (&*name, &*place);
            sources::inspect(&context, config, &sandbox, part, &fetched.component).await
        };
        let inspection = inspect(&context.config).await?;
        let from = sources::provenance(&source, &fetched);
        let grants = match inspection.defect {
            Some(_) => None,
            None => Some(PlannedGrants::new(&context, config, &inspection, &self.grants)?),
        };
        // The remarks, and the hints of the tools, are those that hold with the grants.
        let granted = match grants.as_ref().map(PlannedGrants::config).transpose()?.flatten() {
            Some(config) => Some(inspect(&config).await?),
            None => None,
        };
        super::print(&super::inspect::as_text(granted.as_ref().unwrap_or(&inspection)))?;
        super::print(&sources::provenance_text(&from, &fetched))?;
        let Some(grants) = grants else {
            let defect = inspection.defect.as_deref().unwrap_or_default();
            bail!(
                "`{name}` cannot be a plugin of this host: {}\nnothing was changed",
                visible(defect)
            );
        };
        super::print(&granted_already(&context, &name))?;
        grants.show()?;
        let question = match self.grants.is_empty() {
            true => format!("Install `{name}`?"),
            false => format!("Install `{name}`, and write these grants?"),
        };
        if !self.consent.ask(&question)? {
            super::print("nothing was installed\n")?;
            return Ok(CommandEnd::Failed);
        }
        let reason = &self.reason;
        let component = &fetched.component;
        let installation =
            Installation { name: &name, component, inspection: &inspection, from, reason };
        installation.install(&place, &context.folders, &sandbox)?;
        let mut text = format!(
            "installed: {}, approved as it is, sha256:{}\n",
            visible_line(&place.display().to_string(), 1000),
            fetched.digest.hex()
        );
        text += &grants.write()?;
        text += &next_steps(&inspection, &self.grants);
        super::print(&text)
    }

    fn plugin_name(&self, source: &Source) -> anyhow::Result<String> {
        match self.name.clone().or_else(|| source.name()) {
            Some(name) => Ok(name),
            None => bail!(
                "the end of {} cannot be the name of a plugin (letters, digits, `-` and `_`)\n  hint: `--name NAME`",
                visible_line(&self.source, 500)
            ),
        }
    }
}

/// The grants that `portcullis.toml` already has for the plugin of this name. They take effect with the installation.
fn granted_already(context: &CommandContext, name: &str) -> String {
    let Some(plugin) = context.config.plugins.get(name) else { return String::new() };
    let values = Capability::ALL.map(|one| (one, plugin.grants.values(one)));
    let lines = values.into_iter().flat_map(|(capability, values)| {
        let short = capability.short_forms();
        let words = move |value: String| {
            format!("  {:<8} {}\n", capability.as_str(), visible_line(&short.words(&value), 500))
        };
        values.into_iter().map(words)
    });
    let lines: String = lines.collect();
    if lines.is_empty() {
        return lines;
    }
    format!(
        "{}: portcullis.toml already has [plugins.{name}]. Once installed, `{name}` may:\n{lines}",
        red("warning")
    )
}

/// What the operator can do next.
fn next_steps(inspection: &Inspection, grants: &[String]) -> String {
    let mut text = String::new();
    if grants.is_empty() && !inspection.wants().is_empty() {
        let name = &inspection.name;
        text += &faint(&format!(
            "it has no grants yet; to grant what it wants: `portcullis plugin grant {name} wanted`"
        ));
        text += "\n";
    }
    text + &format!("{}\n", faint(super::print::APPLIED))
}
