//! Tests of `portcullis report`: it says what plugins and servers can do and did, as text, HTML, JSON and SARIF.

use std::fs;

use serde_json::{Value, json};

use crate::support::guests::guests;
use crate::support::home::Home;

const CONFIG: &str = "[host]\nbundled = false\n[plugins.echo]\n[plugins.echo.grants.files]\n\
                      access = \"read\"\n[plugins.snoop]\n[plugins.snoop.grants.files]\naccess = \"read\"\n\
                      [plugins.fetcher]\n";

#[test]
fn a_report_has_what_plugins_can_do_and_did() {
    let home = Home::with(&["echo", "snoop", "fetcher"], CONFIG);
    let root = home.files().to_str().expect("a path is UTF-8").to_owned();
    let outside = json!({"file": "/etc/passwd", "others": [], "way": "read"}).to_string();
    home.run(&["--root", &root, "call", "look_at_file", &outside]);
    home.run(&["--root", &root, "call", "echo", r#"{"text":"hello"}"#]);

    let ran = home.run(&["--root", &root, "report", "--format", "json"]);
    let all: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
    let plugin = |name: &str| {
        let plugins = all["plugins"].as_array().expect("a list");
        plugins.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("{name}: {all}"))
    };
    let snoop = plugin("snoop");
    assert_eq!(snoop["state"], "loaded");
    assert_eq!(snoop["approval"]["reason"], "first use");
    let files = &snoop["capabilities"][0];
    assert_eq!(files["name"], "files");
    assert!(files["imports"].to_string().contains("open-at"), "{files}");
    assert_eq!(files["wants"][0]["reason"], "to read the paths in the arguments of its tools");
    assert_eq!(files["targets"], json!(["read the paths a call names"]));
    assert_eq!(files["used"]["denials"], json!(["read /etc/passwd"]));
    assert_eq!(plugin("fetcher")["state"], "refused");
    assert!(plugin("echo")["cannot"].to_string().contains("use `http`"), "{all}");
    let findings = all["findings"].as_array().expect("a list");
    let has = |rule: &str, source: &str| {
        findings.iter().any(|one| one["rule"] == rule && one["source"] == source)
    };
    assert!(has("refused", "fetcher") && has("denied", "snoop"), "{findings:#?}");
    assert!(has("unwanted-grant", "echo") && has("first-use", "echo"), "{findings:#?}");
    assert_eq!(all["audit"]["faults"], json!([]));

    let page = home.file("report.html");
    let ran = home.run(&["report", "--out", &page]);
    assert!(ran.stdout.contains("errors, "), "{ran:?}");
    let page = fs::read_to_string(page).expect("it was written");
    assert!(page.starts_with("<!doctype html>") && page.contains("read /etc/passwd"), "{page}");
    let sarif = home.file("report.sarif");
    home.run(&["report", "--out", &sarif]);
    let sarif = fs::read_to_string(sarif).expect("it was written");
    let sarif: Value = serde_json::from_str(&sarif).expect("it is JSON");
    assert_eq!(sarif["version"], "2.1.0");
    let text = home.run(&["report"]).stdout;
    assert!(text.contains("portcullis trail --denied --plugin snoop"), "{text}");
}

#[test]
fn a_report_fails_on_the_rules_that_are_named() {
    let home = Home::with(&["echo"], CONFIG);
    let fails = |rules: &str| home.run(&["report", "--fail-on", rules]);
    assert_eq!(fails("changed,audit-faults").code, Some(0));
    let failed = fails("changed,unwanted-grant");
    assert!(failed.code == Some(1) && failed.stderr.contains("unwanted-grant: "), "{failed:?}");
    let wrong = fails("no-such-rule");
    assert!(wrong.code == Some(2) && wrong.stderr.contains("write+network"), "{wrong:?}");
    // A report that cannot be written fails with a message.
    let nowhere = home.run(&["report", "--out", "/no/such/folder/report.html"]);
    assert!(nowhere.code == Some(2) && nowhere.stderr.contains("/no/such/folder"), "{nowhere:?}");
}

#[test]
fn a_report_on_a_component_shows_what_it_could_do_before_it_is_installed() {
    let home = Home::with(&[], "[host]\nbundled = false\n");
    let file = guests().component("fetcher").to_str().expect("a path is UTF-8");
    let ran = home.run(&["report", file, "--format", "json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let all: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
    let plugins = all["plugins"].as_array().expect("a list");
    assert_eq!(plugins.len(), 1, "{all}");
    assert_eq!(plugins[0]["state"], "uninstalled");
    assert_eq!(plugins[0]["settings"], json!(["base", "other"]));
    let http = &plugins[0]["capabilities"][0];
    assert_eq!((&http["name"], &http["granted"]), (&json!("http"), &Value::Null));
    assert!(http["imports"].to_string().contains("outgoing-request"), "{http}");
    assert!(http["wants"].to_string().contains("to ask there too"), "{http}");
    assert_eq!(plugins[0]["tools"][0]["name"], "fetch");
    assert!(plugins[0]["cannot"].to_string().contains("use `files`"), "{all}");

    let page = home.file("fetcher.html");
    home.run(&["report", file, "--out", &page]);
    let page = fs::read_to_string(page).expect("it was written");
    assert!(page.contains("not installed") && page.contains("to ask there too"), "{page}");
    assert!(page.contains("nothing is granted yet"), "{page}");
    // Nothing was approved or installed.
    assert!(!home.run(&["plugin", "list"]).stdout.contains("fetcher"));
    let ran = home.run(&["report", "fetcher"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("is neither a path"), "{ran:?}");
}
