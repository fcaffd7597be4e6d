//! Tests of what a grant of actions holds, and of what is recorded.

use serde_json::Value;

use super::*;
use crate::gate::Ask as _;

#[test]
fn only_the_named_actions_are_within() {
    let grant: ActionsGrant = toml::from_str("allow = [\"editor-write\"]").unwrap();
    let ask = |action| ActionAsk::of(action, "tool", &Value::Null);
    assert!(ask("editor-write").is_within(&grant));
    assert!(!ask("editor-console").is_within(&grant));
    assert!(toml::from_str::<ActionsGrant>("allow = []").is_err());
}

#[test]
fn the_record_says_what_is_to_be_done_and_no_secret() {
    let arguments = serde_json::json!({
        "command": "open 10.0.0.1?Password=abc\u{1b}[2J\nquit",
        "apiKey": "abc",
        "options": {"token": "abc", "deep": {"er": {"and": {"deeper": {"x": "abc"}}}}},
        "text": "long ".repeat(1000),
        "times": 3,
    });
    let subject = ActionAsk::of("console", "run", &arguments).subject();
    assert!(
        subject.starts_with(
            "take the action console: run \
             {\"command\":\"open 10.0.0.1?Password=*** quit\",\"apiKey\":\"***\",\
             \"options\":{\"token\":\"***\",\"deep\":{\"er\":{\"and\":\"…\"}}},"
        ),
        "{subject}"
    );
    assert!(!subject.contains("abc") && subject.len() < 1000, "{subject}");
}
