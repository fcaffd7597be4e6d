//! Tests of manifests, without a network.

use super::*;
use portcullis_plugin::rehearsal::Rehearsal;
use std::{fs, path::Path};
use tempfile::NamedTempFile;

fn offline(_: &str) -> Result<Value, String> {
    Err("there is no network".to_owned())
}

fn judge(manifest: &Value) -> Result<Report, String> {
    validate(&Pack::open(MANIFESTS), manifest, offline)
}

pub fn app(version: &str) -> Value {
    json!({
        "_version": version,
        "sap.app": {
            "id": "my.app",
            "type": "application",
            "title": "An app",
            "applicationVersion": {"version": "1.0.0"},
        },
        "sap.ui": {
            "technology": "UI5",
            "deviceTypes": {"desktop": true, "tablet": true, "phone": true},
        },
        "sap.ui5": {
            "dependencies": {"minUI5Version": "1.120.0", "libs": {"sap.m": {}}},
            "contentDensities": {"compact": true, "cozy": true},
        },
    })
}

pub fn card(content: Value) -> Value {
    let mut manifest = app("1.89.0");
    manifest["sap.app"]["type"] = json!("card");
    manifest["sap.card"] =
        json!({"type": "AdaptiveCard", "header": {"title": "A card"}, "content": content});
    manifest
}

/// A temporary file.
fn written(text: impl AsRef<[u8]>) -> NamedTempFile {
    let file = NamedTempFile::new().expect("a file");
    fs::write(&file, text).expect("it can be written");
    file
}

fn call(rehearsal: &Rehearsal, path: impl AsRef<Path>) -> Result<Value, String> {
    let reply = rehearsal.call::<Validate>(json!({"manifestPath": path.as_ref()}));
    let reply = reply.map_err(|failure| failure.to_string())?;
    let structured = reply.structured.clone().expect("it is structured");
    assert_eq!(reply.as_text(), structured.to_string(), "the text is compact JSON of the same");
    Ok(structured)
}

#[test]
fn the_pack_holds_what_is_needed() {
    let pack = Pack::open(MANIFESTS);
    let names: Vec<&str> = pack.names().collect();
    assert_eq!(
        names,
        [
            "1.49.2",
            "1.51.0",
            "1.61.0",
            "1.81.0",
            "1.88.0",
            "1.89.0",
            "adaptive-card",
            "draft-07",
            "mapping"
        ]
    );
    for name in &names[..6] {
        let schema = schema::find(&pack, name, offline).expect("it is packed");
        assert!(schema.stand_in.is_none());
        assert!(schema.document["properties"]["sap.app"].is_object());
    }
    assert_eq!(pack.document("mapping").expect("it is packed")["1.136"], "1.73.1");
    assert_eq!(pack.document("1.90.0"), None);
}

#[test]
fn a_valid_manifest() {
    let path = written(app("1.89.0").to_string());
    let answer = call(&Rehearsal::new(), &path).expect("it is judged");
    assert_eq!(answer.to_string(), r#"{"isValid":true,"errors":[]}"#);
}

#[test]
fn errors_are_ajvs() {
    let mut manifest = app("1.88.0");
    manifest["sap.app"]["type"] = json!("app");
    manifest["sap.ui"].as_object_mut().expect("it is an object").remove("technology");
    let path = written(manifest.to_string());
    let answer = call(&Rehearsal::new(), &path).expect("it is judged");
    assert_eq!(
        answer,
        json!({
            "isValid": false,
            "errors": [
                {
                    "keyword": "enum",
                    "instancePath": "/sap.app/type",
                    "schemaPath": "#/properties/sap.app/properties/type/enum",
                    "params": {"allowedValues": ["application", "component", "library", "card"]},
                    "message": "must be equal to one of the allowed values",
                },
                {
                    "keyword": "required",
                    "instancePath": "/sap.ui",
                    "schemaPath": "#/properties/sap.ui/required",
                    "params": {"missingProperty": "technology"},
                    "message": "must have required property 'technology'",
                },
            ],
            "summary": [
                "/sap.app/type: must be one of application, component, library, card, is \"app\"",
                "/sap.ui: property \"technology\" is missing",
            ],
        })
    );
}

#[test]
fn files_that_cannot_be_read() {
    let rehearsal = Rehearsal::new();
    let directory = tempfile::tempdir().expect("a folder");
    for (path, message) in [
        (Path::new("a/manifest.json"), "The manifest path must be absolute: 'a/manifest.json'"),
        (
            Path::new("/no/manifest.json"),
            "Failed to read manifest file at /no/manifest.json: ENOENT: no such file or directory, \
             open '/no/manifest.json'",
        ),
        (directory.path(), "EISDIR: illegal operation on a directory"),
        (written(vec![b' '; 8 * 1024 * 1024 + 1]).path(), "it is larger than 8 MiB"),
        (written("\u{feff}{}").path(), "as JSON: expected value at line 1 column 1"),
        (written(r#"{"_version": "1.89.0""#).path(), "as JSON: EOF while parsing an object"),
        (written("[".repeat(1_000_000)).path(), "as JSON: recursion limit exceeded"),
        (written(b"{\"_version\": \"1.\xff\"}").path(), "is not a valid semantic version."),
    ] {
        let failure = call(&rehearsal, path).expect_err("it cannot be judged");
        assert!(failure.contains(message), "{failure}");
    }
}

#[test]
fn versions_that_are_none() {
    for (manifest, message) in [
        (json!({}), "Manifest does not contain a '_version' property."),
        (json!([]), "Manifest does not contain a '_version' property."),
        (json!(null), "Manifest does not contain a '_version' property."),
        (json!({"_version": 1}), "Manifest '_version' property is not a string."),
        (
            json!({"_version": "1.2"}),
            "Manifest '_version' property is not a valid semantic version.",
        ),
        (
            json!({"_version": "1.0.0"}),
            "Manifest version '1.0.0' is not supported. Please upgrade to a newer one.",
        ),
        (json!({"_version": "1.48.1-rc"}), "Manifest version '1.48.1-rc' is not supported."),
        (json!({"_version": "v1.89.0"}), "Failed to fetch schema for manifest version 'v1.89.0': "),
        (json!({"_version": "1.89.0+../x"}), "is not a valid semantic version."),
    ] {
        let failure = judge(&manifest).expect_err("it cannot be judged");
        assert!(failure.starts_with(message) || failure.contains(message), "{failure}");
        let note = "\nNote: The mapping file lists these versions: 1.89.0, 1.88.0, 1.87.0, 1.86.0";
        assert!(failure.contains(note), "{failure}");
        assert!(
            failure.ends_with(
                "1.50.1, 1.49.0. However, schema versions from 1.48.1 onwards are supported \
                 (v1.48.1-v1.67.1 use Draft-07, v1.67.2+ use JSON Schema 2020-12)."
            ),
            "{failure}"
        );
    }
}

#[test]
fn between_packed_versions_the_next_newer_one_that_knows_it_judges_and_says_so() {
    for (version, judged_by) in [("1.50.0", "1.51.0"), ("1.60.0", "1.61.0"), ("1.73.1", "1.81.0")] {
        let report = judge(&app(version)).expect("it is judged");
        assert_eq!((report.is_valid, &report.errors), (true, &Vec::new()), "{version}");
        assert_eq!(report.schema_version.as_deref(), Some(judged_by));
        assert!(report.note.expect("it is noted").contains("there is no network"));
    }
}

#[test]
fn a_version_that_no_schema_lists_is_judged_by_the_next_newer_one_unless_it_does_not_exist() {
    for (version, judged_by) in [("1.67.0", "1.81.0"), ("1.70.0", "1.81.0"), ("1.48.5", "1.49.2")] {
        let report = judge(&app(version)).expect("it is judged");
        assert_eq!((report.is_valid, &report.errors), (true, &Vec::new()), "{version}");
        assert_eq!(report.schema_version.as_deref(), Some(judged_by));
        let note = report.note.expect("it is noted");
        assert!(note.contains("the nearest newer one at hand"), "{note}");
        let pack = Pack::open(MANIFESTS);
        let gone = validate(&pack, &app(version), |_| Err(ui5::fetched::NO_SUCH_RESOURCE.into()));
        let why = format!("Failed to fetch schema for manifest version '{version}': ");
        assert!(gone.expect_err("it does not exist").starts_with(&why));
    }
}

#[test]
fn of_very_many_errors_the_first_are_listed() {
    let mut manifest = app("1.89.0");
    let models = (0..3_000).map(|number| (number.to_string(), json!({ "type": 1, "uri": 1 })));
    manifest["sap.ui5"]["models"] = models.collect::<Map<_, _>>().into();
    let report = judge(&manifest).expect("it is judged");
    assert_eq!((report.is_valid, report.errors.len()), (false, MOST_ERRORS));
    let note = report.note.expect("it is noted");
    assert!(note.starts_with("Of 6000 errors, the first 5000 are listed."), "{note}");
}

#[test]
fn what_is_newer_than_the_pack_is_judged_by_the_newest_and_says_so() {
    for version in ["1.90.0", "2.8.0"] {
        let report = judge(&app(version)).expect("it is judged");
        assert_eq!((report.is_valid, &report.errors), (true, &Vec::new()), "{version}");
        assert_eq!(report.schema_version.as_deref(), Some("1.89.0"));
        let note = report.note.expect("it is noted");
        assert!(note.contains("the newest at hand") && note.contains("no network"), "{note}");
    }
}

#[test]
fn manifests_that_are_too_old_for_a_schema_are_judged_by_the_oldest() {
    for version in ["1.1.0", "1.12.0", "1.21.0", "1.48.0"] {
        let pack = Pack::open(MANIFESTS);
        let report = |manifest: &Value| {
            let nobody = |_: &str| panic!("nobody is asked");
            validate(&pack, manifest, nobody).expect("it is judged")
        };
        let good = report(&app(version));
        assert_eq!((good.is_valid, good.schema_version.as_deref()), (true, Some("1.49.2")));
        let note = good.note.expect("it is labelled");
        assert!(
            note.contains(&format!("The schema of {version} itself could not be had. ")),
            "{note}"
        );
        let mut bad = app(version);
        bad["sap.app"]["id"] = 1.into();
        assert!(report(&bad).errors.iter().any(|error| error.instance_path == "/sap.app/id"));
    }
}

#[test]
fn other_versions_are_fetched_once() {
    let url = "https://raw.githubusercontent.com/UI5/manifest/v1.95.0/schema.json";
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "description": "A schema.",
        "required": ["sap.new"],
    });
    let rehearsal = Rehearsal::new().page(url, 200, schema.to_string());
    let path = written(app("1.95.0").to_string());
    for _ in 0..2 {
        let answer = call(&rehearsal, &path).expect("it is judged");
        assert_eq!(answer["errors"][0]["params"], json!({"missingProperty": "sap.new"}));
        assert_eq!(answer.get("note"), None);
    }
    assert_eq!(rehearsal.sent().len(), 1);
}

#[test]
fn the_source_can_be_a_mirror_or_a_directory() {
    let schema = json!({"$schema": "https://json-schema.org/draft/2020-12/schema"}).to_string();
    let path = written(app("1.95.0").to_string());
    let mirror = Rehearsal::new().setting("schema-source", "https://mirror.example/ui5/").page(
        "https://mirror.example/ui5/v1.95.0/schema.json",
        200,
        schema.clone(),
    );
    assert_eq!(call(&mirror, &path).expect("it is judged")["isValid"], true);

    let directory = tempfile::tempdir().expect("a folder");
    let directory = directory.path();
    fs::create_dir(directory.join("v1.95.0")).expect("it is writable");
    fs::write(directory.join("v1.95.0/schema.json"), schema).expect("it is writable");
    let setting = directory.to_str().expect("its path is text");
    let local = Rehearsal::new().setting("schema-source", setting);
    assert_eq!(call(&local, &path).expect("it is judged")["isValid"], true);
    let missing = written(app("1.96.0").to_string());
    let answer = call(&local, &missing).expect("it is judged by another");
    assert!(answer["note"].to_string().contains("v1.96.0/schema.json'"), "{answer}");
}

#[test]
fn what_was_brought_is_used_before_anybody_is_asked() {
    let data = tempfile::tempdir().expect("a folder");
    let schemas = ui5_data::schemas(data.path());
    let file = schemas.join(ui5_data::schema_name("1.97.0"));
    fs::create_dir_all(file.parent().expect("it has one")).expect("it is writable");
    let schema = json!({"$schema": "https://json-schema.org/draft/2020-12/schema"}).to_string();
    let path = written(app("1.97.0").to_string());
    let setting = schemas.to_str().expect("its path is text");
    for (text, is_used) in [(schema.as_str(), true), ("<html>", false)] {
        fs::write(&file, text).expect("it is writable");
        let rehearsal = Rehearsal::new().setting("schema-dir", setting);
        let answer = call(&rehearsal, &path).expect("it is judged");
        assert_eq!(answer.get("note").is_none(), is_used, "{answer}");
        assert_eq!(rehearsal.sent().is_empty(), is_used);
    }
}

#[test]
fn a_source_that_does_not_answer_is_said_plainly() {
    let url = "https://raw.githubusercontent.com/UI5/manifest/v1.95.0/schema.json";
    let path = written(app("1.95.0").to_string());
    let gone = call(&Rehearsal::new().page(url, 404, ""), &path).expect_err("it is not there");
    let message = format!(
        "Failed to fetch schema for manifest version '1.95.0': Failed to fetch resource from CDN. \
         Error: The requested resource does not exist for URL: {url}\nNote: "
    );
    assert!(gone.starts_with(&message), "{gone}");
    let judged = call(&Rehearsal::new(), &path).expect("it is judged by another");
    let note = judged["note"].to_string();
    assert!(note.contains("denied by the host"), "{note}");
    assert!(note.contains("set `schema-source` of this plugin to a mirror"), "{note}");
}

#[test]
fn schemas_of_another_kind_are_refused() {
    for (schema, what) in [
        (
            json!({"$schema": "http://json-schema.org/draft-04/schema#"}),
            "http://json-schema.org/draft-04/schema#",
        ),
        (json!({}), "undefined"),
        (json!([1]), "undefined"),
    ] {
        let failure = validate(&Pack::open(MANIFESTS), &app("1.95.0"), |_| Ok(schema));
        let failure = failure.expect_err("it cannot be used");
        let message = format!(
            "Failed to create UI5 manifest validate function: {what} is not a supported meta-schema."
        );
        assert!(failure.starts_with(&message), "{failure}");
    }
}

#[test]
fn items_by_position_in_2020_12() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "properties": {"sap.new": {"$ref": "#/$defs/pair"}},
        "$defs": {"pair": {"oneOf": [{"items": [{"type": "string"}]}]}},
    });
    let mut manifest = app("1.68.0");
    manifest["sap.new"] = json!([1]);
    let report = validate(&Pack::open(MANIFESTS), &manifest, |_| Ok(schema)).expect("it is judged");
    assert_eq!(report.errors[0].schema_path, "#/$defs/pair/oneOf/0/prefixItems/0/type");
}

#[test]
fn adaptive_cards_are_judged_by_their_own_schema() {
    let text = json!({"type": "TextBlock", "text": "Hello"});
    let content = |body: Value| json!({"type": "AdaptiveCard", "version": "1.5", "body": body});
    let report = judge(&card(content(json!([text])))).expect("it is judged");
    assert_eq!((report.is_valid, report.errors), (true, Vec::new()));
    let report = judge(&card(content(json!(5)))).expect("it is judged");
    assert!(report.errors.iter().any(|error| error.instance_path == "/sap.card/content/body"));
    // Deeper than any card, but within the limit of JSON.
    let nested = (0..55).fold(text, |inner, _| json!({"type": "Container", "items": [inner]}));
    assert!(judge(&card(content(json!([nested])))).expect("it is judged").is_valid);
}

#[test]
fn task_parameters_are_judged_as_schemas() {
    let mut manifest = app("1.89.0");
    manifest["sap.bpa.task"] = json!({"inputs": {"properties": {"a": {"type": "text"}}}});
    let report = judge(&manifest).expect("it is judged");
    let paths: Vec<&str> = report.errors.iter().map(|error| error.instance_path.as_str()).collect();
    assert!(paths.contains(&"/sap.bpa.task/inputs/properties/a/type"), "{paths:?}");
}
