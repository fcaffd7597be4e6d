//! Tests that check which asks a grant of tools covers.

use super::*;
use crate::gate::Ask as _;

fn grant(text: &str) -> ToolsGrant {
    toml::from_str(text).unwrap()
}

fn call(tool: &str) -> ToolAsk {
    ToolAsk(ToolUse::Call { call: 0, tool: tool.to_owned() })
}

#[test]
fn a_grant_covers_only_the_named_tools() {
    let named = grant("call = [\"read_file\"]");
    assert!(call("read_file").is_within(&named));
    for other in ["read_files", "read_fil", "a_read_file", "", "READ_FILE"] {
        assert!(!call(other).is_within(&named), "{other}");
    }
    assert!(toml::from_str::<ToolsGrant>("call = []").is_err());
}

#[test]
fn a_star_stands_for_any_characters() {
    for (pattern, matching, other) in [
        ("*", &["", "a", "*"][..], &[][..]),
        ("github_*", &["github_", "github_list"], &["github", "my_github_list"]),
        ("*_list", &["_list", "a_list", "_list_list"], &["list", "a_list_b"]),
        ("a*b*c", &["abc", "a1b2c", "abbcc"], &["ab", "acb", "abcd", "xabc"]),
        ("a*a", &["aa", "aba"], &["a"]),
    ] {
        let grant = grant(&format!("call = [{pattern:?}]"));
        assert!(matching.iter().all(|name| grant.has(name)), "{pattern}");
        assert!(!other.iter().any(|name| grant.has(name)), "{pattern}");
    }
}

#[test]
fn a_subject_names_the_tool_on_one_line() {
    let subject = call("a\nb").subject();
    assert_eq!(subject, "call the tool a b as call 0");
    let begin = ToolAsk(ToolUse::Begin(Some("12ab".into())));
    assert_eq!(begin.subject(), "run the program sha256:12ab");
}

#[test]
fn a_remedy_keeps_what_is_granted() {
    let granted = grant("call = [\"a_*\"]\nkeep-programs = true");
    let remedy = call("b").remedy(Some(&granted));
    let more = grant(&remedy);
    assert!(more.has("a_1") && more.has("b") && more.keeps_programs());
}
