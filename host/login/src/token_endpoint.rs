//! Token requests and their answers (RFC 6749, RFC 8707).

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use http::HeaderValue;
use portcullis_scrub::{Scrub, secret_parts};
use serde_json::Value;
use thiserror::Error;
use url::Url;
use url::form_urlencoded::Serializer;

use crate::client::{Client, ClientError, HiddenText};
use crate::requests::{OauthRequests, PostBody, RequestError, shown};
use crate::settings::{CheckedSettings, MAX_SCOPES, is_scope};

/// Maximum size of a token.
const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// Maximum lifetime of a token. A longer lifetime is shortened to it.
const MAX_LIFETIME_SECONDS: u64 = 10 * 365 * 24 * 60 * 60;

/// A token that was issued.
#[derive(Debug)]
pub(crate) struct IssuedToken {
    pub(crate) access: HiddenText,
    pub(crate) refresh: Option<HiddenText>,
    /// When the token expires, in seconds since 1970. `None`: the server did not say.
    pub(crate) expires: Option<u64>,
    /// The scopes of the token. `None`: the requested scopes.
    pub(crate) scopes: Option<Vec<String>>,
}

/// Why a token request brought no token.
#[derive(Debug, Error)]
pub enum TokenError {
    /// This program cannot authenticate itself.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The request to the token endpoint failed.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The authorization server refused the request.
    #[error("{address} refused the token request (status {status}): {text}")]
    Refused {
        /// The token endpoint.
        address: String,
        /// The HTTP status.
        status: u16,
        /// The server's explanation, sanitised and without secrets.
        text: String,
        /// Whether the answer is an OAuth error with a status of 4xx: the same request would be refused again.
        is_final: bool,
    },
    /// The answer has no token that can be used.
    #[error("the answer of {address} cannot be used")]
    Invalid {
        /// The token endpoint.
        address: String,
        /// What is wrong with the answer.
        #[source]
        cause: InvalidToken,
    },
}

/// What is wrong with the answer to a token request.
#[derive(Debug, Error)]
pub enum InvalidToken {
    /// A token exceeds the limit.
    #[error("a token is longer than {MAX_TOKEN_BYTES} bytes")]
    TooLong,
    /// The token type is not `Bearer`.
    #[error("the token is not a bearer token")]
    NotBearer,
    /// There is no access token.
    #[error("the answer has no access token")]
    Missing,
    /// The token has characters that an HTTP header cannot have.
    #[error("the token cannot be sent in a header")]
    NotSendable,
}

/// A token endpoint, and the client that uses it.
pub(crate) struct TokenEndpoint<'a> {
    pub(crate) requests: &'a OauthRequests,
    pub(crate) settings: &'a CheckedSettings,
    pub(crate) client: &'a Client,
    /// The issuer's name.
    pub(crate) issuer: &'a str,
    pub(crate) url: &'a Url,
}

/// Now, in seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl TokenEndpoint<'_> {
    /// Requests a token with this form. The client authentication is added to the form.
    ///
    /// # Errors
    ///
    /// The request failed or was refused, or the answer has no token that can be used.
    pub(crate) async fn request(
        &self,
        mut form: Vec<(&'static str, String)>,
    ) -> Result<IssuedToken, TokenError> {
        let authorization = self.client.sign(self.settings, self.issuer, &mut form)?;
        let credentials = authorization.as_ref().and_then(|value| value.to_str().ok());
        let credentials =
            credentials.and_then(|value| secret_parts(value).ok()).unwrap_or_default();
        let body = Serializer::new(String::new()).extend_pairs(&form).finish();
        let (status, answer) =
            self.requests.post(self.url, PostBody::Form(body), authorization).await?;
        let text = |key: &str| answer.get(key).and_then(Value::as_str);
        if status.is_success() && text("error").is_none() {
            let invalid = |cause| TokenError::Invalid { address: shown(self.url), cause };
            return parse_token(&answer).map_err(invalid);
        }
        let explanation = [text("error"), text("error_description")].into_iter().flatten();
        let explanation = explanation.collect::<Vec<_>>().join(": ");
        // The server may repeat secrets of the request.
        let secrets = form
            .iter()
            .filter(|(key, _)| !matches!(*key, "grant_type" | "scope" | "resource" | "client_id"));
        let secrets = secrets.map(|(_, value)| value).chain(&credentials);
        let explanation = Arc::new(Scrub::new(secrets.map(String::as_str))).text(&explanation);
        Err(TokenError::Refused {
            address: shown(self.url),
            status: status.as_u16(),
            text: portcullis_sanitize::line(&explanation, 200),
            is_final: status.is_client_error() && text("error").is_some(),
        })
    }
}

fn parse_token(answer: &Value) -> Result<IssuedToken, InvalidToken> {
    let text = |key: &str| answer.get(key).and_then(Value::as_str);
    let token = |key: &str| match text(key) {
        Some(token) if token.len() > MAX_TOKEN_BYTES => Err(InvalidToken::TooLong),
        token => {
            Ok(token.filter(|token| !token.is_empty()).map(|token| HiddenText(token.to_owned())))
        }
    };
    if !text("token_type").is_some_and(|kind| kind.eq_ignore_ascii_case("bearer")) {
        return Err(InvalidToken::NotBearer);
    }
    let access = token("access_token")?.ok_or(InvalidToken::Missing)?;
    header(&access).ok_or(InvalidToken::NotSendable)?;
    let seconds = answer.get("expires_in");
    let seconds = seconds.and_then(|value| value.as_u64().or_else(|| value.as_str()?.parse().ok()));
    let scopes = text("scope").map(|scopes| {
        scopes
            .split(' ')
            .filter(|scope| is_scope(scope))
            .take(MAX_SCOPES)
            .map(str::to_owned)
            .collect()
    });
    Ok(IssuedToken {
        access,
        refresh: token("refresh_token")?,
        expires: seconds.map(|seconds| now() + seconds.min(MAX_LIFETIME_SECONDS)),
        scopes,
    })
}

/// The value of `Authorization` with a token. `None`: the token cannot be sent in a header.
pub(crate) fn header(token: &HiddenText) -> Option<HeaderValue> {
    let mut value = HeaderValue::try_from(format!("Bearer {}", token.0)).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_token_that_cannot_be_sent_is_refused() {
        let good = json!({"access_token": "a", "token_type": "bearer", "expires_in": "60", "scope": "x y"});
        let token = parse_token(&good).unwrap();
        assert!(token.expires.unwrap() > now());
        assert_eq!(token.scopes.unwrap(), ["x", "y"]);
        for bad in [
            json!(null),
            json!({}),
            json!({"access_token": "a"}),
            json!({"access_token": "a", "token_type": "DPoP"}),
            json!({"access_token": "", "token_type": "Bearer"}),
            json!({"access_token": "a\nb", "token_type": "Bearer"}),
            json!({"access_token": "a".repeat(MAX_TOKEN_BYTES + 1), "token_type": "Bearer"}),
        ] {
            assert!(parse_token(&bad).is_err(), "{bad}");
        }
        let odd = json!({"access_token": "a", "token_type": "Bearer", "expires_in": u64::MAX});
        assert!(parse_token(&odd).unwrap().expires.is_some());
        assert!(
            !format!(
                "{:?}",
                parse_token(&json!({"access_token": "hidden", "token_type": "Bearer"}))
            )
            .contains("hidden")
        );
    }
}
