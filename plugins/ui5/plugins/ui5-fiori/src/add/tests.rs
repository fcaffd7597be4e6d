//! Tests of pages that are added, and of refusals that leave the manifest as it is.

use super::*;
use crate::test_support::{Folder, assert_valid};
use portcullis_plugin::{
    rehearsal::Rehearsal,
    serde_json::{Value, json},
};
use std::fs;

/// The manifest of an app with one list report, as generators of such apps write it.
fn app() -> Value {
    json!({
        "_version": "1.60.0",
        "sap.app": {
            "id": "shop.books", "type": "application", "title": "{{appTitle}}",
            "applicationVersion": { "version": "0.0.1" },
            "dataSources": { "mainService": { "uri": "/odata/v4/shop/", "type": "OData",
                "settings": { "odataVersion": "4.0", "localUri": "localService/metadata.xml" } } },
        },
        "sap.ui": { "technology": "UI5", "deviceTypes": { "desktop": true, "tablet": true, "phone": true } },
        "sap.ui5": {
            "contentDensities": { "compact": true, "cozy": true },
            "dependencies": { "minUI5Version": "1.120.0", "libs": { "sap.m": {}, "sap.fe.templates": {} } },
            "models": { "": { "dataSource": "mainService", "preload": true, "settings": {
                "operationMode": "Server", "autoExpandSelect": true, "earlyRequests": true } } },
            "routing": {
                "config": {},
                "routes": [{ "pattern": ":?query:", "name": "BooksList", "target": "BooksList" }],
                "targets": { "BooksList": {
                    "type": "Component", "id": "BooksList", "name": "sap.fe.templates.ListReport",
                    "options": { "settings": { "contextPath": "/Books", "variantManagement": "Page" } } } },
            },
        },
    })
}

const METADATA: &str = r#"<e:Edmx Version="4.0" xmlns:e="http://docs.oasis-open.org/odata/ns/edmx"><e:DataServices>
 <Schema Namespace="s" xmlns="http://docs.oasis-open.org/odata/ns/edm">
  <EntityType Name="B"><NavigationProperty Name="chapters" Type="Collection(s.C)"/></EntityType>
  <EntityType Name="C"><NavigationProperty Name="lines" Type="Collection(s.C)"/></EntityType>
  <EntityContainer Name="E"><EntitySet Name="Books" EntityType="s.B"/>
   <EntitySet Name="Chapters" EntityType="s.C"/></EntityContainer></Schema></e:DataServices></e:Edmx>"#;

/// A folder with an app.
fn folder(manifest: &str) -> Folder {
    let folder = Folder::new();
    fs::create_dir_all(folder.path().join("webapp/localService")).expect("it can be made");
    fs::write(folder.path().join("webapp/manifest.json"), manifest).expect("it can be written");
    let metadata = folder.path().join("webapp/localService/metadata.xml");
    fs::write(metadata, METADATA).expect("it can be written");
    folder
}

fn add(folder: &Folder, more: Value) -> Result<String, String> {
    let mut arguments = json!({ "appDirectory": folder.argument() });
    let more = more.as_object().expect("it is an object").clone();
    arguments.as_object_mut().expect("it is an object").extend(more);
    let reply = Rehearsal::new().call::<AddPage>(arguments);
    reply.map(|reply| reply.as_text()).map_err(|failure| failure.to_string())
}

fn refused(folder: &Folder, more: Value) -> String {
    let before = folder.read("webapp/manifest.json");
    let refusal = add(folder, more).expect_err("it is refused");
    assert_eq!(folder.read("webapp/manifest.json"), before);
    refusal
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("it is JSON")
}

#[test]
fn pages_are_added_one_after_the_other_and_stay_valid() {
    let folder = folder(&format!("\u{feff}{}\n", pretty(&app())));
    let answer = add(&folder, json!({ "pageType": "ObjectPage", "entitySet": "Books" }));
    let answer = answer.expect("it can be added");
    assert!(answer.starts_with("Added the page 'BooksObjectPage'"), "{answer}");
    assert!(answer.contains("from the page 'BooksList' by 'Books'"), "{answer}");
    assert!(answer.contains("run_manifest_validation"), "{answer}");
    assert!(!answer.contains("not checked") && !answer.contains("formatted"), "{answer}");
    let nested = json!({
        "pageType": "ObjectPage", "parentPage": "BooksObjectPage", "navigationProperty": "chapters",
    });
    add(&folder, nested).expect("it can be added");
    add(&folder, json!({ "pageType": "ListReport", "entitySet": "Chapters" })).expect("it can be");
    let text = folder.read("webapp/manifest.json");
    let manifest: Value = text.trim_start_matches('\u{feff}').parse().expect("it is JSON");
    assert_eq!(text, format!("\u{feff}{}\n", pretty(&manifest)), "the format stays");
    assert_valid(&manifest);
    let routing = &manifest["sap.ui5"]["routing"];
    assert_eq!(
        routing["routes"],
        json!([
            { "pattern": ":?query:", "name": "BooksList", "target": "BooksList" },
            { "pattern": "Books({key}):?query:", "name": "BooksObjectPage", "target": "BooksObjectPage" },
            { "pattern": "Books({key})/chapters({key2}):?query:", "name": "Books_chaptersObjectPage",
              "target": "Books_chaptersObjectPage" },
            { "pattern": "Chapters:?query:", "name": "ChaptersList", "target": "ChaptersList" },
        ])
    );
    let settings = |page: &str| &routing["targets"][page]["options"]["settings"];
    assert_eq!(
        *settings("BooksList"),
        json!({ "contextPath": "/Books", "variantManagement": "Page",
                "navigation": { "Books": { "detail": { "route": "BooksObjectPage" } } } })
    );
    assert_eq!(
        *settings("BooksObjectPage"),
        json!({ "contextPath": "/Books", "editableHeaderContent": false,
                "navigation": { "chapters": { "detail": { "route": "Books_chaptersObjectPage" } } } })
    );
    assert_eq!(settings("Books_chaptersObjectPage")["contextPath"], "/Books/chapters");
    let mut expected = app();
    expected["sap.ui5"]["routing"] = routing.clone();
    assert_eq!(manifest, expected, "nothing else was changed");
}

#[test]
fn apps_with_a_flexible_column_layout_get_columns() {
    let mut manifest = app();
    manifest["sap.ui5"]["rootView"] = json!("sap.fe.core.rootView.Fcl");
    manifest["sap.ui5"]["routing"]["routes"][0]["target"] = json!(["BooksList"]);
    let folder = folder(&pretty(&manifest));
    add(&folder, json!({ "pageType": "ObjectPage", "entitySet": "Books" })).expect("it can be");
    let nested = |parent: &str, property: &str| json!({ "pageType": "ObjectPage", "parentPage": parent, "navigationProperty": property });
    add(&folder, nested("BooksObjectPage", "chapters")).expect("it can be added");
    let manifest = folder.json("webapp/manifest.json");
    let routing = &manifest["sap.ui5"]["routing"];
    assert_eq!(
        routing["routes"][2]["target"],
        json!(["BooksList", "BooksObjectPage", "Books_chaptersObjectPage"])
    );
    let target = &routing["targets"]["Books_chaptersObjectPage"];
    assert_eq!(target["controlAggregation"], "endColumnPages");
    assert_eq!(target["contextPattern"], "/Books({key})/chapters({key2})");
    let refusal = refused(&folder, nested("Books_chaptersObjectPage", "lines"));
    assert!(refusal.contains("in 3 columns"), "{refusal}");
}

#[test]
fn contradictory_arguments_are_refused() {
    let folder = folder(&pretty(&app()));
    for (more, expected) in [
        (
            json!({ "pageType": "ListReport", "entitySet": "Books" }),
            "such a page already: 'BooksList'",
        ),
        (
            json!({ "pageType": "ListReport", "entitySet": "Cooks" }),
            "no entity set 'Cooks'. The entity sets are: Books",
        ),
        (json!({ "pageType": "ListReport", "entitySet": "B'{" }), "cannot be the name"),
        (json!({ "pageType": "ListReport" }), "needs an entitySet"),
        (json!({ "pageType": "ObjectPage" }), "The pages of the app are: BooksList."),
        (
            json!({ "pageType": "ObjectPage", "parentPage": "X" }),
            "no page 'X'. Its pages are: BooksList.",
        ),
        (
            json!({ "pageType": "ObjectPage", "parentPage": "BooksList", "navigationProperty": "x" }),
            "Omit navigationProperty",
        ),
        (
            json!({ "pageType": "ObjectPage", "parentPage": "BooksList", "entitySet": "Chapters" }),
            "omit entitySet or name 'Books'",
        ),
    ] {
        let refusal = refused(&folder, more);
        assert!(refusal.contains(expected), "{refusal}");
    }
}

#[test]
fn no_object_page_follows_a_page_without_an_entity_set() {
    let mut content = app();
    let settings = "/sap.ui5/routing/targets/BooksList/options/settings";
    let settings = content.pointer_mut(settings).expect("the page has settings");
    settings.as_object_mut().expect("an object").retain(|key, _| key == "navigation");
    let folder = folder(&pretty(&content));
    let more = json!({ "pageType": "ObjectPage", "parentPage": "BooksList" });
    let refusal = refused(&folder, more);
    assert!(refusal.contains("shows no single entity set"), "{refusal}");
}

#[test]
fn folders_without_an_app_are_refused() {
    let page = || json!({ "pageType": "ListReport", "entitySet": "Books" });
    let free = json!({ "sap.app": { "id": "x" }, "sap.ui5": {} });
    assert!(refused(&folder(&free.to_string()), page()).contains("is not the manifest of an app"));
    let v2 = json!({ "sap.app": { "id": "x" }, "sap.ui.generic.app": {} });
    assert!(refused(&folder(&v2.to_string()), page()).contains("for OData V4 only"));
    assert!(refused(&folder("{"), page()).contains("is not JSON"));
    let mut odd = app();
    odd["sap.ui5"]["routing"]["routes"] = json!("none");
    assert!(refused(&folder(&odd.to_string()), page()).contains("such a page already"));
    let chapters = json!({ "pageType": "ListReport", "entitySet": "Chapters" });
    assert!(refused(&folder(&odd.to_string()), chapters).contains("neither a list nor an object"));
    let refusal = add(&Folder::new(), page()).expect_err("there is no app");
    assert!(refusal.contains("neither manifest.json nor"), "{refusal}");
}

#[test]
fn a_dry_run_writes_nothing() {
    let folder = folder(&pretty(&app()));
    let before = folder.read("webapp/manifest.json");
    let more = json!({ "pageType": "ObjectPage", "entitySet": "Books", "dryRun": true });
    let answer = add(&folder, more).expect("it could be added");
    assert!(answer.starts_with("Dry run: nothing was written. Would add the page"), "{answer}");
    assert_eq!(folder.read("webapp/manifest.json"), before);
}

#[test]
fn the_answer_names_missing_checks_and_changes_of_format() {
    let folder = folder(&app().to_string());
    fs::remove_file(folder.path().join("webapp/localService/metadata.xml")).expect("it is there");
    let more = json!({ "pageType": "ObjectPage", "entitySet": "Authors" });
    let answer = add(&folder, more).expect("it can be added");
    assert!(answer.contains("The names were not checked"), "{answer}");
    assert!(answer.contains("No page navigates to the new page"), "{answer}");
    assert!(answer.contains("does not keep the formatting"), "{answer}");
}

#[test]
fn inconsistencies_are_found() {
    let mut content = app();
    assert_eq!(plan::routing_errors(&content), [""; 0]);
    content["sap.ui5"]["routing"]["routes"][0]["target"] = json!("None");
    content["sap.ui5"]["routing"]["targets"]["BooksList"]["options"]["settings"]["navigation"] =
        json!({ "Books": { "detail": { "route": "Nowhere" } } });
    let faults = new_faults(&app(), &content);
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert!(new_faults(&content, &content).is_empty(), "what was wrong before is not counted");
}

#[test]
fn the_digest_of_a_manifest_is_that_of_its_file() {
    // By this digest, the host refuses to replace a file that was changed since it was read.
    for (text, digest) in [
        ("{}", "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"),
        ("\u{feff}{}\r\n", "9e1ab83190bccc9ea53ba40f856fbe5e5718bbc45eaf43a0cbd4f42fd4f01657"),
    ] {
        let folder = folder(text);
        let path = folder.path().join("webapp/manifest.json");
        let manifest = Manifest::read(&path).expect("it is a manifest");
        assert_eq!(manifest.sha256(), digest);
    }
}
