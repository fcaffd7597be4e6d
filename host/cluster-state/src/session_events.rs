//! Events of sessions: messages to a client, which any host may send.
//!
//! A session has two logs. The common one has the messages that belong to no request; its reader is the newest event
//! stream of the client, at whichever host. The other one has what was sent in response to requests, so that a
//! response that did not arrive can be fetched at another host.

use std::sync::LazyLock;
use std::time::Duration;

use redis::Script;

use crate::ClusterState;
use crate::error::StateError;
use crate::inbox::{HostId, inbox_key};
use crate::values::{key_of, milliseconds, number};

/// The kind of sessions.
pub(crate) const KIND: &str = "session";

/// The kind of the events that belong to no request.
const COMMON: &str = "session-events";

/// The kind of the events in response to requests.
const RESPONSES: &str = "session-responses";

/// Maximum number of events in one log.
const MAX_EVENTS: u64 = 128;

/// Maximum number of events that are read at once.
const BATCH: u64 = 16;

/// Appends an event to a log, unless the host did so before. Returns the event's number, or -1 if there is no session.
/// Drops the oldest events beyond the limits. Wakes the host of the reader.
static APPEND: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        r"
local log = ARGV[1]
if redis.call('EXISTS', KEYS[1]) == 0 then return -1 end
if redis.call('HGET', KEYS[1], log..'last:'..ARGV[2]) == ARGV[3] then return 0 end
redis.call('HSET', KEYS[1], log..'last:'..ARGV[2], ARGV[3])
redis.call('RPUSH', KEYS[2], ARGV[4])
local at = redis.call('HINCRBY', KEYS[1], log..'next', 1)
local bytes = redis.call('HINCRBY', KEYS[1], log..'bytes', #ARGV[4])
local count = redis.call('LLEN', KEYS[2])
while count > 1 and (count > tonumber(ARGV[5]) or bytes > tonumber(ARGV[6])) do
  local old = redis.call('LPOP', KEYS[2])
  bytes = redis.call('HINCRBY', KEYS[1], log..'bytes', -#old)
  count = count - 1
end
for _, key in ipairs({KEYS[1], KEYS[2]}) do redis.call('PEXPIRE', key, ARGV[7]) end
local reader = log == 'common:' and redis.call('HGET', KEYS[1], 'reader')
if reader then
  local inbox = ARGV[8]..string.sub(reader, 1, 32)
  redis.call('XADD', inbox, 'MAXLEN', '~', 1024, '*', 'wake', ARGV[9])
  redis.call('PEXPIRE', inbox, 60000)
end
return at
",
    )
});

/// Reads events from a number on. Returns the number of the first one and the events; nil if there is no session; an
/// empty list if another stream reads. A reader of the common log has read everything before the number.
static READ: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        r"
if redis.call('EXISTS', KEYS[1]) == 0 then return nil end
local log, from = ARGV[1], tonumber(ARGV[2])
local next = tonumber(redis.call('HGET', KEYS[1], log..'next') or '0') + 1
local first = next - redis.call('LLEN', KEYS[2])
if ARGV[3] ~= '' then
  local reader = redis.call('HGET', KEYS[1], 'reader')
  if reader ~= ARGV[3] then
    if reader and ARGV[4] ~= '1' then return {} end
    redis.call('HSET', KEYS[1], 'reader', ARGV[3])
  end
  local unread = tonumber(redis.call('HGET', KEYS[1], 'unread') or '1')
  if from < 0 or from > next then from = unread end
  if from > unread then redis.call('HSET', KEYS[1], 'unread', from) end
end
from = math.max(from, first)
local found = redis.call('LRANGE', KEYS[2], from - first, from - first + tonumber(ARGV[5]) - 1)
table.insert(found, 1, tostring(from))
return found
",
    )
});

/// Ends the reading of a stream, so that an older stream or the next one reads. Events before the number are read.
static RELEASE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        r"
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local unread = tonumber(redis.call('HGET', KEYS[1], 'unread') or '1')
if tonumber(ARGV[2]) > unread then redis.call('HSET', KEYS[1], 'unread', ARGV[2]) end
if redis.call('HGET', KEYS[1], 'reader') == ARGV[1] then redis.call('HDEL', KEYS[1], 'reader') end
return 1
",
    )
});

/// A log of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventLog {
    /// Messages that belong to no request.
    Common,
    /// Messages in response to requests.
    Responses,
}

impl EventLog {
    fn kind(self) -> &'static str {
        match self {
            Self::Common => COMMON,
            Self::Responses => RESPONSES,
        }
    }

    /// The beginning of the fields of this log.
    fn prefix(self) -> Vec<u8> {
        match self {
            Self::Common => b"common:".to_vec(),
            Self::Responses => b"responses:".to_vec(),
        }
    }
}

/// An event that is appended.
#[derive(Debug, Clone, Copy)]
pub struct NewEvent<'a> {
    /// The event.
    pub event: &'a [u8],
    /// The number of the event among those that this host appends to the log, so that an event that is appended
    /// again is not there twice.
    pub number: u64,
    /// Maximum size of the log in bytes.
    pub max_bytes: u64,
    /// How long the session is kept from now on.
    pub kept: Duration,
}

/// The reader of the common log: an event stream of the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventReader(String);

impl EventReader {
    /// A reader at a host. `number`: tells the readers of the host apart.
    pub fn new(host: &HostId, number: u64) -> Self {
        Self(format!("{}:{number}", host.0))
    }
}

/// What a reader finds.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// The session has ended.
    NoSession,
    /// A newer stream reads.
    Superseded,
    /// Events, and the number of the first one.
    Events(u64, Vec<Vec<u8>>),
}

impl ClusterState {
    /// Appends an event to a log of a session. Returns the event's number, or `None` if the session has ended or the event
    /// is there already.
    ///
    /// # Errors
    ///
    /// [`StateError`]. The same event may be appended again. The server is not asked while it is known to be away.
    pub async fn append_session_event(
        &self,
        id: &str,
        log: EventLog,
        host: &HostId,
        new: NewEvent<'_>,
    ) -> Result<Option<u64>, StateError> {
        self.require_reached()?;
        let sealed = self.0.seal.seal(&[log.kind().as_bytes(), id.as_bytes()], new.event)?;
        let args = vec![
            log.prefix(),
            host.0.clone().into(),
            number(new.number),
            sealed,
            number(MAX_EVENTS),
            number(new.max_bytes),
            number(milliseconds(new.kept)),
            inbox_key("").into(),
            id.as_bytes().to_vec(),
        ];
        let keys = vec![key_of(KIND, id), key_of(log.kind(), id)];
        let at = self.invoke::<i64>(&APPEND, keys, args).await?;
        Ok(u64::try_from(at).ok().filter(|at| *at > 0))
    }

    /// Reads the common log from a number on, or the events that no stream has read. `claims`: whether the reader is a new
    /// stream, which reads from now on instead of older ones.
    ///
    /// # Errors
    ///
    /// [`StateError`].
    pub async fn read_session_events(
        &self,
        id: &str,
        reader: &EventReader,
        from: Option<u64>,
        claims: bool,
    ) -> Result<Found, StateError> {
        self.read_log(id, EventLog::Common, from, (&reader.0, claims)).await
    }

    /// Reads what was sent in response to requests, from a number on.
    ///
    /// # Errors
    ///
    /// [`StateError`].
    pub async fn read_session_responses(&self, id: &str, from: u64) -> Result<Found, StateError> {
        self.read_log(id, EventLog::Responses, Some(from), ("", false)).await
    }

    /// Ends the reading of a stream, which has read all events before a number.
    ///
    /// # Errors
    ///
    /// [`StateError`].
    pub async fn release_session_events(
        &self,
        id: &str,
        reader: &EventReader,
        next: u64,
    ) -> Result<(), StateError> {
        let args = vec![reader.0.clone().into(), number(next)];
        self.invoke::<i64>(&RELEASE, vec![key_of(KIND, id)], args).await.map(drop)
    }

    async fn read_log(
        &self,
        id: &str,
        log: EventLog,
        from: Option<u64>,
        (reader, claims): (&str, bool),
    ) -> Result<Found, StateError> {
        let from = from.map_or_else(|| b"-1".to_vec(), number);
        let args =
            vec![log.prefix(), from, reader.into(), number(u64::from(claims)), number(BATCH)];
        let keys = vec![key_of(KIND, id), key_of(log.kind(), id)];
        let found = self.invoke::<Option<Vec<Vec<u8>>>>(&READ, keys, args).await?;
        let Some(found) = found else { return Ok(Found::NoSession) };
        let mut found = found.into_iter();
        let Some(first) = found.next() else { return Ok(Found::Superseded) };
        let foreign = || StateError::Foreign { what: "an event" };
        let first = str::from_utf8(&first).ok().and_then(|first| first.parse().ok());
        let place = [log.kind().as_bytes(), id.as_bytes()];
        let opened = found.map(|sealed| self.0.seal.open(&place, &sealed, "an event"));
        Ok(Found::Events(first.ok_or_else(foreign)?, opened.collect::<Result<_, _>>()?))
    }
}

/// The server's keys of the logs of a session.
pub(crate) fn event_keys(id: &str) -> [String; 2] {
    [key_of(COMMON, id), key_of(RESPONSES, id)]
}
