//! The threads that guests run on, apart from the threads that serve clients.
//!
//! A call begins on the thread that serves its client: most calls end within microseconds, and a change of threads would
//! take longer. A guest that computes for longer than a tick, or waits, is moved to the threads of guests, so that
//! busy guests do not delay a client's `ping`. A guest that uses files is moved before its first operation on a file.

use std::future::Future;
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::Poll;

use tokio::runtime::{Builder, Runtime};
use tokio_util::task::AbortOnDropHandle;

/// Minimum number of threads for guests.
const MIN_THREADS: usize = 4;

/// The threads for guests, which are started when a guest first needs one.
#[derive(Default)]
pub struct Guests(OnceLock<Option<Runtime>>);

impl Guests {
    /// Runs a guest to its end. If this future is dropped, the guest ends at its next tick or wait. `work` is in a
    /// box, because it is large and each move would copy it.
    ///
    /// # Errors
    ///
    /// The error of the guest, or a panic on its thread.
    pub async fn run<T: Send + 'static>(
        &self,
        mut work: Pin<Box<impl Future<Output = wasmtime::Result<T>> + Send + 'static>>,
    ) -> wasmtime::Result<T> {
        if let Poll::Ready(done) = first_slice(&mut work).await {
            return done;
        }
        match self.runtime() {
            Some(runtime) => AbortOnDropHandle::new(runtime.spawn(work)).await?,
            // The system has no threads left: the guest runs on this thread.
            None => work.await,
        }
    }

    fn runtime(&self) -> Option<&Runtime> {
        let start = || {
            let threads =
                std::thread::available_parallelism().map_or(1, usize::from).max(MIN_THREADS);
            Builder::new_multi_thread()
                .thread_name("guest")
                // Some guests may wait for a disk, so there are several threads even on one processor.
                .worker_threads(threads)
                .enable_all()
                // A guest that computes yields every tick: the runtime checks for other work each time.
                .event_interval(1)
                .global_queue_interval(1)
                .build()
                .inspect_err(|error| tracing::error!("cannot start threads for guests: {error}"))
                .ok()
        };
        self.0.get_or_init(start).as_ref()
    }
}

/// Polls the work once.
async fn first_slice<F: Future>(work: &mut Pin<Box<F>>) -> Poll<F::Output> {
    std::future::poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await
}

impl Drop for Guests {
    fn drop(&mut self) {
        if let Some(Some(runtime)) = self.0.take() {
            // The shutdown does not wait: a guest inside a host call must not delay the end of the process.
            runtime.shutdown_background();
        }
    }
}
