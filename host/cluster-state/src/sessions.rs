//! Sessions of clients that any host may serve: how each began, and what changed since.
//!
//! A session is one hash of the server. Its fields are how it began (sealed), the log level, the number of changes of the
//! roots, the subscriptions (each with the host that watches the resource), the hosts that serve the session, and the
//! numbers of its events. A session expires when no host had a request of it for some time.

use std::sync::LazyLock;
use std::time::Duration;

use portcullis_checked_files::digest;
use redis::Script;

use crate::ClusterState;
use crate::error::StateError;
use crate::inbox::{HOST_DIGITS, HostId, host_key};
use crate::session_events::{KIND, event_keys};
use crate::values::{key_of, milliseconds, number};

/// The kind of subscriptions, for the seal.
const SUBSCRIPTION: &str = "subscription";

/// Begins a session. Returns 0 if there is one with this name.
static BEGIN: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        r"
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('HSET', KEYS[1], 'began', ARGV[1], 'host:'..ARGV[2], 1)
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
",
    )
});

/// Notes that a host has a request of a session. Returns the level, the number of changes of roots, the number of changes
/// of subscriptions, how the session began if the host asks for it, and the subscriptions if they differ from those that
/// the host knows. Gives subscriptions to this host whose hosts are gone.
static TOUCH: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        r"
local found = redis.call('HMGET', KEYS[1], 'began', 'level', 'roots', 'changes', 'subscriptions')
if not found[1] then return nil end
if ARGV[2] ~= '0' then
  for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, ARGV[2]) end
end
local restores = ARGV[3] == '1'
if restores then redis.call('HSET', KEYS[1], 'host:'..ARGV[1], 1) end
local changes, some = found[4] or '0', {}
if tonumber(found[5] or '0') > 0 then
  local all, orphans = redis.call('HGETALL', KEYS[1]), false
  for at = 1, #all, 2 do
    if string.sub(all[at], 1, 4) == 'uri:' then
      local value = all[at + 1]
      local owner = string.sub(value, 1, 32)
      if owner ~= ARGV[1] and redis.call('EXISTS', ARGV[4]..owner) == 0 then
        value = ARGV[1]..string.sub(value, 33)
        redis.call('HSET', KEYS[1], all[at], value)
        orphans = true
      end
      some[#some + 1] = value
    end
  end
  if orphans then changes = tostring(redis.call('HINCRBY', KEYS[1], 'changes', 1)) end
end
local differs = restores or changes ~= ARGV[5]
return {found[2] or '0', found[3] or '0', changes, restores and found[1] or '', differs and 1 or 0, differs and some or {}}
",
    )
});

/// Sets a field of a session, or counts it up if the value is empty. Returns 0 if there is no session.
static SET: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        r"
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
if ARGV[2] == '' then
  redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
else
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
end
return 1
",
    )
});

/// Adds a subscription, unless there is one. Returns 0 if there is no session, and -1 if there are too many.
static SUBSCRIBE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        r"
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then return 1 end
if tonumber(redis.call('HGET', KEYS[1], 'subscriptions') or '0') >= tonumber(ARGV[3]) then return -1 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('HINCRBY', KEYS[1], 'subscriptions', 1)
redis.call('HINCRBY', KEYS[1], 'changes', 1)
return 1
",
    )
});

/// Removes a subscription. Returns the host that watches the resource.
static UNSUBSCRIBE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        r"
local value = redis.call('HGET', KEYS[1], ARGV[1])
if not value then return '' end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('HINCRBY', KEYS[1], 'subscriptions', -1)
redis.call('HINCRBY', KEYS[1], 'changes', 1)
return string.sub(value, 1, 32)
",
    )
});

/// The hosts that serve a session. If the argument is 1, the session ends.
static HOSTS: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        r"
local hosts = {}
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
  if string.sub(field, 1, 5) == 'host:' then hosts[#hosts + 1] = string.sub(field, 6) end
end
if ARGV[1] == '1' then redis.call('DEL', unpack(KEYS)) end
return hosts
",
    )
});

/// A session, as a host finds it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SessionState {
    /// How the session began, if the host asked for it.
    pub began: Option<Vec<u8>>,
    /// The log level that was set. 0: none.
    pub level: u8,
    /// How many times the client said that its roots have changed.
    pub roots: u64,
    /// The number of changes of the subscriptions.
    pub changes: u64,
    /// The subscriptions. `None`: they are those that the host knows.
    pub subscriptions: Option<Vec<Subscription>>,
}

/// A subscription of a session to a resource.
#[derive(Debug, PartialEq, Eq)]
pub struct Subscription {
    /// The URI of the resource.
    pub uri: String,
    /// Whether this host watches the resource.
    pub is_own: bool,
}

/// How a host looks at a session.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// How long the session is kept from now on, for a request of its client. `None`: as long as before.
    pub kept: Option<Duration>,
    /// Whether this host begins to serve the session, and needs to know how it began.
    pub restores: bool,
    /// The number of changes of the subscriptions that this host knows.
    pub changes: u64,
}

/// What came of a new subscription.
#[derive(Debug, PartialEq, Eq)]
pub enum Subscribed {
    /// The client is subscribed.
    Yes,
    /// The client has too many subscriptions.
    TooMany,
    /// The session has ended.
    NoSession,
}

impl ClusterState {
    /// Begins a session at a host. `began`: what another host needs to go on with it.
    ///
    /// # Errors
    ///
    /// [`StateError`].
    pub async fn begin_session(
        &self,
        id: &str,
        host: &HostId,
        began: &[u8],
        kept: Duration,
    ) -> Result<(), StateError> {
        let sealed = self.0.seal.seal(&[KIND.as_bytes(), id.as_bytes()], began)?;
        let args = vec![sealed, host.0.clone().into(), number(milliseconds(kept))];
        match self.invoke_once::<i64>(&BEGIN, vec![key_of(KIND, id)], args).await? {
            1 => Ok(()),
            _ => Err(StateError::Machine("another session has this id".to_owned())),
        }
    }

    /// Looks at a session. `None`: there is none, or it has ended.
    ///
    /// # Errors
    ///
    /// [`StateError`]. The server is not asked while it is known to be away.
    pub async fn look_at_session(
        &self,
        id: &str,
        host: &HostId,
        look: Look,
    ) -> Result<Option<SessionState>, StateError> {
        type Found = Option<(u8, u64, u64, Vec<u8>, u8, Vec<Vec<u8>>)>;
        self.require_reached()?;
        let args = vec![
            host.0.clone().into(),
            number(look.kept.map_or(0, milliseconds)),
            number(u64::from(look.restores)),
            host_key("").into(),
            number(look.changes),
        ];
        let found = self.invoke::<Found>(&TOUCH, session_keys(id), args).await?;
        let Some((level, roots, changes, began, differs, some)) = found else { return Ok(None) };
        let began = match began.is_empty() {
            true => None,
            false => {
                let place = [KIND.as_bytes(), id.as_bytes()];
                Some(self.0.seal.open(&place, &began, "a session")?)
            }
        };
        let some = some.iter().map(|value| self.subscription(id, host, value));
        let subscriptions: Vec<_> = some.collect::<Result<_, _>>()?;
        let subscriptions = (differs == 1).then_some(subscriptions);
        Ok(Some(SessionState { began, level, roots, changes, subscriptions }))
    }

    /// Sets the log level of a session.
    ///
    /// # Errors
    ///
    /// [`StateError`].
    pub async fn set_session_level(&self, id: &str, level: u8) -> Result<(), StateError> {
        let args = vec![b"level".to_vec(), number(u64::from(level))];
        self.invoke::<i64>(&SET, vec![key_of(KIND, id)], args).await.map(drop)
    }

    /// Notes that the roots of a client have changed.
    ///
    /// # Errors
    ///
    /// [`StateError`].
    pub async fn note_changed_roots(&self, id: &str) -> Result<(), StateError> {
        let args = vec![b"roots".to_vec(), Vec::new()];
        self.invoke::<i64>(&SET, vec![key_of(KIND, id)], args).await.map(drop)
    }

    /// Subscribes a session to a resource, which this host then watches unless another host does.
    ///
    /// # Errors
    ///
    /// [`StateError`].
    pub async fn subscribe_session(
        &self,
        id: &str,
        host: &HostId,
        uri: &str,
        max: usize,
    ) -> Result<Subscribed, StateError> {
        let place = [SUBSCRIPTION.as_bytes(), id.as_bytes()];
        let mut value: Vec<u8> = host.0.clone().into();
        value.extend(self.0.seal.seal(&place, uri.as_bytes())?);
        let args = vec![field_of(uri), value, number(max as u64)];
        let done = self.invoke::<i64>(&SUBSCRIBE, vec![key_of(KIND, id)], args).await?;
        Ok(match done {
            1 => Subscribed::Yes,
            0 => Subscribed::NoSession,
            _ => Subscribed::TooMany,
        })
    }

    /// Ends the subscription of a session to a resource. Returns the host that watches the resource.
    ///
    /// # Errors
    ///
    /// [`StateError`].
    pub async fn unsubscribe_session(
        &self,
        id: &str,
        uri: &str,
    ) -> Result<Option<HostId>, StateError> {
        let args = vec![field_of(uri)];
        let host = self.invoke::<String>(&UNSUBSCRIBE, vec![key_of(KIND, id)], args).await?;
        Ok(HostId::parse(&host))
    }

    /// The hosts that serve a session, or served it.
    ///
    /// # Errors
    ///
    /// [`StateError`].
    pub async fn hosts_of_session(&self, id: &str) -> Result<Vec<HostId>, StateError> {
        self.hosts(id, false).await
    }

    /// Ends a session. Returns the hosts that served it.
    ///
    /// # Errors
    ///
    /// [`StateError`].
    pub async fn end_session(&self, id: &str) -> Result<Vec<HostId>, StateError> {
        self.hosts(id, true).await
    }

    async fn hosts(&self, id: &str, ends: bool) -> Result<Vec<HostId>, StateError> {
        let args = vec![number(u64::from(ends))];
        let hosts = self.invoke::<Vec<String>>(&HOSTS, session_keys(id), args).await?;
        Ok(hosts.iter().filter_map(|host| HostId::parse(host)).collect())
    }

    fn subscription(
        &self,
        id: &str,
        host: &HostId,
        value: &[u8],
    ) -> Result<Subscription, StateError> {
        let foreign = || StateError::Foreign { what: "a subscription" };
        let (owner, sealed) = value.split_at_checked(HOST_DIGITS).ok_or_else(foreign)?;
        let place = [SUBSCRIPTION.as_bytes(), id.as_bytes()];
        let uri = self.0.seal.open(&place, sealed, "a subscription")?;
        let uri = String::from_utf8(uri).map_err(|_| foreign())?;
        Ok(Subscription { uri, is_own: owner == host.0.as_bytes() })
    }
}

/// The server's keys of a session: the session itself, and its events.
fn session_keys(id: &str) -> Vec<String> {
    let [common, responses] = event_keys(id);
    vec![key_of(KIND, id), common, responses]
}

/// The field of a subscription.
fn field_of(uri: &str) -> Vec<u8> {
    format!("uri:{}", digest(uri.as_bytes())).into_bytes()
}
