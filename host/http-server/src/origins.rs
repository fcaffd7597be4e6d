//! Checks the headers `Host` and `Origin`.
//!
//! A page that a user has open can send requests to any server of that user's machine. Its browser
//! says where it comes from (`Origin`), and under which name it found the server (`Host`): both must
//! be known here, or the page could speak to a server that trusts whoever reaches it.

use http::uri::{Authority, Scheme};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, header};

use crate::responses::{HttpResponse, say};

/// The names of this machine that only this machine can use.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// For how many seconds a browser may remember what a page may send.
const PREFLIGHT_SECONDS: &str = "600";

/// Names and origins that are let in.
pub(crate) struct Origins {
    hosts: Vec<(String, Option<u16>)>,
    origins: Vec<Origin>,
}

impl Origins {
    /// Loopback, and those that are named.
    ///
    /// # Errors
    ///
    /// Which is no host or no origin.
    pub(crate) fn new(hosts: &[String], origins: &[String]) -> Result<Self, String> {
        let named = hosts.iter().map(|host| {
            parse_host(host).ok_or_else(|| {
                format!("the allowed host `{host}` is no host: write `host` or `host:port`")
            })
        });
        let loopback = LOOPBACK.iter().map(|host| Ok(((*host).to_owned(), None)));
        let origins = origins.iter().map(|origin| {
            Origin::parse(origin).ok_or_else(|| {
                format!(
                    "the allowed origin `{origin}` is no origin: write `https://host` or \
                     `https://host:port`"
                )
            })
        });
        Ok(Self {
            hosts: named.chain(loopback).collect::<Result<_, _>>()?,
            origins: origins.collect::<Result<_, _>>()?,
        })
    }

    /// Refuses what a page of elsewhere may have sent.
    pub(crate) fn check<B>(&self, request: &Request<B>) -> Result<(), HttpResponse> {
        let bad = || say(StatusCode::BAD_REQUEST, "one Host header is needed, with a host in it");
        let host = only(request.headers(), header::HOST).ok_or_else(bad)?.ok_or_else(bad)?;
        let host = parse_host(host).ok_or_else(bad)?;
        // A proxy's form of request has a second name in it, which counts more than the first.
        let target = request.uri().authority().map(|authority| parse_host(authority.as_str()));
        let target = target.map(|host| host.ok_or_else(bad)).transpose()?;
        if ![Some(host), target].into_iter().flatten().all(|host| self.is_ours(&host)) {
            tracing::warn!("a request for another host is refused");
            let why = "this host is not served here: the server's operator has to allow it";
            return Err(say(StatusCode::FORBIDDEN, why));
        }
        match only(request.headers(), header::ORIGIN) {
            None => Ok(()),
            Some(Some(origin)) if self.allows(origin) => Ok(()),
            Some(_) => {
                tracing::warn!("a request from a page of another origin is refused");
                let why =
                    "pages of this origin may not call: the server's operator has to allow it";
                Err(say(StatusCode::FORBIDDEN, why))
            }
        }
    }

    /// What a browser wants to know before it lets a page call. `None`: it asks nothing.
    ///
    /// The request has been checked.
    pub(crate) fn preflight<B>(request: &Request<B>) -> Option<HttpResponse> {
        let headers = request.headers();
        let asks = request.method() == Method::OPTIONS
            && headers.contains_key(header::ORIGIN)
            && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
        if !asks {
            return None;
        }
        let mut reply = say(StatusCode::NO_CONTENT, "");
        let answer = reply.headers_mut();
        answer.remove(header::CONTENT_TYPE);
        let methods = HeaderValue::from_static("GET, POST, DELETE");
        answer.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
        // A page that may call may send what it likes: there is no header that lets anybody in
        // who does not know the token.
        if let Some(wanted) = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
            answer.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
        }
        let seconds = HeaderValue::from_static(PREFLIGHT_SECONDS);
        answer.insert(header::ACCESS_CONTROL_MAX_AGE, seconds);
        Some(reply)
    }

    /// Lets the page that called read the answer. The request has been checked.
    pub(crate) fn share(origin: Option<HeaderValue>, reply: &mut HttpResponse) {
        let Some(origin) = origin else { return };
        let headers = reply.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::VARY, HeaderValue::from_static("origin"));
        let shown = HeaderValue::from_static("mcp-session-id, www-authenticate, retry-after");
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, shown);
    }

    fn is_ours(&self, (host, port): &(String, Option<u16>)) -> bool {
        let fits = |allowed: Option<u16>| allowed.is_none() || allowed == *port;
        self.hosts.iter().any(|(allowed, at)| allowed == host && fits(*at))
    }

    fn allows(&self, origin: &str) -> bool {
        Origin::parse(origin).is_some_and(|origin| self.origins.contains(&origin))
    }
}

/// The text of a header that may stand there once. `None`: it does not; `Some(None)`: it does more
/// than once, or is no text.
fn only(headers: &HeaderMap, name: http::HeaderName) -> Option<Option<&str>> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok();
    Some(value.filter(|_| values.next().is_none()))
}

fn parse_host(text: &str) -> Option<(String, Option<u16>)> {
    let authority: Authority = text.parse().ok()?;
    let (host, port) = (authority.host(), authority.port_u16());
    // Users have no place here, and a port that is no number is none.
    let whole = match port {
        Some(_) => authority.as_str().rsplit_once(':').is_some_and(|(name, _)| name == host),
        None => authority.as_str() == host,
    };
    (whole && !host.is_empty()).then(|| (host.to_ascii_lowercase(), port))
}

/// Scheme, host and port: what browsers mean by an origin (RFC 6454).
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
        let only_origin = uri.path_and_query().is_none_or(|rest| rest.as_str() == "/");
        let port = port.or(implied)?;
        only_origin.then(|| Self { scheme: scheme.as_str().to_ascii_lowercase(), host, port })
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
        allowed.check(&request).map_or_else(|reply| reply.status().as_u16(), |()| 200)
    }

    #[test]
    fn only_known_names_and_origins_are_let_in() {
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
    fn a_request_to_a_proxy_names_its_host_twice() {
        let allowed = Origins::new(&[], &[]).unwrap();
        for (target, expected) in [("http://localhost/mcp", 200), ("http://evil.example/mcp", 403)]
        {
            let request = Request::builder().uri(target).header("host", "localhost").body(());
            let checked = allowed.check(&request.unwrap());
            assert_eq!(checked.map_or_else(|reply| reply.status().as_u16(), |()| 200), expected);
        }
    }

    #[test]
    fn what_is_no_host_or_origin_is_not_allowed_by_mistake() {
        for host in ["https://host", "a b", "host:port", "", "user@host"] {
            let refused = Origins::new(&[host.to_owned()], &[]).err();
            assert!(refused.is_some_and(|why| why.contains(host)), "{host}");
        }
        for origin in ["host", "https://host:*", "https://host/path", "null", "*", "app://host"] {
            let refused = Origins::new(&[], &[origin.to_owned()]).err();
            assert!(refused.is_some_and(|why| why.contains(origin)), "{origin}");
        }
    }
}
