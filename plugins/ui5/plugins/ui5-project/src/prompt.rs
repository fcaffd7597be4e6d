//! The prompt that upgrades a project to a newer UI5.

use portcullis_plugin::prelude::*;
use ui5::{
    Cdn, Framework,
    versions::{self, Versions},
};

/// Upgrades a UI5 project to the latest version of UI5, or to the one that is named.
#[arguments]
pub struct Upgrade {
    /// The root directory of the UI5 project, as an absolute path.
    project_dir: String,
    /// OpenUI5 or SAPUI5. Default: the framework of the project.
    framework: Option<String>,
    /// The version to upgrade to, such as 1.136.5, or `lts` for the newest with long-term maintenance. Default: the latest.
    version: Option<String>,
}

impl Prompt for Upgrade {
    const NAME: &'static str = "upgrade_ui5";
    const TITLE: Option<&'static str> = Some("Upgrade to the latest UI5");

    fn get(self, _request: &Request) -> Result<Messages, Failure> {
        let Self { project_dir, framework, version } = self;
        let framework = given(framework).map(|name| name.parse::<Framework>()).transpose();
        let framework = framework.map_err(Failure::new)?;
        let target = target(framework, given(version).as_deref())?;
        let named = framework.map_or("UI5", Framework::name);
        Ok(Messages::new().user(format!(
            "Upgrade the UI5 project in {project_dir} to {target}.

1. Call `get_guidelines`, unless you have done so before, and `get_project_info` for that directory: it says \
             which framework and version the project uses now. Do not change from SAPUI5 to OpenUI5 or back.
2. Note what works now: the build, the tests, and what `run_ui5_linter` finds. Look for uncommitted \
             changes; if there are any, ask the user before you go on.
3. Name the new version everywhere the old one is named: `framework.version` in `ui5.yaml` (with \
             `ui5 use {named}@VERSION`, if the UI5 CLI is there), the types in `package.json` \
             (`@openui5/types` or `@sapui5/types`), pages that load UI5 from a CDN, and \
             `sap.ui5/dependencies/minUI5Version` in manifest.json, if the application is to need the new version.
4. Raise `_version` in manifest.json to the manifest version of the new UI5 version, but no further than \
             `minUI5Version` allows, and call `run_manifest_validation`.
5. Call `run_ui5_linter`: its findings name deprecated API, themes and libraries. Replace these. Ask \
             `get_api_reference` for replacements: it answers for the version that the project names, which is \
             now the new one.
6. If many minor versions lie between the old one and the new one, go in steps over versions with long-term \
             maintenance, and test after each.
7. Build, run the tests, start the application and look at it. Report what changed, what the user should look \
             at, and until when the new version is maintained: `get_version_info` says it."
        )))
    }

    fn complete(
        _request: &Request,
        argument: &str,
        value: &str,
        context: &[(String, String)],
    ) -> Vec<String> {
        let choices: Vec<String> = match argument {
            "framework" => {
                Framework::ALL.iter().map(|framework| framework.name().to_owned()).collect()
            }
            "version" => {
                let named = context.iter().find(|(name, _)| name == "framework");
                let framework = named.and_then(|(_, name)| name.parse().ok());
                let list = version_list(framework.unwrap_or(Framework::SapUi5));
                let mut choices = vec!["lts".to_owned()];
                if let Ok(list) = &list {
                    choices.extend(list.releases().map(|(_, release)| release.version.to_owned()));
                }
                choices
            }
            _ => Vec::new(),
        };
        let typed = value.to_lowercase();
        let mut fitting: Vec<String> = Vec::new();
        for choice in choices {
            if choice.to_lowercase().starts_with(&typed) && !fitting.contains(&choice) {
                fitting.push(choice);
            }
        }
        fitting
    }
}

/// The user's input; `None` if it is empty.
fn given(text: Option<String>) -> Option<String> {
    text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn version_list(framework: Framework) -> Result<Versions, Failure> {
    Ok(versions::of(framework, &Cdn::from_settings().map_err(Failure::new)?))
}

/// Describes the target version, as far as possible without reading the project.
fn target(framework: Option<Framework>, version: Option<&str>) -> Result<String, Failure> {
    let asks = "ask `get_version_info` for the framework that the project uses";
    Ok(match (framework, version) {
        (None, None) => format!("the latest version of UI5: {asks}"),
        (None, Some("lts")) => {
            format!("the newest version of UI5 with long-term maintenance: {asks}")
        }
        (None, Some(version)) => format!("UI5 {version}"),
        (Some(framework), None) => {
            let list = version_list(framework)?;
            let note = list.note().map(|note| format!(" ({note})")).unwrap_or_default();
            format!("{framework} {}, the latest version{note}", list.latest().version)
        }
        (Some(framework), Some("lts")) => match version_list(framework)?.latest_lts() {
            Some(version) => {
                format!("{framework} {version}, the newest version with long-term maintenance")
            }
            None => format!("the newest version of {framework} with long-term maintenance: {asks}"),
        },
        (Some(framework), Some(version)) => format!("{framework} {version}"),
    })
}
