//! Tests of the crates of the SDK, which are published: each has all its files in its own folder. `just packages`
//! builds them from their packages.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::workspace;

/// The crates that are published, in the order in which they are.
const PUBLISHED: &[&str] = &["portcullis-plugin-macros", "portcullis-plugin"];

/// What is in crates as a copy, because a package has only files of its own folder: the original, the crate, and the
/// path of the copy in the crate.
const COPIES: &[(&str, &str, &str)] = &[
    ("wit", "portcullis-plugin", "wit"),
    ("LICENSE", "portcullis-plugin", "LICENSE"),
    ("LICENSE", "portcullis-plugin-macros", "LICENSE"),
];

/// The paths of all files at a path: beneath it, or an empty path if it is a file.
fn files(path: &Path) -> BTreeSet<String> {
    if path.is_file() {
        return BTreeSet::from([String::new()]);
    }
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(path).expect("a folder") {
        let inner = entry.expect("an entry").path();
        let name = inner.file_name().expect("it has a name").to_str().expect("UTF-8").to_owned();
        found.extend(
            files(&inner).into_iter().map(|below| {
                if below.is_empty() { name.clone() } else { format!("{name}/{below}") }
            }),
        );
    }
    found
}

#[test]
fn copies_in_published_crates_are_those_of_the_repository() {
    for (original, crate_, copy) in COPIES {
        let (original, copy) =
            (workspace().join(original), workspace().join("plugins").join(crate_).join(copy));
        if std::env::var_os("UPDATE").is_some() {
            if copy.is_dir() {
                fs::remove_dir_all(&copy).expect("the copy is deleted");
            }
            for file in files(&original) {
                let to = if file.is_empty() { copy.clone() } else { copy.join(&file) };
                let from = if file.is_empty() { original.clone() } else { original.join(&file) };
                fs::create_dir_all(to.parent().expect("it is in a folder")).expect("a folder");
                fs::write(to, fs::read(from).expect("a file")).expect("the copy is written");
            }
        }
        let hint = "UPDATE=1 cargo test --test blackbox -- published_crates:: copies them";
        assert_eq!(files(&copy), files(&original), "{}: {hint}", copy.display());
        for file in files(&original) {
            let read = |folder: &Path| {
                let path = if file.is_empty() { folder.to_owned() } else { folder.join(&file) };
                fs::read(path).expect("a file")
            };
            assert!(read(&copy) == read(&original), "{}/{file}: {hint}", copy.display());
        }
    }
}

#[test]
fn every_file_of_a_published_crate_is_in_its_package() {
    for crate_ in PUBLISHED {
        let folder = workspace().join("plugins").join(crate_);
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.current_dir(workspace()).args(["package", "--list", "--allow-dirty", "--offline"]);
        let listed = cargo.args(["--package", crate_]).output().expect("cargo runs");
        let said = String::from_utf8_lossy(&listed.stderr);
        assert!(listed.status.success(), "{crate_}: {said}");
        let stdout = String::from_utf8_lossy(&listed.stdout).replace('\\', "/");
        let listed: BTreeSet<_> = stdout.lines().map(str::to_owned).collect();
        let own = files(&folder);
        assert!(own.contains("README.md") && own.contains("LICENSE"), "{own:?}");
        assert_eq!(own.difference(&listed).collect::<Vec<_>>(), Vec::<&String>::new(), "{crate_}");
        // Macros such as `include_str!` and `generate!` take paths, also of files that a package cannot have.
        for file in own.iter().filter(|file| file.ends_with(".rs")) {
            let source = fs::read_to_string(folder.join(file)).expect("a source");
            let outside = source.lines().find(|line| line.contains("\"../../"));
            assert_eq!(outside, None, "{crate_}/{file} names a file outside of its package");
        }
    }
}

#[test]
fn published_crates_say_what_the_registry_demands_and_depend_on_published_ones() {
    let whole = fs::read_to_string(workspace().join("Cargo.toml")).expect("a manifest");
    let whole: toml::Table = whole.parse().expect("TOML");
    let shared = whole["workspace"]["dependencies"].as_table().expect("a table");
    for (index, crate_) in PUBLISHED.iter().enumerate() {
        let manifest = workspace().join("plugins").join(crate_).join("Cargo.toml");
        let manifest: toml::Table =
            fs::read_to_string(manifest).expect("a manifest").parse().expect("TOML");
        let package = manifest["package"].as_table().expect("a table");
        for key in ["description", "license", "readme", "publish"] {
            assert!(package.contains_key(key), "{crate_}: {key}");
        }
        for name in manifest["dependencies"].as_table().expect("a table").keys() {
            let Some(dependency) = shared.get(name).filter(|one| one.get("path").is_some()) else {
                continue;
            };
            assert!(PUBLISHED[..index].contains(&name.as_str()), "{crate_} needs {name}");
            let version = dependency.get("version").and_then(toml::Value::as_str);
            let own = whole["workspace"]["package"]["version"].as_str();
            assert_eq!(version, own, "{name}: the version that crates.io is asked for");
        }
    }
}
