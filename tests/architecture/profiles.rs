//! Checks the build profiles of the workspace: with different settings, the same crates would be built twice.

use std::collections::BTreeSet;

use toml::{Table, Value};

use super::sources::manifest;
use crate::support::workspace;

/// A table of the workspace's manifest below `[profile]`.
fn profile(path: &[&str]) -> Table {
    let root = manifest(&workspace().join("Cargo.toml"));
    let mut table = &root["profile"];
    for key in path {
        table = &table[*key];
    }
    table.as_table().expect("it is a table").clone()
}

/// The packages that a profile does not optimise.
fn without_optimising(name: &str) -> BTreeSet<String> {
    let packages = profile(&[name, "package"]);
    let unoptimised = |settings: &Value| settings["opt-level"].as_integer() == Some(0);
    packages
        .into_iter()
        .filter(|(_, settings)| unoptimised(settings))
        .map(|(name, _)| name)
        .collect()
}

#[test]
fn build_scripts_and_the_binary_of_a_release_share_what_they_depend_on() {
    let mut release = profile(&["release"]);
    let scripts = profile(&["release", "build-override"]);
    release.retain(|_, setting| !setting.is_table());
    // The default of Cargo for `release`, and not for build scripts.
    release.entry("opt-level").or_insert(Value::Integer(3));
    assert_eq!(release, scripts, "wasmtime would be built twice");
}

#[test]
fn macros_are_not_optimised_in_any_profile() {
    let dev = without_optimising("dev");
    assert!(dev.contains("serde_derive"), "the list was found: {dev:?}");
    assert_eq!(without_optimising("release"), dev);
}
