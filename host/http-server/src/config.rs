//! What an operator writes about a front, and what of it can be used.

use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use std::time::Duration;

use portcullis_result_passthrough::Raw;
use serde::Deserialize;

use crate::oauth::{Fetch, Issuer, Oauth};
use crate::settings::Settings;
use crate::tls::Tls;

/// Fewest characters of a token: shorter ones can be guessed.
const SHORTEST_TOKEN: usize = 16;

/// A front as its operator writes it, under `[http]`. What is not said is as [`Settings::new`] has it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Config {
    /// Where to listen.
    pub listen: SocketAddr,
    /// A file whose text lets in whoever has it as a bearer token.
    pub token_file: Option<PathBuf>,
    /// A file of PEM: the certificate, and those that lead to its root. Without it there is no TLS.
    pub tls_cert: Option<PathBuf>,
    /// A file of PEM: the certificate's private key.
    pub tls_key: Option<PathBuf>,
    /// Whose access tokens let in.
    pub oauth: Option<OauthConfig>,
    /// Values of the Host header that are served beside those of loopback.
    pub allowed_hosts: Vec<String>,
    /// Origins of web pages that may call: `scheme://host[:port]`. None else may.
    pub allowed_origins: Vec<String>,
    /// Whether the transport of 2024-11-05 is served, too.
    pub legacy_sse: bool,
    /// Connections at the same time.
    pub connections: NonZeroU32,
    /// Sessions at the same time.
    pub sessions: NonZeroU32,
    /// Of them, sessions of one caller; half of them, where nothing is said.
    pub sessions_per_principal: Option<NonZeroU32>,
    /// After how long without a message a session ends, in milliseconds.
    pub session_idle_ms: NonZeroU64,
    /// What is kept of a session's messages for a client whose connection broke, in bytes.
    pub replay_bytes: NonZeroU32,
    /// Requests a second of one caller, and of one peer before it is known who calls.
    pub requests_per_second: NonZeroU32,
    /// Size of one request's body, in bytes.
    pub body_bytes: NonZeroU32,
}

/// An OAuth resource server as its operator writes it, under `[http.oauth]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct OauthConfig {
    /// The address of `/mcp` as clients know it, which tokens must name as their audience.
    pub resource: String,
    /// Who issues tokens.
    pub issuers: Vec<Issuer>,
    /// Scopes that every token must have.
    #[serde(default)]
    pub scopes: Vec<String>,
}

impl Default for Config {
    fn default() -> Self {
        let number = |number| NonZeroU32::new(number).expect("above 0");
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8719)),
            token_file: None,
            tls_cert: None,
            tls_key: None,
            oauth: None,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            legacy_sse: true,
            connections: number(256),
            sessions: number(128),
            sessions_per_principal: None,
            session_idle_ms: NonZeroU64::new(300_000).expect("above 0"),
            replay_bytes: number(4 * 1024 * 1024),
            requests_per_second: number(500),
            body_bytes: number(4 * 1024 * 1024),
        }
    }
}

impl Config {
    /// Every file that is named, by the key that names it.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, &PathBuf)> {
        let files = [
            ("http.token-file", &self.token_file),
            ("http.tls-cert", &self.tls_cert),
            ("http.tls-key", &self.tls_key),
        ];
        files.into_iter().filter_map(|(key, file)| Some((key, file.as_ref()?)))
    }

    /// `https`, or `http` where there is no certificate.
    pub fn scheme(&self) -> &'static str {
        if self.tls_cert.is_some() { "https" } else { "http" }
    }

    /// The hosts that are named for OAuth: what is fetched from them is what the operator wanted.
    pub fn oauth_hosts(&self) -> Vec<String> {
        let issuers = self.oauth.iter().flat_map(|oauth| &oauth.issuers);
        let named = issuers.flat_map(|one| [Some(&one.issuer), one.jwks_uri.as_ref()]).flatten();
        let host = |address: &String| url::Url::parse(address).ok()?.host_str().map(str::to_owned);
        named.filter_map(host).collect()
    }

    /// What the front is told. The files that are named are read, and `fetch` fetches issuers' keys.
    ///
    /// # Errors
    ///
    /// In words for the operator: which key or file, what is wrong with it, and what to do. Also where
    /// other machines could reach an address and nobody would have to say who they are.
    pub fn settings(&self, raw: Raw, fetch: Fetch) -> Result<Settings, String> {
        if self.token_file.is_none() && self.oauth.is_none() && !self.listen.ip().is_loopback() {
            return Err(format!(
                "{} can be reached by other machines: give --token-file or [http.oauth], or listen \
                 on 127.0.0.1",
                self.listen
            ));
        }
        let tls = match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => Some(Tls::load(certificate, key)?),
            (None, None) => None,
            (Some(_), None) => return Err("`tls-cert` without `tls-key`: give both".into()),
            (None, Some(_)) => return Err("`tls-key` without `tls-cert`: give both".into()),
        };
        let oauth = self.oauth.clone().map(|OauthConfig { resource, issuers, scopes }| Oauth {
            resource,
            issuers,
            scopes,
            fetch,
        });
        Ok(Settings {
            allowed_hosts: self.allowed_hosts.clone(),
            allowed_origins: self.allowed_origins.clone(),
            token: self.token_file.as_deref().map(token).transpose()?,
            oauth,
            tls,
            legacy_sse: self.legacy_sse,
            connections: self.connections,
            sessions: self.sessions,
            sessions_per_principal: self.sessions_per_principal,
            session_idle: Duration::from_millis(self.session_idle_ms.get()),
            replay_bytes: self.replay_bytes,
            requests_per_second: self.requests_per_second,
            body_bytes: self.body_bytes,
            ..Settings::new(raw)
        })
    }
}

/// The token is in a file, so that no list of processes shows it.
fn token(file: &Path) -> Result<String, String> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| format!("the token file {}: {error}", file.display()))?;
    let token = text.trim();
    if token.len() < SHORTEST_TOKEN {
        return Err(format!(
            "the token in {} has under {SHORTEST_TOKEN} characters",
            file.display()
        ));
    }
    Ok(token.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(config: &Config) -> Result<Settings, String> {
        let fetch = Fetch::new(|_| async { Err("nothing is fetched".into()) });
        config.settings(Raw::new().unwrap(), fetch)
    }

    #[test]
    fn what_nothing_is_said_of_is_as_the_settings_have_it() {
        let said = settings(&Config::default()).unwrap();
        let known = Settings::new(Raw::new().unwrap());
        let of = |settings: &Settings| {
            (
                settings.legacy_sse,
                settings.connections,
                settings.sessions,
                settings.sessions_per_principal,
                settings.requests_per_second,
                settings.body_bytes,
                settings.session_idle,
                settings.replay_bytes,
            )
        };
        assert_eq!(of(&said), of(&known));
    }

    #[test]
    fn others_have_to_say_who_they_are_by_a_token_or_by_oauth() {
        let open = Config { listen: SocketAddr::from(([0, 0, 0, 0], 0)), ..Config::default() };
        let error = settings(&open).unwrap_err();
        assert!(error.contains("--token-file") && error.contains("http.oauth"), "{error}");
        let issuer = Issuer {
            issuer: "https://id.example/a".into(),
            jwks_uri: Some("https://keys.example/set".into()),
        };
        let oauth = OauthConfig {
            resource: "https://mcp.example/mcp".into(),
            issuers: vec![issuer],
            scopes: Vec::new(),
        };
        let guarded = Config { oauth: Some(oauth), ..open };
        assert!(settings(&guarded).unwrap().oauth.is_some());
        assert_eq!(guarded.oauth_hosts(), ["id.example", "keys.example"]);
    }

    #[test]
    fn half_of_a_pair_is_refused() {
        for (cert, key) in [(Some("/c"), None), (None, Some("/k"))] {
            let config = Config {
                tls_cert: cert.map(Into::into),
                tls_key: key.map(Into::into),
                ..Config::default()
            };
            assert!(settings(&config).unwrap_err().contains("give both"));
        }
    }
}
