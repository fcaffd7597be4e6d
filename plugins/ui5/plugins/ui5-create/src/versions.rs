//! The versions of UI5, of its types and of the manifest in new apps and cards.

mod existing;

use portcullis_plugin::serde_json;
use semver::Version;
use serde::Deserialize;
use std::collections::HashMap;
use ui5::{Cdn, Framework, versions};

/// Manifest versions by UI5 version, made from the mapping in `@ui5/manifest`. The file names its source and
/// date.
const MANIFEST_VERSIONS: &str = include_str!("../../../resources/templates/manifest-versions.json");

/// Oldest supported version.
const OLDEST: Version = Version::new(1, 96, 0);

/// The manifest version that UI5 1.136 introduced and every later version supports.
const SECOND_MANIFEST: &str = "2.0.0";

/// The advice in the message if the list of versions is unusable.
const NAME_ONE: &str = "Please name a version with frameworkVersion.";

/// The versions of the npm packages that the TypeScript guide names. Apps install most of these packages.
const PACKAGES: &str = include_str!("../../../resources/guides/versions.json");

#[derive(Deserialize)]
struct ManifestVersions {
    /// The manifest version of new cards.
    cards: String,
    /// Manifest versions by UI5 version, from 1.96 to 1.135.
    applications: HashMap<String, String>,
}

/// The UI5 version of an app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenVersion {
    /// A version such as 1.136.0.
    pub version: Version,
    /// A note for the answer about the version, such as that it could not be checked.
    pub note: Option<String>,
}

/// The version that the call names, or else the latest. Fails with the reason.
pub fn choose(framework: Framework, wanted: Option<&str>) -> Result<ChosenVersion, String> {
    let Some(text) = wanted else {
        let versions = versions::of(framework, &Cdn::from_settings()?);
        let latest = versions.latest().version;
        let version = Version::parse(latest).map_err(|_| {
            format!("The list of {framework} versions names no latest version that can be used. {NAME_ONE}")
        })?;
        return Ok(ChosenVersion { version, note: versions.note() });
    };
    if !is_three_numbers(text) {
        return Err("Version must be in format X.Y.Z, e.g. 1.120.0".to_owned());
    }
    let version = Version::parse(text).map_err(|_| {
        "The provided framework version is not valid! Please use a semantic version, e.g. 1.136.0"
            .to_owned()
    })?;
    if version < OLDEST {
        return Err(format!(
            "The provided framework version {version} is not valid!\nThe minimum version for \
             {framework} is {OLDEST}."
        ));
    }
    let versions = versions::of(framework, &Cdn::from_settings()?);
    let note = existing::check(framework, &version, &versions)?;
    Ok(ChosenVersion { version, note })
}

fn is_three_numbers(text: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    text.split('.').count() == 3 && text.split('.').all(is_number)
}

/// The manifest version for apps of that UI5 version.
pub fn manifest_of_app(ui5: &Version) -> String {
    if *ui5 >= Version::new(1, 136, 0) {
        return SECOND_MANIFEST.to_owned();
    }
    let minor = format!("{}.{}", ui5.major, ui5.minor);
    let mut table = manifest_versions();
    table.applications.remove(&minor).expect("the table has every supported version")
}

/// The manifest version for new cards.
pub fn manifest_of_card() -> String {
    manifest_versions().cards
}

fn manifest_versions() -> ManifestVersions {
    serde_json::from_str(MANIFEST_VERSIONS).expect("the file has the form of this type")
}

/// The versions of the npm packages that the TypeScript guide names, by name. Apps install most of these packages.
pub fn packages() -> HashMap<String, String> {
    #[derive(Deserialize)]
    struct Table {
        packages: HashMap<String, Package>,
    }
    #[derive(Deserialize)]
    struct Package {
        version: String,
    }
    let table: Table = serde_json::from_str(PACKAGES).expect("the file has the form of this type");
    table.packages.into_iter().map(|(name, package)| (name, package.version)).collect()
}

/// The npm package with the TypeScript definitions, and a range of its versions. The range allows any patch
/// of the minor version, since the package does not have every patch of UI5.
pub fn types(framework: Framework, ui5: &Version) -> (String, String) {
    let name = if *ui5 >= Version::new(1, 113, 0) { "types" } else { "ts-types-esm" };
    (format!("@{}/{name}", framework.lower_name()), format!("~{}.{}.0", ui5.major, ui5.minor))
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::rehearsal::Rehearsal;
    use serde_json::{Value, json};
    use ui5_manifest::pack::Pack;

    #[test]
    fn the_latest_version_is_used_if_none_is_given() {
        let list = json!({ "latest": { "version": "1.200.3", "support": "Maintenance" } });
        let _host =
            Rehearsal::new().page("https://ui5.sap.com/version.json", 200, list.to_string());
        let chosen = choose(Framework::SapUi5, None).expect("there is one");
        assert_eq!(chosen, ChosenVersion { version: Version::new(1, 200, 3), note: None });
    }

    #[test]
    fn without_a_network_the_note_has_the_date() {
        let _host = Rehearsal::new();
        let chosen = choose(Framework::OpenUi5, None).expect("there is a table");
        assert!(chosen.version >= Version::new(1, 136, 0));
        assert!(chosen.note.expect("it is told").contains("From a table of 20"));
    }

    #[test]
    fn impossible_versions_are_refused() {
        let refused = |text| choose(Framework::SapUi5, Some(text)).expect_err(text);
        for text in ["", "1.96", "1.96.0.1", "v1.96.0", "1.x.0", "1.120.0\n", "1.120.0-rc"] {
            assert_eq!(refused(text), "Version must be in format X.Y.Z, e.g. 1.120.0");
        }
        for text in ["1.096.0", "1.99999999999999999999.0"] {
            assert!(refused(text).contains("Please use a semantic version"), "{text}");
        }
        assert_eq!(
            refused("1.95.0"),
            "The provided framework version 1.95.0 is not valid!\nThe minimum version for SAPUI5 is 1.96.0."
        );
        assert!(choose(Framework::SapUi5, Some("1.96.0")).is_ok());
    }

    #[test]
    fn manifest_versions_are_those_of_the_mapping() {
        let pack = Pack::open(include_bytes!("../../../resources/manifest-schemas.pack"));
        let mapping = pack.document("mapping").expect("it is packed");
        assert_eq!(mapping["latest"], Value::String(manifest_of_card()));
        for minor in 96..136 {
            let expected = &mapping[format!("1.{minor}")];
            assert_eq!(*expected, Value::String(manifest_of_app(&Version::new(1, minor, 7))));
        }
        assert_eq!(manifest_of_app(&Version::new(1, 136, 0)), "2.0.0");
        assert_eq!(manifest_of_app(&Version::new(2, 0, 0)), "2.0.0");
    }
}
