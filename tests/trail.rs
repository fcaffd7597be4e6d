//! Tests of `portcullis trail`: it shows records, follows new ones, and finds tampering.

use std::fs;

use serde_json::{Value, json};

use crate::support::client::{Client, Era};
use crate::support::home::Home;
use crate::support::process::Process;

const CONFIG: &str = "[host]\nbundled = false\n[plugins.echo]\n[plugins.snoop]\n\
                      [plugins.snoop.grants.files]\naccess = \"read\"\n";

/// A home with three calls in its audit: one that reads a file, one that may not read its file, and one of another
/// plugin.
fn home() -> Home {
    let home = Home::with(&["echo", "snoop"], CONFIG);
    fs::write(home.files().join("a.txt"), "a").expect("a home");
    let inside = json!({"file": home.file("a.txt"), "others": [], "way": "read"}).to_string();
    let outside = json!({"file": "/etc/passwd", "others": [], "way": "read"}).to_string();
    let root = home.files();
    let root = root.to_str().expect("a path is UTF-8");
    home.run(&["--root", root, "call", "look_at_file", &inside]);
    home.run(&["--root", root, "call", "look_at_file", &outside]);
    home.run(&["call", "echo", r#"{"text":"hello"}"#]);
    home
}

fn lines(home: &Home, arguments: &[&str]) -> Vec<String> {
    let ran = home.run(&[&["trail"], arguments].concat());
    assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
    ran.stdout.lines().map(ToOwned::to_owned).collect()
}

fn count(home: &Home, arguments: &[&str]) -> usize {
    lines(home, arguments).len()
}

#[test]
fn records_are_selected() {
    let home = home();
    let all = lines(&home, &[]);
    assert!(
        all.iter().any(|line| line.contains("echo") && line.contains("call echo: done")),
        "{all:#?}"
    );
    assert!(all.iter().any(|line| line.contains("approved sha256:")), "{all:#?}");
    let denied = lines(&home, &["--denied"]);
    assert!(denied.iter().all(|line| line.contains("denied")), "{denied:#?}");
    assert!(denied[0].contains("files read /etc/passwd -> outside"), "{denied:#?}");
    assert!(count(&home, &["--plugin", "echo"]) >= 2);
    assert_eq!(count(&home, &["--plugin", "nobody"]), 0);
    assert_eq!(count(&home, &["--tool", "echo"]), 1);
    assert_eq!(count(&home, &["--capability", "http"]), 0);
    assert_eq!(count(&home, &["--host", "a.example"]), 0);
    assert_eq!(count(&home, &["--since", "1h"]), all.len());
    assert_eq!(count(&home, &["--until", "1h"]), 0);
    assert_eq!(count(&home, &["--since", "2020-01-01", "--until", "2021-01-01"]), 0);

    let ran = home.run(&["trail", "--limit", "1"]);
    assert_eq!(ran.stdout.lines().count(), 1, "{ran:?}");
    assert!(ran.stderr.contains(&format!("{} older records", all.len() - 1)), "{ran:?}");
    let wrong = home.run(&["trail", "--since", "yesterday"]);
    assert!(wrong.code == Some(2) && wrong.stderr.contains("12h, 7d"), "{wrong:?}");
    let wrong = home.run(&["trail", "--summary", "--denied"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");

    let json = lines(&home, &["--json", "--denied"]);
    let record: Value = serde_json::from_str(&json[0]).expect("a line is JSON");
    assert_eq!(record["subject"], "read /etc/passwd");
}

#[test]
fn a_summary_has_counts_and_denials() {
    let home = home();
    let text = lines(&home, &["--summary"]).join("\n");
    assert!(text.contains("calls: 2, asks: ") && text.contains("refused asks: 1"), "{text}");
    assert!(text.contains("denied   files read /etc/passwd"), "{text}");
    let text = lines(&home, &["--summary", "--json", "--plugin", "echo"]).join("\n");
    let summary: Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!(summary["sources"]["echo"]["calls"], 1, "{summary}");
    assert!(summary["sources"].get("snoop").is_none(), "{summary}");
}

#[test]
fn new_records_are_followed() {
    let home = home();
    let mut follower =
        Process::start(&mut home.command(&["trail", "--follow", "--tool", "echo", "--json"]));
    let mut heard = Vec::new();
    let mut next = || {
        let line = follower.line().expect("a record");
        heard.push(serde_json::from_str::<Value>(&line).expect("a line is JSON"));
        heard.len()
    };
    assert_eq!(next(), 1, "what was there");
    // Records come from a process that keeps running, and from two that end.
    let mut client = Client::start(&home, Era::Modern);
    client.text("echo", json!({"text": "one"}));
    assert_eq!(next(), 2);
    for _ in 0..2 {
        home.run(&["call", "echo", r#"{"text":"two"}"#]);
    }
    assert_eq!((next(), next()), (3, 4));
    client.text("echo", json!({"text": "three"}));
    assert_eq!(next(), 5);
    let ids: std::collections::BTreeSet<_> =
        heard.iter().map(|record| record["request"].to_string()).collect();
    assert_eq!(ids.len(), 5, "each record once");
    follower.kill();
}

#[test]
fn tampering_is_found_and_named() {
    let home = home();
    let whole = home.run(&["trail", "verify"]);
    assert_eq!(whole.code, Some(0), "{whole:?}");
    assert!(whole.stdout.contains("no sign of tampering"), "{whole:?}");
    assert!(whole.stdout.contains("Not proven"), "{whole:?}");
    let facts: Value =
        serde_json::from_str(&home.run(&["trail", "verify", "--json"]).stdout).expect("it is JSON");
    let digest = facts["digest"].as_str().expect("there is an index").to_owned();
    home.run(&["call", "echo", r#"{"text":"more"}"#]);
    assert_eq!(home.run(&["trail", "verify", "--last", &digest]).code, Some(0));
    let other = home.run(&["trail", "verify", "--last", &"0".repeat(64)]);
    assert!(other.code == Some(1) && other.stdout.contains("was replaced"), "{other:?}");

    let segment = fs::read_dir(home.audit_folder())
        .expect("it is there")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.to_string_lossy().contains("Z-"))
        .min()
        .expect("a segment");
    let text = fs::read_to_string(&segment).expect("it is text");
    let kept: Vec<_> = text.split_inclusive('\n').enumerate().filter(|(at, _)| *at != 1).collect();
    fs::write(&segment, kept.into_iter().map(|(_, line)| line).collect::<String>())
        .expect("a home");
    let name = segment.file_name().expect("a name").to_string_lossy().into_owned();
    let found = home.run(&["trail", "verify"]);
    assert_eq!(found.code, Some(1), "{found:?}");
    assert!(found.stdout.contains(&format!("{name}, line 2: line number 2")), "{found:?}");
    let checked = home.run(&["check"]);
    assert!(checked.stdout.contains("shows signs of tampering"), "{checked:?}");
    assert_eq!(checked.code, Some(1), "{checked:?}");
    let facts: Value =
        serde_json::from_str(&home.run(&["trail", "verify", "--json"]).stdout).expect("it is JSON");
    assert_eq!(facts["isWhole"], false, "{facts}");
    assert_eq!(
        (&facts["faults"][0]["file"], &facts["faults"][0]["line"]),
        (&json!(name), &json!(2))
    );
}

#[test]
fn an_audit_without_its_segments_is_not_taken_for_a_new_one() {
    let new = Home::new();
    assert_eq!(new.run(&["check"]).code, Some(0), "nothing was recorded yet");
    let home = home();
    for entry in fs::read_dir(home.audit_folder()).expect("it is there") {
        let path = entry.expect("an entry").path();
        if path.to_string_lossy().contains("Z-") {
            fs::remove_file(path).expect("it can be removed");
        }
    }
    let checked = home.run(&["check"]);
    assert_eq!(checked.code, Some(1), "{checked:?}");
    assert!(checked.stdout.contains("shows signs of tampering"), "{checked:?}");
}

#[test]
fn the_audit_keeps_to_the_size_that_the_operator_set() {
    let config = "[host]\nbundled = false\naudit-bytes = 40000\naudit-days = 30\n[plugins.echo]\n";
    let home = Home::with(&["echo"], config);
    let mut client = Client::start(&home, Era::Modern);
    for _ in 0..300 {
        client.text("echo", json!({"text": "x"}));
    }
    client.end();
    let size: u64 = fs::read_dir(home.audit_folder())
        .expect("it is there")
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| entry.file_name().to_string_lossy().contains("Z-"))
        .map(|entry| entry.metadata().expect("it is there").len())
        .sum();
    assert!(size < 60_000, "{size}");
    let text = lines(&home, &["--summary"]).join("\n");
    assert!(text.contains("calls: 300,"), "{text}");
    assert!(text.contains("deleted for space or age: "), "{text}");
    assert_eq!(home.run(&["trail", "verify"]).code, Some(0));
}
