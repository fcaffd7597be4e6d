//! The tools `get_project_info` and `get_version_info`: a UI5 project, and the support of its
//! version.

mod prompt;

use portcullis_plugin::prelude::*;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use ui5::{
    Cdn, Framework,
    project::{self, Project},
    versions::{self, Support},
};

/// Get version information for UI5 (OpenUI5 or SAPUI5)
#[arguments]
struct VersionInfo {
    /// The UI5 framework to get version information for
    framework_name: Framework,
}

/// The versions of a framework.
#[data]
struct VersionList {
    /// All known versions with their support information
    #[schemars(with = "BTreeMap<String, Version>")]
    versions: Map<String, Value>,
    /// Until when the versions are maintained and served, by minor version, as far as it is known. `Q3/2026` is a quarter.
    #[serde(skip_serializing_if = "Map::is_empty")]
    #[schemars(with = "Option<BTreeMap<String, Dates>>")]
    maintenance: Map<String, Value>,
    /// Source and age of the data, if they were not fetched from the UI5 CDN in the last six hours.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// A version.
#[data]
struct Version {
    version: String,
    support: String,
    lts: bool,
}

/// Dates on which the maintenance of a minor version ends.
#[data]
struct Dates {
    /// Until when there are bug fixes.
    #[serde(skip_serializing_if = "Option::is_none")]
    end_of_maintenance: Option<String>,
    /// Until when the CDN serves the version.
    #[serde(skip_serializing_if = "Option::is_none")]
    end_of_cloud_provisioning: Option<String>,
}

impl Tool for VersionInfo {
    const NAME: &'static str = "get_version_info";
    const TITLE: Option<&'static str> = Some("UI5 Version Info");
    const HINTS: Hints = Hints::new().read_only(true).idempotent(true);
    type Output = Json<VersionList>;

    fn call(self, _request: &Request) -> Result<Json<VersionList>, Failure> {
        let cdn = Cdn::from_settings().map_err(Failure::new)?;
        let list = versions::of(self.framework_name, &cdn);
        let (mut maintenance, source) = versions::dates(self.framework_name, &cdn);
        maintenance.retain(|minor, _| list.minor(minor).is_some());
        let note = list.note().or_else(|| {
            let note = source.note()?;
            (!maintenance.is_empty()).then(|| format!("The end of maintenance: {note}"))
        });
        // Checked entries have the members of `Version`, and no others.
        Ok(Json(VersionList { versions: list.entries, maintenance, note }))
    }
}

/// Get general information about a local UI5 project.
#[arguments]
struct ProjectInfo {
    /// Root directory of the UI5 project to analyze. Must be an absolute path. If a path to a file is provided, the root directory will be determined automatically.
    #[path(directory, read, nearest = ["ui5-local.yaml", "ui5.yaml", "package.json", "webapp", "src"])]
    project_dir: String,
}

/// A project.
#[data]
#[derive(Debug, PartialEq)]
struct Info {
    /// The root directory of the UI5 project, containing the 'package.json' and 'ui5.yaml' files.
    project_dir: String,
    /// The name of the project. Note that this may *not* be the namespace
    project_name: String,
    project_type: String,
    /// Whether the project uses OpenUI5 or SAPUI5
    #[serde(skip_serializing_if = "Option::is_none")]
    framework_name: Option<Framework>,
    /// The version of the framework used in the project
    #[serde(skip_serializing_if = "Option::is_none")]
    framework_version: Option<String>,
    /// The framework libraries used in the project
    framework_libraries: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version_info: Option<Standing>,
    /// Source and age of the version information, if it was not fetched from the UI5 CDN in the last six hours.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// State of support of the framework's version.
#[data]
#[derive(Debug, PartialEq)]
struct Standing {
    support_status: String,
    /// Whether the framework version is a Long Term Support (LTS) version
    #[serde(skip_serializing_if = "Option::is_none")]
    is_lts: Option<bool>,
    latest_version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    latest_lts_version: Option<String>,
}

impl Tool for ProjectInfo {
    const NAME: &'static str = "get_project_info";
    const TITLE: Option<&'static str> = Some("UI5 Project Info");
    const HINTS: Hints = Hints::new().read_only(true).idempotent(true);
    type Output = Json<Info>;

    fn call(self, _request: &Request) -> Result<Json<Info>, Failure> {
        let project = project::find(&self.project_dir).map_err(Failure::new)?;
        let (version_info, note) = standing(&project).map_err(Failure::new)?.unzip();
        Ok(Json(Info {
            project_dir: project.directory,
            project_name: project.name,
            project_type: project.kind,
            framework_name: project.framework,
            framework_version: project.framework_version,
            framework_libraries: project.framework_libraries,
            version_info,
            note: note.flatten(),
        }))
    }
}

/// The support of the project's version, if configured, and a note about its source.
fn standing(project: &Project) -> Result<Option<(Standing, Option<String>)>, String> {
    let (Some(framework), Some(version)) = (project.framework, &project.framework_version) else {
        return Ok(None);
    };
    let versions = versions::of(framework, &Cdn::from_settings()?);
    let Support { status, is_lts, latest, latest_lts } = versions.support(version);
    let standing = Standing {
        support_status: status,
        is_lts,
        latest_version: latest,
        latest_lts_version: latest_lts,
    };
    Ok(Some((standing, versions.note())))
}

plugin! {
    name: "ui5-project",
    title: "UI5 projects and versions",
    description: "Describes a UI5 project and the maintenance of its UI5 version; without a network, from an earlier list or a bundled table.",
    tools: [ProjectInfo, VersionInfo],
    prompts: [prompt::Upgrade],
    wants: [
        Want::http("ui5.sap.com", "GET", "to fetch the list of SAPUI5 versions"),
        Want::http("sdk.openui5.org", "GET", "to fetch the list of OpenUI5 versions"),
        Want::http("$cdn-url", "GET", "to fetch the lists from the configured mirror instead").optional(),
        Want::directory("$versions-dir", "to read lists of versions that were brought from elsewhere")
            .optional(),
        Want::settings("versions-dir", "the absolute path of the folder with lists of versions that were brought from elsewhere"),
        Want::settings("cdn-url", "the address of a mirror of both CDNs"),
        Want::cache(4 * 1024 * 1024, "to fetch the lists at most once in six hours"),
    ],
}

#[cfg(test)]
mod tests;
