//! Reads the manifests and the Rust files of the workspace.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::workspace;

/// A Rust file.
pub struct Source {
    /// The path of the file.
    pub path: PathBuf,
    /// Its path beneath the workspace, for messages.
    pub shown: String,
    /// The text of the file.
    pub text: String,
    /// The text as a syntax tree, tests included.
    pub file: syn::File,
}

/// All Rust files beneath a folder of the workspace.
pub fn sources(folder: &str) -> Vec<Source> {
    let files = files(&workspace().join(folder), &|name| name.ends_with(".rs"));
    assert!(!files.is_empty(), "there are no sources in {folder}");
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("a source is text");
        let file = syn::parse_file(&text)
            .unwrap_or_else(|error| panic!("{} is not Rust: {error}", path.display()));
        Source { shown: shown(&path), path, text, file }
    };
    files.into_iter().map(read).collect()
}

/// All files beneath a folder, at any depth, whose names `has_name` accepts, in order. Build output and `node_modules`
/// are left out.
pub fn files(folder: &Path, has_name: &dyn Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in entries(folder) {
        let name = path.file_name().expect("an entry has a name").to_string_lossy().into_owned();
        if path.is_dir() {
            if !matches!(name.as_str(), "node_modules" | "target") {
                found.extend(files(&path, has_name));
            }
        } else if has_name(&name) {
            found.push(path);
        }
    }
    found
}

/// The entries of a folder, in order.
pub fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{} cannot be read: {error}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

/// A path beneath the workspace, as messages show it.
pub fn shown(path: &Path) -> String {
    let path = path.strip_prefix(workspace()).unwrap_or(path);
    path.to_str().expect("the names of the repository are UTF-8").replace('\\', "/")
}

/// A crate of `host/`.
pub struct Crate {
    /// The name of the folder.
    pub folder: String,
    /// The name of the package.
    pub name: String,
    /// The names of the packages on which the crate depends, without those of tests and build scripts.
    pub dependencies: BTreeSet<String>,
    /// The names of the packages on which the crate's build script depends.
    pub build_dependencies: BTreeSet<String>,
}

/// The crates of `host/`, by the names of their packages.
pub fn crates() -> BTreeMap<String, Crate> {
    let folders = entries(&workspace().join("host")).into_iter().filter(|path| path.is_dir());
    let crates = folders.map(|path| {
        let manifest = manifest(&path.join("Cargo.toml"));
        let folder = path.file_name().expect("it has a name").to_str().expect("UTF-8").to_owned();
        let name = manifest["package"]["name"].as_str().expect("a package has a name").to_owned();
        let mut dependencies = names(manifest.get("dependencies"));
        let targets = manifest.get("target").and_then(toml::Value::as_table);
        for (_, target) in targets.into_iter().flatten() {
            dependencies.extend(names(target.get("dependencies")));
        }
        let build_dependencies = names(manifest.get("build-dependencies"));
        (name.clone(), Crate { folder, name, dependencies, build_dependencies })
    });
    crates.collect()
}

/// A manifest of Cargo.
pub fn manifest(path: &Path) -> toml::Table {
    let text = fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("{} cannot be read: {error}", path.display()));
    toml::from_str(&text).expect("a manifest is TOML")
}

fn names(table: Option<&toml::Value>) -> BTreeSet<String> {
    table
        .and_then(toml::Value::as_table)
        .into_iter()
        .flat_map(|table| table.keys().cloned())
        .collect()
}

/// Fails with all faults at once.
pub fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "\n  {}", faults.join("\n  "));
}
