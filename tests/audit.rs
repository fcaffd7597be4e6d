//! The audit of the built host: no acknowledged record is lost by a flood of asks, by killing the host or by many
//! processes.

use serde_json::json;

use crate::support::client::{Client, Era, text_of};
use crate::support::home::Home;

const ECHO: &str = "[host]\nbundled = false\n[plugins.echo]\n";

const SNOOP: &str = "roots = [\"$FILES\"]\n[host]\nbundled = false\n\
                     [plugins.snoop.grants.files]\naccess = \"read\"\n";

/// The number of calls in the audit.
fn calls(home: &Home) -> usize {
    home.audit().iter().filter(|record| record["event"] == "call").count()
}

/// The numbers that `portcullis audit` shows for a plugin: calls, allowed asks and denied asks.
fn counted(home: &Home, plugin: &str) -> (u64, u64, u64) {
    let ran = home.run(&["audit", plugin, "--json"]);
    let whole: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let used = &whole["plugins"][0]["use"];
    let number = |key: &str| used[key].as_u64().unwrap_or_else(|| panic!("{key}: {used}"));
    (number("calls"), number("allowed"), number("denied"))
}

#[test]
fn a_flood_of_asks_hides_no_denial() {
    const FLOOD: u64 = 30_000;
    let home = Home::with(&["snoop"], SNOOP);
    std::fs::create_dir(home.files().join("root")).expect("a home can be written");
    let mut client = Client::start(&home, Era::Modern);
    let look =
        |file: &str, others: Vec<&str>| json!({"directory": file, "others": others, "way": "read"});
    client.call("look_into", look("/etc", vec![""]));
    for _ in 0..3 {
        let missing = vec!["missing"; usize::try_from(FLOOD / 3).expect("it fits")];
        let reply = client.call("look_into", look(&home.file("root"), missing));
        assert_eq!(text_of(&reply).lines().count() as u64, FLOOD / 3);
    }
    assert_eq!(client.end().code, Some(0));
    // Each call also has an ask for the directory that its argument names.
    assert_eq!(counted(&home, "snoop"), (4, FLOOD + 3, 1));
    assert!(home.run(&["audit", "snoop"]).stdout.contains("read /etc"));
    let size: u64 = std::fs::read_dir(home.audit_folder())
        .expect("it is there")
        .map(|entry| entry.expect("an entry").metadata().expect("a file").len())
        .sum();
    assert!(size < 4 * 1024 * 1024, "{size} bytes");
    let audit = home.audit();
    assert!(audit.iter().all(|one| one["subject"] != "read /etc" || one["verdict"] == "denied"));
}

#[test]
fn twenty_processes_at_once_record_each_call() {
    let home = Home::with(&["echo"], ECHO);
    home.run(&["call", "echo", r#"{"text":"first"}"#]);
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                let ran = home.run(&["call", "echo", r#"{"text":"hello"}"#]);
                assert_eq!(ran.code, Some(0), "{ran:?}");
            });
        }
    });
    assert_eq!(calls(&home), 21);
}

#[test]
fn many_short_processes_leave_few_files() {
    let home = Home::with(&["echo"], ECHO);
    for _ in 0..70 {
        let ran = home.run(&["call", "echo", r#"{"text":"hello"}"#]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    assert_eq!(calls(&home), 70);
    let files = std::fs::read_dir(home.audit_folder()).expect("it is there").count();
    assert!(files < 70, "{files} files");
}

#[test]
fn a_server_that_is_killed_has_recorded_what_it_answered() {
    let home = Home::with(&["echo"], ECHO);
    let mut answered = 0;
    for round in 0..5 {
        let mut client = Client::start(&home, Era::Legacy);
        for n in 0..=round * 3 {
            let text = format!("{n}");
            assert_eq!(client.text("echo", json!({"text": text})), text);
            answered += 1;
        }
        client.into_process().kill();
        assert!(calls(&home) >= answered);
    }
}

#[test]
fn a_retired_key_is_refused_with_the_key_to_write_instead() {
    let config = "[host]\nbundled = false\naudit-file = \"/var/log/portcullis/audit.jsonl\"\n";
    let home = Home::with(&["echo"], config);
    let ran = home.run(&["tools"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("audit-dir = \"/var/log/portcullis/audit\""), "{ran:?}");
}

#[test]
fn an_audit_that_was_tampered_with_is_found() {
    let home = Home::with(&["echo"], ECHO);
    for _ in 0..2 {
        home.run(&["call", "echo", r#"{"text":"hello"}"#]);
    }
    let folder = home.audit_folder();
    let files =
        std::fs::read_dir(&folder).expect("it is there").map(|entry| entry.expect("it").path());
    let is_segment = |path: &std::path::PathBuf| path.to_string_lossy().contains("Z-");
    let segment = files.filter(is_segment).min().expect("a segment");
    let text = std::fs::read_to_string(&segment).expect("text");
    std::fs::write(&segment, text.replace("\"done\"", "\"none\"")).expect("it is ours");
    let report = portcullis_audit::verify(&folder).expect("it can be read");
    assert_eq!(report.faults.len(), 1, "{report:#?}");
    // The lines are the header, the approval at first use, the call, and the seal.
    assert_eq!(report.faults[0].line, Some(4), "{report:#?}");
    std::fs::remove_file(&segment).expect("it is ours");
    let report = portcullis_audit::verify(&folder).expect("it can be read");
    assert!(!report.is_whole(), "{report:#?}");
}
