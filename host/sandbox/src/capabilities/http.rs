//! The capability `http`: requests to hosts that the operator names.

mod grant;

use std::time::Duration;

use http_body_util::BodyExt;
use portcullis_egress::{
    Caps, Client, Connection, ConnectionPermit, Fault, Policy, Request, RequestPermit, Secrets,
};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

use crate::gate::{Gate, Permit};
use portcullis_engine::{Limits, size};

pub(super) use grant::want;
pub use grant::{HttpGrant, HttpRule};

/// The requests of one call. One client for each: no connection is shared between calls.
pub struct Http(Client);

impl Http {
    /// A whole allowance.
    pub fn new(gate: Gate, limits: &Limits) -> Self {
        let caps = Caps {
            requests: limits.http_requests.get(),
            body_bytes: size(limits.http_body_bytes),
            time: Duration::from_millis(limits.http_ms.get()),
        };
        Self(Client::new(gate, caps, concat!("portcullis/", env!("CARGO_PKG_VERSION"))))
    }
}

impl Policy for Gate {
    fn permit(&self, request: Request) -> Option<Box<dyn RequestPermit>> {
        Some(Box::new(self.pass(request).ok()?))
    }

    fn permit_connection(&self, connection: Connection) -> Option<Box<dyn ConnectionPermit>> {
        Some(Box::new(self.pass(connection).ok()?))
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

type Sent = Box<dyn Future<Output = Result<(http::Response<WasiBody>, Ended), Error>> + Send>;
type Ended = Box<dyn Future<Output = Result<(), Error>> + Send>;

impl WasiHttpHooks for Http {
    fn send_request(
        &mut self,
        request: http::Request<WasiBody>,
        options: Option<RequestOptions>,
        _response_processed: Ended,
    ) -> Sent {
        let time = options.and_then(|options| options.first_byte_timeout);
        let sent = self.0.send(request, time);
        Box::new(async move {
            let response = sent.await.map_err(told)?;
            let ended: Ended = Box::new(async { Ok(()) });
            Ok((response.map(|body| body.map_err(told).boxed_unsync()), ended))
        })
    }
}

/// A fault in a word, for the record.
fn word(fault: Fault) -> &'static str {
    match fault {
        Fault::TooMany => "too-many",
        Fault::BadAddress => "bad-address",
        Fault::Denied => "denied",
        Fault::AddressDenied => "address-denied",
        Fault::Misconfigured => "misconfigured",
        Fault::ConnectionRefused => "connection-refused",
        Fault::Unreachable => "unreachable",
        Fault::Certificate => "certificate",
        Fault::TimedOut => "timed-out",
        Fault::Protocol => "protocol",
        Fault::Encoded => "encoded",
        Fault::TooLong => "too-long",
        Fault::Incomplete => "incomplete",
    }
}

/// What the guest may learn of a request that failed: a code, no address.
fn told(fault: Fault) -> Error {
    match fault {
        Fault::TooMany => Error::ConnectionLimitReached,
        Fault::BadAddress => Error::HttpRequestUriInvalid,
        Fault::Denied => Error::HttpRequestDenied,
        Fault::AddressDenied => Error::DestinationIpProhibited,
        Fault::Misconfigured => Error::ConfigurationError,
        Fault::ConnectionRefused => Error::ConnectionRefused,
        Fault::Unreachable => Error::DestinationUnavailable,
        Fault::Certificate => Error::TlsCertificateError,
        Fault::TimedOut => Error::HttpResponseTimeout,
        Fault::Protocol => Error::HttpProtocolError,
        Fault::Encoded => Error::HttpResponseContentCoding(None),
        Fault::TooLong => Error::HttpResponseBodySize(None),
        Fault::Incomplete => Error::HttpResponseIncomplete,
    }
}
