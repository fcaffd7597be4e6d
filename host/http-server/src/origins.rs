//! Checks the headers `Host` and `Origin`.
//!
//! A web page in a user's browser can send requests to any server on the user's machine. The browser sends the page's
//! origin (`Origin`) and the name under which the page addresses the server (`Host`). Both must be allowed here.
//! Otherwise, any page could call a server that needs no token.

use std::net::IpAddr;

use http::uri::{Authority, Scheme};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, header};

use crate::responses::{HttpResponse, text_response};
use crate::settings_error::InvalidSettings;

/// Hosts that reach only this machine. They are always allowed.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Time in seconds for which a browser may cache the response to a preflight request.
const PREFLIGHT_SECONDS: &str = "600";

/// The allowed hosts and origins.
pub(crate) struct Origins {
    /// Whether each IP address is an allowed host.
    any_address: bool,
    hosts: Vec<(String, Option<u16>)>,
    origins: Vec<Origin>,
}

impl Origins {
    /// Allows these hosts, the hosts of loopback, and these origins.
    ///
    /// # Errors
    ///
    /// One of the texts is not a host, or not an origin.
    pub(crate) fn new(hosts: &[String], origins: &[String]) -> Result<Self, InvalidSettings> {
        let named = hosts
            .iter()
            .map(|host| parse_host(host).ok_or_else(|| InvalidSettings::AllowedHost(host.clone())));
        let loopback = LOOPBACK.iter().map(|host| Ok(((*host).to_owned(), None)));
        let origins = origins.iter().map(|origin| {
            Origin::parse(origin).ok_or_else(|| InvalidSettings::AllowedOrigin(origin.clone()))
        });
        Ok(Self {
            any_address: false,
            hosts: named.chain(loopback).collect::<Result<_, _>>()?,
            origins: origins.collect::<Result<_, _>>()?,
        })
    }

    /// Also allows each IP address as a host. DNS rebinding is still refused: if an attacker lets the name of a page
    /// resolve to this server, the `Host` of the page's requests is that name, not an address.
    pub(crate) fn allow_any_address(self) -> Self {
        Self { any_address: true, ..self }
    }

    /// Refuses a request to a host that is not allowed, or from a page whose origin is not allowed.
    pub(crate) fn check<B>(&self, request: &Request<B>) -> Result<(), HttpResponse> {
        let bad_host = || {
            text_response(
                StatusCode::BAD_REQUEST,
                "the request needs exactly one Host header with a valid host",
            )
        };
        let host =
            single(request.headers(), header::HOST).ok_or_else(bad_host)?.ok_or_else(bad_host)?;
        let host = parse_host(host).ok_or_else(bad_host)?;
        // A request target in absolute form also contains a host, which takes precedence over the header (RFC 9112,
        // 3.2.2).
        let target = request.uri().authority().map(|authority| parse_host(authority.as_str()));
        let target = target.map(|host| host.ok_or_else(bad_host)).transpose()?;
        if ![Some(host), target].into_iter().flatten().all(|host| self.is_ours(&host)) {
            tracing::warn!("a request for a host that is not allowed is refused");
            let why = "this host is not served here: the server's operator has to allow it";
            return Err(text_response(StatusCode::FORBIDDEN, why));
        }
        match single(request.headers(), header::ORIGIN) {
            None => Ok(()),
            Some(Some(origin)) if self.allows(origin) => Ok(()),
            Some(_) => {
                tracing::warn!("a request from a page whose origin is not allowed is refused");
                let why = "pages of this origin may not send requests: the server's operator has to allow it";
                Err(text_response(StatusCode::FORBIDDEN, why))
            }
        }
    }

    /// The response to a preflight request of a browser. `None`: this is not a preflight request. The request must have
    /// passed [`Self::check`].
    pub(crate) fn preflight<B>(request: &Request<B>) -> Option<HttpResponse> {
        let headers = request.headers();
        let is_preflight = request.method() == Method::OPTIONS
            && headers.contains_key(header::ORIGIN)
            && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
        if !is_preflight {
            return None;
        }
        let mut response = text_response(StatusCode::NO_CONTENT, "");
        let response_headers = response.headers_mut();
        response_headers.remove(header::CONTENT_TYPE);
        let methods = HeaderValue::from_static("GET, POST, DELETE");
        response_headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
        // A page of an allowed origin may send any header, because the token is the only header that authenticates.
        if let Some(wanted) = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
            response_headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
        }
        let seconds = HeaderValue::from_static(PREFLIGHT_SECONDS);
        response_headers.insert(header::ACCESS_CONTROL_MAX_AGE, seconds);
        Some(response)
    }

    /// Lets the page that sent the request read the response. The request must have passed [`Self::check`].
    pub(crate) fn share(origin: Option<HeaderValue>, response: &mut HttpResponse) {
        let Some(origin) = origin else { return };
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::VARY, HeaderValue::from_static("origin"));
        let shown = HeaderValue::from_static("mcp-session-id, www-authenticate, retry-after");
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, shown);
    }

    fn is_ours(&self, (host, port): &(String, Option<u16>)) -> bool {
        let fits = |allowed: Option<u16>| allowed.is_none() || allowed == *port;
        let address = host.trim_start_matches('[').trim_end_matches(']');
        if self.any_address && address.parse::<IpAddr>().is_ok() {
            return true;
        }
        self.hosts.iter().any(|(allowed, allowed_port)| allowed == host && fits(*allowed_port))
    }

    fn allows(&self, origin: &str) -> bool {
        Origin::parse(origin).is_some_and(|origin| self.origins.contains(&origin))
    }
}

/// The text of a header that a request may have at most once. `None`: the header is missing. `Some(None)`: the request
/// has the header more than once, or its value is not text.
fn single(headers: &HeaderMap, name: http::HeaderName) -> Option<Option<&str>> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok();
    Some(value.filter(|_| values.next().is_none()))
}

/// Parses `host` or `host:port`.
fn parse_host(text: &str) -> Option<(String, Option<u16>)> {
    let authority: Authority = text.parse().ok()?;
    let (host, port) = (authority.host(), authority.port_u16());
    // The text must not contain a user name, nor a port that is not a number.
    let is_whole = match port {
        Some(_) => authority.as_str().rsplit_once(':').is_some_and(|(name, _)| name == host),
        None => authority.as_str() == host,
    };
    (is_whole && !host.is_empty()).then(|| (host.to_ascii_lowercase(), port))
}

/// Scheme, host and port: the origin of a web page (RFC 6454).
#[derive(Debug, PartialEq, Eq)]
struct Origin {
    scheme: String,
    host: String,
    port: u16,
}

impl Origin {
    fn parse(text: &str) -> Option<Self> {
        let uri: Uri = text.parse().ok()?;
        let scheme = uri.scheme()?;
        let (host, port) = parse_host(uri.authority()?.as_str())?;
        let implied = match scheme {
            scheme if *scheme == Scheme::HTTPS => Some(443),
            scheme if *scheme == Scheme::HTTP => Some(80),
            _ => None,
        };
        let is_only_origin = uri.path_and_query().is_none_or(|rest| rest.as_str() == "/");
        let port = port.or(implied)?;
        is_only_origin.then(|| Self { scheme: scheme.as_str().to_ascii_lowercase(), host, port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(allowed: &Origins, headers: &[(&str, &str)]) -> u16 {
        let mut request = Request::new(());
        for (name, value) in headers {
            let name: http::HeaderName = name.parse().unwrap();
            request.headers_mut().append(name, value.parse().unwrap());
        }
        allowed.check(&request).map_or_else(|response| response.status().as_u16(), |()| 200)
    }

    #[test]
    fn only_allowed_hosts_and_origins_are_accepted() {
        let hosts = ["mcp.example".to_owned(), "ported.example:8443".to_owned()];
        let origins = ["https://app.example".to_owned(), "http://localhost:5173".to_owned()];
        let allowed = Origins::new(&hosts, &origins).unwrap();
        for (host, expected) in [
            ("localhost", 200),
            ("LocalHost:8719", 200),
            ("127.0.0.1:1", 200),
            ("[::1]:8719", 200),
            ("mcp.example:99", 200),
            ("MCP.example", 200),
            ("ported.example:8443", 200),
            ("ported.example", 403),
            ("ported.example:443", 403),
            ("evil.example", 403),
            ("127.0.0.1.evil.example", 403),
            ("127.0.0.2", 403),
            ("0.0.0.0", 403),
            ("::1", 400),
            ("evil@localhost", 400),
            ("localhost:x", 400),
            ("localhost:", 400),
            ("local host", 400),
            ("", 400),
        ] {
            assert_eq!(status(&allowed, &[("host", host)]), expected, "{host}");
        }
        assert_eq!(status(&allowed, &[]), 400);
        let twice = [("host", "localhost"), ("host", "localhost")];
        assert_eq!(status(&allowed, &twice), 400);
        for (origin, expected) in [
            ("https://app.example", 200),
            ("https://APP.example:443", 200),
            ("http://localhost:5173", 200),
            ("http://app.example", 403),
            ("https://app.example:444", 403),
            ("https://app.example.evil", 403),
            ("https://app.example/page", 403),
            ("http://localhost", 403),
            ("null", 403),
            ("", 403),
        ] {
            let headers = [("host", "localhost"), ("origin", origin)];
            assert_eq!(status(&allowed, &headers), expected, "{origin}");
        }
        let twice = [("host", "localhost"), ("origin", "https://app.example"), ("origin", "null")];
        assert_eq!(status(&allowed, &twice), 403);
    }

    #[test]
    fn the_host_in_the_target_of_a_request_is_checked_too() {
        let allowed = Origins::new(&[], &[]).unwrap();
        for (target, expected) in [("http://localhost/mcp", 200), ("http://evil.example/mcp", 403)]
        {
            let request = Request::builder().uri(target).header("host", "localhost").body(());
            let checked = allowed.check(&request.unwrap());
            assert_eq!(
                checked.map_or_else(|response| response.status().as_u16(), |()| 200),
                expected
            );
        }
    }

    #[test]
    fn texts_that_are_not_hosts_or_origins_are_refused() {
        for host in ["https://host", "a b", "host:port", "", "user@host"] {
            let refused = Origins::new(&[host.to_owned()], &[]).err();
            assert!(refused.is_some_and(|error| error.to_string().contains(host)), "{host}");
        }
        for origin in ["host", "https://host:*", "https://host/path", "null", "*", "app://host"] {
            let refused = Origins::new(&[], &[origin.to_owned()]).err();
            assert!(refused.is_some_and(|error| error.to_string().contains(origin)), "{origin}");
        }
    }
}
