//! Reads TOML files other than `portcullis.toml`, such as cases of plugins, with errors of the same form.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::error::{ConfigError, Fault};
use super::{explain, schema};

/// Reads a text of TOML as a value of this type.
///
/// # Errors
///
/// The text is not TOML, or not of this type. The error names the place and the key, and what to write instead.
pub fn parse_as<T: DeserializeOwned + JsonSchema>(text: &str) -> Result<T, ConfigError> {
    let _table: toml::Table = toml::from_str(text).map_err(|error| explain::toml(text, &error))?;
    toml::from_str(text).map_err(|error| explain::types(&schema::schema_of::<T>(), text, &error))
}

/// An error about the key of `text` to which `keys` lead, with the place of the key. If the text does not have the key,
/// with the place of the innermost table that leads to it, if there is one.
pub fn error_at(text: &str, keys: &[&str], reason: String) -> ConfigError {
    let error = ConfigError::key(keys.join("."), Fault::Value(reason));
    ConfigError { place: explain::place_of_key(text, keys), ..error }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    /// A file.
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only the errors are looked at")]
    struct File {
        /// Its name.
        name: String,
        /// More.
        #[serde(default)]
        more: std::collections::BTreeMap<String, u32>,
    }

    #[test]
    fn errors_name_the_place_and_the_key() {
        for (text, expected) in [
            ("nam = \"a\"", "line 1, column 1: `nam`: there is no such key; did you mean `name`?"),
            ("\nname = 1", "line 2, column 8: `name`: write a string, instead of 1"),
            ("name = \"a\"\n[more]\nb = \"c\"", "line 3, column 5: `more.b`: write"),
            ("name = \"a", "line 1"),
        ] {
            let error = parse_as::<File>(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text:?}: {error}");
        }
    }

    #[test]
    fn an_error_about_a_key_has_its_place_or_that_of_its_table() {
        let text = "name = \"a\"\n[more]\nb = 1\n";
        for (keys, expected) in [
            (&["more", "b"][..], "line 3, column 1: `more.b`: no"),
            (&["more", "c"], "line 2, column 2: `more.c`: no"),
            (&["other"], "`other`: no"),
        ] {
            assert_eq!(error_at(text, keys, "no".into()).to_string(), expected);
        }
    }
}
