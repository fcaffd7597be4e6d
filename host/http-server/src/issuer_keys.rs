//! The keys of an issuer of access tokens: fetched, cached, and fetched again when a token names an unknown key.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jsonwebtoken::jwk::{
    AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, KeyOperations, PublicKeyUse,
};
use jsonwebtoken::{Algorithm, DecodingKey};
use parking_lot::RwLock;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::task::JoinError;
use tokio::time::Instant;
use tokio::time::error::Elapsed;
use url::Url;

use crate::issuer::{Fetch, FetchError, HttpsUrlError, Issuer, https_url};
use crate::settings_error::InvalidSettings;

/// Shortest time between two fetches of an issuer's keys, even if tokens name unknown keys.
const MIN_REFRESH_INTERVAL: Duration = Duration::from_secs(60);

/// Shortest time between two fetches while no keys of the issuer are known.
const MIN_RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// Age at which keys are fetched again, although they are known.
const MAX_FRESH_AGE: Duration = Duration::from_secs(60 * 60);

/// Age at which keys are no longer used, if they cannot be fetched again.
const MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// Time limit for fetching one document.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);

/// Largest document of an issuer, in bytes.
const MAX_DOCUMENT_BYTES: usize = 1024 * 1024;

/// Largest number of keys of one issuer. Further keys are ignored.
const MAX_KEYS: usize = 64;

/// One public key of an issuer.
#[derive(Clone)]
pub(crate) struct Key {
    id: Option<String>,
    algorithm: Algorithm,
    pub(crate) key: DecodingKey,
}

/// The keys of one issuer.
pub(crate) struct IssuerKeys {
    pub(crate) issuer: String,
    jwks_uri: Option<Url>,
    /// The two places where the issuer's metadata may be.
    metadata: [Url; 2],
    fetch: Fetch,
    cached: RwLock<Option<CachedKeys>>,
    /// The time of the last fetch. The lock is held during a fetch.
    fetched_at: Mutex<Option<Instant>>,
}

struct CachedKeys {
    keys: Vec<Key>,
    at: Instant,
}

/// An issuer's keys are not known now.
#[derive(Debug)]
pub(crate) struct KeysUnavailable {
    issuer: String,
    /// `None`: no fetch was tried, because the last fetch was too recent.
    cause: Option<RefreshError>,
}

impl fmt::Display for KeysUnavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the keys of {}: ", self.issuer)?;
        match &self.cause {
            Some(cause) => cause.fmt(f),
            None => f.write_str(
                "the last attempt to fetch them failed, and it is too early for another one",
            ),
        }
    }
}

impl std::error::Error for KeysUnavailable {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_ref().map(|cause| cause as _)
    }
}

/// Why an issuer's keys could not be fetched.
#[derive(Debug, thiserror::Error)]
enum RefreshError {
    #[error("{url}: {cause}")]
    Fetch { url: Url, cause: FetchError },
    #[error("{url}: no answer in time")]
    Timeout {
        url: Url,
        #[source]
        cause: Elapsed,
    },
    #[error("{0}: the answer has more than {MAX_DOCUMENT_BYTES} bytes")]
    TooLarge(Url),
    /// The document is not JSON, or is not metadata.
    #[error("{url}: {cause}")]
    Json {
        url: Url,
        #[source]
        cause: serde_json::Error,
    },
    /// The metadata names another issuer.
    #[error("{url} is the metadata of another issuer, {issuer}")]
    OtherIssuer { url: Url, issuer: String },
    /// No usable metadata was found at either of the two places. Contains the error of each place.
    #[error("{}", joined(.0))]
    NoMetadata(Vec<RefreshError>),
    /// The metadata names an address that is not https.
    #[error(transparent)]
    KeysUrl(#[from] HttpsUrlError),
    #[error("the document is not a JSON Web Key Set")]
    NoKeySet,
    /// The task that fetches the keys panicked.
    #[error(transparent)]
    Panicked(#[from] JoinError),
}

fn joined(errors: &[RefreshError]) -> String {
    errors.iter().map(RefreshError::to_string).collect::<Vec<_>>().join("; ")
}

impl IssuerKeys {
    /// The keys of an issuer. None are known yet, and nothing is fetched.
    ///
    /// # Errors
    ///
    /// The issuer, or the address of its keys, is not an https URL.
    pub(crate) fn new(issuer: Issuer, fetch: Fetch) -> Result<Arc<Self>, InvalidSettings> {
        let Issuer { issuer, jwks_uri } = issuer;
        let url = https_url(&issuer).map_err(InvalidSettings::Issuer)?;
        let jwks_uri = match jwks_uri.map(|uri| https_url(&uri)).transpose() {
            Ok(uri) => uri,
            Err(cause) => return Err(InvalidSettings::KeysUrl { issuer, cause }),
        };
        let path = url.path().trim_end_matches('/');
        let with_path = |path: String| {
            let mut url = url.clone();
            url.set_path(&path);
            url
        };
        let metadata = [
            with_path(format!("/.well-known/oauth-authorization-server{path}")),
            with_path(format!("{path}/.well-known/openid-configuration")),
        ];
        let (cached, fetched_at) = (RwLock::default(), Mutex::default());
        Ok(Arc::new(Self { issuer, jwks_uri, metadata, fetch, cached, fetched_at }))
    }

    /// The keys with which a token may be signed. The list is empty if the issuer has no such key.
    ///
    /// # Errors
    ///
    /// The issuer's keys are not known, and cannot be fetched now.
    pub(crate) async fn find(
        self: &Arc<Self>,
        id: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<Vec<Key>, KeysUnavailable> {
        if let Some(keys) =
            self.cached(id, algorithm, MAX_FRESH_AGE).filter(|keys| !keys.is_empty())
        {
            return Ok(keys);
        }
        // The fetch runs in a task of its own, so that it continues if this request is cancelled.
        let this = self.clone();
        let refreshed = tokio::spawn(async move { this.refresh().await }).await;
        let cause = refreshed.map_err(RefreshError::from).flatten().err();
        if let Some(cause) = &cause {
            let cause = portcullis_sanitize::error_chain(cause);
            tracing::warn!("the keys of {}: {cause}", self.issuer);
        }
        let found = self.cached(id, algorithm, MAX_AGE);
        found.ok_or_else(|| KeysUnavailable { issuer: self.issuer.clone(), cause })
    }

    fn cached(&self, id: Option<&str>, algorithm: Algorithm, age: Duration) -> Option<Vec<Key>> {
        let cached = self.cached.read();
        let cached = cached.as_ref().filter(|cached| cached.at.elapsed() < age)?;
        let fits = |key: &&Key| {
            key.algorithm == algorithm
                && (id.is_none() || key.id.is_none() || key.id.as_deref() == id)
        };
        Some(cached.keys.iter().filter(fits).cloned().collect())
    }

    /// Fetches the keys, unless the last fetch was too recent.
    async fn refresh(&self) -> Result<(), RefreshError> {
        let mut fetched_at = self.fetched_at.lock().await;
        let pause =
            if self.cached.read().is_some() { MIN_REFRESH_INTERVAL } else { MIN_RETRY_INTERVAL };
        if fetched_at.is_some_and(|at| at.elapsed() < pause) {
            return Ok(());
        }
        *fetched_at = Some(Instant::now());
        let keys = match &self.jwks_uri {
            Some(uri) => self.get(uri).await?,
            None => self.get(&self.discover().await?).await?,
        };
        *self.cached.write() = Some(CachedKeys { keys: read(&keys)?, at: Instant::now() });
        Ok(())
    }

    /// The address of the keys, from the issuer's metadata.
    async fn discover(&self) -> Result<Url, RefreshError> {
        #[derive(Deserialize)]
        struct Metadata {
            issuer: String,
            jwks_uri: String,
        }
        let mut errors = Vec::new();
        for url in &self.metadata {
            let metadata = self.get(url).await.and_then(|value| {
                Metadata::deserialize(&value)
                    .map_err(|cause| RefreshError::Json { url: url.clone(), cause })
            });
            match metadata {
                // Without this check, one issuer could use the keys of another (RFC 8414, 3.3).
                Ok(Metadata { issuer, .. }) if issuer != self.issuer => {
                    errors.push(RefreshError::OtherIssuer { url: url.clone(), issuer });
                }
                Ok(metadata) => return Ok(https_url(&metadata.jwks_uri)?),
                Err(error) => errors.push(error),
            }
        }
        Err(RefreshError::NoMetadata(errors))
    }

    async fn get(&self, url: &Url) -> Result<Value, RefreshError> {
        let fetched = tokio::time::timeout(FETCH_TIMEOUT, self.fetch.get(url.clone())).await;
        let body = fetched
            .map_err(|cause| RefreshError::Timeout { url: url.clone(), cause })?
            .map_err(|cause| RefreshError::Fetch { url: url.clone(), cause })?;
        if body.len() > MAX_DOCUMENT_BYTES {
            return Err(RefreshError::TooLarge(url.clone()));
        }
        serde_json::from_slice(&body)
            .map_err(|cause| RefreshError::Json { url: url.clone(), cause })
    }
}

/// The usable keys of a JSON Web Key Set (RFC 7517, 5). Other keys are left out.
fn read(set: &Value) -> Result<Vec<Key>, RefreshError> {
    let keys = set.get("keys").and_then(Value::as_array).ok_or(RefreshError::NoKeySet)?;
    Ok(keys.iter().filter_map(read_key).take(MAX_KEYS).collect())
}

/// Reads a public key for signatures of an accepted algorithm. `None`: the key is of another kind or for another
/// use.
fn read_key(key: &Value) -> Option<Key> {
    let jwk = Jwk::deserialize(key)
        .inspect_err(|error| tracing::debug!("a key of the issuer is not used: {error}"))
        .ok()?;
    let algorithm = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => Algorithm::RS256,
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => {
            Algorithm::ES256
        }
        AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => {
            Algorithm::EdDSA
        }
        // A symmetric key (`OctetKey`) is never used, because everybody who can verify with it can also sign with it.
        AlgorithmParameters::OctetKey(_)
        | AlgorithmParameters::EllipticCurve(_)
        | AlgorithmParameters::OctetKeyPair(_)
        | AlgorithmParameters::Other(_)
        | _ => return None,
    };
    let common = &jwk.common;
    let is_algorithm =
        common.key_algorithm.as_ref().is_none_or(|named| *named == KeyAlgorithm::from(algorithm));
    let is_for_signatures =
        common.public_key_use.as_ref().is_none_or(|usage| *usage == PublicKeyUse::Signature);
    let can_verify =
        common.key_operations.as_ref().is_none_or(|all| all.contains(&KeyOperations::Verify));
    if !(is_algorithm && is_for_signatures && can_verify) {
        return None;
    }
    let id = common.key_id.clone();
    DecodingKey::from_jwk(&jwk).ok().map(|key| Key { id, algorithm, key })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::json;

    use super::*;

    const ISSUER: &str = "https://id.example/tenant";

    fn ed25519(id: &str) -> Value {
        let x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
        json!({"kty": "OKP", "crv": "Ed25519", "x": x, "kid": id, "use": "sig", "alg": "EdDSA"})
    }

    /// An issuer that has another key for each fetch, and the number of the fetches.
    fn issuer(jwks_uri: Option<&str>) -> (Arc<IssuerKeys>, Arc<AtomicUsize>) {
        let fetches = Arc::new(AtomicUsize::new(0));
        let count = fetches.clone();
        let fetch = Fetch::new(move |url: Url| {
            let count = count.clone();
            async move {
                let keys = "https://keys.example/set";
                let answer = match url.as_str() {
                    "https://id.example/tenant/.well-known/openid-configuration" => {
                        json!({"issuer": ISSUER, "jwks_uri": keys})
                    }
                    // The metadata of another tenant.
                    "https://id.example/.well-known/oauth-authorization-server/tenant" => {
                        json!({"issuer": "https://id.example", "jwks_uri": "https://evil.example"})
                    }
                    url if url == keys => {
                        let number = count.fetch_add(1, Ordering::Relaxed);
                        json!({"keys": [{"kty": "?"}, ed25519(&number.to_string())]})
                    }
                    url => return Err(format!("{url} is not there").into()),
                };
                Ok(answer.to_string().into())
            }
        });
        let jwks_uri = jwks_uri.map(str::to_owned);
        (IssuerKeys::new(Issuer { issuer: ISSUER.into(), jwks_uri }, fetch).unwrap(), fetches)
    }

    /// The number of keys with this id.
    async fn count(keys: &Arc<IssuerKeys>, id: &str) -> usize {
        keys.find(Some(id), Algorithm::EdDSA).await.unwrap().len()
    }

    #[tokio::test(start_paused = true)]
    async fn keys_are_fetched_once_a_minute_however_many_keys_tokens_name() {
        let (keys, fetches) = issuer(None);
        for id in ["0", "1", "made up", "0"] {
            assert_eq!(count(&keys, id).await, usize::from(id == "0"), "{id}");
        }
        assert_eq!(fetches.load(Ordering::Relaxed), 1);
        tokio::time::advance(MIN_REFRESH_INTERVAL).await;
        assert_eq!(count(&keys, "1").await, 1);
        assert_eq!(count(&keys, "0").await, 0, "the issuer withdrew it");
        assert_eq!(fetches.load(Ordering::Relaxed), 2);
        // Old keys are fetched again, although the key is known.
        tokio::time::advance(MAX_FRESH_AGE).await;
        assert_eq!(count(&keys, "1").await, 0);
        assert_eq!(fetches.load(Ordering::Relaxed), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn keys_of_an_issuer_that_cannot_be_reached_are_used_until_they_are_stale() {
        let (keys, _) = issuer(Some("https://keys.example/gone"));
        let error = keys.find(None, Algorithm::EdDSA).await.err().unwrap().to_string();
        assert!(error.contains(ISSUER) && error.contains("not there"), "{error}");
        *keys.cached.write() = Some(CachedKeys { keys: Vec::new(), at: Instant::now() });
        tokio::time::advance(MAX_AGE - Duration::from_secs(1)).await;
        assert!(keys.find(None, Algorithm::EdDSA).await.is_ok());
        tokio::time::advance(Duration::from_secs(2)).await;
        assert!(keys.find(None, Algorithm::EdDSA).await.is_err());
    }

    #[test]
    fn only_public_keys_for_signatures_are_used() {
        let with = |name: &str, value: Value| {
            let mut key = ed25519("a");
            key[name] = value;
            key
        };
        assert!(read_key(&ed25519("a")).is_some());
        for key in [
            with("use", json!("enc")),
            with("alg", json!("ES256")),
            with("crv", json!("X25519")),
            with("x", json!("not base64!")),
            with("key_ops", json!(["encrypt"])),
            json!({"kty": "oct", "k": "c2VjcmV0", "alg": "HS256"}),
            json!({"kty": "EC", "crv": "P-384", "x": "AA", "y": "AA"}),
            json!(null),
        ] {
            assert!(read_key(&key).is_none(), "{key}");
        }
        assert!(read(&json!({"keys": {}})).is_err());
    }
}
