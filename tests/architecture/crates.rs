//! Checks the crates of `host/`: the names of their folders, their layers, and which of them may depend on which
//! external crates. Also checks the folders of plugins, and that no package is inside of another.

use std::collections::{BTreeMap, BTreeSet};

use super::sources::{Crate, assert_none, crates, entries, files, manifest, shown};
use crate::support::workspace;

/// The crates of `host/` in layers, by the names of their folders. A crate may depend on crates of the layers
/// below its own, and on no crate of its own layer or above. The crates of the last layer depend on no crate
/// of `host/`.
const LAYERS: &[&[&str]] = &[
    &["portcullis"],
    &["mcp-server", "plugin-cases"],
    &["core"],
    &["sandbox"],
    &["files", "mcp-client", "plugin-template"],
    &["file-transaction", "http-server", "login", "plugin-sources", "telemetry"],
    &[
        "cache",
        "client-setup",
        "cluster-state",
        "egress",
        "engine",
        "metrics",
        "report",
        "roots",
        "stdio-transport",
    ],
    &[
        "audit",
        "checked-files",
        "confine",
        "foreign-components",
        "json-bounds",
        "name-collisions",
        "result-findings",
        "result-passthrough",
        "sanitize",
        "scrub",
        "tool-search",
    ],
];

/// External dependencies, and the crates of `host/` that may have them. The dependencies of build scripts are in
/// [`BUILD_OWNERS`]. The dependencies of tests are not limited.
const OWNERS: &[(&str, &[&str])] = &[
    ("anstream", &["portcullis"]),
    ("anstyle", &["portcullis"]),
    ("anyhow", &["portcullis"]),
    ("async-trait", &["telemetry"]),
    (
        "base64",
        &["foreign-components", "login", "mcp-client", "mcp-server", "plugin-sources", "scrub"],
    ),
    (
        "bytes",
        &[
            "egress",
            "engine",
            "files",
            "http-server",
            "login",
            "plugin-sources",
            "result-passthrough",
            "sandbox",
        ],
    ),
    ("cap-fs-ext", &["roots"]),
    ("cap-std", &["file-transaction", "files", "roots"]),
    ("clap", &["portcullis"]),
    ("clap_complete", &["portcullis"]),
    ("clap_mangen", &["portcullis"]),
    ("data-encoding", &["audit", "checked-files", "http-server", "mcp-client"]),
    ("etcetera", &["core"]),
    ("futures-util", &["core", "egress", "http-server", "mcp-server"]),
    (
        "getrandom",
        &[
            "checked-files",
            "cluster-state",
            "core",
            "file-transaction",
            "http-server",
            "login",
            "mcp-server",
            "result-passthrough",
        ],
    ),
    ("hmac", &["checked-files"]),
    (
        "http",
        &[
            "egress",
            "http-server",
            "login",
            "mcp-server",
            "plugin-sources",
            "portcullis",
            "sandbox",
            "telemetry",
        ],
    ),
    ("http-body", &["egress", "http-server"]),
    ("http-body-util", &["egress", "http-server", "login", "plugin-sources", "sandbox"]),
    ("humantime", &["audit"]),
    ("hyper", &["http-server", "login"]),
    ("hyper-util", &["egress", "http-server", "login"]),
    ("ipnet", &["mcp-client", "sandbox"]),
    ("jsonc-parser", &["client-setup"]),
    ("jsonschema", &["core"]),
    ("jsonwebtoken", &["http-server"]),
    ("landlock", &["confine"]),
    ("libc", &["confine"]),
    ("memchr", &["json-bounds", "mcp-client", "result-passthrough", "stdio-transport"]),
    ("mimalloc", &["portcullis"]),
    ("opentelemetry", &["telemetry"]),
    ("opentelemetry-appender-tracing", &["telemetry"]),
    ("opentelemetry-http", &["telemetry"]),
    ("opentelemetry-otlp", &["telemetry"]),
    ("opentelemetry_sdk", &["telemetry"]),
    ("postcard", &["sandbox"]),
    ("prometheus-client", &["metrics"]),
    ("quick_cache", &["cache"]),
    ("redis", &["cluster-state"]),
    ("regex", &["confine", "result-findings"]),
    ("reqwest", &["egress", "mcp-client", "telemetry"]),
    ("ring", &["cluster-state", "http-server", "login", "plugin-sources"]),
    ("rmcp", &["http-server", "mcp-server", "result-passthrough", "stdio-transport"]),
    ("rustix", &["confine", "engine", "file-transaction", "files", "mcp-client", "roots"]),
    ("rustls", &["cluster-state", "egress", "http-server"]),
    ("rustls-pki-types", &["login", "plugin-sources"]),
    ("rustls-platform-verifier", &["egress"]),
    ("saphyr-parser", &["client-setup"]),
    (
        "schemars",
        &[
            "audit",
            "confine",
            "core",
            "egress",
            "engine",
            "files",
            "login",
            "mcp-client",
            "plugin-cases",
            "plugin-sources",
            "report",
            "sandbox",
        ],
    ),
    ("seccompiler", &["confine"]),
    ("sha2", &["audit", "checked-files", "http-server", "login", "mcp-client"]),
    ("similar", &["portcullis"]),
    ("strsim", &["core"]),
    ("tempfile", &["checked-files", "confine", "portcullis"]),
    ("tokio-rustls", &["http-server"]),
    ("toml", &["core", "plugin-cases"]),
    ("toml_edit", &["client-setup", "core"]),
    ("tracing-opentelemetry", &["telemetry"]),
    ("tracing-subscriber", &["portcullis", "telemetry"]),
    (
        "url",
        &[
            "cluster-state",
            "egress",
            "http-server",
            "login",
            "mcp-client",
            "mcp-server",
            "plugin-sources",
            "portcullis",
            "roots",
        ],
    ),
    ("wasmparser", &["engine", "foreign-components"]),
    ("wit-parser", &["foreign-components"]),
    ("whoami", &["core"]),
    ("wasmtime", &["engine", "files", "foreign-components", "sandbox"]),
    ("wasmtime-wasi", &["engine", "files", "sandbox"]),
    ("wasmtime-wasi-http", &["sandbox"]),
    ("wasmtime-wasi-io", &["sandbox"]),
    ("windows-sys", &["confine"]),
];

/// External dependencies of build scripts, and the crates of `host/` that may have them.
const BUILD_OWNERS: &[(&str, &[&str])] = &[
    ("cranelift-codegen", &["core"]),
    ("data-encoding", &["core"]),
    ("portcullis-bundle", &["core"]),
    ("sha2", &["core"]),
    ("toml_edit", &["plugin-template"]),
    ("wasmtime", &["core"]),
];

/// External crates on which every crate may depend.
const COMMON: &[&str] =
    &["parking_lot", "serde", "serde_json", "tokio", "tokio-util", "tracing", "thiserror"];

/// A crate and an external crate on which it must not depend, not even through other crates of `host/`.
const NOT_EVEN_INDIRECTLY: &[(&str, &str)] = &[
    ("sandbox", "rmcp"),
    ("core", "rmcp"),
    ("core", "opentelemetry"),
    ("core", "tokio-rustls"),
    ("core", "jsonwebtoken"),
    ("client-setup", "tokio"),
    ("sandbox", "toml"),
    ("mcp-client", "rmcp"),
    ("files", "reqwest"),
    ("engine", "reqwest"),
    ("roots", "tokio"),
    ("audit", "tokio"),
];

#[test]
fn each_folder_of_the_host_is_a_crate_of_the_same_name() {
    let mut faults = Vec::new();
    for Crate { folder, name, .. } in crates().values() {
        let expected = match folder.as_str() {
            "portcullis" => "portcullis".to_owned(),
            other => format!("portcullis-{other}"),
        };
        if *name != expected {
            faults.push(format!("host/{folder} holds `{name}` and not `{expected}`"));
        }
    }
    assert_none(&faults);
}

#[test]
fn no_crate_lies_inside_the_package_of_another() {
    let is_manifest = |name: &str| name == "Cargo.toml";
    let folders = ["host", "plugins", "tests/guests", "tests/guides", "tests/fuzz"]
        .map(|folder| workspace().join(folder));
    let packages = folders.iter().flat_map(|folder| files(folder, &is_manifest));
    // The libFuzzer package is a workspace of its own inside another package, because it is built with coverage.
    let is_member = |manifest: toml::Table| !manifest.contains_key("workspace");
    let packages = packages.filter(|path| is_member(manifest(path)));
    let folders: Vec<_> =
        packages.map(|path| path.parent().expect("a manifest is in a folder").to_owned()).collect();
    let mut faults = Vec::new();
    for inner in &folders {
        let is_outer = |outer: &&_| inner != *outer && inner.starts_with(outer);
        if let Some(outer) = folders.iter().find(is_outer) {
            faults.push(format!("{} lies inside {}", shown(inner), shown(outer)));
        }
    }
    assert!(folders.len() > 40, "the packages were found");
    assert_none(&faults);
}

#[test]
fn the_folders_of_the_plugins_are_families_and_crates_for_plugin_authors() {
    let mut faults = Vec::new();
    for path in entries(&workspace().join("plugins")).iter().filter(|path| path.is_dir()) {
        let name = path.file_name().expect("it has a name").to_string_lossy().into_owned();
        if name.starts_with("portcullis-") {
            let package = manifest(&path.join("Cargo.toml"))["package"]["name"].clone();
            if package.as_str() != Some(&name) {
                faults.push(format!("plugins/{name} holds {package}"));
            }
            continue;
        }
        if path.join("Cargo.toml").exists() || !path.join("plugins").is_dir() {
            faults.push(format!("plugins/{name} is no family: it has no folder `plugins`"));
            continue;
        }
        for package in entries(&path.join("plugins")).into_iter().filter(|path| path.is_dir()) {
            let found = manifest(&package.join("Cargo.toml"))["package"]["name"].clone();
            let folder = package.file_name().expect("it has a name").to_str();
            if found.as_str() != folder {
                faults.push(format!("{} holds {found}", shown(&package)));
            }
        }
    }
    assert_none(&faults);
}

#[test]
fn crates_depend_on_lower_layers_only() {
    let mut layer_of = BTreeMap::new();
    for (layer, folders) in LAYERS.iter().enumerate() {
        for folder in *folders {
            let before = layer_of.insert(*folder, layer);
            assert_eq!(before, None, "{folder} is in two layers");
        }
    }
    let crates = crates();
    let mut faults = Vec::new();
    for (folder, layer) in &layer_of {
        let Some(found) = crates.values().find(|found| found.folder == *folder) else {
            faults.push(format!("there is no host/{folder}: remove it from the layers"));
            continue;
        };
        for name in found.dependencies.iter().chain(&found.build_dependencies) {
            let Some(dependency) = crates.get(name) else { continue };
            let below = layer_of.get(dependency.folder.as_str());
            if below.is_some_and(|below| below <= layer) {
                faults.push(format!("{folder} may not depend on {}", dependency.folder));
            }
        }
    }
    for found in crates.values().filter(|found| !layer_of.contains_key(found.folder.as_str())) {
        faults.push(format!("host/{} is in no layer", found.folder));
    }
    assert_none(&faults);
}

/// Compares a table of owners with the manifests. Returns dependencies without an owner, and owners without the
/// dependency.
fn compare(
    owners: &[(&str, &[&str])],
    dependencies: impl Fn(&Crate) -> &BTreeSet<String>,
) -> Vec<String> {
    let crates = crates();
    let mut found: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for owner in crates.values() {
        for name in dependencies(owner).iter().filter(|name| !crates.contains_key(*name)) {
            found.entry(name).or_default().insert(&owner.folder);
        }
    }
    found.retain(|name, _| !COMMON.contains(name));
    let mut faults = Vec::new();
    for (name, users) in &found {
        let owners = owners.iter().find(|(owned, _)| owned == name).map_or(&[][..], |(_, by)| by);
        for user in users.iter().filter(|user| !owners.contains(user)) {
            faults.push(format!("{user} may not depend on {name}: it is not among its owners"));
        }
    }
    for (name, owners) in owners {
        for owner in *owners {
            if !found.get(name).is_some_and(|users| users.contains(owner)) {
                faults
                    .push(format!("{owner} no longer depends on {name}: remove it from the table"));
            }
        }
    }
    faults
}

#[test]
fn crates_of_others_have_owners() {
    assert_none(&compare(OWNERS, |found| &found.dependencies));
}

#[test]
fn external_crates_in_build_scripts_have_owners() {
    assert_none(&compare(BUILD_OWNERS, |found| &found.build_dependencies));
}

#[test]
fn some_crates_are_free_of_others_all_the_way_down() {
    let crates = crates();
    let mut faults = Vec::new();
    for (folder, foreign) in NOT_EVEN_INDIRECTLY {
        let start = crates.values().find(|found| found.folder == *folder);
        let mut open = vec![start.unwrap_or_else(|| panic!("there is no host/{folder}"))];
        let mut seen = BTreeSet::new();
        while let Some(next) = open.pop() {
            if next.dependencies.contains(*foreign) {
                faults.push(format!("{folder} depends on {foreign} by way of {}", next.folder));
            }
            let below = next.dependencies.iter().filter_map(|name| crates.get(name));
            open.extend(below.filter(|below| seen.insert(below.name.clone())));
        }
    }
    assert_none(&faults);
}
