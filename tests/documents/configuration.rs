//! Tests that the generated page and the generated schema of `portcullis.toml` are complete and correct.

mod keys;
mod page;
mod settings;
mod verdicts;

use serde_json::Value;

use super::{GENERATED, check_page};
use crate::support::home::Home;

/// Retired keys. The host refuses them with a message that says what to write instead.
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
fn the_command_prints_the_schema_despite_an_invalid_configuration() {
    let home = Home::new();
    home.configure("this is no TOML");
    let ran = home.run(&["config", "schema"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let printed: Value = serde_json::from_str(&ran.stdout).expect("it is JSON");
    assert_eq!(&printed, portcullis_core::config::schema());
    assert!(jsonschema::meta::is_valid(&printed), "it is a schema");
}
