//! Builds the settings of the HTTP server from the `[http]` table of the configuration.

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use portcullis_core::config::{HttpConfig, IssuerConfig, OauthConfig};
use portcullis_http_server::{
    Access, AccessRules, Fetch, InvalidSettings, Issuer, Oauth, Settings, Tls, TlsError,
};
use portcullis_result_passthrough::PassthroughKey;

/// Minimum length of a bearer token in bytes. A shorter token could be guessed.
const MIN_TOKEN_BYTES: usize = 16;

/// Why the HTTP server cannot be started as it is configured.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// Other machines could call the server without credentials.
    #[error(
        "{0} can be reached by other machines: give --token-file or [http.oauth], or listen on 127.0.0.1"
    )]
    NoCredentials(SocketAddr),
    /// Only one of certificate and private key is set.
    #[error("`{given}` without `{missing}`: give both")]
    HalfOfTls {
        /// The key that is set.
        given: &'static str,
        /// The key that is missing.
        missing: &'static str,
    },
    /// Certificate or private key cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A rule is invalid: an allowed host, an allowed origin, or a setting of OAuth.
    #[error(transparent)]
    Access(#[from] InvalidSettings),
    /// The file of the bearer token cannot be read.
    #[error("cannot read the token file {}: {cause}", .file.display())]
    TokenFile {
        /// The path of the file.
        file: PathBuf,
        /// Why the file cannot be read.
        #[source]
        cause: io::Error,
    },
    /// The bearer token is so short that it could be guessed.
    #[error("the token in {} has fewer than {MIN_TOKEN_BYTES} bytes", .file.display())]
    ShortToken {
        /// The file that contains the token.
        file: PathBuf,
    },
}

/// Who may send requests. Reads the file of the token. `profiles`: the names of profiles, each of which has an MCP
/// endpoint of its own.
///
/// # Errors
///
/// [`SettingsError`]: other machines could call without credentials, or the token is missing or cannot be used.
pub(super) fn access_rules(
    config: &HttpConfig,
    profiles: BTreeSet<String>,
    fetch: Fetch,
) -> Result<AccessRules, SettingsError> {
    if config.token_file.is_none() && config.oauth.is_none() && !config.listen.ip().is_loopback() {
        return Err(SettingsError::NoCredentials(config.listen));
    }
    let issuer = |IssuerConfig { issuer, jwks_uri }: IssuerConfig| Issuer { issuer, jwks_uri };
    let oauth = config.oauth.clone().map(|OauthConfig { resource, issuers, scopes }| Oauth {
        resource,
        issuers: issuers.into_iter().map(issuer).collect(),
        scopes,
        fetch,
    });
    Ok(AccessRules {
        allowed_hosts: config.allowed_hosts.clone(),
        any_address: false,
        allowed_origins: config.allowed_origins.clone(),
        token: config.token_file.as_deref().map(read_token).transpose()?,
        oauth,
        profiles,
    })
}

/// The settings of the server. Reads the files for TLS.
///
/// # Errors
///
/// [`SettingsError`]: the rules are invalid, or the files for TLS are missing or cannot be used.
pub(super) fn settings(
    config: &HttpConfig,
    rules: AccessRules,
    raw: PassthroughKey,
) -> Result<Settings, SettingsError> {
    Ok(Settings {
        access: Access::new(rules)?,
        tls: tls(config)?,
        legacy_sse: config.legacy_sse,
        connections: config.connections,
        sessions: config.sessions,
        sessions_per_principal: config.sessions_per_principal,
        session_idle: Duration::from_millis(config.session_idle_ms.get()),
        replay_bytes: config.replay_bytes,
        requests_per_second: config.requests_per_second,
        body_bytes: config.body_bytes,
        ..Settings::new(raw)
    })
}

/// Certificate and private key. `None`: neither is configured.
fn tls(config: &HttpConfig) -> Result<Option<Tls>, SettingsError> {
    let (cert, key) = ("tls-cert", "tls-key");
    match (&config.tls_cert, &config.tls_key) {
        (Some(certificate), Some(key)) => Ok(Some(Tls::load(certificate, key)?)),
        (None, None) => Ok(None),
        (Some(_), None) => Err(SettingsError::HalfOfTls { given: cert, missing: key }),
        (None, Some(_)) => Err(SettingsError::HalfOfTls { given: key, missing: cert }),
    }
}

/// Whether the rules and the files for TLS can be used.
///
/// # Errors
///
/// As [`settings`].
pub(super) fn check(config: &HttpConfig, rules: AccessRules) -> Result<(), SettingsError> {
    Access::new(rules)?;
    tls(config).map(drop)
}

/// The hosts of the configured OAuth issuers and of their keys, which may have private addresses.
pub(super) fn oauth_hosts(config: &HttpConfig) -> Vec<String> {
    let issuers = config.oauth.iter().flat_map(|oauth| &oauth.issuers);
    let named = issuers.flat_map(|one| [Some(&one.issuer), one.jwks_uri.as_ref()]).flatten();
    let host = |address: &String| url::Url::parse(address).ok()?.host_str().map(str::to_owned);
    named.filter_map(host).collect()
}

/// Reads the bearer token. The token is in a file because command lines are visible to other users.
#[expect(
    clippy::disallowed_methods,
    reason = "the operator names the file, which is read at the start and when the configuration is reloaded"
)]
fn read_token(file: &Path) -> Result<String, SettingsError> {
    let text = std::fs::read_to_string(file)
        .map_err(|cause| SettingsError::TokenFile { file: file.to_owned(), cause })?;
    let token = text.trim();
    if token.len() < MIN_TOKEN_BYTES {
        return Err(SettingsError::ShortToken { file: file.to_owned() });
    }
    Ok(token.to_owned())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files they need")]
mod tests {
    use super::*;

    fn rules_of(config: &HttpConfig) -> Result<AccessRules, SettingsError> {
        let fetch = Fetch::new(|_| async { Err("nothing is fetched".into()) });
        access_rules(config, BTreeSet::new(), fetch)
    }

    fn settings_of(config: &HttpConfig) -> Result<Settings, SettingsError> {
        settings(config, AccessRules::default(), PassthroughKey::new().unwrap())
    }

    #[test]
    fn the_defaults_of_the_configuration_are_those_of_the_server() {
        let configured = settings_of(&HttpConfig::default()).unwrap();
        let server = Settings::new(PassthroughKey::new().unwrap());
        let numbers = |settings: &Settings| {
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
        assert_eq!(numbers(&configured), numbers(&server));
    }

    #[test]
    fn other_machines_need_a_token_or_oauth() {
        let open =
            HttpConfig { listen: SocketAddr::from(([0, 0, 0, 0], 0)), ..HttpConfig::default() };
        let error = rules_of(&open).unwrap_err().to_string();
        assert!(error.contains("--token-file") && error.contains("http.oauth"), "{error}");
        let issuer = IssuerConfig {
            issuer: "https://id.example/a".into(),
            jwks_uri: Some("https://keys.example/set".into()),
        };
        let oauth = OauthConfig {
            resource: "https://mcp.example/mcp".into(),
            issuers: vec![issuer],
            scopes: Vec::new(),
        };
        let guarded = HttpConfig { oauth: Some(oauth), ..open };
        assert!(rules_of(&guarded).unwrap().oauth.is_some());
        assert_eq!(oauth_hosts(&guarded), ["id.example", "keys.example"]);
    }

    #[test]
    fn a_certificate_without_a_key_is_refused_and_a_key_without_a_certificate() {
        for (cert, key) in [(Some("/c"), None), (None, Some("/k"))] {
            let config = HttpConfig {
                tls_cert: cert.map(Into::into),
                tls_key: key.map(Into::into),
                ..HttpConfig::default()
            };
            assert!(settings_of(&config).unwrap_err().to_string().contains("give both"));
        }
    }

    #[test]
    fn a_short_token_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        let config = HttpConfig { token_file: Some(file.clone()), ..HttpConfig::default() };
        assert!(matches!(rules_of(&config), Err(SettingsError::TokenFile { .. })));
        std::fs::write(&file, format!(" {} \n", "a".repeat(MIN_TOKEN_BYTES - 1))).unwrap();
        assert!(matches!(rules_of(&config), Err(SettingsError::ShortToken { .. })));
        std::fs::write(&file, "a".repeat(MIN_TOKEN_BYTES)).unwrap();
        assert!(rules_of(&config).unwrap().token.is_some());
    }
}
