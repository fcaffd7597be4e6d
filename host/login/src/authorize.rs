//! A login by a person: the address to open, the authorization response, and the token for it (OAuth 2.1,
//! RFC 7636, RFC 8252, RFC 9207).

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use thiserror::Error;
use tokio::time::timeout;
use url::Url;

use crate::callback::{Answer, Callback};
use crate::client::Client;
use crate::discovery::{Found, Issuer};
use crate::store::Granted;
use crate::{Grant, Login, LoginError, random};

/// Longest time of a login.
const LOGIN_TIME: Duration = Duration::from_secs(10 * 60);

/// The result of a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authorized {
    /// The authorization server that issued the token.
    pub issuer: String,
    /// The scopes of the token, as far as they are known.
    pub scopes: Vec<String>,
    /// Whether the token can be renewed without a person.
    pub renews: bool,
}

/// Why an authorization response is not used. Texts of servers in it are sanitised.
#[derive(Debug, Error)]
pub enum ResponseError {
    /// The response is from another authorization server.
    #[error("the answer says that it is from {found:?}, and {issuer} was asked: it is not used")]
    OtherIssuer {
        /// The `iss` of the response.
        found: String,
        /// The authorization server that was asked.
        issuer: String,
    },
    /// The response does not say from which authorization server it is, though it should.
    #[error(
        "the answer does not say who it is from, and {issuer} says that its answers do: it is not used"
    )]
    NoIssuer {
        /// The authorization server that was asked.
        issuer: String,
    },
    /// The authorization server refused the login.
    #[error("{issuer} refused the login: {text}")]
    Refused {
        /// The authorization server.
        issuer: String,
        /// The OAuth error and its description.
        text: String,
    },
    /// The response has no code.
    #[error("{issuer} sent no authorization code")]
    NoCode {
        /// The authorization server.
        issuer: String,
    },
}

/// One login.
struct Attempt {
    found: Found,
    client: Client,
    scopes: Vec<String>,
    redirect: String,
    state: String,
    /// The code verifier of PKCE.
    verifier: String,
}

impl Login {
    /// Has a person log in, within ten minutes. `show` gets the address to open in a browser: an `https` address
    /// without characters that have a meaning in a shell.
    ///
    /// # Errors
    ///
    /// The login failed, or `show` did.
    pub async fn authorize<E: Into<Box<dyn std::error::Error + Send + Sync>>>(
        &self,
        show: impl AsyncFnOnce(&str) -> Result<(), E>,
    ) -> Result<Authorized, LoginError> {
        if self.plan.grant != Grant::AuthorizationCode {
            return Err(LoginError::NotForPersons);
        }
        let _turn = self.turn.lock().await;
        let callback = Callback::listen(self.plan.redirect_port).await?;
        let found = self.discover().await?;
        if !found.issuer.binds_codes {
            return Err(LoginError::NoPkce { issuer: found.issuer.name });
        }
        let scopes = self.scopes(&found);
        let redirect = callback.address.clone();
        let client =
            Client::find(&self.reach, &self.plan, &found.issuer, &redirect, &scopes).await?;
        let (state, verifier) = (random()?, random()?);
        let attempt = Attempt { found, client, scopes, redirect, state, verifier };
        let address = attempt.address()?;
        let shown = async { show(&address).await.map_err(|error| LoginError::Show(error.into())) };
        let answered = async { Ok(callback.answer(&attempt.state).await) };
        let both = async { tokio::try_join!(shown, answered) };
        let ((), answer) = timeout(LOGIN_TIME, both).await.map_err(LoginError::TimedOut)??;
        let code = code(&attempt.found.issuer, answer)?;
        let granted = self.exchange(attempt, code).await?;
        let authorized = Authorized {
            issuer: granted.issuer.clone(),
            scopes: granted.scopes.clone(),
            renews: granted.refresh.is_some(),
        };
        let _exclusive = self.exclusive().await?;
        self.keep(granted)?;
        Ok(authorized)
    }

    /// Exchanges an authorization code for a token.
    async fn exchange(&self, attempt: Attempt, code: String) -> Result<Granted, LoginError> {
        let Attempt { found, client, scopes, redirect, verifier, .. } = attempt;
        let form = vec![
            ("grant_type", "authorization_code".to_owned()),
            ("code", code),
            ("redirect_uri", redirect),
            ("code_verifier", verifier),
            ("resource", found.resource.clone()),
        ];
        let endpoint = self.token_endpoint(&client, &found.issuer.name, &found.issuer.token);
        let issued = endpoint.request(form).await?;
        Ok(Granted::new(found, client, scopes, issued))
    }
}

impl Attempt {
    /// The address at which a person logs in.
    fn address(&self) -> Result<String, LoginError> {
        let issuer = &self.found.issuer;
        let mut url = issuer
            .authorization
            .clone()
            .ok_or_else(|| LoginError::NoAuthorizationEndpoint { issuer: issuer.name.clone() })?;
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(&self.verifier));
        let mut query = url.query_pairs_mut();
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.client.id)
            .append_pair("redirect_uri", &self.redirect)
            .append_pair("state", &self.state)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256")
            .append_pair("resource", &self.found.resource);
        if !self.scopes.is_empty() {
            query.append_pair("scope", &self.scopes.join(" "));
        }
        drop(query);
        Ok(inert(&url))
    }
}

/// An address as shown to a person. All characters that have a meaning in a shell are percent-encoded, because
/// people paste addresses into shells, and programs have passed addresses to shells (CVE-2025-6514).
fn inert(url: &Url) -> String {
    let mut text = String::new();
    for byte in url.as_str().bytes() {
        match byte {
            b'-' | b'.' | b'_' | b'~' | b':' | b'/' | b'?' | b'&' | b'=' | b'%' | b'+' | b','
            | b'@' | b'[' | b']' => text.push(byte.into()),
            byte if byte.is_ascii_alphanumeric() => text.push(byte.into()),
            byte => text += &format!("%{byte:02X}"),
        }
    }
    text
}

/// The authorization code of a response from this issuer.
fn code(issuer: &Issuer, answer: Answer) -> Result<String, ResponseError> {
    let name = || issuer.name.clone();
    let said = portcullis_sanitize::line(answer.issuer.as_deref().unwrap_or_default(), 200);
    match &answer.issuer {
        // Compared as strings (RFC 9207): a similar name may be that of another server.
        Some(named) if *named != issuer.name => {
            return Err(ResponseError::OtherIssuer { found: said, issuer: name() });
        }
        None if issuer.says_who_it_is => {
            return Err(ResponseError::NoIssuer { issuer: name() });
        }
        Some(_) | None => {}
    }
    if let Some(error) = answer.error {
        let text = portcullis_sanitize::line(&error, 300);
        return Err(ResponseError::Refused { issuer: name(), text });
    }
    answer.code.ok_or_else(|| ResponseError::NoCode { issuer: name() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issuer(says_who_it_is: bool) -> Issuer {
        Issuer {
            name: "https://as.example".into(),
            authorization: None,
            token: "https://as.example/token".parse().unwrap(),
            registration: None,
            methods: None,
            scopes: Vec::new(),
            binds_codes: true,
            takes_descriptions: false,
            says_who_it_is,
        }
    }

    #[test]
    fn an_answer_of_another_issuer_is_not_used() {
        let from = |issuer: Option<&str>| Answer {
            code: Some("a".into()),
            issuer: issuer.map(str::to_owned),
            error: None,
        };
        let name = "https://as.example";
        assert_eq!(code(&issuer(true), from(Some(name))).unwrap(), "a");
        assert_eq!(code(&issuer(false), from(None)).unwrap(), "a");
        assert!(code(&issuer(true), from(None)).is_err());
        for other in ["https://evil.example", "https://as.example/", "https://AS.example", ""] {
            for says in [true, false] {
                assert!(code(&issuer(says), from(Some(other))).is_err(), "{other}");
            }
        }
        let refused = Answer { error: Some("access_denied\u{1b}[2J".into()), ..Answer::default() };
        let error = code(&issuer(false), refused).unwrap_err().to_string();
        assert!(error.contains("access_denied") && !error.contains('\u{1b}'), "{error}");
        assert!(code(&issuer(false), Answer::default()).is_err());
    }

    #[test]
    fn what_is_shown_means_nothing_to_a_shell() {
        let url: Url = "https://as.example/a;$(b)`c`'d'|e?f=g&h=\"i\"*!<j>#k".parse().unwrap();
        let shown = inert(&url);
        assert!(
            !shown.contains([';', '$', '(', '`', '\'', '"', '|', '*', '!', '<', '>', ' ', '#'])
        );
        assert!(shown.starts_with("https://as.example/a"), "{shown}");
        let plain = "https://as.example:8443/authorize?a=b%20c&d=e+f";
        assert_eq!(inert(&plain.parse().unwrap()), plain);
    }
}
