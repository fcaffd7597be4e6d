//! Asking for a token, and what comes back (RFC 6749, RFC 8707).

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use http::HeaderValue;
use portcullis_scrub::{Scrub, secret_parts};
use serde_json::Value;
use url::Url;
use url::form_urlencoded::Serializer;

use crate::client::{Client, Hidden};
use crate::reach::{Posted, Reach, shown};
use crate::settings::{Plan, SCOPES, is_scope};

/// Longest token, in bytes.
const TOKEN_BYTES: usize = 16 * 1024;

/// Longest life of a token that is believed, in seconds.
const LONGEST_LIFE: u64 = 10 * 365 * 24 * 60 * 60;

/// A token that was issued.
#[derive(Debug)]
pub(crate) struct Issued {
    pub(crate) access: Hidden,
    pub(crate) refresh: Option<Hidden>,
    /// When it ends, in seconds since 1970; `None`: nobody said.
    pub(crate) expires: Option<u64>,
    /// What it allows; `None`: what was asked for.
    pub(crate) scopes: Option<Vec<String>>,
}

/// Why there is no token.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The issuer does not give one for this, and will not.
    Denied(String),
    /// It could not be asked, or made no sense.
    Failed(String),
}

/// Where tokens are asked for, and as whom.
pub(crate) struct Desk<'a> {
    pub(crate) reach: &'a Reach,
    pub(crate) plan: &'a Plan,
    pub(crate) client: &'a Client,
    /// The issuer's name.
    pub(crate) issuer: &'a str,
    pub(crate) url: &'a Url,
}

/// Now, in seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl Desk<'_> {
    /// Asks for a token with this form, to which is added who asks.
    pub(crate) async fn ask(
        &self,
        mut form: Vec<(&'static str, String)>,
    ) -> Result<Issued, Refusal> {
        let authorization = self.client.sign(self.plan, self.issuer, &mut form);
        let authorization = authorization.map_err(Refusal::Failed)?;
        let credentials = authorization.as_ref().and_then(|value| value.to_str().ok());
        let credentials =
            credentials.and_then(|value| secret_parts(value).ok()).unwrap_or_default();
        let body = Serializer::new(String::new()).extend_pairs(&form).finish();
        let asked = self.reach.post(self.url, Posted::Form(body), authorization).await;
        let (status, answer) = asked.map_err(Refusal::Failed)?;
        let text = |key: &str| answer.get(key).and_then(Value::as_str);
        if status.is_success() && text("error").is_none() {
            return issued(&answer).map_err(|error| self.failed(error));
        }
        let said = [text("error"), text("error_description")].into_iter().flatten();
        let said = said.collect::<Vec<_>>().join(": ");
        // It may say back what it was sent.
        let secrets = form
            .iter()
            .filter(|(key, _)| !matches!(*key, "grant_type" | "scope" | "resource" | "client_id"));
        let secrets = secrets.map(|(_, value)| value).chain(&credentials);
        let said = Arc::new(Scrub::new(secrets.map(String::as_str))).text(&said);
        let said = portcullis_sanitize::line(&said, 200);
        let told = format!("{} refuses (status {}): {said}", shown(self.url), status.as_u16());
        match status.is_client_error() && text("error").is_some() {
            true => Err(Refusal::Denied(told)),
            false => Err(Refusal::Failed(told)),
        }
    }

    fn failed(&self, error: &str) -> Refusal {
        Refusal::Failed(format!("{}: {error}", shown(self.url)))
    }
}

fn issued(answer: &Value) -> Result<Issued, &'static str> {
    let text = |key: &str| answer.get(key).and_then(Value::as_str);
    let token = |key: &str| match text(key) {
        Some(token) if token.len() > TOKEN_BYTES => Err("its token is too long"),
        token => Ok(token.filter(|token| !token.is_empty()).map(|token| Hidden(token.to_owned()))),
    };
    if !text("token_type").is_some_and(|kind| kind.eq_ignore_ascii_case("bearer")) {
        return Err("it issues tokens that are no bearer tokens");
    }
    let access = token("access_token")?.ok_or("there is no token in its answer")?;
    header(&access).ok_or("its token cannot be sent")?;
    let seconds = answer.get("expires_in");
    let seconds = seconds.and_then(|value| value.as_u64().or_else(|| value.as_str()?.parse().ok()));
    let scopes = text("scope").map(|scopes| {
        scopes.split(' ').filter(|scope| is_scope(scope)).take(SCOPES).map(str::to_owned).collect()
    });
    Ok(Issued {
        access,
        refresh: token("refresh_token")?,
        expires: seconds.map(|seconds| now() + seconds.min(LONGEST_LIFE)),
        scopes,
    })
}

/// As the server gets to see a token.
pub(crate) fn header(token: &Hidden) -> Option<HeaderValue> {
    let mut value = HeaderValue::try_from(format!("Bearer {}", token.0)).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_can_be_sent_is_a_token() {
        let good = json!({"access_token": "a", "token_type": "bearer", "expires_in": "60", "scope": "x y"});
        let token = issued(&good).unwrap();
        assert!(token.expires.unwrap() > now());
        assert_eq!(token.scopes.unwrap(), ["x", "y"]);
        for bad in [
            json!(null),
            json!({}),
            json!({"access_token": "a"}),
            json!({"access_token": "a", "token_type": "DPoP"}),
            json!({"access_token": "", "token_type": "Bearer"}),
            json!({"access_token": "a\nb", "token_type": "Bearer"}),
            json!({"access_token": "a".repeat(TOKEN_BYTES + 1), "token_type": "Bearer"}),
        ] {
            assert!(issued(&bad).is_err(), "{bad}");
        }
        let odd = json!({"access_token": "a", "token_type": "Bearer", "expires_in": u64::MAX});
        assert!(issued(&odd).unwrap().expires.is_some());
        assert!(
            !format!("{:?}", issued(&json!({"access_token": "hidden", "token_type": "Bearer"})))
                .contains("hidden")
        );
    }
}
