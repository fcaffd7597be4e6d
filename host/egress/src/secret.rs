//! Secret header values: read for each use, sent to one origin, and removed from all responses.

use std::collections::BTreeSet;
use std::env::VarError;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use http::header::{InvalidHeaderName, InvalidHeaderValue};
use http::{HeaderMap, HeaderName, HeaderValue};
use portcullis_scrub::{Scrub, TooShort, secret_parts};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{Origin, Secrets};

/// A secret that is kept outside of the configuration. The host reads it for each use, and keeps it no longer than
/// the call that used it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Secret {
    /// The name of an environment variable of the host.
    Env(String),
    /// The name of an environment variable of the host with a token: the value is `Bearer` and the token.
    #[serde(rename = "bearer-env")]
    BearerEnv(String),
    /// The path of a file. White space around its text is left out.
    File(PathBuf),
}

/// Why a secret cannot be read or sent. Its text does not contain the value.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The environment variable is not set.
    #[error("the environment variable {0} is not set")]
    NoVariable(String),
    /// The environment variable is not UTF-8. The error of the standard library is not kept, because it contains the
    /// value.
    #[error("the environment variable {0} is not UTF-8")]
    VariableNotUtf8(String),
    /// The file cannot be read.
    #[error("cannot read {}: {cause}", .path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// Why it cannot be read.
        #[source]
        cause: io::Error,
    },
    /// The value is too short to be found in responses.
    #[error(transparent)]
    TooShort(#[from] TooShort),
    /// The value contains characters that are not allowed in the value of a header.
    #[error("the value is not a valid header value")]
    Value(#[from] InvalidHeaderValue),
}

/// Why a secret header cannot be added to a request. Its text does not contain the value.
#[derive(Debug, thiserror::Error)]
#[error("the secret header {name} for {origin}: {cause}")]
pub(crate) struct SecretHeaderError {
    name: String,
    origin: String,
    #[source]
    cause: SecretHeaderFault,
}

/// Why a secret header cannot be added.
#[derive(Debug, thiserror::Error)]
enum SecretHeaderFault {
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error("the name is not a valid header name")]
    Name(#[from] InvalidHeaderName),
}

impl Secret {
    /// Checks that the secret can be sent in a header now.
    ///
    /// # Errors
    ///
    /// The secret cannot be read, is too short, or is not a header value.
    pub fn check(&self) -> Result<(), SecretError> {
        self.header().map(|_| ())
    }

    /// The value for a header, and its parts that are removed from responses.
    fn header(&self) -> Result<(HeaderValue, Vec<String>), SecretError> {
        let value = self.read()?;
        let parts = secret_parts(&value)?;
        let mut value = HeaderValue::try_from(value)?;
        value.set_sensitive(true);
        Ok((value, parts))
    }

    /// Reads the value.
    ///
    /// # Errors
    ///
    /// The environment variable is not set or is not UTF-8, or the file cannot be read.
    #[expect(clippy::disallowed_methods, reason = "secrets come from the environment or a file")]
    pub fn read(&self) -> Result<String, SecretError> {
        let variable = |name: &String| {
            std::env::var(name).map_err(|error| match error {
                VarError::NotPresent => SecretError::NoVariable(name.clone()),
                VarError::NotUnicode(_) => SecretError::VariableNotUtf8(name.clone()),
            })
        };
        match self {
            Self::Env(name) => variable(name),
            Self::BearerEnv(name) => Ok(match variable(name)?.trim() {
                value if value.starts_with("Bearer ") => value.to_owned(),
                token => format!("Bearer {token}"),
            }),
            Self::File(path) => std::fs::read_to_string(path)
                .map(|text| text.trim().to_owned())
                .map_err(|cause| SecretError::File { path: path.clone(), cause }),
        }
    }
}

/// The secrets of all origins, as read for the requests of one client so far. They are removed from all responses.
#[derive(Default)]
pub(crate) struct KnownSecrets {
    parts: BTreeSet<String>,
    scrub: Arc<Scrub>,
}

impl KnownSecrets {
    /// The [`Scrub`] that removes these secrets from responses.
    pub(crate) fn scrub(&self) -> Arc<Scrub> {
        self.scrub.clone()
    }

    /// Adds the secrets of an origin to the headers of a request. They replace headers with the same names. From then
    /// on, the secrets of all origins are removed from responses, because a server may return a secret that was sent to
    /// another server.
    ///
    /// # Errors
    ///
    /// A secret of this origin cannot be read or sent.
    pub(crate) fn add(
        &mut self,
        headers: &mut HeaderMap,
        origin: &Origin,
        secrets: &Secrets,
    ) -> Result<(), SecretHeaderError> {
        let mut parts = Vec::new();
        for (owner, secrets) in secrets {
            for (name, secret) in secrets {
                let read = secret.header();
                // A secret of another origin that cannot be read now is ignored, because this request does not send it.
                if let Ok((_, parts_of_secret)) = &read {
                    parts.extend(parts_of_secret.clone());
                }
                if owner != origin {
                    continue;
                }
                let failed = |cause: SecretHeaderFault| SecretHeaderError {
                    name: name.clone(),
                    origin: origin.to_string(),
                    cause,
                };
                let (value, _) = read.map_err(|error| failed(error.into()))?;
                let name = HeaderName::try_from(name).map_err(|error| failed(error.into()))?;
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

    /// Adds the secret in `file` to the headers. Returns the text of the error.
    fn add(headers: &mut HeaderMap, name: &str, file: &std::path::Path) -> Result<(), String> {
        let origin: Origin = "a.example".parse().unwrap();
        let secrets = [(name.to_owned(), Secret::File(file.to_owned()))].into();
        let added =
            KnownSecrets::default().add(headers, &origin.clone(), &[(origin, secrets)].into());
        added.map_err(|error| error.to_string())
    }

    #[test]
    fn a_secret_replaces_the_header_of_the_request_and_is_sensitive() {
        let file = tempfile::NamedTempFile::new().unwrap();
        io::Write::write_all(&mut file.as_file(), b" the token\n").unwrap();
        let mut headers = HeaderMap::new();
        headers.insert("authorization", HeaderValue::from_static("made up"));
        add(&mut headers, "Authorization", file.path()).unwrap();
        assert_eq!(headers.get_all("authorization").iter().count(), 1);
        assert_eq!(headers["authorization"], "the token");
        assert!(headers["authorization"].is_sensitive());
    }

    #[test]
    fn the_error_of_an_invalid_header_does_not_contain_the_value() {
        let file = tempfile::NamedTempFile::new().unwrap();
        io::Write::write_all(&mut file.as_file(), b"the to\nken").unwrap();
        let mut headers = HeaderMap::new();
        let error = add(&mut headers, "x", file.path()).unwrap_err();
        assert!(error.contains("not a valid header value") && !error.contains("ken"), "{error}");
        io::Write::write_all(&mut file.reopen().unwrap(), b"the tok ken").unwrap();
        let error = add(&mut headers, "x y", file.path()).unwrap_err();
        assert!(error.contains("not a valid header name") && !error.contains("ken"), "{error}");
        let gone = file.path().with_extension("gone");
        assert!(add(&mut headers, "x", &gone).unwrap_err().contains("cannot read"));
        assert!(headers.is_empty());
    }
}
