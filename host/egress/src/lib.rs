//! Outgoing HTTP requests, limited to the origins and addresses that a policy allows.
//!
//! Each [`Client`] has a [`RequestPolicy`]. The client asks the policy before each request, and before each connection
//! to an address of the host. It follows no redirect, and it limits the number of requests, the size of bodies and the
//! time. If the environment prescribes a proxy, the client uses it. The proxy then resolves the host's name, so the
//! policy does not see the addresses of the name.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make the files they need"))]

mod address;
mod client;
mod document;
mod fault;
mod origin;
mod response;
mod secret;
mod tls;
mod unrecorded;

#[cfg(test)]
mod property_tests;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

pub use address::is_public;
pub use client::Client;
pub use document::{DocumentError, fetch_document};
pub use fault::Fault;
pub use origin::{Origin, OriginError, ParseOriginError};
pub use response::ResponseBody;
pub use secret::{Secret, SecretError};
pub use tls::tls_config;

/// Secret headers: by origin, then by the name of the header.
pub type Secrets = BTreeMap<Origin, BTreeMap<String, Secret>>;

/// Decides which requests and connections are allowed, and may record them. The client asks the policy for each request
/// and each connection.
pub trait RequestPolicy: Send + Sync + 'static {
    /// Permits one request. `None`: the request is not allowed.
    fn permit(&self, request: Request) -> Option<Box<dyn RequestPermit>>;

    /// Permits one connection for a permitted request. `None`: the connection is not allowed.
    fn permit_connection(&self, connection: Connection) -> Option<Box<dyn ConnectionPermit>>;

    /// Headers that every request to an origin gets. They replace headers of the request with the same names. Their
    /// values are removed from all responses under this policy, also from those of other origins.
    fn secrets(&self) -> Option<&Secrets> {
        None
    }
}

/// Proof that a policy allowed one request.
pub trait RequestPermit: Send {
    /// The request that was allowed.
    fn request(&self) -> &Request;

    /// Records the outcome: the status code of the response, or why there is no response.
    fn record(self: Box<Self>, outcome: Result<u16, Fault>);
}

/// Proof that a policy allowed one connection.
pub trait ConnectionPermit: Send {
    /// The connection that was allowed.
    fn connection(&self) -> &Connection;

    /// Records that the connection may be tried from now on. An attempt need not follow: if a host has several
    /// addresses, later ones are tried only if the first ones do not answer.
    fn record(self: Box<Self>);
}

/// The parts of a request that a policy judges.
#[derive(Debug, Clone)]
pub struct Request {
    /// The origin that the request goes to.
    pub origin: Origin,
    /// The HTTP method.
    pub method: String,
    /// The path, without the query. A query may contain secrets, and records contain this path.
    pub path: String,
}

/// A connection to one of the addresses of a request's host.
#[derive(Debug, Clone)]
pub struct Connection {
    /// The name of the host, or the address if the request names an address.
    pub host: String,
    /// The address to connect to.
    pub address: IpAddr,
}

/// The limits of one [`Client`].
#[derive(Debug, Clone, Copy)]
pub struct RequestLimits {
    /// Maximum number of requests of the client.
    pub requests: u32,
    /// Maximum size of one body in bytes, of a request or of a response.
    pub body_bytes: usize,
    /// Maximum time for one request, until all of its response has arrived.
    pub time: Duration,
}
