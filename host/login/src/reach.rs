//! Whom the host asks for tokens and about them, and how: over TLS, at addresses that the operator's
//! own words lead to, with ends to size, time and redirects.

use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, LOCATION};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use portcullis_egress::{
    Caps, Client, Connection, ConnectionPermit, Fault, Origin, Policy, RequestPermit, is_public,
};
use serde_json::Value;
use url::{Host, Url};

/// Redirects that are followed from one document to another.
const REDIRECTS: u32 = 3;

/// Of one document or answer.
const CAPS: Caps =
    Caps { requests: REDIRECTS + 1, body_bytes: 256 * 1024, time: Duration::from_secs(15) };

const AGENT: &str = concat!("portcullis/", env!("CARGO_PKG_VERSION"));

/// Where requests may go: a policy that follows from the server's address and the issuer's, which the
/// operator gave.
#[derive(Debug, Clone)]
pub(crate) struct Reach {
    /// Hosts that the operator named: those may be anywhere.
    named: Vec<String>,
    /// Whether the server is on this machine: then others may be, too.
    on_loopback: bool,
    /// Whether the server is in a private network, by its address.
    in_private: bool,
}

/// Whether an address is on this machine, by its own words: what a name leads to does not count.
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

impl Reach {
    pub(crate) fn new(server: &Url, issuer: Option<&Url>) -> Self {
        let host = |url: &Url| Origin::of(url).ok().map(|origin| origin.host().to_owned());
        let in_private = match server.host() {
            Some(Host::Ipv4(address)) => is_private(address.into()),
            Some(Host::Ipv6(address)) => is_private(address.into()),
            Some(Host::Domain(_)) | None => false,
        };
        Self {
            named: [Some(server), issuer].into_iter().flatten().filter_map(host).collect(),
            on_loopback: is_loopback(server) || issuer.is_some_and(is_loopback),
            in_private,
        }
    }

    /// Whether what is said to this address stays between us and it: TLS, or this machine.
    pub(crate) fn is_confidential(&self, url: &Url) -> bool {
        url.scheme() == "https" || (url.scheme() == "http" && self.on_loopback && is_loopback(url))
    }

    /// An address that somebody named to us, if anything may be sent there.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub(crate) fn endpoint(&self, what: &str, text: &str) -> Result<Url, String> {
        let shown = portcullis_sanitize::line(text, 200);
        let url = Url::parse(text).map_err(|error| format!("{what}, {shown:?}: {error}"))?;
        if !self.is_confidential(&url) {
            return Err(format!("{what}, {shown:?}, is not https"));
        }
        if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
            return Err(format!("{what}, {shown:?}, has a user or a fragment"));
        }
        Ok(url)
    }
}

impl Policy for Reach {
    fn permit(&self, request: portcullis_egress::Request) -> Option<Box<dyn RequestPermit>> {
        let url = Url::parse(&request.origin.url());
        let is_allowed = url.is_ok_and(|url| self.is_confidential(&url));
        request.permit_if(is_allowed)
    }

    fn permit_connection(&self, connection: Connection) -> Option<Box<dyn ConnectionPermit>> {
        let Connection { host, address } = &connection;
        let is_allowed = self.named.contains(host)
            || is_public(*address)
            || (self.on_loopback && address.to_canonical().is_loopback())
            || (self.in_private && is_private(*address));
        connection.permit_if(is_allowed)
    }
}

/// What is posted.
pub(crate) enum Posted {
    Form(String),
    Json(Value),
}

impl Reach {
    /// The JSON at an address. `None`: there is none.
    ///
    /// # Errors
    ///
    /// In words for the operator, where it could not be asked for, or was too long.
    pub(crate) async fn document(&self, url: &Url) -> Result<Option<Value>, String> {
        let mut client = Client::new(self.clone(), CAPS, AGENT);
        let mut url = url.clone();
        loop {
            let request = request(Method::GET, &url)?;
            let sent = client.send(request, None).await;
            let response = sent.map_err(|fault| explain(&url, fault))?;
            let next = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            if let (true, Some(next)) = (response.status().is_redirection(), next) {
                let next = url.join(next).map_err(|error| format!("a redirect: {error}"))?;
                url = next;
                continue;
            }
            if response.status() != StatusCode::OK {
                return Ok(None);
            }
            let body = response.into_body().collect().await;
            let body = body.map_err(|fault| explain(&url, fault))?.to_bytes();
            return Ok(serde_json::from_slice(&body).ok().filter(Value::is_object));
        }
    }

    /// Posts something; no redirect is followed, as it may hold secrets. Answers the status and the JSON.
    ///
    /// # Errors
    ///
    /// In words for the operator, where it could not be posted, or the answer was too long.
    pub(crate) async fn post(
        &self,
        url: &Url,
        posted: Posted,
        authorization: Option<HeaderValue>,
    ) -> Result<(StatusCode, Value), String> {
        let mut request = request(Method::POST, url)?;
        let (kind, body) = match posted {
            Posted::Form(form) => ("application/x-www-form-urlencoded", form),
            Posted::Json(json) => ("application/json", json.to_string()),
        };
        // Said beforehand: there are issuers that take no body in pieces.
        request.headers_mut().insert(CONTENT_LENGTH, body.len().into());
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        *request.body_mut() = Full::from(body);
        if let Some(authorization) = authorization {
            request.headers_mut().insert(AUTHORIZATION, authorization);
        }
        let sent = Client::new(self.clone(), CAPS, AGENT).send(request, None).await;
        let response = sent.map_err(|fault| explain(url, fault))?;
        let status = response.status();
        let body = response.into_body().collect().await;
        let body = body.map_err(|fault| explain(url, fault))?.to_bytes();
        Ok((status, serde_json::from_slice(&body).unwrap_or_default()))
    }
}

fn request(method: Method, url: &Url) -> Result<Request<Full<Bytes>>, String> {
    let request = Request::builder().method(method).uri(url.as_str());
    let request = request.header(ACCEPT, "application/json").body(Full::default());
    request.map_err(|error| format!("asking {}: {error}", shown(url)))
}

/// An address without its query, which may be nobody's business.
pub(crate) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    portcullis_sanitize::line(url.as_str(), 200)
}

fn explain(url: &Url, fault: Fault) -> String {
    let url = shown(url);
    match fault {
        Fault::AddressDenied => format!(
            "asking {url}: it is in a private network, where nobody named it; if that is right, \
             name it as `issuer`"
        ),
        Fault::Denied => format!("asking {url}: only https is asked"),
        Fault::TooMany => format!("asking {url}: there were more than {REDIRECTS} redirects"),
        Fault::BadAddress
        | Fault::Misconfigured
        | Fault::ConnectionRefused
        | Fault::Unreachable
        | Fault::Certificate
        | Fault::TimedOut
        | Fault::Protocol
        | Fault::Encoded
        | Fault::TooLong
        | Fault::Incomplete => format!("asking {url}: {fault}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(server: &str, issuer: Option<&str>) -> Reach {
        Reach::new(&server.parse().unwrap(), issuer.map(|url| url.parse().unwrap()).as_ref())
    }

    fn connects(reach: &Reach, host: &str, address: &str) -> bool {
        let address = address.parse().unwrap();
        reach.permit_connection(Connection { host: host.to_owned(), address }).is_some()
    }

    #[test]
    fn what_a_server_names_is_public_unless_the_server_is_elsewhere_itself() {
        let public = reach("https://mcp.example/mcp", None);
        assert!(connects(&public, "as.example", "93.184.216.34"));
        assert!(connects(&public, "mcp.example", "10.0.0.1"), "the operator named it");
        for address in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fd00::1", "fe80::1"] {
            assert!(!connects(&public, "as.example", address), "{address}");
        }
        let named = reach("https://mcp.example/mcp", Some("https://sso.corp/"));
        assert!(connects(&named, "sso.corp", "10.0.0.1"));
        assert!(!connects(&named, "other.corp", "10.0.0.1"));
        let private = reach("https://10.1.1.1/mcp", None);
        assert!(connects(&private, "10.2.2.2", "10.2.2.2"));
        for address in ["127.0.0.1", "169.254.169.254", "fe80::1"] {
            assert!(!connects(&private, "as.example", address), "{address}");
        }
        let local = reach("http://localhost:3000/mcp", None);
        assert!(connects(&local, "127.0.0.1", "127.0.0.1"));
        for address in ["10.0.0.1", "169.254.169.254"] {
            assert!(!connects(&local, "as.example", address), "{address}");
        }
    }

    #[test]
    fn only_what_stays_between_us_and_it_is_an_endpoint() {
        let public = reach("https://mcp.example/mcp", None);
        let local = reach("http://127.0.0.1:3000/mcp", None);
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
