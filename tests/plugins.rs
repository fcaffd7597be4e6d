//! Tests of the plugin folder: invalid files do not affect other plugins.

use std::fs::{self, File};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::support::client::{Client, Era};
use crate::support::guests::guests;
use crate::support::home::{Home, make_fifo};

const CONFIG: &str = "[host]\nbundled = false\n[plugins.echo]\n";

/// The plugins as `plugin list` lists them.
fn list(home: &Home) -> Vec<Value> {
    let ran = home.run(&["plugin", "list", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let list: Value = serde_json::from_str(&ran.stdout).expect("it is JSON");
    list["plugins"].as_array().expect("plugins").clone()
}

/// The reason why a plugin is refused.
fn refusal(list: &[Value], name: &str) -> String {
    let is_it = |plugin: &&Value| plugin["name"] == name && plugin["state"] == "refused";
    let plugin = list.iter().find(is_it);
    let plugin = plugin.unwrap_or_else(|| panic!("`{name}` is not refused: {list:#?}"));
    plugin["reason"].as_str().expect("a reason").to_owned()
}

fn assert_echo_works(home: &Home) {
    let ran = home.run(&["call", "echo", r#"{"text":"hello"}"#]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "hello\n"), "{ran:?}");
}

#[test]
fn files_that_are_not_components_are_refused_and_other_plugins_work() {
    let home = Home::with(&["echo"], CONFIG);
    let echo = fs::read(guests().component("echo")).expect("it was built");
    let component = [0, 0x61, 0x73, 0x6d, 0x0d, 0, 1, 0];
    let module = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
    let files: [(&str, &[u8]); 8] = [
        ("empty", b""),
        ("text", b"this is no WebAssembly\n"),
        ("script", b"#!/bin/sh\ntouch /tmp/pwned\n"),
        ("magic", &component[..4]),
        ("module", &module),
        ("half", &echo[..echo.len() / 2]),
        ("bare", &component),
        ("future", &[0, 0x61, 0x73, 0x6d, 0xff, 0, 1, 0]),
    ];
    for (name, bytes) in &files {
        fs::write(home.plugins().join(format!("{name}.wasm")), bytes).expect("a home");
    }
    let list = list(&home);
    for (name, _) in &files {
        let reason = refusal(&list, name);
        assert!(reason.len() > 20 && reason.len() < 1000, "{name}: {reason}");
        assert!(!reason.contains("panicked"), "{name}: {reason}");
    }
    assert_echo_works(&home);
    // `check` reports the refused files by name.
    let checked = home.run(&["check"]);
    assert_eq!(checked.code, Some(1), "{checked:?}");
    assert!(checked.stdout.contains("plugin `half` is refused"), "{checked:?}");
}

#[test]
fn components_with_a_few_wrong_bytes_do_not_crash_the_host() {
    let home = Home::with(&["echo"], CONFIG);
    let echo = fs::read(guests().component("echo")).expect("it was built");
    // The changed bytes are always the same, spread over the whole component.
    let mut seed = 0x2545_f491_u32;
    for n in 0..12 {
        let mut bytes = echo.clone();
        for _ in 0..=n {
            seed ^= seed << 13;
            seed ^= seed >> 17;
            seed ^= seed << 5;
            let at = 8 + seed as usize % (bytes.len() - 8);
            bytes[at] ^= (seed >> 24) as u8 | 1;
        }
        fs::write(home.plugins().join(format!("wrong{n}.wasm")), bytes).expect("a home");
    }
    let list = list(&home);
    assert_eq!(list.len(), 13, "each is loaded or refused: {list:#?}");
    assert_echo_works(&home);
}

#[test]
fn a_component_that_is_too_large_is_not_read() {
    let home = Home::with(&["echo"], CONFIG);
    let file = File::create(home.plugins().join("huge.wasm")).expect("a home");
    file.set_len(65 * 1024 * 1024).expect("a home");
    assert!(refusal(&list(&home), "huge").contains("67108864"));
    assert_echo_works(&home);
}

#[cfg(unix)]
#[test]
fn special_files_in_the_plugin_folder_delay_nothing() {
    let home = Home::with(&["echo"], CONFIG);
    let plugins = home.plugins();
    make_fifo(&plugins.join("fifo.wasm"));
    fs::create_dir(plugins.join("folder.wasm")).expect("a home");
    std::os::unix::fs::symlink("/nowhere", plugins.join("dangling.wasm")).expect("a home");
    std::os::unix::fs::symlink("/dev/zero", plugins.join("endless.wasm")).expect("a home");
    let list = list(&home);
    for name in ["fifo", "folder", "dangling", "endless"] {
        refusal(&list, name);
    }
    assert_echo_works(&home);
}

#[test]
fn names_that_a_configuration_cannot_have_are_refused() {
    let home = Home::with(&["echo"], CONFIG);
    let echo = guests().component("echo");
    for name in ["a b", "a.b", "a\"b", "\u{1b}[31mred", "中文", &"x".repeat(65)] {
        fs::copy(echo, home.plugins().join(format!("{name}.wasm"))).expect("a home");
    }
    let list = list(&home);
    assert_eq!(list.iter().filter(|plugin| plugin["state"] == "refused").count(), 6, "{list:#?}");
    assert!(refusal(&list, "a b").contains("rename the file"));
    let shown = home.run(&["plugin", "list"]);
    assert!(!shown.stdout.contains('\u{1b}'), "{shown:?}");
    assert!(!shown.stderr.contains('\u{1b}'), "{shown:?}");
    assert_echo_works(&home);
}

#[test]
fn a_second_tool_with_a_name_gets_its_plugins_name_as_a_prefix() {
    let home = Home::with(&["echo"], CONFIG);
    fs::copy(guests().component("echo"), home.plugins().join("other.wasm")).expect("a home");
    let tools = home.run(&["tools"]);
    for name in ["echo (echo)", "other_echo (other)"] {
        assert!(tools.stdout.contains(name), "{name}: {tools:?}");
    }
    let called = home.run(&["call", "other_echo", r#"{"text": "hello"}"#]);
    assert_eq!(called.stdout, "hello\n", "{called:?}");
    let checked = home.run(&["check"]);
    let remark = "the tool `echo` of `other` is called `other_echo`: `echo` has that name";
    assert!(checked.stdout.contains(remark), "{checked:?}");
}

#[test]
fn a_prefix_precedes_every_name_and_tools_can_be_turned_off() {
    let home = Home::with(&["echo"], CONFIG);
    home.configure(
        "[host]\nbundled = false\n[plugins.echo]\nprefix = \"my\"\n\
         tools-off = [\"fill\", \"nothing\"]\n",
    );
    let tools = home.run(&["tools"]);
    assert!(tools.stdout.contains("my_echo (echo)"), "{tools:?}");
    assert!(!tools.stdout.contains("fill"), "{tools:?}");
    let called = home.run(&["call", "my_fill", r#"{"bytes": 1}"#]);
    assert!(called.stderr.contains("unknown tool: my_fill"), "{called:?}");
    let checked = home.run(&["check"]);
    assert!(checked.stdout.contains("`tools-off` of `echo` names `nothing`"), "{checked:?}");
}

#[test]
fn two_plugins_with_one_name_are_not_confused() {
    let home = Home::with(&["echo"], CONFIG);
    let other = home.path().join("more-plugins");
    fs::create_dir(&other).expect("a home");
    fs::copy(guests().component("snoop"), other.join("echo.wasm")).expect("a home");
    let folders = format!(
        "[host]\nbundled = false\nplugin-dirs = [\"{}\", \"{}\"]\n[plugins.echo]\n",
        home.plugins().display(),
        other.display()
    );
    home.configure(&folders);
    let reason = refusal(&list(&home), "echo");
    assert!(reason.contains("another plugin has this name"), "{reason}");
    assert_echo_works(&home);
}

#[test]
fn a_missing_plugin_folder_is_reported() {
    let home = Home::with(&[], "[host]\nbundled = false\nplugin-dirs = [\"$HOME/nowhere\"]\n");
    let checked = home.run(&["check"]);
    assert!(checked.stdout.contains("nowhere"), "{checked:?}");
    // The default plugin folder need not exist.
    let home = Home::with(&[], "[host]\nbundled = false\n");
    let checked = home.run(&["check"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert!(!checked.stdout.contains("plugin folder"), "{checked:?}");
}

#[test]
fn listing_known_tools_compiles_and_runs_nothing() {
    let home = Home::with(&["echo"], CONFIG);
    let compiled = home.path().join(".cache/portcullis/compiled");
    fs::remove_dir_all(&compiled).expect("a home");
    let mut client = Client::start(&home, Era::Legacy);
    let id = client.request("tools/list", json!({}));
    assert_eq!(client.reply(id)["result"]["tools"][0]["name"], "echo");
    assert!(home.run(&["tools"]).stdout.contains("echo (echo)"));
    assert!(home.run(&["audit"]).stdout.contains("echo"));
    assert!(!compiled.exists(), "something was compiled");
    // A call compiles the component.
    assert_eq!(client.text("echo", json!({"text": "hello"})), "hello");
    assert!(compiled.exists());
}

#[test]
fn a_plugin_whose_file_changes_is_held_back_until_it_is_approved() {
    let home = Home::with(&["echo"], CONFIG);
    assert!(home.run(&["tools"]).stdout.contains("echo (echo)"));
    fs::copy(guests().component("plain"), home.plugins().join("echo.wasm")).expect("a home");
    let listed = home.run(&["plugin", "list"]);
    assert!(listed.stdout.contains("portcullis plugin approve echo"), "{listed:?}");
    assert_eq!(
        home.run(&["tools"]).stdout.trim(),
        "there are no tools: `portcullis plugin list` says why"
    );
    let approved = home.run(&["plugin", "approve", "echo", "--yes"]);
    assert!(approved.stdout.contains("approved: the plugin `echo`"), "{approved:?}");
    // The cached description of the earlier file is not used.
    let tools = home.run(&["tools"]);
    assert!(tools.stdout.contains("(echo)") && !tools.stdout.contains("echo (echo)"), "{tools:?}");
    // When the earlier file comes back, its approval is not used either.
    fs::copy(guests().component("echo"), home.plugins().join("echo.wasm")).expect("a home");
    assert!(home.run(&["plugin", "list"]).stdout.contains("has changed since it was approved"));
}

#[test]
fn with_follow_changes_a_changed_plugin_needs_no_approval() {
    let config = format!("[host]\nfollow-changes = true\n{}", CONFIG.replace("[host]\n", ""));
    let home = Home::with(&["echo"], &config);
    assert!(home.run(&["tools"]).stdout.contains("echo (echo)"));
    fs::copy(guests().component("plain"), home.plugins().join("echo.wasm")).expect("a home");
    let tools = home.run(&["tools"]);
    assert!(tools.stdout.contains("(echo)") && !tools.stdout.contains("echo (echo)"), "{tools:?}");
}

#[test]
fn nothing_is_approved_if_the_lock_file_cannot_be_read() {
    let home = Home::with(&["echo"], CONFIG);
    assert!(home.run(&["tools"]).stdout.contains("echo (echo)"));
    fs::write(home.path().join(".local/state/portcullis/portcullis.lock"), "nonsense")
        .expect("a home");
    let listed = home.run(&["plugin", "list"]);
    assert!(listed.stdout.contains("the approvals cannot be read"), "{listed:?}");
}

/// What `wasm-tools parse` and `wasm-tools strip --all` make of a component whose start function calls `get-directories`
/// of `wasi:filesystem/preopens`, and which exports `count: func() -> u32`: the number of directories that it got.
const ASKS_AT_ITS_START: &str = "\
    AGFzbQ0AAQAHEgFCAQQACmRlc2NyaXB0b3IDAQogAQAbd2FzaTpmaWxlc3lzdGVtL3R5cGVzQDAuMi4wBQAGDwEDAAAKZGVzY3JpcHRv\
    cgc8AUIHAgMCAQEEAApkZXNjcmlwdG9yAwAAAWkBAW8CAnMBcAMBQAAABAQAD2dldC1kaXJlY3RvcmllcwEFCiMBAB53YXNpOmZpbGVz\
    eXN0ZW0vcHJlb3BlbnNAMC4yLjAFAgFUAGFzbQEAAAABCQFgBH9/f38BfwMCAQAFAwEAAQYHAX8BQYAICwcUAgZtZW1vcnkCAAdyZWFs\
    bG9jAAAKFwEVACMAQQdqQXhxJAAjACMAIANqJAALAgQBAAAABisDAQABD2dldC1kaXJlY3RvcmllcwACAQAGbWVtb3J5AAABAAdyZWFs\
    bG9jCAkBAQAAAgMABAABVgBhc20BAAAAAQwDYAF/AGAAAGAAAX8CGQIEaG9zdARsaXN0AAABbQZtZW1vcnkCAAEDAwIBAgcJAQVjb3Vu\
    dAACCAEBChACBgBBCBAACwcAQQwoAgALAhgCAQEEbGlzdAABAAECBGhvc3QSAQFtEgAHBQFAAAB5BgsBAAABAgVjb3VudAgGAQAAAgAD\
    CwsBAAVjb3VudAEBAA==\
";

/// A component from Go asks for its directories once, before its functions are called.
#[test]
fn a_component_that_asks_for_directories_at_its_start_has_those_of_each_call() {
    let config = "[host]\nbundled = false\n[plugins.early.grants.files]\naccess = \"read\"\nscope = \"roots\"\n";
    let home = Home::with(&[], config);
    let bytes = BASE64_STANDARD.decode(ASKS_AT_ITS_START).expect("base64");
    fs::write(home.plugins().join("early.wasm"), bytes).expect("a home");
    let [one, other] = ["one", "other"].map(|name| {
        fs::create_dir(home.files().join(name)).expect("a home");
        home.file(name)
    });
    for (roots, expected) in [(vec![], "0"), (vec![&one], "1"), (vec![&one, &other], "2")] {
        let roots = roots.into_iter().flat_map(|root| ["--root", root.as_str()]);
        let arguments: Vec<_> = ["serve"].into_iter().chain(roots).collect();
        let mut client = Client::start_with(&home, &arguments, Era::Modern, json!({}));
        // The first call notices that the component asks, and no later call has an instance that was made before it.
        for _ in 0..3 {
            assert_eq!(client.text("count", json!({})), expected);
        }
    }
}
