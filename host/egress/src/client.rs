//! Sends the requests that a policy permits. The policy is asked for each request before the host's name is resolved,
//! and then for each address of the host. If a proxy is used, the proxy resolves the name, and the policy is not asked
//! for the addresses.

use std::collections::HashSet;
use std::error::Error as StdError;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use http_body::Body;
use http_body_util::{BodyExt, BodyStream, Limited};
use hyper_util::client::proxy::matcher::Matcher;
use parking_lot::Mutex;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::Url;

use crate::response::{self, ResponseBody};
use crate::secret::KnownSecrets;
use crate::tls::tls_config;
use crate::{
    Connection, ConnectionPermit, Fault, Origin, Request, RequestLimits, RequestPermit,
    RequestPolicy,
};

/// The coding of a body that is not compressed.
const IDENTITY: http::HeaderValue = http::HeaderValue::from_static("identity");

/// Sends requests under one policy. Its connections are not shared with other clients.
pub struct Client {
    policy: Arc<dyn RequestPolicy>,
    limits: RequestLimits,
    agent: &'static str,
    /// `None` before the first request.
    client: Option<reqwest::Client>,
    names: Arc<Mutex<Names>>,
    /// The secrets of the policy, as read for the requests so far.
    secrets: KnownSecrets,
}

impl Client {
    /// A client that has sent no request yet. `agent` is its `User-Agent`.
    pub fn new(policy: impl RequestPolicy, limits: RequestLimits, agent: &'static str) -> Self {
        Self {
            policy: Arc::new(policy),
            limits,
            agent,
            client: None,
            names: Arc::default(),
            secrets: KnownSecrets::default(),
        }
    }

    /// Asks the policy to permit a request and, if it does, sends it. This function asks the policy before it returns.
    /// The request is sent when the returned future is polled. `time` can shorten [`RequestLimits::time`] for this
    /// request.
    ///
    /// # Errors
    ///
    /// A [`Fault`]: the request is not allowed, or it failed. Reading the body of the response can fail with a
    /// [`Fault`], too.
    pub fn send<B>(
        &mut self,
        request: http::Request<B>,
        time: Option<Duration>,
    ) -> impl Future<Output = Result<http::Response<ResponseBody>, Fault>> + Send + use<B>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        let prepared = self.prepare(request, time);
        let body_bytes = self.limits.body_bytes;
        let scrub = self.secrets.scrub();
        async move {
            let (permits, prepared) = prepared?;
            let sent = transmit(permits, prepared).await;
            let response = http::Response::from(sent?).map(|body| {
                Limited::new(body, body_bytes)
                    .map_err(|error| Fault::of_body(&*error))
                    .boxed_unsync()
            });
            response::scrubbed(response, &scrub)
        }
    }

    /// Asks the policy to permit a request, and builds the request if it is permitted. The outer error: the request
    /// is not permitted, or the policy was not asked because the URL is invalid or the client may send no more
    /// requests. The inner error: the request is permitted and cannot be built. [`transmit`] records this error as
    /// the outcome.
    fn prepare<B>(
        &mut self,
        request: http::Request<B>,
        time: Option<Duration>,
    ) -> Result<(Permits, Result<reqwest::RequestBuilder, Fault>), Fault>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        let (permits, url) = self.permit(&request)?;
        let origin = permits.request.request().origin.clone();
        let ready = self.build(request, &origin, url, time);
        Ok((permits, ready))
    }

    /// Builds a request that is allowed: with secrets, time limit and body.
    fn build<B>(
        &mut self,
        request: http::Request<B>,
        origin: &Origin,
        url: Url,
        time: Option<Duration>,
    ) -> Result<reqwest::RequestBuilder, Fault>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        let client = self.client()?;
        let proxy = proxies().intercept(request.uri());
        if let Some(name) = proxy.as_ref().and_then(|proxy| proxy.uri().host()) {
            self.names.lock().proxies.insert(name.to_owned());
        }
        let (parts, body) = request.into_parts();
        let mut headers = parts.headers;
        headers.remove(http::header::HOST);
        if let Some(secrets) = self.policy.secrets() {
            self.secrets.add(&mut headers, origin, secrets).map_err(|error| {
                tracing::error!("{}", portcullis_sanitize::error_chain(&error));
                Fault::Misconfigured
            })?;
        }
        if !self.secrets.scrub().is_empty() {
            // Secrets can be found only in bodies that are not compressed.
            headers.insert(http::header::ACCEPT_ENCODING, IDENTITY);
            headers.remove(http::header::TE);
        }
        let mut builder = client
            .request(parts.method, url)
            .headers(headers)
            .timeout(time.map_or(self.limits.time, |time| time.min(self.limits.time)));
        if body.size_hint().exact() != Some(0) {
            let data = BodyStream::new(Limited::new(body, self.limits.body_bytes));
            builder = builder.body(reqwest::Body::wrap_stream(data_only(data)));
        }
        Ok(builder)
    }

    /// Asks the policy to permit the request and, if the host in its URL is an IP address, the connection.
    fn permit<B>(&mut self, request: &http::Request<B>) -> Result<(Permits, Url), Fault> {
        self.limits.requests = self.limits.requests.checked_sub(1).ok_or(Fault::TooMany)?;
        let url = Url::parse(&request.uri().to_string()).map_err(|error| bad_url(&error))?;
        let origin = Origin::of(&url).map_err(|error| bad_url(&error))?;
        let host = origin.host().to_owned();
        let (method, path) = (request.method().to_string(), url.path().to_owned());
        let judged = Request { origin, method, path };
        let request = self.policy.permit(judged).ok_or(Fault::Denied)?;
        let connection = match host.trim_matches(['[', ']']).parse() {
            Ok(address) => {
                let connection = Connection { host: host.clone(), address };
                let permit = self.policy.permit_connection(connection);
                Some(permit.ok_or(Fault::AddressDenied)?)
            }
            // The host is a name. The resolver asks the policy to permit each of its addresses.
            Err(_) => None,
        };
        self.names.lock().allowed.insert(host);
        Ok((Permits { request, connection }, url))
    }

    /// The client of reqwest. It is made for the first request.
    fn client(&mut self) -> Result<reqwest::Client, Fault> {
        if let Some(client) = &self.client {
            return Ok(client.clone());
        }
        let client = self.builder().build().map_err(|error| {
            // The text of reqwest's error does not contain its cause.
            tracing::error!(
                "cannot make the HTTP client: {}",
                portcullis_sanitize::error_chain(&error)
            );
            Fault::Misconfigured
        })?;
        Ok(self.client.insert(client).clone())
    }

    fn builder(&self) -> reqwest::ClientBuilder {
        let resolver = PolicyResolver { policy: self.policy.clone(), names: self.names.clone() };
        reqwest::Client::builder()
            .tls_backend_preconfigured(tls_config())
            // The caller gets the redirect as a response. The policy judges the next request like any other.
            .redirect(reqwest::redirect::Policy::none())
            .dns_resolver(resolver)
            .referer(false)
            .user_agent(self.agent)
    }
}

/// The fault of a URL that cannot be used. The cause is logged, because a [`Fault`] does not carry its cause.
fn bad_url(cause: &dyn StdError) -> Fault {
    let cause = portcullis_sanitize::error_chain(cause);
    tracing::debug!("the URL of a request cannot be used: {cause}");
    Fault::BadUrl
}

/// The data of a body, without trailers: reqwest does not send trailers.
fn data_only<B>(stream: BodyStream<B>) -> impl Stream<Item = Result<Bytes, B::Error>>
where
    B: Body<Data = Bytes>,
{
    stream.filter_map(async |frame| frame.map(|frame| frame.into_data().ok()).transpose())
}

/// The permits of one request.
struct Permits {
    request: Box<dyn RequestPermit>,
    /// The permit for the address, if the host in the URL is an IP address.
    connection: Option<Box<dyn ConnectionPermit>>,
}

/// Sends a request, and records its outcome.
async fn transmit(
    Permits { request, connection }: Permits,
    prepared: Result<reqwest::RequestBuilder, Fault>,
) -> Result<reqwest::Response, Fault> {
    let sent = match prepared {
        Ok(builder) => {
            if let Some(connection) = connection {
                connection.record();
            }
            builder.send().await.map_err(|error| Fault::of(&error))
        }
        Err(fault) => Err(fault),
    };
    let status = sent.as_ref().map(|response| response.status().as_u16());
    request.record(status.map_err(|fault| *fault));
    sent
}

/// The proxies that the environment of this process prescribes. reqwest uses the same proxies.
fn proxies() -> &'static Matcher {
    static PROXIES: OnceLock<Matcher> = OnceLock::new();
    PROXIES.get_or_init(Matcher::from_system)
}

/// The names that a client may resolve.
#[derive(Default)]
struct Names {
    /// Hosts of the requests that the policy permitted. The policy judges each of their addresses.
    allowed: HashSet<String>,
    /// Proxies for these requests. The policy judges the addresses of a proxy only if its name is in `allowed`, too.
    proxies: HashSet<String>,
}

/// Resolves the names of allowed hosts, and asks the policy to permit each of their addresses.
struct PolicyResolver {
    policy: Arc<dyn RequestPolicy>,
    names: Arc<Mutex<Names>>,
}

impl Resolve for PolicyResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().trim_end_matches('.').to_owned();
        let (is_allowed, is_proxy) = {
            let names = self.names.lock();
            (names.allowed.contains(&host), names.proxies.contains(&host))
        };
        let policy = self.policy.clone();
        Box::pin(async move {
            if !is_allowed && !is_proxy {
                tracing::error!(
                    "refused to resolve `{host}`: no permitted request names it, and it is not a proxy"
                );
                return Err(Fault::AddressDenied.into());
            }
            let found: Vec<SocketAddr> =
                tokio::net::lookup_host((host.as_str(), 0)).await?.collect();
            if !is_allowed {
                return Ok(Box::new(found.into_iter()) as Addrs);
            }
            let permit = |found: SocketAddr| {
                let address = found.ip();
                policy.permit_connection(Connection { host: host.clone(), address })
            };
            let permits: Vec<_> = found.into_iter().filter_map(permit).collect();
            if permits.is_empty() {
                return Err(Fault::AddressDenied.into());
            }
            Ok(addresses(permits))
        })
    }
}

/// The permitted addresses. Their permits are recorded when the connector takes the list, before it tries the first
/// address. Port 0 stands for the port of the request.
fn addresses(permits: Vec<Box<dyn ConnectionPermit>>) -> Addrs {
    let address = |permit: Box<dyn ConnectionPermit>| {
        let address = permit.connection().address;
        permit.record();
        SocketAddr::new(address, 0)
    };
    Box::new(permits.into_iter().map(address))
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
