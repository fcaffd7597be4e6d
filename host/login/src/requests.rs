//! Requests to authorization servers: over TLS or on this machine, to permitted addresses only, with limits of size,
//! time and redirects.

use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, LOCATION};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use portcullis_egress::{
    Client, Connection, ConnectionPermit, Fault, Origin, RequestLimits, RequestPermit,
    RequestPolicy, is_public,
};
use serde_json::Value;
use thiserror::Error;
use url::{Host, Url};

/// Maximum number of redirects that are followed for one document.
const MAX_REDIRECTS: u32 = 3;

/// Limits of one document or answer.
const LIMITS: RequestLimits = RequestLimits {
    requests: MAX_REDIRECTS + 1,
    body_bytes: 256 * 1024,
    time: Duration::from_secs(15),
};

/// The value of `User-Agent`.
const USER_AGENT: &str = concat!("portcullis/", env!("CARGO_PKG_VERSION"));

/// Why an authorization server or its metadata could not be reached. The addresses are shortened and sanitised.
#[derive(Debug, Error)]
pub enum RequestError {
    /// An address is not a URL.
    #[error("{what}, {address:?}, is not a URL")]
    Url {
        /// A description of the address that says who named it.
        what: String,
        /// The address.
        address: String,
        /// What is wrong with the address.
        #[source]
        cause: url::ParseError,
    },
    /// A request would be sent without TLS.
    #[error("{what}, {address:?}, is not https")]
    NotConfidential {
        /// A description of the address that says who named it.
        what: String,
        /// The address.
        address: String,
    },
    /// An address has a user name, a password or a fragment.
    #[error("{what}, {address:?}, must have neither a user, a password nor a fragment")]
    UserOrFragment {
        /// A description of the address that says who named it.
        what: String,
        /// The address.
        address: String,
    },
    /// A redirect leads to an address that is not a URL.
    #[error("{address} redirects to an address that is not a URL")]
    Redirect {
        /// The address that redirects.
        address: String,
        /// What is wrong with the new address.
        #[source]
        cause: url::ParseError,
    },
    /// The address cannot be used in an HTTP request.
    #[error("cannot send a request to {address}")]
    Request {
        /// The address.
        address: String,
        /// What is wrong with the address.
        #[source]
        cause: http::Error,
    },
    /// The host has no public address, and the configuration does not name it.
    #[error(
        "cannot send a request to {address}: its host is in a private network, and the configuration does not name the \
         host; if this authorization server is the right one, set `issuer` to its address"
    )]
    PrivateNetwork {
        /// The address.
        address: String,
    },
    /// The address is not an `https` address.
    #[error("cannot send a request to {address}: only https is used")]
    NotHttps {
        /// The address.
        address: String,
    },
    /// There were too many redirects.
    #[error("cannot send a request to {address}: there were more than {MAX_REDIRECTS} redirects")]
    Redirects {
        /// The last address.
        address: String,
    },
    /// The request failed.
    #[error("the request to {address} failed")]
    Failed {
        /// The address.
        address: String,
        /// Why the request failed.
        #[source]
        cause: Fault,
    },
}

/// The policy for requests to authorization servers. It follows from the addresses of the MCP server and of the
/// issuer in the configuration.
#[derive(Debug, Clone)]
pub(crate) struct OauthRequests {
    /// Hosts that the configuration names. They may be in any network.
    named_hosts: Vec<String>,
    /// Whether the MCP server or the configured issuer is on this machine. If so, authorization servers may be
    /// on this machine, too.
    may_use_loopback: bool,
    /// Whether the URL of the MCP server has a private IP address. If so, authorization servers may be in a private
    /// network, too. No name is resolved.
    may_use_private: bool,
}

/// Whether the host of an address is `localhost`, a name that ends with `.localhost`, or a loopback address. No name is
/// resolved.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => address.is_private(),
        IpAddr::V6(address) => address.is_unique_local(),
    }
}

impl OauthRequests {
    pub(crate) fn new(server: &Url, issuer: Option<&Url>) -> Self {
        let host = |url: &Url| Origin::of(url).ok().map(|origin| origin.host().to_owned());
        let may_use_private = match server.host() {
            Some(Host::Ipv4(address)) => is_private(address.into()),
            Some(Host::Ipv6(address)) => is_private(address.into()),
            Some(Host::Domain(_)) | None => false,
        };
        Self {
            named_hosts: [Some(server), issuer].into_iter().flatten().filter_map(host).collect(),
            may_use_loopback: is_loopback(server) || issuer.is_some_and(is_loopback),
            may_use_private,
        }
    }

    /// Whether nobody else can read requests to this address: the address uses TLS, or it is on this machine, and so is
    /// the MCP server or the configured issuer.
    pub(crate) fn is_confidential(&self, url: &Url) -> bool {
        url.scheme() == "https"
            || (url.scheme() == "http" && self.may_use_loopback && is_loopback(url))
    }

    /// Parses an address that somebody else named, and checks that requests may be sent there. `what` describes the
    /// address in errors.
    ///
    /// # Errors
    ///
    /// The address is not a URL, is not confidential, or has a user name, a password or a fragment.
    pub(crate) fn endpoint(&self, what: &str, text: &str) -> Result<Url, RequestError> {
        let (what, address) = (what.to_owned(), portcullis_sanitize::line(text, 200));
        let url = match Url::parse(text) {
            Ok(url) => url,
            Err(cause) => return Err(RequestError::Url { what, address, cause }),
        };
        if !self.is_confidential(&url) {
            return Err(RequestError::NotConfidential { what, address });
        }
        if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
            return Err(RequestError::UserOrFragment { what, address });
        }
        Ok(url)
    }
}

impl RequestPolicy for OauthRequests {
    fn permit(&self, request: portcullis_egress::Request) -> Option<Box<dyn RequestPermit>> {
        let url = Url::parse(&request.origin.url());
        let is_allowed = url.is_ok_and(|url| self.is_confidential(&url));
        request.permit_without_record_if(is_allowed)
    }

    fn permit_connection(&self, connection: Connection) -> Option<Box<dyn ConnectionPermit>> {
        let Connection { host, address } = &connection;
        let is_allowed = self.named_hosts.contains(host)
            || is_public(*address)
            || (self.may_use_loopback && address.to_canonical().is_loopback())
            || (self.may_use_private && is_private(*address));
        connection.permit_without_record_if(is_allowed)
    }
}

/// The body of a POST request.
pub(crate) enum PostBody {
    Form(String),
    Json(Value),
}

impl OauthRequests {
    /// Gets the JSON object at an address. `None`: the server has no JSON object there.
    ///
    /// # Errors
    ///
    /// The request failed, or the answer exceeds a limit.
    pub(crate) async fn document(&self, url: &Url) -> Result<Option<Value>, RequestError> {
        let mut client = Client::new(self.clone(), LIMITS, USER_AGENT);
        let mut url = url.clone();
        loop {
            let request = build_request(Method::GET, &url)?;
            let sent = client.send(request, None).await;
            let response = sent.map_err(|fault| request_error(&url, fault))?;
            let next = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            if let (true, Some(next)) = (response.status().is_redirection(), next) {
                url = url
                    .join(next)
                    .map_err(|cause| RequestError::Redirect { address: shown(&url), cause })?;
                continue;
            }
            if response.status() != StatusCode::OK {
                return Ok(None);
            }
            let body = response.into_body().collect().await;
            let body = body.map_err(|fault| request_error(&url, fault))?.to_bytes();
            let parsed = serde_json::from_slice(&body).inspect_err(|error| {
                tracing::debug!("{} is not a JSON document: {error}", shown(&url));
            });
            return Ok(parsed.ok().filter(Value::is_object));
        }
    }

    /// Sends a POST request. Returns the status and the JSON of the answer, or `null` if the answer is not JSON. No
    /// redirect is followed, because the body may contain secrets.
    ///
    /// # Errors
    ///
    /// The request failed, or the answer exceeds a limit.
    pub(crate) async fn post(
        &self,
        url: &Url,
        body: PostBody,
        authorization: Option<HeaderValue>,
    ) -> Result<(StatusCode, Value), RequestError> {
        let mut request = build_request(Method::POST, url)?;
        let (kind, body) = match body {
            PostBody::Form(form) => ("application/x-www-form-urlencoded", form),
            PostBody::Json(json) => ("application/json", json.to_string()),
        };
        // Some authorization servers do not accept a body in chunks.
        request.headers_mut().insert(CONTENT_LENGTH, body.len().into());
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        *request.body_mut() = Full::from(body);
        if let Some(authorization) = authorization {
            request.headers_mut().insert(AUTHORIZATION, authorization);
        }
        let sent = Client::new(self.clone(), LIMITS, USER_AGENT).send(request, None).await;
        let response = sent.map_err(|fault| request_error(url, fault))?;
        let status = response.status();
        let body = response.into_body().collect().await;
        let body = body.map_err(|fault| request_error(url, fault))?.to_bytes();
        Ok((status, serde_json::from_slice(&body).unwrap_or_default()))
    }
}

fn build_request(method: Method, url: &Url) -> Result<Request<Full<Bytes>>, RequestError> {
    let request = Request::builder().method(method).uri(url.as_str());
    let request = request.header(ACCEPT, "application/json").body(Full::default());
    request.map_err(|cause| RequestError::Request { address: shown(url), cause })
}

/// An address as shown to users: sanitised, and without its query, which may contain secrets.
pub(crate) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    portcullis_sanitize::line(url.as_str(), 200)
}

fn request_error(url: &Url, fault: Fault) -> RequestError {
    let address = shown(url);
    match fault {
        Fault::AddressDenied => RequestError::PrivateNetwork { address },
        Fault::Denied => RequestError::NotHttps { address },
        Fault::TooMany => RequestError::Redirects { address },
        Fault::BadUrl
        | Fault::Misconfigured
        | Fault::ConnectionRefused
        | Fault::Unreachable
        | Fault::Certificate
        | Fault::TimedOut
        | Fault::RequestTooLong
        | Fault::Protocol
        | Fault::Encoded
        | Fault::TooLong
        | Fault::Incomplete => RequestError::Failed { address, cause: fault },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(server: &str, issuer: Option<&str>) -> OauthRequests {
        OauthRequests::new(
            &server.parse().unwrap(),
            issuer.map(|url| url.parse().unwrap()).as_ref(),
        )
    }

    fn connects(requests: &OauthRequests, host: &str, address: &str) -> bool {
        let address = address.parse().unwrap();
        requests.permit_connection(Connection { host: host.to_owned(), address }).is_some()
    }

    #[test]
    fn addresses_that_a_server_names_are_public_unless_the_server_itself_is_not() {
        let public = requests("https://mcp.example/mcp", None);
        assert!(connects(&public, "as.example", "93.184.216.34"));
        assert!(connects(&public, "mcp.example", "10.0.0.1"), "the operator named it");
        for address in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fd00::1", "fe80::1"] {
            assert!(!connects(&public, "as.example", address), "{address}");
        }
        let named = requests("https://mcp.example/mcp", Some("https://sso.corp/"));
        assert!(connects(&named, "sso.corp", "10.0.0.1"));
        assert!(!connects(&named, "other.corp", "10.0.0.1"));
        let private = requests("https://10.1.1.1/mcp", None);
        assert!(connects(&private, "10.2.2.2", "10.2.2.2"));
        for address in ["127.0.0.1", "169.254.169.254", "fe80::1"] {
            assert!(!connects(&private, "as.example", address), "{address}");
        }
        let local = requests("http://localhost:3000/mcp", None);
        assert!(connects(&local, "127.0.0.1", "127.0.0.1"));
        for address in ["10.0.0.1", "169.254.169.254"] {
            assert!(!connects(&local, "as.example", address), "{address}");
        }
    }

    #[test]
    fn only_confidential_addresses_are_endpoints() {
        let public = requests("https://mcp.example/mcp", None);
        let local = requests("http://127.0.0.1:3000/mcp", None);
        for text in [
            "javascript:alert(1)",
            "file:///etc/passwd",
            "http://as.example/token",
            "https://me:pw@as.example/token",
            "https://as.example/token#x",
            "/token",
            "",
        ] {
            assert!(public.endpoint("x", text).is_err(), "{text}");
            assert!(local.endpoint("x", text).is_err(), "{text}");
        }
        assert!(public.endpoint("x", "http://127.0.0.1/token").is_err());
        assert!(local.endpoint("x", "http://127.0.0.1/token").is_ok());
        assert!(local.endpoint("x", "https://as.example/token").is_ok());
    }
}
