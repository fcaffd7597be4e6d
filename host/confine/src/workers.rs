//! Workers: processes that are kept for further requests. A worker serves one request at a time, is replaced after a
//! crash, and ends after it was idle for the configured time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::Semaphore;

use crate::child::{Child, Reply};
use crate::command::Command;
use crate::error::CommandError;
use crate::working_directory::{Identity, WorkingDirectory};

/// All commands of this host, and the idle workers.
#[derive(Default)]
pub struct Commands {
    all: BTreeMap<String, (Arc<Command>, Arc<Semaphore>)>,
    idle: Arc<Mutex<Vec<Worker>>>,
}

/// A worker, which serves one command in one directory.
struct Worker {
    command: String,
    directory: Option<Identity>,
    child: Child,
    idle_since: Instant,
}

impl Commands {
    /// The commands, without any workers yet.
    pub fn new(commands: impl IntoIterator<Item = Command>) -> Self {
        let all = commands.into_iter().map(|command| {
            let slots = Arc::new(Semaphore::new(command.max_workers()));
            (command.name.clone(), (Arc::new(command), slots))
        });
        Self { all: all.collect(), idle: Arc::default() }
    }

    /// The command with this name. `None`: there is no such command.
    pub fn get(&self, name: &str) -> Option<Arc<Command>> {
        self.all.get(name).map(|(command, _)| command.clone())
    }

    /// Sends a request to an idle worker or to a new one, and returns the answer.
    ///
    /// # Errors
    ///
    /// See [`CommandError`]. The time limit includes waiting for a free worker. A worker that failed is ended; other
    /// requests are not affected.
    pub async fn request(
        &self,
        command: &Arc<Command>,
        directory: Option<&WorkingDirectory>,
        message: &str,
    ) -> Result<String, CommandError> {
        let work = async {
            let entry = self.all.get(&command.name);
            let (_, slots) = entry.ok_or_else(|| CommandError::NotFound(command.name.clone()))?;
            let _slot = slots.acquire().await.expect("the semaphore is never closed");
            self.ask(command, directory, message).await
        };
        tokio::time::timeout(command.max_time(), work).await.unwrap_or(Err(CommandError::TimedOut))
    }

    async fn ask(
        &self,
        command: &Arc<Command>,
        directory: Option<&WorkingDirectory>,
        message: &str,
    ) -> Result<String, CommandError> {
        let identity = directory.map(WorkingDirectory::identity).transpose()?;
        let max_bytes = command.output_bytes();
        // An idle worker may be about to end. If it ends without an answer, a new worker gets the request. Other
        // idle workers do not get it: the request itself may have ended the first one.
        if let Some(mut worker) = self.take(command, &identity) {
            match worker.child.ask(message, max_bytes).await? {
                Reply::Text(answer) => {
                    self.put_back(command, worker);
                    return Ok(answer);
                }
                Reply::TooLong => return Err(CommandError::TooLarge),
                Reply::NotUtf8 => return Err(CommandError::NotUtf8),
                Reply::Ended => {}
            }
        }
        let child = command.start(directory, &[]).await?;
        let name = command.name.clone();
        let mut worker =
            Worker { command: name, directory: identity, child, idle_since: Instant::now() };
        match worker.child.ask(message, max_bytes).await? {
            Reply::Text(answer) => {
                self.put_back(command, worker);
                Ok(answer)
            }
            Reply::TooLong => Err(CommandError::TooLarge),
            Reply::NotUtf8 => Err(CommandError::NotUtf8),
            Reply::Ended => Err(CommandError::Ended(worker.child.end().await)),
        }
    }

    /// Takes an idle worker that serves the command in the directory and has not ended.
    fn take(&self, command: &Command, directory: &Option<Identity>) -> Option<Worker> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let fits =
            |worker: &Worker| worker.command == command.name && worker.directory == *directory;
        while let Some(index) = idle.iter().position(fits) {
            let mut worker = idle.swap_remove(index);
            if worker.child.is_running() {
                return Some(worker);
            }
        }
        None
    }

    fn put_back(&self, command: &Arc<Command>, mut worker: Worker) {
        if worker.child.memory().is_some_and(|bytes| bytes > command.memory_bytes()) {
            return;
        }
        worker.idle_since = Instant::now();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let is_of_command = |worker: &Worker| worker.command == command.name;
        // A command has at most as many idle workers as may work at the same time. If there would be more, the worker
        // that was idle for longest ends.
        if idle.iter().filter(|worker| is_of_command(worker)).count() >= command.max_workers() {
            let oldest = (0..idle.len())
                .filter(|index| is_of_command(&idle[*index]))
                .min_by_key(|index| idle[*index].idle_since);
            oldest.map(|index| idle.swap_remove(index));
        }
        idle.push(worker);
        drop(idle);
        // After the idle time, ends all workers of the command that have been idle for that long.
        let (idle, command) = (Arc::downgrade(&self.idle), command.clone());
        tokio::spawn(async move {
            tokio::time::sleep(command.max_idle()).await;
            let Some(idle) = idle.upgrade() else { return };
            let mut idle = idle.lock().unwrap_or_else(PoisonError::into_inner);
            let is_expired = |worker: &Worker| {
                worker.command == command.name && worker.idle_since.elapsed() >= command.max_idle()
            };
            idle.retain(|worker| !is_expired(worker));
        });
    }
}
