//! Checks that the host names no plugin: data that the host needs about a family of plugins is in the folder of the
//! family.

use super::sources::{assert_none, entries, files, manifest, shown, sources};
use crate::support::workspace;

/// Files of the host in which `"ui"` is not the name of a plugin, and the meaning of `"ui"` there.
const UI: &[(&str, &str)] = &[
    ("host/mcp-client/examples/stand-in/weather.rs", "a key of `_meta` in MCP Apps"),
    ("host/core/src/definitions.rs", "a key of `_meta` in MCP Apps"),
    ("host/core/src/host/views.rs", "a key of `_meta` in MCP Apps"),
    ("host/name-collisions/src/uris.rs", "a scheme of URIs in MCP Apps"),
    ("host/core/src/upstreams/views.rs", "a key of `_meta` in MCP Apps"),
];

/// The folders of the families.
fn families() -> Vec<std::path::PathBuf> {
    let folders = entries(&workspace().join("plugins")).into_iter();
    let families: Vec<_> = folders.filter(|folder| folder.join("plugins").is_dir()).collect();
    assert!(families.len() > 2, "the families were found: {families:?}");
    families
}

/// The names of the families and of their plugins and libraries.
fn names() -> Vec<String> {
    let mut names = Vec::new();
    for family in families() {
        names.push(family.file_name().expect("it has a name").to_string_lossy().into_owned());
        for folder in ["plugins", "libraries"].map(|folder| family.join(folder)) {
            let packages = entries(&folder).into_iter().map(|path| path.join("Cargo.toml"));
            for package in packages.filter(|path| path.exists()) {
                let name = manifest(&package)["package"]["name"].as_str().map(ToOwned::to_owned);
                names.extend(name);
            }
        }
    }
    names.sort();
    names.dedup();
    names
}

#[test]
fn the_host_knows_no_plugin() {
    let mut faults = Vec::new();
    let names = names();
    let mut with_ui = Vec::new();
    let manifests = files(&workspace().join("host"), &|name| name == "Cargo.toml");
    let manifests = manifests.iter().map(|path| {
        let text = std::fs::read_to_string(path).expect("a manifest is text");
        (shown(path), text)
    });
    let sources = sources("host").into_iter().map(|source| (source.shown, source.text));
    for (file, text) in sources.chain(manifests) {
        let text = text.to_lowercase();
        for name in &names {
            // `ui` is part of many words: only the string "ui" counts.
            let is_named = match name.as_str() {
                "ui" => text.contains("\"ui\""),
                name => text.contains(name),
            };
            match UI.iter().find(|(allowed, _)| name == "ui" && *allowed == file) {
                Some((allowed, _)) if is_named => with_ui.push(*allowed),
                Some(_) | None if is_named => faults.push(format!("{file} names `{name}`")),
                Some(_) | None => {}
            }
        }
    }
    let unused = UI.iter().filter(|(file, _)| !with_ui.contains(file));
    faults
        .extend(unused.map(|(file, _)| format!("{file} has no \"ui\": remove it from the table")));
    assert_none(&faults);
}

#[test]
fn the_defaults_of_a_family_concern_only_its_plugins() {
    let mut faults = Vec::new();
    for family in families() {
        let path = family.join("defaults.toml");
        let defaults = manifest(&path);
        let plugins: Vec<_> =
            entries(&family.join("plugins")).iter().map(|path| shown(path)).collect();
        for (key, value) in &defaults {
            match (key.as_str(), value.as_table()) {
                ("plugins", Some(table)) => {
                    let is_own =
                        |name: &str| plugins.iter().any(|one| one.ends_with(&format!("/{name}")));
                    let foreign = table.keys().filter(|name| !is_own(name));
                    faults.extend(foreign.map(|name| format!("{} has `{name}`", shown(&path))));
                }
                ("commands", Some(_)) => {}
                (key, _) => faults.push(format!("{} has `{key}`", shown(&path))),
            }
        }
    }
    assert_none(&faults);
}
