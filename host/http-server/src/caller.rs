//! Authenticates callers by their bearer tokens.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use crate::oauth::Resource;
use crate::principal::{AuthError, Principal};
use crate::responses::{HttpResponse, text_response};

/// Headers with credentials. They are removed before a handler gets the request.
const CREDENTIALS: [HeaderName; 3] =
    [header::AUTHORIZATION, header::PROXY_AUTHORIZATION, header::COOKIE];

/// Time for which an access token that was verified is recognised for the rate limit.
const RECOGNISED_FOR: Duration = Duration::from_secs(300);

/// Largest number of access tokens that are recognised.
const MAX_RECOGNISED_TOKENS: usize = 1024;

/// Authenticates callers.
pub(crate) struct Callers {
    /// The SHA-256 digest of the configured token. Digests are compared instead of tokens, because the time of the
    /// comparison then reveals nothing about the token.
    token: Option<[u8; 32]>,
    oauth: Option<Resource>,
    /// Access tokens that were verified: their SHA-256 digests, their callers, and when they were verified.
    verified: Mutex<HashMap<[u8; 32], (Principal, Instant)>>,
}

impl Callers {
    pub(crate) fn new(token: Option<&str>, oauth: Option<Resource>) -> Self {
        Self { token: token.map(digest), oauth, verified: Mutex::default() }
    }

    /// This server as an OAuth resource. `None`: OAuth is not used.
    pub(crate) fn resource(&self) -> Option<&Resource> {
        self.oauth.as_ref()
    }

    /// The caller against whose rate limit a request counts. `None`: no token is needed, the request has no bearer
    /// token, or its access token was not verified recently. This function does not authenticate the caller.
    pub(crate) fn recognise(&self, headers: &HeaderMap) -> Option<Principal> {
        if self.token.is_none() && self.oauth.is_none() {
            return None;
        }
        let digest = digest(bearer(headers)?);
        if self.token == Some(digest) {
            return Some(Principal::Token);
        }
        let verified = self.verified.lock();
        let (principal, at) = verified.get(&digest)?;
        (at.elapsed() < RECOGNISED_FOR).then(|| principal.clone())
    }

    /// Authenticates the caller of a request. `None`: no token is needed.
    ///
    /// # Errors
    ///
    /// There is no token, or the token is not accepted or cannot be checked.
    pub(crate) async fn authenticate(
        &self,
        headers: &HeaderMap,
    ) -> Result<Option<Principal>, AuthError> {
        if self.token.is_none() && self.oauth.is_none() {
            return Ok(None);
        }
        let given = bearer(headers).ok_or(AuthError::NoToken)?;
        let digest = digest(given);
        if self.token == Some(digest) {
            return Ok(Some(Principal::Token));
        }
        let Some(oauth) = &self.oauth else {
            return Err(AuthError::InvalidToken("it is not the token of this server"));
        };
        let principal = oauth.verify(given).await?;
        let mut verified = self.verified.lock();
        if verified.len() >= MAX_RECOGNISED_TOKENS {
            verified.retain(|_, (_, at)| at.elapsed() < RECOGNISED_FOR);
        }
        if verified.len() < MAX_RECOGNISED_TOKENS {
            verified.insert(digest, (principal.clone(), Instant::now()));
        }
        Ok(Some(principal))
    }

    /// The response to a request whose caller was not authenticated.
    pub(crate) fn refusal(&self, error: &AuthError) -> HttpResponse {
        let (status, text) = match error {
            AuthError::NoToken => {
                (StatusCode::UNAUTHORIZED, "a bearer token is needed, in the header Authorization")
            }
            AuthError::InvalidToken(why) => (StatusCode::UNAUTHORIZED, *why),
            AuthError::InsufficientScope => {
                (StatusCode::FORBIDDEN, "the token lacks a scope that is needed")
            }
            AuthError::Unavailable(_) => {
                let text = "access tokens cannot be checked now: try again later";
                let mut response = text_response(StatusCode::SERVICE_UNAVAILABLE, text);
                response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
                return response;
            }
        };
        let mut response = text_response(status, text);
        let challenge = match &self.oauth {
            Some(oauth) => oauth.challenge(error),
            None => HeaderValue::from_static("Bearer"),
        };
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        response
    }
}

/// Removes the credentials from the headers of a request.
pub(crate) fn remove_credentials(headers: &mut HeaderMap) {
    for name in CREDENTIALS {
        headers.remove(name);
    }
}

/// The bearer token. `None`: there is none, or the request has more than one header `Authorization`.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (value, second) = (values.next()?.to_str().ok()?, values.next());
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    (second.is_none() && scheme.eq_ignore_ascii_case("bearer") && !token.is_empty())
        .then_some(token)
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}
