//! The hosts that a confined process may connect to: `NAME`, `NAME:PORT`, `ADDRESS` or `ADDRESS:PORT`.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The port of a host that is written without one: that of HTTPS.
const DEFAULT_PORT: u16 = 443;

/// The maximum number of hosts that are granted to a process.
pub const MAX_HOSTS: usize = 64;

/// The maximum length of a name in the DNS.
const MAX_NAME: usize = 253;

/// The maximum length of a part of a name between two full stops.
const MAX_LABEL: usize = 63;

/// A host and a port.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Host {
    /// A name in lower case, or an IPv4 address.
    pub name: String,
    /// The port.
    pub port: u16,
}

/// A text names no host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a host: write a name such as `api.example.com`, or an IPv4 address, and a port as in \
     `db.example.com:5432` unless it is {DEFAULT_PORT}; patterns, URLs and IPv6 addresses are not supported"
)]
pub struct HostError(String);

impl Host {
    /// The address, if the host is written as an address.
    pub fn address(&self) -> Option<Ipv4Addr> {
        self.name.parse().ok()
    }
}

/// Whether a text is a name of a host: labels of letters, digits and hyphens. The last label is no number, because
/// programs read such a name as an address.
fn is_name(text: &str) -> bool {
    let is_label = |label: &str| {
        (1..=MAX_LABEL).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    let last = text.rsplit('.').next().unwrap_or_default();
    text.len() <= MAX_NAME
        && text.split('.').all(is_label)
        && last.bytes().any(|byte| byte.is_ascii_alphabetic())
        && !last.starts_with("0x")
}

impl FromStr for Host {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        let invalid = || HostError(text.to_owned());
        let (name, port) = match text.split_once(':') {
            Some((name, port)) => {
                (name, port.parse().ok().filter(|port| *port != 0).ok_or_else(invalid)?)
            }
            None => (text, DEFAULT_PORT),
        };
        let name = name.to_ascii_lowercase();
        let is_host = name.parse::<Ipv4Addr>().is_ok_and(|address| !address.is_unspecified())
            || is_name(&name);
        if is_host { Ok(Self { name, port }) } else { Err(invalid()) }
    }
}

impl TryFrom<String> for Host {
    type Error = HostError;

    fn try_from(text: String) -> Result<Self, HostError> {
        text.parse()
    }
}

impl From<Host> for String {
    fn from(host: Host) -> Self {
        host.to_string()
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if self.port == DEFAULT_PORT { Ok(()) } else { write!(f, ":{}", self.port) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_or_an_address_with_a_port() {
        for (text, name, port, shown) in [
            ("api.example.com", "api.example.com", 443, "api.example.com"),
            ("API.example.com:443", "api.example.com", 443, "api.example.com"),
            ("db:5432", "db", 5432, "db:5432"),
            ("10.1.2.3:80", "10.1.2.3", 80, "10.1.2.3:80"),
        ] {
            let host: Host = text.parse().unwrap();
            assert_eq!((&*host.name, host.port, &*host.to_string()), (name, port, shown), "{text}");
        }
    }

    #[test]
    fn what_names_no_single_host_is_refused() {
        for text in [
            "",
            "*.example.com",
            "https://example.com",
            "example.com/a",
            "example.com:",
            "example.com:0",
            "example.com:70000",
            "a..b",
            "-a.example",
            "::1",
            "[::1]:80",
            "0.0.0.0",
            "10.1",
            "0x7f000001",
            "a b",
            "a\nb",
        ] {
            assert!(text.parse::<Host>().is_err(), "{text:?}");
        }
    }
}
