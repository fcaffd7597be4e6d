//! Inspects components that are not installed: in a file, in a folder, or at an address. Used by `portcullis audit` and
//! `portcullis report`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use portcullis_core::plugins::RejectedComponent;
use portcullis_core::plugins::inspect::{Inspection, inspect_file};
use portcullis_plugin_sources::Source;
use portcullis_sanitize::{visible, visible_line};
use serde_json::{Value, json};

use super::CommandEnd;
use super::context::{CommandContext, report_if_slow};
use super::inspect::{as_json, as_text};
use super::sources;
use super::style::red;

/// The place of components that are not installed.
pub enum Uninstalled {
    /// A file, or the files `*.wasm` of a folder.
    Path(PathBuf),
    /// An address, or an artifact in a registry.
    Elsewhere(Box<Source>),
}

impl Uninstalled {
    /// The place that a text names. `None`: the text is the name of a plugin or server.
    ///
    /// # Errors
    ///
    /// The text is an address or a reference that cannot be used.
    pub fn of(target: &str) -> anyhow::Result<Option<Self>> {
        if target.contains("://") {
            return Ok(Some(Self::Elsewhere(Box::new(Source::parse(target)?))));
        }
        let path = Path::new(target);
        let is_path = path.extension().is_some_and(|extension| extension == "wasm")
            || target.contains(std::path::is_separator)
            || matches!(target, "." | "..");
        Ok(is_path.then(|| Self::Path(path.to_owned())))
    }

    /// Inspects the components.
    pub async fn inspect(
        self,
        context: &CommandContext,
    ) -> anyhow::Result<Vec<Result<Inspection, RejectedComponent>>> {
        let downloads = tempfile::tempdir().context("creating a temporary folder")?;
        let files = match self {
            Self::Path(path) => components(&path)?,
            Self::Elsewhere(source) => vec![fetch(context, &source, downloads.path()).await?],
        };
        let sandbox = context.sandbox();
        let mut all = Vec::new();
        for file in files {
            let what = format!("inspecting {} (it is compiled first)", file.display());
            let inspecting = inspect_file(&file, &sandbox, &context.config, &context.folders);
            all.push(report_if_slow(&what, inspecting).await);
        }
        Ok(all)
    }

    /// Prints what the components could do. Exit code 1: at least one component cannot be a plugin.
    pub async fn run(self, context: &CommandContext, is_json: bool) -> anyhow::Result<CommandEnd> {
        let (mut all, mut end) = (Vec::new(), CommandEnd::Done);
        for inspected in self.inspect(context).await? {
            if !matches!(&inspected, Ok(Inspection { defect: None, .. })) {
                end = CommandEnd::Failed;
            }
            let (text, value) = match &inspected {
                Ok(inspection) => (as_text(inspection), as_json(inspection)),
                Err(refused) => {
                    let name = visible_line(&refused.name, 200);
                    let reason = visible(&refused.reason).replace('\n', "\n    ");
                    (
                        format!("{} refused\n    {reason}\n", red(&name)),
                        super::list::refusal(refused),
                    )
                }
            };
            if is_json {
                all.push(value);
            } else {
                super::print(&text)?;
            }
        }
        if is_json {
            super::print::json(&json!({ "inspected": Value::Array(all) }))?;
        }
        Ok(end)
    }
}

/// The file, or the files `*.wasm` of the folder.
#[expect(clippy::disallowed_methods, reason = "the files that the operator named")]
fn components(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let failed = || format!("reading {}", path.display());
    let metadata = std::fs::metadata(path).with_context(failed)?;
    let path = std::path::absolute(path).with_context(failed)?;
    if !metadata.is_dir() {
        return Ok(vec![path]);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&path).with_context(failed)? {
        let file = entry.with_context(failed)?.path();
        if file.extension().is_some_and(|extension| extension == "wasm") {
            files.push(file);
        }
    }
    if files.is_empty() {
        bail!("there are no files `*.wasm` in {}", path.display());
    }
    files.sort_unstable();
    Ok(files)
}

/// Fetches a component into a folder.
async fn fetch(
    context: &CommandContext,
    source: &Source,
    folder: &Path,
) -> anyhow::Result<PathBuf> {
    let fetched = sources::fetch(context, source).await?;
    // The name is the last part of the address, without letters that a plugin's name cannot have.
    let address = fetched.address.as_ref();
    let last = address.and_then(|url| url.path_segments()?.next_back().map(str::to_owned));
    let last = last.or_else(|| source.name()).unwrap_or_default();
    let fits = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let stem: String = last.trim_end_matches(".wasm").chars().filter(fits).take(64).collect();
    let stem = if stem.is_empty() { "component" } else { &stem };
    sources::stage(folder, stem, &fetched.component)
}
