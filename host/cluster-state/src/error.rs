//! Why the cluster's state cannot be used: wrong settings, a server that is away or refuses, or a value of somebody else.

use std::error::Error;
use std::io;
use std::sync::Arc;

use redis::{ErrorKind, RedisError, ServerErrorKind};

/// An address of the cluster's state that cannot be used. The text contains nothing of the address, which may hold a
/// password.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum InvalidAddress {
    /// The text is not a URL, or one without a host.
    #[error(
        "it is not a URL: write redis://HOST, redis://HOST:PORT or redis://HOST:PORT/DATABASE; rediss:// for TLS"
    )]
    NotUrl(#[source] Option<url::ParseError>),
    /// The scheme is another one.
    #[error("its scheme is none of redis, rediss (TLS), valkey and valkeys (TLS)")]
    Scheme,
    /// The URL contains a user or a password.
    #[error("it contains a user or a password: write them as `user` and `password` beside `state`")]
    Credentials,
    /// The URL has a query or a fragment.
    #[error("it has more than a host, a port and the number of a database")]
    More,
    /// The path is not the number of a database.
    #[error("its path is not the number of a database, such as /0")]
    Database,
}

/// Why an operation on the cluster's state failed.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The server does not answer. A write that was sent may have taken effect.
    #[error(
        "the server of the cluster's state at {address} cannot be reached or does not answer; if this lasts, check the \
         server and the network"
    )]
    Away {
        /// The host and the port of the server.
        address: String,
        /// What happened. `None`: there was no answer in time.
        #[source]
        cause: Option<RedisError>,
    },
    /// The server answered with an error, which its operator can mend: wrong credentials, missing permissions, no
    /// memory, or a server that accepts no writes.
    #[error(
        "the server of the cluster's state at {address} refuses a command: check its user, password and permissions, \
         whether it has memory left, and whether it is a primary"
    )]
    Refused {
        /// The host and the port of the server.
        address: String,
        /// The server's error.
        #[source]
        cause: RedisError,
    },
    /// The certificate of the server is not accepted.
    #[error(
        "the server of the cluster's state at {address} has a certificate that is not accepted: name the certificate of \
         its authority as `ca-file` under [cluster], and check that the certificate is for this host name and has not \
         expired"
    )]
    Certificate {
        /// The host and the port of the server.
        address: String,
        /// Why the certificate is not accepted.
        #[source]
        cause: RedisError,
    },
    /// The certificates of the authorities cannot be used.
    #[error(
        "the `ca-file` under [cluster] is no file with certificates in PEM format: write the path of such a file there"
    )]
    Authorities {
        /// What is wrong. `None`: there is no certificate.
        #[source]
        cause: Option<rustls::pki_types::pem::Error>,
    },
    /// A value was not sealed with one of the keys of this host, or was changed since.
    #[error(
        "the cluster's state holds {what} that was not sealed with a key of `state-key-file`: all hosts need the same \
         keys, and a key may be removed only after its values were sealed again"
    )]
    Foreign {
        /// What was read.
        what: &'static str,
    },
    /// The host itself failed: no random numbers, no thread, or a panic.
    #[error("the cluster's state cannot be used because of a fault of this machine: {0}")]
    Machine(String),
}

impl StateError {
    /// The error for a failed command.
    pub(crate) fn of(address: &str, cause: RedisError) -> Self {
        let address = address.to_owned();
        if is_about_certificate(&cause) {
            Self::Certificate { address, cause }
        } else if is_away(&cause) {
            Self::Away { address, cause: Some(cause) }
        } else {
            Self::Refused { address, cause }
        }
    }

    /// Whether the operation may succeed later without anybody's doing.
    pub fn is_away(&self) -> bool {
        matches!(self, Self::Away { .. })
    }
}

/// Whether an error means that the server cannot serve now: there is no connection, or the server is starting.
pub(crate) fn is_away(error: &RedisError) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Io
            | ErrorKind::Parse
            | ErrorKind::Server(
                ServerErrorKind::BusyLoading
                    | ServerErrorKind::MasterDown
                    | ServerErrorKind::TryAgain
            )
    )
}

/// Whether an error means that the certificate of the server is not accepted.
fn is_about_certificate(error: &RedisError) -> bool {
    // The client has the error of the connection in an `Arc`.
    let shared =
        error.source().and_then(|source| source.downcast_ref::<Arc<dyn Error + Send + Sync>>());
    let of_connection = shared.and_then(|shared| shared.downcast_ref::<io::Error>());
    let of_tls = of_connection.and_then(|error| error.get_ref()?.downcast_ref::<rustls::Error>());
    matches!(of_tls, Some(rustls::Error::InvalidCertificate(_)))
}
