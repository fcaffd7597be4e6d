//! Workers that are kept warm: one request at a time each, started again after a crash, ended when
//! nobody needs them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::Semaphore;

use crate::child::{Child, Line};
use crate::command::Command;
use crate::fault::Fault;
use crate::place::{Identity, Place};

/// Every command of this host, and the workers that wait for their next request.
#[derive(Default)]
pub struct Commands {
    all: BTreeMap<String, (Arc<Command>, Arc<Semaphore>)>,
    idle: Arc<Mutex<Vec<Worker>>>,
}

/// A worker, which serves one command in one directory.
struct Worker {
    command: String,
    place: Option<Identity>,
    child: Child,
    since: Instant,
}

impl Commands {
    /// These commands.
    pub fn new(commands: impl IntoIterator<Item = Command>) -> Self {
        let all = commands.into_iter().map(|command| {
            let slots = Arc::new(Semaphore::new(command.workers()));
            (command.name.clone(), (Arc::new(command), slots))
        });
        Self { all: all.collect(), idle: Arc::default() }
    }

    /// The command of that name.
    pub fn get(&self, name: &str) -> Option<Arc<Command>> {
        self.all.get(name).map(|(command, _)| command.clone())
    }

    /// Has a worker answer a request: one that is warm, or a new one.
    ///
    /// # Errors
    ///
    /// See [`Fault`]. A worker that failed is ended, and no other request notices.
    pub async fn request(
        &self,
        command: &Arc<Command>,
        place: Option<&Place>,
        message: &str,
    ) -> Result<String, Fault> {
        let work = async {
            let slots = self.all.get(&command.name).map(|(_, slots)| slots);
            let _slot = match slots {
                Some(slots) => Some(slots.acquire().await.expect("never closed")),
                None => None,
            };
            self.ask(command, place, message).await
        };
        tokio::time::timeout(command.time(), work).await.unwrap_or(Err(Fault::TimedOut))
    }

    async fn ask(
        &self,
        command: &Arc<Command>,
        place: Option<&Place>,
        message: &str,
    ) -> Result<String, Fault> {
        let identity = place.map(Place::identity).transpose()?;
        let most = command.output_bytes();
        // One that ended while it waited has said nothing wrong of this request.
        while let Some(mut worker) = self.take(command, &identity) {
            match worker.child.ask(message, most).await? {
                Line::Text(answer) => {
                    self.put_back(command, worker);
                    return Ok(answer);
                }
                Line::TooLong => return Err(Fault::TooLarge),
                Line::NoText => return Err(no_text()),
                Line::Ended => {}
            }
        }
        let child = command.start(place, &[]).await?;
        let name = command.name.clone();
        let mut worker = Worker { command: name, place: identity, child, since: Instant::now() };
        match worker.child.ask(message, most).await? {
            Line::Text(answer) => {
                self.put_back(command, worker);
                Ok(answer)
            }
            Line::TooLong => Err(Fault::TooLarge),
            Line::NoText => Err(no_text()),
            Line::Ended => Err(Fault::Failed(worker.child.end().await)),
        }
    }

    fn take(&self, command: &Command, place: &Option<Identity>) -> Option<Worker> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |worker: &Worker| worker.command == command.name && worker.place == *place;
        idle.iter().position(fits).map(|index| idle.swap_remove(index))
    }

    fn put_back(&self, command: &Arc<Command>, mut worker: Worker) {
        if worker.child.memory().is_some_and(|bytes| bytes > command.memory_bytes()) {
            return;
        }
        worker.since = Instant::now();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let of_command = |worker: &Worker| worker.command == command.name;
        // Those that wait are never more than may work at once: the one longest unused makes room.
        if idle.iter().filter(|worker| of_command(worker)).count() >= command.workers() {
            let oldest = (0..idle.len())
                .filter(|index| of_command(&idle[*index]))
                .min_by_key(|index| idle[*index].since);
            oldest.map(|index| idle.swap_remove(index));
        }
        idle.push(worker);
        drop(idle);
        // Whoever is last to be put back sees to it that those before it end in time, too.
        let (idle, command) = (Arc::downgrade(&self.idle), command.clone());
        tokio::spawn(async move {
            tokio::time::sleep(command.idle()).await;
            let Some(idle) = idle.upgrade() else { return };
            let mut idle = idle.lock().unwrap_or_else(PoisonError::into_inner);
            let expired = |worker: &Worker| {
                worker.command == command.name && worker.since.elapsed() >= command.idle()
            };
            idle.retain(|worker| !expired(worker));
        });
    }
}

fn no_text() -> Fault {
    Fault::Failed("its answer is not UTF-8".to_owned())
}
