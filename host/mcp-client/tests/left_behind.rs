//! Tests, for Linux and Windows: processes that a server left behind end with the server, and with a killed host.
#![cfg(any(target_os = "linux", windows))]

mod stand_in;

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use portcullis_mcp_client::{ClientSettings, Upstream};
use serde_json::json;
use stand_in::{call, within};

/// Whether this file is locked. The process that the server left behind holds the lock until it ends.
fn is_locked(file: &Path) -> bool {
    File::open(file).is_ok_and(|file| file.try_lock().is_err())
}

/// Waits until the lock of this file is held (`expected`) or free. A test that waits for too long fails.
async fn locked(file: &Path, expected: bool) {
    while is_locked(file) != expected {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn processes_that_a_server_left_behind_end_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let program = stand_in::program();
    within(async {
        for end in ["close", "drop", "die"] {
            let file = folder.path().join(end);
            let beside = format!("beside={}", file.display());
            let definition = json!({"command": program, "args": ["stdio", beside]});
            let client = ClientSettings {
                launcher: Some(program.clone()),
                ..ClientSettings::new("test", "1")
            };
            let definition = serde_json::from_value(definition).unwrap();
            let upstream = Upstream::new("held", definition, client).unwrap();
            upstream.listing().await.unwrap();
            locked(&file, true).await;
            match end {
                "close" => upstream.close().await,
                "drop" => drop(upstream),
                _ => drop(call(&upstream, "die", json!({})).outcome().await.unwrap_err()),
            }
            locked(&file, false).await;
        }
    })
    .await;
}

#[tokio::test]
async fn processes_that_a_server_left_behind_end_with_a_host_that_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let (program, file) = (stand_in::program(), folder.path().join("file"));
    within(async {
        let beside = format!("beside={}", file.display());
        let mut host = Command::new(&program)
            .arg("hold")
            .arg(&program)
            .args(["stdio", "stubborn", &beside])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        locked(&file, true).await;
        host.kill().unwrap();
        host.wait().unwrap();
        locked(&file, false).await;
    })
    .await;
}
