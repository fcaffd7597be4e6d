//! References to artifacts in OCI registries: `oci://HOST/REPOSITORY:TAG` or `oci://HOST/REPOSITORY@DIGEST`.

use std::fmt;

use url::Url;

use crate::digest::Digest;

/// The scheme of registries that are reached over HTTPS.
pub(crate) const OCI: &str = "oci://";

/// The scheme of registries on this machine that are reached over HTTP.
pub(crate) const OCI_HTTP: &str = "oci+http://";

/// The tag that is meant if none is written.
const LATEST: &str = "latest";

/// A part of a registry: one repository, or all repositories whose names begin with the same text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The host, with a port if it is not the default port.
    pub host: String,
    /// Whether the registry is on this machine and reached over HTTP.
    pub is_plain: bool,
    /// The repository, or the beginning of names of repositories. Empty: the whole registry.
    pub repository: String,
}

/// An artifact in a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The registry and the repository.
    pub location: Location,
    /// The tag or the digest of the artifact.
    pub version: Version,
}

/// How a reference names an artifact of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Version {
    /// By a tag, which can be moved to another artifact.
    Tag(String),
    /// By the digest of its manifest, which is always the same artifact.
    Digest(Digest),
}

/// Why a text is not a reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// There is no registry in the text.
    #[error("`{0}` names no registry: write oci:// before the host, as in `oci://HOST/REPOSITORY`")]
    NoRegistry(String),
    /// The host is not a host with an optional port.
    #[error("`{0}` is not the host of a registry: write HOST or HOST:PORT")]
    Host(String),
    /// The host is not this machine.
    #[error(
        "`oci+http://` is for registries on this machine only (`localhost` or a loopback address), and \
         `{0}` is not this machine: write `oci://`"
    )]
    Remote(String),
    /// There is no repository after the registry.
    #[error("`{0}` names a registry without a repository: write oci://REGISTRY/REPOSITORY:TAG")]
    NoRepository(String),
    /// The repository is not a name that registries accept.
    #[error(
        "`{0}` is not the name of a repository: write words of lower-case letters, digits, `.`, `_` and `-`, with `/` \
         between them"
    )]
    Repository(String),
    /// The tag is not a tag that registries accept.
    #[error(
        "`{0}` is not a tag: write up to 128 letters, digits, `_`, `.` and `-`, and not `.` or `-` first"
    )]
    Tag(String),
    /// The digest is not a SHA-256 digest.
    #[error(transparent)]
    Digest(#[from] crate::InvalidDigest),
}

impl Location {
    /// Parses `oci://HOST[/REPOSITORY]`.
    ///
    /// # Errors
    ///
    /// [`ReferenceError`].
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        let is_plain = text.starts_with(OCI_HTTP);
        let rest = text.strip_prefix(OCI_HTTP).or_else(|| text.strip_prefix(OCI));
        let rest =
            rest.ok_or_else(|| ReferenceError::NoRegistry(text.to_owned()))?.trim_end_matches('/');
        let (host, repository) = rest.split_once('/').unwrap_or((rest, ""));
        let location = Self { host: host.to_owned(), is_plain, repository: repository.to_owned() };
        let url = location.url("").ok_or_else(|| ReferenceError::Host(host.to_owned()))?;
        let is_same = url.host_str().is_some_and(|parsed| host_of(host) == parsed);
        if !is_same || !url.username().is_empty() || url.path() != "/v2/" || url.query().is_some() {
            return Err(ReferenceError::Host(host.to_owned()));
        }
        if is_plain && !is_loopback(&url) {
            return Err(ReferenceError::Remote(host.to_owned()));
        }
        if !repository.is_empty() && !is_repository(repository) {
            return Err(ReferenceError::Repository(repository.to_owned()));
        }
        Ok(location)
    }

    /// The address of a path of the registry's API. `path` is the part after `/v2/`.
    pub(crate) fn url(&self, path: &str) -> Option<Url> {
        let scheme = if self.is_plain { "http" } else { "https" };
        Url::parse(&format!("{scheme}://{}/v2/{path}", self.host)).ok()
    }
}

/// The host without its port.
fn host_of(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

/// Whether an address names this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

fn is_repository(name: &str) -> bool {
    let is_letter = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9');
    let is_part = |part: &str| {
        let fits = |byte| is_letter(byte) || matches!(byte, b'.' | b'_' | b'-');
        let ends = [part.bytes().next(), part.bytes().next_back()];
        part.bytes().all(fits)
            && ends.into_iter().all(|end| end.is_some_and(is_letter))
            && !part.contains("..")
    };
    name.len() <= 255 && name.split('/').all(is_part)
}

fn is_tag(tag: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let fits = |byte: u8| is_word(byte) || matches!(byte, b'.' | b'-');
    tag.len() <= 128 && tag.bytes().next().is_some_and(is_word) && tag.bytes().all(fits)
}

impl Reference {
    /// Parses `oci://HOST/REPOSITORY[:TAG][@DIGEST]`. A digest takes precedence over a tag. Without both, the tag is
    /// `latest`.
    ///
    /// # Errors
    ///
    /// [`ReferenceError`].
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        let (named, digest) = match text.split_once('@') {
            Some((named, digest)) => (named, Some(digest.parse::<Digest>()?)),
            None => (text, None),
        };
        // A `:` after the last `/` begins the tag. A `:` before the last `/` begins the port.
        let last = named.rfind('/').unwrap_or(0);
        let (named, tag) = match named[last..].split_once(':') {
            Some((name, tag)) if last > OCI.len() => (&named[..last + name.len()], Some(tag)),
            _ => (named, None),
        };
        let location = Location::parse(named)?;
        if location.repository.is_empty() {
            return Err(ReferenceError::NoRepository(text.to_owned()));
        }
        if let Some(tag) = tag.filter(|tag| !is_tag(tag)) {
            return Err(ReferenceError::Tag(tag.to_owned()));
        }
        let version = match digest {
            Some(digest) => Version::Digest(digest),
            None => Version::Tag(tag.unwrap_or(LATEST).to_owned()),
        };
        Ok(Self { location, version })
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_plain { OCI_HTTP } else { OCI };
        write!(f, "{scheme}{}", self.host)?;
        if self.repository.is_empty() { Ok(()) } else { write!(f, "/{}", self.repository) }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.version {
            Version::Tag(tag) => write!(f, "{}:{tag}", self.location),
            Version::Digest(digest) => write!(f, "{}@{digest}", self.location),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tag(tag) => f.write_str(tag),
            Self::Digest(digest) => digest.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_has_a_host_a_repository_and_a_version() {
        let digest = Digest::of(b"a");
        for (text, same) in [
            ("oci://ghcr.io/org/weather:1.0", "oci://ghcr.io/org/weather:1.0".to_owned()),
            ("oci://ghcr.io/weather", "oci://ghcr.io/weather:latest".to_owned()),
            ("oci://a.example:5000/a/b", "oci://a.example:5000/a/b:latest".to_owned()),
            ("oci+http://127.0.0.1:5000/a:b", "oci+http://127.0.0.1:5000/a:b".to_owned()),
            (
                &format!("oci://ghcr.io/org/weather:1.0@{digest}"),
                format!("oci://ghcr.io/org/weather@{digest}"),
            ),
        ] {
            let reference = Reference::parse(text).unwrap();
            assert_eq!(reference.to_string(), same);
            assert_eq!(Reference::parse(&same), Ok(reference));
        }
    }

    #[test]
    fn invalid_references_are_refused() {
        let unnamed = Reference::parse("oci://ghcr.io").unwrap_err().to_string();
        assert!(unnamed.contains("`oci://ghcr.io` names a registry without"), "{unnamed}");
        for text in [
            "oci://",
            "oci://ghcr.io",
            "oci://ghcr.io/",
            "ghcr.io/a",
            "oci:///a",
            "oci://user@ghcr.io/a",
            "oci://user:secret@ghcr.io/a",
            "oci://ghcr.io?x/a",
            "oci://ghcr.io#x/a",
            "oci://GHCR.io/a",
            "oci://0x7f.1/a",
            "oci://a%2eb/a",
            "oci://ghcr.io/../a",
            "oci://ghcr.io/a//b",
            "oci://ghcr.io/a/..",
            "oci://ghcr.io/A",
            "oci://ghcr.io/a?b=c",
            "oci://ghcr.io/a:b/c:d",
            "oci://ghcr.io/a:",
            "oci://ghcr.io/a:-b",
            "oci://ghcr.io/a@sha256:0",
            "oci+http://ghcr.io/a",
            "oci+http://10.0.0.1/a",
        ] {
            assert!(Reference::parse(text).is_err(), "{text}: {:?}", Reference::parse(text));
        }
    }
}
