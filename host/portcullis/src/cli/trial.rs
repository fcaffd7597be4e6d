//! Runs one case with a plugin: in the sandbox and through the pipeline of every call, with state of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use portcullis_core::call::{CallFailure, PluginAnswer, SourceAnswer};
use portcullis_core::catalog::Catalog;
use portcullis_core::config::Folders;
use portcullis_plugin_cases::{Case, Difference, Observed, ROOT, differences};
use serde_json::Value;
use tempfile::TempDir;

use super::call::{call_tool, text};
use super::context::CommandContext;
use super::relative::make_absolute;

/// A plugin with a temporary place for its cases.
pub struct Trial {
    plugin: String,
    place: TempDir,
    user: Folders,
}

/// A case that was run.
pub struct Tested {
    /// The case.
    pub case: Case,
    /// How the case ended.
    pub end: End,
    /// How long the case took.
    pub took: Duration,
}

/// How a case ended.
pub enum End {
    /// The tool was called. These are the differences from what is expected; without differences, the case has passed.
    Compared(Vec<Difference>),
    /// The tool was not called, or did not end with an answer, for this reason.
    NotCompared(String),
}

impl Tested {
    /// Whether everything was as expected.
    pub fn has_passed(&self) -> bool {
        matches!(&self.end, End::Compared(differences) if differences.is_empty())
    }
}

impl Trial {
    /// Copies the component into a temporary place.
    ///
    /// # Errors
    ///
    /// The component cannot be read, or the place cannot be made.
    #[expect(clippy::disallowed_methods, reason = "the place is a folder of this process")]
    pub fn new(component: &Path, plugin: String) -> anyhow::Result<Self> {
        let place = tempfile::tempdir().context("creating a temporary folder")?;
        let plugins = place.path().join("plugins");
        std::fs::create_dir_all(&plugins).context("creating a temporary folder")?;
        std::fs::copy(component, plugins.join(format!("{plugin}.wasm")))
            .with_context(|| format!("reading {} (build the plugin first)", component.display()))?;
        Ok(Self { plugin, place, user: Folders::of_user()? })
    }

    /// Runs a case.
    ///
    /// # Errors
    ///
    /// Files of the case cannot be written.
    pub async fn run(&self, case: Case) -> anyhow::Result<Tested> {
        let begun = Instant::now();
        let state = tempfile::tempdir_in(self.place.path()).context("creating a folder")?;
        let root = write_files(state.path(), &case)?;
        let config = case.config(&self.place.path().join("plugins"));
        let folders = folders(state.path());
        let context =
            CommandContext::apart(config, folders, std::slice::from_ref(&root), &self.user)?;
        context.audit.keep_records();
        let end = self.call(&context, &case, &root).await?;
        if let Err(error) = context.audit.end() {
            tracing::warn!("the audit of the case could not be sealed: {error}");
        }
        Ok(Tested { case, end, took: begun.elapsed() })
    }

    async fn call(
        &self,
        context: &CommandContext,
        case: &Case,
        root: &Path,
    ) -> anyhow::Result<End> {
        let plugins = context.plugins().await;
        if let Some(refused) = plugins.refused.first() {
            let inside = format!("[plugins.{}.", self.plugin);
            return Ok(End::NotCompared(format!(
                "the plugin is refused: {}",
                refused.reason.replace(&inside, "[").replace("portcullis.toml", "the case")
            )));
        }
        let lock = context.upstreams()?;
        let catalog = Arc::new(Catalog::new(plugins.into(), Vec::new(), &lock.lock).await);
        let Some(tool) = catalog.tool(&case.tool) else {
            let tools: Vec<_> = catalog.tools().map(|(name, _)| name).collect();
            return Ok(End::NotCompared(case.unknown_tool(&tools).to_string()));
        };
        let shown = root.display().to_string();
        let mut arguments = case.arguments(&shown);
        make_absolute(&mut arguments, tool.paths(), &[root]);
        let answer = call_tool(&catalog, tool, arguments, &context.roots).await;
        Ok(match observed(answer) {
            Ok(mut observed) => {
                observed.denied = denials(&context.audit.kept_records());
                let observed = without_root(observed, &shown);
                End::Compared(differences(&case.expectation, &observed))
            }
            Err(reason) => End::NotCompared(reason),
        })
    }
}

/// Writes the files of a case into a new folder. Returns the folder's path, without symbolic links.
#[expect(clippy::disallowed_methods, reason = "the place is a folder of this process")]
fn write_files(state: &Path, case: &Case) -> anyhow::Result<PathBuf> {
    let root = state.join("files");
    for (name, text) in &case.files {
        let path = root.join(name);
        let failed = || format!("writing the file {} of {}", name.display(), case.path.display());
        std::fs::create_dir_all(path.parent().unwrap_or(&root)).with_context(failed)?;
        std::fs::write(&path, text).with_context(failed)?;
    }
    std::fs::create_dir_all(&root).context("creating a folder")?;
    std::fs::canonicalize(&root).context("opening a temporary folder")
}

/// The folders and files of a host whose whole state is in one folder.
pub fn folders(state: &Path) -> Folders {
    Folders {
        config: state.join("portcullis.toml"),
        plugins: state.join("plugins"),
        store: state.join("store"),
        audit: state.join("audit"),
        journals: state.join("journals"),
        lock: state.join("portcullis.lock"),
        logins: state.join("logins"),
        cache: state.join("cache"),
        key: state.join("cache.key"),
    }
}

/// What is observed of an answer. The list of denials is still empty.
///
/// # Errors
///
/// The answer is not the result of a tool. The error says why.
fn observed(answer: Result<SourceAnswer, CallFailure>) -> Result<Observed, String> {
    match answer {
        Ok(SourceAnswer::Plugin(PluginAnswer::Tool(result))) => {
            let blocks: Vec<_> = result.content.iter().map(text).collect();
            let structured = result.structured.as_deref().map(serde_json::from_str::<Value>);
            let structured = structured.transpose().map_err(|error| {
                format!("the plugin's fault: its structured content is not JSON: {error}")
            })?;
            let text = blocks.join("\n");
            Ok(Observed { is_error: result.is_error, text, structured, denied: Vec::new() })
        }
        Ok(SourceAnswer::Plugin(PluginAnswer::NeedInput(need))) => {
            let need = need.into_need();
            let keys: Vec<_> = need.asks.iter().map(|(key, _)| key.as_str()).collect();
            Err(format!(
                "the tool asks its client a question (`{}`), and a case cannot answer\n  hint: try it with an MCP client",
                keys.join("`, `")
            ))
        }
        Ok(_) => Err("the plugin did not return the result of a tool".to_owned()),
        // A client gets most failures as the result of the tool, so a case gets them in the same way.
        Err(failure) => {
            Ok(Observed { is_error: true, text: failure.to_string(), ..Observed::default() })
        }
    }
}

/// The asks of the plugin that were denied, from the records of the audit.
fn denials(records: &[String]) -> Vec<String> {
    let records = records.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let denied = records.filter(|record| record["event"] == "ask" && record["verdict"] == "denied");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    denied
        .map(|record| format!("{} {}", text(&record["capability"]), text(&record["subject"])))
        .collect()
}

/// What is observed, with [`ROOT`] in place of the folder of the case.
fn without_root(mut observed: Observed, root: &str) -> Observed {
    let hide = |text: &mut String| *text = text.replace(root, ROOT);
    hide(&mut observed.text);
    observed.denied.iter_mut().for_each(hide);
    // In JSON, the path may be escaped.
    let escaped = Value::from(root).to_string();
    let escaped = escaped.trim_matches('"');
    observed.structured = observed.structured.map(|value| {
        let hidden = value.to_string().replace(escaped, ROOT);
        serde_json::from_str(&hidden).unwrap_or(value)
    });
    observed
}
