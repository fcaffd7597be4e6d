//! `portcullis plugin update`: fetches newer components of plugins from their recorded sources, shows what changed,
//! asks, and replaces the plugins.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use portcullis_core::lock::{ApprovalKey, LockFile, Provenance};
use portcullis_core::plugins::description::{differences, of_component};
use portcullis_core::plugins::inspect::Inspection;
use portcullis_core::plugins::{Installation, PlaceOf, place_of};
use portcullis_core::sandbox::Sandbox;
use portcullis_engine::ComponentFile;
use portcullis_plugin_sources::{Fetched, Source, resolve};
use portcullis_sanitize::{visible, visible_line};

use super::CommandEnd;
use super::confirm::Consent;
use super::context::CommandContext;
use super::sources;
use super::style::{faint, green, red};

/// Arguments of `plugin update`.
#[derive(clap::Args)]
#[command(after_help = sources::LOGINS)]
pub struct Args {
    /// The plugins. Default: all that were fetched
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Report newer components and change nothing. Exit code 1: there is a newer component
    #[arg(long, conflicts_with_all = ["reason", "yes"])]
    check: bool,
    /// Fetch from this source instead of the recorded one. Later updates use it, too
    #[arg(long, value_name = "SOURCE")]
    from: Option<String>,
    /// The reason, which is kept with the approval and in the audit
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
    #[command(flatten)]
    consent: Consent,
}

/// An installed plugin, and the source to fetch from.
struct Installed {
    name: String,
    path: PathBuf,
    /// The digest of the component in the file.
    digest: String,
    /// The approved digest.
    approved: Option<String>,
    /// The provenance in the lock file.
    from: Option<Provenance>,
    source: Source,
}

impl Args {
    pub(super) async fn run(self, context: CommandContext) -> anyhow::Result<CommandEnd> {
        if self.from.is_some() && self.names.len() != 1 {
            bail!("`--from` is for one plugin: name it");
        }
        let lock = LockFile::at(context.folders.lock.clone());
        let names =
            if self.names.is_empty() { lock.fetched_plugins()? } else { self.names.clone() };
        if names.is_empty() {
            return super::print("no plugin was fetched: `portcullis plugin add` fetches one\n");
        }
        let sandbox = context.sandbox();
        let mut end = CommandEnd::Done;
        let mut failed = Vec::new();
        for name in &names {
            match self.update(&context, &sandbox, &lock, name).await {
                Ok(true) => {}
                Ok(false) => end = CommandEnd::Failed,
                // The other plugins are updated even if the source of one plugin cannot be reached.
                Err(error) if names.len() > 1 => {
                    let why =
                        visible(&portcullis_sanitize::error_chain(error.as_ref())).into_owned();
                    super::print(&format!(
                        "{} {}\n  {why}\n",
                        green(&visible_line(name, 100)),
                        red("not updated")
                    ))?;
                    failed.push(name.clone());
                }
                Err(error) => return Err(error),
            }
        }
        if !failed.is_empty() {
            bail!("not updated: {}", failed.join(", "));
        }
        Ok(end)
    }

    /// Updates one plugin. `false`: there is a component to replace the plugin's, and the plugin was not replaced.
    async fn update(
        &self,
        context: &CommandContext,
        sandbox: &Arc<Sandbox>,
        lock: &LockFile,
        name: &str,
    ) -> anyhow::Result<bool> {
        let installed = self.installed(context, lock, name)?;
        let Installed { path, source, from, .. } = &installed;
        let shown = green(&visible_line(name, 100));
        if self.from.is_none() && source.is_pinned() {
            super::print(&format!(
                "{shown} is pinned to a digest: {}\n  {}\n",
                visible_line(&source.to_string(), 500),
                faint("`--from SOURCE` takes another component")
            ))?;
            return Ok(true);
        }
        if let Some(artifact) = self.unchanged(context, &installed).await? {
            super::print(&format!("{shown} is up to date: {artifact}\n"))?;
            return Ok(true);
        }
        let fetched = sources::fetch(context, source).await?;
        let is_same = fetched.digest.hex() == installed.digest;
        if is_same && installed.is_approved() && self.from.is_none() {
            super::print(&format!("{shown} is up to date: sha256:{}\n", installed.digest))?;
            return Ok(true);
        }
        let inspection =
            sources::inspect(context, &context.config, sandbox, (name, path), &fetched.component)
                .await?;
        let new = sources::provenance(source, &fetched);
        super::print(&changes(lock, &installed, &inspection, &fetched, &new))?;
        if let Some(defect) = &inspection.defect {
            bail!(
                "the new component of `{name}` cannot be a plugin of this host: {}\nnothing was changed",
                visible(defect)
            );
        }
        if self.check {
            super::print(&format!(
                "held back: `portcullis plugin update {name}` asks whether to take it\n"
            ))?;
            return Ok(false);
        }
        if !self.consent.ask(&format!("Replace `{name}`, and approve the new component?"))? {
            super::print("held back: nothing was changed\n")?;
            return Ok(false);
        }
        let (component, reason) = (&fetched.component, &*self.reason);
        let has_moved = from.as_ref().is_some_and(|from| from.source != new.source);
        let installation =
            Installation { name, component, inspection: &inspection, from: new, reason };
        installation.replace(path, &context.folders, sandbox)?;
        let from = if has_moved {
            format!(", from now on from {}", visible_line(&source.to_string(), 500))
        } else {
            String::new()
        };
        super::print(&format!("updated: `{name}`, sha256:{}{from}\n", fetched.digest.hex()))?;
        super::print(&format!("{}\n", faint(super::print::APPLIED)))?;
        Ok(true)
    }

    fn installed(
        &self,
        context: &CommandContext,
        lock: &LockFile,
        name: &str,
    ) -> anyhow::Result<Installed> {
        let path = match place_of(name, &context.config, &context.folders) {
            PlaceOf::File(path) => path,
            PlaceOf::Binary => bail!("`{name}` comes with Portcullis, and is updated with it"),
            PlaceOf::Nowhere => {
                bail!("there is no plugin `{name}`\n  hint: `portcullis plugin list` lists them")
            }
        };
        let from = lock.provenance(name)?;
        let source = match (&self.from, &from) {
            (Some(text), _) => sources::parse(text)?,
            (None, Some(from)) => sources::parse(&from.source)
                .with_context(|| format!("the source of `{name}` in the lock file"))?,
            (None, None) => bail!(
                "the source of `{name}` is not known, because its file was copied by hand\n  hint: name a source \
                 with `--from SOURCE`"
            ),
        };
        let digest =
            ComponentFile::open(&path).with_context(|| format!("reading {}", path.display()))?;
        let digest = digest.digest().to_owned();
        let approved = lock.plugin(name)?;
        Ok(Installed { name: name.to_owned(), path, digest, approved, from, source })
    }

    /// The digest of the installed and approved artifact, if the registry says that the source still leads to this
    /// artifact.
    async fn unchanged(
        &self,
        context: &CommandContext,
        installed: &Installed,
    ) -> anyhow::Result<Option<String>> {
        let Some(Provenance { digest, artifact: Some(artifact), .. }) = &installed.from else {
            return Ok(None);
        };
        if self.from.is_some() || *digest != installed.digest || !installed.is_approved() {
            return Ok(None);
        }
        let logins = sources::logins();
        let resolved = resolve(&installed.source, sources::terms(context, &logins)).await;
        let resolved = resolved.with_context(|| format!("asking for `{}`", installed.name))?;
        Ok(resolved.map(|found| found.to_string()).filter(|found| found == artifact))
    }
}

impl Installed {
    fn is_approved(&self) -> bool {
        self.approved.as_ref() == Some(&self.digest)
    }
}

/// The differences between the approved component and the new component, as text.
fn changes(
    lock: &LockFile,
    installed: &Installed,
    inspection: &Inspection,
    fetched: &Fetched,
    new: &Provenance,
) -> String {
    let Installed { name, digest, approved, from, .. } = installed;
    let mut text = format!("{}\n", green(&visible_line(name, 100)));
    let change = |text: &mut String, label: &str, old: &str, new: &str| {
        if old == new {
            *text += &format!("  {label:<8} {new}\n");
        } else {
            *text += &format!(
                "  {label:<8} {}\n           {}\n",
                red(&format!("- {old}")),
                green(&format!("+ {new}"))
            );
        }
    };
    change(&mut text, "digest", &format!("sha256:{digest}"), &format!("sha256:{}", new.digest));
    if let (Some(old), Some(new)) =
        (from.as_ref().and_then(|from| from.artifact.as_ref()), &new.artifact)
        && old != new
    {
        text += &format!("  replaces {} {old}\n", faint("the artifact"));
    }
    text += &sources::provenance_text(new, fetched);
    let before =
        approved.as_deref().and_then(|digest| lock.description(ApprovalKey::Plugin(name), digest));
    match before.map(|before| differences(&before, &of_component(&inspection.info))) {
        Some(changed) if changed.is_empty() => {
            text += if approved.as_ref() == Some(&new.digest) {
                "  changes  none\n"
            } else {
                "  changes  none in its manifest and its imports; its code has changed\n"
            };
        }
        Some(changed) => text += &super::approve::differences_text(&changed),
        None => {
            text += &faint(
                "  the differences are not known: there is no description of what was approved before\n",
            );
            text += &super::inspect::as_text(inspection);
        }
    }
    text
}
