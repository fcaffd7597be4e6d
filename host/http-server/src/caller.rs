//! Authentication: finds out who calls.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use crate::oauth::Resource;
use crate::principal::{Principal, Refused};
use crate::responses::{HttpResponse, say};

/// What tells of a caller's credentials: no handler gets to see it.
const CREDENTIALS: [HeaderName; 3] =
    [header::AUTHORIZATION, header::PROXY_AUTHORIZATION, header::COOKIE];

/// After an access token was verified: how long whoever sends it is counted as its caller.
const RECOGNISED: Duration = Duration::from_secs(300);

/// Access tokens that are recognised at the same time.
const TOKENS: usize = 1024;

/// How callers are told apart.
pub(crate) struct Callers {
    /// SHA-256 of the token, so that comparing takes the same time wherever two differ.
    token: Option<[u8; 32]>,
    oauth: Option<Resource>,
    /// By their SHA-256: access tokens that were verified, whose they are, and when.
    verified: Mutex<HashMap<[u8; 32], (Principal, Instant)>>,
}

impl Callers {
    pub(crate) fn new(token: Option<&str>, oauth: Option<Resource>) -> Self {
        Self { token: token.map(digest), oauth, verified: Mutex::default() }
    }

    /// What clients may read to learn where to get a token.
    pub(crate) fn resource(&self) -> Option<&Resource> {
        self.oauth.as_ref()
    }

    /// Who calls, as far as that can be told at once: whose requests this one is counted with. It lets
    /// nobody in.
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
        (at.elapsed() < RECOGNISED).then(|| principal.clone())
    }

    /// Who calls; `None`: everybody is let in.
    pub(crate) async fn identify(&self, headers: &HeaderMap) -> Result<Option<Principal>, Refused> {
        if self.token.is_none() && self.oauth.is_none() {
            return Ok(None);
        }
        let given = bearer(headers).ok_or(Refused::NoToken)?;
        let digest = digest(given);
        if self.token == Some(digest) {
            return Ok(Some(Principal::Token));
        }
        let Some(oauth) = &self.oauth else {
            return Err(Refused::Invalid("it is not the token of this server"));
        };
        let principal = oauth.verify(given).await?;
        let mut verified = self.verified.lock();
        if verified.len() >= TOKENS {
            verified.retain(|_, (_, at)| at.elapsed() < RECOGNISED);
        }
        if verified.len() < TOKENS {
            verified.insert(digest, (principal.clone(), Instant::now()));
        }
        Ok(Some(principal))
    }

    /// How whoever is not let in is told so.
    pub(crate) fn refusal(&self, refused: &Refused) -> HttpResponse {
        let (status, text) = match refused {
            Refused::NoToken => {
                (StatusCode::UNAUTHORIZED, "a bearer token is needed, in the header Authorization")
            }
            Refused::Invalid(why) => (StatusCode::UNAUTHORIZED, *why),
            Refused::Scope => (StatusCode::FORBIDDEN, "the token lacks a scope that is needed"),
            Refused::Unknown(_) => {
                let text = "access tokens cannot be checked now: try again later";
                let mut reply = say(StatusCode::SERVICE_UNAVAILABLE, text);
                reply.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
                return reply;
            }
        };
        let mut reply = say(status, text);
        let challenge = match &self.oauth {
            Some(oauth) => oauth.challenge(refused),
            None => HeaderValue::from_static("Bearer"),
        };
        reply.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        reply
    }
}

/// Takes credentials out of what a handler will see.
pub(crate) fn forget_credentials(headers: &mut HeaderMap) {
    for name in CREDENTIALS {
        headers.remove(name);
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (value, more) = (values.next()?.to_str().ok()?, values.next());
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    (more.is_none() && scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}
