//! Tests of the summary of invalid manifests.

use crate::{
    MANIFESTS,
    pack::Pack,
    tests::{app, card},
    validate,
};
use serde_json::{Map, Value, json};

fn summary(manifest: &Value) -> Vec<String> {
    let report = validate(&Pack::open(MANIFESTS), manifest, ui5::Detail::Full, |_| {
        Err("no network".to_owned())
    });
    let report = report.expect("it is judged");
    assert_eq!(report.is_valid, Some(report.summary.is_empty()));
    report.summary
}

fn with(change: impl FnOnce(&mut Value)) -> Vec<String> {
    let mut manifest = app("1.89.0");
    change(&mut manifest);
    summary(&manifest)
}

fn with_sap_card(sap_card: Value) -> Vec<String> {
    let mut manifest = card(json!({}));
    manifest["sap.card"] = sap_card;
    summary(&manifest)
}

fn with_body(body: Value) -> Vec<String> {
    summary(&card(json!({"type": "AdaptiveCard", "version": "1.5", "body": body})))
}

#[test]
fn a_value_that_is_not_allowed() {
    assert_eq!(
        with(|manifest| manifest["sap.app"]["type"] = json!("aplication")),
        ["/sap.app/type: must be one of application, component, library, card, is \"aplication\" \
            (did you mean \"application\"?)"]
    );
}

#[test]
fn missing_and_misspelt_members_are_named() {
    let missing = with(|manifest| {
        let ui = manifest["sap.ui"].as_object_mut().expect("it is an object");
        let technology = ui.remove("technology").expect("it is there");
        ui.insert("technolgy".to_owned(), technology);
    });
    let line = "/sap.ui: property \"technology\" is missing (is \"technolgy\" misspelt?)";
    assert_eq!(missing, [line]);
    let list = json!({
        "type": "List",
        "header": {"title": "t"},
        "content": {"item": {"titel": "x"}},
    });
    assert_eq!(
        with_sap_card(list),
        ["/sap.card/content/item: property \"titel\" is not allowed (did you mean \"title\"?)"]
    );
}

#[test]
fn a_wrong_type_in_one_form_of_a_data_source() {
    assert_eq!(
        with(|manifest| {
            manifest["sap.app"]["dataSources"] = json!({"main": {"uri": 5, "type": "OData"}});
        }),
        ["/sap.app/dataSources/main/uri: must be string, is 5"]
    );
    assert_eq!(
        with(|manifest| manifest["sap.ui5"]["rootView"] = json!(5)),
        ["/sap.ui5/rootView: must be string, or object, is 5"]
    );
}

#[test]
fn the_type_of_a_card_decides_the_alternative() {
    let of_type = |name: &str| {
        json!({
            "type": name,
            "header": {"title": "t"},
            "content": {"item": {"title": 5}, "maxItems": []},
        })
    };
    assert_eq!(
        with_sap_card(of_type("List")),
        [
            "/sap.card/content/item/title: must be object, or string, is 5",
            "/sap.card/content/maxItems: must be number, or string, is array",
        ]
    );
    let misspelt = with_sap_card(of_type("Lisst")).join("\n");
    assert!(misspelt.contains("/sap.card/type: must be one of AdaptiveCard, "), "{misspelt}");
    assert!(misspelt.contains("is \"Lisst\" (did you mean \"List\"?)"), "{misspelt}");
}

#[test]
fn a_cause_deep_in_an_adaptive_card_is_found() {
    let within = |inner: Value| {
        (0..30).fold(inner, |inner, _| json!({"type": "Container", "items": [inner]}))
    };
    let path = format!("/sap.card/content/body/0{}", "/items/0".repeat(10));
    let misspelt = (0..10).fold(
        json!({"type": "TextBlok", "text": "x"}),
        |inner, _| json!({"type": "Container", "items": [inner]}),
    );
    let lines = with_body(json!([misspelt]));
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with(&format!("{path}/type: must be one of ActionSet, ")), "{lines:?}");
    assert!(lines[0].ends_with("is \"TextBlok\" (did you mean \"TextBlock\"?)"), "{lines:?}");
    let deeper = with_body(json!([within(json!({"type": "TextBlock", "text": 5}))]));
    assert!(deeper[0].ends_with("…: must be string, is 5"), "{deeper:?}");
    assert_eq!(with_body(json!(5)), ["/sap.card/content/body: must be array, is 5"]);
}

#[test]
fn at_most_twenty_causes_are_named() {
    let lines = with(|manifest| {
        let models = (0..5_000).map(|number| (number.to_string(), json!({"type": 1, "uri": 1})));
        manifest["sap.ui5"]["models"] = models.collect::<Map<_, _>>().into();
    });
    assert_eq!(lines.len(), 21);
    assert_eq!(lines[0], "/sap.ui5/models/0/type: must be string, is 1");
    assert_eq!(lines[20], "… and 9980 more.");
}

#[test]
fn hostile_names_and_values_are_cut_and_cleaned() {
    let huge = "x".repeat(1 << 20);
    for (name, shown) in [
        ("a\u{1b}[31m\n\r\u{202e}b", "a\u{FFFD}[31m\u{FFFD}\u{FFFD}\u{FFFD}b".to_owned()),
        ("<img src=x>`", "\u{FFFD}img src=x\u{FFFD}\u{FFFD}".to_owned()),
        (&huge, format!("{}…", "x".repeat(80))),
    ] {
        let item = json!({"title": "t", name: "x"});
        let lines = with_sap_card(
            json!({"type": "List", "header": {"title": "t"}, "content": {"item": item}}),
        );
        let line = format!("/sap.card/content/item: property \"{shown}\" is not allowed");
        assert_eq!(lines, [line]);
        let lines = with(|manifest| manifest["sap.app"]["type"] = json!(name));
        assert!(lines[0].ends_with(&format!("is \"{shown}\"")), "{lines:?}");
        let lines = with(|manifest| manifest["sap.app"]["dataSources"] = json!({name: 5}));
        let far = name.len() > 100;
        let clean = |c: char| !c.is_control() && c != '<' && c != '\u{202e}';
        assert!(lines.iter().all(|line| line.chars().all(clean)), "{lines:?}");
        assert!(!far || lines[0].contains('…'), "{lines:?}");
        assert!(lines.iter().all(|line| line.chars().count() < 500), "{lines:?}");
    }
}
