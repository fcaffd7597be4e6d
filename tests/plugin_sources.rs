//! Tests of `plugin add`, `update`, `remove`, `search` and `publish`, with a registry on this machine.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::secured::Certificate;
use crate::support::PATIENCE;
use crate::support::guests::guests;
use crate::support::home::{Home, Ran};
use crate::support::process::Process;
use crate::support::registry::{Registry, Reply, sha256};

const CONFIG: &str = "# mine\n[host]\nbundled = false # none of them\n";

/// A home without plugins, whose cache has the compiled test plugins.
fn home() -> Home {
    let home = Home::with(&[], CONFIG);
    guests().remember(&home.path().join(".cache/portcullis"));
    home
}

fn component(name: &str) -> Vec<u8> {
    fs::read(guests().component(name)).expect("it was built")
}

fn file(name: &str) -> String {
    guests().component(name).to_str().expect("a path is UTF-8").to_owned()
}

fn installed(home: &Home, name: &str) -> PathBuf {
    home.plugins().join(format!("{name}.wasm"))
}

fn config(home: &Home) -> String {
    fs::read_to_string(home.config()).expect("it was written")
}

fn lock(home: &Home) -> String {
    let path = home.path().join(".local/state/portcullis/portcullis.lock");
    fs::read_to_string(path).unwrap_or_default()
}

/// The number of stored descriptions of approved components.
fn descriptions(home: &Home) -> usize {
    let folder = home.path().join(".local/state/portcullis/portcullis.lock.approved");
    let names =
        fs::read_dir(folder).expect("it is there").map(|entry| entry.expect("it").file_name());
    names.filter(|name| !name.as_encoded_bytes().starts_with(b".")).count()
}

/// Asserts the exit code, and that the output contains each of the texts.
fn check(ran: &Ran, code: i32, texts: &[&str]) {
    assert_eq!(ran.code, Some(code), "{ran:?}");
    let said = format!("{}{}", ran.stdout, ran.stderr);
    for text in texts {
        assert!(said.contains(text), "{text}: {ran:?}");
    }
}

#[test]
fn a_plugin_is_shown_and_installed_with_its_grants_only_with_consent() {
    let home = home();
    let file = file("keeper");
    let add = ["plugin", "add", &file, "--name", "notes", "--grant", "wanted"];
    let asked = home.run(&add);
    check(
        &asked,
        2,
        &["wants", "store", "+bytes = 1_000_000", "Install `notes`, and write", "--yes"],
    );
    assert!(!installed(&home, "notes").exists() && lock(&home).is_empty());
    assert_eq!(config(&home), CONFIG);
    check(&home.run(&[&add[..], &["--yes"]].concat()), 0, &["installed: "]);
    assert_eq!(fs::read(installed(&home, "notes")).expect("installed"), component("keeper"));
    assert!(config(&home).contains("[plugins.notes.grants.store]"), "{}", config(&home));
    let all: toml::Table = lock(&home).parse().expect("TOML");
    let digest = sha256(&component("keeper")).replace("sha256:", "");
    assert_eq!(all["plugins"]["notes"].as_str(), Some(&*digest));
    assert_eq!(all["provenances"]["notes"]["source"].as_str(), Some(&*file));
    let approvals = home.audit_with_approvals();
    assert!(
        approvals.iter().any(|one| one["event"] == "approval" && one["plugin"] == "notes"),
        "{approvals:?}"
    );
    check(&home.run(&["plugin", "list", "--locked"]), 0, &["notes", "loaded"]);
}

#[test]
fn add_refuses_names_that_are_taken_or_invalid() {
    let home = Home::with(&["echo"], "");
    let list = home.run(&["plugin", "list", "--json"]);
    let list: Value = serde_json::from_str(&list.stdout).expect("JSON");
    let bundled = list["plugins"][0]["name"].as_str().expect("a bundled plugin").to_owned();
    let file = file("keeper");
    for (name, expected) in
        [("echo", "already"), (&*bundled, "already, in the binary"), ("a.b", "cannot be the name")]
    {
        check(&home.run(&["plugin", "add", &file, "--name", name, "--yes"]), 2, &[expected]);
    }
    assert_eq!(fs::read(installed(&home, "echo")).expect("installed"), component("echo"));
    let text = home.file("text.wasm");
    fs::write(&text, "text").expect("a home");
    check(&home.run(&["plugin", "add", &text, "--yes"]), 2, &["not a WebAssembly file"]);
    // Grants that the configuration has already are shown before they take effect.
    home.configure("[plugins.late.grants.store]\nbytes = 5000\n");
    let late = home.run(&["plugin", "add", &file, "--name", "late"]);
    check(&late, 2, &["warning", "already has [plugins.late]", "keep up to 5000 bytes"]);
    let wrong =
        home.run(&["plugin", "add", &file, "--name", "other", "--grant", "network=all", "--yes"]);
    check(&wrong, 2, &["there is no capability `network`"]);
    assert!(!installed(&home, "other").exists());
}

#[test]
fn a_plugin_comes_from_a_registry_with_tls_and_a_login_and_a_moved_tag_is_held_back() {
    let mut home = home();
    let certificate = Certificate::new(home.path());
    let registry = Registry::start(Some(certificate.server()));
    registry.component("org/echo", "1", &component("echo"));
    registry.state().login = Some(("me".into(), "secret".into()));
    let reference = registry.reference("org/echo:1");
    let add = ["plugin", "add", &reference, "--yes"];
    home.set("SSL_CERT_FILE", &Certificate::new(&home.files()).cert);
    let told = ["fetching oci://localhost", "certificate cannot be trusted", "SSL_CERT_FILE"];
    check(&home.run(&add), 2, &told);
    home.set("SSL_CERT_FILE", &certificate.cert);
    check(&home.run(&add), 2, &["without a login", "docker login"]);
    home.set("PORTCULLIS_REGISTRY", &registry.host());
    home.set("PORTCULLIS_REGISTRY_USER", "me");
    home.set("PORTCULLIS_REGISTRY_PASSWORD", "secret");
    check(&home.run(&add), 0, &["installed: ", "not verified"]);
    check(&home.run(&["plugin", "update"]), 0, &["up to date"]);
    let call = ["call", "echo", "{\"text\": \"hello\"}"];
    let before = home.run(&call);
    assert_eq!(before.code, Some(0), "{before:?}");
    // The tag is moved to a component that wants more.
    let moved = registry.component("org/echo", "1", &component("keeper"));
    let news = home.run(&["plugin", "update", "echo", "--check"]);
    check(&news, 1, &[&moved, "wants", "store", "held back"]);
    check(&home.run(&["plugin", "update", "echo"]), 2, &["Replace `echo`", "--yes"]);
    assert_eq!(fs::read(installed(&home, "echo")).expect("installed"), component("echo"));
    assert_eq!(home.run(&call).stdout, before.stdout, "the old one still serves");
    check(&home.run(&["plugin", "update", "echo", "--yes"]), 0, &["updated: `echo`"]);
    assert_eq!(fs::read(installed(&home, "echo")).expect("installed"), component("keeper"));
    assert!(lock(&home).contains(&moved), "{}", lock(&home));
    check(&home.run(&["plugin", "diff", "echo"]), 0, &["changes  none"]);
    let mut listed = home.run(&["plugin", "search", &registry.reference("org/echo")]);
    check(&listed, 0, &["org/echo:1"]);
    listed = home.run(&["plugin", "search", &registry.reference(""), "echo", "--json"]);
    check(&listed, 0, &["\"org/echo\"", "repositories"]);
    registry.state().faults.insert("/v2/_catalog".into(), Reply::new(404, ""));
    check(
        &home.run(&["plugin", "search", &registry.reference("")]),
        1,
        &["does not list its repositories"],
    );
}

#[test]
fn remarks_of_an_installation_are_those_that_hold_with_its_grants() {
    let home = home();
    let file = file("stranger");
    let add = ["plugin", "add", &file];
    let command = "run a command such as `portcullis plugin grant guest_stranger files=read:roots`";
    let unknown = "not known: it has no manifest";
    let without = home.run(&add);
    check(
        &without,
        2,
        &["`guest_stranger` imports `files`, which it is not granted", command, unknown],
    );
    let with = home.run(&[&add[..], &["--grant", "files=read:roots"]].concat());
    check(&with, 2, &["+[plugins.guest_stranger.grants.files]"]);
    assert!(!with.stdout.contains("which it is not granted"), "{with:?}");
    let added = home.run(&[&add[..], &["--grant", "files=read:roots", "--yes"]].concat());
    check(&added, 0, &["installed: ", "a running `portcullis serve` applies the change"]);
}

#[test]
fn what_is_no_source_and_what_lists_nothing_is_said() {
    let home = home();
    let missing = home.run(&["plugin", "add", "nothing"]);
    check(&missing, 2, &["there is no file ", "/nothing\n  hint: name a file, an address"]);
    let bare = home.run(&["plugin", "search", "localhost:5000/org"]);
    check(&bare, 2, &["`localhost:5000/org` names no registry: write oci:// before the host"]);
    let registry = Registry::start(None);
    registry.component("org/echo", "1", &component("echo"));
    let none = home.run(&["plugin", "search", &registry.reference(""), "weather"]);
    check(&none, 1, &["has no matching repositories"]);
}

#[test]
fn a_system_without_certificates_reaches_registries_without_tls() {
    let mut home = home();
    let empty = home.files().join("empty.pem");
    fs::write(&empty, "").expect("an empty file");
    home.set("SSL_CERT_FILE", empty.to_str().expect("a path is UTF-8"));
    let registry = Registry::start(None);
    registry.component("org/echo", "1", &component("echo"));
    let reference = registry.reference("org/echo:1");
    let added = home.run(&["plugin", "add", &reference, "--yes"]);
    check(&added, 0, &["installed: ", "the package `ca-certificates`", "SSL_CERT_FILE"]);
    let certificate = Certificate::new(home.path());
    let registry = Registry::start(Some(certificate.server()));
    let reference = registry.reference("org/echo:1");
    let refused = home.run(&["plugin", "add", &reference, "--name", "b", "--yes"]);
    check(&refused, 2, &["certificate cannot be trusted", "the package `ca-certificates`"]);
}

#[test]
fn pinned_and_copied_plugins_are_updated_only_from_a_named_source() {
    let home = home();
    let registry = Registry::start(None);
    let digest = registry.component("echo", "1", &component("echo"));
    let pinned = registry.reference(&format!("echo@{digest}"));
    check(&home.run(&["plugin", "add", &pinned, "--yes"]), 0, &["installed: "]);
    registry.component("echo", "1", &component("keeper"));
    check(&home.run(&["plugin", "update", "echo", "--yes"]), 0, &["is pinned to a digest"]);
    home.install("snoop");
    check(&home.run(&["plugin", "update", "snoop"]), 2, &["was copied", "--from SOURCE"]);
    let tag = registry.reference("echo:1");
    let from = home.run(&["plugin", "update", "echo", "--from", &tag, "--yes"]);
    check(&from, 0, &["updated: ", &format!("from now on from {tag}")]);
    check(&home.run(&["plugin", "update"]), 0, &["echo", "up to date"]);
    let same = home.run(&["plugin", "update", "echo", "--from", &tag, "--yes"]);
    check(&same, 0, &["changes  none\n"]);
}

#[test]
fn a_removed_plugin_leaves_only_what_the_options_keep() {
    let home = home();
    let file = file("keeper");
    let add = ["plugin", "add", &file, "--name", "keeper", "--grant", "wanted", "--yes"];
    check(&home.run(&add), 0, &["installed: "]);
    let store = home.path().join(".local/share/portcullis/store/keeper");
    fs::create_dir_all(&store).expect("a home");
    let asked = home.run(&["plugin", "remove", "keeper"]);
    check(&asked, 2, &["-[plugins.keeper.grants.store]", "Remove the plugin `keeper`?", "stays: "]);
    assert!(installed(&home, "keeper").exists());
    check(&home.run(&["plugin", "remove", "keeper", "--keep-grants", "--yes"]), 0, &["removed: "]);
    assert!(!installed(&home, "keeper").exists() && store.exists());
    assert!(config(&home).contains("[plugins.keeper"));
    assert!(!lock(&home).contains("keeper"), "{}", lock(&home));
    assert_eq!(descriptions(&home), 0);
    check(&home.run(&add), 0, &["installed: "]);
    assert_eq!(descriptions(&home), 1);
    check(&home.run(&["plugin", "remove", "keeper", "--data", "--yes"]), 0, &["removed: "]);
    assert_eq!(config(&home), CONFIG);
    assert!(!installed(&home, "keeper").exists() && !store.exists());
    check(&home.run(&["plugin", "remove", "keeper", "--yes"]), 2, &["there is no plugin `keeper`"]);
}

#[test]
fn a_killed_command_leaves_no_incomplete_plugin() {
    let home = home();
    let registry = Registry::start(None);
    let bytes = component("keeper");
    registry.component("keeper", "1", &bytes);
    let reference = registry.reference("keeper:1");
    let add = ["plugin", "add", &reference, "--grant", "wanted", "--yes"];
    // The registry sends a part, and then nothing.
    let blob = format!("/v2/keeper/blobs/{}", sha256(&bytes));
    let stalled =
        Reply { length: Some(bytes.len()), hangs: true, ..Reply::new(200, &bytes[..1000]) };
    registry.state().faults.insert(blob.clone(), stalled);
    let process = Process::start(&mut home.command(&add));
    let is_asked = || registry.asked().iter().any(|line| line.contains(&blob));
    let begun = Instant::now();
    while !is_asked() && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(is_asked(), "{}", process.stderr());
    process.kill();
    assert_eq!(fs::read_dir(home.plugins()).expect("a folder").count(), 0);
    assert!(lock(&home).is_empty() && config(&home) == CONFIG);
    registry.state().faults.clear();
    // Whenever the command is killed, the plugin is installed completely or not at all, and its grants are written last.
    let whole = home.run(&add);
    check(&whole, 0, &["installed: "]);
    for step in 0..12 {
        check(&home.run(&["plugin", "remove", "keeper", "--yes"]), 0, &["removed: "]);
        let process = Process::start(&mut home.command(&add));
        std::thread::sleep(Duration::from_millis(40 * step));
        process.kill();
        let there = installed(&home, "keeper");
        if there.exists() {
            assert_eq!(fs::read(&there).expect("whole"), bytes, "step {step}");
            assert!(lock(&home).contains("provenances.keeper"), "step {step}: {}", lock(&home));
        } else {
            assert_eq!(config(&home), CONFIG, "step {step}");
            check(&home.run(&add), 0, &["installed: "]);
        }
        check(&home.run(&["plugin", "grant", "keeper", "wanted", "--yes"]), 0, &[]);
        check(&home.run(&["plugin", "list"]), 0, &["keeper", "loaded"]);
    }
}

#[test]
fn a_component_is_published_only_after_it_was_shown() {
    let home = home();
    let registry = Registry::start(None);
    let (file, to) = (file("echo"), registry.reference("org/echo:0.1.0"));
    let publish = ["plugin", "publish", &file, &to];
    let shown = home.run(&[&publish[..], &["--dry-run"]].concat());
    check(&shown, 0, &["application/vnd.wasm.config.v0+json", "image.version", "--dry-run"]);
    assert_eq!(registry.asked(), Vec::<String>::new());
    check(&home.run(&publish), 2, &["Publish as", "--yes"]);
    assert!(registry.state().blobs.is_empty());
    let published = home.run(&[&publish[..], &["--yes"]].concat());
    check(&published, 0, &["published: "]);
    check(&home.run(&publish), 0, &["already names this artifact"]);
    let again = home.run(&[&publish[..], &["--annotation", "a=b"]].concat());
    check(&again, 2, &["now names another artifact", "will be moved"]);
    let pinned = published.stdout.lines().last().and_then(|line| line.split(' ').next_back());
    check(
        &home.run(&["plugin", "add", pinned.expect("a reference"), "--yes"]),
        0,
        &["installed: "],
    );
    assert_eq!(fs::read(installed(&home, "echo")).expect("installed"), component("echo"));
}

#[test]
fn a_signature_that_the_configuration_requires_is_required() {
    let home = home();
    let registry = Registry::start(None);
    let digest = registry.component("org/echo", "1", &component("echo"));
    let signer = crate::support::registry::Signer::new();
    let key = home.file("cosign.pub");
    fs::write(&key, signer.public_pem()).expect("a home");
    home.configure(&format!(
        "{CONFIG}[plugin-sources.\"{}/org/*\"]\nkey = {key:?}\n",
        registry.host()
    ));
    let reference = registry.reference("org/echo:1");
    let add = ["plugin", "add", &reference, "--yes"];
    check(&home.run(&add), 2, &["does not meet", "is not signed"]);
    assert!(!installed(&home, "echo").exists());
    signer.sign_with_tag(&registry, "org/echo", &digest, &digest);
    check(&home.run(&add), 0, &["installed: ", "signed", &key]);
    assert!(lock(&home).contains("verified = "), "{}", lock(&home));
    for (table, expected) in [
        ("[plugin-sources.\"ghcr.io/o*\"]\n", "write HOST/PATH"),
        ("[plugin-sources.\"*\"]\nbuilder = \"b\"\n", "write `key`, too"),
        ("[plugin-sources.\"*\"]\nkey = \"cosign.pub\"\n", "not an absolute path"),
        ("[plugin-sources.\"*\"]\nkeyless = true\n", "keyless"),
    ] {
        home.configure(table);
        check(&home.run(&["plugin", "list"]), 2, &[expected]);
    }
}
