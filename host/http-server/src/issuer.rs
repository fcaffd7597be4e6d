//! Issuers of access tokens, and the function that fetches their metadata and keys.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use url::Url;

/// An authorization server that issues access tokens.
#[derive(Debug, Clone)]
pub struct Issuer {
    /// The issuer identifier: an https URL, written exactly as in the tokens' `iss`.
    pub issuer: String,
    /// The https URL of the issuer's keys. `None`: the issuer's metadata contains it (RFC 8414, or OpenID Connect
    /// Discovery).
    pub jwks_uri: Option<String>,
}

/// Fetches an issuer's metadata and keys: takes an https URL and returns the body of a response with status 200.
///
/// The function has to limit the size of the response, to verify the server's certificate, and to follow no redirect.
/// The keys of one issuer are fetched at most once a minute, or once in five seconds while they are not known. Each
/// time, the function is called up to three times: for the metadata at two places, and for the keys. Each call is
/// cancelled after ten seconds.
#[derive(Clone)]
pub struct Fetch(Arc<FetchFn>);

/// Why a document could not be fetched. The text is for the operator.
pub type FetchError = Box<dyn Error + Send + Sync>;

type FetchFn =
    dyn Fn(Url) -> Pin<Box<dyn Future<Output = Result<Bytes, FetchError>> + Send>> + Send + Sync;

impl Fetch {
    /// Fetches with `fetch`.
    pub fn new<F, R>(fetch: F) -> Self
    where
        F: Fn(Url) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Bytes, FetchError>> + Send + 'static,
    {
        Self(Arc::new(move |url| Box::pin(fetch(url))))
    }

    pub(crate) async fn get(&self, url: Url) -> Result<Bytes, FetchError> {
        (self.0)(url).await
    }
}

impl fmt::Debug for Fetch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fetch(..)")
    }
}

/// Why a text is not an https URL from which keys can be fetched.
#[derive(Debug, thiserror::Error)]
pub enum HttpsUrlError {
    /// The text is not a URL.
    #[error("`{text}` is not a URL: {cause}")]
    Url {
        /// The text.
        text: String,
        /// Why the text is not a URL.
        #[source]
        cause: url::ParseError,
    },
    /// The scheme is not `https`, or the URL contains a user name or a password.
    #[error("`{0}` is not an https address without a user and a password")]
    NotHttps(String),
}

/// Parses an https URL from which keys can be fetched.
pub(crate) fn https_url(text: &str) -> Result<Url, HttpsUrlError> {
    let url: Url =
        text.parse().map_err(|cause| HttpsUrlError::Url { text: text.to_owned(), cause })?;
    if url.scheme() == "https" && url.username().is_empty() && url.password().is_none() {
        Ok(url)
    } else {
        Err(HttpsUrlError::NotHttps(text.to_owned()))
    }
}
