//! This program as an OAuth client: its id, its registration and its client authentication.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use thiserror::Error;
use url::form_urlencoded::byte_serialize;

use crate::assertion::{self, KeyError};
use crate::discovery::Issuer;
use crate::requests::{OauthRequests, PostBody, RequestError, shown};
use crate::settings::{CheckedSettings, Credential, Identity};

/// The client name with which this program registers itself.
const NAME: &str = "Portcullis";

/// Maximum size of a client id and of a client secret that an authorization server may issue.
const MAX_CREDENTIAL_BYTES: usize = 4096;

/// Why this program cannot be a client of an authorization server. Texts of servers are sanitised.
#[derive(Debug, Error)]
pub enum ClientError {
    /// The registration could not be requested.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The authorization server supports none of the possible client authentication methods.
    #[error(
        "{issuer} supports none of the authentication methods {possible}; it supports: {supported}"
    )]
    Methods {
        /// The authorization server.
        issuer: String,
        /// The methods that the configured secret or key allows.
        possible: String,
        /// The methods that the authorization server names.
        supported: String,
    },
    /// The authorization server has no registration endpoint.
    #[error(
        "{issuer} does not let programs register themselves: register this program there by hand, with the \
         redirect URI http://127.0.0.1:PORT/callback, and set its id as `client-id` and the port as \
         `redirect-port`"
    )]
    NoRegistration {
        /// The authorization server.
        issuer: String,
    },
    /// The authorization server refused the registration.
    #[error("{address} does not register this program (status {status}): {text}")]
    NotRegistered {
        /// The registration endpoint.
        address: String,
        /// The HTTP status.
        status: u16,
        /// The server's explanation.
        text: String,
    },
    /// The operator's secret or key cannot be read.
    #[error("`{key}`")]
    Secret {
        /// The key of the configuration.
        key: &'static str,
        /// Why the secret or key cannot be read.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The authentication method needs a secret, and there is none.
    #[error("there is no client secret")]
    NoSecret,
    /// The authentication method needs a private key, and there is none.
    #[error("there is no private key")]
    NoKey,
    /// The operator's key cannot sign.
    #[error("`client-key`")]
    Key(#[source] KeyError),
}

/// This program as a client of one authorization server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Client {
    pub(crate) id: String,
    pub(crate) method: Method,
    /// The secret that the registration returned. A secret of the configuration is read when it is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) secret: Option<HiddenText>,
}

/// A secret. It is not part of debug output.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct HiddenText(pub(crate) String);

impl std::fmt::Debug for HiddenText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("…")
    }
}

/// A client authentication method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Method {
    /// No authentication: a public client.
    None,
    /// The secret, in a header.
    Basic,
    /// The secret, in the form.
    Post,
    /// An assertion that is signed with the private key (RFC 7523).
    Key,
}

impl Method {
    const ALL: [Self; 4] = [Self::None, Self::Basic, Self::Post, Self::Key];

    /// The name in OAuth metadata.
    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Basic => "client_secret_basic",
            Self::Post => "client_secret_post",
            Self::Key => "private_key_jwt",
        }
    }

    /// The first of these methods that an authorization server supports. A server whose metadata has no list of methods
    /// supports `client_secret_basic` (RFC 8414, 2).
    fn first(candidates: &[Self], issuer: &Issuer) -> Option<Self> {
        let is_supported = |method: &&Self| match &issuer.methods {
            Some(methods) => methods.iter().any(|supported| supported == method.name()),
            None => **method == Self::Basic,
        };
        candidates.iter().find(is_supported).copied()
    }
}

impl Client {
    /// The configured client, the client of a metadata document, or a client that is registered now. `redirect`: the
    /// redirect URI.
    ///
    /// # Errors
    ///
    /// The authorization server does not support the configured secret or key, or this program cannot be registered.
    pub(crate) async fn find(
        requests: &OauthRequests,
        settings: &CheckedSettings,
        issuer: &Issuer,
        redirect: &str,
        scopes: &[String],
    ) -> Result<Self, ClientError> {
        match &settings.identity {
            Identity::Registered { id, credential } => Self::registered(id, credential, issuer),
            Identity::MetadataDocument(url) if issuer.supports_metadata_documents => {
                Ok(Self { id: url.clone(), method: Method::None, secret: None })
            }
            Identity::MetadataDocument(_) | Identity::Unregistered => {
                register(requests, issuer, redirect, scopes).await
            }
        }
    }

    /// The client that the operator registered.
    ///
    /// # Errors
    ///
    /// The authorization server does not support the configured secret or key.
    pub(crate) fn registered(
        id: &str,
        credential: &Credential,
        issuer: &Issuer,
    ) -> Result<Self, ClientError> {
        let possible: &[Method] = match credential {
            Credential::Nothing => &[Method::None],
            Credential::Secret(_) => &[Method::Basic, Method::Post],
            Credential::Key(_) => &[Method::Key],
        };
        let method = match (Method::first(possible, issuer), credential) {
            (Some(method), _) => method,
            // Some authorization servers support the method `none`, and do not list it.
            (None, Credential::Nothing) => Method::None,
            // The operator knows how the client is registered. A missing list does not contradict the operator.
            (None, Credential::Key(_)) if issuer.methods.is_none() => Method::Key,
            (None, Credential::Secret(_) | Credential::Key(_)) => {
                let possible: Vec<_> = possible.iter().map(|method| method.name()).collect();
                let supported: Vec<_> = issuer.methods.iter().flatten().cloned().collect();
                return Err(ClientError::Methods {
                    issuer: issuer.name.clone(),
                    possible: possible.join(", "),
                    supported: portcullis_sanitize::line(&supported.join(", "), 200),
                });
            }
        };
        Ok(Self { id: id.to_owned(), method, secret: None })
    }

    /// Adds client authentication to the form of a token request. Returns the header `Authorization`, where the
    /// method uses one.
    ///
    /// # Errors
    ///
    /// The secret or key of the configuration cannot be read or used.
    pub(crate) fn sign(
        &self,
        settings: &CheckedSettings,
        issuer: &str,
        form: &mut Vec<(&'static str, String)>,
    ) -> Result<Option<HeaderValue>, ClientError> {
        let credential = match &settings.identity {
            Identity::Registered { id, credential } if *id == self.id => credential,
            Identity::Registered { .. }
            | Identity::MetadataDocument(_)
            | Identity::Unregistered => &Credential::Nothing,
        };
        let secret = || match (&self.secret, credential) {
            (Some(secret), _) => Ok(secret.0.clone()),
            (None, Credential::Secret(secret)) => {
                let failed = |error| unreadable("client-secret", error);
                secret.read().map_err(failed)
            }
            (None, Credential::Nothing | Credential::Key(_)) => Err(ClientError::NoSecret),
        };
        match self.method {
            Method::None => form.push(("client_id", self.id.clone())),
            Method::Post => {
                form.push(("client_id", self.id.clone()));
                form.push(("client_secret", secret()?));
            }
            Method::Basic => {
                let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
                let both = format!("{}:{}", encoded(&self.id), encoded(&secret()?));
                let mut value = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(both)))
                    .expect("base64 is valid in a header");
                value.set_sensitive(true);
                return Ok(Some(value));
            }
            Method::Key => {
                let Credential::Key(key) = credential else { return Err(ClientError::NoKey) };
                let key = key.read().map_err(|error| unreadable("client-key", error))?;
                let assertion =
                    assertion::sign(&key, &self.id, issuer).map_err(ClientError::Key)?;
                form.push(("client_id", self.id.clone()));
                form.push(("client_assertion_type", assertion::TYPE.to_owned()));
                form.push(("client_assertion", assertion));
            }
        }
        Ok(None)
    }
}

/// The error of a secret that cannot be read. `key`: its key in the configuration.
fn unreadable(
    key: &'static str,
    cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> ClientError {
    ClientError::Secret { key, cause: cause.into() }
}

/// The method to register this program with, and the method to try if the authorization server refuses the first one.
///
/// A program on the computer of its user is a public client (RFC 8252, 8.4). A server without a list of methods may
/// register public clients, or only clients with a secret, which is the default of RFC 8414.
fn registration_methods(issuer: &Issuer) -> (Method, Option<Method>) {
    match &issuer.methods {
        Some(_) => {
            let possible = [Method::None, Method::Basic, Method::Post];
            (Method::first(&possible, issuer).unwrap_or(Method::None), None)
        }
        None => (Method::None, Some(Method::Basic)),
    }
}

/// Registers this program (RFC 7591). Each login registers the program again, because authorization servers may forget
/// clients, and the port of the redirect URI changes.
async fn register(
    requests: &OauthRequests,
    issuer: &Issuer,
    redirect: &str,
    scopes: &[String],
) -> Result<Client, ClientError> {
    let Some(url) = &issuer.registration else {
        return Err(ClientError::NoRegistration { issuer: issuer.name.clone() });
    };
    let (method, otherwise) = registration_methods(issuer);
    let metadata = |method: Method| {
        let mut metadata = json!({
            "client_name": NAME,
            "redirect_uris": [redirect],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "application_type": "native",
            "token_endpoint_auth_method": method.name(),
        });
        if !scopes.is_empty() {
            metadata["scope"] = scopes.join(" ").into();
        }
        PostBody::Json(metadata)
    };
    let (mut status, mut answer) = requests.post(url, metadata(method), None).await?;
    let is_refused = !status.is_success()
        && answer.get("error").and_then(Value::as_str) == Some("invalid_client_metadata");
    if let Some(method) = otherwise.filter(|_| is_refused) {
        (status, answer) = requests.post(url, metadata(method), None).await?;
    }
    let text = |key: &str| {
        answer.get(key).and_then(Value::as_str).filter(|t| t.len() <= MAX_CREDENTIAL_BYTES)
    };
    let Some(id) = text("client_id").filter(|id| status.is_success() && !id.is_empty()) else {
        let explanation = [text("error"), text("error_description")];
        let explanation = explanation.into_iter().flatten().collect::<Vec<_>>().join(": ");
        return Err(ClientError::NotRegistered {
            address: shown(url),
            status: status.as_u16(),
            text: portcullis_sanitize::line(&explanation, 200),
        });
    };
    let secret = text("client_secret").map(|secret| HiddenText(secret.to_owned()));
    let named = text("token_endpoint_auth_method");
    let named = named.and_then(|name| Method::ALL.into_iter().find(|method| method.name() == name));
    let method = match (named, &secret) {
        (Some(named @ (Method::Basic | Method::Post)), Some(_)) => named,
        (Some(Method::None), _) | (_, None) => Method::None,
        (Some(_) | None, Some(_)) => {
            let possible = [Method::Basic, Method::Post, Method::None];
            Method::first(&possible, issuer).unwrap_or(Method::None)
        }
    };
    Ok(Client { id: id.to_owned(), method, secret })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An issuer whose metadata has this list of methods.
    fn issuer(methods: Option<&[&str]>) -> Issuer {
        Issuer {
            name: "https://id.example".into(),
            authorization: None,
            token: "https://id.example/token".parse().unwrap(),
            registration: None,
            methods: methods.map(|names| names.iter().map(|name| (*name).to_owned()).collect()),
            scopes: Vec::new(),
            supports_pkce: true,
            supports_metadata_documents: false,
            sends_iss: false,
        }
    }

    #[test]
    fn without_a_list_the_server_supports_the_secret_in_a_header() {
        let unlisted = issuer(None);
        assert_eq!(Method::first(&Method::ALL, &unlisted), Some(Method::Basic));
        for method in [Method::None, Method::Post, Method::Key] {
            assert_eq!(Method::first(&[method], &unlisted), None, "{method:?}");
        }
        let listed = issuer(Some(&["client_secret_post", "none"]));
        assert_eq!(Method::first(&Method::ALL, &listed), Some(Method::None));
        assert_eq!(Method::first(&Method::ALL, &issuer(Some(&[]))), None);
    }

    #[test]
    fn the_client_of_the_operator_works_at_a_server_without_a_list() {
        let secret = || -> portcullis_egress::Secret {
            let settings: crate::Settings =
                toml::from_str("client-secret = { env = 'A' }").unwrap();
            settings.client_secret.unwrap()
        };
        for (credential, expected) in [
            (Credential::Nothing, Method::None),
            (Credential::Secret(secret()), Method::Basic),
            (Credential::Key(secret()), Method::Key),
        ] {
            let client = Client::registered("me", &credential, &issuer(None)).unwrap();
            assert_eq!(client.method, expected);
        }
        let listed = issuer(Some(&["client_secret_basic"]));
        let key = Credential::Key(secret());
        let error = Client::registered("me", &key, &listed).unwrap_err().to_string();
        assert!(error.contains("private_key_jwt"), "{error}");
    }
}
