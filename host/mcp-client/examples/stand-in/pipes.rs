//! Runs the server over stdin and stdout.

use std::process::Stdio;
use std::sync::Arc;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;

use crate::script::Server;

pub async fn serve(server: Arc<Server>) {
    let (out, mut outgoing) = mpsc::unbounded_channel::<Value>();
    server.listeners.lock().push((Value::Null, out.clone()));
    let writing = tokio::spawn(async move {
        let mut stdout = tokio::io::stdout();
        while let Some(message) = outgoing.recv().await {
            let line = match message["method"].as_str() {
                Some("garbage") => message["params"].as_str().unwrap_or_default().to_owned(),
                Some("interrupt") => continue,
                _ => message.to_string(),
            };
            let written = stdout.write_all(format!("{line}\n").as_bytes()).await;
            if written.is_err() || stdout.flush().await.is_err() {
                return;
            }
        }
    });
    if server.is("daemon") {
        leave_somebody_behind();
    }
    if let Some(file) = server.value("session") {
        leave_a_session_behind(file);
    }
    if let Some(file) = server.value("beside") {
        leave_a_lock_behind(file);
    }
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let Ok(message) = serde_json::from_str(&line) else { continue };
        let (server, out) = (server.clone(), out.clone());
        tokio::spawn(async move { server.take(message, out).await });
    }
    if server.is("stubborn") {
        ignore_requests_to_end().await;
    }
    writing.abort();
}

/// Starts a process of the same group that does not end with its stdin. Writes its process id to stderr.
fn leave_somebody_behind() {
    let mut sleep = std::process::Command::new("sleep");
    sleep.arg("600").stdin(Stdio::null()).stdout(Stdio::null());
    if let Ok(child) = sleep.spawn() {
        eprintln!("left behind: {}", child.id());
    }
}

/// Starts a process in a session and group of its own. The parent of the new process, a shell, ends at once. Writes the
/// id of the new process to a file.
fn leave_a_session_behind(file: &str) {
    let script =
        r#"setsid sleep 600 </dev/null >/dev/null 2>&1 & echo $! > "$0.new"; mv "$0.new" "$0""#;
    let started = std::process::Command::new("sh").args(["-c", script, file]).status();
    if !started.is_ok_and(|status| status.success()) {
        eprintln!("the process could not be started");
    }
}

/// Starts this program once more, outside this process group and console. The new process holds the lock of a file.
fn leave_a_lock_behind(file: &str) {
    let mut command =
        std::process::Command::new(std::env::current_exe().expect("a program has a path"));
    command.args(["lock", file]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    #[cfg(windows)]
    {
        /// `DETACHED_PROCESS` and `CREATE_NEW_PROCESS_GROUP` of Win32.
        const APART: u32 = 0x8 | 0x200;
        std::os::windows::process::CommandExt::creation_flags(&mut command, APART);
    }
    if let Err(error) = command.spawn() {
        eprintln!("the process could not be started: {error}");
    }
}

/// Keeps the lock of a file for ten minutes. The lock shows other processes that this process runs.
pub fn keep_lock(file: &str) -> std::io::Result<()> {
    let file = std::fs::File::create(file)?;
    file.lock()?;
    std::thread::sleep(std::time::Duration::from_secs(600));
    Ok(())
}

async fn ignore_requests_to_end() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut asked) = signal(SignalKind::terminate()) {
            while asked.recv().await.is_some() {}
        }
    }
    std::future::pending::<()>().await;
}
