//! Tests of the two tools, with and without the CDN.

use super::*;
use portcullis_plugin::rehearsal::Rehearsal;
use std::{fs, path::Path};
use tempfile::TempDir;

const LIST: &str = r#"{
    "latest": {"version": "1.152.0", "support": "Maintenance", "lts": false, "new": 1},
    "1.152": {"version": "1.152.0", "support": "Maintenance", "lts": false},
    "1.120": {"version": "1.120.50", "support": "Maintenance", "lts": true},
    "comment": "no version"
}"#;

const OVERVIEW: &str = r#"{"versions": [
    {"version": "1.120.*", "support": "Maintenance", "lts": true, "eom": "Long-term Maintenance, Q4/2030", "eocp": "Q4/2031"},
    {"version": "1.96.*", "support": "Out of Maintenance", "lts": true, "eom": "Q4/2024", "eocp": "Q4/2025"}
]}"#;

fn online() -> Rehearsal {
    Rehearsal::new().page("https://sdk.openui5.org/version.json", 200, LIST).page(
        "https://sdk.openui5.org/versionoverview.json",
        200,
        OVERVIEW,
    )
}

fn versions(rehearsal: &Rehearsal, framework: &str) -> Value {
    let reply = rehearsal.call::<VersionInfo>(json!({ "frameworkName": framework }));
    reply.expect("it answers").structured.expect("it is structured")
}

fn project(framework: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    fs::create_dir(root.join("webapp")).expect("it is writable");
    fs::write(root.join("webapp/manifest.json"), r#"{"sap.app": {"id": "my.app"}}"#)
        .expect("it is writable");
    let yaml = "specVersion: '4.0'\ntype: application\nmetadata:\n  name: my.app\n";
    fs::write(root.join("ui5.yaml"), format!("{yaml}{framework}")).expect("it is writable");
    folder
}

fn info(rehearsal: &Rehearsal, path: &Path) -> Result<Value, String> {
    let reply = rehearsal.call::<ProjectInfo>(json!({ "projectDir": path }));
    let reply = reply.map_err(|failure| failure.to_string())?;
    let structured = reply.structured.clone().expect("it is structured");
    assert_eq!(reply.as_text(), structured.to_string(), "the text is compact JSON of the same");
    Ok(structured)
}

#[test]
fn versions_have_their_dates() {
    let answer = versions(&online(), "OpenUI5");
    let expected = json!({
        "versions": {
            "latest": { "version": "1.152.0", "support": "Maintenance", "lts": false },
            "1.152": { "version": "1.152.0", "support": "Maintenance", "lts": false },
            "1.120": { "version": "1.120.50", "support": "Maintenance", "lts": true },
        },
        "maintenance": {
            "1.120": {
                "endOfMaintenance": "Long-term Maintenance, Q4/2030",
                "endOfCloudProvisioning": "Q4/2031",
            },
        },
    });
    assert_eq!(answer.to_string(), expected.to_string());
}

#[test]
fn without_a_network_the_table_answers_with_a_note() {
    let answer = versions(&Rehearsal::new(), "SAPUI5");
    assert_eq!(answer["versions"]["1.120"]["lts"], true);
    assert_eq!(
        answer["maintenance"]["1.120"]["endOfMaintenance"],
        "Long-term Maintenance, Q4/2030"
    );
    let note = answer["note"].as_str().expect("it is labelled");
    assert!(note.starts_with("From a table of 20"), "{note}");
    assert!(note.ends_with("for URL: https://ui5.sap.com/version.json"), "{note}");
}

#[test]
fn dates_alone_may_be_missing() {
    let rehearsal = Rehearsal::new().page("https://sdk.openui5.org/version.json", 200, LIST);
    let answer = versions(&rehearsal, "OpenUI5");
    let note = answer["note"].as_str().expect("it is labelled");
    assert!(note.starts_with("The end of maintenance: From a table of 20"), "{note}");
}

#[test]
fn other_frameworks_are_refused() {
    let failure = Rehearsal::new().call::<VersionInfo>(json!({ "frameworkName": "Openui5" }));
    let failure = failure.expect_err("the case is wrong").to_string();
    assert!(failure.contains("frameworkName"), "{failure}");
}

#[test]
fn a_project_has_the_support_of_its_version() {
    let framework =
        "framework:\n  name: OpenUI5\n  version: 1.120.30\n  libraries:\n    - name: sap.m\n";
    let folder = project(framework);
    let root = folder.path();
    let answer = info(&online(), root).expect("it is one");
    let expected = json!({
        "projectDir": root,
        "projectName": "my.app",
        "projectType": "application",
        "frameworkName": "OpenUI5",
        "frameworkVersion": "1.120.30",
        "frameworkLibraries": ["sap.m"],
        "versionInfo": {
            "supportStatus": "Outdated patch version. Upgrade to '1.120.50'.",
            "isLts": true,
            "latestVersion": "1.152.0",
            "latestLtsVersion": "1.120.50",
        },
    });
    assert_eq!(answer.to_string(), expected.to_string());
    let answer = info(&Rehearsal::new(), root).expect("it needs no network");
    assert_eq!(answer["versionInfo"]["isLts"], true);
    assert!(answer["note"].as_str().expect("it is labelled").contains("nothing could be fetched"));
}

#[test]
fn a_project_without_a_version_needs_no_cdn() {
    let folder = project("");
    let root = folder.path();
    let rehearsal = Rehearsal::new();
    let answer = info(&rehearsal, &root.join("webapp/manifest.json")).expect("it is one");
    let expected = json!({
        "projectDir": root,
        "projectName": "my.app",
        "projectType": "application",
        "frameworkLibraries": [],
    });
    assert_eq!(answer.to_string(), expected.to_string());
    assert_eq!(rehearsal.sent(), []);
}

#[test]
fn an_invalid_mirror_is_reported() {
    let framework = "framework:\n  name: SAPUI5\n  version: 1.120.1\n";
    let rehearsal = Rehearsal::new().setting("cdn-url", "mirror");
    let failure = info(&rehearsal, project(framework).path()).expect_err("it is no URL");
    assert!(failure.contains("`cdn-url` is not a valid URL: 'mirror'"), "{failure}");
    let failure = info(&rehearsal, Path::new("rel")).expect_err("it is relative");
    assert_eq!(failure, "Path must be absolute: rel");
}

#[test]
fn the_prompt_names_the_version_to_upgrade_to() {
    let text = |arguments: Value| {
        let rehearsal = online();
        let messages = rehearsal.prompt::<prompt::Upgrade>(arguments);
        messages.map(|messages| messages.as_text()).map_err(|failure| failure.to_string())
    };
    for (framework, version, expected) in [
        ("OpenUI5", "", "to OpenUI5 1.152.0, the latest version."),
        ("OpenUI5", "lts", "to OpenUI5 1.120.50, the newest version with long-term maintenance."),
        ("OpenUI5", "1.130.1", "to OpenUI5 1.130.1."),
        ("", "1.130.1", "to UI5 1.130.1."),
        ("", "", "to the latest version of UI5: ask `get_version_info` for"),
        ("SAPUI5", "", "the latest version (From a table of 20"),
    ] {
        let arguments = json!({ "projectDir": "/a/b", "framework": framework, "version": version });
        let text = text(arguments).expect("it answers");
        assert!(text.starts_with("Upgrade the UI5 project in /a/b to "), "{text}");
        assert!(text.contains(expected), "{text}");
        assert!(!text.contains("  "), "lines are joined: {text}");
    }
    let wrong = text(json!({ "projectDir": "/a/b", "framework": "React" }));
    assert!(wrong.expect_err("it is none").contains("Invalid framework name: React"));
}

#[test]
fn versions_are_completed() {
    let rehearsal = online();
    let complete = |argument: &str, value: &str, framework: &str| {
        let context = [("framework".to_owned(), framework.to_owned())];
        prompt::Upgrade::complete(&rehearsal.request(), argument, value, &context)
    };
    assert_eq!(complete("framework", "o", ""), ["OpenUI5"]);
    assert_eq!(complete("version", "", "OpenUI5"), ["lts", "1.152.0", "1.120.50"]);
    assert_eq!(complete("version", "1.12", "OpenUI5"), ["1.120.50"]);
    assert_eq!(complete("projectDir", "/", "OpenUI5"), <[String; 0]>::default());
}
