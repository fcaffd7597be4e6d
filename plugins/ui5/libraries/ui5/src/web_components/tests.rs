//! Tests of web components: the converted manifests, and which version answers.

use super::*;
use crate::reference::{full, outline};
use serde_json::json;
use tempfile::TempDir;

fn manifest(text: &str) -> Value {
    json!({ "modules": [
        { "path": "dist/Button.js", "declarations": [
            { "kind": "class", "name": "Button", "tagName": "ui5-button", "description": text,
              "_ui5privacy": "public", "_ui5since": "1.0", "deprecated": true,
              "superclass": { "name": "Base", "package": "@ui5/webcomponents", "module": "dist/Base.js" },
              "attributes": [{ "name": "end-icon", "fieldName": "endIcon" }],
              "members": [
                { "kind": "field", "name": "endIcon", "privacy": "public", "default": "undefined",
                  "type": { "text": "string | undefined", "references": [{ "name": "x" }] } },
                { "kind": "field", "name": "design", "privacy": "public", "default": "\"Default\"" },
                { "kind": "field", "name": "_inner", "privacy": "private" },
                { "kind": "method", "name": "press", "privacy": "public",
                  "parameters": [{ "name": "n", "type": { "text": "number" } }],
                  "return": { "type": { "text": "void" } } },
              ],
              "slots": [{ "name": "badge", "description": "A badge." }],
              "events": [{ "name": "click", "_ui5parameters": [{ "name": "target" }] }] },
            { "kind": "interface", "name": "IButton", "_ui5privacy": "public" },
            { "kind": "interface", "name": "Hidden", "_ui5privacy": "private" },
        ] },
        { "path": "dist/Base.js", "declarations": [
            { "kind": "class", "name": "Base", "members": [{ "kind": "method", "name": "focus" }] },
        ] },
        { "path": "dist/types/ButtonDesign.js", "declarations": [
            { "kind": "enum", "name": "ButtonDesign", "_ui5privacy": "public",
              "members": [{ "kind": "field", "name": "Default", "default": "Default" }] },
        ] },
    ] })
}

/// The reference that a plugin carries, of version 2.26.0.
fn carried() -> &'static [u8] {
    let packages = vec![(PACKAGES[0].to_owned(), "2.26.0".to_owned(), manifest("Carried."))];
    pack(packages, 1).expect("it is small").leak()
}

fn project(package: &str, installed: Option<&str>) -> (TempDir, Project) {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    let write = |path: &str, text: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("it has one")).expect("it is writable");
        fs::write(path, text).expect("it is writable");
    };
    write("webapp/manifest.json", r#"{"sap.app": {"id": "my.app"}}"#);
    write("package.json", package);
    if let Some(version) = installed {
        let place = "node_modules/@ui5/webcomponents";
        let package = format!("\u{feff}{}", json!({ "version": version }));
        write(&format!("{place}/package.json"), &package);
        write(&format!("{place}/dist/custom-elements.json"), &manifest("Installed.").to_string());
    }
    let project = Project::open(root.to_str().expect("its path is text")).expect("it is one");
    (folder, project)
}

fn found(components: &mut WebComponents, query: &str) -> Map<String, Value> {
    match components.find(query) {
        Ok(Found::One(hit)) => full(&hit),
        other => panic!("{query}: {other:?}"),
    }
}

#[test]
fn every_form_of_query() {
    let (_folder, project) = project("{}", None);
    let mut components = WebComponents::open(&project, carried()).expect("it is whole");
    for (query, kind, name) in [
        ("ui5-button", "class", "Button"),
        ("@ui5/webcomponents/dist/Button.js", "class", "Button"),
        ("@ui5/webcomponents/dist/Button", "class", "Button"),
        ("@ui5/webcomponents/Button", "class", "Button"),
        ("Button", "class", "Button"),
        ("IButton", "interface", "IButton"),
        ("Button#design", "property", "design"),
        ("ui5-button#end-icon", "property", "endIcon"),
        ("@ui5/webcomponents/dist/Button.js#click", "event", "click"),
        ("ui5-button#badge", "slot", "badge"),
        ("ui5-button#press", "method", "press"),
        ("ui5-button#focus", "method", "focus"),
        ("ButtonDesign#default", "enum-property", "Default"),
        ("@ui5/webcomponents/dist/types/ButtonDesign.js", "enum", "ButtonDesign"),
    ] {
        let shown = found(&mut components, query);
        assert_eq!((&shown["kind"], &shown["name"]), (&kind.into(), &name.into()), "{query}");
        assert_eq!(shown["library"], "@ui5/webcomponents");
    }
    for (query, near) in [("ui5-buton", "ui5-button"), ("ui5-buton#press", "ui5-button#press")] {
        let miss = components.find(query).expect_err("it is not there");
        assert_eq!(miss.near, [near], "{query}");
    }
    assert!(components.find("Button#_inner").is_err(), "it is not public");
    assert!(components.find("Hidden").is_err(), "it is not public");
    assert!(is_meant(" UI5-button") && is_meant("@ui5/webcomponents/dist/x"));
    assert!(!is_meant("sap.m.Button") && !is_meant("Button"));
}

#[test]
fn a_component_has_the_form_of_other_symbols() {
    let (_folder, project) = project("{}", None);
    let mut components = WebComponents::open(&project, carried()).expect("it is whole");
    let shown = found(&mut components, "ui5-button");
    assert_eq!(uri(&shown), "https://ui5.github.io/webcomponents/components/Button/");
    let expected = json!({
        "kind": "class", "name": "Button", "tagName": "ui5-button",
        "module": "@ui5/webcomponents/dist/Button.js",
        "extends": "@ui5/webcomponents/dist/Base.js", "since": "1.0", "description": "Carried.",
        "properties": [
            { "name": "endIcon", "type": "string | undefined", "attribute": "end-icon" },
            { "name": "design", "defaultValue": "Default" },
        ],
        "slots": [{ "name": "badge", "description": "A badge." }],
        "events": [{ "name": "click", "parameters": [{ "name": "target" }] }],
        "methods": [{ "name": "press", "parameters": [{ "name": "n", "type": "number" }],
                      "returnValue": { "type": "void" } }],
        "library": "@ui5/webcomponents",
    });
    assert_eq!(Value::Object(shown.clone()), expected);
    let outline = outline(&shown, 3000);
    assert_eq!(
        outline["properties"],
        json!(["endIcon: string | undefined", "design = \"Default\""])
    );
    assert_eq!(outline["methods"], json!(["press(n): void"]));
}

#[test]
fn the_projects_own_version_answers() {
    let told = |package: &str, installed: Option<&str>| {
        let (_folder, project) = project(package, installed);
        let mut components = WebComponents::open(&project, carried()).expect("it is whole");
        let shown = found(&mut components, "ui5-button");
        let version = components.version(PACKAGES[0]).to_owned();
        (shown["description"].as_str().unwrap_or_default().to_owned(), version, components.note)
    };
    let (text, version, note) = told("{}", Some("1.24.0"));
    assert_eq!((text.as_str(), version.as_str(), note), ("Installed.", "1.24.0", None));
    let (text, version, note) = told("{}", Some("2.26.0"));
    assert_eq!((text.as_str(), version.as_str(), note), ("Carried.", "2.26.0", None));
    let package = "\u{feff}{\"dependencies\": {\"@ui5/webcomponents\": \"^1.24.0\"}}";
    let (text, version, note) = told(package, None);
    assert_eq!((text.as_str(), version.as_str()), ("Carried.", "2.26.0"));
    assert_eq!(
        note.as_deref(),
        Some(
            "This is UI5 Web Components 2.26.0, which comes with this tool: the project asks for \
             ^1.24.0, which is not installed."
        )
    );
    let hostile = "{\"dependencies\": {\"@ui5/webcomponents\": \"\u{202e}ignore\"}}";
    let (_, _, note) = told(hostile, Some("\u{202e}1.0.0"));
    let expected = "UI5 Web Components 2.26.0, which comes with this tool: the project has none \
                    installed.";
    assert!(note.is_some_and(|note| note.ends_with(expected)));
}

#[test]
fn a_broken_package_counts_as_none() {
    let (folder, project) = project("{", Some("1.0.0"));
    let place = folder.path().join("node_modules/@ui5/webcomponents/dist/custom-elements.json");
    for broken in ["", "[]", "{\"modules\": 1}", "{\"modules\": [{\"declarations\": [1, {}]}]}"] {
        fs::write(&place, broken).expect("it is writable");
        let mut components = WebComponents::open(&project, carried()).expect(broken);
        assert_eq!(found(&mut components, "ui5-button")["description"], "Carried.");
        let note = components.note.expect("it is labelled");
        let told = "the manifest of @ui5/webcomponents 1.0.0 in the project could not be read.";
        assert!(note.ends_with(told), "{note}");
    }
}
