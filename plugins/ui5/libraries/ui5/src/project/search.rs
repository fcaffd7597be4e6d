//! Finds the UI5 project that contains a path.

use super::{Project, assumed, in_words_of_node, layout::join};
use serde_json::Value;
use std::{
    fs,
    path::{Component, Path, PathBuf},
};

/// The project that contains a directory or a file: in the directory itself, or else in the nearest directory that
/// looks like a project, from there upwards. Fails with the reason.
///
/// Directories above the path that the sandbox does not open count as missing.
pub fn find(path: &str) -> Result<Project, String> {
    if !Path::new(path).is_absolute() {
        return Err(format!("Path must be absolute: {path}"));
    }
    let path = normalise(path);
    let metadata =
        fs::metadata(&path).map_err(|error| in_words_of_node(&error, "realpath", &path))?;
    let directory = if metadata.is_dir() { path } else { parent(&path).to_owned() };
    let first = match Project::open(&directory) {
        Ok(project) => return Ok(project),
        Err(why) => why,
    };
    match root_above(&directory) {
        Some(root) => Project::open(root).map_err(|_| first),
        // The message about an invalid configuration helps more than the message that no project was found.
        None if first != none_at(&directory) => Err(first),
        None => Err(format!(
            "Unable to locate a UI5 project in directory {directory} or any of its parents"
        )),
    }
}

/// Resolves `.` and `..` without following links, and removes a trailing slash.
pub fn normalise(path: &str) -> String {
    let mut result = PathBuf::new();
    for component in Path::new(path).components() {
        match component {
            Component::ParentDir => {
                result.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                result.push(component);
            }
        }
    }
    result.to_string_lossy().into_owned()
}

/// Message for a directory without a project.
pub fn none_at(directory: &str) -> String {
    format!(
        "Unable to find a UI5 project at {directory}. Make sure the provided path is correct and \
         contains a valid UI5 project"
    )
}

/// The default configuration for the layout of a directory.
pub fn unconfigured(directory: &str) -> Option<Value> {
    const LAYOUTS: [(&str, &str, &str); 7] = [
        ("webapp", "application", ""),
        ("src/main/webapp", "application", ""),
        ("src/main/jslib", "library", "src/test/jslib"),
        ("src/main/js", "library", "src/test/js"),
        ("src/main/uilib", "library", "src/test/uilib"),
        ("src", "library", "test"),
        ("WebContent", "application", ""),
    ];
    LAYOUTS
        .into_iter()
        .find(|(source, ..)| Path::new(&join(directory, source)).is_dir())
        .map(|(source, kind, test)| assumed(kind, source, test))
}

fn root_above(directory: &str) -> Option<&str> {
    let mut current = directory;
    let mut came_from_sources = false;
    while current != "/" {
        let has_file = |name| Path::new(&join(current, name)).is_file();
        if has_file("ui5.yaml") || has_file("package.json") || came_from_sources {
            return Some(current);
        }
        let name = current.rsplit('/').next().unwrap_or_default();
        came_from_sources = matches!(name, "webapp" | "src");
        current = parent(current);
    }
    None
}

/// The parent directory of a normalised absolute path.
fn parent(path: &str) -> &str {
    match path.rfind('/') {
        Some(0) | None => "/",
        Some(end) => &path[..end],
    }
}
