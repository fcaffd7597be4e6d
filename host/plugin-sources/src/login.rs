//! Logins at registries: from the file of docker, or from the environment.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use serde::Deserialize;

use crate::error::SourceError;

/// The sources of logins.
#[derive(Default, Clone)]
pub struct Logins {
    /// The file of docker, `config.json`. It is never written.
    pub docker: Option<PathBuf>,
    /// A login for one registry. It takes precedence over the file.
    pub given: Option<GivenLogin>,
}

/// A login for one registry.
#[derive(Clone)]
pub struct GivenLogin {
    /// The host of the registry, with its port if it has one.
    pub registry: String,
    /// The name of the user.
    pub user: String,
    /// The password, or a token that the registry takes as a password.
    pub password: String,
}

/// The login for one registry, if there is one.
pub(crate) enum Login {
    /// The header with the user and the password.
    Basic(HeaderValue),
    /// No login. The text says what to do if the registry demands one.
    None(String),
}

/// The names of the environment variables that can hold a login: the registry, the user, the password.
pub const VARIABLES: [&str; 3] =
    ["PORTCULLIS_REGISTRY", "PORTCULLIS_REGISTRY_USER", "PORTCULLIS_REGISTRY_PASSWORD"];

/// Maximum size of docker's file, in bytes.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

#[derive(Deserialize, Default)]
#[serde(default)]
struct DockerConfig {
    auths: BTreeMap<String, Auth>,
    #[serde(rename = "credsStore")]
    store: String,
    #[serde(rename = "credHelpers")]
    helpers: BTreeMap<String, String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Auth {
    auth: String,
    identitytoken: String,
}

impl Logins {
    /// The login for a registry.
    pub(crate) fn of(&self, host: &str) -> Result<Login, SourceError> {
        if let Some(given) = self.given.as_ref().filter(|given| given.registry == host) {
            return Ok(Login::Basic(basic(&given.user, &given.password)));
        }
        let [registry, user, password] = VARIABLES;
        let by_variables = format!("set {registry}={host}, {user} and {password}");
        let advice =
            format!("log in with `docker login {host}` or `oras login {host}`, or {by_variables}");
        let Some(path) = &self.docker else { return Ok(Login::None(advice)) };
        let wrong = |why: String| SourceError::Logins { path: path.clone(), why };
        let text = match read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Login::None(advice));
            }
            read => read.map_err(|error| wrong(error.to_string()))?,
        };
        // The error's own text could quote a part of the file, which holds secrets.
        let config: DockerConfig = serde_json::from_slice(&text).map_err(|error| {
            wrong(format!("line {} does not have the format of docker's config.json", error.line()))
        })?;
        let is_host = |name: &str| {
            let name = name.trim_start_matches("https://").trim_end_matches('/');
            let name =
                name.strip_suffix("/v1").or_else(|| name.strip_suffix("/v2")).unwrap_or(name);
            name == host
        };
        let helper =
            config.helpers.iter().find(|(name, _)| is_host(name)).map(|(_, helper)| helper);
        let helper = helper.or(Some(&config.store)).filter(|helper| !helper.is_empty());
        let auth = config.auths.iter().find(|(name, _)| is_host(name)).map(|(_, auth)| auth);
        match (auth, helper) {
            (Some(auth), _) if !auth.auth.is_empty() => {
                let unreadable =
                    || wrong(format!("`auth` of {host} is not base64 of USER:PASSWORD"));
                let decoded = STANDARD.decode(&auth.auth).map_err(|_| unreadable())?;
                let decoded = String::from_utf8(decoded).map_err(|_| unreadable())?;
                let (user, password) = decoded.split_once(':').ok_or_else(unreadable)?;
                Ok(Login::Basic(basic(user, password)))
            }
            (Some(auth), _) if !auth.identitytoken.is_empty() => Ok(Login::None(format!(
                "{} has an identity token for {host}, but Portcullis does not use such tokens: {by_variables}",
                path.display()
            ))),
            (_, Some(helper)) => Ok(Login::None(format!(
                "{} leaves the login to the program `docker-credential-{helper}`, which is not run: {by_variables}",
                path.display()
            ))),
            (_, None) => Ok(Login::None(advice)),
        }
    }
}

fn read(path: &std::path::Path) -> io::Result<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The value of the header for a user and a password.
fn basic(user: &str, password: &str) -> HeaderValue {
    let text = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
    let mut value = HeaderValue::try_from(text).expect("base64 fits in a header");
    value.set_sensitive(true);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logins(text: &str) -> (tempfile::TempDir, Logins) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        std::fs::write(&path, text).unwrap();
        (folder, Logins { docker: Some(path), given: None })
    }

    fn header(login: Result<Login, SourceError>) -> Result<String, String> {
        match login {
            Ok(Login::Basic(value)) => Ok(value.to_str().unwrap().to_owned()),
            Ok(Login::None(hint)) => Err(hint),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn a_login_is_for_its_own_registry() {
        let auth = STANDARD.encode("me:secret");
        for name in ["a.example:5000", "https://a.example:5000", "https://a.example:5000/v2/"] {
            let (_folder, logins) =
                logins(&format!("{{\"auths\":{{{name:?}:{{\"auth\":{auth:?}}}}}}}"));
            assert_eq!(header(logins.of("a.example:5000")), Ok(format!("Basic {auth}")));
            for other in ["a.example", "a.example:5001", "b.example"] {
                assert!(header(logins.of(other)).unwrap_err().contains("docker login"));
            }
        }
        let registry = "a.example".to_owned();
        let given = GivenLogin { registry, user: "me".into(), password: "secret".into() };
        let given = Logins { docker: None, given: Some(given) };
        assert_eq!(header(given.of("a.example")), Ok(format!("Basic {auth}")));
        assert!(header(given.of("b.example")).is_err());
    }

    #[test]
    fn logins_that_are_not_used_are_named() {
        for (text, expected) in [
            (r#"{"credsStore":"pass"}"#, "docker-credential-pass"),
            (
                r#"{"credHelpers":{"a.example":"gcr"},"auths":{"a.example":{}}}"#,
                "docker-credential-gcr",
            ),
            (r#"{"auths":{"a.example":{"identitytoken":"x"}}}"#, "identity token"),
            (r#"{"auths":{"a.example":{"auth":"hunter2"}}}"#, "not base64"),
            (r#"{"auths":{"a.example":{"auth":["hunter2"]}}}"#, "line 1"),
            ("{", "line 1"),
        ] {
            let (_folder, logins) = logins(text);
            let said = header(logins.of("a.example")).unwrap_err();
            assert!(said.contains(expected) && !said.contains("hunter2"), "{text}: {said}");
        }
    }
}
