//! Tests that no child outlives its upstream, and that requests end with their upstream.
#![cfg(target_os = "linux")]

mod stand_in;

use std::io::BufRead;

use portcullis_mcp_client::{FaultCause, Upstream, UpstreamState};
use serde_json::json;
use stand_in::{Web, call, child, defined, has_seen, is_running, said, within};

fn process(upstream: &Upstream) -> u32 {
    let state = upstream.state();
    let UpstreamState::Ready { process: Some(process), .. } = state else {
        panic!("it is not ready: {state:?}")
    };
    process
}

/// Waits until a process has ended. A test that waits for too long fails.
async fn gone(process: u32) {
    while is_running(process) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn the_child_ends_when_the_upstream_is_dropped_or_closed() {
    within(async {
        let upstream = child(&[]);
        upstream.listing().await.unwrap();
        let dropped = process(&upstream);
        assert!(is_running(dropped));
        drop(upstream);
        gone(dropped).await;
        let upstream = child(&[]);
        upstream.listing().await.unwrap();
        let closed = process(&upstream);
        upstream.close().await;
        assert!(!is_running(closed));
        assert!(matches!(upstream.state(), UpstreamState::Closed));
        let fault = upstream.refresh().await.unwrap_err();
        assert!(matches!(fault.trouble, FaultCause::Closed), "{fault}");
    })
    .await;
}

#[tokio::test]
async fn a_child_that_does_not_end_is_killed() {
    within(async {
        let upstream = child(&["stubborn"]);
        upstream.listing().await.unwrap();
        let stubborn = process(&upstream);
        upstream.close().await;
        assert!(!is_running(stubborn));
    })
    .await;
}

#[test]
fn the_child_ends_with_the_runtime() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let upstream = child(&["stubborn"]);
    runtime.block_on(within(upstream.listing())).unwrap();
    let left = process(&upstream);
    drop(runtime);
    drop(upstream);
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
        .block_on(within(gone(left)));
}

#[tokio::test]
async fn processes_that_a_child_leaves_behind_end_with_it() {
    within(async {
        let upstream = child(&["daemon"]);
        upstream.listing().await.unwrap();
        let parent = process(&upstream);
        let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
        let left: u32 = match children.unwrap_or_default().split_whitespace().next() {
            Some(child) => child.parse().unwrap(),
            None => grandchild(parent),
        };
        assert!(is_running(left));
        upstream.close().await;
        gone(left).await;
    })
    .await;
}

/// A child process of the process `parent`.
fn grandchild(parent: u32) -> u32 {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let process: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        let after: Vec<_> =
            stat.rsplit(')').next()?.split_whitespace().map(str::to_owned).collect();
        (after.get(1)?.parse::<u32>().ok()? == parent).then_some(process)
    });
    processes.into_iter().next().expect("it has left a process behind")
}

#[tokio::test]
async fn a_child_ends_with_a_host_that_is_killed() {
    within(async {
        let program = stand_in::program();
        let mut host = std::process::Command::new(&program)
            .arg("hold")
            .arg(&program)
            .args(["stdio", "stubborn"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        let mut stdout = std::io::BufReader::new(host.stdout.take().unwrap());
        stdout.read_line(&mut said).unwrap();
        let held: u32 = said.trim().parse().unwrap();
        assert!(is_running(held));
        host.kill().unwrap();
        host.wait().unwrap();
        gone(held).await;
    })
    .await;
}

/// The id of the process in its own session, from the file to which the server writes the id.
async fn who_left(file: &std::path::Path) -> u32 {
    loop {
        match std::fs::read_to_string(file) {
            Ok(text) => return text.trim().parse().unwrap(),
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

#[tokio::test]
async fn a_process_in_its_own_session_ends_with_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("who");
    within(async {
        for end in ["close", "drop", "die", "kill"] {
            let upstream = held_with(&[&format!("session={}", file.display())]);
            upstream.listing().await.unwrap();
            let left = who_left(&file).await;
            let keeper = process(&upstream);
            assert!(is_running(left), "{end}");
            match end {
                "close" => upstream.close().await,
                "drop" => drop(upstream),
                "die" => drop(call(&upstream, "die", json!({})).outcome().await.unwrap_err()),
                _ => {
                    let server = grandchild(keeper).to_string();
                    let kill = std::process::Command::new("kill").args(["-9", &server]).status();
                    assert!(kill.unwrap().success());
                }
            }
            gone(left).await;
            gone(keeper).await;
            std::fs::remove_file(&file).unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn a_process_in_its_own_session_ends_with_a_host_that_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("who");
    within(async {
        let program = stand_in::program();
        let mut host = std::process::Command::new(&program)
            .arg("hold")
            .arg(&program)
            .args(["stdio", "stubborn", &format!("session={}", file.display())])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let left = who_left(&file).await;
        assert!(is_running(left));
        host.kill().unwrap();
        host.wait().unwrap();
        gone(left).await;
    })
    .await;
}

#[test]
fn a_child_outlives_the_thread_that_started_it() {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let keep = std::time::Duration::from_millis(1);
    let runtime = runtime.worker_threads(1).thread_keep_alive(keep).enable_all().build().unwrap();
    let upstream = held();
    let test = async move {
        upstream.listing().await.unwrap();
        let first = process(&upstream);
        // This worker thread hands its tasks to another thread, and ends when it is idle.
        let (another, works) = std::sync::mpsc::channel();
        tokio::spawn(async move { another.send(()) });
        let thread = tokio::task::block_in_place(|| {
            works.recv().unwrap();
            std::fs::read_link("/proc/thread-self").unwrap().file_name().unwrap().to_owned()
        });
        tokio::task::yield_now().await;
        let thread = std::path::Path::new("/proc/self/task").join(thread);
        while thread.exists() {
            tokio::task::yield_now().await;
        }
        assert_eq!(said(&upstream, "log", json!({})).await, "logged");
        assert_eq!(process(&upstream), first);
    };
    runtime.block_on(async { within(tokio::spawn(test)).await.unwrap() });
}

/// An upstream whose child ends with this process, however this process ends.
fn held() -> Upstream {
    held_with(&[])
}

/// As [`held`], with options of the server.
fn held_with(options: &[&str]) -> Upstream {
    use portcullis_mcp_client::ClientSettings;
    let program = stand_in::program();
    let mut args = vec!["stdio"];
    args.extend(options);
    let definition = serde_json::from_value(json!({"command": program, "args": args}));
    let client = ClientSettings { launcher: Some(program), ..ClientSettings::new("test", "1") };
    Upstream::new("held", definition.unwrap(), client).unwrap()
}

#[tokio::test]
async fn a_crash_in_a_call_is_reported_and_the_next_call_restarts_the_server() {
    within(async {
        let upstream = child(&[]);
        let mut others = call(&upstream, "hang", json!({}));
        let waiting = tokio::spawn(async move { others.next().await });
        has_seen(&upstream, "tools/call").await;
        let first = process(&upstream);
        let fault = call(&upstream, "die", json!({})).outcome().await.unwrap_err();
        assert!(matches!(fault.trouble, FaultCause::Lost(_)), "{fault}");
        let text = fault.to_string();
        assert!(text.contains("exit status: 7") && text.contains("these are last words"), "{text}");
        let Some(portcullis_mcp_client::Event::Done(Err(fault))) = waiting.await.unwrap() else {
            panic!("the other call ends too")
        };
        assert!(matches!(fault.trouble, FaultCause::Lost(_)), "{fault}");
        assert!(matches!(upstream.state(), UpstreamState::Idle));
        assert_eq!(said(&upstream, "log", json!({})).await, "logged");
        assert_ne!(process(&upstream), first);
    })
    .await;
}

#[tokio::test]
async fn a_killed_server_is_restarted() {
    within(async {
        let upstream = child(&[]);
        upstream.listing().await.unwrap();
        let first = process(&upstream);
        let killed = std::process::Command::new("kill").args(["-9", &first.to_string()]).status();
        assert!(killed.unwrap().success());
        // The next request may still be sent to the killed server. The one after it reaches the new server.
        let _either = call(&upstream, "log", json!({})).outcome().await;
        assert_eq!(said(&upstream, "log", json!({})).await, "logged");
        assert_ne!(process(&upstream), first);
    })
    .await;
}

#[tokio::test]
async fn requests_fail_when_their_server_ends() {
    within(async {
        for arguments in [&["http", "legacy"][..], &["http", "modern"], &["sse", "legacy"]] {
            let web = Web::start(arguments);
            let transport = arguments[0];
            let upstream = defined(json!({"url": web.url, "transport": transport}));
            let mut hanging = call(&upstream, "hang", json!({}));
            let waiting = tokio::spawn(async move { hanging.next().await });
            has_seen(&upstream, "tools/call").await;
            drop(web);
            let Some(portcullis_mcp_client::Event::Done(Err(fault))) = waiting.await.unwrap()
            else {
                panic!("the call ends")
            };
            assert!(matches!(fault.trouble, FaultCause::Lost(_)), "{arguments:?}: {fault}");
            let fault = call(&upstream, "log", json!({})).outcome().await.unwrap_err();
            assert!(matches!(fault.trouble, FaultCause::NotRunning(_)), "{arguments:?}: {fault}");
        }
    })
    .await;
}
