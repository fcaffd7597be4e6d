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

/// Why an address has no origin that can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OriginError {
    /// The text is not a URL.
    #[error(transparent)]
    Url(#[from] url::ParseError),
    /// The scheme is neither `http` nor `https`.
    #[error("the scheme must be http or https")]
    Scheme,
    /// The address contains a user name or a password, which can hide the host from readers.
    #[error("an address must not contain a user name or a password")]
    UserName,
    /// The address has no host.
    #[error("an address needs a host")]
    NoHost,
    /// The host is empty or ends with an empty label, such as `a..`.
    #[error("a host must not have empty parts between its dots")]
    EmptyLabel,
    /// The host contains a wildcard.
    #[error("a host must not contain `*`: name each host")]
    Wildcard,
    /// The text is more than a host: it has a scheme or a port.
    #[error("write a host alone, without a scheme and a port")]
    HostOnly,
    /// The text of a grant contains a path, a query or a fragment.
    #[error("a path cannot be granted, only a host")]
    Path,
}

/// Why a text is not an [`Origin`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the host `{text}`: {cause}")]
pub struct ParseOriginError {
    /// The text.
    pub text: String,
    /// Why the text is not an origin.
    #[source]
    pub cause: OriginError,
}

impl Origin {
    /// The origin of the URL of a request.
    ///
    /// # Errors
    ///
    /// The URL has no host, contains a user name or a password, or its host ends with an empty label.
    pub fn of(url: &Url) -> Result<Self, OriginError> {
        if !url.username().is_empty() || url.password().is_some() {
            return Err(OriginError::UserName);
        }
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
            return Err(OriginError::NoHost);
        };
        let host = host.strip_suffix('.').unwrap_or(host).to_owned();
        if host.is_empty() || host.ends_with('.') {
            return Err(OriginError::EmptyLabel);
        }
        Ok(Self { scheme: url.scheme().to_owned(), host, port })
    }

    /// The host: a name in lower case and punycode, or an address.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The origin as a URL. A default port is left out.
    pub fn url(&self) -> String {
        match self.has_default_port() {
            true => format!("{}://{}", self.scheme, self.host),
            false => format!("{}://{}:{}", self.scheme, self.host, self.port),
        }
    }

    fn has_default_port(&self) -> bool {
        matches!((self.scheme.as_str(), self.port), ("https", 443) | ("http", 80))
    }

    /// Parses a host or a URL. The path of a URL is ignored.
    fn parse(text: &str) -> Result<Self, OriginError> {
        let address =
            if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
        let url = Url::parse(&address)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(OriginError::Scheme);
        }
        let origin = Self::of(&url)?;
        // The URL parser decodes `%2a` to a star.
        if text.contains('*') || origin.host.contains('*') {
            return Err(OriginError::Wildcard);
        }
        Ok(origin)
    }
}

impl FromStr for Origin {
    type Err = ParseOriginError;

    fn from_str(text: &str) -> Result<Self, ParseOriginError> {
        Self::parse(text).map_err(|cause| ParseOriginError { text: text.to_owned(), cause })
    }
}

impl TryFrom<String> for Origin {
    type Error = ParseOriginError;

    fn try_from(text: String) -> Result<Self, ParseOriginError> {
        let origin: Self = text.parse()?;
        // A grant must not contain a path, because the grant would seem to be limited to the path. A plugin's manifest
        // may name a whole URL.
        let rest = text.split_once("://").map_or(text.as_str(), |(_, rest)| rest);
        if rest.contains(['/', '?', '#']) {
            return Err(ParseOriginError { text, cause: OriginError::Path });
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
