//! Verifies signatures that cosign makes with a key, and SLSA provenance.
//!
//! The key is an ECDSA key on the curve P-256, and signs SHA-256 digests. Entries of a transparency log are not read,
//! because the operator has the key to verify a signature. A signature without a key (keyless) needs the log and the
//! roots of trust of its authority, and is refused.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};
use rustls_pki_types::SubjectPublicKeyInfoDer;
use rustls_pki_types::pem::PemObject;
use serde::Deserialize;
use serde_json::Value;

use crate::digest::Digest;

/// Why a signature that the operator demands is missing.
#[derive(Debug, thiserror::Error)]
pub enum SignatureError {
    /// The file of the key cannot be used.
    #[error("the key {}: {why}", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// Why it cannot be used, and what to do.
        why: String,
    },
    /// There is no signature.
    #[error("it is not signed (looked for: {0})")]
    None(&'static str),
    /// There are signatures, and none of them was made with the key.
    #[error("none of its signatures ({seen}) was made with the key {} for this artifact", path.display())]
    Other {
        /// The number of signatures.
        seen: usize,
        /// The file of the key.
        path: PathBuf,
    },
    /// All signatures are keyless.
    #[error(
        "it is signed without a key (keyless), and this version cannot verify such signatures\n  hint: ask the \
         publisher for a signature with a key; or check the artifact with `cosign verify`, fetch it by its digest \
         (`oci://…@sha256:…`), and add a table without `key` for this source"
    )]
    Keyless,
    /// There is no provenance by the builder.
    #[error("no SLSA provenance with a signature by the key names the builder {wanted:?}{found}")]
    Builder {
        /// The builder that is demanded.
        wanted: String,
        /// The builders that are named, for display.
        found: String,
    },
}

/// The DER encoding of a public key on P-256, up to the point of the curve.
const P256_PREFIX: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// A public key of the operator.
pub(crate) struct Key {
    point: Vec<u8>,
}

impl Key {
    pub(crate) fn read(path: &Path) -> Result<Self, SignatureError> {
        let wrong = |why: String| SignatureError::Key { path: path.to_owned(), why };
        let file = std::fs::File::open(path).map_err(|error| wrong(error.to_string()))?;
        let mut text = Vec::new();
        std::io::Read::read_to_end(&mut std::io::Read::take(file, 64 * 1024), &mut text)
            .map_err(|error| wrong(error.to_string()))?;
        let der = SubjectPublicKeyInfoDer::from_pem_slice(&text).map_err(|_| {
            wrong(
                "it has no public key as PEM (`-----BEGIN PUBLIC KEY-----`); cosign writes the public key into its file `cosign.pub`"
                    .to_owned(),
            )
        })?;
        let point = der.strip_prefix(&P256_PREFIX).filter(|point| point.len() == 65);
        let point = point.ok_or_else(|| {
            wrong(
                "it is not an ECDSA key on the curve P-256, the kind that cosign makes".to_owned(),
            )
        })?;
        Ok(Self { point: point.to_owned() })
    }

    /// Whether this key made the signature of these bytes. `signature` is in base64.
    pub(crate) fn verifies(&self, signed: &[u8], signature: &str) -> bool {
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &self.point);
        let signature = STANDARD.decode(signature.trim());
        signature.is_ok_and(|signature| key.verify(signed, &signature).is_ok())
    }
}

/// The payload of a signature of cosign 1 and 2.
#[derive(Deserialize)]
struct SimpleSigning {
    critical: Critical,
}

#[derive(Deserialize)]
struct Critical {
    image: Image,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct Image {
    #[serde(rename = "docker-manifest-digest")]
    digest: String,
}

/// The type of a signed payload of cosign 1 and 2.
const SIMPLE_SIGNING: &str = "cosign container image signature";

/// The predicate of a signature of cosign 3.
const SIGN_PREDICATE: &str = "https://sigstore.dev/cosign/sign/v1";

const SLSA_1: &str = "https://slsa.dev/provenance/v1";
const SLSA_0_2: &str = "https://slsa.dev/provenance/v0.2";

/// The media type of the statement in an envelope.
const IN_TOTO: &str = "application/vnd.in-toto+json";

/// Whether a payload of cosign 1 or 2 is about this manifest.
pub(crate) fn is_signature_of(payload: &[u8], manifest: &Digest) -> bool {
    let payload: Result<SimpleSigning, _> = serde_json::from_slice(payload);
    payload.is_ok_and(|SimpleSigning { critical }| {
        critical.kind == SIMPLE_SIGNING && critical.image.digest == manifest.to_string()
    })
}

/// A bundle of sigstore, as cosign 3 attaches it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Bundle {
    #[serde(default)]
    verification_material: Value,
    dsse_envelope: Option<Envelope>,
    message_signature: Option<MessageSignature>,
}

#[derive(Deserialize)]
struct MessageSignature {
    signature: String,
}

/// A signed statement (DSSE).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Envelope {
    payload: String,
    payload_type: String,
    signatures: Vec<EnvelopeSignature>,
}

#[derive(Deserialize)]
struct EnvelopeSignature {
    sig: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Statement {
    subject: Vec<Subject>,
    predicate_type: String,
    #[serde(default)]
    predicate: Value,
}

#[derive(Deserialize)]
struct Subject {
    digest: std::collections::BTreeMap<String, String>,
}

/// A claim of a verified bundle or envelope about an artifact.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// The holder of the key signed the artifact.
    Signed,
    /// The holder of the key says that this builder made the artifact.
    Built(String),
}

impl Bundle {
    /// Whether the bundle was signed without a key.
    pub(crate) fn is_keyless(&self) -> bool {
        let material = &self.verification_material;
        material.get("certificate").is_some() || material.get("x509CertificateChain").is_some()
    }

    /// The claim of the bundle about a manifest, if the bundle is signed by the key.
    pub(crate) fn claim(&self, key: &Key, digest: &Digest, manifest: &[u8]) -> Option<Claim> {
        if let Some(signature) = &self.message_signature {
            return key.verifies(manifest, &signature.signature).then_some(Claim::Signed);
        }
        self.dsse_envelope.as_ref()?.claim(key, digest)
    }
}

impl Envelope {
    /// The claim of the envelope about a manifest, if the envelope is signed by the key.
    pub(crate) fn claim(&self, key: &Key, digest: &Digest) -> Option<Claim> {
        let payload = STANDARD.decode(&self.payload).ok()?;
        let mut signed =
            format!("DSSEv1 {} {} {} ", self.payload_type.len(), self.payload_type, payload.len())
                .into_bytes();
        signed.extend_from_slice(&payload);
        if !self.signatures.iter().any(|one| key.verifies(&signed, &one.sig))
            || self.payload_type != IN_TOTO
        {
            return None;
        }
        let statement: Statement = serde_json::from_slice(&payload).ok()?;
        let is_about =
            |subject: &Subject| subject.digest.get("sha256").is_some_and(|hex| hex == digest.hex());
        if !statement.subject.iter().any(is_about) {
            return None;
        }
        let predicate = &statement.predicate;
        let builder = match statement.predicate_type.as_str() {
            SIGN_PREDICATE => return Some(Claim::Signed),
            SLSA_1 => predicate.pointer("/runDetails/builder/id"),
            SLSA_0_2 => predicate.pointer("/builder/id"),
            _ => None,
        };
        builder.and_then(Value::as_str).map(|id| Claim::Built(id.to_owned()))
    }
}
