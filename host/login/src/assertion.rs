//! Client authentication with a signed JWT (RFC 7523).

use std::time::{Duration, SystemTime, SystemTimeError, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::rsa::KeyPair as RsaKeyPair;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
    RSA_PKCS1_SHA256,
};
use rustls_pki_types::PrivatePkcs8KeyDer;
use rustls_pki_types::pem::PemObject;
use serde_json::{Value, json};
use thiserror::Error;

use crate::random::{RandomError, random};

/// The value of `client_assertion_type`.
pub(crate) const TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// Time until the assertion expires.
const LIFETIME: Duration = Duration::from_secs(60);

/// Why a private key cannot sign. The error does not contain the key.
#[derive(Debug, Error)]
pub enum KeyError {
    /// The text is not a private key. The parser's error is left out: it may quote the key.
    #[error("the text is not a private key in PEM format (PKCS#8)")]
    NotPem,
    /// The key is of a kind that is not supported.
    #[error("the key is not a usable P-256, P-384, Ed25519 or RSA key ({0})")]
    Unsupported(ring::error::KeyRejected),
    /// The clock of this machine is before 1970.
    #[error("the clock of this machine is set to a time before 1970")]
    Clock(#[source] SystemTimeError),
    /// The operating system has no random bytes.
    #[error(transparent)]
    Random(#[from] RandomError),
    /// Signing failed.
    #[error("the key cannot sign ({0})")]
    Sign(ring::error::Unspecified),
}

/// A key that can sign.
enum Key {
    Ecdsa(&'static str, EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Rsa(RsaKeyPair),
}

/// Makes a client assertion for one issuer. `key`: the private key in PEM format.
///
/// # Errors
///
/// The key cannot be used. The error does not repeat the key.
pub(crate) fn sign(key: &str, client: &str, issuer: &str) -> Result<String, KeyError> {
    let key = Key::read(key)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(KeyError::Clock)?;
    let head = json!({ "alg": key.algorithm(), "typ": "JWT" });
    let claims = json!({
        "iss": client,
        "sub": client,
        "aud": issuer,
        "iat": now.as_secs(),
        "exp": (now + LIFETIME).as_secs(),
        "jti": random()?,
    });
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(&head), part(&claims));
    let signature = key.sign(signed.as_bytes())?;
    Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

impl Key {
    fn read(pem: &str) -> Result<Self, KeyError> {
        let der = PrivatePkcs8KeyDer::from_pem_slice(pem.as_bytes())
            .map_err(|_may_quote_the_key| KeyError::NotPem)?;
        let der = der.secret_pkcs8_der();
        let random = SystemRandom::new();
        let curves = [
            ("ES256", &ECDSA_P256_SHA256_FIXED_SIGNING),
            ("ES384", &ECDSA_P384_SHA384_FIXED_SIGNING),
        ];
        for (name, algorithm) in curves {
            if let Ok(key) = EcdsaKeyPair::from_pkcs8(algorithm, der, &random) {
                return Ok(Self::Ecdsa(name, key));
            }
        }
        if let Ok(key) = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der) {
            return Ok(Self::Ed25519(key));
        }
        RsaKeyPair::from_pkcs8(der).map(Self::Rsa).map_err(KeyError::Unsupported)
    }

    fn algorithm(&self) -> &'static str {
        match self {
            Self::Ecdsa(name, _) => name,
            Self::Ed25519(_) => "EdDSA",
            Self::Rsa(_) => "RS256",
        }
    }

    fn sign(&self, text: &[u8]) -> Result<Vec<u8>, KeyError> {
        let random = SystemRandom::new();
        match self {
            Self::Ecdsa(_, key) => key
                .sign(&random, text)
                .map(|signed| signed.as_ref().to_vec())
                .map_err(KeyError::Sign),
            Self::Ed25519(key) => Ok(key.sign(text).as_ref().to_vec()),
            Self::Rsa(key) => {
                let mut signed = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, text, &mut signed).map_err(KeyError::Sign)?;
                Ok(signed)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;
    use ring::signature::{ECDSA_P256_SHA256_FIXED, ED25519, KeyPair as _, UnparsedPublicKey};

    use super::*;

    fn pem(der: &[u8]) -> String {
        format!(
            "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
            STANDARD.encode(der)
        )
    }

    fn parts(token: &str) -> (Value, Value, &str, Vec<u8>) {
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let (head, claims) = signed.split_once('.').unwrap();
        let json = |part: &str| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap());
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        (json(head).unwrap(), json(claims).unwrap(), signed, signature)
    }

    #[test]
    fn an_assertion_is_signed_for_one_issuer_and_one_minute() {
        let random = SystemRandom::new();
        let ecdsa =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let token = sign(&pem(ecdsa.as_ref()), "me", "https://as.example").unwrap();
        let (head, claims, signed, signature) = parts(&token);
        assert_eq!(head["alg"], "ES256");
        assert_eq!((&claims["iss"], &claims["sub"]), (&json!("me"), &json!("me")));
        assert_eq!(claims["aud"], "https://as.example");
        assert_eq!(claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap(), 60);
        let pair =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, ecdsa.as_ref(), &random);
        let public = UnparsedPublicKey::new(
            &ECDSA_P256_SHA256_FIXED,
            pair.unwrap().public_key().as_ref().to_vec(),
        );
        public.verify(signed.as_bytes(), &signature).unwrap();
        let again = sign(&pem(ecdsa.as_ref()), "me", "https://as.example").unwrap();
        assert_ne!(parts(&again).1["jti"], claims["jti"]);

        let edwards = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        let token = sign(&pem(edwards.as_ref()), "me", "https://as.example").unwrap();
        let (head, _, signed, signature) = parts(&token);
        assert_eq!(head["alg"], "EdDSA");
        let pair = Ed25519KeyPair::from_pkcs8(edwards.as_ref()).unwrap();
        let public = UnparsedPublicKey::new(&ED25519, pair.public_key().as_ref().to_vec());
        public.verify(signed.as_bytes(), &signature).unwrap();
    }

    #[test]
    fn an_invalid_key_is_not_in_the_error() {
        for text in ["", "hidden", &pem(b"hidden")] {
            let error = sign(text, "me", "https://as.example").unwrap_err();
            let error = format!("{} {error:?}", portcullis_sanitize::error_chain(&error));
            assert!(
                !error.contains("hidden") && !error.contains(&STANDARD.encode("hidden")),
                "{error}"
            );
        }
    }
}
