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
        let spellings = spellings(root);
        let mut arguments = case.arguments(&spellings[0]);
        make_absolute(&mut arguments, tool.paths(), &[root]);
        let answer = call_tool(&catalog, tool, arguments, &context.roots).await;
        Ok(match observed(answer) {
            Ok(mut observed) => {
                observed.denied = denials(&context.audit.kept_records());
                let observed = without_root(observed, &spellings);
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
    let real = std::fs::canonicalize(&root).context("opening a temporary folder")?;
    // On Windows, the path without links begins with `\\?\`, after which no other part could be written with `/`.
    portcullis_roots::normal_path(&real)
        .map_err(|refusal| anyhow::anyhow!("opening {}: {refusal}", real.display()))
}

/// The spellings of the folder of a case: as users write it, which is with `/` also on Windows, and as the system does.
fn spellings(root: &Path) -> [String; 2] {
    let of_system = root.display().to_string();
    let of_users = if cfg!(windows) { of_system.replace('\\', "/") } else { of_system.clone() };
    [of_users, of_system]
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

/// What is observed, with [`ROOT`] in place of the folder of the case, whichever spelling it has.
fn without_root(mut observed: Observed, spellings: &[String]) -> Observed {
    let hide = |text: &mut String| {
        for root in spellings {
            *text = with_placeholder(text, root);
        }
    };
    hide(&mut observed.text);
    observed.denied.iter_mut().for_each(hide);
    if let Some(value) = &mut observed.structured {
        each_text(value, &hide);
    }
    observed
}

/// Calls a function with each text in a value. Keys of objects are texts, too.
fn each_text(value: &mut Value, change: &impl Fn(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_text(item, change)),
        Value::Object(members) => {
            let old = std::mem::take(members);
            members.extend(old.into_iter().map(|(mut key, mut member)| {
                change(&mut key);
                each_text(&mut member, change);
                (key, member)
            }));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A text with [`ROOT`] in place of a folder. What follows a folder that is written with `\` gets `/`, so that a case
/// expects the same text on each system.
fn with_placeholder(text: &str, root: &str) -> String {
    let mut parts = text.split(root);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(ROOT);
        let ends = |letter: char| letter.is_whitespace() || "\"'`,;()".contains(letter);
        let path = part.find(ends).unwrap_or(part.len());
        if root.contains('\\') {
            out.push_str(&part[..path].replace('\\', "/"));
        } else {
            out.push_str(&part[..path]);
        }
        out.push_str(&part[path..]);
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_folder_of_a_case_is_hidden_in_each_spelling() {
        let spellings = ["C:/t/files".to_owned(), r"C:\t\files".to_owned()];
        let observed = Observed {
            is_error: false,
            text: r"read C:/t/files/a/b.txt; `file` (C:\t\files\a\c.txt): the path C:\other\d"
                .to_owned(),
            structured: Some(json!({r"C:\t\files\k": ["C:/t/files", r"C:\t\files\a\b", 1]})),
            denied: vec![r"files C:\t\files\x.txt".to_owned()],
        };
        let hidden = without_root(observed, &spellings);
        assert_eq!(
            hidden.text,
            r"read {root}/a/b.txt; `file` ({root}/a/c.txt): the path C:\other\d"
        );
        assert_eq!(hidden.structured, Some(json!({"{root}/k": ["{root}", "{root}/a/b", 1]})));
        assert_eq!(hidden.denied, ["files {root}/x.txt"]);
    }

    #[test]
    fn a_backslash_after_a_folder_of_unix_is_part_of_a_name() {
        assert_eq!(
            with_placeholder(r"in /t/files/a\b and /t/other", "/t/files"),
            r"in {root}/a\b and /t/other"
        );
    }
}
