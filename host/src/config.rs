//! `portcullis.toml` → [`Config`]: unknown keys refused, every message names the key and the fix.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use portcullis_confine::{Command, Definition};
use portcullis_outgoing::{Origin, Secret};
use serde::Deserialize;

use crate::capabilities::Grants;
use portcullis_engine::{Limits, SomeLimits};

/// The configuration that counts where the operator wrote none: it grants the bundled plugins what
/// they want.
pub const DEFAULT: &str = include_str!("../../resources/portcullis.toml");

/// Scripts that come with the binary, for commands whose arguments name one as `@NAME`.
const SCRIPTS: &[(&str, &str)] =
    &[("ui5-lint-worker.mjs", include_str!("../../resources/ui5/lint-worker.mjs"))];

/// Everything the operator says.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Config {
    /// Directories that sessions may work in.
    #[serde(default)]
    pub roots: Vec<PathBuf>,
    /// The host itself.
    #[serde(default)]
    pub host: HostConfig,
    /// The HTTP transport.
    #[serde(default)]
    pub http: HttpConfig,
    /// Limits of all plugins.
    #[serde(default)]
    pub limits: SomeLimits,
    /// Commands that plugins may be granted, by name.
    #[serde(default)]
    pub commands: BTreeMap<String, Definition>,
    /// Each plugin, by name.
    #[serde(default)]
    pub plugins: BTreeMap<String, PluginConfig>,
    /// Other MCP servers, by name.
    #[serde(default)]
    pub upstreams: BTreeMap<String, UpstreamConfig>,
}

/// What the operator says of another MCP server.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "toml::Table")]
pub struct UpstreamConfig {
    /// Whether it is used; it is unless this is false.
    pub enabled: Option<bool>,
    /// What is put before the names of its tools and prompts, with `_` between.
    pub prefix: Option<String>,
    /// Tools of it that no client sees.
    pub tools_off: Vec<String>,
    /// How it is started or reached.
    pub definition: portcullis_upstream::Definition,
}

impl TryFrom<toml::Table> for UpstreamConfig {
    type Error = String;

    /// What is not about how it is used is about how it is reached. Values of `env` and `headers` may
    /// be secrets, `{ env = "NAME" }` or `{ file = "PATH" }`, as those of plugins' requests.
    fn try_from(mut table: toml::Table) -> Result<Self, String> {
        #[derive(Deserialize)]
        #[serde(rename_all = "kebab-case")]
        struct Own {
            enabled: Option<bool>,
            prefix: Option<String>,
            #[serde(default)]
            tools_off: Vec<String>,
        }
        let mut own = toml::Table::new();
        for key in ["enabled", "prefix", "tools-off"] {
            own.extend(table.remove(key).map(|value| (key.to_owned(), value)));
        }
        for key in ["env", "headers"] {
            let Some(values) = table.get_mut(key).and_then(toml::Value::as_table_mut) else {
                continue;
            };
            for (name, value) in values.iter_mut().filter(|(_, value)| value.is_table()) {
                let secret: Secret =
                    value.clone().try_into().map_err(|error| format!("`{key}.{name}`: {error}"))?;
                *value = secret.read().map_err(|error| format!("`{key}.{name}`: {error}"))?.into();
            }
        }
        let Own { enabled, prefix, tools_off } =
            own.try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
        let definition =
            table.try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
        Ok(Self { enabled, prefix, tools_off, definition })
    }
}

/// Where the host finds and keeps things.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct HostConfig {
    /// Folders whose `*.wasm` files are plugins, instead of `plugins` in the user's data folder.
    pub plugin_dirs: Option<Vec<PathBuf>>,
    /// Whether the plugins that come with the binary are there; they are unless this is false.
    pub bundled: Option<bool>,
    /// The audit's file, instead of `audit.jsonl` in the user's state folder.
    pub audit_file: Option<PathBuf>,
    /// What may be deleted at any time, instead of the user's cache folder.
    pub cache_dir: Option<PathBuf>,
    /// What plugins keep, instead of `store` in the user's data folder.
    pub store_dir: Option<PathBuf>,
    /// What was approved, instead of `portcullis.lock` in the user's state folder.
    pub lock_file: Option<PathBuf>,
}

/// The HTTP transport.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct HttpConfig {
    /// Where to listen.
    pub listen: SocketAddr,
    /// A file whose text every request must carry as its bearer token.
    pub token_file: Option<PathBuf>,
    /// Values of the Host header that are served beside those of loopback.
    pub allowed_hosts: Vec<String>,
    /// Origins of web pages that may call: `scheme://host[:port]`. None else may.
    pub allowed_origins: Vec<String>,
    /// Connections at the same time.
    pub connections: NonZeroU32,
    /// Sessions at the same time.
    pub sessions: NonZeroU32,
    /// Requests a second, of all clients together.
    pub requests_per_second: NonZeroU32,
    /// Size of one request's body, in bytes.
    pub body_bytes: NonZeroU32,
}

impl Default for HttpConfig {
    fn default() -> Self {
        let number = |number| NonZeroU32::new(number).expect("above 0");
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8719)),
            token_file: None,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            connections: number(256),
            sessions: number(128),
            requests_per_second: number(500),
            body_bytes: number(4 * 1024 * 1024),
        }
    }
}

/// What the operator says of one plugin.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PluginConfig {
    /// Whether it is there; it is unless this is false.
    pub enabled: Option<bool>,
    /// What is put before the names of its tools and prompts, with `_` between.
    pub prefix: Option<String>,
    /// Tools of it that no client sees, by the plugin's own names for them.
    #[serde(default)]
    pub tools_off: Vec<String>,
    /// Anything, where clients take no structured answers: its tools promise none then, and give none.
    #[serde(default)]
    pub no_structured_content: String,
    /// What it may do.
    #[serde(default)]
    pub grants: Grants,
    /// What it can read.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// What it may use up, where that is not what all may.
    #[serde(default)]
    pub limits: SomeLimits,
}

impl Config {
    /// Reads a configuration and adds the defaults of the bundled plugins that it does not name.
    ///
    /// # Errors
    ///
    /// In words for the operator: the place, the key, and what would be right.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut config: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        let defaults: Self = toml::from_str(&default()?).map_err(|error| error.to_string())?;
        if config.host.bundled.unwrap_or(true) {
            for (name, plugin) in defaults.plugins {
                config.plugins.entry(name).or_insert(plugin);
            }
            for (name, command) in defaults.commands {
                config.commands.entry(name).or_insert(command);
            }
        }
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), String> {
        let paths = (self.roots.iter().map(|path| ("roots", path)))
            .chain(self.host.plugin_dirs.iter().flatten().map(|path| ("host.plugin-dirs", path)))
            .chain(self.host.audit_file.iter().map(|path| ("host.audit-file", path)))
            .chain(self.host.cache_dir.iter().map(|path| ("host.cache-dir", path)))
            .chain(self.host.store_dir.iter().map(|path| ("host.store-dir", path)))
            .chain(self.host.lock_file.iter().map(|path| ("host.lock-file", path)))
            .chain(self.http.token_file.iter().map(|path| ("http.token-file", path)));
        for (key, path) in paths {
            if !path.is_absolute() {
                return Err(format!(
                    "`{key}`: {} is not an absolute path: what it means would depend on where \
                     portcullis is started",
                    path.display()
                ));
            }
        }
        for (name, plugin) in &self.plugins {
            if !is_name(name) {
                return Err(format!(
                    "`plugins.{name}`: a plugin's name has letters, digits, `-` and `_` only, and \
                     at most 64 of them"
                ));
            }
            if plugin.prefix.as_ref().is_some_and(|prefix| !is_name(prefix)) {
                return Err(format!(
                    "`plugins.{name}.prefix`: a prefix has letters, digits, `-` and `_` only"
                ));
            }
            let mut commands = plugin.grants.process.iter().flat_map(|grant| grant.commands.iter());
            if let Some(command) = commands.find(|command| !self.commands.contains_key(*command)) {
                return Err(format!(
                    "`plugins.{name}.grants.process` names `{command}`, which is no command: define \
                     it as [commands.{command}]"
                ));
            }
            for (origin, headers) in plugin.grants.http.iter().flat_map(|grant| &grant.headers) {
                for (header, secret) in headers {
                    secret.read().map_err(|error| {
                        format!(
                            "`plugins.{name}.grants.http.headers.\"{origin}\".{header}`: {error}"
                        )
                    })?;
                }
            }
        }
        for (name, upstream) in &self.upstreams {
            if !is_name(name) || self.plugins.contains_key(name) {
                return Err(format!(
                    "`upstreams.{name}`: a name has letters, digits, `-` and `_` only, and no plugin \
                     has it"
                ));
            }
            if upstream.prefix.as_ref().is_some_and(|prefix| !is_name(prefix)) {
                return Err(format!(
                    "`upstreams.{name}.prefix`: a prefix has letters, digits, `-` and `_` only"
                ));
            }
        }
        self.commands().map(drop)
    }

    /// The commands, ready to be started.
    ///
    /// # Errors
    ///
    /// In words for the operator: which command, and what is wrong with it.
    pub fn commands(&self) -> Result<Vec<Command>, String> {
        let all = self.commands.iter().map(|(name, definition)| {
            if !is_name(name) {
                return Err(format!(
                    "`commands.{name}`: a command's name has letters, digits, `-` and `_` only"
                ));
            }
            Command::new(name, definition.clone(), SCRIPTS)
                .map_err(|error| format!("`commands.{name}`: {error}"))
        });
        all.collect()
    }

    /// Limits of one plugin.
    pub fn limits_of(&self, plugin: &str) -> Limits {
        let base = self.limits.over(&Limits::default());
        match self.plugins.get(plugin) {
            Some(plugin) => plugin.limits.over(&base),
            None => base,
        }
    }

    /// The memory that the pool must have room for: what the plugin with the most may have.
    pub fn largest_memory(&self) -> u64 {
        let own = self.plugins.keys().map(|name| self.limits_of(name).memory_bytes);
        own.chain([self.limits_of("").memory_bytes]).max().map_or(0, |bytes| bytes.get())
    }
}

/// Whether a plugin can be called so.
pub fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=64).contains(&name.len()) && name.bytes().all(fits)
}

/// Finds and reads the configuration's file: the one given, or `$PORTCULLIS_CONFIG`, or
/// `portcullis.toml` in the user's configuration folder. Never one of the working directory: a
/// cloned repository must not be able to grant anything. No text: the last of them is not there.
///
/// # Errors
///
/// In words for the operator. A file that was named must be there.
#[expect(clippy::disallowed_methods, reason = "reading the configuration is this file's job")]
pub fn find(given: Option<&Path>, folders: &Folders) -> Result<(PathBuf, Option<String>), String> {
    let named = given.map(Path::to_owned).or_else(|| {
        std::env::var_os("PORTCULLIS_CONFIG").filter(|name| !name.is_empty()).map(PathBuf::from)
    });
    let path = named.clone().unwrap_or_else(|| folders.config.clone());
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok((path, Some(text))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && named.is_none() => {
            Ok((path, None))
        }
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

/// The configuration, and its file, if there is one.
///
/// # Errors
///
/// See [`find`] and [`Config::parse`].
pub fn load(given: Option<&Path>, folders: &Folders) -> Result<(Config, Option<PathBuf>), String> {
    let (path, text) = find(given, folders)?;
    let Some(text) = text else { return Ok((Config::parse("")?, None)) };
    let config = Config::parse(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok((config, Some(path)))
}

/// [`DEFAULT`] with the variables of the environment that it names filled in: `${NAME:-OTHERWISE}`
/// in a string, and `${origin NAME:-OTHERWISE}` for the host of an address; of `NAME|OTHER`, the first
/// that is set counts. An operator's own file has no such thing: what it grants stands in it.
#[expect(clippy::disallowed_methods, reason = "the variables that the UI5 MCP server has, too")]
fn default() -> Result<String, String> {
    let (mut text, mut rest) = (String::new(), DEFAULT);
    while let Some((before, after)) = rest.split_once("${") {
        let (place, behind) = after.split_once('}').expect("each place ends");
        let (name, otherwise) = place.split_once(":-").expect("each place has another value");
        let (as_origin, name) = match name.strip_prefix("origin ") {
            Some(name) => (true, name),
            None => (false, name),
        };
        let value = match name.split('|').find_map(|name| std::env::var(name).ok()) {
            Some(value) if as_origin => {
                let origin = value.parse().map(|origin: Origin| origin.to_string());
                origin.map_err(|error| format!("the variable {name}: {error}"))?
            }
            Some(value) => value,
            None => otherwise.to_owned(),
        };
        let value = match value.starts_with("~/") {
            true => portcullis_confine::at_home(Path::new(&value)).display().to_string(),
            false => value,
        };
        text += before;
        text += &value.replace('\\', "\\\\").replace('"', "\\\"");
        rest = behind;
    }
    Ok(text + rest)
}

/// Where this user's files go, by the system's custom.
#[derive(Debug, Clone)]
pub struct Folders {
    /// The configuration's file.
    pub config: PathBuf,
    /// Plugins that the user dropped in.
    pub plugins: PathBuf,
    /// What plugins keep.
    pub store: PathBuf,
    /// The audit's file.
    pub audit: PathBuf,
    /// What was approved.
    pub lock: PathBuf,
    /// What may be deleted at any time.
    pub cache: PathBuf,
}

impl Folders {
    /// The user's folders.
    ///
    /// # Errors
    ///
    /// Where the user has no home.
    pub fn of_user() -> Result<Self, String> {
        use etcetera::BaseStrategy;
        let base = etcetera::choose_base_strategy()
            .map_err(|error| format!("finding the user's folders: {error}"))?;
        let state = base.state_dir().unwrap_or_else(|| base.data_dir());
        Ok(Self {
            config: base.config_dir().join("portcullis").join("portcullis.toml"),
            plugins: base.data_dir().join("portcullis").join("plugins"),
            store: base.data_dir().join("portcullis").join("store"),
            audit: state.join("portcullis").join("audit.jsonl"),
            lock: state.join("portcullis").join("portcullis.lock"),
            cache: base.cache_dir().join("portcullis"),
        })
    }

    /// These folders, as far as the configuration does not name others.
    pub fn with(mut self, config: &HostConfig) -> Self {
        let HostConfig { audit_file, cache_dir, store_dir, lock_file, .. } = config.clone();
        self.audit = audit_file.unwrap_or(self.audit);
        self.cache = cache_dir.unwrap_or(self.cache);
        self.lock = lock_file.unwrap_or(self.lock);
        self.store = store_dir.unwrap_or(self.store);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_a_configuration() {
        Config::parse("").unwrap();
    }

    #[test]
    fn what_would_not_be_enforced_is_refused() {
        for (text, expected) in [
            ("rots = []", "rots"),
            ("roots = [\"relative\"]", "not an absolute path"),
            ("[plugins.\"a b\"]", "letters, digits"),
            ("[plugins.a.grants.network]", "network"),
            ("[plugins.a.grants.http]\nhosts = []", "name at least one"),
            ("[plugins.a.grants.http]", "hosts"),
            ("[plugins.a.grants.files]\naccess = \"execute\"", "execute"),
            ("[plugins.a.limits]\nwall-ms = 0", "wall-ms"),
            ("[http]\nsessions = 0", "sessions = 0"),
            (
                "[plugins.a.grants.http]\nhosts = [\"h\"]\n\
                 headers.h.authorization = { env = \"PORTCULLIS_TEST_NO_SUCH_VARIABLE\" }",
                "PORTCULLIS_TEST_NO_SUCH_VARIABLE",
            ),
        ] {
            let error = Config::parse(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn a_bundled_plugin_keeps_its_defaults_until_it_is_named() {
        let named = Config::parse("[plugins.ui5-manifest]").unwrap();
        assert_eq!(named.plugins["ui5-manifest"].grants, Grants::default());
        let unnamed = Config::parse("").unwrap();
        assert!(unnamed.plugins["ui5-manifest"].grants.files.is_some());
        let off = Config::parse("[host]\nbundled = false").unwrap();
        assert!(off.plugins.is_empty());
    }
}
