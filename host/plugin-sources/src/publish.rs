//! Publishes a component in a registry, as the CNCF's WebAssembly artifact specification lays it out. `wkg`, wassette
//! and others fetch such artifacts.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::Serialize;

use crate::artifact::{Terms, within};
use crate::digest::Digest;
use crate::error::SourceError;
use crate::manifest::{COMPONENT, COMPONENT_CONFIG, Descriptor, MANIFEST, Manifest};
use crate::reference::{Location, Version};
use crate::registry::Registry;

/// The information about a component in its published artifact.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// The time of the artifact, in RFC 3339.
    pub created: String,
    /// The interfaces that the component imports.
    pub imports: Vec<String>,
    /// The interfaces that the component exports.
    pub exports: Vec<String>,
    /// Annotations of the manifest.
    pub annotations: BTreeMap<String, String>,
}

/// An artifact that is ready to be published.
#[derive(Debug, Clone)]
pub struct Artifact {
    component: Bytes,
    config: Bytes,
    manifest: Bytes,
    /// The digest of the manifest, which names the artifact.
    pub digest: Digest,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ComponentConfig<'a> {
    created: &'a str,
    architecture: &'static str,
    os: &'static str,
    layer_digests: [String; 1],
    component: ComponentWorld<'a>,
}

#[derive(Serialize)]
struct ComponentWorld<'a> {
    exports: &'a [String],
    imports: &'a [String],
}

impl Artifact {
    /// The artifact of a component. The same component with the same texts is the same artifact.
    pub fn new(component: Bytes, about: About) -> Self {
        let digest = Digest::of(&component);
        let config = ComponentConfig {
            created: &about.created,
            architecture: "wasm",
            os: "wasip2",
            layer_digests: [digest.to_string()],
            component: ComponentWorld { exports: &about.exports, imports: &about.imports },
        };
        let config =
            Bytes::from(serde_json::to_vec(&config).expect("texts can be written as JSON"));
        let descriptor = |media: &str, bytes: &Bytes| Descriptor {
            media_type: media.to_owned(),
            digest: Digest::of(bytes).to_string(),
            size: bytes.len() as u64,
            artifact_type: None,
            annotations: BTreeMap::new(),
        };
        let manifest = Manifest {
            schema_version: 2,
            media_type: Some(MANIFEST.to_owned()),
            config: descriptor(COMPONENT_CONFIG, &config),
            layers: vec![descriptor(COMPONENT, &component)],
            annotations: about.annotations,
        };
        let manifest = Bytes::from(
            serde_json::to_vec_pretty(&manifest).expect("texts can be written as JSON"),
        );
        Self { digest: Digest::of(&manifest), component, config, manifest }
    }

    /// The manifest as it is published, for display.
    pub fn manifest_text(&self) -> &str {
        std::str::from_utf8(&self.manifest).unwrap_or_default()
    }
}

/// The digest of the artifact that a tag names now. `None`: the registry has no such tag.
///
/// # Errors
///
/// [`SourceError`].
pub async fn published(
    location: &Location,
    tag: &str,
    terms: Terms<'_>,
) -> Result<Option<Digest>, SourceError> {
    within(&format!("asking for {location}:{tag}"), async {
        let mut registry = Registry::at(location.clone(), terms.logins, terms.most)?;
        let found = registry.manifest(&Version::Tag(tag.to_owned())).await?;
        Ok(found.map(|found| found.digest))
    })
    .await
}

/// Publishes an artifact under a tag. The manifest comes last: until then, nothing in the registry refers to the other
/// parts.
///
/// # Errors
///
/// [`SourceError`]. The tag is then as it was, unless the registry accepted the manifest and its answer was lost.
pub async fn publish(
    location: &Location,
    tag: &str,
    artifact: &Artifact,
    terms: Terms<'_>,
) -> Result<(), SourceError> {
    within(&format!("publishing {location}:{tag}"), async {
        let mut registry = Registry::at(location.clone(), terms.logins, terms.most)?;
        registry.upload(&artifact.component).await?;
        registry.upload(&artifact.config).await?;
        registry.upload_manifest(tag, &artifact.manifest).await
    })
    .await
}
