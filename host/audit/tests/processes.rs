//! Tests with many processes at once, killed processes, and files that may not grow: acknowledged records are kept.

#![cfg(unix)]
#![allow(clippy::disallowed_methods, reason = "the test starts itself as other processes")]

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use portcullis_audit::{
    Audit, CallIdentity, Ending, Event, Limits, Trail, Verdict, read_records, verify,
};

/// The environment variable with the folder in which a child process records.
const FOLDER: &str = "PORTCULLIS_AUDIT_TEST_FOLDER";

/// The environment variable with the number of asks, the milliseconds between them and the size of a segment in bytes.
const WORK: &str = "PORTCULLIS_AUDIT_TEST_WORK";

fn limits(segment: u64) -> Limits {
    Limits { segment, total: 20 * segment, settle: Duration::from_secs(1), ..Limits::default() }
}

/// The child process: prints the subject of each ask after the ask was recorded or refused. It ends after its stdin has
/// ended.
#[test]
fn another_process() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let work = std::env::var(WORK).unwrap();
    let work: Vec<u64> = work.split(' ').map(|number| number.parse().unwrap()).collect();
    let audit = Audit::with(folder.into(), limits(work[2]));
    let pid = std::process::id();
    for n in 0..work[0] {
        let subject = CallIdentity {
            request: format!("{pid}-{n}"),
            plugin: "snoop".into(),
            digest: "d".repeat(64).into(),
            tool: "look".into(),
            principal: None,
        };
        let trail = Trail::new(audit.clone(), subject);
        let subject = format!("read /files/{pid}/{n}");
        let said = match trail.record_ask("files", &subject, Verdict::Allowed, Some("opened")) {
            Ok(_) => "recorded",
            Err(_) => "refused",
        };
        println!("\n{said} {subject}");
        std::thread::sleep(Duration::from_millis(work[1]));
    }
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    match audit.end() {
        Ok(()) => println!("\nended"),
        Err(error) => println!("\nnot sealed: {error}"),
    }
}

fn itself() -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "another_process", "--nocapture"]);
    command
}

fn start(mut command: Command, folder: &Path, asks: u64, pause: u64, segment: u64) -> Child {
    let work = format!("{asks} {pause} {segment}");
    command.env(FOLDER, folder).env(WORK, work);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command.spawn().unwrap()
}

/// The subjects that a process says were recorded.
fn acknowledged(text: &str) -> Vec<String> {
    text.lines().filter_map(|line| line.strip_prefix("recorded ")).map(str::to_owned).collect()
}

fn end(mut child: Child) -> String {
    let mut text = String::new();
    drop(child.stdin.take());
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    child.wait().unwrap();
    text
}

fn subjects(folder: &Path) -> Vec<String> {
    let mut subjects = Vec::new();
    read_records(folder, |record| {
        if let Event::Ask { subject, .. } = record.event {
            subjects.push(subject);
        }
    })
    .unwrap();
    subjects.sort_unstable();
    subjects
}

fn assert_whole(folder: &Path) {
    let report = verify(folder).unwrap();
    assert!(report.is_whole(), "{:#?}", report.faults);
}

#[test]
fn twenty_processes_at_once_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let all: Vec<_> =
        (0..20).map(|_| start(itself(), folder.path(), 200, 0, 16 * 1024 * 1024)).collect();
    let mut said: Vec<_> = all.into_iter().flat_map(|child| acknowledged(&end(child))).collect();
    said.sort_unstable();
    assert_eq!(said.len(), 20 * 200);
    assert_eq!(subjects(folder.path()), said);
    assert_whole(folder.path());
}

#[test]
fn a_quiet_process_beside_a_busy_one_keeps_its_file() {
    let folder = tempfile::tempdir().unwrap();
    // The busy process writes far more segments than are kept. The quiet process runs until the busy process has ended,
    // because the file of a process that has ended may be deleted. The records of the quiet process fit into one
    // segment, because a full segment may be deleted.
    let quiet = start(itself(), folder.path(), 10, 20, 8 * 1024);
    let busy = start(itself(), folder.path(), 4000, 0, 8 * 1024);
    let _busy = end(busy);
    let said = acknowledged(&end(quiet));
    assert_eq!(said.len(), 10);
    let found = subjects(folder.path());
    assert!(said.iter().all(|subject| found.contains(subject)), "{said:?} of {}", found.len());
    assert!(found.len() < 4000, "the busy one's oldest were dropped");
    assert_whole(folder.path());
    let usage = portcullis_audit::usage(folder.path()).unwrap();
    assert_eq!(usage.0["snoop"].allowed, 4010);
}

#[test]
fn a_process_that_is_killed_loses_nothing_that_it_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let mut said = Vec::new();
    for round in 0..25 {
        let mut child = start(itself(), folder.path(), 100_000, 0, 4 * 1024 * 1024);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut text = String::new();
        // Each round kills the child after another number of records.
        while acknowledged(&text).len() < round * 3 {
            text += &(lines.next().unwrap().unwrap() + "\n");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        for line in lines.map_while(Result::ok) {
            text += &(line + "\n");
        }
        said.extend(acknowledged(&text));
    }
    let found = subjects(folder.path());
    for subject in &said {
        assert!(found.binary_search(subject).is_ok(), "{subject} was acknowledged");
    }
    let report = verify(folder.path()).unwrap();
    assert!(report.is_whole(), "{:#?}", report.faults);
    assert!(report.segments.iter().all(|one| one.ending == Ending::Killed), "{report:#?}");
    // A running process is told apart from killed ones.
    let mut child = start(itself(), folder.path(), 2, 1000, 1024 * 1024);
    let mut line = String::new();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    while !line.contains("recorded ") {
        lines.read_line(&mut line).unwrap();
    }
    let report = verify(folder.path()).unwrap();
    let running = report.segments.iter().filter(|one| one.ending == Ending::Running).count();
    assert_eq!(running, 1, "{report:#?}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_file_that_may_not_grow_is_as_a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    // Files may have at most 9 blocks of 512 bytes. The signal that reports this limit is ignored.
    let mut command = Command::new("sh");
    let script = "trap '' XFSZ; ulimit -f 9; exec \"$0\" \"$@\"";
    command.args(["-c", script]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", "another_process", "--nocapture"]);
    let text = end(start(command, folder.path(), 60, 0, 16 * 1024 * 1024));
    let mut said = acknowledged(&text);
    said.sort_unstable();
    let refused = text.lines().filter(|line| line.starts_with("refused ")).count();
    assert!(!said.is_empty() && refused > 0 && said.len() + refused == 60, "{text}");
    assert_eq!(subjects(folder.path()), said);
    let report = verify(folder.path()).unwrap();
    assert!(report.is_whole(), "{:#?}", report.faults);
    // The part of a refused record that fitted into the file was removed: the file ends with a whole line.
    let [segment] = &report.segments[..] else { panic!("{report:#?}") };
    let file = folder.path().join(format!("{}.jsonl", segment.segment));
    let bytes = std::fs::read(file).unwrap();
    let end = bytes.rsplit(|byte| *byte == b'\n').next().unwrap();
    assert_eq!(String::from_utf8_lossy(end), "", "{report:#?}");
}
