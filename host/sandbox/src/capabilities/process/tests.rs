//! Tests that check which asks a grant of commands covers.

use portcullis_files::Access;

use super::*;
use crate::gate::Ask as _;

#[test]
fn within_are_the_commands_that_are_named() {
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
fn a_grant_of_no_command_is_none() {
    let error = toml::from_str::<ProcessGrant>("commands = []").unwrap_err().to_string();
    assert!(error.contains("name at least one"), "{error}");
}
