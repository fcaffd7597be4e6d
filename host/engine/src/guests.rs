//! The threads that guests run on, apart from those that speak with clients.
//!
//! A call begins where it is asked for: most end within microseconds, and a change of threads
//! would cost more than they do. A guest that computes for longer than a tick, or waits, is moved
//! to threads of its own, so that no number of busy guests delays a client's `ping`. What reads and
//! writes files waits before it begins, and then does so on those threads.

use std::future::Future;
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::Poll;

use tokio::runtime::{Builder, Runtime};
use tokio_util::task::AbortOnDropHandle;

/// There are so many threads for guests at least.
const LEAST: usize = 4;

/// Threads for guests, started with the first that needs one.
#[derive(Default)]
pub struct Guests(OnceLock<Option<Runtime>>);

impl Guests {
    /// Runs a guest to its end. Dropped, it ends the guest at its next tick. It is boxed where it is made:
    /// it is large, and each hand it goes through would copy it.
    ///
    /// # Errors
    ///
    /// The guest's own, or that the host's thread failed.
    pub async fn run<T: Send + 'static>(
        &self,
        mut work: Pin<Box<impl Future<Output = wasmtime::Result<T>> + Send + 'static>>,
    ) -> wasmtime::Result<T> {
        if let Poll::Ready(done) = first_slice(&mut work).await {
            return done;
        }
        match self.runtime() {
            Some(runtime) => AbortOnDropHandle::new(runtime.spawn(work)).await?,
            // No thread to be had: better slow than not at all.
            None => work.await,
        }
    }

    fn runtime(&self) -> Option<&Runtime> {
        let start = || {
            let threads = std::thread::available_parallelism().map_or(1, usize::from).max(LEAST);
            Builder::new_multi_thread()
                .thread_name("guest")
                // Some may be waiting for a disk.
                .worker_threads(threads)
                .enable_all()
                // A guest that computes gives way every tick: look for others each time.
                .event_interval(1)
                .global_queue_interval(1)
                .build()
                .inspect_err(|error| tracing::error!("starting threads for guests: {error}"))
                .ok()
        };
        self.0.get_or_init(start).as_ref()
    }
}

/// Polls once.
async fn first_slice<F: Future>(work: &mut Pin<Box<F>>) -> Poll<F::Output> {
    std::future::poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await
}

impl Drop for Guests {
    fn drop(&mut self) {
        if let Some(Some(runtime)) = self.0.take() {
            // Not waited for: a guest in the middle of a host call must not hold up the end.
            runtime.shutdown_background();
        }
    }
}
