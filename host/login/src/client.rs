//! As whom this program asks for tokens, and by what it shows that.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::form_urlencoded::byte_serialize;

use crate::assertion;
use crate::discovery::Issuer;
use crate::reach::{Posted, Reach, shown};
use crate::settings::{Identity, Plan, Proof};

/// How this program is called where it registers itself.
const NAME: &str = "Portcullis";

/// Longest id and secret of a client that an issuer may give, in bytes.
const LONGEST: usize = 4096;

/// This program, as an issuer knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Client {
    pub(crate) id: String,
    pub(crate) method: Method,
    /// What it was given when it registered itself. What the operator gave is read when it is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) secret: Option<Hidden>,
}

/// A text that is shown to nobody.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Hidden(pub(crate) String);

impl std::fmt::Debug for Hidden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("…")
    }
}

/// How it is shown who asks for a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Method {
    /// It is not.
    None,
    /// The secret, in a header.
    Basic,
    /// The secret, in the form.
    Post,
    /// A statement that is signed with the private key.
    Key,
}

impl Method {
    const ALL: [Self; 4] = [Self::None, Self::Basic, Self::Post, Self::Key];

    /// The name that OAuth has for it.
    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Basic => "client_secret_basic",
            Self::Post => "client_secret_post",
            Self::Key => "private_key_jwt",
        }
    }

    /// Of these, in this order, the first that an issuer takes.
    fn first(of: &[Self], issuer: &Issuer) -> Option<Self> {
        let takes = |method: &&Self| match &issuer.methods {
            Some(methods) => methods.iter().any(|taken| taken == method.name()),
            None => true,
        };
        of.iter().find(takes).copied()
    }
}

impl Client {
    /// The client that is known to this issuer, or makes itself known. `redirect` is where a browser
    /// comes back to.
    ///
    /// # Errors
    ///
    /// In words for the operator.
    pub(crate) async fn find(
        reach: &Reach,
        plan: &Plan,
        issuer: &Issuer,
        redirect: &str,
        scopes: &[String],
    ) -> Result<Self, String> {
        match &plan.identity {
            Identity::Registered { id, proof } => Self::registered(id, proof, issuer),
            Identity::Described(url) if issuer.takes_descriptions => {
                Ok(Self { id: url.clone(), method: Method::None, secret: None })
            }
            Identity::Described(_) | Identity::Unknown => {
                register(reach, issuer, redirect, scopes).await
            }
        }
    }

    /// The client that the operator registered.
    ///
    /// # Errors
    ///
    /// Where the issuer wants to see something that it has not.
    pub(crate) fn registered(id: &str, proof: &Proof, issuer: &Issuer) -> Result<Self, String> {
        let possible: &[Method] = match proof {
            Proof::Nothing => &[Method::None],
            Proof::Secret(_) => &[Method::Basic, Method::Post],
            Proof::Key(_) => &[Method::Key],
        };
        let method = match (Method::first(possible, issuer), proof) {
            (Some(method), _) => method,
            // Issuers forget to name it.
            (None, Proof::Nothing) => Method::None,
            (None, Proof::Secret(_) | Proof::Key(_)) => {
                return Err(format!(
                    "{} takes none of {}; it takes: {}",
                    issuer.name,
                    possible.iter().map(|method| method.name()).collect::<Vec<_>>().join(", "),
                    portcullis_sanitize::line(
                        &issuer.methods.iter().flatten().cloned().collect::<Vec<_>>().join(", "),
                        200
                    )
                ));
            }
        };
        Ok(Self { id: id.to_owned(), method, secret: None })
    }

    /// Adds to a form who asks; or says it in a header, which is answered.
    ///
    /// # Errors
    ///
    /// Where the operator's secret or key cannot be read.
    pub(crate) fn sign(
        &self,
        plan: &Plan,
        issuer: &str,
        form: &mut Vec<(&'static str, String)>,
    ) -> Result<Option<HeaderValue>, String> {
        let proof = match &plan.identity {
            Identity::Registered { id, proof } if *id == self.id => proof,
            Identity::Registered { .. } | Identity::Described(_) | Identity::Unknown => {
                &Proof::Nothing
            }
        };
        let secret = || match (&self.secret, proof) {
            (Some(secret), _) => Ok(secret.0.clone()),
            (None, Proof::Secret(secret)) => {
                secret.read().map_err(|error| format!("`client-secret`: {error}"))
            }
            (None, Proof::Nothing | Proof::Key(_)) => Err("there is no secret".to_owned()),
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
                    .expect("base64 is a header's value");
                value.set_sensitive(true);
                return Ok(Some(value));
            }
            Method::Key => {
                let Proof::Key(key) = proof else { return Err("there is no private key".into()) };
                let key = key.read().map_err(|error| format!("`client-key`: {error}"))?;
                let assertion = assertion::sign(&key, &self.id, issuer)
                    .map_err(|error| format!("`client-key`: {error}"))?;
                form.push(("client_id", self.id.clone()));
                form.push(("client_assertion_type", assertion::TYPE.to_owned()));
                form.push(("client_assertion", assertion));
            }
        }
        Ok(None)
    }
}

/// Registers this program (RFC 7591), each time that somebody logs in: an issuer may forget clients, and
/// knows this one by the port that the browser comes back to.
async fn register(
    reach: &Reach,
    issuer: &Issuer,
    redirect: &str,
    scopes: &[String],
) -> Result<Client, String> {
    let Some(url) = &issuer.registration else {
        return Err(format!(
            "{} does not let programs register themselves: register this one there by hand, with \
             http://127.0.0.1:PORT/callback as the address that it comes back to, and give its name as \
             `client-id` and the port as `redirect-port`",
            issuer.name
        ));
    };
    let method =
        Method::first(&[Method::None, Method::Basic, Method::Post], issuer).unwrap_or(Method::None);
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
    let (status, answer) = reach.post(url, Posted::Json(metadata), None).await?;
    let text = |key: &str| answer.get(key).and_then(Value::as_str).filter(|t| t.len() <= LONGEST);
    let Some(id) = text("client_id").filter(|id| status.is_success() && !id.is_empty()) else {
        let said = [text("error"), text("error_description")];
        let said = said.into_iter().flatten().collect::<Vec<_>>().join(": ");
        return Err(format!(
            "{} does not register this program (status {}): {}",
            shown(url),
            status.as_u16(),
            portcullis_sanitize::line(&said, 200)
        ));
    };
    let secret = text("client_secret").map(|secret| Hidden(secret.to_owned()));
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
