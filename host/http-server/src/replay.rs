//! Event streams that a client can resume.
//!
//! rmcp forgets a stream's events when its request has been answered, so that a client whose
//! connection broke while it waited would never learn the answer; and it waits for a client that
//! does not read, with everything else of that session. Here each stream is written to a log first,
//! and clients read from logs.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt, stream};
use parking_lot::Mutex;
use rmcp::transport::streamable_http_server::session::{EventStream, ServerSseMessage};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::timeouts::SEND_TIMEOUT;

/// Events of one stream that are kept for a client that comes back, or reads slowly.
const EVENTS: usize = 64;

/// How long a stream is kept after its last event.
const KEPT: Duration = Duration::from_secs(60);

/// Streams of one session that are kept after their last event.
const ENDED: usize = 16;

/// The streams of one session.
pub(crate) struct Streams {
    /// Those that answer one request, by their number.
    logs: Mutex<Logs>,
    /// The one that is for all else, and whether it is written.
    common: Arc<Log>,
    common_begun: Mutex<bool>,
    /// Size of what one stream, and of what all that have ended together, may hold, in bytes of JSON.
    max_bytes: usize,
}

#[derive(Default)]
struct Logs {
    next: u64,
    open: BTreeMap<u64, Arc<Log>>,
}

impl Streams {
    pub(crate) fn new(max_bytes: usize) -> Arc<Self> {
        Arc::new(Self {
            logs: Mutex::default(),
            // 0 is the event by which rmcp tells how to come back, before there are others.
            common: Log::new(None, 1, max_bytes),
            common_begun: Mutex::new(false),
            max_bytes,
        })
    }

    /// The stream of a request that begins.
    pub(crate) fn begin(
        self: &Arc<Self>,
        written: impl Stream<Item = ServerSseMessage> + Send + Unpin + 'static,
    ) -> EventStream {
        let log = {
            let mut logs = self.logs.lock();
            let number = logs.next;
            logs.next += 1;
            let log = Log::new(Some(number), 0, self.max_bytes);
            logs.open.insert(number, log.clone());
            log
        };
        let reader = log.read(None);
        let this = self.clone();
        tokio::spawn(async move {
            log.write(written).await;
            this.forget();
        });
        reader
    }

    /// Whether the common stream has to be opened, with [`Streams::write_common`].
    pub(crate) fn needs_common(&self) -> bool {
        !std::mem::replace(&mut *self.common_begun.lock(), true)
    }

    /// Has the common stream written.
    pub(crate) fn write_common(
        &self,
        written: impl Stream<Item = ServerSseMessage> + Send + Unpin + 'static,
    ) {
        let log = self.common.clone();
        tokio::spawn(async move { log.write(written).await });
    }

    /// What nobody has read of the common stream, and what will come.
    pub(crate) fn read_common(&self) -> EventStream {
        self.common.read(None)
    }

    /// What came after an event, and what will come. `None`: nothing is known of that event's stream.
    pub(crate) fn resume(&self, after: &str) -> Option<EventStream> {
        let (number, log) = match after.split_once('/') {
            None => (after, self.common.clone()),
            Some((number, stream)) => {
                (number, self.logs.lock().open.get(&stream.parse().ok()?)?.clone())
            }
        };
        let next = number.parse::<u64>().ok()?.checked_add(1)?;
        Some(log.read(Some(next)))
    }

    /// Forgets the oldest of what has ended, as far as it is too much. Of a stream, the answer is the
    /// last to go.
    fn forget(&self) {
        let mut logs = self.logs.lock();
        let ended = logs.open.iter().filter_map(|(number, log)| {
            let at = log.state.borrow().ended?;
            Some((at, *number, log.clone()))
        });
        let mut ended: Vec<_> = ended.collect();
        ended.sort_by_key(|(at, number, _)| std::cmp::Reverse((*at, *number)));
        let mut left = self.max_bytes;
        for (place, (at, number, log)) in ended.into_iter().enumerate() {
            let mut kept = 0;
            log.state.send_modify(|state| {
                // Who reads now will have it all.
                if state.readers.is_empty() {
                    state.forget(state.surplus(EVENTS, left));
                }
                kept = state.bytes;
            });
            if kept == 0 || kept > left || place >= ENDED || at.elapsed() > KEPT {
                logs.open.remove(&number);
            } else {
                left -= kept;
            }
        }
    }
}

/// One stream.
struct Log {
    number: Option<u64>,
    state: watch::Sender<State>,
}

struct State {
    /// With their sizes.
    events: VecDeque<(ServerSseMessage, usize)>,
    /// The number of the first of them.
    first: u64,
    /// The number of the next that no reader has taken.
    taken: u64,
    /// Who reads, in the order in which they came. The last of them gets the events: the others have
    /// lost their connection, or their client has opened more than it needs. They are not sent
    /// away, as each of them would come back, and so for ever.
    readers: Vec<u64>,
    /// The number of the next reader.
    next_reader: u64,
    /// Readers with smaller numbers stayed behind and are sent away.
    given_up: u64,
    ended: Option<Instant>,
    bytes: usize,
    max_bytes: usize,
}

enum Next {
    Event(ServerSseMessage),
    Wait,
    End,
}

impl Log {
    fn new(number: Option<u64>, first: u64, max_bytes: usize) -> Arc<Self> {
        let state = State {
            events: VecDeque::new(),
            first,
            taken: first,
            readers: Vec::new(),
            next_reader: 0,
            given_up: 0,
            ended: None,
            bytes: 0,
            max_bytes,
        };
        Arc::new(Self { number, state: watch::Sender::new(state) })
    }

    async fn write(&self, mut written: impl Stream<Item = ServerSseMessage> + Unpin) {
        while let Some(event) = written.next().await {
            self.push(event).await;
        }
        self.state.send_modify(|state| state.ended = Some(Instant::now()));
    }

    /// Adds an event. Waits while readers are behind; those that stay behind are given up.
    async fn push(&self, event: ServerSseMessage) {
        let size = size(&event);
        let mut event = Some(event);
        let mut changes = self.state.subscribe();
        let deadline = Instant::now() + SEND_TIMEOUT;
        let mut late = false;
        loop {
            changes.borrow_and_update();
            self.state.send_if_modified(|state| {
                // The newest has room however large it is: there will be no other chance to send it.
                let surplus = state.surplus(EVENTS - 1, state.max_bytes.saturating_sub(size));
                if late {
                    state.given_up = state.next_reader;
                } else if state.is_unread(surplus) {
                    return false;
                }
                state.forget(surplus);
                event.take().is_some_and(|event| {
                    state.append(self.number, event, size);
                    true
                })
            });
            if event.is_none() {
                return;
            }
            late = tokio::time::timeout_at(deadline, changes.changed()).await.is_err();
        }
    }

    /// Reads what nobody has read, and what will come; after a replay from an event on, if so.
    fn read(self: &Arc<Self>, replay: Option<u64>) -> EventStream {
        let mut number = 0;
        self.state.send_modify(|state| {
            number = state.next_reader;
            state.next_reader += 1;
            state.readers.push(number);
        });
        let changes = self.state.subscribe();
        let reader = Reader { log: self.clone(), changes, number, replay };
        Box::pin(stream::unfold(reader, |mut reader| async {
            let event = reader.next().await?;
            Some((event, reader))
        }))
    }
}

impl State {
    /// How many of the oldest events are over what there may be.
    fn surplus(&self, events: usize, bytes: usize) -> usize {
        let mut left = (self.events.len(), self.bytes);
        let over = self.events.iter().take_while(|(_, size)| {
            let is_over = left.0 > events || left.1 > bytes;
            left = (left.0 - 1, left.1 - size);
            is_over
        });
        over.count()
    }

    /// Whether a reader has yet to take one of the oldest events.
    fn is_unread(&self, oldest: usize) -> bool {
        !self.readers.is_empty() && self.first + oldest as u64 > self.taken
    }

    fn forget(&mut self, oldest: usize) {
        self.first += oldest as u64;
        self.bytes -= self.events.drain(..oldest).map(|(_, size)| size).sum::<usize>();
    }

    fn append(&mut self, stream: Option<u64>, mut event: ServerSseMessage, size: usize) {
        let number = self.first + self.events.len() as u64;
        event.event_id = Some(match stream {
            Some(stream) => format!("{number}/{stream}"),
            None => number.to_string(),
        });
        self.bytes += size;
        self.events.push_back((event, size));
    }

    fn take(&mut self, reader: u64, replay: &mut Option<u64>) -> Next {
        if reader < self.given_up {
            return Next::End;
        }
        let wait = || if self.ended.is_some() { Next::End } else { Next::Wait };
        if self.readers.last() != Some(&reader) {
            return wait();
        }
        // Of a stream that went on for long without a reader, the newest events are left.
        let wanted = replay.unwrap_or(self.taken).clamp(self.first, self.taken.max(self.first));
        let place = usize::try_from(wanted - self.first).ok();
        let Some((event, _)) = place.and_then(|place| self.events.get(place)) else {
            return wait();
        };
        self.taken = self.taken.max(wanted + 1);
        *replay = (wanted + 1 < self.taken).then_some(wanted + 1);
        Next::Event(event.clone())
    }
}

struct Reader {
    log: Arc<Log>,
    changes: watch::Receiver<State>,
    number: u64,
    /// The next of the events that it gets again.
    replay: Option<u64>,
}

impl Reader {
    async fn next(&mut self) -> Option<ServerSseMessage> {
        loop {
            self.changes.borrow_and_update();
            let mut next = Next::Wait;
            self.log.state.send_if_modified(|state| {
                next = state.take(self.number, &mut self.replay);
                matches!(next, Next::Event(_))
            });
            match next {
                Next::Event(event) => return Some(event),
                Next::End => return None,
                Next::Wait => self.changes.changed().await.ok()?,
            }
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let number = self.number;
        self.log.state.send_modify(|state| state.readers.retain(|reader| *reader != number));
    }
}

/// How long an event is when it is written.
fn size(event: &ServerSseMessage) -> usize {
    struct Counted(usize);
    impl Write for Counted {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut counted = Counted(0);
    match event.message.as_deref().map(|message| serde_json::to_writer(&mut counted, message)) {
        Some(Ok(())) | None => counted.0,
        // It will not be written either.
        Some(Err(_)) => 0,
    }
}

#[cfg(test)]
#[path = "replay_tests.rs"]
mod tests;
