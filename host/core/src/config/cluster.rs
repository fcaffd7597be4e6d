//! The `[cluster]` section of `portcullis.toml`: the state that several hosts share.

use std::path::PathBuf;

use portcullis_cluster_state::Address;
use portcullis_egress::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

use super::Config;
use super::error::{ConfigError, Fault};

/// The state that several hosts share. Needs `state-key-file` under `[http]`, with the same keys for all hosts.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ClusterConfig {
    /// The address of a Redis or Valkey server: `redis://HOST:PORT/DATABASE`, or `rediss://` for TLS. Port and database
    /// may be left out.
    pub state: String,
    /// The absolute path of a file with the certificates, in PEM format, of the authorities that may have signed the
    /// server's certificate. Default: those that this system trusts.
    pub ca_file: Option<PathBuf>,
    /// The user at the server. Default: the server's default user.
    pub user: Option<String>,
    /// The password at the server. Default: none.
    pub password: Option<Secret>,
}

impl Config {
    /// Checks the address of the cluster's state, and that there are keys for it.
    pub(super) fn check_cluster(&self) -> Result<(), ConfigError> {
        let Some(cluster) = &self.cluster else { return Ok(()) };
        // The errors name the table: they concern keys in combination, and keys beside the one that is wrong.
        let wrong = |text: String| Err(ConfigError::key("cluster", Fault::Value(text)));
        match Address::parse(&cluster.state) {
            Ok(address) if cluster.ca_file.is_some() && !address.has_tls() => {
                return wrong("`ca-file` is for TLS: write `state` with rediss://".to_owned());
            }
            Ok(_) => {}
            Err(error) => return wrong(format!("`state`: {error}")),
        }
        if let Some(Secret::BearerEnv(_)) = cluster.password {
            let text =
                "`password` is no bearer token: write { env = \"NAME\" } or { file = \"/PATH\" }";
            return wrong(text.to_owned());
        }
        if self.http.state_key_file.is_none() {
            let text = "the state is sealed with the keys of the hosts: write `state-key-file` under [http], with the \
                        same keys for all hosts";
            return wrong(text.to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: &str = "[http]\nstate-key-file = \"/etc/keys\"\n";

    #[test]
    fn an_address_needs_keys_and_no_password() {
        let error = |text: &str| Config::parse(text).expect_err(text).to_string();
        let text = "[cluster]\nstate = \"redis://127.0.0.1\"\n";
        assert!(error(text).contains("state-key-file"), "{}", error(text));
        let config = Config::parse(&format!("{KEYS}{text}")).unwrap();
        assert_eq!(config.cluster.unwrap().state, "redis://127.0.0.1");
        for (address, expected) in [
            ("redis://me:s3cr3t@a", "as `user` and `password`"),
            ("http://a", "scheme"),
            ("redis://a/b", "number of a database"),
        ] {
            let text = format!("{KEYS}[cluster]\nstate = {address:?}\n");
            let error = error(&text);
            assert!(error.contains(expected) && error.contains("`cluster`: `state`"), "{error}");
            assert!(!error.contains("s3cr3t"), "{error}");
        }
        let text = format!(
            "{KEYS}[cluster]\nstate = \"redis://a\"\nuser = \"u\"\n\
             password = {{ file = \"/etc/password\" }}\n"
        );
        let config = Config::parse(&text).unwrap();
        let files: Vec<_> = config.secret_files().collect();
        assert!(files.iter().any(|file| file.ends_with("password")), "{files:?}");
        let bearer = text.replace("{ file =", "{ bearer-env =");
        assert!(error(&bearer).contains("no bearer token"), "{}", error(&bearer));
        assert!(error("[cluster]\nuser = \"u\"\n").contains("state"));
        let with_ca = |state: &str, file: &str| {
            format!("{KEYS}[cluster]\nstate = {state:?}\nca-file = {file:?}\n")
        };
        assert!(Config::parse(&with_ca("rediss://a", "/etc/ca.pem")).is_ok());
        assert!(error(&with_ca("redis://a", "/etc/ca.pem")).contains("rediss://"));
        assert!(error(&with_ca("rediss://a", "ca.pem")).contains("cluster.ca-file"));
    }
}
