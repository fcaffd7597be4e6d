//! The section `[upstreams.NAME.oauth]` of the configuration.

use portcullis_egress::Secret;
use schemars::JsonSchema;
use serde::Deserialize;
use thiserror::Error;
use url::Url;

use crate::requests::is_loopback;

/// How tokens for a server are obtained. All keys are optional: by default a person logs in, and this program
/// registers itself with the authorization server.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Settings {
    /// Who logs in.
    #[schemars(extend("default" = "authorization-code"))]
    pub grant: Grant,
    /// The client id under which this program is registered. Default: the program registers itself.
    pub client_id: Option<String>,
    /// The secret of the registered client. Default: none.
    pub client_secret: Option<Secret>,
    /// A private key instead of a secret: PKCS#8 as PEM, of P-256, P-384, Ed25519 or RSA. Default: none.
    pub client_key: Option<Secret>,
    /// The `https` address of a document that describes this program (Client ID Metadata Document). The address is the
    /// client id if the authorization server supports such documents. If not, the program registers itself. Default:
    /// none.
    pub client_metadata_url: Option<String>,
    /// The scopes that are requested. Default: the scopes that the server says it needs.
    pub scopes: Option<Vec<String>>,
    /// The address of the authorization server; no other one is used. Its host may be in a private network.
    /// Default: the authorization server that the server's metadata names.
    pub issuer: Option<String>,
    /// The port of this machine to which the browser is redirected. Default: any free port.
    pub redirect_port: Option<u16>,
}

/// Who is authenticated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Grant {
    /// A person, who logs in with a browser.
    #[default]
    AuthorizationCode,
    /// This machine, with its own secret or key.
    ClientCredentials,
}

/// Why the settings cannot be used. Each message names the key.
#[derive(Debug, Error)]
pub enum SettingsError {
    /// Two keys exclude each other.
    #[error("`{0}` and `{1}` exclude each other: remove one of them")]
    Both(&'static str, &'static str),
    /// The client id is empty.
    #[error("`client-id` is empty")]
    EmptyId,
    /// There is a secret or key, but no client id.
    #[error("`client-id` is missing: the secret or key belongs to a client")]
    NoId,
    /// The grant `client-credentials` has no client that can authenticate itself.
    #[error(
        "`grant = \"client-credentials\"` needs `client-id`, and `client-secret` or `client-key`"
    )]
    NoCredentials,
    /// There are too many scopes.
    #[error("`scopes` has more than {MAX_SCOPES} entries")]
    TooManyScopes,
    /// A text is not a scope.
    #[error("`scopes`: {0:?} is not a scope; write each scope as an entry of its own")]
    Scope(String),
    /// An address is not a URL.
    #[error("`{key}` is not a URL")]
    Url {
        /// The key.
        key: &'static str,
        /// What is wrong with the address.
        #[source]
        cause: url::ParseError,
    },
    /// The address of the client metadata cannot be used.
    #[error("`client-metadata-url` has to be https, and to have a path")]
    MetadataUrl,
    /// The issuer has no TLS.
    #[error("`issuer` has to be https, unless it is on this machine")]
    IssuerNotHttps,
    /// The issuer has a query or a fragment, which an issuer identifier must not have (RFC 8414).
    #[error("`issuer` must have neither a query nor a fragment")]
    IssuerParts,
    /// Tokens would be sent to the server without TLS.
    #[error("tokens are sent over https only, or to this machine: change `url`")]
    NotConfidential,
}

/// Settings that were checked.
#[derive(Debug)]
pub(crate) struct CheckedSettings {
    pub(crate) grant: Grant,
    pub(crate) identity: Identity,
    pub(crate) scopes: Option<Vec<String>>,
    pub(crate) issuer: Option<Url>,
    pub(crate) redirect_port: Option<u16>,
}

/// The identity with which this program is a client of an authorization server.
#[derive(Debug)]
pub(crate) enum Identity {
    /// The client that the operator registered.
    Registered { id: String, credential: Credential },
    /// The client that the Client ID Metadata Document at this address describes.
    MetadataDocument(String),
    /// Not known yet: the program registers itself.
    Unregistered,
}

/// The secret or key with which a registered client authenticates itself.
#[derive(Debug)]
pub(crate) enum Credential {
    Nothing,
    Secret(Secret),
    Key(Secret),
}

/// Maximum length of a scope, in bytes.
pub(crate) const SCOPE_BYTES: usize = 256;
/// Maximum number of scopes.
pub(crate) const MAX_SCOPES: usize = 64;

/// Whether a text can be a scope, by RFC 6749.
pub(crate) fn is_scope(text: &str) -> bool {
    let fits = |byte: u8| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e);
    (1..=SCOPE_BYTES).contains(&text.len()) && text.bytes().all(fits)
}

impl TryFrom<Settings> for CheckedSettings {
    type Error = SettingsError;

    fn try_from(settings: Settings) -> Result<Self, SettingsError> {
        let Settings { grant, scopes, redirect_port, .. } = settings;
        let credential = match (settings.client_secret, settings.client_key) {
            (Some(_), Some(_)) => {
                return Err(SettingsError::Both("client-secret", "client-key"));
            }
            (Some(secret), None) => Credential::Secret(secret),
            (None, Some(key)) => Credential::Key(key),
            (None, None) => Credential::Nothing,
        };
        let identity = match (settings.client_id, settings.client_metadata_url) {
            (Some(_), Some(_)) => {
                return Err(SettingsError::Both("client-id", "client-metadata-url"));
            }
            (Some(id), None) if id.is_empty() => return Err(SettingsError::EmptyId),
            (Some(id), None) => Identity::Registered { id, credential },
            (None, url) => {
                if let Credential::Secret(_) | Credential::Key(_) = credential {
                    return Err(SettingsError::NoId);
                }
                url.map_or(Ok(Identity::Unregistered), |url| metadata_document(&url))?
            }
        };
        let can_authenticate = matches!(
            &identity,
            Identity::Registered { credential: Credential::Secret(_) | Credential::Key(_), .. }
        );
        if grant == Grant::ClientCredentials && !can_authenticate {
            return Err(SettingsError::NoCredentials);
        }
        let given = scopes.iter().flatten();
        if scopes.as_ref().is_some_and(|scopes| scopes.len() > MAX_SCOPES) {
            return Err(SettingsError::TooManyScopes);
        }
        if let Some(wrong) = given.into_iter().find(|scope| !is_scope(scope)) {
            return Err(SettingsError::Scope(wrong.clone()));
        }
        let issuer = settings.issuer.map(|issuer| issuer_at(&issuer)).transpose()?;
        Ok(Self { grant, identity, scopes, issuer, redirect_port })
    }
}

fn metadata_document(text: &str) -> Result<Identity, SettingsError> {
    let failed = |cause| SettingsError::Url { key: "client-metadata-url", cause };
    let url = Url::parse(text).map_err(failed)?;
    if url.scheme() != "https" || url.path() == "/" {
        return Err(SettingsError::MetadataUrl);
    }
    Ok(Identity::MetadataDocument(text.to_owned()))
}

fn issuer_at(text: &str) -> Result<Url, SettingsError> {
    let url = Url::parse(text).map_err(|cause| SettingsError::Url { key: "issuer", cause })?;
    if url.scheme() != "https" && !(url.scheme() == "http" && is_loopback(&url)) {
        return Err(SettingsError::IssuerNotHttps);
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(SettingsError::IssuerParts);
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Result<CheckedSettings, String> {
        let settings: Settings = toml::from_str(text).map_err(|error| error.to_string())?;
        settings.try_into().map_err(|error: SettingsError| error.to_string())
    }

    #[test]
    fn by_default_a_person_logs_in_and_the_program_registers_itself() {
        let settings = settings("").unwrap();
        assert_eq!(settings.grant, Grant::AuthorizationCode);
        assert!(matches!(settings.identity, Identity::Unregistered));
    }

    #[test]
    fn each_error_names_its_key() {
        let known = "client-id = 'a'\n";
        let secret = "client-secret = { env = 'A' }\n";
        for (text, expected) in [
            ("client-idd = 'a'".to_owned(), "client-idd"),
            (format!("{known}client-metadata-url = 'https://a/b'"), "`client-metadata-url`"),
            (format!("{known}{secret}client-key = {{ file = '/a' }}"), "`client-key`"),
            (secret.to_owned(), "`client-id`"),
            (format!("{known}client-secret = 'in the open'"), "client-secret"),
            ("client-metadata-url = 'http://a/b'".into(), "`client-metadata-url`"),
            ("grant = 'password'".into(), "password"),
            ("grant = 'client-credentials'".into(), "`client-id`"),
            (format!("{known}grant = 'client-credentials'"), "`client-key`"),
            ("scopes = ['a b']".into(), "`scopes`"),
            ("scopes = ['']".into(), "`scopes`"),
            ("issuer = 'http://a'".into(), "`issuer`"),
            ("issuer = 'https://a/?b'".into(), "`issuer`"),
            ("issuer = 'a'".into(), "`issuer`"),
        ] {
            let error = settings(&text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
