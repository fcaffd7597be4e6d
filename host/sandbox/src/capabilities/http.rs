//! The capability `http`: requests to hosts that the operator names.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use http_body_util::BodyExt;
use ipnet::IpNet;
use portcullis_audit::Verdict;
use portcullis_egress::{Caps, Client, Connection, Fault, Origin, Policy, Request, Secrets};
use serde::Deserialize;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

use crate::capabilities::{Capability, Grants, listed};
use crate::gate::{Ask, Gate};
use portcullis_engine::{Limits, size};

/// Which requests a plugin may make: hosts, each with the methods that may be used there.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct HttpGrant {
    /// Hosts with their methods. Never empty.
    pub entries: Vec<HttpEntry>,
    /// Addresses that are not public and may be reached all the same.
    pub addresses: Vec<IpNet>,
    /// Headers that the host adds to requests to one of the origins, and no plugin sees.
    pub headers: Secrets,
}

/// Some hosts, and the methods of requests to them. A method of one entry says nothing about the hosts of
/// another.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpEntry {
    /// To where. Never empty.
    pub hosts: Vec<Origin>,
    /// With which methods. Never empty.
    #[serde(default = "get")]
    pub methods: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    hosts: Option<Vec<Origin>>,
    methods: Option<Vec<String>>,
    #[serde(default)]
    allow: Vec<HttpEntry>,
    #[serde(default)]
    addresses: Vec<IpNet>,
    #[serde(default)]
    headers: Secrets,
}

fn get() -> Vec<String> {
    vec!["GET".into()]
}

impl HttpEntry {
    fn check(&self) -> Result<(), String> {
        if self.hosts.is_empty() {
            return Err("`hosts` is empty: name at least one, or leave out grants.http".into());
        }
        if self.methods.is_empty() {
            return Err("`methods` is empty: name at least one, or leave it out for GET".into());
        }
        let is_written_in_capitals =
            |method: &&String| method.bytes().all(|byte| byte.is_ascii_uppercase());
        match self.methods.iter().find(|method| !is_written_in_capitals(method)) {
            Some(method) => Err(format!("the method `{method}` is not written in capitals")),
            None => Ok(()),
        }
    }

    fn allows(&self, origin: &Origin, method: &str) -> bool {
        self.hosts.contains(origin) && self.methods.iter().any(|one| one == method)
    }
}

impl TryFrom<Unchecked> for HttpGrant {
    type Error = String;

    fn try_from(unchecked: Unchecked) -> Result<Self, String> {
        let Unchecked { hosts, methods, allow, addresses, headers } = unchecked;
        let first = match (hosts, methods) {
            (Some(hosts), methods) => {
                Some(HttpEntry { hosts, methods: methods.unwrap_or_else(get) })
            }
            (None, Some(_)) => return Err("`methods` stands beside no `hosts`".into()),
            (None, None) if allow.is_empty() => {
                return Err("`hosts` is missing: name at least one".into());
            }
            (None, None) => None,
        };
        let entries: Vec<_> = first.into_iter().chain(allow).collect();
        entries.iter().try_for_each(HttpEntry::check)?;
        for (origin, headers) in &headers {
            if !entries.iter().any(|entry| entry.hosts.contains(origin)) {
                return Err(format!(
                    "`headers` names {origin}, which `hosts` does not grant: a header for it would \
                     never be sent"
                ));
            }
            for name in headers.keys() {
                http::HeaderName::try_from(name.as_str())
                    .map_err(|_| format!("`{name}` is not the name of a header"))?;
            }
        }
        Ok(Self { entries, addresses, headers })
    }
}

impl HttpGrant {
    /// Whether requests with this method may go to this origin.
    pub fn allows(&self, origin: &Origin, method: &str) -> bool {
        self.entries.iter().any(|entry| entry.allows(origin, method))
    }

    /// Each origin with each method that may be used there.
    pub fn pairs(&self) -> impl Iterator<Item = (&Origin, &str)> {
        self.entries.iter().flat_map(|entry| {
            let methods = || entry.methods.iter().map(String::as_str);
            entry.hosts.iter().flat_map(move |host| methods().map(move |method| (host, method)))
        })
    }
}

impl fmt::Display for HttpGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, HttpEntry { hosts, methods }) in self.entries.iter().enumerate() {
            let hosts: Vec<_> = hosts.iter().map(ToString::to_string).collect();
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{} {}", methods.join(","), hosts.join(", "))?;
        }
        for net in &self.addresses {
            write!(f, ", also at {net}")?;
        }
        for (origin, headers) in &self.headers {
            let names: Vec<_> = headers.keys().map(String::as_str).collect();
            write!(f, ", the host adds {} for {origin}", names.join(", "))?;
        }
        Ok(())
    }
}

/// Adds a want to what is wanted so far.
pub(super) fn want(sum: &mut Option<HttpGrant>, target: &str, access: &str) -> Result<(), String> {
    // A setting may hold a directory or an address; the former is no matter of requests.
    if std::path::Path::new(target).is_absolute() {
        return Ok(());
    }
    let origin = target.parse()?;
    let methods = access.split(',').map(|method| method.trim().to_owned()).collect();
    let grant = sum.get_or_insert_with(|| HttpGrant {
        entries: Vec::new(),
        addresses: Vec::new(),
        headers: BTreeMap::new(),
    });
    match grant.entries.iter_mut().find(|entry| entry.methods == methods) {
        Some(entry) => entry.hosts.push(origin),
        None => grant.entries.push(HttpEntry { hosts: vec![origin], methods }),
    }
    Ok(())
}

impl Ask for Request {
    type Grant = HttpGrant;
    const CAPABILITY: Capability = Capability::Http;

    fn grant(grants: &Grants) -> Option<&HttpGrant> {
        grants.http.as_ref()
    }

    fn is_within(&self, grant: &HttpGrant) -> bool {
        grant.allows(&self.origin, &self.method)
    }

    fn subject(&self) -> String {
        let path = portcullis_sanitize::line(&self.path, 500);
        format!("{} {}{path}", self.method, self.origin.url())
    }

    fn remedy(&self, granted: Option<&HttpGrant>) -> String {
        let mut entries = granted.map_or_else(Vec::new, |granted| granted.entries.clone());
        let (origin, method) = (&self.origin, &self.method);
        if let Some(entry) = entries.iter_mut().find(|entry| entry.methods == [method.as_str()]) {
            entry.hosts.push(origin.clone());
        } else if let Some(entry) = entries.iter_mut().find(|e| e.hosts == [origin.clone()]) {
            entry.methods.push(method.clone());
        } else {
            let (hosts, methods) = (vec![origin.clone()], vec![method.clone()]);
            entries.push(HttpEntry { hosts, methods });
        }
        format!("{}{}", written(&entries), rest(granted, None))
    }
}

/// Entries as `portcullis.toml` has them.
fn written(entries: &[HttpEntry]) -> String {
    let one = |HttpEntry { hosts, methods }: &HttpEntry| {
        let hosts: Vec<_> = hosts.iter().map(ToString::to_string).collect();
        (format!("hosts = {hosts:?}"), format!("methods = {methods:?}"))
    };
    match entries {
        [entry] => {
            let (hosts, methods) = one(entry);
            format!("{hosts}\n{methods}")
        }
        entries => {
            let lines = entries.iter().map(|entry| {
                let (hosts, methods) = one(entry);
                format!("  {{ {hosts}, {methods} }},\n")
            });
            format!("allow = [\n{}]", lines.collect::<String>())
        }
    }
}

impl Ask for Connection {
    type Grant = HttpGrant;
    const CAPABILITY: Capability = Capability::Http;

    fn grant(grants: &Grants) -> Option<&HttpGrant> {
        grants.http.as_ref()
    }

    fn is_within(&self, grant: &HttpGrant) -> bool {
        let address = self.address.to_canonical();
        let named = || {
            let name_is_address = self.host.trim_matches(['[', ']']).parse() == Ok(self.address);
            let name_is_loopback = self.host == "localhost" && address.is_loopback();
            (name_is_address || name_is_loopback)
                && grant
                    .entries
                    .iter()
                    .flat_map(|entry| &entry.hosts)
                    .any(|o| o.host() == self.host)
        };
        portcullis_egress::is_public(address)
            || grant.addresses.iter().any(|net| net.contains(&address))
            || named()
    }

    /// Which addresses a host's name leads to is not the plugin's to say.
    fn is_wanted(&self, _: &HttpGrant) -> bool {
        true
    }

    fn subject(&self) -> String {
        format!("connect to {} at {}", self.host, self.address)
    }

    fn remedy(&self, granted: Option<&HttpGrant>) -> String {
        let Some(granted) = granted else { return rest(None, Some(self.address)) };
        format!("{}{}", written(&granted.entries), rest(Some(granted), Some(self.address)))
    }
}

/// What a grant says beside hosts and methods, with one more address. Headers are shown by their names alone:
/// where their values are kept is for the operator.
fn rest(granted: Option<&HttpGrant>, more: Option<std::net::IpAddr>) -> String {
    let there = granted.into_iter().flat_map(|granted| &granted.addresses);
    let mut text = match more {
        Some(more) => format!("\naddresses = {}", listed(there, &IpNet::from(more).to_string())),
        None => {
            let there: Vec<_> = there.map(ToString::to_string).collect();
            if there.is_empty() { String::new() } else { format!("\naddresses = {there:?}") }
        }
    };
    for origin in granted.iter().flat_map(|granted| granted.headers.keys()) {
        text += &format!("\n# and the headers for {origin}, as they are there now");
    }
    text
}

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
    fn allows(&self, request: Request) -> bool {
        self.pass(request).is_ok()
    }

    fn allows_connection(&self, connection: Connection) -> bool {
        self.pass(connection).is_ok()
    }

    fn answered(&self, request: &Request, answer: Result<u16, Fault>) {
        let outcome = match answer {
            Ok(status) => format!("status {status}"),
            Err(fault) => word(fault).to_owned(),
        };
        self.came_of(request, Verdict::Allowed, &outcome);
    }

    fn secrets(&self) -> Option<&Secrets> {
        Some(&self.grants().http.as_ref()?.headers)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(text: &str) -> HttpGrant {
        toml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn request(origin: &str, method: &str) -> Request {
        Request { origin: origin.parse().unwrap(), method: method.into(), path: "/".into() }
    }

    #[test]
    fn within_is_scheme_host_port_and_method() {
        let grant = grant(
            "hosts = [\"a.example\", \"http://b.example:81\"]\nmethods = [\"GET\", \"POST\"]",
        );
        for (origin, method, expected) in [
            ("https://a.example", "GET", true),
            ("https://A.Example.", "POST", true),
            ("https://a.example", "DELETE", false),
            ("http://a.example", "GET", false),
            ("https://a.example:8443", "GET", false),
            ("https://sub.a.example", "GET", false),
            ("https://a.example.evil", "GET", false),
            ("http://b.example:81", "GET", true),
            ("https://b.example:81", "GET", false),
        ] {
            assert_eq!(request(origin, method).is_within(&grant), expected, "{method} {origin}");
        }
    }

    #[test]
    fn a_method_belongs_to_the_hosts_of_its_own_entry() {
        let text = "allow = [{ hosts = [\"a\"] }, { hosts = [\"b\"], methods = [\"POST\"] }]";
        let mut wants = None;
        want(&mut wants, "a", "GET").unwrap();
        want(&mut wants, "b", "POST").unwrap();
        for grant in [grant(text), wants.unwrap()] {
            for (origin, method, expected) in
                [("a", "GET", true), ("b", "POST", true), ("a", "POST", false), ("b", "GET", false)]
            {
                assert_eq!(
                    request(origin, method).is_within(&grant),
                    expected,
                    "{method} {origin}"
                );
            }
            assert_eq!(grant.to_string(), "GET a; POST b");
        }
    }

    #[test]
    fn a_remedy_allows_the_request_and_nothing_else_that_is_new() {
        for before in [
            "hosts = [\"a\"]",
            "hosts = [\"a\", \"b\"]",
            "hosts = [\"a\"]\nmethods = [\"POST\", \"PUT\"]\naddresses = [\"10.0.0.0/8\"]",
            "allow = [{ hosts = [\"a\"] }, { hosts = [\"b\"], methods = [\"POST\"] }]",
        ] {
            let before = grant(before);
            for (origin, method) in [("a", "DELETE"), ("c", "GET"), ("c", "POST")] {
                let ask = request(origin, method);
                let after: HttpGrant = grant(&ask.remedy(Some(&before)));
                assert!(ask.is_within(&after), "{after}");
                let new = after.pairs().filter(|(origin, method)| !before.allows(origin, method));
                assert_eq!(new.count(), 1, "{before} and {method} {origin}: {after}");
                assert!(before.pairs().all(|(origin, method)| after.allows(origin, method)));
                assert_eq!(before.addresses, after.addresses);
            }
        }
    }

    #[test]
    fn addresses_are_public_or_named() {
        let public = grant("hosts = [\"a.example\"]");
        let named = grant("hosts = [\"http://127.0.0.1:8080\", \"http://localhost:8080\"]");
        let ranges = grant("hosts = [\"a.example\"]\naddresses = [\"10.1.0.0/16\"]");
        for (grant, host, address, expected) in [
            (&public, "a.example", "8.8.8.8", true),
            (&public, "a.example", "127.0.0.1", false),
            (&public, "a.example", "::ffff:10.0.0.1", false),
            (&public, "a.example", "169.254.169.254", false),
            (&named, "127.0.0.1", "127.0.0.1", true),
            (&named, "localhost", "127.0.0.1", true),
            (&named, "localhost", "10.0.0.1", false),
            (&named, "127.0.0.2", "127.0.0.2", false),
            (&ranges, "a.example", "10.1.2.3", true),
            (&ranges, "a.example", "10.2.2.3", false),
        ] {
            let ask = Connection { host: host.into(), address: address.parse().unwrap() };
            assert_eq!(ask.is_within(grant), expected, "{host} {address}");
        }
    }

    #[test]
    fn what_could_not_be_enforced_is_refused_at_load() {
        for (text, expected) in [
            ("hosts = []", "name at least one"),
            ("hosts = [\"a\"]\nmethods = []", "name at least one"),
            ("methods = [\"GET\"]", "beside no `hosts`"),
            ("allow = []", "name at least one"),
            ("allow = [{ hosts = [] }]", "name at least one"),
            ("allow = [{ hosts = [\"a\"], methods = [\"get\"] }]", "capitals"),
            ("allow = [{ methods = [\"GET\"] }]", "hosts"),
            ("hosts = [\"a\"]\nmethods = [\"get\"]", "capitals"),
            ("hosts = [\"*\"]", "`*`"),
            ("hosts = [\"*.a.example\"]", "`*.a.example`"),
            ("hosts = [\"https://a/path\"]", "path"),
            ("hosts = [\"a\"]\nheaders.\"b\".x = { env = \"X\" }", "never be sent"),
            ("hosts = [\"a\"]\nheaders.\"a\".\"x y\" = { env = \"X\" }", "name of a header"),
        ] {
            let error = toml::from_str::<HttpGrant>(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
