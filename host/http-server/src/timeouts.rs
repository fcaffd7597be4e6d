//! Time limits for clients that send or read slowly.

use std::time::Duration;

/// Time limit of each step of receiving: a TLS handshake, the head of a request, its body, and the wait of a message
/// for room in a session of the transport of 2024-11-05.
pub(crate) const RECEIVE_TIMEOUT: Duration = Duration::from_secs(10);

/// Time after which a client that reads none of the data sent to it loses its connection.
pub(crate) const SEND_TIMEOUT: Duration = Duration::from_secs(30);
