//! Runs work that waits for a file system or for another process on a thread of its own, because each thread that serves
//! clients serves many of them.

/// Runs `work` on a thread that may block. A panic in `work` is resumed in the task that waits for the result.
pub async fn on_a_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime ends, and this task with it.
            Err(_) => std::future::pending().await,
        },
    }
}
