//! Signals that would end this program without a word.

/// Its number on every system and processor that this program is built for.
#[cfg(unix)]
const SIGXFSZ: i32 = 25;

/// Has a write that passes a limit of file sizes (`ulimit -f`) fail with an error, which is told, instead
/// of ending this program by SIGXFSZ. Children begin with what the system does by default, since what
/// listens to a signal is not handed on to another program.
///
/// # Errors
///
/// In words for the operator, where the system does not let this program listen to the signal.
pub(super) fn outlive_file_limits() -> Result<(), String> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let failed = |error: std::io::Error| format!("listening to signals: {error}");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
        let runtime = runtime.map_err(failed)?;
        let _inside = runtime.enter();
        // Once listened to, the signal is not what it was for as long as this process lives.
        signal(SignalKind::from_raw(SIGXFSZ)).map(drop).map_err(failed)?;
    }
    Ok(())
}
