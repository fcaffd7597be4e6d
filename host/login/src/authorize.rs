//! The login of a person: makes the address to open, waits for the authorization response, and exchanges its code for a
//! token (OAuth 2.1, RFC 7636, RFC 8252, RFC 9207).

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use tokio::time::timeout;
use url::Url;

use crate::callback::Callback;
use crate::client::Client;
use crate::discovery::DiscoveryResult;
use crate::error::LoginError;
use crate::random::random;
use crate::response::code;
use crate::store::StoredToken;
use crate::{Grant, Login};

/// Time limit of a login.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// The result of a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorizationResult {
    /// The authorization server that issued the token.
    pub issuer: String,
    /// The scopes of the token, as far as they are known.
    pub scopes: Vec<String>,
    /// Whether the token can be renewed without a person.
    pub renews: bool,
}

/// One login.
struct AuthorizationAttempt {
    found: DiscoveryResult,
    client: Client,
    scopes: Vec<String>,
    redirect: String,
    state: String,
    /// The code verifier of PKCE.
    verifier: String,
}

impl Login {
    /// Lets a person log in, within ten minutes. `show` gets the address to open in a browser: an `https` address, or
    /// an `http` address of this machine. The address is safe to paste into a shell: the shell then runs nothing that
    /// the authorization server chose.
    ///
    /// # Errors
    ///
    /// The login failed or took too long, or `show` failed.
    pub async fn authorize<E: Into<Box<dyn std::error::Error + Send + Sync>>>(
        &self,
        show: impl AsyncFnOnce(&str) -> Result<(), E>,
    ) -> Result<AuthorizationResult, LoginError> {
        if self.settings.grant != Grant::AuthorizationCode {
            return Err(LoginError::NotForPersons);
        }
        let _turn = self.token_request.lock().await;
        let callback = Callback::listen(self.settings.redirect_port).await?;
        let found = self.discover().await?;
        if !found.issuer.supports_pkce {
            return Err(LoginError::NoPkce { issuer: found.issuer.name });
        }
        let scopes = self.scopes(&found);
        let redirect = callback.address.clone();
        let client =
            Client::find(&self.requests, &self.settings, &found.issuer, &redirect, &scopes).await?;
        let (state, verifier) = (random()?, random()?);
        let attempt = AuthorizationAttempt { found, client, scopes, redirect, state, verifier };
        let address = attempt.address()?;
        let shown = async { show(&address).await.map_err(|error| LoginError::Show(error.into())) };
        let answered = async { Ok(callback.answer(&attempt.state).await) };
        let both = async { tokio::try_join!(shown, answered) };
        let ((), answer) = timeout(LOGIN_TIMEOUT, both).await.map_err(LoginError::TimedOut)??;
        let code = code(&attempt.found.issuer, answer)?;
        let granted = self.exchange(attempt, code).await?;
        let authorized = AuthorizationResult {
            issuer: granted.issuer.clone(),
            scopes: granted.scopes.clone(),
            renews: granted.refresh.is_some(),
        };
        let _exclusive = self.exclusive().await?;
        self.keep(granted)?;
        Ok(authorized)
    }

    /// Exchanges an authorization code for a token.
    async fn exchange(
        &self,
        attempt: AuthorizationAttempt,
        code: String,
    ) -> Result<StoredToken, LoginError> {
        let AuthorizationAttempt { found, client, scopes, redirect, verifier, .. } = attempt;
        let form = vec![
            ("grant_type", "authorization_code".to_owned()),
            ("code", code),
            ("redirect_uri", redirect),
            ("code_verifier", verifier),
            ("resource", found.resource.clone()),
        ];
        let endpoint = self.token_endpoint(&client, &found.issuer.name, &found.issuer.token);
        let issued = endpoint.request(form).await?;
        Ok(StoredToken::new(found, client, scopes, issued))
    }
}

impl AuthorizationAttempt {
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

/// The parameters that [`AuthorizationAttempt::address`] adds.
const PARAMETERS: &[&str] = &[
    "response_type",
    "client_id",
    "redirect_uri",
    "state",
    "code_challenge",
    "code_challenge_method",
    "resource",
    "scope",
];

/// An address as shown to a person. Characters with which a shell can run something are percent-encoded, because people
/// paste addresses into shells, and programs have passed addresses to shells (CVE-2025-6514).
///
/// Of these characters, only the `&` between parameters stays. A shell ends a command at `&` and runs what follows, so
/// the authorization server could name a program there. Therefore the first character of each parameter name that is
/// not one of [`PARAMETERS`] is percent-encoded too, which changes nothing for the server.
fn inert(url: &Url) -> String {
    // An authorization endpoint has no fragment (RFC 6749, 3.1).
    let whole = url.as_str().split('#').next().unwrap_or_default();
    let (address, query) = whole.split_once('?').unwrap_or((whole, ""));
    let mut text = String::new();
    push_inert(&mut text, address.as_bytes());
    for (index, parameter) in query.split('&').enumerate() {
        text.push(if index == 0 { '?' } else { '&' });
        let name = parameter.split('=').next().unwrap_or_default();
        let mut bytes = parameter.as_bytes();
        if let Some((first, rest)) = bytes.split_first()
            && *first != b'%'
            && !PARAMETERS.contains(&name)
        {
            // In a query, `+` is a space.
            text += &encoded(if *first == b'+' { b' ' } else { *first });
            bytes = rest;
        }
        push_inert(&mut text, bytes);
    }
    text
}

/// Appends a part of an address. Characters with which a shell can run something are percent-encoded.
fn push_inert(text: &mut String, part: &[u8]) {
    for byte in part {
        match byte {
            b'-' | b'.' | b'_' | b'~' | b':' | b'/' | b'=' | b'%' | b'+' | b',' | b'@' | b'['
            | b']' => text.push((*byte).into()),
            byte if byte.is_ascii_alphanumeric() => text.push((*byte).into()),
            byte => *text += &encoded(*byte),
        }
    }
}

fn encoded(byte: u8) -> String {
    format!("%{byte:02X}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_delimiters_of_the_query_have_a_meaning_in_a_shell() {
        let url: Url = "https://as.example/a;$(b)`c`'d'|e?f=g&h=\"i\"*!<j>#k".parse().unwrap();
        let shown = inert(&url);
        assert!(
            !shown.contains([';', '$', '(', '`', '\'', '"', '|', '*', '!', '<', '>', ' ', '#'])
        );
        assert!(shown.starts_with("https://as.example/a"), "{shown}");
        let plain = "https://as.example:8443/authorize?client_id=b%20c&state=e+f";
        assert_eq!(inert(&plain.parse().unwrap()), plain);
    }

    #[test]
    fn after_an_ampersand_is_no_command_of_the_authorization_server() {
        let endpoint =
            "https://as.example/a&reboot&b?reboot&/bin/sh&calc=1&+x&state=2&%61=3#&reboot";
        let shown = inert(&endpoint.parse().unwrap());
        let (_, rest) = shown.split_once('&').expect("parameters are still separated");
        for word in rest.split('&') {
            assert!(word.starts_with('%') || word.starts_with("state="), "{word} in {shown}");
        }
        let parsed: Url = shown.parse().unwrap();
        let parameters: Vec<_> = parsed.query_pairs().into_owned().collect();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(parsed.path(), "/a%26reboot%26b");
        assert_eq!(
            parameters,
            [
                pair("reboot", ""),
                pair("/bin/sh", ""),
                pair("calc", "1"),
                pair(" x", ""),
                pair("state", "2"),
                pair("a", "3"),
            ]
        );
    }
}
