//! Secret header values: sent to one origin and shown to nobody else.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue};
use portcullis_scrub::{Scrub, secret_parts};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{Origin, Secrets};

/// A secret that stands outside of the configuration. The host reads it for each use, and keeps it no longer than
/// the call that used it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Secret {
    /// The name of an environment variable of the host.
    Env(String),
    /// The path of a file. White space around its text is left out.
    File(PathBuf),
}

impl Secret {
    /// Whether it can be sent in a header now.
    ///
    /// # Errors
    ///
    /// In words for the operator, without the value.
    pub fn check(&self) -> Result<(), String> {
        self.header().map(|_| ())
    }

    /// The value for a header, and the parts of it that no answer may show.
    fn header(&self) -> Result<(HeaderValue, Vec<String>), String> {
        let value = self.read()?;
        let parts = secret_parts(&value).map_err(|error| error.to_string())?;
        let mut value = HeaderValue::try_from(value).map_err(|_| "it is no header's value")?;
        value.set_sensitive(true);
        Ok((value, parts))
    }

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

/// The secrets that requests have met so far, so that no answer shows them.
#[derive(Default)]
pub(crate) struct Known {
    parts: BTreeSet<String>,
    scrub: Arc<Scrub>,
}

impl Known {
    /// Takes these secrets out of answers.
    pub(crate) fn scrub(&self) -> Arc<Scrub> {
        self.scrub.clone()
    }

    /// Puts the secrets of an origin among the headers of a request, in place of any that have their names. The
    /// secrets of all origins are known from now on: what one server was sent, another one may tell.
    ///
    /// # Errors
    ///
    /// Which header, and what is wrong with it; never its value.
    pub(crate) fn add(
        &mut self,
        headers: &mut HeaderMap,
        origin: &Origin,
        secrets: &Secrets,
    ) -> Result<(), String> {
        let mut parts = Vec::new();
        for (owner, secrets) in secrets {
            for (name, secret) in secrets {
                let read = secret.header();
                // A secret of another origin that cannot be read now is not sent now either.
                if let Ok((_, of_this)) = &read {
                    parts.extend(of_this.clone());
                }
                if owner != origin {
                    continue;
                }
                let told = |error: &str| format!("the secret header {name} for {origin}: {error}");
                let (value, _) = read.map_err(|error| told(&error))?;
                let name =
                    HeaderName::try_from(name).map_err(|_| told("it is no header's name"))?;
                headers.insert(name, value);
            }
        }
        let before = self.parts.len();
        self.parts.extend(parts);
        if self.parts.len() > before {
            self.scrub = Arc::new(Scrub::new(self.parts.iter().map(String::as_str)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(headers: &mut HeaderMap, name: &str, file: &std::path::Path) -> Result<(), String> {
        let origin: Origin = "a.example".parse().unwrap();
        let secrets = [(name.to_owned(), Secret::File(file.to_owned()))].into();
        Known::default().add(headers, &origin.clone(), &[(origin, secrets)].into())
    }

    #[test]
    fn a_secret_takes_the_place_of_what_was_there_and_is_marked() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file.as_file(), b" the token\n").unwrap();
        let mut headers = HeaderMap::new();
        headers.insert("authorization", HeaderValue::from_static("made up"));
        added(&mut headers, "Authorization", file.path()).unwrap();
        assert_eq!(headers.get_all("authorization").iter().count(), 1);
        assert_eq!(headers["authorization"], "the token");
        assert!(headers["authorization"].is_sensitive());
    }

    #[test]
    fn what_is_no_header_is_said_without_its_value() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file.as_file(), b"the to\nken").unwrap();
        let mut headers = HeaderMap::new();
        let error = added(&mut headers, "x", file.path()).unwrap_err();
        assert!(error.contains("no header's value") && !error.contains("ken"), "{error}");
        std::io::Write::write_all(&mut file.reopen().unwrap(), b"the tok ken").unwrap();
        let error = added(&mut headers, "x y", file.path()).unwrap_err();
        assert!(error.contains("no header's name") && !error.contains("ken"), "{error}");
        let gone = file.path().with_extension("gone");
        assert!(added(&mut headers, "x", &gone).unwrap_err().contains("cannot read"));
        assert!(headers.is_empty());
    }
}
