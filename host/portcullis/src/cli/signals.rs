//! Handles signals: the first signal stops a server gracefully, and the second one ends its process at once. SIGXFSZ
//! does not end the process.

use std::time::Duration;

#[cfg(unix)]
use anyhow::Context as _;
use tokio_util::sync::CancellationToken;

/// The exit code of a server whose shutdown timed out.
pub const TIMED_OUT_EXIT_CODE: i32 = 3;

/// How long a process that exits waits for stderr to accept the last line of the log.
const LAST_LINE_TIMEOUT: Duration = Duration::from_millis(250);

/// What SIGHUP does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnHangup {
    /// SIGHUP, which a closed terminal sends, stops the server.
    Stop,
    /// [`Hangup`] receives SIGHUP, and the configuration is reloaded, as is usual for services.
    Reload,
}

impl OnHangup {
    /// For a server over HTTP: SIGHUP reloads a service, and ends a server that was started in a terminal.
    pub fn of_service() -> Self {
        if std::io::IsTerminal::is_terminal(&std::io::stderr()) { Self::Stop } else { Self::Reload }
    }
}

/// Receives SIGHUP.
pub struct Hangup {
    #[cfg(unix)]
    signal: Option<tokio::signal::unix::Signal>,
}

impl Hangup {
    /// Receives SIGHUP if `on_hangup` is [`OnHangup::Reload`]. There is no SIGHUP on Windows.
    ///
    /// # Errors
    ///
    /// The signal handler cannot be installed.
    pub fn listen(on_hangup: OnHangup) -> anyhow::Result<Self> {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let listen = || signal(SignalKind::hangup()).context("listening for SIGHUP");
            let signal = (on_hangup == OnHangup::Reload).then(listen).transpose()?;
            Ok(Self { signal })
        }
        #[cfg(not(unix))]
        {
            let _only_on_unix = on_hangup;
            Ok(Self {})
        }
    }

    /// Waits for the next SIGHUP.
    pub async fn received(&mut self) {
        #[cfg(unix)]
        if let Some(signal) = &mut self.signal
            && signal.recv().await.is_some()
        {
            return;
        }
        std::future::pending().await
    }
}

/// Cancels `stop` at the first SIGTERM or SIGINT, or at the first SIGHUP if `on_hangup` is [`OnHangup::Stop`]. The
/// second signal ends the process with the exit code of shells: 128 plus the signal's number. SIGHUP cancels `stop` on
/// Linux only, and only if SIGHUP was not ignored at the start (`nohup` ignores it). On Windows, Ctrl-C takes the place
/// of the signals, and the exit code is [`TIMED_OUT_EXIT_CODE`].
///
/// # Errors
///
/// A signal handler cannot be installed.
pub fn listen(stop: CancellationToken, on_hangup: OnHangup) -> anyhow::Result<()> {
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
        if on_hangup == OnHangup::Stop && listens_to_hangup() {
            kinds.push(SignalKind::hangup());
        }
        let mut signals = Vec::new();
        for kind in kinds {
            let signal = signal(kind).context("listening for signals")?;
            signals.push((kind.as_raw_value(), signal));
        }
        tokio::spawn(async move {
            let first = next(&mut signals).await;
            tracing::info!(
                "signal {first}: waiting for calls in flight; a second signal exits at once"
            );
            stop.cancel();
            exit(128 + next(&mut signals).await);
        });
    }
    #[cfg(not(unix))]
    let _only_on_unix = on_hangup;
    #[cfg(not(unix))]
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            stop.cancel();
        }
        if tokio::signal::ctrl_c().await.is_ok() {
            exit(TIMED_OUT_EXIT_CODE);
        }
    });
    Ok(())
}

/// Whether to install a handler for SIGHUP: only if `/proc` says that SIGHUP is not ignored. An ignored SIGHUP has to
/// stay ignored, and a handler would change that.
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "Linux says in a file which signals are ignored")]
fn listens_to_hangup() -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return false };
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // SIGHUP is signal 1: the lowest bit.
    ignored.is_some_and(|mask| mask & 1 == 0)
}

/// The number of the signal, which is the same on all supported systems.
#[cfg(unix)]
const SIGXFSZ: i32 = 25;

/// Makes a write beyond the limit of file sizes (`ulimit -f`) fail with an error. By default, SIGXFSZ would end the
/// process. Child processes start with the default.
///
/// # Errors
///
/// The signal handler cannot be installed.
///
/// # Panics
///
/// Outside of a tokio runtime.
pub fn survive_file_limits() -> anyhow::Result<()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        // tokio's handler stays installed after the listener is dropped.
        let listening = signal(SignalKind::from_raw(SIGXFSZ));
        listening.map(drop).context("listening for SIGXFSZ")?;
    }
    Ok(())
}

/// Ends the process after `timeout` with the exit code [`TIMED_OUT_EXIT_CODE`], whatever still runs or blocks.
pub fn exit_after(timeout: Duration) {
    std::thread::spawn(move || {
        std::thread::sleep(timeout);
        // Logging blocks if stderr is not read. A blocked log must not delay the exit.
        let (logged, done) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            tracing::error!("shutdown timed out after {} s; exiting", timeout.as_secs_f32());
            // The receiver may have timed out already.
            let _sent = logged.send(());
        });
        let _logged = done.recv_timeout(LAST_LINE_TIMEOUT);
        exit(TIMED_OUT_EXIT_CODE);
    });
}

#[expect(clippy::disallowed_methods, reason = "the second signal, or a shutdown that timed out")]
fn exit(code: i32) -> ! {
    std::process::exit(code)
}
