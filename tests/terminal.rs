//! Tests of untrusted text in the output of commands: control characters are escaped on a terminal, and a program reads
//! the text unchanged.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::ioctl::{Getter, Setter, ioctl};
use serde_json::{Value, json};

use crate::ends::{hangup, kill};
use crate::support::PATIENCE;
use crate::support::guests::guests;
use crate::support::home::Home;

const CONFIG: &str = "[host]\nbundled = false\n[plugins.echo]\n";

/// A text that sets the title of a terminal, clears the screen, hides text, reverses it, has invisible characters,
/// colours text with a sequence that begins with U+009B, and returns to the start of the line.
const HOSTILE: &str =
    "a\u{1b}]0;title\u{7}\u{1b}[2J\u{1b}[8mb\u{202e}c\u{e0041}\u{200b}\u{9b}31md\re";

/// The visible form of [`HOSTILE`].
const SEEN: &str =
    "a\\u{1b}]0;title\\u{7}\\u{1b}[2J\\u{1b}[8mb\\u{202e}c\\u{e0041}\\u{200b}\\u{9b}31md\\u{d}e";

/// A pseudoterminal: the main side, which shows the output, and the side of the programs.
#[expect(unsafe_code, reason = "without a library for terminals, Linux is asked by numbers")]
fn terminal() -> (File, File) {
    /// `TIOCSPTLCK` and `TIOCGPTN` of Linux, which unlock the other side and give its number.
    const UNLOCK: u32 = 0x4004_5431;
    const NUMBER: u32 = 0x8004_5430;
    /// `O_NOCTTY` of Linux: the terminal does not become the controlling terminal of the test.
    const NOT_MINE: i32 = 0o400;
    let mut options = File::options();
    options.read(true).write(true).custom_flags(NOT_MINE);
    let main = options.open("/dev/ptmx").expect("this system has terminals");
    // SAFETY: the kernel reads an integer at the pointer.
    unsafe { ioctl(&main, Setter::<UNLOCK, i32>::new(0)) }.expect("a new terminal");
    // SAFETY: the kernel writes an integer to the pointer.
    let number = unsafe { ioctl(&main, Getter::<NUMBER, u32>::new()) }.expect("a new terminal");
    let side = options.open(format!("/dev/pts/{number}")).expect("a new terminal");
    (main, side)
}

/// Runs a command whose stdout and stderr are a terminal, and returns what it wrote there.
fn on_terminal(home: &Home, arguments: &[&str]) -> String {
    let (mut main, side) = terminal();
    let mut command = home.command(arguments);
    command
        .env("TERM", "xterm-256color")
        .stdin(Stdio::null())
        .stdout(side.try_clone().expect("a file"))
        .stderr(side);
    let mut child = command.spawn().expect("the binary runs");
    // Reading ends only when no process has the other side open.
    drop(command);
    let (mut all, mut piece) = (Vec::new(), [0; 4096]);
    // At the end of the output, reading from the terminal fails.
    while let Ok(read @ 1..) = main.read(&mut piece) {
        all.extend_from_slice(&piece[..read]);
    }
    child.wait().expect("it was started");
    // The terminal adds a carriage return to the end of each line.
    String::from_utf8(all).expect("it writes text").replace("\r\n", "\n")
}

#[test]
fn a_plugin_that_takes_the_name_during_the_question_stays_approved() {
    let home = Home::with(&[], CONFIG);
    guests().remember(&home.path().join(".cache/portcullis"));
    let file = |name: &str| guests().component(name).to_str().expect("UTF-8").to_owned();
    let (mut main, side) = terminal();
    let mut command = home.command(&["plugin", "add", &file("keeper"), "--name", "notes"]);
    let copy = || side.try_clone().expect("a file");
    command.stdin(copy()).stdout(copy()).stderr(side);
    let mut child = command.spawn().expect("the binary runs");
    drop(command);
    let (mut said, mut piece) = (String::new(), [0; 4096]);
    while !said.contains("[y/N]") {
        let read = main.read(&mut piece).expect("it asks");
        said += &String::from_utf8_lossy(&piece[..read]);
    }
    let other = home.run(&["plugin", "add", &file("echo"), "--name", "notes", "--yes"]);
    assert_eq!(other.code, Some(0), "{other:?}");
    main.write_all(b"y\n").expect("it reads the answer");
    while let Ok(read @ 1..) = main.read(&mut piece) {
        said += &String::from_utf8_lossy(&piece[..read]);
    }
    let ended = child.wait().expect("it was started");
    assert!(
        ended.code() == Some(2) && said.contains("there is a plugin `notes` already"),
        "{said}"
    );
    let called = home.run(&["call", "echo", r#"{"text":"a"}"#]);
    assert_eq!(called.code, Some(0), "{called:?}");
}

#[test]
fn a_hangup_ends_an_http_server_that_was_started_in_a_terminal() {
    let home = Home::with(&["echo"], CONFIG);
    let (mut main, side) = terminal();
    let mut command = home.command(&["serve", "--http", "127.0.0.1:0"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(side);
    let mut child = command.spawn().expect("the binary runs");
    drop(command);
    let (mut said, mut piece) = (String::new(), [0; 4096]);
    while !said.contains("/mcp") {
        let read = main.read(&mut piece).expect("it says where it serves");
        said += &String::from_utf8_lossy(&piece[..read]);
    }
    kill(child.id(), hangup());
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("it was started") {
            break status;
        }
        assert!(began.elapsed() < PATIENCE, "it goes on: {said}");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(status.code(), Some(0), "{said}");
}

/// Asserts that a text has no deceptive characters except line ends, tabs, and the host's own colours and weights.
fn assert_harmless(written: &str) {
    let own = ["0", "1", "2", "3", "4", "31", "32", "33", "34", "35"];
    let plain = own
        .iter()
        .fold(written.to_owned(), |text, style| text.replace(&format!("\u{1b}[{style}m"), ""));
    let acts = |c: &char| *c != '\n' && *c != '\t' && portcullis_sanitize::is_deceptive(*c);
    let found: Vec<char> = plain.chars().filter(acts).collect();
    assert!(found.is_empty(), "{found:?} in {written:?}");
}

#[test]
fn texts_of_tools_are_shown_escaped_on_a_terminal() {
    let home = Home::with(&["echo"], CONFIG);
    let arguments = json!({ "text": HOSTILE }).to_string();
    let written = on_terminal(&home, &["call", "echo", &arguments]);
    assert_harmless(&written);
    assert!(written.contains(SEEN), "{written:?}");

    let written = on_terminal(&home, &["call", "echo", &arguments, "--json", "--trail"]);
    assert_harmless(&written);
    let (whole, _trail) = written.split_once("\n}\n").expect("JSON comes first");
    let whole: Value = serde_json::from_str(&format!("{whole}}}")).expect("it is JSON");
    assert_eq!(whole["content"][0]["text"], HOSTILE, "the data are whole");
}

#[test]
fn a_program_reads_texts_of_tools_unchanged() {
    let home = Home::with(&["echo"], CONFIG);
    let arguments = json!({ "text": HOSTILE }).to_string();
    let output = home.command(&["call", "echo", &arguments]).output().expect("the binary runs");
    assert_eq!(output.stdout, format!("{HOSTILE}\n").into_bytes());
    let ran = home.run(&["call", "echo", &arguments, "--json"]);
    let whole: Value = serde_json::from_str(&ran.stdout).expect("it is JSON");
    assert_eq!(whole["content"][0]["text"], HOSTILE);
}

#[test]
fn names_errors_and_the_log_are_escaped_on_a_terminal() {
    let home = Home::with(&["echo"], CONFIG);
    let name = "\u{1b}[8mhidden\u{202e}";
    fs::copy(guests().component("echo"), home.plugins().join(format!("{name}.wasm")))
        .expect("a home");
    for arguments in [
        &["tools"][..],
        &["plugin", "list"],
        &["plugin", "list", "--json"],
        &["audit"],
        &["audit", "--json"],
        &["check"],
        &["check", "--json"],
        &["call", "\u{1b}[2Jnone"],
        &["call", "echo", "\u{1b}[2J{"],
        &["-v", "call", "echo", "{\"text\": \"x\"}"],
        &["--log-json", "call", "echo", "{\"text\": \"x\"}"],
        &["plugin", "approve", "\u{1b}[2J"],
    ] {
        let written = on_terminal(&home, arguments);
        assert_harmless(&written);
        assert!(!written.is_empty(), "{arguments:?}");
    }
    let written = on_terminal(&home, &["plugin", "list"]);
    assert!(written.contains("\\u{1b}[8mhidden\\u{202e}"), "{written:?}");
}

#[test]
fn a_grant_is_written_only_after_a_yes_on_the_terminal() {
    let home = Home::with(&["echo"], CONFIG);
    for (answer, code, is_written) in [("\n", 1, false), ("n\n", 1, false), ("y\n", 0, true)] {
        let (mut main, side) = terminal();
        let mut command = home.command(&["plugin", "grant", "echo", "store=5"]);
        let side_of_stdin = side.try_clone().expect("a file");
        command.stdin(side_of_stdin).stderr(side).stdout(Stdio::null());
        let mut child = command.spawn().expect("the binary runs");
        drop(command);
        main.write_all(answer.as_bytes()).expect("a new terminal");
        let (mut all, mut piece) = (Vec::new(), [0; 4096]);
        // At the end of the output, reading from the terminal fails.
        while let Ok(read @ 1..) = main.read(&mut piece) {
            all.extend_from_slice(&piece[..read]);
        }
        let ended = child.wait().expect("it was started");
        let written = String::from_utf8(all).expect("it writes text");
        assert!(written.contains("Write this? [y/N]"), "{written:?}");
        assert_eq!(ended.code(), Some(code), "{answer:?}: {written:?}");
        let text = fs::read_to_string(home.config()).expect("it was written");
        assert_eq!(text.contains("bytes = 5"), is_written, "{answer:?}: {text}");
    }
}
