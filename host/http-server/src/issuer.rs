//! Issuers of access tokens, and the function that fetches their documents.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use url::Url;

/// An authorization server.
#[derive(Debug, Clone)]
pub struct Issuer {
    /// Its name, an https address, exactly as its tokens have it as `iss`.
    pub issuer: String,
    /// Where its keys are, as an https address; `None`: its metadata says so (RFC 8414, or OpenID
    /// Connect Discovery).
    pub jwks_uri: Option<String>,
}

/// What fetches an issuer's metadata and keys: an https address in, the body of a 200 answer out.
///
/// It is for the caller to bound the answer's size, to verify the server's certificate and to follow
/// no redirect. It is asked at most once a minute for one issuer, or every five seconds while
/// nothing is known, and is given up after ten seconds.
#[derive(Clone)]
pub struct Fetch(Arc<FetchFn>);

type FetchFn =
    dyn Fn(Url) -> Pin<Box<dyn Future<Output = Result<Bytes, String>> + Send>> + Send + Sync;

impl Fetch {
    /// Fetches with `fetch`, whose errors are in words for the operator.
    pub fn new<F, R>(fetch: F) -> Self
    where
        F: Fn(Url) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Bytes, String>> + Send + 'static,
    {
        Self(Arc::new(move |url| Box::pin(fetch(url))))
    }

    pub(crate) async fn get(&self, url: Url) -> Result<Bytes, String> {
        (self.0)(url).await
    }
}

impl fmt::Debug for Fetch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fetch(..)")
    }
}

/// An address that keys may be fetched from.
pub(crate) fn https(text: &str) -> Result<Url, String> {
    let url: Url = text.parse().map_err(|error| format!("`{text}` is no address: {error}"))?;
    if url.scheme() == "https" && url.username().is_empty() && url.password().is_none() {
        Ok(url)
    } else {
        Err(format!("`{text}` is not an https address"))
    }
}
