//! A person logs in: what is shown to them, what comes back, and the token for it (OAuth 2.1, RFC 7636,
//! RFC 8252, RFC 9207).

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use tokio::time::timeout;
use url::Url;

use crate::callback::{Answer, Callback};
use crate::client::Client;
use crate::discovery::{Found, Issuer};
use crate::store::Granted;
use crate::tokens::Refusal;
use crate::{Grant, Login, random};

/// How long a person may take.
const PATIENCE: Duration = Duration::from_secs(10 * 60);

/// What came of a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authorized {
    /// Who issued the token.
    pub issuer: String,
    /// What it allows, as far as is known.
    pub scopes: Vec<String>,
    /// Whether it can be renewed without a person.
    pub renews: bool,
}

/// One login.
struct Attempt {
    found: Found,
    client: Client,
    scopes: Vec<String>,
    redirect: String,
    state: String,
    /// What shows later that who asked for the code is who brings it.
    verifier: String,
}

impl Login {
    /// Has a person log in, within ten minutes. `show` is given the address that they have to open in a
    /// browser: an `https` address without anything that means something to a shell.
    ///
    /// # Errors
    ///
    /// In words for the operator: what did not work.
    pub async fn authorize<E: std::fmt::Display>(
        &self,
        show: impl AsyncFnOnce(&str) -> Result<(), E>,
    ) -> Result<Authorized, String> {
        if self.plan.grant != Grant::AuthorizationCode {
            return Err("nobody has to log in: `grant` is `client-credentials`".into());
        }
        let _turn = self.turn.lock().await;
        let callback = Callback::listen(self.plan.redirect_port).await?;
        let found = self.discover().await?;
        if !found.issuer.binds_codes {
            return Err(format!(
                "{} does not say that it binds codes to who asked for them (PKCE with S256): a login \
                 there is not safe, and MCP does not allow it",
                found.issuer.name
            ));
        }
        let scopes = self.scopes(&found);
        let redirect = callback.address.clone();
        let client =
            Client::find(&self.reach, &self.plan, &found.issuer, &redirect, &scopes).await?;
        let (state, verifier) = (random()?, random()?);
        let attempt = Attempt { found, client, scopes, redirect, state, verifier };
        let address = attempt.address()?;
        let shown = async { show(&address).await.map_err(|error| error.to_string()) };
        let both = async { tokio::try_join!(shown, callback.answer(&attempt.state)) };
        let ((), answer) = timeout(PATIENCE, both)
            .await
            .map_err(|_| "nobody has logged in within ten minutes".to_owned())??;
        let code = code(&attempt.found.issuer, answer)?;
        let granted = self.exchange(attempt, code).await?;
        let authorized = Authorized {
            issuer: granted.issuer.clone(),
            scopes: granted.scopes.clone(),
            renews: granted.refresh.is_some(),
        };
        let _exclusive = self.exclusive().await.map_err(|error| error.to_string())?;
        self.keep(granted)?;
        Ok(authorized)
    }

    /// Gives a code for a token.
    async fn exchange(&self, attempt: Attempt, code: String) -> Result<Granted, String> {
        let Attempt { found, client, scopes, redirect, verifier, .. } = attempt;
        let form = vec![
            ("grant_type", "authorization_code".to_owned()),
            ("code", code),
            ("redirect_uri", redirect),
            ("code_verifier", verifier),
            ("resource", found.resource.clone()),
        ];
        let desk = self.desk(&client, &found.issuer.name, &found.issuer.token);
        let issued = desk.ask(form).await;
        let issued = issued.map_err(|(Refusal::Denied(why) | Refusal::Failed(why))| why)?;
        Ok(Granted::new(found, client, scopes, issued))
    }
}

impl Attempt {
    /// Where a person logs in.
    fn address(&self) -> Result<String, String> {
        let issuer = &self.found.issuer;
        let mut url = issuer
            .authorization
            .clone()
            .ok_or_else(|| format!("{} does not say where its users log in", issuer.name))?;
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

/// An address as it is shown, with whatever would mean something to a shell encoded: people copy
/// addresses, and programs have started them (CVE-2025-6514). What stays is what addresses need.
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

/// The code that a browser brought from this issuer.
fn code(issuer: &Issuer, answer: Answer) -> Result<String, String> {
    let said = portcullis_sanitize::line(answer.issuer.as_deref().unwrap_or_default(), 200);
    match &answer.issuer {
        // As it is written: what is only alike may be somebody else.
        Some(named) if *named != issuer.name => {
            return Err(format!(
                "the answer says that it is from {said:?}, and {} was asked: it is not used",
                issuer.name
            ));
        }
        None if issuer.says_who_it_is => {
            return Err(format!(
                "the answer does not say who it is from, and {} says that its answers do: it is not \
                 used",
                issuer.name
            ));
        }
        Some(_) | None => {}
    }
    if let Some(error) = answer.error {
        let error = portcullis_sanitize::line(&error, 300);
        return Err(format!("{} has not let you in: {error}", issuer.name));
    }
    answer.code.ok_or_else(|| format!("{} has sent no code", issuer.name))
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
        let error = code(&issuer(false), refused).unwrap_err();
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
