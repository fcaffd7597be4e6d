//! The address of the server of the cluster's state.

use url::Url;

use crate::error::InvalidAddress;

/// The address of a Redis or Valkey server: a host, a port and the number of a database, with or without TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address(Url);

impl Address {
    /// Reads an address: `redis://HOST:PORT/DATABASE`, or `rediss://` for TLS.
    ///
    /// # Errors
    ///
    /// [`InvalidAddress`].
    pub fn parse(text: &str) -> Result<Self, InvalidAddress> {
        let url = Url::parse(text).map_err(|error| InvalidAddress::NotUrl(Some(error)))?;
        if !["redis", "rediss", "valkey", "valkeys"].contains(&url.scheme()) {
            return Err(InvalidAddress::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(InvalidAddress::Credentials);
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(InvalidAddress::More);
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(InvalidAddress::NotUrl(None));
        }
        let database = url.path().trim_start_matches('/');
        let is_number = database.bytes().all(|byte| byte.is_ascii_digit()) && database.len() < 6;
        if !is_number || url.path().len() > database.len() + 1 {
            return Err(InvalidAddress::Database);
        }
        Ok(Self(url))
    }

    /// The URL, for the client.
    pub(crate) fn url(&self) -> Url {
        self.0.clone()
    }

    /// Whether the connection has TLS.
    pub fn has_tls(&self) -> bool {
        matches!(self.0.scheme(), "rediss" | "valkeys")
    }

    /// Whether the server is on this machine.
    pub fn is_loopback(&self) -> bool {
        match self.0.host() {
            Some(url::Host::Ipv4(address)) => address.is_loopback(),
            Some(url::Host::Ipv6(address)) => address.is_loopback(),
            // `url` reads hosts of other schemes than those of the web as names.
            Some(url::Host::Domain(name)) => {
                name == "localhost"
                    || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
            }
            None => false,
        }
    }

    /// The host and the port, for messages.
    pub(crate) fn shown(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        format!("{host}:{}", self.0.port().unwrap_or(6379))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_a_port_and_a_database() {
        for text in [
            "redis://localhost",
            "redis://127.0.0.1:6380/",
            "redis://[::1]:6380/15",
            "rediss://cache.example.org:6380/0",
            "valkey://a/3",
        ] {
            assert!(Address::parse(text).is_ok(), "{text}");
        }
        for (text, expected) in [
            ("", InvalidAddress::NotUrl(Some(url::ParseError::RelativeUrlWithoutBase))),
            ("localhost:6379", InvalidAddress::Scheme),
            ("http://localhost", InvalidAddress::Scheme),
            ("redis+unix:///run/redis.sock", InvalidAddress::Scheme),
            ("redis://", InvalidAddress::NotUrl(None)),
            ("redis:///0", InvalidAddress::NotUrl(None)),
            ("redis://me@a", InvalidAddress::Credentials),
            ("redis://:s3cr3t@a", InvalidAddress::Credentials),
            ("rediss://a/#insecure", InvalidAddress::More),
            ("redis://a/?protocol=resp3", InvalidAddress::More),
            ("redis://a/zero", InvalidAddress::Database),
            ("redis://a/1/2", InvalidAddress::Database),
            ("redis://a//1", InvalidAddress::Database),
            ("redis://a/-1", InvalidAddress::Database),
        ] {
            let error = Address::parse(text).expect_err(text);
            assert_eq!(error, expected, "{text}");
            assert!(!error.to_string().contains("s3cr3t"));
        }
    }

    #[test]
    fn only_loopback_is_on_this_machine() {
        let is_loopback = |text: &str| Address::parse(text).unwrap().is_loopback();
        for local in ["redis://localhost", "redis://127.0.0.1", "redis://[::1]:1/2"] {
            assert!(is_loopback(local), "{local}");
        }
        for other in ["redis://10.0.0.1", "redis://localhost.example.org", "redis://[::2]"] {
            assert!(!is_loopback(other), "{other}");
        }
    }
}
