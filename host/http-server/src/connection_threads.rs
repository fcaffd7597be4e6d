//! The threads that serve connections. Each thread has a runtime of its own, and a connection stays on its thread: passing
//! a message to another thread takes longer than most requests.

use std::io;

use tokio::runtime::{Builder, Handle};
use tokio_util::sync::{CancellationToken, DropGuard};

/// Threads that serve connections, which take turns. They end when this value is dropped, and so do the tasks on them.
pub(crate) struct ConnectionThreads {
    threads: Vec<Thread>,
    next: usize,
}

struct Thread {
    runtime: Handle,
    /// Ends the thread when it is dropped. `None`: the thread of the caller, which stays.
    _end: Option<DropGuard>,
}

impl ConnectionThreads {
    /// The thread of the caller, which has a runtime of tokio, and `more` threads. If the system has too few threads, there
    /// are fewer.
    pub(crate) fn new(more: usize) -> Self {
        let mut threads = vec![Thread { runtime: Handle::current(), _end: None }];
        for _ in 0..more {
            match Thread::start() {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    tracing::warn!("cannot start a thread that serves connections: {error}");
                    break;
                }
            }
        }
        Self { threads, next: 0 }
    }

    /// The runtime of the next thread.
    pub(crate) fn next(&mut self) -> &Handle {
        let turn = self.next % self.threads.len();
        self.next = turn + 1;
        &self.threads[turn].runtime
    }
}

impl Thread {
    /// Starts a thread, which runs the tasks of its runtime until the returned value is dropped.
    ///
    /// # Errors
    ///
    /// The system has no threads or files left.
    fn start() -> io::Result<Self> {
        let end = CancellationToken::new();
        let ended = end.clone().cancelled_owned();
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        std::thread::Builder::new().name("connections".into()).spawn(move || {
            runtime.block_on(ended);
            // A task that blocks must not delay the end of the process.
            runtime.shutdown_background();
        })?;
        Ok(Self { runtime: handle, _end: Some(end.drop_guard()) })
    }
}
