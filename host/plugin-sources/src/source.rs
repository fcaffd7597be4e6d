//! Where a component comes from: a file, an address, or a registry.

use std::fmt;
use std::path::PathBuf;

use url::Url;

use crate::digest::Digest;
use crate::reference::{self, OCI, OCI_HTTP, Reference, ReferenceError, Version};

/// Where a component comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A file of this machine.
    File(PathBuf),
    /// An address, and the digest that the component must have. `None`: any component is accepted.
    Address(Url, Option<Digest>),
    /// An artifact in a registry.
    Registry(Reference),
}

/// Why a text names no source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSource {
    /// The text begins like a reference and is not a reference.
    #[error("the reference `{text}`: {cause}")]
    Reference {
        /// The text.
        text: String,
        /// Why it is not a reference.
        #[source]
        cause: ReferenceError,
    },
    /// The text is an address that is not used.
    #[error("the address `{text}`: {why}")]
    Address {
        /// The text, without a password.
        text: String,
        /// Why it is not used, and what to write.
        why: &'static str,
    },
    /// The fragment of the address is not a digest.
    #[error(transparent)]
    Digest(#[from] crate::InvalidDigest),
}

/// The beginning of the fragment of an address that has a digest.
const FRAGMENT: &str = "sha256=";

impl Source {
    /// The source that a text names: `oci://…`, `https://…`, or a path. `http://…` is for addresses of this machine
    /// only. `#sha256=HEX` at the end of an address is the digest that the component must have.
    ///
    /// # Errors
    ///
    /// [`InvalidSource`].
    pub fn parse(text: &str) -> Result<Self, InvalidSource> {
        if text.starts_with(OCI) || text.starts_with(OCI_HTTP) {
            let parsed = Reference::parse(text);
            let text = text.to_owned();
            return parsed
                .map(Self::Registry)
                .map_err(|cause| InvalidSource::Reference { text, cause });
        }
        if !text.contains("://") {
            return Ok(Self::File(text.into()));
        }
        let refused = |why| {
            let text = text.rsplit_once('@').map_or(text, |(_, rest)| rest).to_owned();
            InvalidSource::Address { text, why }
        };
        let mut url = Url::parse(text).map_err(|_| refused("it is not a URL"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refused("leave out the user name and the password"));
        }
        match url.scheme() {
            "https" => {}
            "http" if reference::is_loopback(&url) => {}
            "http" => return Err(refused("write `https://`; `http://` is for this machine only")),
            _ => return Err(refused("write `https://`, `oci://`, or the path of a file")),
        }
        let fragment = url.fragment().map(str::to_owned);
        url.set_fragment(None);
        let digest = match fragment.as_deref().map(|text| text.strip_prefix(FRAGMENT)) {
            None => None,
            Some(Some(hex)) => Some(format!("sha256:{hex}").parse()?),
            Some(None) => {
                return Err(refused("write `#sha256=` and the digest, or leave out the `#`"));
            }
        };
        Ok(Self::Address(url, digest))
    }

    /// The name that the plugin gets from its source: the last part of the path, without `.wasm`. `None`: that
    /// part is not a name.
    pub fn name(&self) -> Option<String> {
        let last = match self {
            Self::File(path) => path.file_name()?.to_str()?.to_owned(),
            Self::Address(url, _) => url.path_segments()?.next_back()?.to_owned(),
            Self::Registry(reference) => {
                let repository = &reference.location.repository;
                repository.rsplit('/').next()?.to_owned()
            }
        };
        let name = last.strip_suffix(".wasm").unwrap_or(&last);
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let is_name = (1..=64).contains(&name.len()) && name.bytes().all(fits);
        is_name.then(|| name.to_owned())
    }

    /// Whether the source always has the same component.
    pub fn is_pinned(&self) -> bool {
        match self {
            Self::File(_) => false,
            Self::Address(_, digest) => digest.is_some(),
            Self::Registry(reference) => matches!(reference.version, Version::Digest(_)),
        }
    }

    /// The host and the path, for the patterns of `[plugin-sources]`. `None`: the source is a file.
    pub fn matched(&self) -> Option<String> {
        match self {
            Self::File(_) => None,
            Self::Address(url, _) => {
                let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
                Some(format!("{}{port}{}", url.host_str()?, url.path()))
            }
            Self::Registry(Reference { location, .. }) => {
                Some(format!("{}/{}", location.host, location.repository))
            }
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Address(url, None) => url.fmt(f),
            Self::Address(url, Some(digest)) => write!(f, "{url}#{FRAGMENT}{}", digest.hex()),
            Self::Registry(reference) => reference.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_names_a_file_an_address_or_a_registry() {
        let hex = Digest::of(b"").hex().to_owned();
        let pinned = format!("https://a.example/weather.wasm#sha256={hex}");
        for (text, name, is_pinned, matched) in [
            ("./weather.wasm", Some("weather"), false, None),
            ("/a b/", None, false, None),
            (
                "https://a.example:8443/x/weather.wasm?y",
                Some("weather"),
                false,
                Some("a.example:8443/x/weather.wasm"),
            ),
            (&pinned, Some("weather"), true, Some("a.example/weather.wasm")),
            ("http://127.0.0.1:9/a.wasm", Some("a"), false, Some("127.0.0.1:9/a.wasm")),
            ("oci://ghcr.io/org/weather:1", Some("weather"), false, Some("ghcr.io/org/weather")),
            (&format!("oci://ghcr.io/we.ather@sha256:{hex}"), None, true, Some("ghcr.io/we.ather")),
        ] {
            let source = Source::parse(text).unwrap();
            assert_eq!(source.name().as_deref(), name, "{text}");
            assert_eq!(source.is_pinned(), is_pinned, "{text}");
            assert_eq!(source.matched().as_deref(), matched, "{text}");
            assert_eq!(Source::parse(&source.to_string()), Ok(source));
        }
    }

    #[test]
    fn an_address_without_protection_is_refused_and_shows_no_password() {
        for text in [
            "http://a.example/a.wasm",
            "http://10.0.0.1/a.wasm",
            "ftp://a.example/a.wasm",
            "file:///a.wasm",
            "https://user:hunter2@a.example/a.wasm",
            "https://a.example/a.wasm#1",
            "https://a.example/a.wasm#sha256=1",
            "oci://a.example",
        ] {
            let error = Source::parse(text).unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
