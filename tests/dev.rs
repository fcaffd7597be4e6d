//! Tests of `portcullis dev`, with builds that copy a test plugin.
#![cfg(unix)]

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::guests::guests;
use crate::support::home::Home;
use crate::support::http;
use crate::support::process::Process;

/// Writes the build of a project, which copies a test plugin as `mine`.
fn build_of(project: &Path, plugin: &str) {
    let component = guests().component(plugin);
    let script = format!("cp '{}' mine.wasm\n", component.display());
    fs::write(project.join("build.sh"), script).expect("a home can be written");
}

/// A home whose folder for files is a project with a case.
fn project(plugin: &str, case: &str) -> Home {
    let home = Home::new();
    build_of(&home.files(), plugin);
    let cases = home.files().join("cases");
    fs::create_dir(&cases).expect("a home can be written");
    fs::write(cases.join("says-it-back.toml"), case).expect("a home can be written");
    home
}

const CASE: &str = "tool = \"echo\"\narguments = { text = \"a\" }\n[expect]\ntext = \"a\"\n";

fn tools(address: SocketAddr) -> String {
    http::modern(address, "tools/list", json!({})).text()
}

/// Starts `portcullis dev`, and waits until it serves. Returns the process and its address.
fn developed(home: &Home) -> (Process, SocketAddr) {
    let process = Process::start(&mut home.command(&["dev", "files"]));
    let said = process.hear("/mcp\n");
    let address = said.split_once("serving at http://").and_then(|(_, rest)| rest.split_once('/'));
    let address = address.expect("an address").0.parse().expect("an address");
    (process, address)
}

#[test]
fn a_project_is_built_and_its_cases_run_once() {
    let home = project("echo", CASE);
    let ran = home.run(&["dev", "files", "--once"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("building: sh build.sh"), "{ran:?}");
    assert!(ran.stdout.contains("1 passed, 0 failed"), "{ran:?}");
    let wrong = CASE.replace("text = \"a\"\n", "text = \"b\"\n");
    fs::write(home.files().join("cases/says-it-back.toml"), wrong).expect("it was written");
    let ran = home.run(&["dev", "files", "--once"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("0 passed, 1 failed"), "{ran:?}");
    fs::write(home.files().join("build.sh"), "echo not today; exit 3\n").expect("it was written");
    let ran = home.run(&["dev", "files", "--once"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains("not today") && ran.stderr.contains("the build has failed"),
        "{ran:?}"
    );
    assert_eq!(home.audit(), [] as [Value; 0]);
}

#[test]
fn a_folder_that_is_no_project_is_refused_with_the_remedy() {
    let home = Home::new();
    let ran = home.run(&["dev", "files"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("add `--build 'COMMAND'`"), "{ran:?}");
    let named = home.run(&["dev", "files", "--once", "--build", "no-such-program a"]);
    assert_eq!(named.code, Some(2), "{named:?}");
    assert!(named.stderr.contains("starting `no-such-program a`"), "{named:?}");
}

#[test]
fn each_change_is_built_tested_and_served_and_a_failed_build_changes_nothing() {
    let home = project("echo", CASE);
    let (process, address) = developed(&home);
    assert!(tools(address).contains("\"echo\""), "{}", tools(address));
    fs::write(home.files().join("build.sh"), "exit 3\n").expect("it was written");
    process.hear("the build has failed");
    assert!(tools(address).contains("\"echo\""), "{}", tools(address));
    build_of(&home.files(), "greedy");
    let began = std::time::Instant::now();
    while !tools(address).contains("\"spin\"") {
        assert!(began.elapsed() < crate::support::PATIENCE, "{}", tools(address));
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    assert!(!tools(address).contains("\"echo\""), "{}", tools(address));
}

#[test]
fn a_component_with_another_name_takes_the_place_of_the_former_one() {
    let home = project("echo", CASE);
    let (_process, address) = developed(&home);
    let component = guests().component("greedy");
    let script = format!("cp '{}' other.wasm\n", component.display());
    fs::write(home.files().join("build.sh"), script).expect("it was written");
    let began = std::time::Instant::now();
    while !tools(address).contains("\"spin\"") {
        assert!(began.elapsed() < crate::support::PATIENCE, "{}", tools(address));
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    assert!(!tools(address).contains("\"echo\""), "{}", tools(address));
}

#[test]
fn what_is_denied_is_shown_with_the_lines_that_allow_it_which_take_effect_when_they_are_written() {
    let home = project("fetcher", CASE);
    fs::remove_dir_all(home.files().join("cases")).expect("it was made");
    // Nothing listens at these ports of this machine.
    let config = |hosts: &str| {
        format!(
            "[plugins.mine.settings]\nbase = \"http://127.0.0.1:9\"\nother = \"http://127.0.0.1:8\"\n\
             [plugins.mine.grants.http]\nhosts = [{hosts}]\nmethods = [\"GET\", \"POST\"]\n"
        )
    };
    home.configure(&config("\"http://127.0.0.1:9\""));
    let (process, address) = developed(&home);
    let call = json!({"name": "fetch", "arguments": {"url": "http://127.0.0.1:8/"}});
    let fetched = || http::modern(address, "tools/call", call.clone()).text();
    let denied = fetched();
    assert!(denied.contains("denied by the host"), "{denied}");
    let said = process.hear("[plugins.mine.grants.http]");
    assert!(said.contains("may not") && said.contains("to allow it"), "{said}");
    home.configure(&config("\"http://127.0.0.1:9\", \"http://127.0.0.1:8\""));
    let began = std::time::Instant::now();
    while fetched().contains("denied by the host") {
        assert!(began.elapsed() < crate::support::PATIENCE, "{}", fetched());
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    assert!(fetched().contains("refused"), "{}", fetched());
}
