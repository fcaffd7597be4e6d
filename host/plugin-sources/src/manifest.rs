//! Manifests of artifacts, as the OCI image specification 1.1 defines them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The media type of a manifest.
pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// The media type of an index of manifests.
pub(crate) const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// The media type of a component, in artifacts of wkg, wassette and others.
pub(crate) const COMPONENT: &str = "application/wasm";

/// The media type of a component in older artifacts.
pub(crate) const OLD_COMPONENT: &str = "application/vnd.wasm.content.layer.v1+wasm";

/// The media type of the configuration of a component.
pub(crate) const COMPONENT_CONFIG: &str = "application/vnd.wasm.config.v0+json";

/// A part of an artifact, or an artifact in an index.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Descriptor {
    pub(crate) media_type: String,
    pub(crate) digest: String,
    pub(crate) size: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) artifact_type: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) annotations: BTreeMap<String, String>,
}

/// A manifest: the parts of one artifact.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Manifest {
    pub(crate) schema_version: u32,
    #[serde(default)]
    pub(crate) media_type: Option<String>,
    pub(crate) config: Descriptor,
    pub(crate) layers: Vec<Descriptor>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) annotations: BTreeMap<String, String>,
}
