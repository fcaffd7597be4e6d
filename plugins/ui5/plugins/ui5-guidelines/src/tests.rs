//! Tests of the guidelines that need no npm; `tests/ui5-guides` checks the code in the guidelines.

use super::{skills::Skill, *};
use portcullis_plugin::rehearsal::Rehearsal;
use serde_json::Value;
use std::collections::HashSet;

/// The tools of the UI5 family that a guide may name.
const TOOLS: [&str; 12] = [
    "create_integration_card",
    "create_ui5_app",
    "get_api_reference",
    "get_guidelines",
    "get_integration_cards_guidelines",
    "get_project_info",
    "get_typescript_conversion_guidelines",
    "get_version_info",
    "read_docs",
    "run_manifest_validation",
    "run_ui5_linter",
    "search_docs",
];

fn answer<T: Tool>() -> String {
    let reply = Rehearsal::new().call::<T>(json!({"detail": "full"})).expect("it cannot fail");
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
        ["get_", "run_", "create_", "search_", "read_"].iter().any(|verb| word.starts_with(verb))
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
    let skills = SKILLS.iter().map(|skill| skill.text.to_owned());
    for text in [answer::<Guidelines>(), answer::<CardGuidelines>()].into_iter().chain(skills) {
        let named = tools_named(&text);
        assert!(named.len() > 2, "{named:?}");
        for tool in named {
            assert!(TOOLS.contains(&tool), "{tool}");
        }
    }
}

#[test]
fn first_answers_are_brief_and_lead_to_each_section() {
    fn check<T: Tool>(part: &str, code: &str) {
        let host = Rehearsal::new();
        let call = |arguments: Value| host.call::<T>(arguments).expect("it answers");
        let (brief, whole) = (call(json!({})), answer::<T>());
        let brief = brief.as_text();
        assert!(brief.len() <= detail::BRIEF, "{}", brief.len());
        assert!(whole.contains(code) && !brief.contains(code), "{brief}");
        for heading in headings(&whole) {
            assert!(brief.contains(&format!("## {heading}\n")), "{heading}");
            let section = call(json!({ "section": heading }));
            assert!(section.as_text().starts_with(&format!("## {heading}\n")));
        }
        assert!(call(json!({ "section": part })).as_text().contains(code));
        let missing = host.call::<T>(json!({"section": "none"})).expect_err("there is none");
        assert!(missing.to_string().contains("The sections are: 1. Before"), "{missing}");
    }
    check::<Guidelines>("8", "<form:ColumnLayout");
    check::<CardGuidelines>("parts of a whole", "\"chartType\": \"donut\"");
}

#[test]
fn the_tools_are_read_only_and_idempotent() {
    for hints in [Guidelines::HINTS, CardGuidelines::HINTS] {
        assert_eq!(hints.read_only, Some(true));
        assert_eq!(hints.idempotent, Some(true));
        assert_eq!(hints.open_world, Some(false));
    }
}

#[test]
fn each_text_is_also_a_resource() {
    let rehearsal = Rehearsal::new();
    let read = |uri: &str| Texts::read(&rehearsal.request(), uri);
    let skills = SKILLS.iter().map(|skill| skill.text.to_owned());
    let guides = [answer::<Guidelines>(), answer::<CardGuidelines>()];
    let expected: Vec<String> = guides.into_iter().chain(skills).collect();
    let fixed = Texts::fixed();
    assert_eq!(fixed.len(), expected.len());
    for (resource, text) in fixed.iter().zip(expected) {
        let uri = &resource.0.uri;
        assert_eq!(resource.0.size, Some(text.len() as u64));
        assert_eq!(read(uri).expect("it is listed"), Contents::text(uri, MARKDOWN, text));
    }
    assert!(read("ui5://guidelines/other.md").is_err());
    assert!(read("ui5://guidelines/skills/other.md").is_err());
}

/// The text of a skill's prompt.
fn prompt<P: Prompt>(arguments: Value) -> String {
    Rehearsal::new().prompt::<P>(arguments).expect("the arguments are right").as_text()
}

#[test]
fn a_prompt_names_the_project_and_the_scope_and_has_the_whole_skill() {
    let arguments = || json!({ "projectDir": "/work/shop", "scope": " the orders " });
    let texts = [
        prompt::<skills::Modernize>(arguments()),
        prompt::<skills::Tables>(arguments()),
        prompt::<skills::Tests>(arguments()),
        prompt::<skills::Accessibility>(arguments()),
        prompt::<skills::MetadataControls>(arguments()),
        prompt::<skills::WebComponents>(arguments()),
    ];
    for (text, skill) in texts.iter().zip(SKILLS) {
        assert!(text.ends_with(skill.text), "{}", skill.name);
        for part in ["UI5 project /work/shop.", "What to work on: the orders.", "get_guidelines"] {
            assert!(text.contains(part), "{}: {part}", skill.name);
        }
    }
    let default = prompt::<skills::Tables>(json!({ "projectDir": "/p", "scope": " " }));
    assert!(default.contains("What to work on: a review of all existing tables."));
    assert!(Rehearsal::new().prompt::<skills::Tables>(json!({})).is_err(), "which project?");
}

#[test]
fn scopes_are_suggested() {
    let rehearsal = Rehearsal::new();
    let complete = |argument: &str, value: &str| {
        skills::Modernize::complete(&rehearsal.request(), argument, value, &[])
    };
    assert_eq!(complete("scope", "MODULES"), ["phase 3: modules"]);
    assert_eq!(complete("scope", "").len(), 6);
    assert_eq!(complete("projectDir", "phase"), <[String; 0]>::default());
}

#[test]
fn a_skill_is_short_and_has_its_final_section_and_date() {
    for skill in SKILLS {
        let Skill { name, text, .. } = skill;
        // About 1,900 tokens.
        assert!(text.len() < 7_500, "{name} has {} bytes", text.len());
        assert_eq!(headings(text).last(), Some(&"Done means"), "{name}");
    }
    let skills = SKILLS.iter().map(|skill| skill.text);
    for text in skills.chain([APPLICATIONS, CARDS]) {
        assert!(text.contains("Compared with SAP's ") && text.contains(" on 23 November 2026."));
    }
}

#[test]
fn the_guide_for_cards_names_destinations_and_json() {
    assert!(CARDS.contains("**Every external URL is a destination**"));
    assert!(CARDS.contains("\"$format\": \"json\""));
    let manifest = CARDS.split("```json card/manifest.json").nth(1).expect("there is an example");
    let manifest = manifest.split("```").next().expect("it has an end");
    let external = manifest.lines().filter(|line| line.contains("https://"));
    for line in external {
        assert!(line.contains("\"defaultUrl\""), "{line}");
    }
}
