//! The host's side of `wasi:http`: the HTTP client of one round of a call.

use std::time::Duration;

use http_body_util::BodyExt;
use portcullis_egress::{Client, Fault, RequestLimits};
use wasmtime::component::Linker;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

use crate::gate::Gate;
use crate::sandbox::InstanceState;
use portcullis_engine::{Limits, size};

/// Links the interfaces.
pub(super) fn link(linker: &mut Linker<InstanceState>) -> wasmtime::Result<()> {
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(linker)
}

/// Links the interfaces of WASI 0.3. Their requests are sent by the same [`Http`].
pub(super) fn link_concurrent(linker: &mut Linker<InstanceState>) -> wasmtime::Result<()> {
    wasmtime_wasi_http::p3::add_to_linker(linker)
}

/// The HTTP client of one round of a call. Each round has a client of its own, so calls share no connection.
pub struct Http(Client);

impl Http {
    /// A client that has sent no request yet.
    pub fn new(gate: Gate, limits: &Limits) -> Self {
        let limits = RequestLimits {
            requests: limits.http_requests.get(),
            body_bytes: size(limits.http_body_bytes),
            time: Duration::from_millis(limits.http_ms.get()),
        };
        Self(Client::new(gate, limits, concat!("portcullis/", env!("CARGO_PKG_VERSION"))))
    }
}

type SentRequest =
    Box<dyn Future<Output = Result<(http::Response<WasiBody>, BodyEnd), Error>> + Send>;
type BodyEnd = Box<dyn Future<Output = Result<(), Error>> + Send>;

impl WasiHttpHooks for Http {
    fn send_request(
        &mut self,
        request: http::Request<WasiBody>,
        options: Option<RequestOptions>,
        _response_processed: BodyEnd,
    ) -> SentRequest {
        let time = options.and_then(|options| options.first_byte_timeout);
        let sent = self.0.send(request, time);
        Box::new(async move {
            let response = sent.await.map_err(error_code)?;
            let ended: BodyEnd = Box::new(async { Ok(()) });
            Ok((response.map(|body| body.map_err(error_code).boxed_unsync()), ended))
        })
    }
}

/// The error code that the guest gets for a failed request. The code reveals no address.
fn error_code(fault: Fault) -> Error {
    match fault {
        Fault::TooMany => Error::ConnectionLimitReached,
        Fault::BadUrl => Error::HttpRequestUriInvalid,
        Fault::Denied => Error::HttpRequestDenied,
        Fault::AddressDenied => Error::DestinationIpProhibited,
        Fault::Misconfigured => Error::ConfigurationError,
        Fault::ConnectionRefused => Error::ConnectionRefused,
        Fault::Unreachable => Error::DestinationUnavailable,
        Fault::Certificate => Error::TlsCertificateError,
        Fault::TimedOut => Error::HttpResponseTimeout,
        Fault::RequestTooLong => Error::HttpRequestBodySize(None),
        Fault::Protocol => Error::HttpProtocolError,
        Fault::Encoded => Error::HttpResponseContentCoding(None),
        Fault::TooLong => Error::HttpResponseBodySize(None),
        Fault::Incomplete => Error::HttpResponseIncomplete,
    }
}
