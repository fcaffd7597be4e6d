//! Tests that faulty code does not compile: an effect without its permit, with another permit, or twice with one permit.
//!
//! Each folder of a capability has a file `permits.rs` with a call of each effect. The calls are compiled against the
//! crate that this test was built with, both unchanged and with each fault. This takes seconds, and needs neither a
//! network nor a second build of the dependencies.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use portcullis_core::capabilities::Capability;

use crate::support::workspace;

/// The beginning of each compiled file. `any` makes a value of any type, for arguments that do not matter.
const PRELUDE: &str = "#![allow(unused, clippy::all)]\n\
    use portcullis_sandbox::gate::Permit;\n\
    use portcullis_sandbox::capabilities::store::StoreAsk as Store;\n\
    use portcullis_sandbox::capabilities::cache::CacheAsk as Cache;\n\
    fn any<T>() -> T { loop {} }\n";

fn folder(capability: &str) -> PathBuf {
    workspace().join("host/sandbox/src/capabilities").join(capability)
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The calls of the effects of every capability, each capability in a module, and the number of calls. `change` puts a
/// fault into the line of a call.
fn calls(change: impl Fn(&str, &str) -> String) -> (String, usize) {
    let (mut text, mut number) = (PRELUDE.to_owned(), 0);
    for capability in Capability::ALL {
        text += &format!("mod {capability} {{ use super::*;\n");
        for line in read(&folder(capability.as_str()).join("permits.rs")).lines() {
            if line.starts_with("pub fn ") {
                number += 1;
                text += &change(capability.as_str(), line);
            } else if !line.starts_with("//!") {
                text += line;
            }
            text.push('\n');
        }
        text += "}\n";
    }
    (text, number)
}

/// The library of the sandbox that this test was built with: the newest one that is not newer than the test.
fn library(dependencies: &Path, test: &Path) -> PathBuf {
    let changed = |path: &Path| -> SystemTime {
        fs::metadata(path).and_then(|found| found.modified()).expect("a file has a time")
    };
    let built = changed(test);
    let entries = fs::read_dir(dependencies).expect("there are dependencies");
    let all = entries.map(|entry| entry.expect("an entry").path());
    let is_library = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libportcullis_sandbox-") && name.ends_with(".rlib")
    };
    let libraries = all.filter(is_library).filter(|path| changed(path) <= built);
    libraries.max_by_key(|path| changed(path)).expect("the sandbox was built before this test")
}

/// Compiles this text as a library. Returns the codes of the errors, and all output of the compiler.
fn compile(text: &str) -> (Vec<String>, String) {
    let test = std::env::current_exe().expect("this test has a path");
    let dependencies = test.parent().expect("it lies beside its dependencies");
    let home = tempfile::tempdir().expect("a folder can be made");
    let source = home.path().join("calls.rs");
    fs::write(&source, text).expect("it can be written");
    let library = library(dependencies, &test);
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(compiler);
    command.args(["--edition=2024", "--crate-type=lib", "--emit=metadata", "--out-dir"]);
    command.arg(home.path()).arg("-L").arg(format!("dependency={}", dependencies.display()));
    command.arg("--extern").arg(format!("portcullis_sandbox={}", library.display())).arg(source);
    let said = command.output().expect("the compiler can be started");
    let said = (said.status.success(), String::from_utf8_lossy(&said.stderr).into_owned());
    let code = |line: &str| Some(line.strip_prefix("error[")?.split_once(']')?.0.to_owned());
    let codes: Vec<_> = said.1.lines().filter_map(code).collect();
    assert_eq!(said.0, codes.is_empty(), "{}", said.1);
    (codes, said.1)
}

/// Asserts that each call has this error and no other.
fn assert_each_fails(code: &str, change: impl Fn(&str, &str) -> String) {
    let (text, number) = calls(change);
    let (codes, said) = compile(&text);
    assert_eq!(codes, vec![code; number], "{said}");
}

#[test]
fn effects_compile_with_their_permits() {
    let (text, number) = calls(|_, line| line.to_owned());
    let (codes, said) = compile(&text);
    assert!(codes.is_empty(), "{said}");
    assert!(number >= Capability::ALL.len(), "each capability has an effect");
}

#[test]
fn no_effect_takes_a_bare_ask() {
    assert_each_fails("E0308", |_, line| {
        let (before, rest) = line.split_once("Permit<").expect("a call takes a permit");
        let (ask, after) = rest.split_once('>').expect("of an ask");
        format!("{before}{ask}{after}")
    });
}

#[test]
fn no_effect_takes_the_permit_of_another_capability() {
    assert_each_fails("E0308", |capability, line| {
        let (before, rest) = line.split_once("Permit<").expect("a call takes a permit");
        let (_, after) = rest.split_once('>').expect("of an ask");
        let other = if capability == "store" { "Cache" } else { "Store" };
        format!("{before}Permit<{other}>{after}")
    });
}

#[test]
fn no_permit_is_used_twice() {
    assert_each_fails("E0382", |_, line| {
        let (before, body) = line.split_once('{').expect("a call has a body");
        let body = body.trim_end().strip_suffix('}').expect("on one line");
        format!("{before}{{{body}{body}}}")
    });
}

#[test]
fn only_the_gate_makes_a_permit() {
    for (code, text) in [
        (
            "E0451",
            "pub fn make(ask: Store) -> Permit<Store> {\n\
             Permit { ask: Some(ask), gate: any(), is_recorded: true } }",
        ),
        ("E0308", "pub fn copy(permit: &Permit<Store>) -> Permit<Store> { permit.clone() }"),
        ("E0599", "pub fn default() -> Permit<Store> { Permit::default() }"),
        ("E0277", "pub fn from(ask: Store) -> Permit<Store> { ask.into() }"),
    ] {
        // This code must fail because the fields are private, and not because of a wrong name. So the names are checked
        // here.
        if code == "E0451" {
            let gate = read(&workspace().join("host/sandbox/src/gate.rs"));
            let fields = ["    ask: ", "    gate: ", "    is_recorded: "];
            assert!(fields.iter().all(|field| gate.contains(field)), "a permit has other fields");
        }
        let (codes, said) = compile(&format!("{PRELUDE}{text}\n"));
        assert!(!codes.is_empty() && codes.iter().all(|found| found == code), "{said}");
    }
}

#[test]
fn no_bare_request_or_connection_is_a_permit() {
    for (ask, hand_over) in
        [("Request", "hand_over_request"), ("Connection", "hand_over_connection")]
    {
        let (codes, said) = compile(&format!(
            "{PRELUDE}use portcullis_sandbox::capabilities::http::{{{ask}, effect}};\n\
             pub fn bare(ask: {ask}) {{\n\
             let mut permit = effect::{hand_over}(any());\n\
             permit = Box::new(ask);\n\
             }}\n"
        ));
        assert_eq!(codes, ["E0277"], "{said}");
    }
}

#[test]
fn every_effect_takes_a_permit_and_has_a_call() {
    let mut faults = Vec::new();
    for capability in Capability::ALL {
        let folder = folder(capability.as_str());
        let calls = read(&folder.join("permits.rs"));
        let effects = syn::parse_file(&read(&folder.join("effect.rs"))).expect("it is Rust");
        for item in effects.items {
            let syn::Item::Fn(function) = item else { continue };
            if !matches!(function.vis, syn::Visibility::Public(_)) {
                continue;
            }
            let name = function.sig.ident.to_string();
            let takes_permit = function.sig.inputs.iter().any(|input| {
                let syn::FnArg::Typed(input) = input else { return false };
                matches!(&*input.ty, syn::Type::Path(path)
                    if path.path.segments.last().is_some_and(|last| last.ident == "Permit"))
            });
            if !takes_permit {
                faults
                    .push(format!("`{capability}`: the effect `{name}` takes no permit by value"));
            }
            if !calls.contains(&format!("effect::{name}(")) {
                faults.push(format!("`{capability}`: permits.rs does not call `{name}`"));
            }
        }
    }
    assert!(faults.is_empty(), "\n  {}", faults.join("\n  "));
}
