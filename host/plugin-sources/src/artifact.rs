//! Fetches a component from its source into memory, and checks it.

use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use url::Url;

use crate::digest::Digest;
use crate::error::SourceError;
use crate::login::Logins;
use crate::manifest::{COMPONENT, Descriptor, OLD_COMPONENT};
use crate::reference::Reference;
use crate::registry::{FoundManifest, Registry};
use crate::requests::{Ask, Requests, shown};
use crate::signature::{Key, SignatureError};
use crate::source::Source;
use crate::trust::{SourceConfig, SourceConfigs, Verified, config_of};
use crate::verify::verify;

/// Time limit for all of the work for one component.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// Size limit of the configuration of an artifact, in bytes.
const MAX_CONFIG_BYTES: u64 = 1024 * 1024;

/// A component that was fetched.
#[derive(Debug)]
pub struct Fetched {
    /// The component.
    pub component: Bytes,
    /// The digest of the component.
    pub digest: Digest,
    /// The digest of the artifact's manifest. `None`: the component is not from a registry.
    pub artifact: Option<Digest>,
    /// The address that sent the component, after redirects. `None`: the component is not from an address.
    pub address: Option<Url>,
    /// What was verified.
    pub verified: Verified,
    /// Remarks about the artifact, for the operator.
    pub remarks: Vec<String>,
}

/// How components are fetched.
#[derive(Clone, Copy)]
pub struct Terms<'a> {
    /// The operator's requirements for sources.
    pub demands: &'a SourceConfigs,
    /// The logins at registries.
    pub logins: &'a Logins,
    /// The maximum size of a component, in bytes.
    pub most: u64,
}

/// Fetches a component. The component is complete, has the digests that name it, and meets the operator's requirements
/// for the source. Nothing is written.
///
/// # Errors
///
/// [`SourceError`].
pub async fn fetch(source: &Source, terms: Terms<'_>) -> Result<Fetched, SourceError> {
    within(&format!("fetching {source}"), async {
        let demanded = demands_on(source, terms)?;
        match source {
            Source::File(path) => from_file(path, terms.most),
            Source::Address(url, digest) => {
                from_address(url, digest.as_ref(), demanded, terms.most).await
            }
            Source::Registry(reference) => from_registry(reference, demanded, terms).await,
        }
    })
    .await
}

/// The digest of the manifest that a registry has for the source now. `None`: the source is not a registry, so only
/// fetching the component shows whether it changed.
///
/// # Errors
///
/// [`SourceError`].
pub async fn resolve(source: &Source, terms: Terms<'_>) -> Result<Option<Digest>, SourceError> {
    let Source::Registry(reference) = source else { return Ok(None) };
    demands_on(source, terms)?;
    within(&format!("asking for {source}"), async {
        let mut registry = Registry::at(reference.location.clone(), terms.logins, terms.most)?;
        Ok(Some(find_manifest(&mut registry, reference).await?.digest))
    })
    .await
}

/// What the operator demands of a source: the pattern that matches the source, and its configuration. `None`: nothing.
///
/// # Errors
///
/// [`SourceError::NotAllowed`]: nothing may be fetched from the source.
fn demands_on<'a>(
    source: &Source,
    terms: Terms<'a>,
) -> Result<Option<(&'a str, &'a SourceConfig)>, SourceError> {
    let demanded = source.matched().and_then(|matched| config_of(terms.demands, &matched));
    match demanded {
        Some((pattern, SourceConfig { allow: Some(false), .. })) => {
            Err(SourceError::NotAllowed { pattern: pattern.to_owned() })
        }
        demanded => Ok(demanded),
    }
}

/// Does work within the time limit.
pub(crate) async fn within<T>(
    what: &str,
    work: impl Future<Output = Result<T, SourceError>>,
) -> Result<T, SourceError> {
    let done = tokio::time::timeout(TIME_LIMIT, work).await;
    done.unwrap_or_else(|_| {
        Err(SourceError::TooSlow { what: what.to_owned(), seconds: TIME_LIMIT.as_secs() })
    })
}

fn from_file(path: &Path, most: u64) -> Result<Fetched, SourceError> {
    let failed = |cause| SourceError::File { path: path.to_owned(), cause };
    let file = std::fs::File::open(path).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(failed(std::io::Error::other("it is not a regular file")));
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > most {
        return Err(SourceError::TooLarge { what: path.display().to_string(), most });
    }
    checked_component(
        bytes.into(),
        None,
        Verified::NotDemanded,
        &path.display().to_string(),
        Vec::new(),
    )
}

async fn from_address(
    url: &Url,
    pinned: Option<&Digest>,
    demanded: Option<(&str, &SourceConfig)>,
    most: u64,
) -> Result<Fetched, SourceError> {
    let mut requests = Requests::to(url, most)?;
    let name = shown(url);
    let (bytes, address) = get(&mut requests, url.clone()).await?;
    let found = Digest::of(&bytes);
    if let Some(expected) = pinned.filter(|pinned| **pinned != found) {
        return Err(SourceError::WrongDigest { what: name, expected: expected.clone(), found });
    }
    let mut verified = Verified::NotDemanded;
    if let Some((pattern, SourceConfig { key: Some(path), builder, .. })) = demanded {
        let (artifact, pattern) = (name.clone(), pattern.to_owned());
        let refuse = |cause| SourceError::Unverified { artifact, pattern, cause };
        if let Some(wanted) = builder {
            let found = "; only for plugins from registries is provenance looked for".to_owned();
            return Err(refuse(SignatureError::Builder { wanted: wanted.clone(), found }));
        }
        let key = match Key::read(path) {
            Ok(key) => key,
            Err(error) => return Err(refuse(error)),
        };
        // As `cosign sign-blob` writes it: the signature in base64, in a file of its own.
        let mut signature_url = url.clone();
        signature_url.set_path(&format!("{}.sig", url.path()));
        let signature = match get(&mut requests, signature_url).await {
            Err(SourceError::Status { status: 404 | 410, .. }) => {
                return Err(refuse(SignatureError::None("the same address with `.sig`")));
            }
            signature => signature?.0,
        };
        if !key.verifies(&bytes, &String::from_utf8_lossy(&signature)) {
            return Err(refuse(SignatureError::Other { seen: 1, path: path.clone() }));
        }
        verified = Verified::Key { key: path.clone(), builder: None };
    }
    let fetched = checked_component(bytes, None, verified, &name, Vec::new())?;
    Ok(Fetched { address: Some(address), ..fetched })
}

/// The body that an address sends with status 200, and the address that sent it after redirects.
async fn get(requests: &mut Requests, url: Url) -> Result<(Bytes, Url), SourceError> {
    let answer = requests.send(Ask { is_large: true, ..Ask::get(url, "*/*") }).await?;
    if answer.status != http::StatusCode::OK {
        let (url, status) = (shown(&answer.url), answer.status.as_u16());
        return Err(SourceError::Status { url, status, said: String::new() });
    }
    Ok((answer.body, answer.url))
}

/// The manifest that a reference names.
async fn find_manifest(
    registry: &mut Registry,
    reference: &Reference,
) -> Result<FoundManifest, SourceError> {
    let found = registry.manifest(&reference.version).await?;
    found.ok_or_else(|| SourceError::Missing(reference.to_string()))
}

/// The part of the configuration that names the component's digest.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ComponentConfig {
    #[serde(default)]
    layer_digests: Vec<String>,
}

async fn from_registry(
    reference: &Reference,
    demanded: Option<(&str, &SourceConfig)>,
    terms: Terms<'_>,
) -> Result<Fetched, SourceError> {
    let mut registry = Registry::at(reference.location.clone(), terms.logins, terms.most)?;
    let artifact = find_manifest(&mut registry, reference).await?;
    // From here on, all parts of the artifact are requested by digest, so that a moved tag changes nothing.
    let verified = match demanded {
        Some((pattern, config)) => verify(&mut registry, &artifact, pattern, config).await?,
        None => Verified::NotDemanded,
    };
    let name = reference.to_string();
    let manifest = &artifact.manifest;
    let wrong = |why: String| SourceError::NotComponent { artifact: name.clone(), why };
    let is_component =
        |layer: &Descriptor| [COMPONENT, OLD_COMPONENT].contains(&layer.media_type.as_str());
    let (components, others): (Vec<_>, Vec<_>) =
        manifest.layers.iter().partition(|layer| is_component(layer));
    let [layer] = components[..] else {
        let kinds: Vec<_> = manifest.layers.iter().map(|layer| layer.media_type.as_str()).collect();
        return Err(wrong(format!(
            "it has {} layers of the type `{COMPONENT}`, but it must have exactly one; its layers: {}",
            components.len(),
            kinds.join(", ")
        )));
    };
    let config = registry.blob(&manifest.config, "the configuration", MAX_CONFIG_BYTES).await?;
    if manifest.config.media_type.starts_with("application/vnd.wasm.config.")
        && let Ok(ComponentConfig { layer_digests }) = serde_json::from_slice(&config)
        && !layer_digests.is_empty()
        && !layer_digests.contains(&layer.digest)
    {
        return Err(wrong(
            "its configuration names another component than its manifest".to_owned(),
        ));
    }
    let remarks = others.iter().map(|other| {
        format!(
            "a part of the artifact is not used: {} bytes of `{}`",
            other.size, other.media_type
        )
    });
    let remarks = remarks.collect();
    let bytes = registry.blob(layer, "the component", terms.most).await?;
    checked_component(bytes, Some(artifact.digest), verified, &name, remarks)
}

/// The component, after a check that its bytes begin like a component.
fn checked_component(
    bytes: Bytes,
    artifact: Option<Digest>,
    verified: Verified,
    name: &str,
    remarks: Vec<String>,
) -> Result<Fetched, SourceError> {
    let wrong =
        |why: &str| SourceError::NotComponent { artifact: name.to_owned(), why: why.to_owned() };
    match bytes.get(..8) {
        Some(&[0, b'a', b's', b'm', 13, 0, 1, 0]) => {}
        Some(&[0, b'a', b's', b'm', 1, 0, 0, 0]) => {
            return Err(wrong(
                "it is a core module, not a component; `wasm-tools component new` can turn a module into a component",
            ));
        }
        _ => return Err(wrong("it is not a WebAssembly file")),
    }
    let digest = Digest::of(&bytes);
    Ok(Fetched { component: bytes, digest, artifact, address: None, verified, remarks })
}
