//! Tests of manifests, without a network.

use super::*;
use portcullis_plugin::rehearsal::Rehearsal;
use std::{fs, path::Path};
use tempfile::NamedTempFile;

fn offline(_: &str) -> Result<Value, String> {
    Err("there is no network".to_owned())
}

fn judge(manifest: &Value) -> Result<Report, String> {
    validate(&Pack::open(MANIFESTS), manifest, Detail::Full, offline)
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
    let reply =
        rehearsal.call::<Validate>(json!({"manifestPath": path.as_ref(), "detail": "full"}));
    let reply = reply.map_err(|failure| failure.to_string())?;
    let structured = reply.structured.clone().expect("it is structured");
    assert_eq!(reply.as_text(), structured.to_string(), "the text is compact JSON of the same");
    Ok(structured)
}

#[test]
fn the_pack_has_the_needed_documents() {
    let pack = Pack::open(MANIFESTS);
    let names: Vec<&str> = pack.names().collect();
    let (versions, others): (Vec<&str>, Vec<&str>) =
        names.iter().partition(|name| name.starts_with(|first: char| first.is_ascii_digit()));
    assert_eq!(others, ["adaptive-card", "draft-07", "mapping", "mapping-2"]);
    assert_eq!(versions.len(), 77, "all that were published and are draft-07 or later");
    for version in ["1.17.0", "1.48.0", "1.48.1", "1.60.0", "1.89.0", "2.0.0", "2.8.0"] {
        assert!(versions.contains(&version), "{version}");
    }
    assert_eq!(pack.document("mapping").expect("it is packed")["1.136"], "1.73.1");
    assert_eq!(pack.document("mapping-2").expect("it is packed")["1.136"], "2.0.0");
    assert_eq!(pack.document("1.90.0"), None);
}

/// A manifest that is valid by every schema of its major version.
fn least(version: &str) -> Value {
    let mut manifest = app(version);
    manifest["sap.app"]["title"] = json!("{{title}}");
    manifest
}

#[test]
fn each_packed_schema_accepts_a_valid_manifest_of_its_own_version_and_refuses_others() {
    let pack = Pack::open(MANIFESTS);
    let packed = pack.names().filter(|name| name.contains('.'));
    for version in packed {
        let report = judge(&least(version)).expect("it is judged");
        assert_eq!(report.is_valid, Some(true), "{version}: {:?}", report.errors);
        assert_eq!((report.schema_version, report.note), (None, None), "{version}");
        let mut wrong = least(version);
        wrong["sap.app"]["type"] = json!("app");
        let report = judge(&wrong).expect("it is judged");
        let paths: Vec<_> = report.errors.iter().map(|error| &*error.instance_path).collect();
        assert_eq!((report.is_valid, paths), (Some(false), vec!["/sap.app/type"]), "{version}");
        // The schema accepts its own version and those that it lists, and no other.
        let schema = schema::find(&pack, version, offline).expect("it is packed");
        let known = schema.document["properties"]["_version"]["enum"].as_array().expect("a list");
        assert!(known.iter().any(|known| known == version));
        assert!(!known.iter().any(|known| known == "3.0.0" || known == "2.99.0"));
    }
}

#[test]
fn a_valid_manifest() {
    let path = written(app("1.89.0").to_string());
    let answer = call(&Rehearsal::new(), &path).expect("it is judged");
    assert_eq!(answer.to_string(), r#"{"isValid":true,"errors":[]}"#);
}

#[test]
fn errors_are_those_of_ajv() {
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
fn unreadable_files_are_refused() {
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
        (written("\u{feff}").path(), "as JSON: EOF while parsing a value"),
        (written("\u{feff}{}").path(), "Manifest does not contain a '_version' property."),
        (written(r#"{"_version": "1.89.0""#).path(), "as JSON: EOF while parsing an object"),
        (written("[".repeat(1_000_000)).path(), "as JSON: recursion limit exceeded"),
        (written(b"{\"_version\": \"1.\xff\"}").path(), "is not a valid semantic version."),
    ] {
        let failure = call(&rehearsal, path).expect_err("it cannot be judged");
        assert!(failure.contains(message), "{failure}");
    }
}

#[test]
fn invalid_versions_are_refused() {
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
        let note =
            "\nNote: The mapping files list these versions: 2.8.0, 2.7.0, 2.6.0, 2.5.0, 2.4.0";
        assert!(failure.contains(note), "{failure}");
        assert!(
            failure.ends_with(
                "1.50.1, 1.49.0. However, schema versions from 1.48.1 onwards are supported \
                 (v1.48.1-v1.67.1 use Draft-07, v1.67.2+ and v2 use JSON Schema 2020-12)."
            ),
            "{failure}"
        );
    }
}

#[test]
fn without_the_right_schema_nothing_is_called_valid_and_the_nearest_one_checks() {
    for (version, checked_by, kind) in [
        // Versions that later schemas list, but that were never released.
        ("1.50.0", "1.50.1", "the nearest newer one: what 1.50.1 added counts as valid"),
        ("1.74.0", "1.75.0", "the nearest newer one"),
        ("1.87.0", "1.88.0", "the nearest newer one"),
        ("1.12.0", "1.17.0", "the nearest newer one"),
        // Versions that no schema lists.
        ("1.53.7", "1.54.0", "the nearest newer one"),
        ("1.90.0", "1.89.0", "the nearest older one: what 1.90.0 added counts as an error"),
        ("1.9999.0", "1.89.0", "the nearest older one"),
        ("2.9.0", "2.8.0", "the nearest older one"),
        ("3.0.0", "2.8.0", "the nearest older one"),
        ("99.0.0", "2.8.0", "the nearest older one"),
    ] {
        let report = judge(&least(version)).expect("it is judged");
        assert_eq!((report.is_valid, &report.errors), (None, &Vec::new()), "{version}");
        assert_eq!(report.schema_version.as_deref(), Some(checked_by));
        let note = report.note.expect("it is noted");
        assert!(note.contains(kind) && note.contains("Errors found: 0."), "{note}");
        let text = format!("the schema of manifest version {version} is not available. ");
        assert!(note.contains(&text), "{note}");
        let mut wrong = least(version);
        wrong["sap.app"]["id"] = 1.into();
        let report = judge(&wrong).expect("it is judged");
        assert_eq!(report.is_valid, None, "{version}");
        assert!(report.errors.iter().any(|error| error.instance_path == "/sap.app/id"));
        assert!(report.note.expect("it is noted").contains("Errors found: 1."));
    }
}

#[test]
fn a_version_that_no_schema_lists_and_the_source_does_not_have_is_an_error() {
    let pack = Pack::open(MANIFESTS);
    for version in ["1.53.7", "1.90.0", "2.9.0", "99.0.0"] {
        let gone = validate(&pack, &app(version), Detail::Full, |_| {
            Err(ui5::fetched::NO_SUCH_RESOURCE.into())
        });
        let why = format!("Failed to fetch schema for manifest version '{version}': ");
        assert!(gone.expect_err("it does not exist").starts_with(&why));
    }
}

#[test]
fn a_manifest_of_version_2_is_checked_by_its_own_schema() {
    let unknown = |version: &str| {
        let mut manifest = least(version);
        // Version 2 dropped `sap.gui`.
        manifest["sap.gui"] = json!({});
        let report = judge(&manifest).expect("it is judged");
        assert!(report.is_valid == Some(false) && report.note.is_none(), "{report:?}");
        let params = json!({"additionalProperty": "sap.gui"});
        report.errors.iter().any(|error| error.params == params)
    };
    assert!(unknown("2.0.0") && unknown("2.8.0"));
    assert!(!unknown("1.86.0") && !unknown("1.89.0"));
}

#[test]
fn the_output_schema_says_that_the_verdict_may_be_unknown() {
    let schema = Validate::output_schema().expect("it has one");
    assert_eq!(schema["properties"]["isValid"]["type"], json!(["boolean", "null"]), "{schema}");
    let required = schema["required"].as_array().expect("a list");
    assert!(required.contains(&"isValid".into()), "{schema}");
    let unknown = serde_json::to_value(judge(&least("3.0.0")).expect("it is judged"));
    assert_eq!(unknown.expect("it is JSON").get("isValid"), Some(&Value::Null));
}

#[test]
fn only_the_first_of_very_many_errors_are_listed() {
    let mut manifest = app("1.89.0");
    let models = (0..3_000).map(|number| (number.to_string(), json!({ "type": 1, "uri": 1 })));
    manifest["sap.ui5"]["models"] = models.collect::<Map<_, _>>().into();
    let report = judge(&manifest).expect("it is judged");
    assert_eq!((report.is_valid, report.errors.len()), (Some(false), MAX_ERRORS));
    let note = report.note.expect("it is noted");
    assert!(note.starts_with("Of 6000 errors, 5000 are listed."), "{note}");
}

#[test]
fn a_first_answer_is_brief() {
    let mut manifest = app("1.89.0");
    let names = (0..300).map(|number| format!("{number}-{}", "long".repeat(60)));
    let models = names.map(|name| (name, json!({ "type": 1, "uri": 1 })));
    manifest["sap.ui5"]["models"] = models.collect::<Map<_, _>>().into();
    let file = written(manifest.to_string());
    let arguments = json!({"manifestPath": file.path()});
    let reply = Rehearsal::new().call::<Validate>(arguments).expect("it answers");
    let report = reply.structured.clone().expect("it is structured");
    let size = reply.as_text().len() + report.to_string().len();
    assert!(size <= detail::BRIEF, "{size}");
    let count = report["errors"].as_array().map_or(0, Vec::len);
    let note = format!("Of 600 errors, {count} are listed. `detail` `full` lists more.");
    assert!(count > 0 && report["note"] == json!(note), "{report}");
    let summary = report["summary"].as_array().expect("there are causes");
    assert!(summary.len() > 2, "{report}");
    assert!(summary[summary.len() - 1].as_str().is_some_and(|line| line.ends_with(" more.")));
}

#[test]
fn no_schema_is_fetched_for_manifests_that_are_too_old() {
    let pack = Pack::open(MANIFESTS);
    for (version, verdict) in [("1.1.0", None), ("1.47.0", None), ("1.48.0", Some(true))] {
        let nobody = |_: &str| panic!("nobody is asked");
        let report = validate(&pack, &app(version), Detail::Full, nobody).expect("it is judged");
        assert_eq!(report.is_valid, verdict, "{version}");
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
fn schemas_of_the_offline_directory_are_used_first() {
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
fn a_source_without_the_schema_is_reported() {
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
        let failure =
            validate(&Pack::open(MANIFESTS), &app("1.95.0"), Detail::Full, |_| Ok(schema));
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
    let mut manifest = app("1.68.9");
    manifest["sap.new"] = json!([1]);
    let report = validate(&Pack::open(MANIFESTS), &manifest, Detail::Full, |_| Ok(schema))
        .expect("it is judged");
    assert_eq!(report.errors[0].schema_path, "#/$defs/pair/oneOf/0/prefixItems/0/type");
}

#[test]
fn adaptive_cards_are_validated_by_their_own_schema() {
    let text = json!({"type": "TextBlock", "text": "Hello"});
    let content = |body: Value| json!({"type": "AdaptiveCard", "version": "1.5", "body": body});
    let report = judge(&card(content(json!([text])))).expect("it is judged");
    assert_eq!((report.is_valid, report.errors), (Some(true), Vec::new()));
    let report = judge(&card(content(json!(5)))).expect("it is judged");
    assert!(report.errors.iter().any(|error| error.instance_path == "/sap.card/content/body"));
    // Deeper than any card, but within the limit of JSON.
    let nested = (0..55).fold(text, |inner, _| json!({"type": "Container", "items": [inner]}));
    assert!(judge(&card(content(json!([nested])))).expect("it is judged").is_valid == Some(true));
}

#[test]
fn task_parameters_are_validated_as_schemas() {
    let mut manifest = app("1.89.0");
    manifest["sap.bpa.task"] = json!({"inputs": {"properties": {"a": {"type": "text"}}}});
    let report = judge(&manifest).expect("it is judged");
    let paths: Vec<&str> = report.errors.iter().map(|error| error.instance_path.as_str()).collect();
    assert!(paths.contains(&"/sap.bpa.task/inputs/properties/a/type"), "{paths:?}");
}
