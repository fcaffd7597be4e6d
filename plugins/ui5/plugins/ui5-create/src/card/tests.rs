//! Tests of cards of all types, and of refusals.

use super::*;
use crate::test_support::{Folder, assert_valid};
use portcullis_plugin::{rehearsal::Rehearsal, serde_json::Value};
use std::fs;

fn call(arguments: Value) -> Result<String, String> {
    let reply = Rehearsal::new().call::<CreateCard>(arguments);
    reply.map(|reply| reply.as_text()).map_err(|failure| failure.to_string())
}

fn refused(folder: &Folder, more: Value) -> String {
    let mut arguments = json!({ "basePath": folder.argument() });
    let more = more.as_object().expect("it is an object").clone();
    arguments.as_object_mut().expect("it is an object").extend(more);
    let before = folder.list();
    let refusal = call(arguments).expect_err("it is refused");
    assert_eq!(folder.list(), before);
    refusal
}

#[test]
fn cards_of_all_types_are_valid() {
    let folder = Folder::new();
    for card_type in CardType::ALL.map(CardType::name) {
        call(json!({
            "basePath": folder.argument(),
            "cardFolderName": card_type,
            "cardType": card_type,
            "destinations": [
                { "name": "north's @1", "defaultUrl": "https://services.odata.org/a b?c=\"'" },
                { "name": "local", "defaultUrl": "http://localhost:8080/" },
            ],
        }))
        .expect(card_type);
        let manifest = folder.json(&format!("{card_type}/card/manifest.json"));
        assert_valid(&manifest);
        let destinations = &manifest["sap.card"]["configuration"]["destinations"];
        assert_eq!(
            destinations["north's @1"]["defaultUrl"],
            "https://services.odata.org/a%20b?c=%22%27"
        );
        assert_eq!(destinations["local"]["defaultUrl"], "http://localhost:8080");
        folder.json(&format!("{card_type}/package.json"));
        all_texts_are_there(&folder, card_type, &manifest);
    }
}

fn all_texts_are_there(folder: &Folder, card_type: &str, manifest: &Value) {
    let texts = folder.read(&format!("{card_type}/card/i18n/i18n.properties"));
    let editor = folder.read(&format!("{card_type}/card/dt/Configuration.js"));
    let manifest = manifest.to_string();
    let named = manifest.split("{{").skip(1).filter_map(|rest| rest.split_once("}}"));
    let edited = editor.split("{i18n>").skip(1).filter_map(|rest| rest.split_once('}'));
    for (key, _) in named.chain(edited) {
        assert!(texts.contains(&format!("\n{key}=")), "{card_type}: {key}");
    }
}

#[test]
fn the_answer_names_the_files() {
    let folder = Folder::new();
    let base = folder.argument();
    let answer = call(json!({ "basePath": base })).expect("nothing is in the way");
    let expected = format!(
        "Successfully created Integration Card card at {base}\nThe generated files inside \
         {base}/card are:\ncard/dt/Configuration.js\ncard/i18n/i18n.properties\ncard/manifest.json\n\
         package.json\ntest/App.js\ntest/index.css\ntest/index.html"
    );
    assert_eq!(answer, expected);
    assert_eq!(folder.json("card/card/manifest.json")["sap.card"]["type"], "List");
    let again = refused(&folder, json!({}));
    assert_eq!(
        again,
        format!(
            "The target directory '{base}/card' already exists. Please choose a different path or \
             remove the existing directory."
        )
    );
}

#[test]
fn a_dry_run_writes_nothing() {
    let folder = Folder::new();
    let arguments = json!({
        "basePath": folder.argument(), "cardFolderName": "a/b", "cardType": "Component", "dryRun": true,
    });
    let answer = call(arguments).expect("nothing is in the way");
    assert!(answer.starts_with("Dry run: nothing was written."), "{answer}");
    assert!(answer.contains("/a/b\n") && answer.contains("card/Component.js"), "{answer}");
    assert_eq!(folder.list(), [""; 0]);
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let folder = Folder::new();
    for name in ["..", "../x", "/tmp/x", "a/../../x", ".", "", "a\u{202e}b", "a\nb"] {
        let refusal = refused(&folder, json!({ "cardFolderName": name }));
        assert!(
            refusal.starts_with("Card folder path ")
                && refusal.contains(" is not within base path ")
        );
    }
    assert_eq!(
        call(json!({ "basePath": "rel" })).expect_err("relative"),
        "Path must be absolute: rel"
    );
    // The name of a folder is data: nothing in it is executed.
    let odd = "[= card_type =] {{x}} <%= y %> ${z}";
    call(json!({ "basePath": folder.argument(), "cardFolderName": odd })).expect("it is a name");
    assert!(folder.path().join(odd).join("card/manifest.json").is_file());
}

#[test]
fn destinations_are_checked() {
    let folder = Folder::new();
    let one =
        |name: &str, url: &str| json!({ "destinations": [{ "name": name, "defaultUrl": url }] });
    let evil = refused(&folder, one("a", "https://evil.example/"));
    assert!(evil.starts_with("Domain \"evil.example\" is not allowed."), "{evil}");
    for url in ["ftp://localhost", "nothing", "http://u:p@localhost/", "javascript:alert(1)"] {
        let wrong = refused(&folder, one("a", url));
        assert!(wrong.contains("is not valid. It must start with http"), "{wrong}");
    }
    for name in ["", "a\"b", "a/b", "a\n", "${a}"] {
        let wrong = refused(&folder, one(name, "http://localhost/"));
        assert!(wrong.starts_with("The destination name '"), "{wrong}");
    }
    let destination = json!({ "name": "a", "defaultUrl": "http://localhost/" });
    let twice = refused(&folder, json!({ "destinations": [destination, destination] }));
    assert_eq!(twice, "There are two destinations with the name 'a'.");
}

#[test]
fn only_allowed_domains_are_accepted() {
    let folder = Folder::new();
    let arguments = |name: &str| {
        json!({
            "basePath": folder.argument(),
            "cardFolderName": name,
            "destinations": [{ "name": "a", "defaultUrl": "https://erp.example.com/x" }],
        })
    };
    let with = |list: &str, name: &str| {
        let host = Rehearsal::new().setting("allowed-domains", list);
        host.call::<CreateCard>(arguments(name)).map_err(|failure| failure.to_string())
    };
    with(".example.com", "a").expect("it is beneath");
    with("", "b").expect("all are allowed");
    assert!(with("erp.example.org", "c").expect_err("another").starts_with("Domain \"erp."));
    assert!(with("a b", "d").expect_err("no domain").starts_with("Invalid domain 'a b'"));
    assert_eq!(fs::read_dir(folder.path()).expect("it is there").count(), 2);
}

#[test]
fn the_schema_is_plain() {
    let schema = portcullis_plugin::schemars::schema_for!(CreateCard).to_value();
    let names = CardType::ALL.map(CardType::name);
    assert_eq!(schema["properties"]["cardType"]["enum"], json!(names));
    assert_eq!(schema["properties"]["cardType"]["default"], "List");
    assert_eq!(schema["properties"]["cardFolderName"]["default"], "card");
    assert_eq!(schema["properties"]["destinations"]["type"], "array");
    assert_eq!(schema["required"], json!(["basePath"]));
    let framework = &portcullis_plugin::schemars::schema_for!(crate::app::CreateApp).to_value()["properties"]
        ["framework"];
    let listed = framework["enum"].as_array().expect("it is a list").iter();
    let listed: Vec<ui5::Framework> =
        listed.filter_map(|name| name.as_str()?.parse().ok()).collect();
    assert_eq!(listed, ui5::Framework::ALL);
    assert_eq!(framework["default"], "SAPUI5");
}

#[test]
fn a_folder_name_that_is_too_long_does_not_count_as_existing() {
    let folder = Folder::new();
    let arguments = json!({ "basePath": folder.argument(), "cardFolderName": "c".repeat(300) });
    let refused = Rehearsal::new().call::<CreateCard>(arguments).expect_err("it is too long");
    assert!(refused.to_string().contains("has 300 bytes, and 255 is the limit"), "{refused}");
}
