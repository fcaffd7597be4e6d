//! Reads the cases of a folder, and checks them.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use portcullis_core::config::{Config, ConfigError, PluginConfig, error_at, parse_as};
use serde_json::{Map, Value};

use crate::ROOT;
use crate::file::{CaseFile, Expectation, object};

/// The largest case file that is read, in bytes.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// One case, checked.
#[derive(Debug)]
pub struct Case {
    /// The name of the case: that of its file, without the extension.
    pub name: String,
    /// The path of the file.
    pub path: PathBuf,
    /// The name of the tool.
    pub tool: String,
    /// The files that are there before the call, by their paths in the folder.
    pub files: BTreeMap<PathBuf, String>,
    /// What is expected of the call.
    pub expectation: Expectation,
    arguments: Map<String, Value>,
    text: String,
    config: Config,
}

/// Why the cases cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// The folder, or a file in it, cannot be read.
    #[error("reading {}", .0.display())]
    Unreadable(PathBuf, #[source] std::io::Error),
    /// The folder has no cases.
    #[error(
        "there are no cases (files `*.toml`) in {}\n  hint: name their folder with `--cases`", .0.display()
    )]
    None(PathBuf),
    /// A file is too large.
    #[error("{} has more than {MAX_BYTES} bytes", .0.display())]
    TooLarge(PathBuf),
    /// Files have mistakes. Each file is named with its first mistake.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Mistakes(Vec<ConfigError>),
}

/// Reads the cases of a folder: its files `*.toml`, in the order of their names. The cases are for the plugin `plugin`.
///
/// # Errors
///
/// The folder has no cases, or a file cannot be read or has mistakes.
#[expect(clippy::disallowed_methods, reason = "cases are files that the author names")]
pub fn read_cases(folder: &Path, plugin: &str) -> Result<Vec<Case>, CaseError> {
    let unreadable = |path: &Path| {
        let path = path.to_owned();
        move |error| CaseError::Unreadable(path, error)
    };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable(folder))? {
        let path = entry.map_err(unreadable(folder))?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            paths.push(path);
        }
    }
    if paths.is_empty() {
        return Err(CaseError::None(folder.to_owned()));
    }
    paths.sort();
    let (mut cases, mut mistakes) = (Vec::new(), Vec::new());
    for path in paths {
        if std::fs::metadata(&path).map_err(unreadable(&path))?.len() > MAX_BYTES {
            return Err(CaseError::TooLarge(path));
        }
        let text = std::fs::read_to_string(&path).map_err(unreadable(&path))?;
        match Case::parse(&path, text, plugin) {
            Ok(case) => cases.push(case),
            Err(mistake) => mistakes.push(*mistake),
        }
    }
    if mistakes.is_empty() { Ok(cases) } else { Err(CaseError::Mistakes(mistakes)) }
}

impl Case {
    fn parse(path: &Path, text: String, plugin: &str) -> Result<Self, Box<ConfigError>> {
        Self::checked(path, text, plugin)
            .map_err(|error| Box::new(ConfigError { file: Some(path.to_owned()), ..error }))
    }

    fn checked(path: &Path, text: String, plugin: &str) -> Result<Self, ConfigError> {
        let CaseFile { tool, arguments, files, grants, settings, limits, commands, expect } =
            parse_as(&text)?;
        for name in files.keys() {
            if !is_inside(Path::new(name)) {
                let reason =
                    "write a path within the folder of the case, such as `a/b.txt`, without `..`";
                return Err(error_at(&text, &["files", name], reason.into()));
            }
        }
        let mut config = Config::parse("[host]\nbundled = false")?;
        config.commands = commands;
        let own = PluginConfig { grants, settings, limits, ..PluginConfig::default() };
        config.plugins.insert(plugin.to_owned(), own);
        config.check().map_err(|error| placed(&text, plugin, error))?;
        Ok(Self {
            name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            path: path.to_owned(),
            tool,
            files: files.into_iter().map(|(name, text)| (name.into(), text)).collect(),
            expectation: expect,
            arguments: object(&arguments),
            text,
            config,
        })
    }

    /// The arguments of the call, with `root` in place of [`ROOT`].
    pub fn arguments(&self, root: &str) -> Map<String, Value> {
        let mut arguments = self.arguments.clone();
        arguments.values_mut().for_each(|value| replace_root(value, root));
        arguments
    }

    /// The configuration in which the plugin runs: the grants, settings and limits of the case, and no other plugin.
    /// `plugins`: a folder with the plugin as its only component.
    pub fn config(&self, plugins: &Path) -> Config {
        let mut config = self.config.clone();
        config.host.plugin_dirs = Some(vec![plugins.to_owned()]);
        config
    }

    /// The mistake that the plugin has no such tool.
    pub fn unknown_tool(&self, tools: &[&str]) -> ConfigError {
        let tools: Vec<_> = tools.iter().map(|tool| format!("`{tool}`")).collect();
        let tools = tools.join(", ");
        let reason = format!(
            "the plugin has no tool `{}`; with these grants, its tools are: {tools}",
            self.tool
        );
        ConfigError { file: Some(self.path.clone()), ..error_at(&self.text, &["tool"], reason) }
    }
}

/// Turns an error about a configuration into an error about the case from which the configuration was made.
fn placed(text: &str, plugin: &str, error: ConfigError) -> ConfigError {
    let key = error.key.clone().unwrap_or_default();
    let key = key.strip_prefix(&format!("plugins.{plugin}.")).unwrap_or(&key);
    let keys: Vec<_> = key.split('.').collect();
    let place = error_at(text, &keys, String::new()).place;
    ConfigError { key: Some(key.to_owned()), place, ..error }
}

/// Whether a path leads to a place inside the folder that it is relative to.
fn is_inside(path: &Path) -> bool {
    let mut parts = path.components().peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// Replaces [`ROOT`] in all texts of a value.
fn replace_root(value: &mut Value, root: &str) {
    match value {
        Value::String(text) => *text = text.replace(ROOT, root),
        Value::Array(items) => items.iter_mut().for_each(|item| replace_root(item, root)),
        Value::Object(members) => {
            members.values_mut().for_each(|member| replace_root(member, root));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Case, String> {
        Case::parse(Path::new("cases/a.toml"), text.to_owned(), "plug")
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_mistake_is_said_with_file_line_and_key() {
        const END: &str = "\n[expect]\ntext = \"a\"\n";
        for (text, expected) in [
            ("tol = \"a\"", "line 1, column 1: `tol`: there is no such key; did you mean `tool`?"),
            ("tool = 1", "line 1, column 8: `tool`: write a string, instead of 1"),
            (
                "tool = \"a\"\n[files]\n\"../b\" = \"\"",
                "line 3, column 1: `files.../b`: write a path within",
            ),
            (
                "tool = \"a\"\n[files]\n\"/b\" = \"\"",
                "line 3, column 1: `files./b`: write a path within",
            ),
            (
                "tool = \"a\"\n\n[grants.files]\nacces = \"read\"",
                "line 4, column 1: `grants.files.acces`: there is no such key",
            ),
            (
                "tool = \"a\"\n[grants.process]\ncommands = [\"c\"]",
                "line 3, column 1: `grants.process.commands`: `c` is not a command",
            ),
            ("tool = \"a\"\n[limits]\nwall-ms = 0", "line 3, column 11: `limits.wall-ms`"),
            ("tool = ", "line 1"),
        ] {
            let error = parse(&format!("{text}{END}")).unwrap_err();
            let expected = format!("cases/a.toml: {expected}");
            assert!(error.starts_with(&expected), "{text:?}: {error}");
        }
        let error = parse("tool = \"a\"").unwrap_err();
        assert!(error.contains("`expect` is missing"), "{error}");
    }

    #[test]
    fn the_root_is_put_into_arguments_at_any_depth() {
        let text =
            "tool = \"a\"\n[arguments]\nlist = [{ b = \"{root}/c\" }]\ndate = 2026-01-02\n[expect]";
        let case = parse(text).unwrap();
        let expected = serde_json::json!({"list": [{"b": "/r/c"}], "date": "2026-01-02"});
        assert_eq!(Value::from(case.arguments("/r")), expected);
    }

    #[test]
    fn an_unknown_tool_is_said_with_its_line() {
        let case = parse("\n\ntool = \"a\"\n[expect]").unwrap();
        let error = case.unknown_tool(&["b", "c"]).to_string();
        assert!(error.starts_with("cases/a.toml: line 3, column 1: `tool`"), "{error}");
        assert!(error.ends_with("`b`, `c`"), "{error}");
    }

    #[test]
    fn all_mistakes_of_a_folder_are_said() {
        let folder = tempfile::tempdir().unwrap();
        let none = read_cases(folder.path(), "plug").unwrap_err().to_string();
        assert!(none.contains("there are no cases") && none.contains("--cases"), "{none}");
        for name in ["a.toml", "b.toml", "notes.txt"] {
            #[expect(clippy::disallowed_methods, reason = "the test needs files")]
            std::fs::write(folder.path().join(name), "x = 1").unwrap();
        }
        let error = read_cases(folder.path(), "plug").unwrap_err().to_string();
        assert!(error.contains("a.toml: line 1") && error.contains("b.toml: line 1"), "{error}");
    }
}
