//! Why the settings of the HTTP server cannot be used.

use portcullis_cluster_state::StateError;

use crate::issuer::HttpsUrlError;

/// A setting that cannot be used, and why. The text is for the operator.
#[derive(Debug, thiserror::Error)]
pub enum InvalidSettings {
    /// The path of a page is one that the server itself uses, or does not begin with `/`.
    #[error("a page cannot be at `{0}`")]
    PagePath(String),
    /// The sessions of the cluster cannot be used.
    #[error("the sessions that several hosts serve: {0}")]
    Cluster(#[source] StateError),
    /// An allowed host is not a host.
    #[error("the allowed host `{0}` is not valid: write `host` or `host:port`")]
    AllowedHost(String),
    /// An allowed origin is not an origin.
    #[error("the allowed origin `{0}` is not valid: write `https://host` or `https://host:port`")]
    AllowedOrigin(String),
    /// The OAuth resource is not a URL.
    #[error("the OAuth resource `{text}` is not a URL: {cause}")]
    ResourceUrl {
        /// The resource.
        text: String,
        /// Why the text is not a URL.
        #[source]
        cause: url::ParseError,
    },
    /// The OAuth resource is neither an https URL nor an http URL of loopback, or it has a query or a fragment.
    #[error(
        "the OAuth resource `{0}` must be an https address, or an http address of this machine, without `?` and `#`"
    )]
    Resource(String),
    /// OAuth has no issuer.
    #[error("OAuth needs at least one entry in `issuers`")]
    NoIssuer,
    /// An OAuth scope is empty.
    #[error("an entry of the OAuth `scopes` is empty: write a scope there, or remove the entry")]
    EmptyScope,
    /// An OAuth scope has a space.
    #[error(
        "the OAuth scope {0:?} has a space, which separates scopes: write each scope as an entry of its own, without spaces"
    )]
    ScopeSpace(String),
    /// An OAuth scope has another character that scopes cannot have.
    #[error(
        "the OAuth scope {scope:?} has the character {character}: write a scope of printable ASCII characters other than \
         `\"` and `\\`"
    )]
    ScopeCharacter {
        /// The scope.
        scope: String,
        /// The character, or its code point if the character is not printable ASCII.
        character: String,
    },
    /// An issuer is not an https URL.
    #[error("the OAuth issuer {0}")]
    Issuer(#[source] HttpsUrlError),
    /// The address of an issuer's keys is not an https URL.
    #[error("the keys of {issuer}: {cause}")]
    KeysUrl {
        /// The issuer.
        issuer: String,
        /// Why the address is not an https URL.
        #[source]
        cause: HttpsUrlError,
    },
}
