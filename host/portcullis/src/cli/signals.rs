//! Signals: the first one asks a server to finish, the second one ends it at once, and a limit of file sizes
//! ends nothing.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// The exit code of a server whose shutdown timed out.
pub const LEFT: i32 = 3;

/// How long a process that has to end waits until stderr takes the last line of the log.
const LAST_LINE: Duration = Duration::from_millis(250);

/// Cancels `stop` at the first SIGTERM, SIGINT or SIGHUP; at the second, ends the process with 128 and the
/// number of the signal, as a shell has it. A SIGHUP that is ignored from the start, as `nohup` does it, stays
/// ignored.
///
/// # Errors
///
/// Where signals cannot be listened to.
pub fn listen(stop: CancellationToken) -> Result<(), String> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{Signal, SignalKind, signal};
        /// The next of these signals, by its number.
        async fn next(signals: &mut [(i32, Signal)]) -> i32 {
            std::future::poll_fn(|cx| {
                for (number, signal) in &mut *signals {
                    if signal.poll_recv(cx).is_ready() {
                        return std::task::Poll::Ready(*number);
                    }
                }
                std::task::Poll::Pending
            })
            .await
        }
        let mut kinds = vec![SignalKind::terminate(), SignalKind::interrupt()];
        if listens_to_hangup() {
            kinds.push(SignalKind::hangup());
        }
        let mut signals = Vec::new();
        for kind in kinds {
            let signal = signal(kind).map_err(|error| format!("listening to signals: {error}"))?;
            signals.push((kind.as_raw_value(), signal));
        }
        tokio::spawn(async move {
            let first = next(&mut signals).await;
            tracing::info!("signal {first}: calls in flight may end; the next signal is the end");
            stop.cancel();
            exit(128 + next(&mut signals).await);
        });
    }
    #[cfg(not(unix))]
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            stop.cancel();
        }
        if tokio::signal::ctrl_c().await.is_ok() {
            exit(LEFT);
        }
    });
    Ok(())
}

/// Whether SIGHUP is to be listened to. Only where it is known that nobody has it ignored: listening would
/// undo that.
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "Linux says in a file which signals are ignored")]
fn listens_to_hangup() -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return false };
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // SIGHUP is signal 1, which the lowest bit stands for.
    ignored.is_some_and(|mask| mask & 1 == 0)
}

/// SIGXFSZ: its number on every system and processor that this program is built for.
#[cfg(unix)]
const FILE_LIMIT: i32 = 25;

/// Has a write beyond a limit of file sizes (`ulimit -f`) fail with an error instead of ending this program by
/// SIGXFSZ. Children start with the system's default for the signal.
///
/// # Errors
///
/// Where the signal cannot be listened to.
///
/// # Panics
///
/// Outside of a tokio runtime.
pub fn survive_file_limits() -> Result<(), String> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        // A signal that was listened to once keeps its handler for as long as the process lives.
        let listening = signal(SignalKind::from_raw(FILE_LIMIT));
        listening.map(drop).map_err(|error| format!("listening to SIGXFSZ: {error}"))?;
    }
    Ok(())
}

/// Ends the process after `patience` with the exit code [`LEFT`], whatever still runs or blocks.
pub fn leave_after(patience: Duration) {
    std::thread::spawn(move || {
        std::thread::sleep(patience);
        // Where nobody reads stderr, logging blocks too, and must not keep the process.
        let (logged, done) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            tracing::error!("shutdown timed out after {} s; exiting", patience.as_secs_f32());
            // Too late is as good as not at all.
            let _sent = logged.send(());
        });
        let _logged = done.recv_timeout(LAST_LINE);
        exit(LEFT);
    });
}

#[expect(clippy::disallowed_methods, reason = "the second signal, or what does not end")]
fn exit(code: i32) -> ! {
    std::process::exit(code)
}
