//! The keys of an issuer of access tokens: fetched, cached, and fetched again when a token names an unknown key.

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
use tokio::time::Instant;
use url::Url;

use crate::issuer::{Fetch, Issuer, https};

/// How often an issuer is asked, whatever tokens name.
const REFRESH: Duration = Duration::from_secs(60);

/// The same, while nothing is known of it.
const RETRY: Duration = Duration::from_secs(5);

/// After how long keys are asked for again, though they are found.
const FRESH: Duration = Duration::from_secs(60 * 60);

/// After how long keys count no longer, if their issuer cannot be reached.
const STALE: Duration = Duration::from_secs(24 * 60 * 60);

/// How long an issuer may take for one answer.
const FETCH: Duration = Duration::from_secs(10);

/// Size of an issuer's answer, in bytes.
const MAX_ANSWER: usize = 1024 * 1024;

/// The keys of one issuer.
const MAX_KEYS: usize = 64;

/// What an issuer signs with.
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
    /// Where the issuer says where its keys are.
    metadata: [Url; 2],
    fetch: Fetch,
    known: RwLock<Option<Known>>,
    /// When it was asked last. Held while it is asked.
    asked: Mutex<Option<Instant>>,
}

struct Known {
    keys: Vec<Key>,
    at: Instant,
}

impl IssuerKeys {
    /// Nothing is known yet, and nothing is fetched.
    ///
    /// # Errors
    ///
    /// In words for the operator: what is no https address.
    pub(crate) fn new(issuer: Issuer, fetch: Fetch) -> Result<Arc<Self>, String> {
        let Issuer { issuer, jwks_uri } = issuer;
        let url = https(&issuer).map_err(|error| format!("the OAuth issuer {error}"))?;
        let jwks_uri = jwks_uri.map(|uri| https(&uri)).transpose();
        let jwks_uri = jwks_uri.map_err(|error| format!("the keys of {issuer}: {error}"))?;
        let path = url.path().trim_end_matches('/');
        let at = |path: String| {
            let mut url = url.clone();
            url.set_path(&path);
            url
        };
        let metadata = [
            at(format!("/.well-known/oauth-authorization-server{path}")),
            at(format!("{path}/.well-known/openid-configuration")),
        ];
        let (known, asked) = (RwLock::default(), Mutex::default());
        Ok(Arc::new(Self { issuer, jwks_uri, metadata, fetch, known, asked }))
    }

    /// The keys that a token may be signed with. None: none of the issuer's.
    ///
    /// # Errors
    ///
    /// Where nothing is known of the issuer's keys.
    pub(crate) async fn find(
        self: &Arc<Self>,
        id: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<Vec<Key>, String> {
        if let Some(keys) = self.known(id, algorithm, FRESH).filter(|keys| !keys.is_empty()) {
            return Ok(keys);
        }
        // On its own: whoever asked may go away before the answer comes.
        let this = self.clone();
        let refreshed = tokio::spawn(async move { this.refresh().await }).await;
        let why = match refreshed {
            Ok(Ok(())) => None,
            Ok(Err(why)) => Some(why),
            Err(panicked) => Some(panicked.to_string()),
        };
        if let Some(why) = &why {
            tracing::warn!("the keys of {}: {why}", self.issuer);
        }
        self.known(id, algorithm, STALE).ok_or_else(|| {
            let why = why.unwrap_or_else(|| "they could not be had a moment ago".into());
            format!("the keys of {}: {why}", self.issuer)
        })
    }

    fn known(&self, id: Option<&str>, algorithm: Algorithm, age: Duration) -> Option<Vec<Key>> {
        let known = self.known.read();
        let known = known.as_ref().filter(|known| known.at.elapsed() < age)?;
        let fits = |key: &&Key| {
            key.algorithm == algorithm
                && (id.is_none() || key.id.is_none() || key.id.as_deref() == id)
        };
        Some(known.keys.iter().filter(fits).cloned().collect())
    }

    /// Asks the issuer, unless it was asked just now.
    async fn refresh(&self) -> Result<(), String> {
        let mut asked = self.asked.lock().await;
        let pause = if self.known.read().is_some() { REFRESH } else { RETRY };
        if asked.is_some_and(|at| at.elapsed() < pause) {
            return Ok(());
        }
        *asked = Some(Instant::now());
        let keys = match &self.jwks_uri {
            Some(uri) => self.get(uri).await?,
            None => self.get(&self.discover().await?).await?,
        };
        *self.known.write() = Some(Known { keys: read(&keys)?, at: Instant::now() });
        Ok(())
    }

    /// Where the issuer says that its keys are.
    async fn discover(&self) -> Result<Url, String> {
        #[derive(Deserialize)]
        struct Metadata {
            issuer: String,
            jwks_uri: String,
        }
        let mut faults = Vec::new();
        for url in &self.metadata {
            let metadata = self.get(url).await.and_then(|value| {
                Metadata::deserialize(&value).map_err(|error| format!("{url}: {error}"))
            });
            match metadata {
                // Or one issuer could lend its keys to another (RFC 8414, 3.3).
                Ok(metadata) if metadata.issuer == self.issuer => return https(&metadata.jwks_uri),
                Ok(metadata) => faults.push(format!("{url} is of {}", metadata.issuer)),
                Err(error) => faults.push(error),
            }
        }
        Err(faults.join("; "))
    }

    async fn get(&self, url: &Url) -> Result<Value, String> {
        let fetched = tokio::time::timeout(FETCH, self.fetch.get(url.clone())).await;
        let body = fetched
            .map_err(|_| format!("{url}: it took too long"))?
            .map_err(|error| format!("{url}: {error}"))?;
        if body.len() > MAX_ANSWER {
            return Err(format!("{url}: the answer has more than {MAX_ANSWER} bytes"));
        }
        serde_json::from_slice(&body).map_err(|error| format!("{url}: {error}"))
    }
}

/// The keys of a set (RFC 7517, 5) that verify what is accepted here; others are left out.
fn read(set: &Value) -> Result<Vec<Key>, String> {
    let keys = set.get("keys").and_then(Value::as_array).ok_or("this is no set of keys")?;
    Ok(keys.iter().filter_map(read_key).take(MAX_KEYS).collect())
}

fn read_key(key: &Value) -> Option<Key> {
    let jwk = Jwk::deserialize(key).ok()?;
    let algorithm = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => Algorithm::RS256,
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => {
            Algorithm::ES256
        }
        AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => {
            Algorithm::EdDSA
        }
        // Never a secret: whoever can verify with one can sign with it.
        AlgorithmParameters::OctetKey(_)
        | AlgorithmParameters::EllipticCurve(_)
        | AlgorithmParameters::OctetKeyPair(_)
        | AlgorithmParameters::Other(_)
        | _ => return None,
    };
    let common = &jwk.common;
    let said =
        common.key_algorithm.as_ref().is_none_or(|said| *said == KeyAlgorithm::from(algorithm));
    let signs = common.public_key_use.as_ref().is_none_or(|of| *of == PublicKeyUse::Signature);
    let verifies =
        common.key_operations.as_ref().is_none_or(|all| all.contains(&KeyOperations::Verify));
    if !(said && signs && verifies) {
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

    /// An issuer that has another key each time that it is asked, and how often it was.
    fn issuer(jwks_uri: Option<&str>) -> (Arc<IssuerKeys>, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let fetch = Fetch::new(move |url: Url| {
            let count = count.clone();
            async move {
                let keys = "https://keys.example/set";
                let answer = match url.as_str() {
                    "https://id.example/tenant/.well-known/openid-configuration" => {
                        json!({"issuer": ISSUER, "jwks_uri": keys})
                    }
                    // Another tenant's.
                    "https://id.example/.well-known/oauth-authorization-server/tenant" => {
                        json!({"issuer": "https://id.example", "jwks_uri": "https://evil.example"})
                    }
                    url if url == keys => {
                        let number = count.fetch_add(1, Ordering::Relaxed);
                        json!({"keys": [{"kty": "?"}, ed25519(&number.to_string())]})
                    }
                    url => return Err(format!("{url} is not there")),
                };
                Ok(answer.to_string().into())
            }
        });
        let jwks_uri = jwks_uri.map(str::to_owned);
        (IssuerKeys::new(Issuer { issuer: ISSUER.into(), jwks_uri }, fetch).unwrap(), asked)
    }

    async fn count(keys: &Arc<IssuerKeys>, id: &str) -> usize {
        keys.find(Some(id), Algorithm::EdDSA).await.unwrap().len()
    }

    #[tokio::test(start_paused = true)]
    async fn an_issuer_is_asked_once_a_minute_however_many_keys_are_named() {
        let (keys, asked) = issuer(None);
        for id in ["0", "1", "made up", "0"] {
            assert_eq!(count(&keys, id).await, usize::from(id == "0"), "{id}");
        }
        assert_eq!(asked.load(Ordering::Relaxed), 1);
        tokio::time::advance(REFRESH).await;
        assert_eq!(count(&keys, "1").await, 1);
        assert_eq!(count(&keys, "0").await, 0, "it has been withdrawn");
        assert_eq!(asked.load(Ordering::Relaxed), 2);
        // And once in a while though nothing is new.
        tokio::time::advance(FRESH).await;
        assert_eq!(count(&keys, "1").await, 0);
        assert_eq!(asked.load(Ordering::Relaxed), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn an_issuer_that_is_away_is_no_reason_to_believe_or_to_forget() {
        let (keys, _) = issuer(Some("https://keys.example/gone"));
        let error = keys.find(None, Algorithm::EdDSA).await.err().unwrap();
        assert!(error.contains(ISSUER) && error.contains("not there"), "{error}");
        *keys.known.write() = Some(Known { keys: Vec::new(), at: Instant::now() });
        tokio::time::advance(STALE - Duration::from_secs(1)).await;
        assert!(keys.find(None, Algorithm::EdDSA).await.is_ok());
        tokio::time::advance(Duration::from_secs(2)).await;
        assert!(keys.find(None, Algorithm::EdDSA).await.is_err());
    }

    #[test]
    fn only_public_keys_for_signatures_are_keys() {
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
