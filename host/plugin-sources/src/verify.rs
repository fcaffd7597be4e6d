//! Finds the signatures and the provenance of an artifact in its registry, and checks them.

use crate::digest::Digest;
use crate::error::SourceError;
use crate::manifest::Descriptor;
use crate::reference::Version;
use crate::registry::{FoundManifest, Registry};
use crate::signature::{Bundle, Claim, Envelope, Key, SignatureError, is_signature_of};
use crate::trust::{SourceConfig, Verified};

/// Maximum number of signatures, and of attestations, that are looked at.
const MAX_SIGNATURES: usize = 32;

/// Size limit of a signature's payload, a bundle or an envelope, in bytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// The media type of a payload of cosign 1 and 2.
const SIMPLE_SIGNING: &str = "application/vnd.dev.cosign.simplesigning.v1+json";

/// The media type of an attestation of cosign 1 and 2.
const ENVELOPE: &str = "application/vnd.dsse.envelope.v1+json";

/// The beginning of the media types of bundles.
const BUNDLE: &str = "application/vnd.dev.sigstore.bundle";

/// The annotation with the signature of a payload.
const SIGNATURE: &str = "dev.cosignproject.cosign/signature";

/// The annotation with the certificate of a keyless signature.
const CERTIFICATE: &str = "dev.sigstore.cosign/certificate";

const PLACES: &str = "the tag `sha256-….sig`, and bundles that refer to the artifact";

/// The signatures and the builders that were found for an artifact.
#[derive(Default)]
struct Found {
    is_signed: bool,
    builders: Vec<String>,
    /// The number of signatures.
    seen: usize,
    /// The number of keyless signatures among them.
    keyless: usize,
}

impl Found {
    fn add(&mut self, claim: Option<Claim>) {
        match claim {
            Some(Claim::Signed) => self.is_signed = true,
            Some(Claim::Built(id)) => self.builders.push(id),
            None => {}
        }
    }
}

/// Checks that an artifact fulfils the demands of a table of `[plugin-sources]`.
pub(crate) async fn verify(
    registry: &mut Registry,
    artifact: &FoundManifest,
    pattern: &str,
    config: &SourceConfig,
) -> Result<Verified, SourceError> {
    let name = format!("{}@{}", registry.location, artifact.digest);
    let refuse = |cause| SourceError::Unverified {
        artifact: name.clone(),
        pattern: pattern.to_owned(),
        cause,
    };
    let Some(path) = &config.key else { return Ok(Verified::NotDemanded) };
    let key = Key::read(path).map_err(refuse)?;
    let mut found = Found::default();
    check_tagged_signatures(registry, &artifact.digest, &key, &mut found).await?;
    check_bundles(registry, artifact, &key, &mut found).await?;
    if config.builder.is_some() {
        check_tagged_attestations(registry, &artifact.digest, &key, &mut found).await?;
    }
    if !found.is_signed {
        return Err(refuse(match found.seen {
            0 => SignatureError::None(PLACES),
            seen if seen == found.keyless => SignatureError::Keyless,
            seen => SignatureError::Other { seen, path: path.clone() },
        }));
    }
    if let Some(wanted) = &config.builder
        && !found.builders.contains(wanted)
    {
        let named = found.builders.join(", ");
        let named = if named.is_empty() {
            named
        } else {
            format!("; the builders that are named: {named}")
        };
        return Err(refuse(SignatureError::Builder { wanted: wanted.clone(), found: named }));
    }
    Ok(Verified::Key { key: path.clone(), builder: config.builder.clone() })
}

/// Checks the signatures under the tag that cosign 1 and 2 use.
async fn check_tagged_signatures(
    registry: &mut Registry,
    digest: &Digest,
    key: &Key,
    found: &mut Found,
) -> Result<(), SourceError> {
    let tag = Version::Tag(format!("sha256-{}.sig", digest.hex()));
    let Some(FoundManifest { manifest, .. }) = registry.manifest(&tag).await? else {
        return Ok(());
    };
    let of_kind = |layer: &&Descriptor| layer.media_type == SIMPLE_SIGNING;
    for layer in manifest.layers.iter().filter(of_kind).take(MAX_SIGNATURES) {
        found.seen += 1;
        if layer.annotations.get(CERTIFICATE).is_some_and(|text| !text.is_empty()) {
            found.keyless += 1;
            continue;
        }
        let Some(signature) = layer.annotations.get(SIGNATURE) else { continue };
        let payload = registry.blob(layer, "a signature", MAX_BYTES).await?;
        if key.verifies(&payload, signature) && is_signature_of(&payload, digest) {
            found.is_signed = true;
        }
    }
    Ok(())
}

/// Checks the bundles that refer to the artifact, as cosign 3 attaches them.
async fn check_bundles(
    registry: &mut Registry,
    artifact: &FoundManifest,
    key: &Key,
    found: &mut Found,
) -> Result<(), SourceError> {
    let referrers = registry.referrers(&artifact.digest).await?;
    let is_bundle =
        |one: &&Descriptor| one.artifact_type.as_ref().is_some_and(|kind| kind.starts_with(BUNDLE));
    for referrer in referrers.iter().filter(is_bundle).take(MAX_SIGNATURES) {
        let Ok(digest) = referrer.digest.parse() else { continue };
        let Some(one) = registry.manifest(&Version::Digest(digest)).await? else { continue };
        let Some(layer) = one.manifest.layers.first() else { continue };
        let bytes = registry.blob(layer, "a bundle", MAX_BYTES).await?;
        let Ok(bundle) = serde_json::from_slice::<Bundle>(&bytes) else { continue };
        found.seen += 1;
        if bundle.is_keyless() {
            found.keyless += 1;
            continue;
        }
        found.add(bundle.claim(key, &artifact.digest, &artifact.bytes));
    }
    Ok(())
}

/// Checks the attestations under the tag that cosign 1 and 2 use.
async fn check_tagged_attestations(
    registry: &mut Registry,
    digest: &Digest,
    key: &Key,
    found: &mut Found,
) -> Result<(), SourceError> {
    let tag = Version::Tag(format!("sha256-{}.att", digest.hex()));
    let Some(FoundManifest { manifest, .. }) = registry.manifest(&tag).await? else {
        return Ok(());
    };
    let of_kind = |layer: &&Descriptor| layer.media_type == ENVELOPE;
    for layer in manifest.layers.iter().filter(of_kind).take(MAX_SIGNATURES) {
        let bytes = registry.blob(layer, "an attestation", MAX_BYTES).await?;
        let envelope = serde_json::from_slice::<Envelope>(&bytes).ok();
        // A provenance is not a signature of the artifact.
        let claim = envelope.and_then(|envelope| envelope.claim(key, digest));
        if let Some(Claim::Built(id)) = claim {
            found.builders.push(id);
        }
    }
    Ok(())
}
