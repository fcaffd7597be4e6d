//! `portcullis plugin publish`: publishes a component in a registry.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::bail;
use portcullis_core::plugins::inspect::Inspection;
use portcullis_plugin_sources::{
    About, Artifact, Digest, Reference, Source, Version, publish, published,
};
use portcullis_sanitize::visible;

use super::CommandEnd;
use super::confirm::Consent;
use super::context::{CommandContext, report_if_slow};
use super::sources;
use super::style::{green, red};

/// Arguments of `plugin publish`.
#[derive(clap::Args)]
#[command(after_help = sources::LOGINS)]
pub struct Args {
    /// The component
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The reference under which it is published: `oci://HOST/REPOSITORY:TAG`
    #[arg(value_name = "REFERENCE")]
    to: String,
    /// An annotation of the artifact, such as `org.opencontainers.image.source=https://…` (repeatable)
    #[arg(long = "annotation", value_name = "KEY=VALUE", value_parser = annotation)]
    annotations: Vec<(String, String)>,
    /// Show the artifact and publish nothing
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    #[command(flatten)]
    consent: Consent,
}

fn annotation(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(key, _)| !key.is_empty());
    let (key, value) = pair.ok_or("write KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

impl Args {
    pub(super) async fn run(self, context: CommandContext) -> anyhow::Result<CommandEnd> {
        let Reference { location, version } = Reference::parse(&self.to)?;
        let Version::Tag(tag) = version else {
            bail!("publish under a tag: `oci://HOST/REPOSITORY:TAG`")
        };
        let file = std::path::absolute(&self.file)?;
        let source = Source::File(file.clone());
        let fetched = sources::fetch(&context, &source).await?;
        let Some(name) = source.name() else {
            bail!(
                "the name of {} cannot be the name of a plugin: rename the file",
                self.file.display()
            );
        };
        let inspection = sources::inspect(
            &context,
            &context.config,
            &context.sandbox(),
            (&name, &file),
            &fetched.component,
        )
        .await?;
        if let Some(defect) = &inspection.defect {
            bail!(
                "`{name}` cannot be a plugin of this host: {}\nnothing was published",
                visible(defect)
            );
        }
        let about = about(&inspection, &name, self.annotations);
        let artifact = Artifact::new(fetched.component.clone(), about);
        super::print(&format!(
            "{}\n{}\n",
            green(&artifact.digest.to_string()),
            visible(artifact.manifest_text())
        ))?;
        if self.dry_run {
            return super::print("nothing was published: --dry-run\n");
        }
        let logins = sources::logins();
        let terms = sources::terms(&context, &logins);
        let target = format!("{location}:{tag}");
        let before =
            report_if_slow(&format!("asking for {target}"), published(&location, &tag, terms))
                .await?;
        let warning = match &before {
            Some(before) if *before == artifact.digest => {
                return super::print(&format!(
                    "{target} already names this artifact: nothing to publish\n"
                ));
            }
            Some(before) => moved_warning(&target, before),
            None => String::new(),
        };
        super::print(&warning)?;
        if !self.consent.ask(&format!("Publish as {target}?"))? {
            super::print("nothing was published\n")?;
            return Ok(CommandEnd::Failed);
        }
        let publishing = publish(&location, &tag, &artifact, terms);
        report_if_slow(&format!("publishing {target}"), publishing).await?;
        super::print(&format!(
            "published: {target}\n  portcullis plugin add {location}@{}\n",
            artifact.digest
        ))
    }
}

fn moved_warning(target: &str, before: &Digest) -> String {
    format!(
        "{}: {target} now names another artifact ({before}); the tag will be moved to the new one\n",
        red("warning")
    )
}

/// The description of the artifact. Its creation time is always the same, so that publishing a component again gives
/// the same artifact.
fn about(inspection: &Inspection, name: &str, given: Vec<(String, String)>) -> About {
    let mut annotations = BTreeMap::new();
    annotations.insert("org.opencontainers.image.title".to_owned(), name.to_owned());
    if let Some(manifest) = &inspection.info.manifest {
        let version = Some(&manifest.version).filter(|version| !version.is_empty()).cloned();
        let described = [("version", version), ("description", manifest.description.clone())];
        for (key, value) in described {
            let key = format!("org.opencontainers.image.{key}");
            annotations.extend(value.map(|value| (key, value)));
        }
    }
    annotations.extend(given);
    let features = &inspection.info.features;
    About {
        created: "1970-01-01T00:00:00Z".to_owned(),
        imports: inspection.info.imports.iter().map(|import| import.interface.clone()).collect(),
        exports: features.iter().map(|feature| feature.interface().to_owned()).collect(),
        annotations,
    }
}
