//! Event streams that a client can resume.
//!
//! rmcp drops the events of a stream once the response was sent. If the connection breaks before the client has
//! received the response, rmcp cannot send the response again. rmcp also blocks a whole session while one of the
//! client's connections does not read. Therefore, each stream is written to a buffer here, and clients read from it.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt, stream};
use parking_lot::Mutex;
use rmcp::transport::streamable_http_server::session::{EventStream, ServerSseMessage};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::shared_events::ResponseLog;
use crate::timeouts::SEND_TIMEOUT;

/// Maximum number of events in the buffer of one stream, for a client that resumes the stream or reads slowly.
const MAX_EVENTS: usize = 64;

/// Time for which a stream is kept after its end.
const KEEP_ENDED: Duration = Duration::from_secs(60);

/// Maximum number of ended streams that are kept of one session.
const MAX_ENDED: usize = 16;

/// The streams of one session.
pub(crate) struct Streams {
    /// The buffers of the streams that each respond to one request (POST).
    logs: Mutex<EventBuffers>,
    /// The buffer of the standalone stream (GET), for all other messages.
    common: Arc<EventBuffer>,
    /// Whether the standalone stream is being written to its buffer.
    common_begun: Mutex<bool>,
    /// Maximum size of one buffer, and of all buffers of ended streams together, in bytes of JSON.
    max_bytes: usize,
}

#[derive(Default)]
struct EventBuffers {
    next: u64,
    open: BTreeMap<u64, Arc<EventBuffer>>,
}

impl Streams {
    pub(crate) fn new(max_bytes: usize) -> Arc<Self> {
        Arc::new(Self {
            logs: Mutex::default(),
            // Event number 0 is rmcp's priming event, which tells the client how to resume.
            common: EventBuffer::new(None, 1, max_bytes),
            common_begun: Mutex::new(false),
            max_bytes,
        })
    }

    /// Begins the stream of a request, with the `events` from rmcp. `log`: where other hosts find the events. It also has
    /// the stream's name; without it, the name is a number.
    pub(crate) fn begin(
        self: &Arc<Self>,
        events: impl Stream<Item = ServerSseMessage> + Send + Unpin + 'static,
        log: Option<ResponseLog>,
    ) -> EventStream {
        let buffer = {
            let mut logs = self.logs.lock();
            let number = logs.next;
            logs.next += 1;
            let name =
                log.as_ref().map_or_else(|| number.to_string(), |log| log.stream().to_owned());
            let buffer = EventBuffer::new(Some(name), 0, self.max_bytes);
            logs.open.insert(number, buffer.clone());
            buffer
        };
        let reader = buffer.read(None);
        let this = self.clone();
        tokio::spawn(async move {
            buffer.write(events, log).await;
            this.drop_ended();
        });
        reader
    }

    /// Claims the task of writing the standalone stream. Returns `true` to the first caller, who has to call
    /// [`Streams::write_standalone`].
    pub(crate) fn needs_common(&self) -> bool {
        !std::mem::replace(&mut *self.common_begun.lock(), true)
    }

    /// Begins to write the standalone stream, with the `events` from rmcp.
    pub(crate) fn write_standalone(
        &self,
        events: impl Stream<Item = ServerSseMessage> + Send + Unpin + 'static,
    ) {
        let buffer = self.common.clone();
        tokio::spawn(async move { buffer.write(events, None).await });
    }

    /// Reads the standalone stream: the events that no reader has read, and all later ones.
    pub(crate) fn read_common(&self) -> EventStream {
        self.common.read(None)
    }

    /// Resumes a stream after the event with this id. `None`: the id is invalid, or the event's stream is not kept.
    pub(crate) fn resume(&self, after: &str) -> Option<EventStream> {
        let (number, buffer) = match after.split_once('/') {
            None => (after, self.common.clone()),
            Some((number, stream)) => (number, self.named(stream)?),
        };
        let next = number.parse::<u64>().ok()?.checked_add(1)?;
        Some(buffer.read(Some(next)))
    }

    /// The buffer of the stream with this name.
    fn named(&self, name: &str) -> Option<Arc<EventBuffer>> {
        let logs = self.logs.lock();
        let mut open = logs.open.values();
        open.find(|buffer| buffer.name.as_deref() == Some(name)).cloned()
    }

    /// Keeps the newest ended streams within the limits of number, age and size, and removes the other ended streams. A
    /// stream that is too large loses its oldest events first, so that its last event, the response, stays longest.
    fn drop_ended(&self) {
        let mut logs = self.logs.lock();
        let ended = logs.open.iter().filter_map(|(number, buffer)| {
            let at = buffer.state.borrow().ended?;
            Some((at, *number, buffer.clone()))
        });
        let mut ended: Vec<_> = ended.collect();
        ended.sort_by_key(|(at, number, _)| std::cmp::Reverse((*at, *number)));
        let mut bytes_left = self.max_bytes;
        for (index, (at, number, buffer)) in ended.into_iter().enumerate() {
            let mut kept_bytes = 0;
            buffer.state.send_modify(|state| {
                // A stream that is being read keeps its events.
                if state.readers.is_empty() {
                    state.drop_oldest(state.evictable(MAX_EVENTS, bytes_left));
                }
                kept_bytes = state.bytes;
            });
            if kept_bytes == 0
                || kept_bytes > bytes_left
                || index >= MAX_ENDED
                || at.elapsed() > KEEP_ENDED
            {
                logs.open.remove(&number);
            } else {
                bytes_left -= kept_bytes;
            }
        }
    }
}

/// The buffer of one stream.
struct EventBuffer {
    /// The name of the stream. `None`: the standalone stream.
    name: Option<String>,
    state: watch::Sender<State>,
}

struct State {
    /// The events that are kept, and their sizes.
    events: VecDeque<(ServerSseMessage, usize)>,
    /// The number of the first kept event.
    first: u64,
    /// The number of the first event that no reader has read.
    unread: u64,
    /// The readers, oldest first. Only the newest reader gets events: the older readers belong to broken or surplus
    /// connections. Those connections are not ended, because a client would open them again at once.
    readers: Vec<u64>,
    /// The number of the next reader.
    next_reader: u64,
    /// Readers with numbers below this one were too slow: their connections end.
    too_slow: u64,
    /// The time of the end of the stream.
    ended: Option<Instant>,
    /// Size of the kept events, in bytes of JSON.
    bytes: usize,
    max_bytes: usize,
}

/// What a reader does next.
enum ReaderStep {
    Event(ServerSseMessage),
    Wait,
    End,
}

impl EventBuffer {
    fn new(name: Option<String>, first: u64, max_bytes: usize) -> Arc<Self> {
        let state = State {
            events: VecDeque::new(),
            first,
            unread: first,
            readers: Vec::new(),
            next_reader: 0,
            too_slow: 0,
            ended: None,
            bytes: 0,
            max_bytes,
        };
        Arc::new(Self { name, state: watch::Sender::new(state) })
    }

    /// Writes events to this buffer and then to the `log`, so that a client does not wait for the log.
    async fn write(
        &self,
        mut events: impl Stream<Item = ServerSseMessage> + Unpin,
        mut log: Option<ResponseLog>,
    ) {
        let mut number = 0;
        while let Some(event) = events.next().await {
            let message = log.as_ref().and(event.message.clone());
            self.push(event).await;
            if let (Some(log), Some(message)) = (&mut log, message) {
                log.append(number, &message).await;
            }
            number += 1;
        }
        self.state.send_modify(|state| state.ended = Some(Instant::now()));
        if let Some(log) = log {
            log.end(number).await;
        }
    }

    /// Adds an event. Waits for slow readers if the buffer is full. After [`SEND_TIMEOUT`], their connections end.
    async fn push(&self, event: ServerSseMessage) {
        let size = size(&event);
        let mut event = Some(event);
        let mut changes = self.state.subscribe();
        let deadline = Instant::now() + SEND_TIMEOUT;
        let mut is_late = false;
        loop {
            changes.borrow_and_update();
            self.state.send_if_modified(|state| {
                // The newest event is always kept, however large it is: it may be the response.
                let surplus = state.evictable(MAX_EVENTS - 1, state.max_bytes.saturating_sub(size));
                if is_late {
                    state.too_slow = state.next_reader;
                } else if state.is_unread(surplus) {
                    return false;
                }
                state.drop_oldest(surplus);
                event.take().is_some_and(|event| {
                    state.append(self.name.as_deref(), event, size);
                    true
                })
            });
            if event.is_none() {
                return;
            }
            is_late = tokio::time::timeout_at(deadline, changes.changed()).await.is_err();
        }
    }

    /// Reads the events that no reader has read, and all later ones. If `replay` is given, begins with the event of
    /// this number instead.
    fn read(self: &Arc<Self>, replay: Option<u64>) -> EventStream {
        let mut number = 0;
        self.state.send_modify(|state| {
            number = state.next_reader;
            state.next_reader += 1;
            state.readers.push(number);
        });
        let changes = self.state.subscribe();
        let reader = Reader { buffer: self.clone(), changes, number, replay };
        Box::pin(stream::unfold(reader, |mut reader| async {
            let event = reader.next().await?;
            Some((event, reader))
        }))
    }
}

impl State {
    /// How many of the oldest events to drop, so that the buffer meets these limits.
    fn evictable(&self, events: usize, bytes: usize) -> usize {
        let (mut events_left, mut bytes_left) = (self.events.len(), self.bytes);
        let over = self.events.iter().take_while(|(_, size)| {
            let is_over = events_left > events || bytes_left > bytes;
            events_left -= 1;
            bytes_left -= size;
            is_over
        });
        over.count()
    }

    /// Whether there is a reader, and one of the first `oldest` events is unread.
    fn is_unread(&self, oldest: usize) -> bool {
        !self.readers.is_empty() && self.first + oldest as u64 > self.unread
    }

    /// Drops the first `oldest` events.
    fn drop_oldest(&mut self, oldest: usize) {
        self.first += oldest as u64;
        self.bytes -= self.events.drain(..oldest).map(|(_, size)| size).sum::<usize>();
    }

    /// Adds an event with its id: `NUMBER/STREAM`, or `NUMBER` in the standalone stream.
    fn append(&mut self, stream: Option<&str>, mut event: ServerSseMessage, size: usize) {
        let number = self.first + self.events.len() as u64;
        event.event_id = Some(match stream {
            Some(stream) => format!("{number}/{stream}"),
            None => number.to_string(),
        });
        self.bytes += size;
        self.events.push_back((event, size));
    }

    /// The next event for a reader.
    fn next_for(&mut self, reader: u64, replay: &mut Option<u64>) -> ReaderStep {
        if reader < self.too_slow {
            return ReaderStep::End;
        }
        let wait = || if self.ended.is_some() { ReaderStep::End } else { ReaderStep::Wait };
        if self.readers.last() != Some(&reader) {
            return wait();
        }
        // If the wanted event was dropped, the oldest kept event is next. If the wanted event does not
        // exist yet, the next unread event is next.
        let wanted = replay.unwrap_or(self.unread).clamp(self.first, self.unread.max(self.first));
        let index = usize::try_from(wanted - self.first).ok();
        let Some((event, _)) = index.and_then(|index| self.events.get(index)) else {
            return wait();
        };
        self.unread = self.unread.max(wanted + 1);
        *replay = (wanted + 1 < self.unread).then_some(wanted + 1);
        ReaderStep::Event(event.clone())
    }
}

/// A reader of a buffer.
struct Reader {
    buffer: Arc<EventBuffer>,
    changes: watch::Receiver<State>,
    number: u64,
    /// The number of the next event that is replayed.
    replay: Option<u64>,
}

impl Reader {
    async fn next(&mut self) -> Option<ServerSseMessage> {
        loop {
            self.changes.borrow_and_update();
            let mut next = ReaderStep::Wait;
            self.buffer.state.send_if_modified(|state| {
                next = state.next_for(self.number, &mut self.replay);
                matches!(next, ReaderStep::Event(_))
            });
            match next {
                ReaderStep::Event(event) => return Some(event),
                ReaderStep::End => return None,
                ReaderStep::Wait => self.changes.changed().await.ok()?,
            }
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let number = self.number;
        self.buffer.state.send_modify(|state| state.readers.retain(|reader| *reader != number));
    }
}

/// The size of an event as JSON, in bytes.
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
        // An event that cannot be serialised is not sent either.
        Some(Err(_)) => 0,
    }
}

#[cfg(test)]
#[path = "replay_tests.rs"]
mod tests;
