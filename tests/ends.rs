//! Tests of how a server ends: by signals, and when no client reads its answers. And a test that its log is JSON up to
//! the end.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::BINARY;
use crate::support::PATIENCE;
use crate::support::client::{Client, Era};
use crate::support::home::Home;
use crate::support::process::Process;
use crate::support::wire::serve;

const CONFIG: &str = "[host]\nbundled = false\n[plugins.echo]\n[plugins.greedy]\n";

/// A home in which a call is stopped after `wall_ms` milliseconds.
fn home(wall_ms: u32) -> Home {
    let limits = format!("[limits]\nwall-ms = {wall_ms}\ncpu-ms = 100_000\n");
    Home::with(&["echo", "greedy"], &format!("{CONFIG}{limits}"))
}

/// Sends a signal to a process.
pub fn kill(process: u32, signal: Signal) {
    let id = Pid::from_raw(process.cast_signed()).expect("a process has an id");
    kill_process(id, signal).expect("it is ours");
}

/// SIGHUP, or SIGTERM if this process ignores SIGHUP, for example because `nohup` started the tests. The servers that
/// the tests start would then ignore SIGHUP, too.
pub fn hangup() -> Signal {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    if ignored.is_some_and(|mask| mask & 1 == 1) { Signal::TERM } else { Signal::HUP }
}

/// A server with a call that does not end by itself.
fn waiting(home: &Home) -> Process {
    let mut client = Client::start(home, Era::Legacy);
    client.begin("spin", json!({"how": "sleep"}));
    assert_eq!(client.text("echo", json!({"text": "a"})), "a");
    client.into_process()
}

#[test]
fn after_a_signal_calls_in_flight_may_end() {
    for signal in [Signal::TERM, Signal::INT, hangup()] {
        let home = home(2000);
        let mut process = waiting(&home);
        kill(process.id(), signal);
        // The server's stdin stays open.
        let reply = process.line().expect("the call is answered");
        assert!(reply.contains("was stopped after 2000 ms"), "{signal:?}: {reply}");
        assert_eq!(process.line(), None);
        let ran = process.end();
        assert_eq!(ran.code, Some(0), "{signal:?}: {ran:?}");
        let outcomes = home.outcomes();
        assert!(!outcomes.iter().any(|(_, how)| how == "cancelled"), "{signal:?}: {outcomes:?}");
    }
}

#[test]
fn after_a_signal_calls_that_do_not_end_are_cancelled() {
    let home = home(1_000_000);
    let mut process = waiting(&home);
    let began = Instant::now();
    kill(process.id(), Signal::TERM);
    while process.line().is_some() {}
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    assert_eq!(process.end().code, Some(0));
    assert!(
        home.outcomes().contains(&("spin".into(), "cancelled".into())),
        "{:?}",
        home.outcomes()
    );
}

#[test]
fn a_second_signal_ends_the_server_at_once() {
    let home = home(1_000_000);
    let mut process = waiting(&home);
    let began = Instant::now();
    kill(process.id(), Signal::TERM);
    // Two signals of one kind that arrive together count as one.
    std::thread::sleep(Duration::from_millis(300));
    kill(process.id(), Signal::TERM);
    while process.line().is_some() {}
    assert!(began.elapsed() < Duration::from_millis(2800), "{:?}", began.elapsed());
    assert_eq!(process.end().code, Some(128 + 15));
}

/// The status over HTTP of a call that sleeps while the server gets a signal, and the server's exit code.
fn status_of_a_call_during_a_signal(home: &Home) -> (u16, Option<i32>) {
    let (process, address) = serve(home, &[]);
    let id = process.id();
    let killing = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(700));
        // A hangup would reload the configuration.
        kill(id, Signal::TERM);
    });
    let call = json!({"name": "spin", "arguments": {"how": "sleep"}});
    let reply = crate::support::http::modern(address, "tools/call", call);
    killing.join().expect("it is ours");
    (reply.status(), process.end().code)
}

#[test]
fn over_http_calls_in_flight_may_end_after_a_signal() {
    let home = home(1500);
    assert_eq!(status_of_a_call_during_a_signal(&home), (200, Some(0)));
    let outcomes = home.outcomes();
    assert!(!outcomes.iter().any(|(_, how)| how == "cancelled"), "{outcomes:?}");
}

#[test]
fn over_http_calls_that_do_not_end_after_a_signal_get_a_status_with_which_clients_try_again() {
    let home = home(1_000_000);
    assert_eq!(status_of_a_call_during_a_signal(&home), (503, Some(0)));
    let outcomes = home.outcomes();
    assert!(outcomes.contains(&("spin".into(), "cancelled".into())), "{outcomes:?}");
}

#[test]
fn a_hangup_that_is_ignored_from_the_start_stays_ignored() {
    let home = home(1000);
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" serve", BINARY]);
    command.env_clear().env("HOME", home.path()).current_dir(home.path());
    let mut process = Process::start(&mut command);
    let ask = |process: &mut Process, line: Value| {
        process.write(format!("{line}\n").as_bytes());
        process.line().expect("an answer")
    };
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "blackbox", "version": "1"},
    });
    ask(&mut process, json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}));
    kill(process.id(), Signal::HUP);
    std::thread::sleep(Duration::from_millis(300));
    ask(&mut process, json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
    assert_eq!(process.end().code, Some(0));
}

/// Waits until a process ends, while its stdin stays open. Returns its exit code.
fn ends(mut child: Child) -> Option<i32> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().expect("it was started") {
            return status.code();
        }
        if Instant::now() > deadline {
            let _gone = child.kill();
            panic!("it goes on, though nobody reads its answers");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Sends a request to a server over stdio.
fn send(stdin: &mut ChildStdin, id: i64, method: &str, params: Value) {
    let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    stdin.write_all(format!("{line}\n").as_bytes()).expect("it reads");
}

/// Starts a session and two calls: one that sleeps, and one whose answer has arrived when this function returns.
fn start_with_a_sleeping_call(child: &mut Child) -> (ChildStdin, BufReader<ChildStdout>) {
    let mut stdin = child.stdin.take().expect("it is piped");
    let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
    let client = json!({"name": "blackbox", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    send(&mut stdin, 0, "initialize", params);
    let sleeping = json!({"name": "spin", "arguments": {"how": "sleep"}});
    send(&mut stdin, 1, "tools/call", sleeping);
    send(&mut stdin, 2, "tools/call", json!({"name": "echo", "arguments": {"text": "a"}}));
    for _ in 0..2 {
        stdout.read_line(&mut String::new()).expect("an answer");
    }
    (stdin, stdout)
}

#[test]
fn when_stdout_is_closed_the_server_ends_and_records_its_calls() {
    let home = home(1_000_000);
    let mut command = home.command(&["serve"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the binary runs");
    let (mut stdin, stdout) = start_with_a_sleeping_call(&mut child);
    drop(stdout);
    send(&mut stdin, 3, "ping", json!({}));
    let began = Instant::now();
    assert_eq!(ends(child), Some(0));
    // No client could receive the result, so the server does not wait for the call.
    assert!(began.elapsed() < Duration::from_millis(2800), "{:?}", began.elapsed());
    assert!(
        home.outcomes().contains(&("spin".into(), "cancelled".into())),
        "{:?}",
        home.outcomes()
    );
    drop(stdin);
}

/// Fills a pipe whose other end is not read any more, so that every later write to it blocks.
#[cfg(target_os = "linux")]
fn fill(pipe: &std::io::PipeWriter) {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;
    // The pipe is opened again, since all duplicates of a descriptor share the flag `O_NONBLOCK`.
    let flag = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let path = format!("/proc/self/fd/{}", pipe.as_raw_fd());
    let mut again =
        std::fs::OpenOptions::new().write(true).custom_flags(flag).open(path).expect("it is open");
    for size in [4096, 1] {
        while again.write(&vec![b'.'; size]).is_ok() {}
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_server_whose_shutdown_blocks_ends_with_its_own_exit_code() {
    let home = home(1_000_000);
    let (stderr, pipe) = std::io::pipe().expect("a pipe");
    let mut command = home.command(&["serve"]);
    command.env("PORTCULLIS_LOG", "trace").stdin(Stdio::piped()).stdout(Stdio::piped());
    command.stderr(pipe.try_clone().expect("a pipe"));
    let mut child = command.spawn().expect("the binary runs");
    drop(command);
    let stop_reading = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let reading = std::thread::spawn({
        let stop_reading = stop_reading.clone();
        move || {
            let (mut reader, mut bytes) = (stderr, [0; 4096]);
            while !stop_reading.load(std::sync::atomic::Ordering::Relaxed) {
                let _read = std::io::Read::read(&mut reader, &mut bytes);
            }
            reader
        }
    });
    let (stdin, stdout) = start_with_a_sleeping_call(&mut child);
    kill(child.id(), Signal::TERM);
    // By now the server has received the signal. It logs the end of the call three seconds after the signal.
    std::thread::sleep(Duration::from_millis(500));
    stop_reading.store(true, std::sync::atomic::Ordering::Relaxed);
    (&pipe).write_all(b".").expect("somebody reads");
    let stderr = reading.join().expect("it reads");
    fill(&pipe);
    assert_eq!(ends(child), Some(3));
    drop((stdin, stdout, stderr));
}

/// The lines of stderr as JSON objects. Panics if a line is not an object.
fn objects(stderr: &str) -> Vec<Value> {
    let parse = |line: &str| {
        let value: Value = serde_json::from_str(line)
            .unwrap_or_else(|error| panic!("{error}: {line}, in {stderr}"));
        assert!(value["timestamp"].is_string() && value["level"].is_string(), "{line}");
        value
    };
    stderr.lines().map(parse).collect()
}

#[test]
fn every_line_of_a_json_log_is_json() {
    let home = home(1000);
    let process =
        Process::start(&mut home.command(&["serve", "--http", "127.0.0.1:0", "--log-json"]));
    let said = process.hear("/mcp\"");
    assert!(
        objects(&said)[0]["message"].as_str().is_some_and(|m| m.starts_with("serving MCP at "))
    );
    kill(process.id(), Signal::TERM);
    objects(&process.end().stderr);
    for (arguments, level) in [
        // The errors are: a refused address, an unknown option, a missing configuration, and a missing argument.
        (&["--log-json", "serve", "--http", "0.0.0.0:0"][..], "ERROR"),
        (&["serve", "--log-json", "--nonsense"], "ERROR"),
        (&["serve", "--log-json", "--config", "/nowhere/at/all.toml"], "ERROR"),
        (&["call", "spin", "{}", "--log-json"], "ERROR"),
    ] {
        let ran = home.run(arguments);
        assert_ne!(ran.code, Some(0), "{arguments:?}: {ran:?}");
        let lines = objects(&ran.stderr);
        let last = lines.last().unwrap_or_else(|| panic!("{arguments:?}: nothing is said"));
        assert_eq!(last["level"], level, "{arguments:?}: {ran:?}");
    }
    // Arguments after `--` are for another program.
    let ran = home.run(&["wrap", "--", "/nowhere/at/all", "--log-json"]);
    assert!(serde_json::from_str::<Value>(ran.stderr.lines().next().unwrap_or_default()).is_err());
}
