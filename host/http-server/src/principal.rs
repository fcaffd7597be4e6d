//! The authenticated caller of a request, and why a caller was not authenticated.

use std::fmt;

use crate::issuer_keys::KeysUnavailable;

/// The caller of a request, in the extensions of the request's [`http::request::Parts`]. No two callers have the
/// same `Display` text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Principal {
    /// A caller with the token of [`AccessRules::token`](crate::AccessRules::token). Displayed as `token`.
    Token,
    /// A caller with an access token of an issuer. Displayed as the issuer, a space, and the subject.
    Subject {
        /// The token's `iss`, which is one of [`Oauth::issuers`](crate::Oauth::issuers).
        issuer: String,
        /// The token's `sub`. Only the issuer knows what it means.
        subject: String,
    },
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Token => f.write_str("token"),
            // An issuer is a URL, which contains no space.
            Self::Subject { issuer, subject } => write!(f, "{issuer} {subject}"),
        }
    }
}

/// The name in the path `/mcp/NAME` of a request, in the extensions of the request's [`http::request::Parts`]. It
/// is one of [`AccessRules::profiles`](crate::AccessRules::profiles).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileName(pub String);

/// Why a caller was not authenticated. The text is for the log.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AuthError {
    /// The request has no bearer token, or more than one.
    #[error("the request has no bearer token, or more than one")]
    NoToken,
    /// The token is not accepted. The reason is also sent to the client.
    #[error("{0}")]
    InvalidToken(&'static str),
    /// The token lacks a scope that this server needs.
    #[error("the token lacks a required scope")]
    InsufficientScope,
    /// The token cannot be checked now, because the issuer's keys cannot be fetched.
    #[error(transparent)]
    Unavailable(#[from] KeysUnavailable),
}
