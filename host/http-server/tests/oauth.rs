//! Tests which access tokens are accepted.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use portcullis_http_server::{Fetch, Issuer, Oauth};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256,
    RsaKeyPair,
};
use serde_json::{Value, json};

use crate::client::{Reply, TestServer, access, call};

const ISSUER: &str = "https://id.example";
const RESOURCE: &str = "https://mcp.example/mcp";

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The private key of an issuer.
enum Signer {
    Ed(Ed25519KeyPair),
    Ec(EcdsaKeyPair),
    Rsa(RsaKeyPair),
}

impl Signer {
    fn all() -> [(&'static str, Self); 3] {
        let random = SystemRandom::new();
        let ed = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        let ec = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        // This key was made for these tests, because ring cannot make RSA keys.
        let rsa = include_bytes!("support/rsa.pk8");
        [
            ("EdDSA", Self::Ed(Ed25519KeyPair::from_pkcs8(ed.as_ref()).unwrap())),
            ("ES256", {
                let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
                Self::Ec(EcdsaKeyPair::from_pkcs8(algorithm, ec.as_ref(), &random).unwrap())
            }),
            ("RS256", Self::Rsa(RsaKeyPair::from_pkcs8(rsa).unwrap())),
        ]
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Ed(key) => key.sign(message).as_ref().to_vec(),
            Self::Ec(key) => key.sign(&random, message).unwrap().as_ref().to_vec(),
            Self::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).unwrap();
                signature
            }
        }
    }

    fn public(&self, id: &str) -> Value {
        match self {
            Self::Ed(key) => {
                let x = encode(key.public_key());
                json!({"kty": "OKP", "crv": "Ed25519", "x": x, "kid": id, "alg": "EdDSA"})
            }
            Self::Ec(key) => {
                let point = key.public_key().as_ref();
                let (x, y) = (encode(&point[1..33]), encode(&point[33..]));
                json!({"kty": "EC", "crv": "P-256", "x": x, "y": y, "kid": id, "use": "sig"})
            }
            Self::Rsa(key) => {
                let of = ring::rsa::PublicKeyComponents::<Vec<u8>>::from(key.public());
                json!({"kty": "RSA", "n": encode(of.n), "e": encode(of.e), "kid": id})
            }
        }
    }
}

/// A server and an issuer whose tokens it accepts.
struct Setup {
    signers: [(&'static str, Signer); 3],
    server: TestServer,
    fetched: Arc<AtomicUsize>,
}

impl Setup {
    async fn new() -> Self {
        let signers = Signer::all();
        let mut keys: Vec<_> = signers.iter().map(|(name, key)| key.public(name)).collect();
        keys.push(json!({"kty": "oct", "k": encode("secret"), "kid": "secret", "alg": "HS256"}));
        let keys = json!({"keys": keys}).to_string();
        let fetched = Arc::new(AtomicUsize::new(0));
        let count = fetched.clone();
        let fetch = Fetch::new(move |url| {
            count.fetch_add(1, Ordering::Relaxed);
            let answer = match url.as_str() {
                "https://id.example/keys" => Ok(keys.clone().into()),
                url => Err(format!("{url} cannot be reached").into()),
            };
            async move { answer }
        });
        let issuer = |issuer: &str, keys: &str| Issuer {
            issuer: issuer.into(),
            jwks_uri: Some(format!("{issuer}{keys}")),
        };
        let oauth = Oauth {
            resource: RESOURCE.into(),
            issuers: vec![issuer(ISSUER, "/keys"), issuer("https://away.example", "/keys")],
            scopes: vec!["mcp:use".into()],
            fetch,
        };
        let server = TestServer::start(|settings| {
            settings.access = access(|rules| {
                rules.oauth = Some(oauth);
                rules.token = Some("a fixed token".into());
            });
        })
        .await;
        Self { signers, server, fetched }
    }

    fn sign(&self, algorithm: &str, header: &Value, claims: &Value) -> String {
        let (_, signer) = self.signers.iter().find(|(name, _)| *name == algorithm).unwrap();
        let message = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
        let signature = signer.sign(message.as_bytes());
        format!("{message}.{}", encode(signature))
    }

    async fn whoami(&self, token: &str) -> Reply {
        let bearer = format!("Bearer {token}");
        self.server.modern(&[("authorization", &bearer)], "whoami", json!({})).await
    }

    async fn refused(&self, token: &str, status: u16, challenge: &str) {
        let reply = self.whoami(token).await;
        assert_eq!(reply.status, status, "{challenge}: {reply:?}");
        let given = reply.header("www-authenticate").expect("a challenge");
        assert!(given.contains(challenge), "{challenge} is not in {given}");
        let metadata = "https://mcp.example/.well-known/oauth-protected-resource/mcp";
        assert!(given.contains(&format!("resource_metadata=\"{metadata}\"")), "{given}");
    }
}

fn now() -> u64 {
    std::time::UNIX_EPOCH.elapsed().unwrap().as_secs()
}

fn header(algorithm: &str) -> Value {
    json!({"alg": algorithm, "typ": "at+jwt", "kid": algorithm})
}

fn claims() -> Value {
    json!({
        "iss": ISSUER, "sub": "alice", "aud": RESOURCE, "exp": now() + 600, "iat": now(),
        "scope": "openid mcp:use",
    })
}

#[tokio::test]
async fn clients_learn_where_to_get_a_token() {
    let setup = Setup::new().await;
    for suffix in ["", "/mcp"] {
        let line = format!("GET /.well-known/oauth-protected-resource{suffix}");
        let reply = setup.server.send(&line, &[], "").await;
        assert_eq!(reply.status, 200, "{reply:?}");
        assert_eq!(
            reply.message(),
            json!({
                "resource": RESOURCE,
                "authorization_servers": [ISSUER, "https://away.example"],
                "scopes_supported": ["mcp:use"],
                "bearer_methods_supported": ["header"],
            })
        );
        let evil = [("host", "evil.example")];
        assert_eq!(setup.server.send(&line, &evil, "").await.status, 403);
    }
    let reply = setup.server.modern(&[], "whoami", json!({})).await;
    assert_eq!(reply.status, 401);
    let challenge = reply.header("www-authenticate").unwrap();
    assert!(challenge.starts_with("Bearer scope=\"mcp:use\", resource_metadata="), "{challenge}");
    assert!(!challenge.contains("error"), "{challenge}");
}

#[tokio::test]
async fn tokens_of_an_issuer_are_accepted() {
    let setup = Setup::new().await;
    let change = |name: &str, value: Value| {
        let mut claims = claims();
        claims[name] = value;
        claims
    };
    for algorithm in ["EdDSA", "ES256", "RS256"] {
        for claims in [
            claims(),
            change("aud", json!(["https://other.example", RESOURCE])),
            change("aud", json!("https://mcp.example/mcp/")),
            change("scp", json!(["mcp:use"])),
            change("nbf", json!(now() + 30)),
            change("exp", json!(now() - 30)),
        ] {
            let token = setup.sign(algorithm, &header(algorithm), &claims);
            let reply = setup.whoami(&token).await;
            assert_eq!(reply.text(), "https://id.example alice false", "{algorithm} {claims}");
        }
        let without_id = json!({"alg": algorithm});
        let token = setup.sign(algorithm, &without_id, &claims());
        assert_eq!(setup.whoami(&token).await.status, 200);
    }
    assert_eq!(setup.fetched.load(Ordering::Relaxed), 1);
    assert_eq!(setup.whoami("a fixed token").await.text(), "token false");
}

#[tokio::test]
async fn tokens_with_wrong_claims_are_refused() {
    let setup = Setup::new().await;
    for (name, value, status, challenge) in [
        ("exp", json!(now() - 90), 401, "expired"),
        ("exp", json!(null), 401, "lacks"),
        ("exp", json!("tomorrow"), 401, "invalid_token"),
        ("nbf", json!(now() + 90), 401, "not valid yet"),
        ("nbf", json!("never"), 401, "invalid_token"),
        ("aud", json!("https://mcp.example"), 401, "another server"),
        ("aud", json!([]), 401, "another server"),
        ("aud", json!(null), 401, "lacks"),
        ("iss", json!("https://evil.example"), 401, "the issuer of the token is not known"),
        ("iss", json!("https://id.example/"), 401, "the issuer of the token is not known"),
        ("iss", json!([ISSUER]), 401, "has no issuer"),
        ("iss", json!(null), 401, "has no issuer"),
        ("sub", json!(null), 401, "invalid_token"),
        ("sub", json!(""), 401, "has no subject"),
        ("scope", json!("mcp:user mcp"), 403, "error=\"insufficient_scope\", scope=\"mcp:use\""),
        ("scope", json!(null), 403, "insufficient_scope"),
    ] {
        let mut claims = claims();
        claims[name] = value;
        let token = setup.sign("EdDSA", &header("EdDSA"), &claims);
        setup.refused(&token, status, challenge).await;
    }
    assert_eq!(setup.fetched.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn tokens_with_wrong_signatures_are_refused() {
    let setup = Setup::new().await;
    let good = setup.sign("ES256", &header("ES256"), &claims());
    let (message, signature) = good.rsplit_once('.').unwrap();
    let mut other = claims();
    other["sub"] = json!("mallory");
    let (head, _) = message.split_once('.').unwrap();
    let part = |value: &Value| encode(value.to_string());
    let hmac = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, b"secret");
    let hmac_header = json!({"alg": "HS256", "kid": "secret"});
    let hmac_message = format!("{}.{}", part(&hmac_header), part(&claims()));
    let hmac_signature = encode(ring::hmac::sign(&hmac, hmac_message.as_bytes()));
    let none = json!({"alg": "none"});
    let mut embedded = header("EdDSA");
    embedded["kid"] = json!("embedded");
    embedded["jwk"] = setup.signers[0].1.public("embedded");
    for (token, challenge) in [
        (format!("{head}.{}.{signature}", part(&other)), "signature of the token is wrong"),
        (format!("{message}."), "signature of the token is wrong"),
        (format!("{message}.{}", encode([0; 64])), "signature of the token is wrong"),
        (message.to_owned(), "not an acceptable JWT"),
        (format!("{}.{}.", part(&none), part(&claims())), "not an acceptable JWT"),
        (format!("{}.{}.{signature}", part(&none), part(&claims())), "not an acceptable JWT"),
        (format!("{hmac_message}.{hmac_signature}"), "not signed with"),
        (setup.sign("EdDSA", &header("RS256"), &claims()), "wrong"),
        (setup.sign("EdDSA", &json!({"alg": "EdDSA", "kid": "ES256"}), &claims()), "not known"),
        (setup.sign("EdDSA", &json!({"alg": "EdDSA", "crit": ["b64"]}), &claims()), "critical"),
        (setup.sign("EdDSA", &json!({"alg": "EdDSA", "typ": "logout+jwt"}), &claims()), "access"),
        (setup.sign("EdDSA", &embedded, &claims()), "key that is not known"),
        ("x".repeat(20_000), "too long"),
        ("..".to_owned(), "not an acceptable JWT"),
    ] {
        setup.refused(&token, 401, challenge).await;
    }
}

#[tokio::test]
async fn without_the_issuers_keys_the_server_is_unavailable() {
    let setup = Setup::new().await;
    let mut claims = claims();
    claims["iss"] = json!("https://away.example");
    let reply = setup.whoami(&setup.sign("EdDSA", &header("EdDSA"), &claims)).await;
    assert_eq!((reply.status, reply.header("retry-after")), (503, Some("5")), "{reply:?}");
    assert!(!reply.body.contains("away.example"), "{reply:?}");
}

#[tokio::test]
async fn a_session_belongs_to_the_caller_that_opened_it() {
    let setup = Setup::new().await;
    let bearer = |subject: &str| {
        let mut claims = claims();
        claims["sub"] = json!(subject);
        format!("Bearer {}", setup.sign("EdDSA", &header("EdDSA"), &claims))
    };
    let (alice, bob) = (bearer("alice"), bearer("bob"));
    let (alice, bob) = (("authorization", alice.as_str()), ("authorization", bob.as_str()));
    let fixed = ("authorization", "Bearer a fixed token");
    let session = setup.server.session(&[alice]).await;
    let id = ("mcp-session-id", session.as_str());
    let body = call(1, "whoami", json!({}));
    assert_eq!(setup.server.post(&[id, alice], &body).await.status, 200);
    let unknown = ("mcp-session-id", "00000000-0000-4000-8000-000000000000");
    let to_unknown = setup.server.post(&[unknown, bob], &body).await;
    for other in [bob, fixed] {
        let reply = setup.server.post(&[id, other], &body).await;
        assert_eq!((reply.status, &reply.body), (404, &to_unknown.body));
        assert_eq!(setup.server.send("GET /mcp", &[id, other], "").await.status, 404);
        assert_eq!(setup.server.send("DELETE /mcp", &[id, other], "").await.status, 404);
    }
    assert_eq!(
        setup.server.post(&[id, alice], &body).await.text(),
        "https://id.example alice false"
    );
    let mut stream = setup.server.connect().await;
    stream.send("GET /sse", &[alice], "").await;
    stream.head().await.unwrap();
    let line = format!("POST {}", stream.event().await.unwrap().data);
    let body = crate::client::initialize("2024-11-05").to_string();
    assert_eq!(setup.server.send(&line, &[bob], &body).await.status, 404);
    assert_eq!(setup.server.send(&line, &[alice], &body).await.status, 202);
}

#[tokio::test]
async fn one_caller_leaves_sessions_for_another() {
    let setup = Setup::new().await;
    let token = |subject: &str| {
        let mut claims = claims();
        claims["sub"] = subject.into();
        setup.sign("EdDSA", &header("EdDSA"), &claims)
    };
    let open = async |token: &str| {
        let bearer = format!("Bearer {token}");
        let hello = crate::client::initialize("2025-11-25");
        setup.server.post(&[("authorization", &bearer)], &hello).await.status
    };
    let (one, other) = (token("one"), token("other"));
    // The default is half of 128 sessions.
    for _ in 0..64 {
        assert_eq!(open(&one).await, 200);
    }
    for _ in 0..64 {
        assert_eq!(open(&one).await, 503);
    }
    assert_eq!(open(&other).await, 200);
}
