//! Reads a UI5 project from its directory and its `ui5.yaml`.

mod layout;
mod report;
mod schema;
mod search;
mod yaml;

pub use search::{find, normalise};

use crate::Framework;
use report::File;
use serde_json::{Value, json};
use std::{fs, io::Read, path::Path};
use yaml::Document;

/// The name UI5 CLI gives to the module for a root project without dependents.
const MODULE: &str = "ui5-project";

/// Maximum size of a configuration file, in bytes; far above real ones.
const MAX_CONFIGURATION_BYTES: u64 = 1024 * 1024;

/// A UI5 project.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Project {
    /// The root directory: absolute, without a trailing slash.
    pub directory: String,
    /// The path of the configuration file, if there is one.
    pub configuration: Option<String>,
    /// The name, which may differ from the namespace.
    pub name: String,
    /// `application`, `library`, `theme-library`, `module`, or `component`.
    pub kind: String,
    /// The version of the specification, such as `4.0`.
    pub spec_version: String,
    /// The framework, if configured.
    pub framework: Option<Framework>,
    /// The version of the framework, if configured.
    pub framework_version: Option<String>,
    /// The framework libraries, in the order of the configuration.
    pub framework_libraries: Vec<String>,
    /// The source directory, relative to the root; empty for the root itself.
    pub source: String,
}

impl Project {
    /// Opens the project with that root directory. Fails with the reason.
    pub fn open(directory: &str) -> Result<Self, String> {
        let unusable = |why: String| {
            format!(
                "Unable to use the UI5 project located at {directory}. Make sure the provided path \
                 is correct and contains a valid UI5 project. Error: {why}"
            )
        };
        let candidates = ["ui5-local.yaml", "ui5.yaml"].map(|name| layout::join(directory, name));
        match candidates.into_iter().find(|path| Path::new(path).is_file()) {
            Some(path) => open_configured(directory, path).map_err(unusable),
            None => match search::unconfigured(directory) {
                Some(configuration) => Self::of(directory, None, &configuration).map_err(unusable),
                None => Err(search::none_at(directory)),
            },
        }
    }

    /// The project of a valid configuration.
    fn of(directory: &str, file: Option<String>, configuration: &Value) -> Result<Self, String> {
        let text = |pointer| configuration.pointer(pointer).and_then(Value::as_str);
        let libraries = configuration.pointer("/framework/libraries").and_then(Value::as_array);
        let mut project = Self {
            directory: directory.to_owned(),
            configuration: file,
            name: text("/metadata/name").unwrap_or_default().to_owned(),
            kind: kind(configuration),
            spec_version: text("/specVersion").unwrap_or_default().to_owned(),
            framework: text("/framework/name").and_then(|name| name.parse().ok()),
            framework_version: text("/framework/version").map(str::to_owned),
            framework_libraries: libraries
                .into_iter()
                .flatten()
                .filter_map(|library| library.get("name")?.as_str().map(str::to_owned))
                .collect(),
            source: String::new(),
        };
        if project.name.is_empty() {
            let why = "Could not create ProjectGraph: Missing or empty parameter 'rootProjectName'";
            return Err(why.to_owned());
        }
        if is_number(&project.name) {
            return Err(format!(
                "Failed to add project {} to graph: Project name must not be integer-like",
                project.name
            ));
        }
        project.source = layout::check(&project, configuration)?;
        Ok(project)
    }
}

/// Opens the project of a configuration file.
fn open_configured(directory: &str, path: String) -> Result<Project, String> {
    let text = read(&path).map_err(|why| {
        format!("Failed to read configuration for module {MODULE} at '{path}'. Error: {why}")
    })?;
    let documents = yaml::read(&text).map_err(|fault| {
        format!(
            "Failed to parse configuration for project {MODULE} at '{path}'\nError: {} in \"{path}\" \
             ({}:{})\n\n{}",
            fault.reason,
            fault.place.line,
            fault.place.column,
            report::frame(&text, fault.place)
        )
    })?;
    let file = File { path: &path, text: &text };
    for document in &documents {
        judge(document, &file)?;
    }
    for old in documents.iter().map(|document| &document.value).filter(|value| is_old(value)) {
        judge_old(old)?;
    }
    let mut projects =
        documents.into_iter().filter(|document| is_project(&document.value)).map(|it| it.value);
    match (projects.next(), projects.count()) {
        (Some(configuration), 0) => Project::of(directory, Some(path), &configuration),
        (Some(_), more) => Err(format!(
            "Found {} configurations of kind 'project' for module {MODULE}. There must be only one \
             project per module.",
            more + 1
        )),
        (None, _) => Err(format!(
            "Failed to create a UI5 project from module {MODULE} at {directory}. Make sure the path \
             is correct and a project configuration is present or supplied."
        )),
    }
}

/// Validates a document against the schemas. Fails with a report.
fn judge(document: &Document, file: &File<'_>) -> Result<(), String> {
    let spec_version =
        document.value.get("specVersion").and_then(Value::as_str).unwrap_or_default();
    let (value, is_known) = match spec_version {
        "5.0" => (as_known(&document.value), false),
        // Old configurations are validated in their converted form.
        _ if is_old(&document.value) => return Ok(()),
        _ => (document.value.clone(), true),
    };
    let mut violations = schema::violations(&value);
    if !is_known {
        // Newer properties are unknown to the schemas.
        violations.retain(|it| !matches!(it.kind, schema::Kind::AdditionalProperty(_)));
    }
    report::report(&violations, document, file).map_or(Ok(()), Err)
}

/// Whether JavaScript's `Number()` converts the name to a number. White space alone is 0.
fn is_number(name: &str) -> bool {
    let is_space = |c: char| c == '\u{feff}' || c.is_whitespace() && c != '\u{85}';
    let text = name.trim_matches(is_space);
    if text.is_empty() {
        return true;
    }
    let (prefix, digits) = text.split_at_checked(2).unwrap_or_default();
    let radix = match prefix {
        "0b" | "0B" => 2,
        "0o" | "0O" => 8,
        "0x" | "0X" => 16,
        _ => {
            let is_word = text.contains(['n', 'N']) && !text.ends_with("Infinity");
            return !is_word && text.parse::<f64>().is_ok();
        }
    };
    !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix))
}

/// Whether the configuration is older than the schemas.
fn is_old(configuration: &Value) -> bool {
    configuration
        .get("specVersion")
        .and_then(Value::as_str)
        .is_some_and(|version| matches!(version, "0.1" | "1.0" | "1.1"))
}

/// Validates an old configuration as version 2.6, the last version that does not restrict names.
fn judge_old(configuration: &Value) -> Result<(), String> {
    const TYPES: [&str; 7] = [
        "application",
        "library",
        "theme-library",
        "module",
        "task",
        "server-middleware",
        "project-shim",
    ];
    let shown = |key: &str| match configuration.get(key) {
        None => "undefined".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    };
    let is_known = |key: &str, known: &[&str]| {
        configuration.get(key).and_then(Value::as_str).is_some_and(|value| known.contains(&value))
    };
    let prefix = "Unable to create Specification instance: Unknown";
    let has_kind = configuration.get("kind").is_some_and(|kind| !kind.is_null());
    if has_kind && !is_known("kind", &["project", "extension"]) {
        return Err(format!("{prefix} kind '{}'", shown("kind")));
    }
    if !is_known("type", &TYPES) {
        return Err(format!("{prefix} specification type '{}'", shown("type")));
    }
    let mut as_2_6 = configuration.clone();
    as_2_6["specVersion"] = "2.6".into();
    let resources = as_2_6.pointer_mut("/resources/configuration");
    if let Some(resources) = resources.and_then(Value::as_object_mut) {
        // An empty value means the default.
        resources.retain(|_, value| !value.is_null());
    }
    if schema::violations(&as_2_6).is_empty() {
        return Ok(());
    }
    let name = configuration.pointer("/metadata/name").and_then(Value::as_str);
    Err(format!(
        "{} {} defines unsupported Specification Version {}. Please manually upgrade to 3.0 or higher. \
         For details see https://ui5.github.io/cli/pages/Configuration/#specification-versions - An \
         attempted migration to a supported specification version failed, likely due to unrecognized \
         configuration. Check verbose log for details.",
        if has_kind { shown("kind") } else { "project".to_owned() },
        name.unwrap_or(MODULE),
        shown("specVersion"),
    ))
}

/// Converts a configuration newer than the schemas to their newest version.
fn as_known(value: &Value) -> Value {
    let mut value = value.clone();
    value["specVersion"] = "4.0".into();
    if value.get("type").is_some_and(|kind| kind == "component") {
        value["type"] = "library".into();
    }
    value
}

fn is_project(configuration: &Value) -> bool {
    matches!(configuration.get("kind"), None | Some(Value::Null))
        || configuration.get("kind").is_some_and(|kind| kind == "project")
}

/// The project type. Theme libraries were once configured as libraries.
fn kind(configuration: &Value) -> String {
    const OLD_THEMES: [&str; 3] =
        ["themelib_sap_fiori_3", "themelib_sap_bluecrystal", "themelib_sap_belize"];
    let text = |pointer| configuration.pointer(pointer).and_then(Value::as_str);
    let kind = text("/type").unwrap_or_default();
    let name = text("/metadata/name").unwrap_or_default();
    let kind = if kind == "library" && OLD_THEMES.contains(&name) { "theme-library" } else { kind };
    kind.to_owned()
}

/// The default configuration of a directory that has none.
fn assumed(kind: &str, source: &str, test: &str) -> Value {
    let paths = match kind {
        "application" => json!({ "webapp": source }),
        _ => json!({ "src": source, "test": test }),
    };
    json!({
        "specVersion": "4.0",
        "type": kind,
        "metadata": { "name": "ui5-project-without-ui5-yaml" },
        "resources": { "configuration": { "paths": paths } },
    })
}

/// Reads a text file, and removes a byte order mark. As in Node.js, invalid UTF-8 is replaced. Fails with a message.
fn read(path: &str) -> Result<String, String> {
    let failed = |error: std::io::Error| in_words_of_node(&error, "open", path);
    let mut bytes = Vec::new();
    fs::File::open(path)
        .map_err(failed)?
        .take(MAX_CONFIGURATION_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > MAX_CONFIGURATION_BYTES {
        return Err(format!("it is larger than {} MiB", MAX_CONFIGURATION_BYTES >> 20));
    }
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    Ok(String::from_utf8_lossy(text).into_owned())
}

/// Message for an I/O error. For a missing file and a denied permission, it is that of Node.js, which clients may know.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the enum belongs to std, and all others are shown alike"
)]
fn in_words_of_node(error: &std::io::Error, doing: &str, path: &str) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            format!("ENOENT: no such file or directory, {doing} '{path}'")
        }
        std::io::ErrorKind::PermissionDenied => {
            format!("EACCES: permission denied, {doing} '{path}'")
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests;
