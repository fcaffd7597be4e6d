//! Checks the build profiles of the workspace: with different settings, the same crates would be built twice.

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

#[test]
fn build_scripts_and_the_binary_of_a_release_share_what_they_depend_on() {
    let mut release = profile(&["release"]);
    let scripts = profile(&["release", "build-override"]);
    release.retain(|_, setting| !setting.is_table());
    // The default of Cargo for `release`, and not for build scripts.
    release.entry("opt-level").or_insert(Value::Integer(3));
    assert_eq!(release, scripts, "wasmtime would be built twice");
}
