//! The transport over stdin and stdout of a child process, with one message per line.

use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::calls::{Calls, Origin};
use crate::child::Child;
use crate::definition::Command;
use crate::fault::FaultCause;
use crate::lines::{Line, Lines};

/// Maximum number of messages that are queued for a child. Further senders wait.
const QUEUED: usize = 64;

/// How long to wait for the last output of a child that has ended, or for the end of a child that has closed a pipe.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A child process and its pipes.
pub(crate) struct Stdio {
    queue: mpsc::Sender<Vec<u8>>,
    process: Option<u32>,
    runtime: Handle,
    /// The task that ends the child. It is done when the child has ended.
    supervisor: Mutex<Option<JoinHandle<()>>>,
    end: CancellationToken,
    _ends_with_this: DropGuard,
}

impl Stdio {
    /// Starts a command. Its messages have at most `most` bytes.
    pub(crate) fn open(
        command: &Command,
        launcher: Option<&Path>,
        calls: &Arc<Calls>,
        most: usize,
    ) -> Result<Self, FaultCause> {
        let (child, pipes) = Child::start(command, launcher, &calls.upstream)?;
        let (queue, queued) = mpsc::channel(QUEUED);
        let end = CancellationToken::new();
        let writing = tokio::spawn(write(pipes.stdin, queued, end.clone()));
        let reader = Reader { calls: calls.clone(), queue: queue.clone(), most };
        let reading = tokio::spawn(reader.read(pipes.stdout));
        let process = child.id();
        let supervisor =
            tokio::spawn(supervise(child, reading, writing, calls.clone(), end.clone()));
        Ok(Self {
            queue,
            process,
            runtime: Handle::current(),
            supervisor: Mutex::new(Some(supervisor)),
            _ends_with_this: end.clone().drop_guard(),
            end,
        })
    }

    pub(crate) async fn place(&self) -> Result<mpsc::Permit<'_, Vec<u8>>, FaultCause> {
        self.queue
            .reserve()
            .await
            .map_err(|_| FaultCause::lost("its process no longer reads its stdin"))
    }

    /// Sends a message in the background.
    pub(crate) fn send_soon(&self, message: Vec<u8>) {
        if let Err(mpsc::error::TrySendError::Full(message)) = self.queue.try_send(message) {
            // The number of these tasks is limited: a new request waits behind them for its place in the queue.
            let queue = self.queue.clone();
            self.runtime.spawn(async move { queue.send(message).await });
        }
    }

    pub(crate) fn process(&self) -> Option<u32> {
        self.process
    }

    /// Ends the child, and waits until it has ended.
    pub(crate) async fn close(&self) {
        self.end.cancel();
        let supervisor = self.supervisor.lock().take();
        if let Some(supervisor) = supervisor {
            let _ended = supervisor.await;
        }
    }
}

/// Writes queued messages, until the connection is closed.
async fn write(mut stdin: ChildStdin, mut queue: mpsc::Receiver<Vec<u8>>, end: CancellationToken) {
    let writing = async {
        while let Some(mut message) = queue.recv().await {
            message.push(b'\n');
            if stdin.write_all(&message).await.is_err() || stdin.flush().await.is_err() {
                break;
            }
        }
    };
    let _ended = end.run_until_cancelled(writing).await;
    // Dropping stdin closes it, which tells the child to end.
}

struct Reader {
    calls: Arc<Calls>,
    queue: mpsc::Sender<Vec<u8>>,
    most: usize,
}

impl Reader {
    /// Reads stdout to its end.
    async fn read(self, stdout: ChildStdout) {
        let mut lines = Lines::new(stdout, self.most);
        loop {
            let replies = match lines.next().await {
                Ok(Some(Line::Text(line))) => self.calls.receive(line, Origin::Shared),
                Ok(Some(Line::TooLong(unread))) => {
                    self.calls.too_large(unread, Origin::Shared, self.most)
                }
                Ok(None) | Err(_) => return,
            };
            for reply in replies {
                // Waiting here could be a deadlock: the child may not read until its output was read.
                if self.queue.try_send(reply).is_err() {
                    self.calls.warn("it does not read its stdin: an answer to it is dropped");
                }
            }
        }
    }
}

/// Waits until a child ends or has to be ended, and ends it.
async fn supervise(
    mut child: Child,
    mut reading: JoinHandle<()>,
    mut writing: JoinHandle<()>,
    calls: Arc<Calls>,
    end: CancellationToken,
) {
    let deaf_or_mute = tokio::select! {
        biased;
        () = end.cancelled() => {
            calls.end(&FaultCause::Closed);
            child.end().await;
            reading.abort();
            return;
        }
        status = child.ended() => {
            calls.retire(FaultCause::lost("its process has ended"));
            // The pipe may still contain output of the child.
            let _read = timeout(LAST_WORDS, &mut reading).await;
            calls.end(&FaultCause::lost(child.exit_report(&in_words(status))));
            end.cancel();
            reading.abort();
            return;
        }
        _ = &mut reading => "it closed its stdout",
        _ = &mut writing => "it closed its stdin",
    };
    calls.retire(FaultCause::lost(deaf_or_mute));
    // Usually, the child is about to end.
    let status = child.ended_within(LAST_WORDS).await;
    let why = if status.is_some() { in_words(status) } else { deaf_or_mute.to_owned() };
    calls.end(&FaultCause::lost(child.exit_report(&why)));
    end.cancel();
    child.end().await;
    reading.abort();
}

fn in_words(status: Option<ExitStatus>) -> String {
    match status {
        Some(status) => format!("its process ended ({status})"),
        None => "its process ended".to_owned(),
    }
}
