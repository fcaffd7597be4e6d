//! Headers whose values are nobody's to see but their origin's.

use std::collections::BTreeMap;
use std::path::PathBuf;

use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;

use crate::Origin;

/// Where the value of a secret header comes from. It is read when it is needed and kept nowhere.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Secret {
    /// An environment variable of this process.
    Env(String),
    /// A file; white space around its text is left out.
    File(PathBuf),
}

impl Secret {
    /// The value.
    ///
    /// # Errors
    ///
    /// In words for the operator, without the value.
    #[expect(clippy::disallowed_methods, reason = "secrets come from the environment or a file")]
    pub fn read(&self) -> Result<String, String> {
        match self {
            Self::Env(name) => {
                std::env::var(name).map_err(|_| format!("the environment has no {name}"))
            }
            Self::File(path) => std::fs::read_to_string(path)
                .map(|text| text.trim().to_owned())
                .map_err(|error| format!("cannot read {}: {error}", path.display())),
        }
    }
}

/// Puts secrets among the headers of a request, in place of any that have their names.
///
/// # Errors
///
/// Which header, and what is wrong with it; never its value.
pub(crate) fn add(
    headers: &mut HeaderMap,
    origin: &Origin,
    secrets: &BTreeMap<String, Secret>,
) -> Result<(), String> {
    for (name, secret) in secrets {
        let told = |error: &str| format!("the secret header {name} for {origin}: {error}");
        let value = secret.read().map_err(|error| told(&error))?;
        let mut value =
            HeaderValue::try_from(value).map_err(|_| told("it is no header's value"))?;
        value.set_sensitive(true);
        let known = HeaderName::try_from(name).map_err(|_| told("it is no header's name"))?;
        headers.insert(known, value);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(headers: &mut HeaderMap, name: &str, file: &std::path::Path) -> Result<(), String> {
        let secrets = [(name.to_owned(), Secret::File(file.to_owned()))].into();
        add(headers, &"a.example".parse().unwrap(), &secrets)
    }

    #[test]
    fn a_secret_takes_the_place_of_what_was_there_and_is_marked() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file.as_file(), b" token\n").unwrap();
        let mut headers = HeaderMap::new();
        headers.insert("authorization", HeaderValue::from_static("made up"));
        added(&mut headers, "Authorization", file.path()).unwrap();
        assert_eq!(headers.get_all("authorization").iter().count(), 1);
        assert_eq!(headers["authorization"], "token");
        assert!(headers["authorization"].is_sensitive());
    }

    #[test]
    fn what_is_no_header_is_said_without_its_value() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file.as_file(), b"to\nken").unwrap();
        let mut headers = HeaderMap::new();
        let error = added(&mut headers, "x", file.path()).unwrap_err();
        assert!(error.contains("no header's value") && !error.contains("ken"), "{error}");
        std::io::Write::write_all(&mut file.reopen().unwrap(), b"tok ken").unwrap();
        let error = added(&mut headers, "x y", file.path()).unwrap_err();
        assert!(error.contains("no header's name") && !error.contains("ken"), "{error}");
        let gone = file.path().with_extension("gone");
        assert!(added(&mut headers, "x", &gone).unwrap_err().contains("cannot read"));
        assert!(headers.is_empty());
    }
}
