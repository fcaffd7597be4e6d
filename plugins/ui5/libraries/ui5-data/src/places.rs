//! Paths in the UI5 data directory.

use crate::Framework;
use std::path::{Path, PathBuf};

/// A list of versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Document {
    /// `version.json`: the versions.
    Versions,
    /// `versionoverview.json`: the ends of maintenance.
    Overview,
}

impl Document {
    /// Both lists.
    pub const ALL: [Self; 2] = [Self::Versions, Self::Overview];

    /// The name of the file on a CDN.
    pub fn name(self) -> &'static str {
        match self {
            Self::Versions => "version.json",
            Self::Overview => "versionoverview.json",
        }
    }
}

/// The directory of the API references of all releases.
pub fn apis(data: &Path) -> PathBuf {
    data.join("mcp-server").join("api_json_files")
}

/// The directory of the API reference of a release. The version has to pass [`is_version`].
pub fn api(data: &Path, framework: Framework, version: &str) -> PathBuf {
    apis(data).join(format!("{}-{}", framework.lower_name(), version.to_lowercase()))
}

/// The directory of manifest schemas.
pub fn schemas(data: &Path) -> PathBuf {
    data.join("mcp-server").join("manifest_schemas")
}

/// The file of a manifest schema, in the directory of [`schemas`]. The version has to pass
/// [`is_version`].
pub fn schema_name(version: &str) -> PathBuf {
    Path::new(&format!("v{version}")).join("schema.json")
}

/// The directory of lists of versions.
pub fn versions(data: &Path) -> PathBuf {
    data.join("mcp-server").join("versions")
}

/// The file of a list of versions, in the directory of [`versions`]: an object with `fetched`, in
/// seconds since 1970, and `body`, the text from the CDN.
pub fn versions_name(framework: Framework, document: Document) -> String {
    format!("{}-{}", framework.lower_name(), document.name())
}

/// Whether a version is safe as part of a path and of a URL.
pub fn is_version(version: &str) -> bool {
    (1..=64).contains(&version.len())
        && !version.starts_with('.')
        && !version.contains("..")
        && version.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_the_ui5_mcp_server() {
        let data = Path::new("/home/me/.ui5");
        assert_eq!(
            api(data, Framework::SapUi5, "1.120.1-SNAPSHOT"),
            Path::new("/home/me/.ui5/mcp-server/api_json_files/sapui5-1.120.1-snapshot")
        );
    }

    #[test]
    fn only_safe_versions_become_paths() {
        for (version, expected) in [
            ("1.136.5", true),
            ("1.120.0-SNAPSHOT", true),
            ("", false),
            ("..", false),
            (".x", false),
            ("1..2", false),
            ("1/2", false),
            ("1\\2", false),
            ("1 2", false),
        ] {
            assert_eq!(is_version(version), expected, "{version:?}");
        }
        assert!(!is_version(&"1".repeat(65)));
    }
}
