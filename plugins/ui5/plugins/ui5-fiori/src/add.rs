//! The tool `add_fiori_page`: adds a list report or an object page to an app of SAP Fiori elements.

mod plan;
#[cfg(test)]
mod tests;

use crate::{
    app::{Kind, Manifest},
    edit,
    metadata::Metadata,
};
use plan::PagePlan;
use portcullis_plugin::{changes, prelude::*};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Add a list report or an object page to an SAP Fiori elements app for OData V4, by editing its manifest.json: target, route, navigation from the parent page and, if missing, the dependency on sap.fe.templates. Call list_fiori_apps first: it names the pages and services of the app. Nothing is written if the result would not be consistent.
#[arguments]
pub struct AddPage {
    /// Absolute path of the app: the folder with manifest.json, or the one with webapp/manifest.json.
    #[path(directory, write)]
    app_directory: String,
    /// Type of the page: a list report shows a table with filters, an object page one entity with its details.
    page_type: PageType,
    /// Entity set that the page shows, such as 'Books'. Omit it for an object page that is reached by a navigation property.
    #[schemars(regex(pattern = r"^[A-Za-z_][A-Za-z0-9_]*$"))]
    entity_set: Option<String>,
    /// Name of the page from which the user navigates to the new object page. May be omitted if at most one list report shows the entity set.
    parent_page: Option<String>,
    /// Navigation property of the parent page's entity, such as 'chapters', whose entities the new object page shows. Only for object pages whose parent is an object page.
    #[schemars(regex(pattern = r"^[A-Za-z_][A-Za-z0-9_]*$"))]
    navigation_property: Option<String>,
    /// Only check everything and show what would be added.
    #[serde(default)]
    dry_run: bool,
}

/// The type of a page.
#[data]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "PascalCase")]
#[schemars(inline)]
#[expect(missing_docs, reason = "with docs, the schema would be a list of lengthy alternatives")]
pub enum PageType {
    ListReport,
    ObjectPage,
}

impl PageType {
    /// The name of the template.
    pub fn template(self) -> &'static str {
        match self {
            Self::ListReport => "sap.fe.templates.ListReport",
            Self::ObjectPage => "sap.fe.templates.ObjectPage",
        }
    }
}

impl Tool for AddPage {
    const NAME: &'static str = "add_fiori_page";
    const TITLE: Option<&'static str> = Some("Add Fiori Page");
    const HINTS: Hints = Hints::new().read_only(false).destructive(false);
    type Output = String;

    fn call(self, request: &Request) -> Result<String, Failure> {
        self.add(request).map_err(Failure::new)
    }
}

impl AddPage {
    fn add(&self, request: &Request) -> Result<String, String> {
        for name in [&self.entity_set, &self.navigation_property].into_iter().flatten() {
            if !is_name(name) {
                return Err(format!(
                    "'{}' cannot be the name of an entity set or a navigation property.",
                    name.escape_debug()
                ));
            }
        }
        let path = manifest_in(Path::new(&self.app_directory))?;
        let manifest = Manifest::read(&path)?;
        let plan = self.plan(&manifest, &path)?;
        let mut content = manifest.content.clone();
        plan.apply(&mut content)?;
        let faults = new_faults(&manifest.content, &content);
        if !faults.is_empty() {
            return Err(format!(
                "The manifest would not be consistent: {} Nothing was written.",
                faults.join(" ")
            ));
        }
        if !self.dry_run {
            if request.cancelled() {
                return Err("The call was cancelled. Nothing was written.".to_owned());
            }
            write(&manifest, &path, &content)?;
        }
        Ok(self.answer(&plan, &manifest, &path))
    }

    fn plan(&self, manifest: &Manifest, path: &Path) -> Result<PagePlan, String> {
        match manifest.kind() {
            Some(Kind::V4) => {}
            Some(Kind::V2) => {
                return Err(
                    "This is an app of SAP Fiori elements for OData V2. This tool adds pages to \
                            apps for OData V4 only. Nothing was written."
                        .to_owned(),
                );
            }
            None => {
                return Err(format!(
                    "{} is not the manifest of an app of SAP Fiori elements. Call list_fiori_apps to \
                     find such apps. Nothing was written.",
                    path.display()
                ));
            }
        }
        let plan = PagePlan::new(self, manifest)?;
        if let Some(metadata) = local_metadata(manifest, path) {
            metadata.check(&plan.context_path)?;
        }
        Ok(plan)
    }

    fn answer(&self, plan: &PagePlan, manifest: &Manifest, path: &Path) -> String {
        let begin = if self.dry_run { "Dry run: nothing was written. Would add" } else { "Added" };
        let mut text = format!(
            "{begin} the page '{}' ({}, {}) to {}\nRoute: {}\n",
            plan.name,
            self.page_type.template(),
            plan.context_path,
            path.display(),
            plan.pattern
        );
        match &plan.parent {
            Some(parent) => text.push_str(&format!(
                "Navigation: from the page '{}' by '{}'\n",
                parent.name, parent.navigation
            )),
            None if self.page_type == PageType::ObjectPage => text.push_str(
                "No page navigates to the new page, since the app has no list report for this entity set.\n",
            ),
            None => {}
        }
        if local_metadata(manifest, path).is_none() {
            text.push_str(
                "The names were not checked, since the app has no local metadata of its main service \
                 that can be read.\n",
            );
        }
        if !edit::keeps_format(manifest) {
            text.push_str(
                "This tool does not keep the formatting of this manifest: white space or escapes change \
                 elsewhere in the file, too.\n",
            );
        }
        text.push_str(
            "Now call run_manifest_validation for this manifest. What the page shows is defined by \
             annotations: UI.LineItem for a list report, UI.HeaderInfo and UI.Facets for an object page.\n",
        );
        text
    }
}

/// Writes the changed content, unless somebody else has changed the file since it was read.
fn write(manifest: &Manifest, path: &Path, content: &Value) -> Result<(), String> {
    changes::new()
        .replace_version(path, &manifest.sha256(), edit::text(manifest, content))
        .apply()
        .map_err(|error| format!("The manifest was not changed: {error}."))
}

/// The manifest in a folder of an app, or in its `webapp`.
fn manifest_in(folder: &Path) -> Result<PathBuf, String> {
    let places = ["manifest.json", "webapp/manifest.json"].map(|place| folder.join(place));
    places.into_iter().find(|path| path.is_file()).ok_or_else(|| {
        format!(
            "There is neither manifest.json nor webapp/manifest.json in {}. Nothing was written.",
            folder.display()
        )
    })
}

/// The local copy of the metadata of the main model's service.
fn local_metadata(manifest: &Manifest, path: &Path) -> Option<Metadata> {
    let main = manifest.content["sap.ui5"]["models"][""]["dataSource"].as_str()?;
    let service = manifest.services().into_iter().find(|service| service.name == main)?;
    let local = service.local_metadata?;
    let is_beneath = !local.starts_with('/') && !local.split(['/', '\\']).any(|part| part == "..");
    is_beneath.then(|| Metadata::read(&path.parent()?.join(local)))?
}

/// Whether the text is a simple identifier of OData in ASCII.
fn is_name(text: &str) -> bool {
    (1..=128).contains(&text.len())
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Inconsistencies of the routing that an edit would introduce.
fn new_faults(before: &Value, after: &Value) -> Vec<String> {
    let known = plan::routing_errors(before);
    plan::routing_errors(after).into_iter().filter(|fault| !known.contains(fault)).collect()
}
