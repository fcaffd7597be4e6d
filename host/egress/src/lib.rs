//! HTTP requests that reach no origin and no address they should not.
//!
//! Whoever makes requests gives a [`RequestPolicy`], which is asked before anything leaves: for each
//! request, and for each address that a host's name led to. No redirect is followed, and bodies,
//! time and number have their ends. A proxy that the environment prescribes is used; it resolves
//! the names of what it is asked for, so that their addresses are its matter.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make the files they need"))]

mod address;
mod client;
mod document;
mod fault;
mod origin;
mod response;
mod secret;
mod unrecorded;

#[cfg(test)]
mod property_tests;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

pub use address::is_public;
pub use client::Client;
pub use document::document;
pub use fault::Fault;
pub use origin::Origin;
pub use response::ResponseBody;
pub use secret::Secret;

/// Secret headers: by origin, then by the name of the header.
pub type Secrets = BTreeMap<Origin, BTreeMap<String, Secret>>;

/// Says what may be reached. It is asked anew each time, and may keep a record of that.
pub trait RequestPolicy: Send + Sync + 'static {
    /// Judges one request. `None`: it must not be made.
    fn permit(&self, request: Request) -> Option<Box<dyn RequestPermit>>;

    /// Judges a connection for a request that was permitted. `None`: it must not be made.
    fn permit_connection(&self, connection: Connection) -> Option<Box<dyn ConnectionPermit>>;

    /// Headers that every request to an origin gets, whatever the request holds itself. No answer to any request
    /// under this policy shows their values, whichever origin it comes from.
    fn secrets(&self) -> Option<&Secrets> {
        None
    }
}

/// Proof that a policy allowed one request.
pub trait RequestPermit: Send {
    /// The request that was allowed.
    fn request(&self) -> &Request;

    /// Records the outcome: the status code of the answer, or why there is none.
    fn record(self: Box<Self>, answer: Result<u16, Fault>);
}

/// Proof that a policy allowed one connection.
pub trait ConnectionPermit: Send {
    /// The connection that was allowed.
    fn connection(&self) -> &Connection;

    /// Uses the permit up: the connection is tried now.
    fn record(self: Box<Self>);
}

/// One request, as far as a policy is asked about it.
#[derive(Debug, Clone)]
pub struct Request {
    /// Where to.
    pub origin: Origin,
    /// With which method.
    pub method: String,
    /// To which path, without the query: that may hold what is nobody's business.
    pub path: String,
}

/// A connection to one address that the host's name of a request led to.
#[derive(Debug, Clone)]
pub struct Connection {
    /// The host's name, or the address itself where the request names it.
    pub host: String,
    /// Where the connection would go.
    pub address: IpAddr,
}

/// The ends of one [`Client`].
#[derive(Debug, Clone, Copy)]
pub struct Caps {
    /// Requests in all.
    pub requests: u32,
    /// Bytes of one body, of a request or of an answer.
    pub body_bytes: usize,
    /// How long one request may take with its answer.
    pub time: Duration,
}
