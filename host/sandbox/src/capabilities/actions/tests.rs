//! Tests that check which asks a grant of actions covers, and how asks are recorded.

use std::sync::Arc;

use portcullis_audit::{Audit, CallIdentity, Trail};
use serde_json::json;

use super::effect::NotPermitted;
use super::*;
use crate::capabilities::Grants;
use crate::gate::{Ask as _, Gate, Policy};

#[test]
fn only_the_named_actions_are_within() {
    let grant: ActionsGrant = toml::from_str("allow = [\"editor-write\"]").unwrap();
    let ask = |action| ActionAsk::of(action, &ToolInput::new("tool", Arc::default()));
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
    let subject = ActionAsk::of("console", &ToolInput::new("run", Arc::new(arguments))).subject();
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

fn gate_with(folder: &std::path::Path, grant: &str) -> Gate {
    gate_of(folder, grant, false)
}

fn gate_of(folder: &std::path::Path, grant: &str, is_foreign: bool) -> Gate {
    let grant: ActionsGrant = toml::from_str(grant).unwrap();
    let grants = || Grants { actions: Some(grant.clone()), ..Grants::default() };
    let policy = Policy { grants: grants(), wants: grants(), is_foreign, ..Policy::default() };
    let subject = CallIdentity {
        request: "r".into(),
        plugin: "p".into(),
        digest: "d".into(),
        tool: "t".into(),
        principal: None,
    };
    Gate::new(Arc::new(policy), Trail::new(Audit::to_folder(folder.to_owned()), subject))
}

#[test]
fn a_refusal_says_which_grant_would_help_if_one_can() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |is_foreign| {
        let gate = gate_of(folder.path(), "allow = [\"write\"]", is_foreign);
        let ask = ActionAsk::of("erase", &ToolInput::new("t", Arc::default()));
        gate.pass(ask).map(drop).unwrap_err().for_operator()
    };
    // The wants are those of a manifest: this action is not among them.
    assert!(refused(false).ends_with("no grant can allow it"), "{}", refused(false));
    // A foreign component has no manifest.
    assert!(refused(true).contains("[plugins.p.grants.actions]\n"), "{}", refused(true));
}

#[test]
fn a_permit_is_for_one_tool_and_its_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let gate = gate_with(folder.path(), "allow = [\"write\"]");
    let needs = ["write".to_owned()];
    let input = |name, arguments| ToolInput::new(name, Arc::new(arguments));
    let asked = input("save", json!({ "file": "a" }));
    let permit = || gate.pass(ActionAsk::of("write", &asked)).unwrap();
    let made = |input| PermittedTool::new(input, &needs, vec![permit()]);
    assert_eq!(made(asked.clone()).unwrap().name(), "save");
    for other in [input("remove", json!({ "file": "a" })), input("save", json!({ "file": "b" }))] {
        assert!(matches!(made(other), Err(NotPermitted::Missing(action)) if action == "write"));
    }
    let none = PermittedTool::new(asked.clone(), &needs, Vec::new());
    assert!(matches!(none, Err(NotPermitted::Missing(_))));
}
