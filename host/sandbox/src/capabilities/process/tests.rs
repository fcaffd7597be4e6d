//! Tests that check which asks a grant of commands covers.

use portcullis_files::Access;

use super::*;
use crate::gate::Ask as _;

#[test]
fn only_the_named_commands_are_within() {
    let grant: ProcessGrant = toml::from_str("commands = [\"npm\", \"git\"]").unwrap();
    for (command, expected) in [("npm", true), ("git", true), ("node", false), ("", false)] {
        let ask = ProcessAsk {
            command: command.into(),
            arguments: Vec::new(),
            directory: Some("/a".into()),
            access: Access::Write,
            fault: None,
        };
        assert_eq!(ask.is_within(&grant), expected, "{command}");
    }
}

#[test]
fn an_empty_list_of_commands_is_refused() {
    let error = toml::from_str::<ProcessGrant>("commands = []").unwrap_err().to_string();
    assert!(error.contains("name at least one"), "{error}");
}
