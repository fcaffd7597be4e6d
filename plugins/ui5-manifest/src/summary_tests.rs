//! What the summary says of manifests that are wrong.

use crate::{
    MANIFESTS, MOST_ERRORS,
    pack::Pack,
    tests::{app, card},
    validate,
};
use serde_json::{Map, Value, json};

fn summary(manifest: &Value) -> Vec<String> {
    let report = validate(&Pack::open(MANIFESTS), manifest, |_| Err("no network".to_owned()));
    let report = report.expect("it is judged");
    assert_eq!(report.is_valid, report.summary.is_empty());
    report.summary
}

fn with(change: impl FnOnce(&mut Value)) -> Vec<String> {
    let mut manifest = app("1.89.0");
    change(&mut manifest);
    summary(&manifest)
}

#[test]
fn debug_print() {
    let show = |l: Vec<String>| println!("{l:#?}");
    show(with(|m| m["sap.app"]["type"] = json!("aplication")));
    show(with(|m| { m["sap.ui"].as_object_mut().unwrap().remove("technology"); m["sap.ui"]["technolgy"] = json!("UI5"); }));
    show(with(|m| m["sap.ui5"]["rooView"] = json!("a.b")));
    show(with(|m| m["sap.ui5"]["rootView"] = json!(5)));
    show(with(|m| m["sap.ui5"]["rootView"] = json!({"viewName": "a.b", "type": "XLM"})));
    show(with(|m| m["sap.app"]["dataSources"] = json!({"main": {"uri": 5, "type": "OData"}})));
    show(with(|m| m["sap.app"]["dataSources"] = json!({"main": {"uri": "/a", "type": "ODate"}})));
    show(with(|m| m["sap.ui5"]["routing"] = json!({"routes": [{"patern": "", "name": "x", "target": "main"}], "targets": {"main": {"viewTyp": "XML"}}})));
    show(summary(&card(json!({"type": "AdaptiveCard", "version": "1.5", "body": [{"type": "Container", "items": [{"type": "TextBlok", "text": "x"}]}]}))));
    show(summary(&card(json!({"type": "AdaptiveCard", "version": "1.5", "body": [{"type": "Container", "items": [{"type": "TextBlock", "text": "x", "size": "hugee"}]}]}))));
    show(summary(&card(json!({"type": "AdaptiveCard", "version": "1.5", "body": 5}))));
    let mut m = card(json!({}));
    m["sap.card"] = json!({"type": "List", "header": {"title": "t"}, "content": {"item": {"titel": "x"}}});
    show(summary(&m));
    m["sap.card"] = json!({"type": "Lisst", "header": {"title": "t"}, "content": {"item": {"title": "x"}}});
    show(summary(&m));
    m["sap.card"] = json!({"type": "List", "header": {"title": "t"}, "content": {"item": {"title": 5}, "maxItems": []}});
    show(summary(&m));
    let _ = (MOST_ERRORS, Map::<String, Value>::new());
}
