//! Time limits for clients that send or read slowly.

use std::time::Duration;

/// Time limit of a TLS handshake, of the head of a request, and of its body, each.
pub(crate) const RECEIVE_TIMEOUT: Duration = Duration::from_secs(10);

/// Time after which a client that reads none of the data sent to it loses its connection.
pub(crate) const SEND_TIMEOUT: Duration = Duration::from_secs(30);
