//! Parses a URL into the parts of an HTTP request.

use std::fmt::{self, Write};

/// The parts of a URL that a request needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// Whether the scheme is `https` rather than `http`.
    pub secure: bool,
    /// Host and optional port.
    pub authority: String,
    /// Path and query; never empty.
    pub path: String,
}

impl Url {
    /// Parses an `http` or `https` URL; `None` for others. The host validates the authority.
    pub fn parse(url: &str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let secure = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let rest = rest.split('#').next()?;
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let is_sound = |c: char| c.is_ascii_graphic() && c != '\\';
        if authority.is_empty() || !rest.chars().all(is_sound) {
            return None;
        }
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Some(Self { secure, authority: authority.to_owned(), path })
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.secure { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority, self.path)
    }
}

/// Adds `name=value` to the query.
pub fn add_query(url: &mut String, name: &str, value: &str) {
    let fragment = url.find('#').map(|start| url.split_off(start)).unwrap_or_default();
    url.push(if url.contains('?') { '&' } else { '?' });
    encode(url, name);
    url.push('=');
    encode(url, value);
    url.push_str(&fragment);
}

fn encode(url: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            url.push(char::from(byte));
        } else {
            write!(url, "%{byte:02X}").expect("a string takes everything");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces() {
        let table = [
            ("https://example.org", Some((true, "example.org", "/"))),
            ("HTTP://example.org:8080/a/b?c=d#e", Some((false, "example.org:8080", "/a/b?c=d"))),
            ("https://example.org?c", Some((true, "example.org", "/?c"))),
            ("https://[::1]:1/", Some((true, "[::1]:1", "/"))),
            ("https:///a", None),
            ("ftp://example.org", None),
            ("example.org", None),
            ("https://example.org/a b", None),
            ("https://example.org\\@evil.example/", None),
            ("https://example.org/\r\nX: y", None),
        ];
        for (url, expected) in table {
            let found = Url::parse(url);
            let found = found.as_ref().map(|u| (u.secure, u.authority.as_str(), u.path.as_str()));
            assert_eq!(found, expected, "{url}");
        }
    }

    #[test]
    fn queries_are_encoded() {
        let mut url = "https://example.org/#part".to_owned();
        add_query(&mut url, "q", "a b&c");
        add_query(&mut url, "ü", "~");
        assert_eq!(url, "https://example.org/?q=a%20b%26c&%C3%BC=~#part");
    }
}
