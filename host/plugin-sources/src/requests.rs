//! HTTP requests for fetching and publishing components, bounded in number, size and time. They go to the host that the
//! operator named. A redirect, or the address of a token server, may lead to another host that has a public address.

use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, LOCATION};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_body_util::{BodyExt, Full};
use portcullis_egress::{
    Client, Connection, ConnectionPermit, Fault, Origin, Request, RequestLimits, RequestPermit,
    RequestPolicy, is_public,
};
use url::Url;

use crate::error::SourceError;

/// Size limit of manifests, tokens and lists, in bytes. By the OCI distribution specification, registries should accept
/// manifests of at least this size.
pub(crate) const SMALL: usize = 4 * 1024 * 1024;

/// The limits of requests for manifests, tokens and lists.
const SMALL_LIMITS: RequestLimits =
    RequestLimits { requests: 400, body_bytes: SMALL, time: Duration::from_secs(60) };

/// Time limit of one request for a component.
const LARGE_TIME: Duration = Duration::from_secs(300);

/// Maximum number of redirects of one request.
const MAX_REDIRECTS: usize = 5;

const USER_AGENT: &str = concat!("portcullis/", env!("CARGO_PKG_VERSION"));

/// Decides where requests may go. Requests over HTTPS may go to the host of an `https` origin that the operator named,
/// whatever its address, and to other hosts with a public address. Requests over HTTP may go only to an `http` origin
/// that the operator named, which has to be on this machine.
#[derive(Clone)]
struct NamedHost {
    host: String,
    plain: Option<Origin>,
}

impl RequestPolicy for NamedHost {
    fn permit(&self, request: Request) -> Option<Box<dyn RequestPermit>> {
        let is_secure = request.origin.url().starts_with("https://");
        let is_allowed = is_secure || self.plain.as_ref() == Some(&request.origin);
        request.permit_without_record_if(is_allowed)
    }

    fn permit_connection(&self, connection: Connection) -> Option<Box<dyn ConnectionPermit>> {
        let is_named = connection.host == self.host;
        let is_allowed = match &self.plain {
            Some(_) if is_named => connection.address.is_loopback(),
            _ => is_named || is_public(connection.address),
        };
        connection.permit_without_record_if(is_allowed)
    }
}

/// Sends the requests for one source.
pub(crate) struct Requests {
    small: Client,
    large: Client,
    /// The origin that the operator named.
    pub(crate) origin: Origin,
}

/// One request.
pub(crate) struct Ask<'a> {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) accept: &'a str,
    /// The value of the header `Authorization`. The header is left out if the origin of `url` is not the one that the
    /// operator named, unless `to_realm` is true.
    pub(crate) authorization: Option<HeaderValue>,
    /// Whether `url` is the token server that the registry named as its realm. The token server gets the authorization,
    /// whatever its origin is.
    pub(crate) to_realm: bool,
    /// The body and its media type.
    pub(crate) body: Option<(Bytes, &'a str)>,
    /// Whether the body, or the answer, may be as large as a component.
    pub(crate) is_large: bool,
}

impl<'a> Ask<'a> {
    /// A request for a small document.
    pub(crate) fn get(url: Url, accept: &'a str) -> Self {
        let (method, body) = (Method::GET, None);
        Self { method, url, accept, authorization: None, to_realm: false, body, is_large: false }
    }
}

/// A whole response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// The URL that responded, after redirects.
    pub(crate) url: Url,
}

/// An address for display: without its query, which may hold a secret.
pub(crate) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

impl Requests {
    /// Requests for a source at this URL. A component of more than `most` bytes is refused.
    pub(crate) fn to(url: &Url, most: u64) -> Result<Self, SourceError> {
        let unusable = |_| SourceError::Url(shown(url));
        let origin = Origin::of(url).map_err(unusable)?;
        let plain = (url.scheme() == "http").then(|| origin.clone());
        let policy = NamedHost { host: origin.host().to_owned(), plain };
        let body_bytes = usize::try_from(most).unwrap_or(usize::MAX);
        let large = RequestLimits { body_bytes, time: LARGE_TIME, ..SMALL_LIMITS };
        let small = Client::new(policy.clone(), SMALL_LIMITS, USER_AGENT);
        Ok(Self { small, large: Client::new(policy, large, USER_AGENT), origin })
    }

    /// Sends a request, and follows redirects of requests that only read.
    pub(crate) async fn send(&mut self, mut ask: Ask<'_>) -> Result<Answer, SourceError> {
        let follows = matches!(ask.method, Method::GET | Method::HEAD);
        for _ in 0..=MAX_REDIRECTS {
            let answer = self.send_once(&ask).await?;
            let location = answer.headers.get(LOCATION).filter(|_| answer.status.is_redirection());
            let Some(location) = location.filter(|_| follows) else { return Ok(answer) };
            let to = String::from_utf8_lossy(location.as_bytes()).into_owned();
            let refused =
                |why| SourceError::Redirect { url: shown(&answer.url), to: to.clone(), why };
            let next = answer.url.join(&to).map_err(|_| refused("it is not a URL"))?;
            if next.scheme() != "https" && answer.url.scheme() == "https" {
                return Err(refused("it leads from HTTPS to another scheme"));
            }
            // The authorization is for the token server, and not for a server to which the token server redirects.
            ask.to_realm = false;
            ask.url = next;
        }
        let (url, to) = (shown(&ask.url), ask.url.to_string());
        Err(SourceError::Redirect { url, to, why: "there are more than five redirects" })
    }

    async fn send_once(&mut self, ask: &Ask<'_>) -> Result<Answer, SourceError> {
        let failed = |cause| SourceError::Request { url: shown(&ask.url), cause };
        let origin = Origin::of(&ask.url).map_err(|_| failed(Fault::BadUrl))?;
        let mut builder = http::Request::builder().method(ask.method.clone()).uri(ask.url.as_str());
        builder = builder.header(http::header::ACCEPT, ask.accept);
        if let Some(authorization) = &ask.authorization
            && (origin == self.origin || ask.to_realm)
        {
            builder = builder.header(AUTHORIZATION, authorization);
        }
        let (body, media) = ask.body.clone().unwrap_or_default();
        if ask.body.is_some() {
            builder = builder
                .header(CONTENT_LENGTH, body.len())
                .header(http::header::CONTENT_TYPE, media);
        }
        let request = builder.body(Full::new(body)).map_err(|_| failed(Fault::BadUrl))?;
        let client = if ask.is_large { &mut self.large } else { &mut self.small };
        let response = client.send(request, None).await.map_err(failed)?;
        let (parts, body) = response.into_parts();
        let body = body.collect().await.map_err(failed)?.to_bytes();
        let url = ask.url.clone();
        Ok(Answer { status: parts.status, headers: parts.headers, body, url })
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    #[test]
    fn only_the_named_host_may_have_a_private_address() {
        let of = |url: &str| {
            let url: Url = url.parse().unwrap();
            let origin = Origin::of(&url).unwrap();
            let plain = (url.scheme() == "http").then(|| origin.clone());
            NamedHost { host: origin.host().to_owned(), plain }
        };
        let connects = |policy: &NamedHost, host: &str, address: [u8; 4]| {
            let (host, address) = (host.to_owned(), IpAddr::from(address));
            policy.permit_connection(Connection { host, address }).is_some()
        };
        let asks = |policy: &NamedHost, url: &str| {
            let (origin, method, path) = (url.parse().unwrap(), "GET".into(), "/".into());
            policy.permit(Request { origin, method, path }).is_some()
        };
        let named = of("https://registry.example/v2/");
        assert!(connects(&named, "registry.example", [10, 0, 0, 1]));
        assert!(connects(&named, "storage.example", [1, 1, 1, 1]));
        for private in [[127, 0, 0, 1], [10, 0, 0, 1], [169, 254, 169, 254], [192, 168, 0, 1]] {
            assert!(!connects(&named, "storage.example", private), "{private:?}");
        }
        assert!(asks(&named, "https://storage.example"));
        assert!(!asks(&named, "http://registry.example"));
        let plain = of("http://localhost:5000/v2/");
        assert!(asks(&plain, "http://localhost:5000"));
        assert!(!asks(&plain, "http://localhost:22") && !asks(&plain, "http://other.example"));
        assert!(connects(&plain, "localhost", [127, 0, 0, 1]));
        assert!(!connects(&plain, "localhost", [10, 0, 0, 1]), "localhost that is another machine");
    }
}
