//! Checks that each capability is one folder, and that a file outside of it names the capability only for a listed
//! reason.

use std::collections::BTreeSet;
use std::fs;

use super::sources::{assert_none, entries, sources};
use crate::support::workspace;

const FOLDER: &str = "host/sandbox/src/capabilities";

/// Files outside of the folder that may name a capability, and why.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("host/sandbox/src/bindings.rs", "cache", "the generated code names the types of resources"),
    ("host/sandbox/src/bindings.rs", "process", "the same"),
    ("host/sandbox/src/bindings.rs", "store", "the same"),
    (
        "host/sandbox/src/sandbox/work.rs",
        "actions",
        "a tool runs only with permits for its actions",
    ),
    (
        "host/sandbox/src/sandbox/state.rs",
        "http",
        "requests of one call have a client of their own",
    ),
    (
        "host/sandbox/src/sandbox/state.rs",
        "catalog",
        "the paths that a call may still follow are counted",
    ),
    (
        "host/sandbox/src/sandbox/state.rs",
        "tools",
        "calls of tools are requests to the call of the guest",
    ),
    ("host/core/src/call/inner.rs", "tools", "the pipeline makes the calls of a plugin"),
    ("host/core/src/call/inner/journal.rs", "tools", "the journal repeats calls of a plugin"),
    (
        "host/core/src/call/plugin.rs",
        "actions",
        "the tool that is called says which actions it needs",
    ),
    (
        "host/core/src/call.rs",
        "actions",
        "permits for actions belong to the input of one tool call",
    ),
    (
        "host/core/src/call.rs",
        "client",
        "the user's decisions are recorded as answers of the client",
    ),
    ("host/core/src/call/output.rs", "client", "questions are an outcome of a call"),
    ("host/core/src/call/inner_call.rs", "client", "questions are an outcome of a call"),
    ("host/mcp-server/src/mcp/input.rs", "client", "questions are put to the client by MCP"),
    ("host/core/src/call/designate.rs", "files", "paths are arguments of a call"),
    ("host/core/src/plugins.rs", "files", "a view of the roots depends on the scope of a grant"),
    ("host/core/src/plugins/hints.rs", "files", "hints of tools depend on what may be written"),
    ("host/core/src/plugins/admission.rs", "actions", "a tool without its actions is withheld"),
];

/// The folders of the capabilities.
fn capabilities() -> Vec<String> {
    let all = entries(&workspace().join(FOLDER)).into_iter().filter(|path| path.is_dir());
    let name =
        |path: std::path::PathBuf| path.file_name().map(|n| n.to_string_lossy().into_owned());
    all.filter_map(name).collect()
}

#[test]
fn a_capability_is_one_folder_and_one_line() {
    let table = workspace().join(FOLDER).join("mod.rs");
    let table = fs::read_to_string(table).expect("capabilities are registered");
    let mut faults = Vec::new();
    for name in capabilities() {
        let registered = table.lines().filter(|line| line.contains(&format!(": {name}::"))).count();
        // Settings need no grant, since the operator writes them for the plugin.
        let (lines, files): (_, &[&str]) = match name.as_str() {
            "settings" => (0, &["mod.rs", "README.md"]),
            _ => (1, &["mod.rs", "grant.rs", "effect.rs", "permits.rs", "tests.rs", "README.md"]),
        };
        if registered != lines {
            faults.push(format!("`{name}` is registered with {registered} lines"));
        }
        let is_missing = |file: &&&str| !workspace().join(FOLDER).join(&name).join(file).is_file();
        let missing = files.iter().filter(is_missing);
        faults.extend(missing.map(|file| format!("`{name}` has no {file}")));
    }
    assert_none(&faults);
}

#[test]
fn requests_of_plugins_are_permitted_by_the_gate_only() {
    let effect = format!("{FOLDER}/http/effect.rs");
    let mut faults = Vec::new();
    for source in sources("host/sandbox/src") {
        let makes_permits = ["RequestPermit for", "ConnectionPermit for"];
        if source.shown != effect && makes_permits.iter().any(|text| source.text.contains(text)) {
            faults.push(format!("{} has a permit of its own for requests", source.shown));
        }
        if source.text.contains("permit_without_record") {
            faults.push(format!("{} permits requests without a record", source.shown));
        }
    }
    assert_none(&faults);
}

#[test]
fn no_other_file_names_a_capability() {
    let (mut faults, mut used) = (Vec::new(), BTreeSet::new());
    for source in sources("host") {
        if source.shown.starts_with(FOLDER) {
            continue;
        }
        for name in capabilities() {
            let names_it =
                source.text.match_indices(&format!("capabilities::{name}")).any(|(at, found)| {
                    let next = source.text[at + found.len()..].chars().next();
                    !next.is_some_and(|next| next.is_alphanumeric() || next == '_')
                });
            if !names_it {
                continue;
            }
            let exception = EXCEPTIONS
                .iter()
                .position(|(file, capability, _)| *file == source.shown && *capability == name);
            match exception {
                Some(exception) => drop(used.insert(exception)),
                None => faults.push(format!("{} names `capabilities::{name}`", source.shown)),
            }
        }
    }
    for (at, exception) in EXCEPTIONS.iter().enumerate().filter(|(at, _)| !used.contains(at)) {
        faults.push(format!("the exception {at}, {exception:?}, is no longer needed: remove it"));
    }
    assert_none(&faults);
}
