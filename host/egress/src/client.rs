//! Sending what the policy allows: name before resolving, every address, no redirect followed, caps
//! on bodies, time and number.

use std::collections::HashSet;
use std::error::Error as StdError;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use http_body::Body;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, BodyStream, Limited};
use parking_lot::Mutex;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use rustls_platform_verifier::ConfigVerifierExt;
use url::Url;

use crate::secret::Known;
use crate::{Caps, Connection, Fault, Origin, Policy, Request, answer};

/// Not compressed.
const IDENTITY: http::HeaderValue = http::HeaderValue::from_static("identity");

/// The body of an answer, as it comes.
pub type ResponseBody = UnsyncBoxBody<Bytes, Fault>;

/// Requests under one policy. Their connections are shared with no other client.
pub struct Client {
    policy: Arc<dyn Policy>,
    caps: Caps,
    agent: &'static str,
    /// Made with the first request.
    client: Option<reqwest::Client>,
    hosts: Arc<Mutex<HashSet<String>>>,
    /// Every secret that the policy had at one of the requests.
    secrets: Known,
}

impl Client {
    /// A client that has made no request yet. `agent` is its `User-Agent`.
    pub fn new(policy: impl Policy, caps: Caps, agent: &'static str) -> Self {
        Self {
            policy: Arc::new(policy),
            caps,
            agent,
            client: None,
            hosts: Arc::default(),
            secrets: Known::default(),
        }
    }

    /// Asks for a request and, where that is allowed, begins it: the policy has been asked when
    /// this returns. `time` is how long whoever asks would wait for the answer to begin, within
    /// [`Caps::time`].
    ///
    /// # Errors
    ///
    /// [`Fault`]; also what is read from the answer's body may end with one.
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
        let (body_bytes, policy) = (self.caps.body_bytes, self.policy.clone());
        let scrub = self.secrets.scrub();
        async move {
            let (asked, prepared) = prepared?;
            let sent = match prepared {
                Ok(builder) => builder.send().await.map_err(|error| Fault::of(&error)),
                Err(fault) => Err(fault),
            };
            let status = sent.as_ref().map(|response| response.status().as_u16());
            policy.answered(&asked, status.map_err(|fault| *fault));
            let response = http::Response::from(sent?).map(|body| {
                Limited::new(body, body_bytes)
                    .map_err(|error| Fault::of_body(&*error))
                    .boxed_unsync()
            });
            answer::scrubbed(response, &scrub)
        }
    }

    /// Asks for a request, and makes it ready where it is allowed.
    fn prepare<B>(
        &mut self,
        request: http::Request<B>,
        time: Option<Duration>,
    ) -> Result<(Request, Result<reqwest::RequestBuilder, Fault>), Fault>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        let (asked, url) = self.ask(&request)?;
        let ready = self.build(request, &asked.origin, url, time);
        Ok((asked, ready))
    }

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
        let (parts, body) = request.into_parts();
        let mut headers = parts.headers;
        headers.remove(http::header::HOST);
        if let Some(secrets) = self.policy.secrets() {
            self.secrets.add(&mut headers, origin, secrets).map_err(|error| {
                tracing::error!("{error}");
                Fault::Misconfigured
            })?;
        }
        if !self.secrets.scrub().is_empty() {
            // Secrets can be found in what is not compressed.
            headers.insert(http::header::ACCEPT_ENCODING, IDENTITY);
            headers.remove(http::header::TE);
        }
        let mut builder = client
            .request(parts.method, url)
            .headers(headers)
            .timeout(time.map_or(self.caps.time, |time| time.min(self.caps.time)));
        if body.size_hint().exact() != Some(0) {
            let data = BodyStream::new(Limited::new(body, self.caps.body_bytes));
            builder = builder.body(reqwest::Body::wrap_stream(data_only(data)));
        }
        Ok(builder)
    }

    /// Asks the policy, for the request and, where it names one, for the address.
    fn ask<B>(&mut self, request: &http::Request<B>) -> Result<(Request, Url), Fault> {
        self.caps.requests = self.caps.requests.checked_sub(1).ok_or(Fault::TooMany)?;
        let url = Url::parse(&request.uri().to_string()).map_err(|_| Fault::BadAddress)?;
        let origin = Origin::of(&url).map_err(|_| Fault::BadAddress)?;
        let host = origin.host().to_owned();
        let (method, path) = (request.method().to_string(), url.path().to_owned());
        let asked = Request { origin, method, path };
        if !self.policy.allows(asked.clone()) {
            return Err(Fault::Denied);
        }
        if let Ok(address) = host.trim_matches(['[', ']']).parse()
            && !self.policy.allows_connection(Connection { host: host.clone(), address })
        {
            return Err(Fault::AddressDenied);
        }
        self.hosts.lock().insert(host);
        Ok((asked, url))
    }

    fn client(&mut self) -> Result<reqwest::Client, Fault> {
        if let Some(client) = &self.client {
            return Ok(client.clone());
        }
        let client = self.builder()?.build().map_err(|error| {
            tracing::error!("the HTTP client: {error}");
            Fault::Misconfigured
        })?;
        Ok(self.client.insert(client).clone())
    }

    fn builder(&self) -> Result<reqwest::ClientBuilder, Fault> {
        let resolver = Judged { policy: self.policy.clone(), hosts: self.hosts.clone() };
        Ok(reqwest::Client::builder()
            .tls_backend_preconfigured(tls()?.clone())
            // Whoever asks sees 3xx, and the next request is asked for like any other.
            .redirect(reqwest::redirect::Policy::none())
            .dns_resolver(resolver)
            .referer(false)
            .user_agent(self.agent))
    }
}

/// The data frames of a body; trailers are left out, as reqwest sends none.
fn data_only<B>(stream: BodyStream<B>) -> impl Stream<Item = Result<Bytes, B::Error>>
where
    B: Body<Data = Bytes>,
{
    stream.filter_map(async |frame| frame.map(|frame| frame.into_data().ok()).transpose())
}

/// The system's certificates, loaded once.
fn tls() -> Result<&'static rustls::ClientConfig, Fault> {
    static TLS: OnceLock<Result<rustls::ClientConfig, String>> = OnceLock::new();
    TLS.get_or_init(|| {
        // Where another part of the process was first, its provider is as good.
        let _already = rustls::crypto::ring::default_provider().install_default();
        rustls::ClientConfig::with_platform_verifier().map_err(|error| error.to_string())
    })
    .as_ref()
    .map_err(|error| {
        tracing::error!("the system's certificates: {error}");
        Fault::Misconfigured
    })
}

/// Resolves the names of allowed hosts, and asks for each address they lead to.
struct Judged {
    policy: Arc<dyn Policy>,
    /// The hosts asked for so far. Any other name is that of the proxy which the operator's
    /// environment prescribes.
    hosts: Arc<Mutex<HashSet<String>>>,
}

impl Resolve for Judged {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().trim_end_matches('.').to_owned();
        let judged = self.hosts.lock().contains(host.as_str());
        let policy = self.policy.clone();
        Box::pin(async move {
            let found: Vec<SocketAddr> =
                tokio::net::lookup_host((host.as_str(), 0)).await?.collect();
            if !judged {
                return Ok(Box::new(found.into_iter()) as Addrs);
            }
            let allowed: Vec<_> = found
                .into_iter()
                .filter(|found| {
                    let address = found.ip();
                    policy.allows_connection(Connection { host: host.clone(), address })
                })
                .collect();
            if allowed.is_empty() {
                return Err(Fault::AddressDenied.into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
