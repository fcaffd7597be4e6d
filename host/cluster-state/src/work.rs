//! Work that one host does, and about which the clients of all hosts may ask: its state, and messages to it.
//!
//! The host that does the work sends heartbeats while it goes on. If the host falls silent, the work is lost: a
//! host that is asked about the work says so from then on, also if the silent host comes back. Nobody does the work again,
//! because it may have had effects.

use std::sync::OnceLock;
use std::time::Duration;

use redis::Script;
use redis::aio::MultiplexedConnection;

use crate::ClusterState;
use crate::error::StateError;
use crate::values::{key_of, milliseconds};

/// The kind of the states.
const KIND: &str = "task";

/// The kind of the messages.
const MESSAGES: &str = "task-messages";

/// Interval of the heartbeats of work.
pub const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(2);

/// The time without a heartbeat after which work may be lost, in seconds.
const SILENCE: u32 = 10;

/// How long work is given after a host first found it silent, in seconds. If the server itself was away, the
/// host that does the work sends a heartbeat in this time.
const GRACE: u32 = 8;

/// Maximum number of messages to one piece of work.
const MAX_MESSAGES: u32 = 256;

/// Keeps the state of work, unless the work is lost. Returns -1 if it is lost, and otherwise the messages from an index
/// on. The time of the heartbeat is that of the server, because the clocks of hosts differ.
const REPORT: &str = r"
if redis.call('HGET', KEYS[1], 'lost') then return -1 end
if ARGV[2] ~= '' then
  redis.call('HSET', KEYS[1], 'state', ARGV[2], 'ended', ARGV[3])
end
if ARGV[4] == '1' then
  redis.call('HSET', KEYS[1], 'heartbeat', redis.call('TIME')[1])
  redis.call('HDEL', KEYS[1], 'missed')
  redis.call('PEXPIRE', KEYS[1], ARGV[5])
end
return redis.call('LRANGE', KEYS[2], ARGV[1], -1)
";

/// The state of work and whether the work is lost. Finds out whether it is.
const LOOK: &str = r"
local found = redis.call('HMGET', KEYS[1], 'state', 'ended', 'heartbeat', 'missed', 'lost')
if not found[1] then return nil end
local lost = found[5] and 1 or 0
if lost == 0 and found[2] == '0' then
  local now = tonumber(redis.call('TIME')[1])
  if now - tonumber(found[3]) > tonumber(ARGV[1]) then
    if not found[4] then
      redis.call('HSET', KEYS[1], 'missed', now)
    elseif now - tonumber(found[4]) > tonumber(ARGV[2]) then
      redis.call('HSET', KEYS[1], 'lost', 1)
      lost = 1
    end
  end
end
return {found[1], lost}
";

/// Appends a message. Returns 0 if there are too many.
const SEND: &str = r"
if redis.call('LLEN', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('RPUSH', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
";

/// A report of the host that does the work.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    /// The new state. `None`: it is the same as before.
    pub state: Option<&'a [u8]>,
    /// Whether the work has ended.
    pub has_ended: bool,
    /// Whether this is a heartbeat. A new state needs one, too.
    pub is_heartbeat: bool,
    /// The number of messages that were received before.
    pub received: usize,
    /// How long the state is kept after the last heartbeat.
    pub kept: Duration,
}

/// What a host learns when it reports.
#[derive(Debug, PartialEq, Eq)]
pub enum Reported {
    /// The further messages.
    Messages(Vec<Vec<u8>>),
    /// The work is lost: other hosts have said so. The host must stop the work.
    Lost,
}

/// Work of any host.
#[derive(Debug, PartialEq, Eq)]
pub struct WorkState {
    /// The state that was last reported.
    pub state: Vec<u8>,
    /// Whether the work is lost, because its host fell silent.
    pub is_lost: bool,
}

impl ClusterState {
    /// Reports on work, and receives the messages to it.
    ///
    /// # Errors
    ///
    /// [`StateError`]. The same report may be sent again.
    pub async fn report(&self, name: &str, report: Report<'_>) -> Result<Reported, StateError> {
        static SCRIPT: OnceLock<Script> = OnceLock::new();
        let sealed = match report.state {
            Some(state) => self.0.seal.seal(&[KIND.as_bytes(), name.as_bytes()], state)?,
            None => Vec::new(),
        };
        let (state_key, messages_key) = (key_of(KIND, name), key_of(MESSAGES, name));
        let Report { has_ended, is_heartbeat, received, kept, .. } = report;
        let kept = milliseconds(kept);
        let work = move |mut connection: MultiplexedConnection| async move {
            let script = SCRIPT.get_or_init(|| Script::new(REPORT));
            let mut call = script.key(state_key);
            call.key(messages_key).arg(received).arg(sealed).arg(u8::from(has_ended));
            call.arg(u8::from(is_heartbeat)).arg(kept);
            call.invoke_async::<redis::Value>(&mut connection).await
        };
        let found = self.0.connection.run(work).await?;
        if let redis::Value::Int(_) = found {
            return Ok(Reported::Lost);
        }
        let found: Vec<Vec<u8>> = redis::from_redis_value(found)
            .map_err(|_| StateError::Foreign { what: "a list of messages" })?;
        let place = [MESSAGES.as_bytes(), name.as_bytes()];
        let opened = found.iter().map(|sealed| self.0.seal.open(&place, sealed, "a message"));
        Ok(Reported::Messages(opened.collect::<Result<_, _>>()?))
    }

    /// Work that a host reported. `None`: there is none, or it is not kept any more.
    ///
    /// # Errors
    ///
    /// [`StateError`].
    pub async fn look_at_work(&self, name: &str) -> Result<Option<WorkState>, StateError> {
        static SCRIPT: OnceLock<Script> = OnceLock::new();
        let key = key_of(KIND, name);
        let look = |mut connection: MultiplexedConnection| async move {
            let script = SCRIPT.get_or_init(|| Script::new(LOOK));
            let mut call = script.key(key);
            call.arg(SILENCE).arg(GRACE);
            call.invoke_async::<Option<(Vec<u8>, u8)>>(&mut connection).await
        };
        let Some((sealed, lost)) = self.0.connection.run(look).await? else { return Ok(None) };
        let place = [KIND.as_bytes(), name.as_bytes()];
        let state = self.0.seal.open(&place, &sealed, "the state of a task")?;
        Ok(Some(WorkState { state, is_lost: lost != 0 }))
    }

    /// Sends a message to work, which its host receives with its next report. `false`: there are too many messages.
    ///
    /// # Errors
    ///
    /// [`StateError`]. The message may have been sent.
    pub async fn send_to_work(
        &self,
        name: &str,
        message: &[u8],
        kept: Duration,
    ) -> Result<bool, StateError> {
        static SCRIPT: OnceLock<Script> = OnceLock::new();
        let sealed = self.0.seal.seal(&[MESSAGES.as_bytes(), name.as_bytes()], message)?;
        let (key, kept) = (key_of(MESSAGES, name), milliseconds(kept));
        let send = move |mut connection: MultiplexedConnection| async move {
            let script = SCRIPT.get_or_init(|| Script::new(SEND));
            let mut call = script.key(key);
            call.arg(sealed).arg(MAX_MESSAGES).arg(kept);
            call.invoke_async::<u8>(&mut connection).await
        };
        Ok(self.0.connection.run(send).await? == 1)
    }
}
