//! Hands permits over to the crate `portcullis-egress`, which makes connections and sends requests.

use portcullis_egress::{
    Connection, ConnectionPermit, Fault, Request, RequestPermit, RequestPolicy, Secrets,
};

use crate::gate::{Gate, Permit};

/// Hands the permit of a request over to the crate that sends it.
pub fn hand_over_request(permit: Permit<Request>) -> Box<dyn RequestPermit> {
    Box::new(permit)
}

/// Hands the permit of a connection over to the crate that makes it.
pub fn hand_over_connection(permit: Permit<Connection>) -> Box<dyn ConnectionPermit> {
    Box::new(permit)
}

impl RequestPolicy for Gate {
    fn permit(&self, request: Request) -> Option<Box<dyn RequestPermit>> {
        // If the gate refuses, it has recorded the refusal, and the guest gets an error code.
        self.pass(request).ok().map(hand_over_request)
    }

    fn permit_connection(&self, connection: Connection) -> Option<Box<dyn ConnectionPermit>> {
        self.pass(connection).ok().map(hand_over_connection)
    }

    fn secrets(&self) -> Option<&Secrets> {
        Some(&self.grants().http.as_ref()?.headers)
    }
}

impl RequestPermit for Permit<Request> {
    fn request(&self) -> &Request {
        self.ask()
    }

    fn record(self: Box<Self>, answer: Result<u16, Fault>) {
        let outcome = match answer {
            Ok(status) => format!("status {status}"),
            Err(fault) => word(fault).to_owned(),
        };
        let recorded = Self::record(*self, &outcome);
        debug_assert!(recorded.is_ok(), "a request is on record before it is sent");
    }
}

impl ConnectionPermit for Permit<Connection> {
    fn connection(&self) -> &Connection {
        self.ask()
    }

    fn record(self: Box<Self>) {
        let recorded = self.record_done("connected");
        debug_assert!(recorded.is_ok(), "a connection is on record before it is made");
    }
}

/// A fault in a word, for the record.
fn word(fault: Fault) -> &'static str {
    match fault {
        Fault::TooMany => "too-many",
        Fault::BadUrl => "bad-url",
        Fault::Denied => "denied",
        Fault::AddressDenied => "address-denied",
        Fault::Misconfigured => "misconfigured",
        Fault::ConnectionRefused => "connection-refused",
        Fault::Unreachable => "unreachable",
        Fault::Certificate => "certificate",
        Fault::TimedOut => "timed-out",
        Fault::RequestTooLong => "request-too-long",
        Fault::Protocol => "protocol",
        Fault::Encoded => "encoded",
        Fault::TooLong => "too-long",
        Fault::Incomplete => "incomplete",
    }
}
