//! State that several hosts share in a Redis or Valkey server.
//!
//! All values are sealed with a key of the hosts ([`Key`]), so the server can neither read nor forge them. The server
//! can still delete values, and put back older ones. Names are readable: they are names of plugins and digests.
//!
//! Four kinds of state are kept: [`ClusterRecords`] with versions and a limit of their size, values that expire
//! ([`ClusterState::put`]), rates ([`ClusterState::take_rate`]), and the states of work ([`ClusterState::report`]).
//!
//! Nothing is connected before the first operation. An operation fails after four seconds if the server is away
//! ([`StateError::Away`]).

mod address;
mod connection;
mod error;
mod rates;
mod records;
mod remarks;
mod seal;
mod values;
mod work;

use std::sync::Arc;

pub use address::Address;
pub use connection::Credentials;
pub use error::{InvalidAddress, StateError};
pub use records::{ClusterRecord, ClusterRecords, PreparedRecord, RecordError};
pub use seal::Key;
pub use work::{HEARTBEAT_INTERVAL, Report, Reported, WorkState};

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
}
