//! Functions for the commands that fetch and publish components: logins, texts, and files for inspection.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use portcullis_core::config::Config;
use portcullis_core::lock::Provenance;
use portcullis_core::plugins::inspect::{Inspection, inspect_file};
use portcullis_core::sandbox::{Origin, Sandbox};
use portcullis_engine::MAX_COMPONENT_BYTES;
use portcullis_plugin_sources::{
    self as plugin_sources, Fetched, GivenLogin, Logins, Source, Terms, Verified,
};
use portcullis_sanitize::visible_line;

use super::context::{CommandContext, report_if_slow};
use super::style::{faint, green, red};

/// The end of the help of commands that reach a registry.
pub const LOGINS: &str = "\
Logins are read from docker's config.json (`docker login`, `oras login`), or from the environment variables
PORTCULLIS_REGISTRY (the host), PORTCULLIS_REGISTRY_USER and PORTCULLIS_REGISTRY_PASSWORD.";

/// The source that an argument names. A path becomes absolute, because the lock file keeps the source.
pub fn parse(text: &str) -> anyhow::Result<Source> {
    match Source::parse(text)? {
        Source::File(path) => {
            let path = std::path::absolute(&path).with_context(|| format!("finding {text}"))?;
            if !path.exists() {
                bail!(
                    "there is no file {}\n  hint: name a file, an address (`https://…`) or an artifact in a registry \
                     (`oci://HOST/REPOSITORY:TAG`)",
                    visible_line(&path.display().to_string(), 500)
                );
            }
            Ok(Source::File(path))
        }
        source @ (Source::Address(..) | Source::Registry(_)) => Ok(source),
    }
}

/// The logins of this user at registries.
#[expect(clippy::disallowed_methods, reason = "logins must not be arguments, which others can see")]
pub fn logins() -> Logins {
    let text = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
    let [registry, user, password] = plugin_sources::VARIABLES.map(text);
    let given = match (registry, user, password) {
        (Some(registry), Some(user), Some(password)) => {
            Some(GivenLogin { registry, user, password })
        }
        _ => None,
    };
    let folder = std::env::var_os("DOCKER_CONFIG").map(PathBuf::from);
    let folder = folder.or_else(|| Some(std::env::home_dir()?.join(".docker")));
    Logins { docker: folder.map(|folder| folder.join("config.json")), given }
}

/// The terms for requests: what the configuration demands of sources, these logins, and the maximum size of a
/// component.
pub fn terms<'a>(context: &'a CommandContext, logins: &'a Logins) -> Terms<'a> {
    Terms { demands: &context.config.plugin_sources, logins, most: MAX_COMPONENT_BYTES }
}

/// Fetches a component. Tells the user how many bytes came, and from where, unless the source is a file.
pub async fn fetch(context: &CommandContext, source: &Source) -> anyhow::Result<Fetched> {
    let logins = logins();
    let shown = visible_line(&source.to_string(), 500);
    let fetching = plugin_sources::fetch(source, terms(context, &logins));
    let fetched = report_if_slow(&format!("fetching {shown}"), fetching).await;
    let fetched = fetched.with_context(|| format!("fetching {shown}"))?;
    if !matches!(source, Source::File(_)) {
        let from = fetched.address.as_ref().map_or(shown, |url| visible_line(url.as_str(), 500));
        super::log::note(&format!("fetched {} bytes from {from}", fetched.component.len()));
    }
    Ok(fetched)
}

/// Writes a component into a temporary folder, with its name.
#[expect(clippy::disallowed_methods, reason = "the folder is a temporary one")]
pub fn stage(folder: &Path, name: &str, component: &[u8]) -> anyhow::Result<PathBuf> {
    let file = folder.join(format!("{name}.wasm"));
    std::fs::write(&file, component).with_context(|| format!("writing {}", file.display()))?;
    Ok(file)
}

/// Inspects a component as if it were installed in this place, as the plugin of this name, with the grants of this
/// configuration. Nothing is installed or approved.
pub async fn inspect(
    context: &CommandContext,
    config: &Config,
    sandbox: &std::sync::Arc<Sandbox>,
    (name, place): (&str, &Path),
    component: &[u8],
) -> anyhow::Result<Inspection> {
    let folder = tempfile::tempdir().context("creating a temporary folder")?;
    let file = stage(folder.path(), name, component)?;
    let inspecting = inspect_file(&file, sandbox, config, &context.folders);
    let what = format!("inspecting `{name}` (it is compiled first)");
    let inspected = report_if_slow(&what, inspecting).await;
    let inspection = inspected.map_err(|refused| {
        anyhow::anyhow!("the component cannot be a plugin: {}\nnothing was changed", refused.reason)
    })?;
    Ok(Inspection { origin: Origin::File(place.to_owned()), ..inspection })
}

/// The provenance for the lock file of a component that was just fetched.
pub fn provenance(source: &Source, fetched: &Fetched) -> Provenance {
    let verified = match &fetched.verified {
        Verified::NotDemanded => None,
        Verified::Key { key, builder } => {
            let builder = builder.as_ref().map(|id| format!(", built by {id}")).unwrap_or_default();
            Some(format!("key {}{builder}", key.display()))
        }
    };
    Provenance {
        source: source.to_string(),
        digest: fetched.digest.hex().to_owned(),
        artifact: fetched.artifact.as_ref().map(ToString::to_string),
        verified,
        time: portcullis_audit::now(),
    }
}

/// Where a component is from, and what was verified, as text.
pub fn provenance_text(from: &Provenance, fetched: &Fetched) -> String {
    let mut text = format!("  from     {}\n", visible_line(&from.source, 500));
    if let Some(artifact) = &from.artifact {
        text += &format!("  artifact {artifact}\n");
    }
    text += &match &from.verified {
        Some(verified) => format!("  signed   {}\n", green(&visible_line(verified, 500))),
        None => format!(
            "  signed   {} {}\n",
            red("not verified"),
            faint("(portcullis.toml requires no signature for this source: [plugin-sources])")
        ),
    };
    for remark in &fetched.remarks {
        text += &format!("  remark   {}\n", visible_line(remark, 300));
    }
    text
}
