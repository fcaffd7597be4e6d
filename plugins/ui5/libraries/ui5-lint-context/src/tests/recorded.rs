//! Tests with real reports: results, and their context.

use crate::*;
use serde_json::{Value, json};

pub(super) const SHOP: &str = include_str!("../../tests/reports/shop.json");
pub(super) const MODERN: &str = include_str!("../../tests/reports/modern.json");

const PLENTY: usize = 1_000_000;

pub(super) fn shop() -> Vec<FileFindings> {
    read(SHOP).expect("the linter wrote it")
}

fn nothing(_: &str) -> Vec<Value> {
    Vec::new()
}

/// The names that the library looks up for a report.
fn looked_up(files: &[FileFindings]) -> Vec<String> {
    let mut names = Vec::new();
    context(
        files,
        |name| {
            names.push(name.to_owned());
            Vec::new()
        },
        PLENTY,
    );
    names
}

fn finding(json: Value) -> FileFindings {
    let report = json!([{"filePath": "webapp/a.js", "messages": [json]}]).to_string();
    read(&report).expect("it is a report").remove(0)
}

#[test]
fn results_have_the_members_that_the_linter_gave_and_no_others() {
    let part = within_budget(shop(), Details::Once, PLENTY, 0);
    let ours = serde_json::to_value(&part.results).expect("it is JSON");
    let linter: Value = serde_json::from_str(SHOP).expect("it is JSON");
    let mut details = std::collections::HashSet::new();
    for (ours, theirs) in ours.as_array().unwrap().iter().zip(linter.as_array().unwrap()) {
        assert_eq!(ours["filePath"], theirs["filePath"]);
        assert_eq!(ours.as_object().unwrap().len(), 2);
        let messages = ours["messages"].as_array().unwrap();
        assert_eq!(messages.len(), theirs["messages"].as_array().unwrap().len());
        for (ours, theirs) in messages.iter().zip(theirs["messages"].as_array().unwrap()) {
            for member in ["ruleId", "severity", "line", "column", "fatal", "message"] {
                assert_eq!(ours[member], theirs[member], "{member}");
            }
            assert!(ours.get("ui5TypeInfo").is_none());
            let expected = theirs["messageDetails"].as_str().map(|text| text.replace('\n', " "));
            match expected {
                Some(text) if details.insert(text.clone()) => {
                    assert_eq!(ours["messageDetails"], text)
                }
                Some(_) => assert_eq!(ours["messageDetails"], ""),
                None => assert!(ours.get("messageDetails").is_none()),
            }
        }
    }
    assert_eq!((part.note, part.next), (None, None));
    assert!(details.len() > 10 && details.iter().all(|text| !text.contains('\n')));
}

#[test]
fn every_rule_that_was_found_is_described_once_in_the_order_of_the_report() {
    let context = context(&shop(), nothing, PLENTY);
    let ids: Vec<&str> =
        context.rule_descriptions.iter().map(|rule| rule.rule_id.as_str()).collect();
    assert_eq!(
        ids[..3],
        [
            "no-deprecated-library",
            "async-component-flags",
            "no-deprecated-control-renderer-declaration"
        ]
    );
    assert_eq!(ids.len(), 17);
    assert_eq!(ids.iter().collect::<std::collections::HashSet<_>>().len(), ids.len());
}

#[test]
fn all_guides_are_reached_in_the_order_of_the_report() {
    let guides = context(&shop(), nothing, PLENTY).migration_guides;
    let uris: Vec<&str> = guides.iter().map(|guide| guide.uri.as_str()).collect();
    assert_eq!(
        uris,
        [
            "ui5-linter-result://migration-guides/controller-factory.md",
            "ui5-linter-result://migration-guides/jquery-sap-require.md",
            "ui5-linter-result://migration-guides/library-resource-bundle.md",
            "ui5-linter-result://migration-guides/message-page.md",
            "ui5-linter-result://migration-guides/table-row-mode.md",
        ]
    );
    for guide in guides {
        assert!(guide.text.starts_with(&format!("# {}\n", guide.title)));
    }
}

#[test]
fn documentation_comes_for_details_and_for_rules() {
    let pages = context(&shop(), nothing, PLENTY).documentation_resources;
    let titles: Vec<&str> = pages.iter().map(|page| page.title.as_str()).collect();
    // Pages linked in details come first, in order; pages of rules come last.
    assert_eq!(titles[..2], ["Component metadata", "Use asynchronous loading"]);
    assert_eq!(titles.last(), Some(&"Test starter: configuration options"));
    for title in [
        "Best practices for developers",
        "Content Security Policy",
        "Deprecated themes and libraries",
        "Handling events in XML views",
        "Loading modules",
        "Manifest version 2",
        "Native HTML in XML views",
        "Renderers of controls",
        "Test starter",
        "Test starter: concept and basic setup",
        "Test starter: configuration options",
    ] {
        assert_eq!(titles.iter().filter(|&&other| other == title).count(), 1, "{title}");
    }
    for page in &pages {
        assert!(page.text.contains(&page.uri), "{} has no link", page.title);
    }
}

#[test]
fn api_is_looked_up_first_then_modules_each_once() {
    let names = looked_up(&shop());
    assert_eq!(
        names[..6],
        [
            "sap.ui.controller",
            "jQuery.sap.require",
            "sap.ui.getCore",
            "sap.ui.core.Core#getLibraryResourceBundle",
            "sap.m.MessagePage",
            "sap.ui.table.Table#visibleRowCount",
        ]
    );
    let unique: std::collections::HashSet<&String> = names.iter().collect();
    assert_eq!(unique.len(), names.len());
    for name in
        ["sap.ui.core.IAsyncContentCreation", "sap.m.IllustratedMessage", "sap/ui/table/Table"]
    {
        assert!(names.iter().any(|other| other == name), "{name}");
    }
    assert!(names.iter().all(|name| !name.starts_with("sap.com")), "an address is not a name");
}

#[test]
fn names_of_api_are_those_of_the_reference() {
    let enumeration = json!({"ruleId": "r", "message": "m", "ui5TypeInfo":
        {"kind": "EnumMember", "name": "Default", "parent": {"kind": "Enum", "name": "ButtonType",
            "parent": {"kind": "Module", "name": "sap/m/library", "library": "sap.m"}}}});
    assert_eq!(looked_up(&[finding(enumeration)]), ["sap.m.ButtonType#Default", "sap/m/library"]);
    let parameter = json!({"ruleId": "r", "message": "m", "ui5TypeInfo":
        {"kind": "Property", "name": "synchronizationMode", "parent": {"kind": "ConstructorParameter",
            "name": "mParameters", "parent": {"kind": "Constructor", "name": "constructor", "parent":
            {"kind": "Class", "name": "ODataModel", "parent":
                {"kind": "Module", "name": "sap/ui/model/odata/v4/ODataModel"}}}}}});
    assert_eq!(looked_up(&[finding(parameter)])[0], "sap.ui.model.odata.v4.ODataModel#constructor");
}

#[test]
fn references_come_once_and_within_their_budget() {
    let text = "x".repeat(400);
    let describe = |name: &str| vec![json!({"kind": "class", "name": name, "description": text})];
    let all = context(&shop(), describe, PLENTY);
    assert!(all.api_references.len() > 10 && all.api_references_left == 0);
    let some = context(&shop(), describe, 2_000);
    assert_eq!(some.api_references.len() + some.api_references_left, all.api_references.len());
    assert!(serde_json::to_string(&some.api_references).unwrap().len() <= 2_000);
    assert_eq!(some.api_references[..], all.api_references[..some.api_references.len()]);
    let same = |_: &str| vec![json!({"kind": "class", "name": "A", "module": "a/A"})];
    assert_eq!(context(&shop(), same, PLENTY).api_references.len(), 1);
}

#[test]
fn api_in_deprecation_texts_is_looked_up_too() {
    let byid = json!({"ruleId": "r", "message": "m", "ui5TypeInfo": {"kind": "Class", "name": "Old",
        "parent": {"kind": "Module", "name": "sap/m/Old", "library": "sap.m"}}});
    let mut names = Vec::new();
    let describe = |name: &str| {
        names.push(name.to_owned());
        vec![json!({"kind": "class", "name": name, "deprecated": {"text":
            "Use {@link sap.m.New}, see https://ui5.sap.com/#/topic/28fcd55b04654977b63dacbee0552712"}})]
    };
    let context = context(&[finding(byid)], describe, PLENTY);
    assert_eq!(names, ["sap.m.Old", "sap/m/Old", "sap.m.New"]);
    assert_eq!(context.documentation_resources[0].title, "Best practices for developers");
}

#[test]
fn omitted_details_still_count_for_the_context() {
    let part = within_budget(shop(), Details::Once, PLENTY, 0);
    assert_eq!(context(&part.results, nothing, PLENTY), context(&shop(), nothing, PLENTY));
    assert_eq!(looked_up(&part.results), looked_up(&shop()));
}

#[test]
fn the_context_has_the_shape_of_the_tool() {
    let context = serde_json::to_value(context(&shop(), nothing, PLENTY)).expect("it is JSON");
    let members: Vec<&String> = context.as_object().unwrap().keys().collect();
    assert_eq!(
        members,
        ["ruleDescriptions", "migrationGuides", "apiReferences", "documentationResources"]
    );
    assert_eq!(
        context["migrationGuides"][0].as_object().unwrap().keys().collect::<Vec<_>>(),
        ["title", "text", "uri"]
    );
}
