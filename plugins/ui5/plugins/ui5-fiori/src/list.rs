//! The tool `list_fiori_apps`: the apps of SAP Fiori elements beneath a folder.

use crate::{
    app::{Kind, Manifest, Page, Service},
    find,
};
use portcullis_plugin::prelude::*;
use std::path::Path;

/// Maximum size of the apps in one answer, in bytes of JSON. The answer has the apps twice, as text and as
/// structured content.
const MAX_APPS_BYTES: usize = 2_900;

/// Maximum size of the notes in one answer, in bytes.
const MAX_NOTES_BYTES: usize = 700;

/// Find the SAP Fiori elements apps in a folder, with their pages and OData services. Call this before changing such an app or adding a page to one.
#[arguments]
pub struct ListApps {
    /// Absolute path of the folder to search, with its subfolders: a project or a workspace.
    #[path(directory, read)]
    directory: String,
    /// Number of apps to skip: an answer without the last apps names the next offset.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000))]
    offset: u32,
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
        let total = apps.len();
        let offset = usize::try_from(self.offset)?;
        apps.drain(..offset.min(total));
        let shown = count_fitting(
            apps.iter().map(|app| serde_json::to_string(app).map_or(0, |it| it.len())),
            MAX_APPS_BYTES,
        );
        // One app is shown even if it is large.
        apps.truncate(shown.max(1));
        let count = notes.len();
        notes.truncate(count_fitting(notes.iter().map(String::len), MAX_NOTES_BYTES));
        if notes.len() < count {
            notes.push(format!("{} more notes were left out.", count - notes.len()));
        }
        let end = offset + apps.len();
        if end < total {
            notes.push(format!(
                "Apps {} to {end} of {total} are shown: go on at offset {end}, or name a folder with fewer apps.",
                offset + 1
            ));
        } else if offset > 0 && apps.is_empty() {
            notes.push(format!("There are {total} apps: offset {offset} is after the last one."));
        }
        Ok(Json(Apps { apps, others, notes }))
    }
}

/// How many of the first pieces with these lengths fit in `max_bytes` bytes.
fn count_fitting(lengths: impl Iterator<Item = usize>, max_bytes: usize) -> usize {
    let mut size = 0;
    let fits = |length: &usize| {
        // One byte for the comma.
        size += length + 1;
        size <= max_bytes
    };
    lengths.take_while(fits).count()
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
    use crate::test_support::Folder;
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
    fn many_apps_come_in_parts_of_a_few_thousand_bytes() {
        let folder = Folder::new();
        for number in 0..40 {
            let manifest = json!({ "sap.app": { "id": format!("app{number:02}") }, "sap.ui5": {
                "dependencies": { "libs": { "sap.fe.templates": {} } } } });
            write(&folder, &format!("{number:02}/manifest.json"), &manifest.to_string());
            write(&folder, &format!("broken{number}/manifest.json"), "{");
        }
        let (mut ids, mut offset) = (Vec::new(), Some(0));
        while let Some(start) = offset {
            let arguments = json!({ "directory": folder.argument(), "offset": start });
            let reply = Rehearsal::new().call::<ListApps>(arguments).expect("it can be searched");
            let found = reply.structured.clone().expect("it is an object");
            assert!(reply.as_text().len() + found.to_string().len() <= 7_500, "{found}");
            let apps = found["apps"].as_array().expect("there are some");
            ids.extend(apps.iter().map(|app| app["id"].clone()));
            let notes = found["notes"].to_string();
            assert!(notes.contains("more notes were left out"), "{notes}");
            let next = notes.split_once("go on at offset ").map(|(_, rest)| rest);
            offset = next.and_then(|rest| rest.split(',').next()?.parse().ok());
            assert!(offset.is_none_or(|next: usize| next > start));
        }
        let all: Vec<Value> = (0..40).map(|number| json!(format!("app{number:02}"))).collect();
        assert_eq!(ids, all);
        let arguments = json!({ "directory": folder.argument(), "offset": 40 });
        let behind = Rehearsal::new().call::<ListApps>(arguments).expect("it can be searched");
        assert!(
            behind.as_text().contains("offset 40 is after the last one"),
            "{}",
            behind.as_text()
        );
    }

    #[test]
    fn an_empty_folder_has_no_apps_and_a_file_is_refused() {
        let folder = Folder::new();
        assert_eq!(listed(&folder), json!({ "apps": [], "others": 0 }));
        let arguments = json!({ "directory": folder.path().join("none") });
        let refused = Rehearsal::new().call::<ListApps>(arguments).expect_err("it is not there");
        assert!(refused.to_string().contains("There is no folder"), "{refused}");
    }
}
