//! State that several hosts share in a Redis or Valkey server.
//!
//! All values are sealed with a key of the hosts ([`Key`]), so the server can neither read nor forge them. The server
//! can still delete values, and put back older ones. Names are readable: they are names of plugins and digests.
//!
//! Eight kinds of state are kept: [`ClusterRecords`] with versions and a limit of their size, [`ClusterCache`]s, values
//! that expire ([`ClusterState::put`]), rates ([`ClusterState::take_rate`]), the states of work ([`ClusterState::report`]), sessions
//! of clients with their events ([`ClusterState::begin_session`]), messages to hosts ([`Inbox`]), and news for all hosts
//! ([`NewsReader`]).
//!
//! Nothing is connected before the first operation. An operation fails after four seconds if the server is away
//! ([`StateError::Away`]).

mod address;
mod caches;
mod connection;
mod error;
mod inbox;
mod news;
mod rates;
mod records;
mod remarks;
mod seal;
mod session_events;
mod sessions;
mod values;
mod work;

use std::fmt;
use std::sync::Arc;

pub use address::Address;
pub use caches::{CachedValue, ClusterCache};
pub use connection::Credentials;
pub use error::{InvalidAddress, StateError};
pub use inbox::{HostId, Inbox, Received};
pub use news::NewsReader;
pub use records::{ClusterRecord, ClusterRecords, PreparedRecord, RecordError};
pub use seal::Key;
pub use session_events::{EventLog, EventReader, Found, NewEvent};
pub use sessions::{Look, SessionState, Subscribed, Subscription};
pub use work::{HEARTBEAT_INTERVAL, Report, Reported, WorkState};

use redis::aio::MultiplexedConnection;
use redis::{FromRedisValue, Script, ScriptInvocation};

use connection::Connection;
use seal::Seal;

/// The purpose for which keys of the cluster's state are derived from the keys of the hosts.
pub const KEY_PURPOSE: &str = "cluster state";

/// The beginning of all names in the server.
const PREFIX: &str = "portcullis";

/// The state that this host shares with others. Clones share the connection.
#[derive(Clone)]
pub struct ClusterState(Arc<Inner>);

struct Inner {
    connection: Arc<Connection>,
    seal: Seal,
}

impl fmt::Debug for ClusterState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ClusterState").field(&self.0.connection.address()).finish()
    }
}

impl ClusterState {
    /// The state in the server at this address. The first of the keys seals values, and each key opens them.
    ///
    /// # Errors
    ///
    /// The address cannot be used by the client.
    ///
    /// # Panics
    ///
    /// There is no key.
    pub fn new(
        address: &Address,
        credentials: Credentials,
        keys: &[Key],
    ) -> Result<Self, StateError> {
        let connection = Arc::new(Connection::new(address, credentials)?);
        Ok(Self(Arc::new(Inner { connection, seal: Seal::new(keys) })))
    }

    /// Asks the server every second from now on whether it is there: see [`Self::is_reached`]. Logs when the server
    /// goes away, and when it comes back.
    ///
    /// # Errors
    ///
    /// [`StateError::Machine`]: no thread can be started.
    pub fn watch(&self) -> Result<(), StateError> {
        self.0.connection.watch()
    }

    /// Whether the server answered when it was last asked. `true` if [`Self::watch`] was not called.
    pub fn is_reached(&self) -> bool {
        !self.0.connection.is_away()
    }

    /// Fails if the server is known to be away, so that nobody waits for it.
    fn require_reached(&self) -> Result<(), StateError> {
        self.is_reached().then_some(()).ok_or_else(|| self.away())
    }

    /// The error of an operation for which nobody waits longer.
    fn away(&self) -> StateError {
        StateError::Away { address: self.0.connection.address().to_owned(), cause: None }
    }

    /// Runs a script that may take effect twice.
    async fn invoke<T: FromRedisValue + Send + 'static>(
        &self,
        script: &'static Script,
        keys: Vec<String>,
        args: Vec<Vec<u8>>,
    ) -> Result<T, StateError> {
        let call = Arc::new(prepared(script, keys, args));
        let work = move |mut connection: MultiplexedConnection| {
            let call = call.clone();
            async move { call.invoke_async::<T>(&mut connection).await }
        };
        self.0.connection.run_again(work).await
    }

    /// Runs a script, once.
    async fn invoke_once<T: FromRedisValue + Send + 'static>(
        &self,
        script: &'static Script,
        keys: Vec<String>,
        args: Vec<Vec<u8>>,
    ) -> Result<T, StateError> {
        let call = prepared(script, keys, args);
        let work = move |mut connection: MultiplexedConnection| async move {
            call.invoke_async::<T>(&mut connection).await
        };
        self.0.connection.run(work).await
    }
}

/// A script with its keys and arguments.
fn prepared(
    script: &'static Script,
    keys: Vec<String>,
    args: Vec<Vec<u8>>,
) -> ScriptInvocation<'static> {
    let mut call = script.prepare_invoke();
    for key in keys {
        call.key(key);
    }
    for arg in args {
        call.arg(arg);
    }
    call
}
