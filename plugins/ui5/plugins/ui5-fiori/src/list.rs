//! The tool `list_fiori_apps`: the apps of SAP Fiori elements beneath a folder.

use crate::{
    app::{Kind, Manifest, Page, Service},
    find,
};
use portcullis_plugin::prelude::*;
use std::path::Path;

/// Apps in one answer.
const AT_MOST: usize = 30;

/// Find the SAP Fiori elements apps in a folder, with their pages and OData services. Call this before changing such an app or adding a page to one.
#[arguments]
pub struct ListApps {
    /// Absolute path of the folder to search, with its subfolders: a project or a workspace.
    #[path(directory, read)]
    directory: String,
}

/// The apps.
#[data]
#[derive(Debug, PartialEq)]
pub struct Apps {
    /// The apps of SAP Fiori elements
    pub apps: Vec<App>,
    /// The number of other apps, libraries and cards in the folder
    pub others: usize,
    /// What could not be read or was left out
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub notes: Vec<String>,
}

/// An app.
#[data]
#[derive(Debug, PartialEq)]
pub struct App {
    /// The id, which is the namespace of the app
    pub id: String,
    /// The kind of app
    pub kind: Kind,
    /// Absolute path of the manifest
    pub manifest: String,
    /// The pages, in the order of the manifest
    pub pages: Vec<Page>,
    /// The OData services
    pub services: Vec<Service>,
}

impl Tool for ListApps {
    const NAME: &'static str = "list_fiori_apps";
    const TITLE: Option<&'static str> = Some("List Fiori Apps");
    const HINTS: Hints = Hints::new().read_only(true).idempotent(true);
    type Output = Json<Apps>;

    fn call(self, request: &Request) -> Result<Json<Apps>, Failure> {
        let directory = Path::new(&self.directory);
        if !directory.is_dir() {
            return Err(Failure::new(format!("There is no folder {}.", directory.display())));
        }
        let found = find::manifests(directory);
        let (mut apps, mut others, mut notes) = (Vec::new(), 0, Vec::new());
        for path in &found.manifests {
            if request.cancelled() {
                return Err(Failure::new("The call was cancelled."));
            }
            match Manifest::read(path) {
                Ok(manifest) => match manifest.kind() {
                    Some(kind) => apps.push(app(&manifest, kind, path)),
                    None => others += 1,
                },
                Err(why) => notes.push(why),
            }
        }
        if found.is_partial {
            notes.push(
                "The folder is too large or too deep: not all of it was searched.".to_owned(),
            );
        }
        let left = apps.len().saturating_sub(AT_MOST);
        if left > 0 {
            apps.truncate(AT_MOST);
            notes
                .push(format!("{left} more apps were left out. Name a folder with fewer of them."));
        }
        let more = notes.len().saturating_sub(AT_MOST);
        notes.truncate(AT_MOST);
        if more > 0 {
            notes.push(format!("{more} more notes were left out."));
        }
        Ok(Json(Apps { apps, others, notes }))
    }
}

fn app(manifest: &Manifest, kind: Kind, path: &Path) -> App {
    App {
        id: manifest.id().unwrap_or_default().to_owned(),
        kind,
        manifest: path.display().to_string(),
        pages: manifest.pages(),
        services: manifest.services(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Folder;
    use portcullis_plugin::rehearsal::Rehearsal;
    use serde_json::{Value, json};
    use std::fs;

    fn write(folder: &Folder, path: &str, text: &str) {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("it has one")).expect("it can be made");
        fs::write(path, text).expect("it can be written");
    }

    fn listed(folder: &Folder) -> Value {
        let arguments = json!({ "directory": folder.argument() });
        let reply = Rehearsal::new().call::<ListApps>(arguments).expect("it can be searched");
        reply.structured.expect("it is an object")
    }

    #[test]
    fn apps_of_both_kinds_are_found_with_pages_and_services() {
        let folder = Folder::new();
        let v4 = json!({
            "sap.app": { "id": "a.four", "dataSources": {
                "main": { "uri": "/odata/v4/catalog/", "type": "OData", "settings": {
                    "odataVersion": "4.0", "localUri": "localService/metadata.xml" } },
                "notes": { "uri": "/x", "type": "ODataAnnotation" } } },
            "sap.ui5": { "dependencies": { "libs": { "sap.fe.templates": {} } }, "routing": {
                "routes": [{ "pattern": ":?query:", "name": "BooksList", "target": "BooksList" }],
                "targets": { "BooksList": { "type": "Component", "name": "sap.fe.templates.ListReport",
                    "options": { "settings": { "contextPath": "/Books" } } } } } },
        });
        let v2 = json!({
            "sap.app": { "id": "a.two" },
            "sap.ui.generic.app": { "pages": { "LR|Books": { "entitySet": "Books",
                "component": { "name": "sap.suite.ui.generic.template.ListReport" },
                "pages": { "OP|Books": { "entitySet": "Books",
                    "component": { "name": "sap.suite.ui.generic.template.ObjectPage" } } } } } },
        });
        write(&folder, "app/two/webapp/manifest.json", &v2.to_string());
        write(&folder, "app/four/webapp/manifest.json", &format!("\u{feff}{v4}"));
        write(&folder, "free/webapp/manifest.json", "{\"sap.app\": {\"id\": \"free\"}}");
        write(&folder, "broken/manifest.json", "{");
        let found = listed(&folder);
        assert_eq!(found["others"], 1);
        assert!(found["notes"][0].as_str().expect("it is told").contains("broken/manifest.json"));
        let [four, two] = found["apps"].as_array().expect("there are apps").as_slice() else {
            panic!("there are two: {found}")
        };
        assert_eq!(
            (&four["id"], &four["kind"]),
            (&json!("a.four"), &json!("Fiori elements for OData V4"))
        );
        assert_eq!(
            four["pages"],
            json!([{ "name": "BooksList", "template": "sap.fe.templates.ListReport",
                     "shows": "/Books", "pattern": ":?query:" }])
        );
        assert_eq!(
            four["services"],
            json!([{ "name": "main", "uri": "/odata/v4/catalog/", "odataVersion": "4.0",
                     "localMetadata": "localService/metadata.xml" }])
        );
        assert_eq!(two["kind"], "Fiori elements for OData V2");
        let names: Vec<&Value> = two["pages"]
            .as_array()
            .expect("there are pages")
            .iter()
            .map(|page| &page["name"])
            .collect();
        assert_eq!(names, ["LR|Books", "OP|Books"]);
    }

    #[test]
    fn an_empty_folder_has_no_apps_and_a_file_is_no_folder() {
        let folder = Folder::new();
        assert_eq!(listed(&folder), json!({ "apps": [], "others": 0 }));
        let arguments = json!({ "directory": folder.path().join("none") });
        let refused = Rehearsal::new().call::<ListApps>(arguments).expect_err("it is not there");
        assert!(refused.to_string().contains("There is no folder"), "{refused}");
    }
}
