//! Checks of a configuration beyond the form of single keys: names, paths, and keys that depend on each other.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use portcullis_confine::Command;

use super::error::{ConfigError, Fault};
use super::{Config, PluginConfig, mends};
use crate::families::SCRIPTS;

impl Config {
    /// Checks names, paths, and keys that depend on each other. Replaces `~` at the beginning of a path by the user's
    /// home directory.
    ///
    /// # Errors
    ///
    /// The first key that is wrong, and why.
    pub fn check(&mut self) -> Result<(), ConfigError> {
        if let Some(file) = &self.host.audit_file {
            let folder = file.with_extension("").display().to_string();
            return Err(ConfigError::key("host.audit-file", Fault::AuditFile { folder }));
        }
        for (key, path) in self.paths() {
            check_path(key, path)?;
            *path = portcullis_confine::at_home(path);
            if !path.is_absolute() {
                let path = path.display().to_string();
                let hint = mends::of_path(&path);
                return Err(ConfigError::key(key, Fault::RelativePath(path)).mended(hint));
            }
        }
        for (name, plugin) in &self.plugins {
            check_name(&format!("plugins.{name}"), name, plugin.prefix.as_deref())?;
            self.check_grants(name, plugin)?;
        }
        for (name, upstream) in &self.upstreams {
            let key = format!("upstreams.{name}");
            check_name(&key, name, upstream.prefix.as_deref())?;
            if self.plugins.contains_key(name) {
                return Err(ConfigError::key(key, Fault::NameOfPlugin));
            }
            check_upstream_command(&key, &upstream.definition)?;
            if upstream.enabled != Some(false) {
                upstream.check().map_err(|error| {
                    let why = portcullis_sanitize::error_chain(error.as_ref());
                    ConfigError::key(key, Fault::Value(why))
                })?;
            }
        }
        self.check_profiles()?;
        self.check_cluster()?;
        if let Some(command) =
            self.unconfined_commands.iter().find(|command| !self.commands.contains_key(*command))
        {
            let fault = Fault::UndefinedCommand(command.clone());
            return Err(ConfigError::key("unconfined-commands", fault));
        }
        self.check_sources()?;
        self.commands().map(drop)
    }

    /// Checks the names of profiles, and that each client and each caller has one profile at most.
    fn check_profiles(&self) -> Result<(), ConfigError> {
        let (mut clients, mut principals) = (BTreeMap::new(), BTreeMap::new());
        for (name, profile) in &self.profiles {
            let key = format!("profiles.{name}");
            check_name(&key, name, None)?;
            let named = [
                ("clients", &mut clients, &profile.clients),
                ("principals", &mut principals, &profile.principals),
            ];
            for (list, owners, members) in named {
                let twice = members.iter().find_map(|member| {
                    owners.insert(member, name).filter(|other| *other != name).zip(Some(member))
                });
                if let Some((other, member)) = twice {
                    let fault = Fault::TwoProfiles { member: member.clone(), other: other.clone() };
                    return Err(ConfigError::key(format!("{key}.{list}"), fault));
                }
            }
        }
        Ok(())
    }

    /// Checks the tables of plugin sources: their patterns, their paths, and that none has a `builder` without a `key`.
    fn check_sources(&mut self) -> Result<(), ConfigError> {
        for (pattern, source) in &mut self.plugin_sources {
            let is_bare = is_name(pattern);
            let quoted = if is_bare { pattern.clone() } else { format!("{pattern:?}") };
            let key = format!("plugin-sources.{quoted}");
            if !portcullis_plugin_sources::is_pattern(pattern) {
                let text = "write HOST/PATH, HOST/PATH/*, HOST or *, without a scheme; `*` may only be at the end";
                return Err(ConfigError::key(key, Fault::Value(text.to_owned())));
            }
            if source.builder.is_some() && source.key.is_none() {
                let text = "`builder` is read from a provenance whose signature `key` verifies: write `key`, too";
                return Err(ConfigError::key(
                    format!("{key}.builder"),
                    Fault::Value(text.to_owned()),
                ));
            }
            let Some(path) = &mut source.key else { continue };
            let key = format!("{key}.key");
            check_path(&key, path)?;
            *path = portcullis_confine::at_home(path);
            if !path.is_absolute() {
                let path = path.display().to_string();
                let hint = mends::of_path(&path);
                return Err(ConfigError::key(key, Fault::RelativePath(path)).mended(hint));
            }
        }
        Ok(())
    }

    /// The paths that must be absolute, except those of plugin sources. Each path has its key.
    fn paths(&mut self) -> impl Iterator<Item = (&'static str, &mut PathBuf)> {
        let host = &mut self.host;
        let lists = (self.roots.iter_mut().map(|path| ("roots", path)))
            .chain(host.plugin_dirs.iter_mut().flatten().map(|path| ("host.plugin-dirs", path)));
        let single = [
            ("host.audit-dir", &mut host.audit_dir),
            ("host.cache-dir", &mut host.cache_dir),
            ("host.store-dir", &mut host.store_dir),
            ("host.lock-file", &mut host.lock_file),
            ("host.login-dir", &mut host.login_dir),
        ];
        let single = single.into_iter().filter_map(|(key, path)| Some((key, path.as_mut()?)));
        let cluster = self.cluster.iter_mut();
        let cluster = cluster.filter_map(|one| Some(("cluster.ca-file", one.ca_file.as_mut()?)));
        lists.chain(single).chain(self.http.files()).chain(cluster)
    }

    fn check_grants(&self, name: &str, plugin: &PluginConfig) -> Result<(), ConfigError> {
        let mut commands = plugin.grants.process.iter().flat_map(|grant| grant.commands.iter());
        if let Some(command) = commands.find(|command| !self.commands.contains_key(*command)) {
            let key = format!("plugins.{name}.grants.process.commands");
            return Err(ConfigError::key(key, Fault::UndefinedCommand(command.clone())));
        }
        for (origin, headers) in plugin.grants.http.iter().flat_map(|grant| &grant.headers) {
            for (header, secret) in headers {
                secret.check().map_err(|error| {
                    let key = format!("plugins.{name}.grants.http.headers.\"{origin}\".{header}");
                    ConfigError::key(key, Fault::Value(error.to_string()))
                })?;
            }
        }
        Ok(())
    }

    /// The commands, ready to be started.
    ///
    /// # Errors
    ///
    /// The first command that is wrong, and why.
    pub fn commands(&self) -> Result<Vec<Command>, ConfigError> {
        let all = self.commands.iter().map(|(name, definition)| {
            let key = format!("commands.{name}");
            check_name(&key, name, None)?;
            Command::new(name, definition.clone(), SCRIPTS)
                .map(|command| command.allow_unconfined(self.unconfined_commands.contains(name)))
                .map_err(|error| ConfigError::key(key, Fault::Value(error.to_string())))
        });
        all.collect()
    }
}

/// Checks that a path is neither an example from documentation nor a pattern with wildcards.
fn check_path(key: &str, path: &Path) -> Result<(), ConfigError> {
    let text = path.display().to_string();
    if let Some(example) = mends::placeholder(&text).filter(|_| !path.exists()) {
        return Err(ConfigError::key(key, Fault::PlaceholderPath(example)));
    }
    // A folder that exists may have a name like a pattern.
    if mends::is_pattern(&text) && !path.exists() {
        return Err(ConfigError::key(key, Fault::Pattern(text)));
    }
    Ok(())
}

/// Checks that `command` of an upstream server names a program without arguments, and that neither `command` nor
/// `args` holds an example path from documentation.
fn check_upstream_command(
    key: &str,
    server: &portcullis_mcp_client::Definition,
) -> Result<(), ConfigError> {
    let Some(command) = &server.command else { return Ok(()) };
    let text = command.display().to_string();
    let words = [("command", &text)].into_iter().chain(server.args.iter().map(|arg| ("args", arg)));
    for (part, word) in words {
        if let Some(example) = mends::placeholder(word).filter(|_| !Path::new(word).exists()) {
            let key = format!("{key}.{part}");
            return Err(ConfigError::key(key, Fault::PlaceholderPath(example)));
        }
    }
    // The path of a program may have spaces.
    if text.contains(' ') && server.args.is_empty() && !command.is_absolute() {
        return Err(ConfigError::key(format!("{key}.command"), Fault::CommandLine(text)));
    }
    Ok(())
}

fn check_name(key: &str, name: &str, prefix: Option<&str>) -> Result<(), ConfigError> {
    if !is_name(name) {
        return Err(ConfigError::key(key, Fault::Name));
    }
    if !prefix.is_none_or(is_name) {
        return Err(ConfigError::key(format!("{key}.prefix"), Fault::Name));
    }
    Ok(())
}

/// Whether a plugin, a command, an upstream server or a profile can have this name: 1 to 64 ASCII letters, digits,
/// `-` and `_`.
pub fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=64).contains(&name.len()) && name.bytes().all(fits)
}

/// The first placeholder among the grants, such as `<host>`, that the operator copied from a hint: its key and its
/// text.
pub(super) fn placeholder(table: &toml::Table) -> Option<(String, String)> {
    let plugins = table.get("plugins")?.as_table()?;
    plugins.iter().find_map(|(name, plugin)| {
        let grants = plugin.get("grants")?.as_table()?;
        grants.iter().find_map(|(capability, grant)| {
            let found = first_placeholder(grant)?;
            Some((format!("plugins.{name}.grants.{capability}"), found.to_owned()))
        })
    })
}

/// The key of the first header or variable of an upstream server that has an environment variable in the notation of MCP
/// clients: `${NAME}`. A server may know such a notation itself, so the value of a variable is refused only if it is
/// nothing else.
pub(super) fn unreplaced_variable(table: &toml::Table) -> Option<String> {
    let refers = |text: &str, is_whole: bool| {
        let Some((before, rest)) = text.split_once("${") else { return false };
        let Some((name, after)) = rest.split_once('}') else { return false };
        let name = name.strip_prefix("env:").unwrap_or(name);
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let is_alone = before.is_empty() && after.is_empty();
        !name.is_empty() && name.bytes().all(is_name) && (is_alone || !is_whole)
    };
    let servers = table.get("upstreams")?.as_table()?;
    servers.iter().find_map(|(server, definition)| {
        [("headers", false), ("env", true)].into_iter().find_map(|(part, is_whole)| {
            let values = definition.get(part)?.as_table()?;
            let wrong =
                |value: &toml::Value| value.as_str().is_some_and(|text| refers(text, is_whole));
            let (name, _) = values.iter().find(|(_, value)| wrong(value))?;
            Some(format!("upstreams.{server}.{part}.{name}"))
        })
    })
}

fn first_placeholder(value: &toml::Value) -> Option<&str> {
    match value {
        toml::Value::String(text) => {
            (text.starts_with('<') && text.ends_with('>')).then_some(text.as_str())
        }
        toml::Value::Array(items) => items.iter().find_map(first_placeholder),
        toml::Value::Table(table) => table.values().find_map(first_placeholder),
        toml::Value::Integer(_)
        | toml::Value::Float(_)
        | toml::Value::Boolean(_)
        | toml::Value::Datetime(_) => None,
    }
}
