//! The reference of `portcullis.toml`: its page and its schema are generated, complete and right.

mod keys;
mod page;
mod settings;
mod verdicts;

use serde_json::Value;

use super::{GENERATED, check_page};
use crate::support::home::Home;

/// A key that the host retired. It knows the key, so as to say what to write instead, and accepts no value of it.
const RETIRED: &[&str] = &["host.audit-file"];

#[test]
fn the_page_of_the_configuration_is_current() {
    let text = page::page(portcullis_core::config::schema()) + &settings::section();
    check_page("configuration.md", &format!("{GENERATED}{text}"));
}

#[test]
fn the_schema_of_the_configuration_is_current() {
    let schema = portcullis_core::config::schema();
    check_page("portcullis.schema.json", &format!("{schema:#}\n"));
}

#[test]
fn the_command_prints_the_schema_whatever_the_configuration_says() {
    let home = Home::new();
    home.configure("this is no TOML");
    let ran = home.run(&["config", "schema"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let printed: Value = serde_json::from_str(&ran.stdout).expect("it is JSON");
    assert_eq!(&printed, portcullis_core::config::schema());
    assert!(jsonschema::meta::is_valid(&printed), "it is a schema");
}
