//! Embeds the templates of `resources/templates`, the sources of the SDK, which Rust projects get, and the contract,
//! which all other projects get.

#![expect(clippy::disallowed_methods, reason = "a build script reads and writes files")]

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item, Table, value};

/// The folder of this workspace.
const WORKSPACE: &str = "../..";

/// The crates that the SDK consists of. Each has all its files in its own folder, as it is published.
const SDK: &[&str] = &["plugins/portcullis-plugin", "plugins/portcullis-plugin-macros"];

/// The file in the folder of a template that describes the template.
const DESCRIPTION: &str = "template.toml";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let workspace = fs::canonicalize(WORKSPACE).expect("the crate lies in the workspace");
    let mut source = String::from(
        "/// The languages, with their templates.\npub const LANGUAGES: &[Language] = &[\n",
    );
    for folder in entries(&workspace.join("resources/templates")) {
        source += &language(&folder);
    }
    source += "];\n/// The files of the contract.\nconst CONTRACT: &[(&str, &str)] = &[\n";
    source += &files(&workspace.join("wit"), &workspace.join("wit"));
    source += "];\n/// The files of the SDK.\nconst SDK: &[(&str, &str)] = &[\n";
    for part in SDK {
        source += &files(&workspace, &workspace.join(part));
    }
    write!(source, "    (\"Cargo.toml\", {:?}),\n];\n", manifest(&workspace))
        .expect("a String takes any text");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("templates.rs"), source).expect("OUT_DIR can be written");
}

/// The template in a folder, as Rust source.
fn language(folder: &Path) -> String {
    let id = folder.file_name().expect("a folder has a name").to_str().expect("UTF-8");
    let described = parse(&folder.join(DESCRIPTION));
    let text = |key: &str| described[key].as_str().unwrap_or_else(|| panic!("{id}: `{key}`"));
    let list = described["reserved"].as_array().unwrap_or_else(|| panic!("{id}: `reserved`"));
    let reserved: Vec<_> = list.iter().filter_map(|name| name.as_str()).collect();
    let sdk = described["sdk"].as_bool().unwrap_or_else(|| panic!("{id}: `sdk`"));
    format!(
        "    Language {{ id: {id:?}, title: {:?}, has_sdk: {sdk}, component: {:?}, build: {:?}, reserved: &{reserved:?}, \
         files: &[\n{}    ] }},\n",
        text("title"),
        text("component"),
        text("build"),
        files(folder, folder)
    )
}

/// The files at a path, as Rust source: each with its path beneath `base` and its text. A template's file `gitignore`
/// becomes `.gitignore`.
fn files(base: &Path, path: &Path) -> String {
    println!("cargo::rerun-if-changed={}", path.display());
    if path.is_dir() {
        return entries(path).iter().map(|inner| files(base, inner)).collect();
    }
    let inner = path.strip_prefix(base).expect("it lies beneath the base");
    let inner = inner.to_str().expect("UTF-8").replace('\\', "/");
    if inner == DESCRIPTION {
        return String::new();
    }
    let inner = if inner == "gitignore" { ".gitignore".to_owned() } else { inner };
    format!("    ({inner:?}, include_str!({path:?})),\n")
}

/// The entries of a folder, in order.
fn entries(folder: &Path) -> Vec<PathBuf> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

fn parse(path: &Path) -> DocumentMut {
    println!("cargo::rerun-if-changed={}", path.display());
    let text =
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The manifest of the SDK, which is a workspace with the parts of this workspace's manifest that the SDK uses.
fn manifest(workspace: &Path) -> String {
    let whole = parse(&workspace.join("Cargo.toml"));
    let mut dependencies = Table::new();
    for part in SDK {
        let own = parse(&workspace.join(part).join("Cargo.toml"));
        for (name, dependency) in own["dependencies"].as_table().expect("a table") {
            if dependency.get("workspace").is_some() {
                dependencies.insert(name, whole["workspace"]["dependencies"][name].clone());
            }
        }
    }
    let mut inner = Table::new();
    inner.insert("resolver", value("3"));
    inner.insert("members", value(["plugins/*"].into_iter().collect::<toml_edit::Array>()));
    for key in ["package", "lints"] {
        inner.insert(key, whole["workspace"][key].clone());
    }
    inner.insert("dependencies", Item::Table(dependencies));
    let mut manifest = DocumentMut::new();
    manifest.insert("workspace", Item::Table(inner));
    format!(
        "# The SDK of Portcullis and its contract: a copy, until it is published. Do not edit it.\n{manifest}"
    )
}
