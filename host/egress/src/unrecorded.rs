//! Permits for requests that the host makes for itself. Their outcome is not recorded.
//!
//! Only this module can make such a permit. [`Request`] and [`Connection`] do not implement the permit traits:
//! otherwise a policy that must keep records could return the request that it was asked about as the permit, and
//! nothing would be recorded.

use crate::{Connection, ConnectionPermit, Fault, Request, RequestPermit};

/// A permitted request without a record.
struct UnrecordedRequest(Request);

/// A permitted connection without a record.
struct UnrecordedConnection(Connection);

impl Request {
    /// A permit for this request if `is_allowed`. Nothing is recorded: this is for requests that the host makes for
    /// itself, not for requests of plugins.
    pub fn permit_without_record_if(self, is_allowed: bool) -> Option<Box<dyn RequestPermit>> {
        is_allowed.then(|| Box::new(UnrecordedRequest(self)) as _)
    }
}

impl RequestPermit for UnrecordedRequest {
    fn request(&self) -> &Request {
        &self.0
    }

    fn record(self: Box<Self>, _: Result<u16, Fault>) {}
}

impl Connection {
    /// A permit for this connection if `is_allowed`. See [`Request::permit_without_record_if`].
    pub fn permit_without_record_if(self, is_allowed: bool) -> Option<Box<dyn ConnectionPermit>> {
        is_allowed.then(|| Box::new(UnrecordedConnection(self)) as _)
    }
}

impl ConnectionPermit for UnrecordedConnection {
    fn connection(&self) -> &Connection {
        &self.0
    }

    fn record(self: Box<Self>) {}
}
