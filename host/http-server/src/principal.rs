//! The authenticated caller of a request, and why a request has none.

use std::fmt;

/// Who calls, as far as the HTTP server found out; in the extensions of a request's
/// [`http::request::Parts`]. Its text, by `Display`, is the same for the same caller only.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Principal {
    /// Somebody with the token of [`Settings::token`](crate::Settings::token). Displayed as `token`.
    Token,
    /// Whom an issuer of access tokens vouches for. Displayed as the issuer, a space, and the subject.
    Subject {
        /// The token's `iss`, which is one of [`Oauth::issuers`](crate::Oauth::issuers).
        issuer: String,
        /// The token's `sub`, which means something to the issuer alone.
        subject: String,
    },
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Token => f.write_str("token"),
            // An issuer is an address, which has no space in it.
            Self::Subject { issuer, subject } => write!(f, "{issuer} {subject}"),
        }
    }
}

/// Why somebody is not let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refused {
    /// There is no bearer token, or more than one.
    NoToken,
    /// There is one that nobody is known by.
    Invalid(&'static str),
    /// It does not go far enough.
    Scope,
    /// It could be right: what is needed to find out cannot be had now.
    Unknown(String),
}

impl Refused {
    /// In words, for the log.
    pub(crate) fn why(&self) -> &str {
        match self {
            Self::NoToken => "it carries no bearer token",
            Self::Invalid(why) => why,
            Self::Scope => "its token lacks a scope that is needed",
            Self::Unknown(why) => why,
        }
    }
}
