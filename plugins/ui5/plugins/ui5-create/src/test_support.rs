//! Validates manifests in tests, and makes temporary folders.

use ajv_report::{Dialect, Schema};
use portcullis_plugin::serde_json::{Value, json};
use std::{fs, path::Path};
use tempfile::TempDir;
use ui5_manifest::{pack::Pack, schema};

/// Fails the test if the manifest is invalid, and lists all errors.
pub fn assert_valid(manifest: &Value) {
    let pack = Pack::open(include_bytes!("../../../resources/manifest-schemas.pack"));
    let mut manifest = manifest.clone();
    let version = manifest["_version"].as_str().expect("it has a version").to_owned();
    if version.starts_with("2.") {
        assert_second_version(&manifest);
        // The schema of 1.89.0 stands in for those of manifests 2.x. `assert_second_version` checks the difference.
        manifest["_version"] = json!("1.89.0");
    }
    let find = |version: &str| schema::find(&pack, version, |_| Err("no network".to_owned()));
    let schema = find(manifest["_version"].as_str().expect("it has a version"));
    let schema = schema.unwrap_or_else(|_| {
        // Patches such as 1.50.1 are not in the lists of later schemas.
        manifest["_version"] = json!("1.89.0");
        find("1.89.0").expect("it is packed")
    });
    let packed = |name| pack.document(name).expect("it is packed");
    let (card, draft_07) = (packed("adaptive-card"), packed("draft-07"));
    assert!(matches!(schema.dialect, Dialect::Draft07 | Dialect::Draft202012));
    let judge = Schema::new(schema.dialect, &schema.document, |uri| match uri {
        "https://adaptivecards.io/schemas/adaptive-card.json" => Some(&card),
        "http://json-schema.org/draft-07/schema" => Some(&draft_07),
        _ => None,
    });
    let errors = judge.errors(&manifest).expect("the schema is supported");
    let errors: Vec<String> =
        errors.iter().map(|error| format!("{} {}", error.instance_path, error.message)).collect();
    assert!(errors.is_empty(), "{errors:#?}\n{manifest:#}");
}

/// Fails the test if the manifest has properties that manifests 2.x no longer have.
fn assert_second_version(manifest: &Value) {
    for pointer in [
        "/sap.ui5/rootView/async",
        "/sap.ui5/routing/config/async",
        "/sap.ui5/models//settings/synchronizationMode",
        "/sap.ui5/handleValidation",
        "/sap.ui5/resources",
    ] {
        assert_eq!(manifest.pointer(pointer), None, "{pointer}");
    }
}

/// A temporary folder, removed when the value is dropped.
pub struct Folder(TempDir);

impl Folder {
    /// Makes an empty folder.
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder can be made"))
    }

    /// The path.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The path as an argument.
    pub fn argument(&self) -> &str {
        self.path().to_str().expect("its path is text")
    }

    /// Reads a file in the folder.
    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Reads a JSON file in the folder.
    pub fn json(&self, path: &str) -> Value {
        self.read(path).parse().unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// All files and directories in the folder, sorted; directories end with a slash.
    pub fn list(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut open = vec![self.path().to_owned()];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(directory).expect("it can be listed") {
                let path = entry.expect("it can be listed").path();
                let is_directory = path.symlink_metadata().expect("it is there").is_dir();
                let name = path
                    .strip_prefix(self.path())
                    .expect("the path is beneath the folder")
                    .display();
                found.push(format!("{name}{}", if is_directory { "/" } else { "" }));
                if is_directory {
                    open.push(path);
                }
            }
        }
        found.sort();
        found
    }
}
