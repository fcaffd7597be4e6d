//! Why there is no access token for a server.

use std::fmt;
use std::sync::Arc;

use thiserror::Error;

use crate::callback::ListenError;
use crate::client::ClientError;
use crate::discovery::DiscoveryError;
use crate::random::RandomError;
use crate::response::ResponseError;
use crate::settings::SettingsError;
use crate::store::StoreError;
use crate::token_endpoint::TokenError;

/// Why there is no token to send.
#[derive(Debug, Clone, Error)]
pub enum NoToken {
    /// A person has to log in.
    #[error("{0}")]
    LoginNeeded(LoginNeeded),
    /// No token could be obtained.
    #[error("there is no token for the server")]
    Failed(#[source] Arc<LoginError>),
}

impl From<LoginError> for NoToken {
    fn from(error: LoginError) -> Self {
        Self::Failed(Arc::new(error))
    }
}

/// A login that only a person can do. Its text says which command to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginNeeded {
    /// The server's name in the configuration.
    pub upstream: Box<str>,
    /// Whether there is a token, but with too few scopes.
    pub insufficient: bool,
    /// Whether the configuration names the scopes to request.
    pub has_scopes: bool,
    /// Whether the configuration has `oauth` for the server.
    pub is_configured: bool,
}

impl fmt::Display for LoginNeeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { upstream, insufficient, has_scopes, is_configured } = self;
        let demand = match insufficient {
            true => "the token lacks scopes that the server needs",
            false => "a user has to log in at the server",
        };
        write!(f, "{demand}: run `portcullis upstream login {upstream}` in a terminal")?;
        match (has_scopes, insufficient) {
            (true, true) => write!(
                f,
                "; the login requests only the `scopes` in [upstreams.{upstream}.oauth]: add those that are missing"
            ),
            (false, false) if !is_configured => f.write_str(
                "; or, if the server takes an API key instead, set the key in `headers`",
            ),
            (true | false, _) => Ok(()),
        }
    }
}

/// Why a login or a token request failed.
#[derive(Debug, Error)]
pub enum LoginError {
    /// The grant is `client-credentials`: this machine is authenticated, not a person.
    #[error("no login is needed: `grant` is `client-credentials`")]
    NotForPersons,
    /// The settings cannot be used.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The port of the redirect URI cannot be used.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The authorization server could not be found.
    #[error(transparent)]
    Discovery(#[from] DiscoveryError),
    /// The authorization server does not support PKCE, which MCP demands.
    #[error(
        "{issuer} does not support PKCE with S256: a login there is not safe, and MCP does not allow it"
    )]
    NoPkce {
        /// The authorization server.
        issuer: String,
    },
    /// The authorization server has no authorization endpoint.
    #[error("the metadata of {issuer} has no `authorization_endpoint`")]
    NoAuthorizationEndpoint {
        /// The authorization server.
        issuer: String,
    },
    /// This program cannot be a client of the authorization server.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The address could not be shown.
    #[error("cannot show the address to open")]
    Show(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Nobody logged in within the time limit.
    #[error("no login was completed within ten minutes")]
    TimedOut(#[source] tokio::time::error::Elapsed),
    /// The authorization response is refused.
    #[error(transparent)]
    Response(#[from] ResponseError),
    /// The operating system has no random bytes.
    #[error(transparent)]
    Random(#[from] RandomError),
    /// The token request failed.
    #[error("the token request failed")]
    Token(#[from] TokenError),
    /// The token could not be renewed. A later attempt may succeed.
    #[error("the token could not be renewed")]
    Renewal(#[source] TokenError),
    /// The server refused a token that was just issued for it.
    #[error("the server refuses the token that was just issued for it")]
    RefusedNewToken,
    /// The token has characters that an HTTP header cannot have.
    #[error("the token cannot be sent in a header")]
    NotSendable,
    /// The file of the login cannot be used.
    #[error("the token cannot be stored")]
    Store(#[from] StoreError),
}
