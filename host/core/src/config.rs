//! The configuration of the host, read from `portcullis.toml`.
//!
//! Unknown keys are refused. An error names the place or the key, and says what is wrong or what to write instead.

mod check;
mod cluster;
mod defaults;
pub mod edit;
mod error;
mod explain;
mod file;
mod folders;
mod form;
mod http;
mod lists;
mod mends;
mod other;
mod profiles;
mod schema;
mod secrets;
mod telemetry;

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use std::time::Duration;

use portcullis_audit::{Limits as AuditLimits, LogService};
use portcullis_confine::{Definition, DefinitionError};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::capabilities::Grants;
pub use check::is_name;
pub use cluster::ClusterConfig;
pub use defaults::{InvalidVariable, expand};
pub use error::{ConfigError, Fault};
pub use file::{ConfigFile, UnreadableFile};
pub use folders::{Folders, NoHome};
pub use http::{HttpConfig, IssuerConfig, OauthConfig};
pub use other::{error_at, parse_as};
use portcullis_engine::{Limits, SomeLimits};
use portcullis_plugin_sources::SourceConfigs;
pub use profiles::{ProfileConfig, StructuredContent, ToolOffer};
pub use schema::{expected, schema};
pub use secrets::shown;
pub use telemetry::TelemetryConfig;

/// The default configuration, before [`expand`]: the bundled plugins with their grants, and the commands.
pub use crate::families::DEFAULTS as DEFAULT;

/// The configuration of Portcullis: `portcullis.toml`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Config {
    /// Directories that sessions may work in: absolute paths.
    #[serde(default)]
    pub roots: Vec<PathBuf>,
    /// Files and folders of the host.
    #[serde(default)]
    pub host: HostConfig,
    /// The HTTP transport.
    #[serde(default)]
    pub http: HttpConfig,
    /// The state that several hosts share. Default: none; each host has its own.
    pub cluster: Option<ClusterConfig>,
    /// The limits of each call of a plugin.
    #[serde(default)]
    pub limits: SomeLimits,
    /// Programs that plugins can be granted to run, by name.
    #[serde(default)]
    #[schemars(extend("propertyNames" = { "pattern": "^[A-Za-z0-9_-]{1,64}$" }))]
    pub commands: BTreeMap<String, Definition>,
    /// Commands that may run with all rights of the user on systems that cannot confine their access to files: Windows,
    /// macOS, and Linux without Landlock. On Linux with Landlock, these commands are confined as usual. Default: none,
    /// so commands that cannot be confined are refused.
    #[serde(default)]
    pub unconfined_commands: Vec<String>,
    /// The plugins, by name.
    #[serde(default)]
    #[schemars(extend("propertyNames" = { "pattern": "^[A-Za-z0-9_-]{1,64}$" }))]
    pub plugins: BTreeMap<String, PluginConfig>,
    /// Other MCP servers whose tools Portcullis offers, by name.
    #[serde(default)]
    #[schemars(extend("propertyNames" = { "pattern": "^[A-Za-z0-9_-]{1,64}$" }))]
    pub upstreams: BTreeMap<String, crate::upstreams::Config>,
    /// Which tools clients see, by the name of the profile. A profile is chosen by the path `/mcp/NAME` over HTTP, by
    /// the option `--profile NAME`, or by its own keys `clients` and `principals`.
    #[serde(default)]
    #[schemars(extend("propertyNames" = { "pattern": "^[A-Za-z0-9_-]{1,64}$" }))]
    pub profiles: BTreeMap<String, ProfileConfig>,
    /// Requirements for plugins that are fetched. Key: a pattern for the registry and repository, or for the address,
    /// of a plugin: `HOST/PATH`, `HOST/PATH/*`, `HOST`, or `*`. If several patterns match, the longest one counts.
    #[serde(default)]
    #[schemars(extend("propertyNames" = { "pattern": "^(\\*|[^*/]+(/[^*]+)*(/\\*)?)$" }))]
    pub plugin_sources: SourceConfigs,
    /// Files that secrets are read from: each `file = "…"`.
    #[serde(skip)]
    secrets: Vec<PathBuf>,
}

/// Files and folders of the host.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct HostConfig {
    /// Folders whose `*.wasm` files are plugins: absolute paths. Default: `plugins` in the user's data folder.
    pub plugin_dirs: Option<Vec<PathBuf>>,
    /// Whether the plugins that come with the binary are loaded.
    #[schemars(extend("default" = true))]
    pub bundled: Option<bool>,
    /// The folder of the audit: an absolute path. Default: `audit` in the user's state folder.
    pub audit_dir: Option<PathBuf>,
    /// Maximum size of the audit, in bytes. If the audit is larger, its oldest files are deleted, except files that a
    /// running host still writes. The counts and denials of deleted records are kept.
    #[schemars(extend("default" = AuditLimits::TOTAL))]
    pub audit_bytes: Option<NonZeroU64>,
    /// Maximum age of the audit's files, in days since their last record. Older files are deleted, except files that a
    /// running host still writes. The counts and denials of deleted records are kept. Default: no limit.
    pub audit_days: Option<NonZeroU32>,
    /// Log services of the system that get a copy of each record: `journald`, `syslog`. The copies are not chained and may be
    /// lost: the folder stays the evidence. Not on Windows. Default: none.
    #[serde(default)]
    pub audit_copies: Vec<LogService>,
    /// The former name of `audit-dir`, from when the audit was one file. It is refused, with a hint.
    #[schemars(skip)]
    pub audit_file: Option<PathBuf>,
    /// The folder of caches, which may be deleted at any time: an absolute path. Default: the user's cache folder.
    pub cache_dir: Option<PathBuf>,
    /// The folder in which plugins keep state: an absolute path. Default: `store` in the user's data folder.
    pub store_dir: Option<PathBuf>,
    /// The file of approvals: an absolute path. Default: `portcullis.lock` in the user's state folder.
    pub lock_file: Option<PathBuf>,
    /// Whether a changed file of a plugin is loaded without a new approval. For authors of plugins.
    #[schemars(extend("default" = false))]
    pub follow_changes: Option<bool>,
    /// Whether a plugin or server without an approval is refused, instead of being approved at its first use.
    /// `follow-changes` then has no effect. For machines that nobody attends. The option `--locked` does the same.
    #[schemars(extend("default" = false))]
    pub locked: Option<bool>,
    /// The folder of logins at other servers: an absolute path. Default: `logins` in the user's data folder.
    pub login_dir: Option<PathBuf>,
    /// An OpenTelemetry collector that gets a span and a log record of each call. Default: none.
    pub telemetry: Option<TelemetryConfig>,
}

impl HostConfig {
    /// The limits of the audit.
    pub fn audit_limits(&self) -> AuditLimits {
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        let mut limits = AuditLimits::default();
        if let Some(bytes) = self.audit_bytes {
            limits.total = bytes.get();
            // Only whole segments are deleted, so the segments must be much smaller than the limit.
            limits.segment = limits.segment.min(limits.total / 8);
            limits.small = limits.small.min(limits.segment / 2);
        }
        limits.age = self.audit_days.map(|days| DAY * days.get());
        limits
    }

    /// The folders of the host: those that the configuration names, and `folders` for the rest.
    pub fn over(&self, mut folders: Folders) -> Folders {
        let Self { audit_dir, cache_dir, store_dir, lock_file, login_dir, .. } = self.clone();
        folders.audit = audit_dir.unwrap_or(folders.audit);
        folders.cache = cache_dir.unwrap_or(folders.cache);
        folders.lock = lock_file.unwrap_or(folders.lock);
        folders.logins = login_dir.unwrap_or(folders.logins);
        folders.store = store_dir.unwrap_or(folders.store);
        folders
    }
}

/// One plugin.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PluginConfig {
    /// Whether the plugin is loaded.
    #[schemars(extend("default" = true))]
    pub enabled: Option<bool>,
    /// Whether the plugin is for `portcullis call` only, and hidden from MCP clients.
    #[schemars(extend("default" = false))]
    pub command_line_only: Option<bool>,
    /// The prefix of the names of all the plugin's tools and prompts, followed by `_`. Default: none; only a tool or
    /// prompt whose name another source has gets a prefix, the plugin's name.
    #[schemars(regex(pattern = "^[A-Za-z0-9_-]{1,64}$"))]
    pub prefix: Option<String>,
    /// Tools of the plugin that clients can neither see nor call, by the plugin's own names for them.
    #[serde(default)]
    pub tools_off: Vec<String>,
    /// Tools of the plugin whose hints (such as "only reads") are passed to clients unchanged, although the grants
    /// would let the tools do more.
    #[serde(default)]
    pub trusted_hints: Vec<String>,
    /// Whether the plugin's tools answer with structured content and announce an output schema.
    #[schemars(extend("default" = true))]
    pub structured_content: Option<bool>,
    /// The effects that the plugin may have, by capability.
    #[serde(default)]
    pub grants: Grants,
    /// Values that the plugin can read, by name. Not for secrets.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// The limits of each call of this plugin. A limit that is left out has its value under `[limits]`.
    #[serde(default)]
    #[schemars(transform = schema::with_defaults_of_all_plugins)]
    pub limits: SomeLimits,
}

impl Config {
    /// Reads a configuration. Unless `host.bundled` is `false`, adds the defaults of the bundled plugins and commands
    /// that the configuration does not name.
    ///
    /// # Errors
    ///
    /// The text is not a valid configuration. The error contains no value that may be secret.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        Self::checked(text).map_err(|error| {
            explain::locate(text, error).with_hidden(|about| secrets::hidden(text, about))
        })
    }

    fn checked(text: &str) -> Result<Self, ConfigError> {
        let table: toml::Table =
            toml::from_str(text).map_err(|error| explain::toml(text, &error))?;
        if let Some(key) = lists::in_place_of_table(&table) {
            return Err(ConfigError::key(key, Fault::ListForTable));
        }
        if let Some((key, text)) = check::placeholder(&table) {
            return Err(ConfigError::key(key, Fault::Placeholder(text)));
        }
        if let Some(key) = check::unreplaced_variable(&table) {
            return Err(ConfigError::key(key, Fault::Variable));
        }
        let mut config: Self =
            toml::from_str(text).map_err(|error| explain::types(schema(), text, &error))?;
        for command in config.commands()? {
            let wrong = |error: DefinitionError| Fault::Value(error.to_string());
            command.check().map_err(|error| {
                ConfigError::key(format!("commands.{}", command.name), wrong(error))
            })?;
        }
        let defaults = expand(DEFAULT).map_err(Fault::Defaults)?;
        let defaults: Self = toml::from_str(&defaults)
            .map_err(|error| explain::types(schema(), &defaults, &error))?;
        if config.host.bundled.unwrap_or(true) {
            for (name, plugin) in defaults.plugins {
                config.plugins.entry(name).or_insert(plugin);
            }
            for (name, command) in defaults.commands {
                config.commands.entry(name).or_insert(command);
            }
        }
        config.check()?;
        // Files with secrets are found by the key `file`, because other crates read some of the tables.
        secret_files(&toml::Value::Table(table), &mut config.secrets);
        Ok(config)
    }

    /// The files that the configuration names as sources of secrets, and those of the HTTP transport.
    pub fn secret_files(&self) -> impl Iterator<Item = PathBuf> {
        let HttpConfig { token_file, tls_cert, tls_key, state_key_file, .. } = &self.http;
        let http = [token_file, tls_cert, tls_key, state_key_file];
        http.into_iter().flatten().chain(&self.secrets).cloned()
    }

    /// The files that hold the secrets of grants, upstream servers, logins and telemetry.
    pub fn secrets(&self) -> impl Iterator<Item = &Path> {
        self.secrets.iter().map(PathBuf::as_path)
    }

    /// This configuration for a server: plugins that are for the command line only are switched off.
    #[must_use]
    pub fn for_clients(mut self) -> Self {
        for plugin in self.plugins.values_mut() {
            if plugin.command_line_only == Some(true) {
                plugin.enabled = Some(false);
            }
        }
        self
    }

    /// The limits of one plugin. A limit that the plugin's section leaves out has its value under `[limits]`.
    pub fn limits_of(&self, plugin: &str) -> Limits {
        let base = self.limits.over(&Limits::default());
        match self.plugins.get(plugin) {
            Some(plugin) => plugin.limits.over(&base),
            None => base,
        }
    }

    /// The largest value of each limit among all plugins. The pool of instances must have room for a call with these
    /// limits.
    pub fn largest_limits(&self) -> Limits {
        let own = self.plugins.keys().map(|name| self.limits_of(name));
        own.fold(self.limits_of(""), |largest, one| largest.max(&one))
    }
}

/// Adds the path of each `file = "…"`, at any depth, to `found`.
fn secret_files(value: &toml::Value, found: &mut Vec<PathBuf>) {
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                match value.as_str() {
                    Some(path) if key == "file" => found.push(path.into()),
                    _ => secret_files(value, found),
                }
            }
        }
        toml::Value::Array(values) => values.iter().for_each(|value| secret_files(value, found)),
        toml::Value::String(_)
        | toml::Value::Integer(_)
        | toml::Value::Float(_)
        | toml::Value::Boolean(_)
        | toml::Value::Datetime(_) => {}
    }
}

/// Reads the configuration. Returns the path of its file, if the file exists.
///
/// # Errors
///
/// See [`ConfigFile::read`] and [`Config::parse`].
pub fn load(
    named: Option<&Path>,
    folders: &Folders,
) -> Result<(Config, Option<PathBuf>), ConfigError> {
    let ConfigFile { path, text } = ConfigFile::read(named, folders).map_err(Fault::Unreadable)?;
    let Some(text) = text else { return Ok((Config::parse("")?, None)) };
    match Config::parse(&text) {
        Ok(config) => Ok((config, Some(path))),
        Err(error) => Err(ConfigError { file: Some(path), ..error }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_a_configuration() {
        Config::parse("").unwrap();
        Config::parse(&expand(DEFAULT).unwrap()).unwrap();
    }

    #[test]
    fn an_invalid_configuration_is_refused_with_its_key() {
        for (text, expected) in [
            ("rots = []", "rots"),
            ("roots = [\"relative\"]", "not an absolute path"),
            ("[plugins.\"a b\"]", "letters, digits"),
            ("[commands.a]\nprogram = \"a\"\nmore-args = \"(\"", "more-args"),
            ("[plugins.a.grants.network]", "network"),
            ("[plugins.a.grants.http]\nhosts = []", "write a list of strings, not empty"),
            ("[plugins.a.grants.http]", "hosts"),
            ("[plugins.a.grants.files]\naccess = \"execute\"", "execute"),
            ("[plugins.a.limits]\nwall-ms = 0", "wall-ms"),
            ("[http]\nsessions = 0", "line 2, column 12: `http.sessions`"),
            ("[http]\ntls-cert = \"relative.pem\"", "http.tls-cert"),
            ("[http]\nlisten = \"here\"", "write the address and the port"),
            (
                "[http]\nreplay-byte = 1",
                "`http.replay-byte`: there is no such key; did you mean `replay-bytes`?",
            ),
            ("[upstreams.a]\ncomand = \"a\"", "line 2, column 1: `upstreams.a.comand`"),
            ("[upstreams.a]\ncommand = \"a\"\nstart-seconds = 0", "line 3, column 17"),
            (
                "[plugins.a.grants.store]",
                "`plugins.a.grants.store`: `bytes` is missing: write an integer above 0",
            ),
            ("[plugins.a.grants]\nstore = [1]", "`plugins.a.grants.store`: expected a table"),
            (
                "[plugins.a.grants.http]\nrules = [[[\"h\"]]]",
                "`plugins.a.grants.http.rules`: expected a table",
            ),
            ("[host.telemetry]", "endpoint"),
            ("[host.telemetry]\nendpoint = \"http://h\"\ntrace = true", "traces"),
            ("[http.oauth]\nresource = \"https://h/mcp\"", "issuers"),
            ("[http.oauth]\nresource = \"\"\nissuers = [{ isuer = \"\" }]", "isuer"),
            (
                "[plugins.a.grants.http]\nhosts = [\"h\"]\n\
                 headers.h.authorization = { env = \"PORTCULLIS_TEST_NO_SUCH_VARIABLE\" }",
                "PORTCULLIS_TEST_NO_SUCH_VARIABLE",
            ),
        ] {
            let error = Config::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn files_with_secrets_are_found_in_all_tables() {
        let folder = tempfile::tempdir().unwrap();
        let secret = folder.path().join("secret");
        std::fs::write(&secret, "a long secret").unwrap();
        let path = secret.to_str().unwrap();
        let config = Config::parse(&format!(
            "[http]\ntoken-file = \"/t\"\n[plugins.a.grants.http]\nhosts = [\"h\"]\n\
             headers.h.authorization = {{ file = {path:?} }}"
        ));
        let files: Vec<_> = config.unwrap().secret_files().collect();
        assert_eq!(files, [PathBuf::from("/t"), secret]);
    }

    #[test]
    fn plugins_for_the_command_line_only_are_off_for_clients() {
        let text = "[plugins.a]\ncommand-line-only = true\n[plugins.b]\ncommand-line-only = false";
        let served = Config::parse(text).unwrap().for_clients();
        let enabled = |name: &str| served.plugins[name].enabled;
        assert_eq!((enabled("a"), enabled("b")), (Some(false), None));
    }

    #[test]
    fn a_bundled_plugin_keeps_its_defaults_until_it_is_named() {
        let unnamed = Config::parse("").unwrap();
        let granted = |plugin: &PluginConfig| plugin.grants != Grants::default();
        let (name, _) = unnamed.plugins.iter().find(|(_, plugin)| granted(plugin)).unwrap();
        let named = Config::parse(&format!("[plugins.{name}]")).unwrap();
        assert_eq!(named.plugins[name].grants, Grants::default());
        let off = Config::parse("[host]\nbundled = false").unwrap();
        assert!(off.plugins.is_empty());
    }
}
