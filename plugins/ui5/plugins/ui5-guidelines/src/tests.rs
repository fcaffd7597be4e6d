//! Tests of the guidelines that need no npm; `tests/ui5-guides` checks their code.

use super::*;
use portcullis_plugin::rehearsal::Rehearsal;
use std::collections::HashSet;

/// The tools of the UI5 family; a guide must name no others.
const TOOLS: [&str; 10] = [
    "create_integration_card",
    "create_ui5_app",
    "get_api_reference",
    "get_guidelines",
    "get_integration_cards_guidelines",
    "get_project_info",
    "get_typescript_conversion_guidelines",
    "get_version_info",
    "run_manifest_validation",
    "run_ui5_linter",
];

fn answer<T: Tool>() -> String {
    let reply = Rehearsal::new().call::<T>(json!({})).expect("it takes nothing and cannot fail");
    assert_eq!(reply.content.len(), 1);
    assert!(!reply.is_error && reply.structured.is_none());
    reply.as_text().to_owned()
}

fn headings(text: &str) -> Vec<&str> {
    let mut code = false;
    let outside = text.lines().filter(|line| {
        code ^= line.starts_with("```");
        !code
    });
    outside.filter_map(|line| line.strip_prefix("## ")).collect()
}

/// Words in backquotes in the form of tools' names.
fn tools_named(text: &str) -> HashSet<&str> {
    let is_tool = |word: &&str| {
        ["get_", "run_", "create_"].iter().any(|verb| word.starts_with(verb))
            && word
                .chars()
                .all(|character| character.is_ascii_lowercase() || "_5".contains(character))
    };
    text.split('`').filter(is_tool).collect()
}

#[test]
fn the_topics_are_in_the_order_in_which_they_are_needed() {
    let text = answer::<Guidelines>();
    assert_eq!(
        headings(&text),
        [
            "1. Before you write anything",
            "2. Modules: never use globals",
            "3. Component and manifest",
            "4. The page that starts the application",
            "5. Views, binding, types",
            "6. Events",
            "7. Texts",
            "8. Forms",
            "9. Tests",
            "10. Tools",
            "11. UI5 in a CAP project",
            "12. Done means",
        ]
    );
    for rule in [
        "sap.ui.define",
        "core:require",
        "ComponentSupport",
        "formatOptions",
        "i18n*.properties",
        "Content Security Policy",
        "1.115",
        "ColumnLayout",
        "index.html",
        "cds-plugin-ui5",
        "cds watch",
    ] {
        assert!(text.contains(rule), "{rule}");
    }
}

#[test]
fn the_topics_of_cards_are_there() {
    let text = answer::<CardGuidelines>();
    assert_eq!(
        headings(&text),
        [
            "1. Before you write anything",
            "2. The manifest",
            "3. Data",
            "4. Parameters, texts, actions",
            "5. Configuration editor",
            "6. Preview",
            "7. Analytical cards",
            "8. Done means",
        ]
    );
    for rule in ["{parameters>/", "{{destinations.", "ui-integration-card", "\"type\": \"card\""] {
        assert!(text.contains(rule), "{rule}");
    }
}

#[test]
fn each_chart_has_its_feeds_and_an_example() {
    let text = answer::<CardGuidelines>();
    let entries: Vec<&str> = text.lines().filter(|line| line.starts_with("**")).collect();
    let charts: Vec<&&str> = entries.iter().filter(|line| line.contains(" Feeds: ")).collect();
    assert_eq!(charts.len(), 44);
    for (index, chart) in charts.iter().enumerate() {
        assert!(chart.starts_with(&format!("**{}. `", index + 1)), "{chart}");
    }
    let examples: HashSet<&str> =
        text.lines().filter(|line| line.starts_with("\t\"chartType\": ")).collect();
    assert_eq!(examples.len(), 44);
}

#[test]
fn only_tools_that_exist_are_named() {
    for text in [answer::<Guidelines>(), answer::<CardGuidelines>()] {
        let named = tools_named(&text);
        assert!(named.len() > 3, "{named:?}");
        for tool in named {
            assert!(TOOLS.contains(&tool), "{tool}");
        }
    }
}

#[test]
fn the_answers_are_no_larger_than_they_have_to_be() {
    assert!(answer::<Guidelines>().len() < 17_000);
    assert!(answer::<CardGuidelines>().len() < 38_000);
}

#[test]
fn clients_are_told_that_nothing_happens() {
    for hints in [Guidelines::HINTS, CardGuidelines::HINTS] {
        assert_eq!(hints.read_only, Some(true));
        assert_eq!(hints.idempotent, Some(true));
        assert_eq!(hints.open_world, Some(false));
    }
}

#[test]
fn each_text_is_a_resource_too() {
    let rehearsal = Rehearsal::new();
    let read = |uri: &str| Texts::read(&rehearsal.request(), uri);
    let expected = [answer::<Guidelines>(), answer::<CardGuidelines>()];
    let fixed = Texts::fixed();
    assert_eq!(fixed.len(), expected.len());
    for (resource, text) in fixed.iter().zip(expected) {
        let uri = &resource.0.uri;
        assert_eq!(resource.0.size, Some(text.len() as u64));
        assert_eq!(read(uri).expect("it is listed"), Contents::text(uri, MARKDOWN, text));
    }
    assert!(read("ui5://guidelines/other.md").is_err());
}
