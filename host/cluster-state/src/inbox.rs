//! Messages of one host to another.
//!
//! A host reads its inbox with a connection of its own, which waits in the server for messages. It also reports there that
//! it is alive. A message stays until the host has received it, so a lost connection loses none.

use std::fmt;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use redis::Script;
use redis::aio::MultiplexedConnection;
use tokio::sync::Mutex;

use crate::ClusterState;
use crate::connection::Connection;
use crate::error::StateError;
use crate::values::{key_of, milliseconds};

/// The number of characters of a host's name.
pub(crate) const HOST_DIGITS: usize = 32;

/// The kind of the inboxes.
const INBOX: &str = "host-inbox";

/// The kind of the reports that a host is alive.
const ALIVE: &str = "host";

/// How long the server waits for a message, in milliseconds. A host reports this often that it is alive.
const WAIT: u64 = 1500;

/// The time after which a host without a report counts as gone.
const ALIVE_TIME: Duration = Duration::from_secs(8);

/// Maximum number of messages that are read at once.
const BATCH: u64 = 64;

/// Sends a message to a host that is alive. Returns 0 if it is not.
static SEND: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        r"
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('XADD', KEYS[2], 'MAXLEN', '~', 1024, '*', 'message', ARGV[1])
redis.call('PEXPIRE', KEYS[2], 60000)
return 1
",
    )
});

/// The name of a host, made when it starts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HostId(pub(crate) String);

impl HostId {
    /// A name that no other host has.
    ///
    /// # Errors
    ///
    /// The system has no random numbers.
    pub fn new() -> Result<Self, StateError> {
        let mut random = [0; HOST_DIGITS / 2];
        getrandom::fill(&mut random).map_err(|error| StateError::Machine(error.to_string()))?;
        Ok(Self(random.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// The host of this name. `None`: no host has such a name.
    pub fn parse(text: &str) -> Option<Self> {
        let is_name = text.len() == HOST_DIGITS && text.bytes().all(|one| one.is_ascii_hexdigit());
        is_name.then(|| Self(text.to_owned()))
    }
}

impl fmt::Display for HostId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Something in the inbox of a host.
#[derive(Debug, PartialEq, Eq)]
pub enum Received {
    /// There are new events of this session for a stream at this host.
    Wake(String),
    /// A message of another host.
    Message(Vec<u8>),
}

/// The inbox of this host.
pub struct Inbox {
    state: ClusterState,
    host: HostId,
    /// The connection that waits in the server.
    waiting: Arc<Mutex<Option<MultiplexedConnection>>>,
    /// The last entry that was received.
    last: String,
}

impl ClusterState {
    /// The inbox of a host. The host counts as alive as long as [`Inbox::next`] is called again and again.
    pub fn inbox(&self, host: &HostId) -> Inbox {
        let (state, host) = (self.clone(), host.clone());
        Inbox { state, host, waiting: Arc::default(), last: "0-0".to_owned() }
    }

    /// Sends a message to a host. `false`: the host is gone.
    ///
    /// # Errors
    ///
    /// [`StateError`]. The message may have been sent.
    pub async fn send_to_host(&self, host: &HostId, message: &[u8]) -> Result<bool, StateError> {
        let sealed = self.0.seal.seal(&[INBOX.as_bytes(), host.0.as_bytes()], message)?;
        let keys = vec![host_key(&host.0), inbox_key(&host.0)];
        Ok(self.invoke::<u8>(&SEND, keys, vec![sealed]).await? == 1)
    }

    /// Whether a host has lately reported that it is alive.
    ///
    /// # Errors
    ///
    /// [`StateError`].
    pub async fn is_host_alive(&self, host: &HostId) -> Result<bool, StateError> {
        let mut exists = redis::cmd("EXISTS");
        exists.arg(host_key(&host.0));
        self.0.connection.repeat(exists).await
    }
}

impl Inbox {
    /// Reports that this host is alive.
    ///
    /// # Errors
    ///
    /// [`StateError`].
    pub async fn report_alive(&self) -> Result<(), StateError> {
        let mut set = redis::cmd("SET");
        set.arg(host_key(&self.host.0)).arg(1).arg("PX").arg(milliseconds(ALIVE_TIME));
        self.state.0.connection.repeat(set).await
    }

    /// Reports that this host is alive, waits for messages at most for some seconds, and returns them.
    ///
    /// # Errors
    ///
    /// [`StateError`]. The messages stay in the inbox.
    pub async fn next(&mut self) -> Result<Vec<Received>, StateError> {
        self.report_alive().await?;
        let (key, last) = (inbox_key(&self.host.0), self.last.clone());
        if last != "0-0" {
            let mut trim = redis::cmd("XTRIM");
            trim.arg(&key).arg("MINID").arg(&last);
            self.state.0.connection.repeat::<u64>(trim).await?;
        }
        let mut read = redis::cmd("XREAD");
        read.arg("COUNT").arg(BATCH).arg("BLOCK").arg(WAIT).arg("STREAMS").arg(key).arg(last);
        let connection = self.state.0.connection.clone();
        let found: redis::Value = wait(&connection, self.waiting.clone(), read).await?;
        let entries = entries_of(found).ok_or(StateError::Foreign { what: "an inbox" })?;
        let place = [INBOX.as_bytes(), self.host.0.as_bytes()];
        let mut received = Vec::new();
        for Entry { id, kind, value } in entries {
            self.last = id;
            if kind == b"wake" {
                received.extend(String::from_utf8(value).ok().map(Received::Wake));
                continue;
            }
            match self.state.0.seal.open(&place, &value, "a message to this host") {
                Ok(opened) => received.push(Received::Message(opened)),
                Err(error) => tracing::warn!("{error}"),
            }
        }
        Ok(received)
    }
}

/// Runs a command that waits in the server, on a connection of its own.
pub(crate) async fn wait(
    connection: &Arc<Connection>,
    waiting: Arc<Mutex<Option<MultiplexedConnection>>>,
    command: redis::Cmd,
) -> Result<redis::Value, StateError> {
    let own = connection.clone();
    let work = move |_shared: MultiplexedConnection| async move {
        let mut waiting = waiting.lock().await;
        let mut open = match waiting.take() {
            Some(open) => open,
            None => own.open_another().await?,
        };
        let answer = command.query_async::<redis::Value>(&mut open).await?;
        // After an error, the connection is dropped, and the next attempt opens another.
        *waiting = Some(open);
        Ok(answer)
    };
    connection.run(work).await
}

/// An entry of a stream.
pub(crate) struct Entry {
    pub(crate) id: String,
    pub(crate) kind: Vec<u8>,
    pub(crate) value: Vec<u8>,
}

/// The entries of a stream, from the answer to `XREAD`.
pub(crate) fn entries_of(answer: redis::Value) -> Option<Vec<Entry>> {
    type Listed = (String, Vec<Vec<u8>>);
    let streams: Option<Vec<(String, Vec<Listed>)>> = redis::from_redis_value(answer).ok()?;
    let entries = streams.unwrap_or_default().into_iter().flat_map(|(_, entries)| entries);
    let parts = |(id, fields): Listed| {
        let mut fields = fields.into_iter();
        Some(Entry { id, kind: fields.next()?, value: fields.next()? })
    };
    entries.map(parts).collect()
}

/// The server's key of the report that a host is alive.
pub(crate) fn host_key(host: &str) -> String {
    key_of(ALIVE, host)
}

/// The server's key of the inbox of a host.
pub(crate) fn inbox_key(host: &str) -> String {
    key_of(INBOX, host)
}
