//! Tests that rules, pages and guides are complete and consistent.

use super::recorded::{MODERN, SHOP};
use crate::{rules::RULES, topics::PAGES, *};
use serde_json::json;

#[test]
fn rules_are_sorted_described_and_have_pages() {
    assert!(RULES.is_sorted_by_key(|rule| rule.id));
    assert_eq!(RULES.len(), 21);
    for rule in RULES {
        assert!((60..400).contains(&rule.description.len()), "{}", rule.id);
        assert!(rule.description.ends_with('.') && !rule.description.contains("  "), "{}", rule.id);
        for topic in rule.topics {
            assert!(page(topic).is_some(), "{}: {topic}", rule.id);
        }
    }
}

#[test]
fn the_linters_rules_are_known() {
    // `autofix-error` reports the linter's own errors and cannot be provoked.
    let found: Vec<FileFindings> =
        [SHOP, MODERN].iter().flat_map(|report| read(report).expect("it is a report")).collect();
    let found: std::collections::BTreeSet<&str> = found
        .iter()
        .flat_map(|file| &file.messages)
        .map(|finding| finding.rule_id.as_str())
        .collect();
    assert_eq!(found.len(), 19);
    for id in found {
        assert!(RULES.iter().any(|rule| rule.id == id), "{id}");
    }
}

#[test]
fn an_unknown_rule_has_a_general_description() {
    let report = json!([{"filePath": "a.js", "messages": [
        {"ruleId": "no-time-travel", "severity": 2, "message": "m", "ui5TypeInfo": {"kind": "Wormhole"}},
        {"ruleId": "autofix-error", "severity": 1, "message": "m", "ui5TypeInfo": "odd"},
    ], "errorCount": 1, "newer": true}]);
    let files = read(&report.to_string()).expect("it is a report");
    let context = context(&files, |_| Vec::new(), 1_000);
    assert_eq!(context.rule_descriptions.len(), 2);
    assert!(context.rule_descriptions[0].description.starts_with("`no-time-travel` is a rule"));
    assert_eq!(context.documentation_resources, []);
}

#[test]
fn an_invalid_report_is_refused_with_the_expected_form() {
    for report in ["", "{}", "[1]", "[{\"filePath\": \"a\"}]", "Command failed"] {
        let problem = read(report).expect_err(report);
        assert!(problem.contains("ui5lint --format json --details"), "{problem}");
    }
    assert_eq!(read("[]"), Ok(Vec::new()));
}

#[test]
fn every_page_and_guide_begins_with_its_title_and_is_small() {
    for (id, _) in PAGES {
        let page = page(id).expect("it is a page");
        assert!(id.len() == 32 && page.uri.ends_with(id));
        assert!(page.text.starts_with(&format!("# {}\n", page.title)));
        assert!(page.text.len() < 3_000, "{}: {}", page.title, page.text.len());
    }
    assert_eq!(page("0123"), None);
}
