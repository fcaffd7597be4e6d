//! Origins: scheme, host and port, normalised to one spelling.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::Deserialize;
use url::Url;

/// A host is written as `HOST`, `HOST:PORT` or `SCHEME://HOST:PORT`. The scheme is `https` unless another one is
/// written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend("pattern" = "^([Hh][Tt][Tt][Pp][Ss]?://)?[^/?#*]+$"))]
pub struct Origin {
    scheme: String,
    host: String,
    port: u16,
}

impl Origin {
    /// The origin of an address that is asked for.
    ///
    /// # Errors
    ///
    /// Where the address has no host, or names a user (which hides the host from readers), or where the host ends with
    /// an empty name: of `a..`, another spelling would be `a.`, which is `a`.
    pub fn of(url: &Url) -> Result<Self, String> {
        if !url.username().is_empty() || url.password().is_some() {
            return Err("an address with a user name is not followed".into());
        }
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
            return Err("an address needs a host".into());
        };
        let host = host.strip_suffix('.').unwrap_or(host).to_owned();
        if host.is_empty() || host.ends_with('.') {
            return Err("a host has a name between its dots".into());
        }
        Ok(Self { scheme: url.scheme().to_owned(), host, port })
    }

    /// The host: a name in lower case and punycode, or an address.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// As an address.
    pub fn url(&self) -> String {
        match self.default_port() {
            true => format!("{}://{}", self.scheme, self.host),
            false => format!("{}://{}:{}", self.scheme, self.host, self.port),
        }
    }

    fn default_port(&self) -> bool {
        matches!((self.scheme.as_str(), self.port), ("https", 443) | ("http", 80))
    }
}

impl FromStr for Origin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let address =
            if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
        let url = Url::parse(&address).map_err(|error| format!("the host `{text}`: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("the host `{text}`: only http and https are known"));
        }
        let origin = Self::of(&url).map_err(|error| format!("the host `{text}`: {error}"))?;
        // A star that is written `%2a` is one, too.
        if text.contains('*') || origin.host.contains('*') {
            return Err(format!("the host `{text}`: hosts are named one by one"));
        }
        Ok(origin)
    }
}

impl TryFrom<String> for Origin {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let origin: Self = text.parse()?;
        // A want may be a whole address; a grant says no more than it means.
        let rest = text.split_once("://").map_or(text.as_str(), |(_, rest)| rest);
        if rest.contains(['/', '?', '#']) {
            return Err(format!("the host `{text}`: a path cannot be granted, only a host"));
        }
        Ok(origin)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.scheme == "https" && self.port == 443 {
            return f.write_str(&self.host);
        }
        f.write_str(&self.url())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_origin_are_equal() {
        for (a, b) in [
            ("a.example", "https://A.EXAMPLE:443"),
            ("a.example", "a.example."),
            ("http://127.0.0.1", "http://2130706433"),
            ("http://127.0.0.1", "http://0x7f.1"),
            ("http://127.0.0.1", "http://0177.0.0.1"),
            ("b\u{fc}cher.example", "xn--bcher-kva.example"),
        ] {
            assert_eq!(a.parse::<Origin>().unwrap(), b.parse().unwrap(), "{a} {b}");
        }
        assert!("https://a.example@evil.example".parse::<Origin>().is_err());
        assert!("ftp://a.example".parse::<Origin>().is_err());
        for none in ["", ".", "..", "a.example..", "%2a.example"] {
            assert!(none.parse::<Origin>().is_err(), "{none}");
        }
    }
}
