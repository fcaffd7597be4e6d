//! The operator's requirements for the sources of plugins: `[plugin-sources]` in `portcullis.toml`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

/// The tables `[plugin-sources."PATTERN"]`, by their patterns.
pub type SourceConfigs = BTreeMap<String, SourceConfig>;

/// Requirements for plugins from the registries and addresses that match the name of the table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SourceConfig {
    /// Whether plugins may be fetched from these registries and addresses.
    #[schemars(extend("default" = true))]
    pub allow: Option<bool>,
    /// The path of a file with a public key (ECDSA P-256, PEM), such as the `cosign.pub` that
    /// `cosign generate-key-pair` writes. The path is absolute, or begins with `~/`. Each plugin must be signed with
    /// the private key that belongs to this public key. Signatures without a key (keyless) do not count. Default: none;
    /// signatures are not checked.
    pub key: Option<PathBuf>,
    /// The builder that must have made the plugin: `builder.id` in an SLSA provenance. The provenance must be signed
    /// with the private key that belongs to `key`. Provenance is found in registries only, so plugins from addresses
    /// are refused. Default: none; provenance is not checked.
    pub builder: Option<String>,
}

/// What was verified about a component, beyond its digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verified {
    /// `portcullis.toml` demands no signature for this source.
    NotDemanded,
    /// The component is signed by a key of the operator.
    Key {
        /// The file of the key.
        key: PathBuf,
        /// The builder that a signed provenance names, if one is demanded.
        builder: Option<String>,
    },
}

/// Whether a pattern can match: `*`, `HOST`, `HOST/PATH`, `HOST/*`, or `HOST/PATH/*`.
pub fn is_pattern(pattern: &str) -> bool {
    let rest = pattern.strip_suffix("/*").unwrap_or(pattern);
    let is_place = !rest.contains('*') && !rest.contains("://") && !rest.starts_with('/');
    pattern == "*" || (is_place && !rest.is_empty() && !rest.ends_with('/'))
}

/// The table for a source: the one with the longest pattern that matches `HOST/PATH`. A host alone stands for all of
/// its paths.
pub fn config_of<'a>(all: &'a SourceConfigs, source: &str) -> Option<(&'a str, &'a SourceConfig)> {
    let matches = |pattern: &str| match pattern.strip_suffix('*') {
        Some(prefix) => source.starts_with(prefix),
        None => {
            source == pattern || source.split_once('/').is_some_and(|(host, _)| host == pattern)
        }
    };
    let matching = all.iter().filter(|(pattern, _)| matches(pattern));
    let length = |pattern: &str| pattern.trim_end_matches('*').trim_end_matches('/').len();
    let found = matching.max_by_key(|(pattern, _)| (*pattern == source, length(pattern)));
    found.map(|(pattern, config)| (pattern.as_str(), config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_pattern_that_matches_counts() {
        let patterns = ["*", "ghcr.io/*", "ghcr.io/org/*", "ghcr.io/org/x", "b.example"];
        let all: SourceConfigs = patterns
            .iter()
            .map(|pattern| ((*pattern).to_owned(), SourceConfig::default()))
            .collect();
        for (source, pattern) in [
            ("a.example/x", "*"),
            ("ghcr.io.evil.example/org/x", "*"),
            ("b.example/x/y", "b.example"),
            ("b.example.evil.example/x", "*"),
            ("ghcr.io/x", "ghcr.io/*"),
            ("ghcr.io/organisation/x", "ghcr.io/*"),
            ("ghcr.io/org/y", "ghcr.io/org/*"),
            ("ghcr.io/org/x", "ghcr.io/org/x"),
            ("ghcr.io/org/x/y", "ghcr.io/org/*"),
        ] {
            assert_eq!(config_of(&all, source).map(|(found, _)| found), Some(pattern), "{source}");
        }
        assert!(config_of(&SourceConfigs::new(), "ghcr.io/x").is_none());
        assert!(patterns.iter().all(|pattern| is_pattern(pattern)));
        for other in ["", "ghcr.io*", "*/x", "oci://ghcr.io/x", "/x", "ghcr.io/*/x", "ghcr.io/o*"] {
            assert!(!is_pattern(other), "{other}");
        }
    }
}
