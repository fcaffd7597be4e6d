//! Sending a permitted request: name before resolving, every address, no redirect followed, caps
//! on bodies, time and number.

use std::collections::HashSet;
use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http_body::Body as _;
use http_body_util::{BodyExt, BodyStream, Limited};
use parking_lot::Mutex;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use rustls_platform_verifier::ConfigVerifierExt;
use url::Url;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

use super::{AddressAsk, HttpAsk, Origin};
use crate::engine::{Limits, size};
use crate::gate::{Gate, Permit};

type Sent = Box<dyn Future<Output = Result<(http::Response<WasiBody>, Ended), Error>> + Send>;
type Ended = Box<dyn Future<Output = Result<(), Error>> + Send>;

/// The requests of one call.
pub struct Http {
    gate: Gate,
    requests_left: u32,
    body_bytes: usize,
    time: Duration,
    /// Made with the first request. One for each call: no connection is shared between calls.
    client: Option<reqwest::Client>,
    hosts: Arc<Mutex<HashSet<String>>>,
}

impl Http {
    /// A whole allowance.
    pub fn new(gate: Gate, limits: &Limits) -> Self {
        Self {
            gate,
            requests_left: limits.http_requests.get(),
            body_bytes: size(limits.http_body_bytes),
            time: Duration::from_millis(limits.http_ms.get()),
            client: None,
            hosts: Arc::default(),
        }
    }

    fn client(&mut self) -> Result<reqwest::Client, Error> {
        if let Some(client) = &self.client {
            return Ok(client.clone());
        }
        let resolver = Judged { gate: self.gate.clone(), hosts: self.hosts.clone() };
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls()?.clone())
            // The guest sees 3xx, and its next request is asked for like any other.
            .redirect(reqwest::redirect::Policy::none())
            .dns_resolver(resolver)
            .referer(false)
            .user_agent(concat!("portcullis/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| internal(&error))?;
        Ok(self.client.insert(client).clone())
    }

    /// Asks at the gate, for the request and, where it names one, for the address.
    fn pass(&mut self, request: &http::Request<WasiBody>) -> Result<(Permit<HttpAsk>, Url), Error> {
        self.requests_left =
            self.requests_left.checked_sub(1).ok_or(Error::ConnectionLimitReached)?;
        let url =
            Url::parse(&request.uri().to_string()).map_err(|_| Error::HttpRequestUriInvalid)?;
        let origin = Origin::of(&url).map_err(|_| Error::HttpRequestUriInvalid)?;
        let host = origin.host().to_owned();
        let ask =
            HttpAsk { origin, method: request.method().to_string(), path: url.path().to_owned() };
        let permit = self.gate.pass(ask).map_err(|_| Error::HttpRequestDenied)?;
        if let Ok(address) = host.trim_matches(['[', ']']).parse() {
            self.gate
                .pass(AddressAsk { host: host.clone(), address })
                .map_err(|_| Error::DestinationIpProhibited)?;
        }
        self.hosts.lock().insert(host);
        Ok((permit, url))
    }

    fn prepare(
        &mut self,
        request: http::Request<WasiBody>,
        options: Option<RequestOptions>,
    ) -> Result<reqwest::RequestBuilder, Error> {
        let (permit, url) = self.pass(&request)?;
        let client = self.client()?;
        let HttpAsk { origin, .. } = permit.into_ask();
        let (parts, body) = request.into_parts();
        let mut headers = parts.headers;
        headers.remove(http::header::HOST);
        for (name, value) in secrets(&self.gate, &origin)? {
            headers.insert(name, value);
        }
        let wanted = options.and_then(|options| options.first_byte_timeout);
        let mut builder = client
            .request(parts.method, url)
            .headers(headers)
            .timeout(wanted.map_or(self.time, |wanted| wanted.min(self.time)));
        if body.size_hint().exact() != Some(0) {
            let limited = Limited::new(body, self.body_bytes);
            let data = BodyStream::new(limited);
            builder = builder.body(reqwest::Body::wrap_stream(data_only(data)));
        }
        Ok(builder)
    }
}

/// The data frames of a body; trailers are left out, as reqwest sends none.
fn data_only<B>(
    stream: BodyStream<B>,
) -> impl futures_util::Stream<Item = Result<bytes::Bytes, B::Error>>
where
    B: http_body::Body<Data = bytes::Bytes>,
{
    use futures_util::StreamExt;
    stream.filter_map(async |frame| frame.map(|frame| frame.into_data().ok()).transpose())
}

/// The headers that the operator has the host add for this origin.
fn secrets(
    gate: &Gate,
    origin: &Origin,
) -> Result<Vec<(http::HeaderName, http::HeaderValue)>, Error> {
    let granted = gate.grants().http.as_ref().and_then(|grant| grant.headers.get(origin));
    let mut headers = Vec::new();
    for (name, secret) in granted.into_iter().flatten() {
        let value = secret.read().and_then(|value| {
            http::HeaderValue::try_from(value).map_err(|_| "it is no header's value".to_owned())
        });
        let mut value = value.map_err(|error| {
            tracing::error!("the secret header {name} for {origin}: {error}");
            Error::ConfigurationError
        })?;
        value.set_sensitive(true);
        headers.push((http::HeaderName::try_from(name).expect("checked at load"), value));
    }
    Ok(headers)
}

impl WasiHttpHooks for Http {
    fn send_request(
        &mut self,
        request: http::Request<WasiBody>,
        options: Option<RequestOptions>,
        _response_processed: Ended,
    ) -> Sent {
        let prepared = self.prepare(request, options);
        let body_bytes = self.body_bytes;
        Box::new(async move {
            let response = prepared?.send().await.map_err(|error| explain(&error))?;
            let response = http::Response::from(response).map(|body| {
                Limited::new(body, body_bytes).map_err(|error| body_error(&*error)).boxed_unsync()
            });
            let ended: Ended = Box::new(async { Ok(()) });
            Ok((response, ended))
        })
    }
}

/// The system's certificates, loaded once.
fn tls() -> Result<&'static rustls::ClientConfig, Error> {
    static TLS: OnceLock<Result<rustls::ClientConfig, String>> = OnceLock::new();
    TLS.get_or_init(|| {
        // Where another part of the process was first, its provider is as good.
        let _already = rustls::crypto::ring::default_provider().install_default();
        rustls::ClientConfig::with_platform_verifier().map_err(|error| error.to_string())
    })
    .as_ref()
    .map_err(|error| {
        tracing::error!("the system's certificates: {error}");
        Error::ConfigurationError
    })
}

/// Resolves the names of granted hosts, and asks for each address they lead to.
struct Judged {
    gate: Gate,
    /// The hosts asked for so far. Any other name is that of the proxy which the operator's
    /// environment prescribes.
    hosts: Arc<Mutex<HashSet<String>>>,
}

impl Resolve for Judged {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().trim_end_matches('.').to_owned();
        let judged = self.hosts.lock().contains(host.as_str());
        let gate = self.gate.clone();
        Box::pin(async move {
            let found: Vec<SocketAddr> =
                tokio::net::lookup_host((host.as_str(), 0)).await?.collect();
            if !judged {
                return Ok(Box::new(found.into_iter()) as Addrs);
            }
            let allowed: Vec<_> = found
                .into_iter()
                .filter(|found| {
                    gate.pass(AddressAsk { host: host.clone(), address: found.ip() }).is_ok()
                })
                .collect();
            if allowed.is_empty() {
                return Err(Prohibited.into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

/// Every address of a host was refused.
#[derive(Debug)]
struct Prohibited;

impl fmt::Display for Prohibited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("every address of the host was refused")
    }
}

impl StdError for Prohibited {}

/// What the guest may learn of a request that failed: a code, no address.
fn explain(error: &reqwest::Error) -> Error {
    let mut cause: Option<&dyn StdError> = Some(error);
    while let Some(current) = cause {
        if current.is::<Prohibited>() {
            return Error::DestinationIpProhibited;
        }
        if let Some(rustls::Error::InvalidCertificate(_)) = current.downcast_ref() {
            return Error::TlsCertificateError;
        }
        if let Some(error) = current.downcast_ref::<std::io::Error>()
            && error.kind() == std::io::ErrorKind::ConnectionRefused
        {
            return Error::ConnectionRefused;
        }
        cause = current.source();
    }
    tracing::debug!("a request failed: {error:?}");
    if error.is_timeout() {
        Error::HttpResponseTimeout
    } else if error.is_connect() {
        Error::DestinationUnavailable
    } else {
        Error::HttpProtocolError
    }
}

fn body_error(error: &(dyn StdError + Send + Sync + 'static)) -> Error {
    if error.is::<http_body_util::LengthLimitError>() {
        return Error::HttpResponseBodySize(None);
    }
    match error.downcast_ref::<reqwest::Error>() {
        Some(error) => explain(error),
        None => Error::HttpResponseIncomplete,
    }
}

fn internal(error: &reqwest::Error) -> Error {
    tracing::error!("the HTTP client: {error}");
    Error::ConfigurationError
}
