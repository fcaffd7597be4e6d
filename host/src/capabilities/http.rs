//! The capability `http`: requests to hosts that the operator names.

mod address;
mod origin;
mod send;

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::Deserialize;

pub use origin::Origin;
pub use send::Http;

use crate::capabilities::{Capability, Grants};
use crate::gate::Ask;

/// Which requests a plugin may make.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct HttpGrant {
    /// To where. Never empty.
    pub hosts: Vec<Origin>,
    /// With which methods. Never empty.
    pub methods: Vec<String>,
    /// Addresses that are not public and may be reached all the same.
    pub addresses: Vec<IpNet>,
    /// Headers that the host adds to requests to one of the origins, and no plugin sees.
    pub headers: BTreeMap<Origin, BTreeMap<String, Secret>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    hosts: Vec<Origin>,
    #[serde(default = "get")]
    methods: Vec<String>,
    #[serde(default)]
    addresses: Vec<IpNet>,
    #[serde(default)]
    headers: BTreeMap<Origin, BTreeMap<String, Secret>>,
}

fn get() -> Vec<String> {
    vec!["GET".into()]
}

impl TryFrom<Unchecked> for HttpGrant {
    type Error = String;

    fn try_from(unchecked: Unchecked) -> Result<Self, String> {
        let Unchecked { hosts, methods, addresses, headers } = unchecked;
        if hosts.is_empty() {
            return Err("`hosts` is empty: name at least one, or leave out grants.http".into());
        }
        if methods.is_empty() {
            return Err("`methods` is empty: name at least one, or leave it out for GET".into());
        }
        for method in &methods {
            if !method.bytes().all(|byte| byte.is_ascii_uppercase()) {
                return Err(format!("the method `{method}` is not written in capitals"));
            }
        }
        for (origin, headers) in &headers {
            if !hosts.contains(origin) {
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
        Ok(Self { hosts, methods, addresses, headers })
    }
}

impl fmt::Display for HttpGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts: Vec<_> = self.hosts.iter().map(ToString::to_string).collect();
        write!(f, "{} {}", self.methods.join(","), hosts.join(", "))?;
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

/// Where the value of a secret header comes from. It is read when it is needed and kept nowhere.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Secret {
    /// An environment variable of the host.
    Env(String),
    /// A file; white space around its text is left out.
    File(std::path::PathBuf),
}

impl Secret {
    /// The value.
    ///
    /// # Errors
    ///
    /// In words for the operator, without the value.
    #[expect(clippy::disallowed_methods, reason = "secrets come from the environment or a file")]
    pub fn read(&self) -> Result<String, String> {
        match self {
            Self::Env(name) => {
                std::env::var(name).map_err(|_| format!("the environment has no {name}"))
            }
            Self::File(path) => std::fs::read_to_string(path)
                .map(|text| text.trim().to_owned())
                .map_err(|error| format!("cannot read {}: {error}", path.display())),
        }
    }
}

/// Adds a want to what is wanted so far.
pub(super) fn want(sum: &mut Option<HttpGrant>, target: &str, access: &str) -> Result<(), String> {
    // A setting may hold a directory or an address; the former is no matter of requests.
    if std::path::Path::new(target).is_absolute() {
        return Ok(());
    }
    let origin = target.parse()?;
    let grant = sum.get_or_insert_with(|| HttpGrant {
        hosts: Vec::new(),
        methods: Vec::new(),
        addresses: Vec::new(),
        headers: BTreeMap::new(),
    });
    grant.hosts.push(origin);
    grant.methods.extend(access.split(',').map(|method| method.trim().to_owned()));
    Ok(())
}

/// One request.
#[derive(Debug, Clone)]
pub struct HttpAsk {
    /// Where to.
    pub origin: Origin,
    /// With which method.
    pub method: String,
    /// To which path, without the query: that may hold what is nobody's business.
    pub path: String,
}

impl Ask for HttpAsk {
    type Grant = HttpGrant;
    const CAPABILITY: Capability = Capability::Http;

    fn grant(grants: &Grants) -> Option<&HttpGrant> {
        grants.http.as_ref()
    }

    fn is_within(&self, grant: &HttpGrant) -> bool {
        grant.hosts.contains(&self.origin) && grant.methods.contains(&self.method)
    }

    fn subject(&self) -> String {
        let path = crate::text::line(&self.path, 500);
        format!("{} {}{path}", self.method, self.origin.url())
    }

    fn remedy(&self) -> String {
        format!("hosts = [\"{}\"]\nmethods = [\"{}\"]", self.origin, self.method)
    }
}

/// A connection to one address that a granted host's name led to.
#[derive(Debug, Clone)]
pub struct AddressAsk {
    /// The host's name, or the address itself where the request names it.
    pub host: String,
    /// Where the connection would go.
    pub address: IpAddr,
}

impl Ask for AddressAsk {
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
                && grant.hosts.iter().any(|origin| origin.host() == self.host)
        };
        address::is_public(address)
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

    fn remedy(&self) -> String {
        format!("addresses = [\"{}\"]", IpNet::from(self.address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(text: &str) -> HttpGrant {
        toml::from_str(text).unwrap()
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
            let ask = HttpAsk {
                origin: origin.parse().unwrap(),
                method: method.into(),
                path: "/".into(),
            };
            assert_eq!(ask.is_within(&grant), expected, "{method} {origin}");
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
            let ask = AddressAsk { host: host.into(), address: address.parse().unwrap() };
            assert_eq!(ask.is_within(grant), expected, "{host} {address}");
        }
    }

    #[test]
    fn what_could_not_be_enforced_is_refused_at_load() {
        for (text, expected) in [
            ("hosts = []", "name at least one"),
            ("hosts = [\"a\"]\nmethods = []", "name at least one"),
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
