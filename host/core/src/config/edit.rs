//! Edits grants and settings in the text of `portcullis.toml`. All other text stays as it is, with its comments.

mod document;
mod removal;
mod upstreams;

use std::collections::{BTreeMap, BTreeSet};

use toml_edit::DocumentMut;

use super::{Config, ConfigError, DEFAULT, expand};
use crate::bindings::Want;
use crate::capabilities::{Capability, Grants, ShortForm};
use document::Keys;
pub use removal::remove_plugin;
pub use upstreams::{Presence, UpstreamKeys, add_upstreams, presence};

/// An edit of the configuration's text. Nothing is written yet.
#[derive(Debug)]
pub struct Edit {
    /// The text before.
    pub before: String,
    /// The text after.
    pub after: String,
    /// Whether the plugin's defaults are written out, because the plugin is bundled, the text before has no section of
    /// it, and a section replaces the defaults.
    pub from_defaults: bool,
    /// The values that are added to grants.
    pub added: Vec<(Capability, String)>,
    /// The values that are removed from grants.
    pub removed: Vec<(Capability, String)>,
    /// The settings that are set, or removed.
    pub settings: Vec<(String, Option<String>)>,
}

impl Edit {
    /// Whether the edit changes nothing.
    pub fn is_nothing(&self) -> bool {
        self.before == self.after
    }
}

/// Why a configuration cannot be edited as asked.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The configuration is invalid before the edit.
    #[error("the configuration is invalid before the edit: correct it first")]
    Before(#[source] ConfigError),
    /// The configuration would be invalid after the edit.
    #[error("the configuration would be invalid after the edit, so it is not changed")]
    After(#[source] Box<ConfigError>),
    /// A part of the path to the plugin's grants or settings is not a table.
    #[error("`plugins.{plugin}.grants` cannot be edited: write it as tables")]
    NoTable {
        /// The plugin.
        plugin: String,
    },
    /// The grant cannot be written so that it has exactly the values asked for.
    #[error(
        "`{capability}` cannot be granted in exactly this form in portcullis.toml{}{}; nothing is changed",
        list(" (it would also allow: ", .extra), list(" (it would not allow: ", .missing)
    )]
    Inexact {
        /// The capability.
        capability: Capability,
        /// Values that were not asked for.
        extra: Vec<String>,
        /// Values that are missing.
        missing: Vec<String>,
    },
    /// The edit would change something else: a fault of this program.
    #[error(
        "the edit would change more than asked, which is a fault of portcullis; nothing is changed"
    )]
    Other,
    /// A text that was parsed before cannot be parsed again: a fault of this program.
    #[error("{what} cannot be edited, which is a fault of portcullis; nothing is changed")]
    Unreadable {
        /// The name of the text that cannot be parsed, for the message.
        what: &'static str,
        /// The cause.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A value is to be revoked that is not granted.
    #[error(
        "`{plugin}` is not granted `{}`{}",
        short(*.capability, .value),
        list(" (it is granted: ", .granted)
    )]
    NotGranted {
        /// The plugin.
        plugin: String,
        /// The capability.
        capability: Capability,
        /// The value. Empty: the whole capability.
        value: String,
        /// The values that are granted.
        granted: Vec<String>,
    },
    /// A setting is to be removed that is not there, or has another value.
    #[error("`{plugin}` has no setting `{key}`, or the setting has another value")]
    NoSetting {
        /// The plugin.
        plugin: String,
        /// The key.
        key: String,
    },
    /// The plugin's wants are unknown.
    #[error("the wants of `{plugin}` are not known: name values instead of `wanted`")]
    UnknownWants {
        /// The plugin.
        plugin: String,
    },
    /// The plugin does not want the capability.
    #[error("`{plugin}` does not want `{capability}`")]
    Unwanted {
        /// The plugin.
        plugin: String,
        /// The capability.
        capability: Capability,
    },
}

fn short(capability: Capability, value: &str) -> String {
    if value.is_empty() { capability.to_string() } else { format!("{capability}={value}") }
}

fn list(before: &str, values: &[String]) -> String {
    if values.is_empty() {
        return String::new();
    }
    format!("{before}{})", values.join(", "))
}

/// The values of all grants of one plugin.
type Values = BTreeMap<Capability, BTreeSet<String>>;

/// The grants and settings that the plugin has after the edit.
struct Target {
    values: Values,
    settings: BTreeMap<String, String>,
}

/// Grants a plugin the values and settings that are asked for, in addition to its grants. If a capability can have
/// one value only, the new value replaces the old one. `wants`: the wants in the plugin's manifest, `None` if they
/// are unknown.
///
/// # Errors
///
/// [`EditError`]: the configuration is invalid or would be invalid; it cannot express exactly the grants that are asked
/// for; or the plugin's wants are needed, and they are unknown or lack a capability that is asked for.
pub fn grant(
    text: &str,
    plugin: &str,
    asked: &[ShortForm],
    wants: Option<&[Want]>,
) -> Result<Edit, EditError> {
    edit(text, plugin, |target| {
        // The plugin's wants can depend on its settings.
        for one in asked {
            if let ShortForm::Setting(key, Some(value)) = one {
                target.settings.insert(key.clone(), value.clone());
            }
        }
        for one in asked {
            let wanted = match one {
                ShortForm::Wanted(_) => wanted(plugin, wants, &target.settings)?,
                ShortForm::Whole(_) | ShortForm::Values(..) | ShortForm::Setting(..) => {
                    Grants::default()
                }
            };
            match one {
                ShortForm::Setting(..) | ShortForm::Whole(_) => {}
                ShortForm::Values(capability, values) => target.grant(*capability, values),
                ShortForm::Wanted(None) => {
                    for capability in Capability::ALL {
                        let values: Vec<_> = wanted.values(capability).into_iter().collect();
                        target.grant(capability, &values);
                    }
                }
                ShortForm::Wanted(Some(capability)) => {
                    let values: Vec<_> = wanted.values(*capability).into_iter().collect();
                    if values.is_empty() {
                        let (plugin, capability) = (plugin.to_owned(), *capability);
                        return Err(EditError::Unwanted { plugin, capability });
                    }
                    target.grant(*capability, &values);
                }
            }
        }
        Ok(())
    })
}

/// Revokes from a plugin the values and settings that are asked for, and the values that imply them. `wants`: the
/// wants in the plugin's manifest, `None` if they are unknown.
///
/// # Errors
///
/// [`EditError`]: the configuration is invalid or would be invalid; it cannot express exactly the grants that remain; a
/// value or setting that is asked for is not there; or the plugin's wants are needed and unknown.
pub fn revoke(
    text: &str,
    plugin: &str,
    asked: &[ShortForm],
    wants: Option<&[Want]>,
) -> Result<Edit, EditError> {
    edit(text, plugin, |target| {
        // Each value is looked up in the grants before the edit, so the order of `asked` does not matter.
        let before = target.values.clone();
        for one in asked {
            match one {
                ShortForm::Setting(key, value) => {
                    let current = target.settings.get(key);
                    if current.is_none_or(|now| value.as_ref().is_some_and(|value| value != now)) {
                        let (plugin, key) = (plugin.to_owned(), key.clone());
                        return Err(EditError::NoSetting { plugin, key });
                    }
                    target.settings.remove(key);
                }
                ShortForm::Whole(capability) => {
                    let values: Vec<_> = before.get(capability).into_iter().flatten().collect();
                    if values.is_empty() {
                        return Err(not_granted(plugin, *capability, "", &before));
                    }
                    target.values.remove(capability);
                }
                ShortForm::Values(capability, values) => {
                    let granted = before.get(capability);
                    let unknown = values
                        .iter()
                        .find(|value| !granted.is_some_and(|granted| granted.contains(*value)));
                    if let Some(unknown) = unknown {
                        return Err(not_granted(plugin, *capability, unknown, &before));
                    }
                    target.revoke(*capability, values);
                }
                ShortForm::Wanted(only) => {
                    let wanted = wanted(plugin, wants, &target.settings)?;
                    for capability in Capability::ALL {
                        if only.is_none_or(|only| only == capability) {
                            let values: Vec<_> = wanted.values(capability).into_iter().collect();
                            target.revoke(capability, &values);
                        }
                    }
                }
            }
        }
        Ok(())
    })
}

fn not_granted(plugin: &str, capability: Capability, value: &str, before: &Values) -> EditError {
    let granted = before.get(&capability).into_iter().flatten().cloned().collect();
    EditError::NotGranted {
        plugin: plugin.to_owned(),
        capability,
        value: value.to_owned(),
        granted,
    }
}

/// The grants that the plugin wants, with `$NAME` replaced by the setting of this name.
fn wanted(
    plugin: &str,
    wants: Option<&[Want]>,
    settings: &BTreeMap<String, String>,
) -> Result<Grants, EditError> {
    let wants = wants.ok_or_else(|| EditError::UnknownWants { plugin: plugin.to_owned() })?;
    Ok(Grants::wanted(wants, settings).0)
}

impl Target {
    fn grant(&mut self, capability: Capability, values: &[String]) {
        if !values.is_empty() {
            let before = self.values.entry(capability).or_default();
            *before = capability.short_forms().granted(before, values);
        }
    }

    fn revoke(&mut self, capability: Capability, values: &[String]) {
        if let Some(before) = self.values.get_mut(&capability) {
            *before = capability.short_forms().revoked(before, values);
        }
    }
}

fn values_of(config: &Config, plugin: &str) -> Values {
    let Some(plugin) = config.plugins.get(plugin) else { return Values::new() };
    let values = Capability::ALL.map(|one| (one, plugin.grants.values(one)));
    values.into_iter().filter(|(_, values)| !values.is_empty()).collect()
}

fn edit(
    text: &str,
    plugin: &str,
    change: impl FnOnce(&mut Target) -> Result<(), EditError>,
) -> Result<Edit, EditError> {
    let config = Config::parse(text).map_err(EditError::Before)?;
    let before = values_of(&config, plugin);
    let settings = config.plugins.get(plugin).map(|plugin| plugin.settings.clone());
    let settings = settings.unwrap_or_default();
    let mut target = Target { values: before.clone(), settings: settings.clone() };
    change(&mut target)?;
    target.values.retain(|_, values| !values.is_empty());
    let (added, removed) = (lacking(&target.values, &before), lacking(&before, &target.values));
    let mut edit = Edit {
        before: text.to_owned(),
        after: text.to_owned(),
        from_defaults: false,
        added,
        removed,
        settings: changed_settings(&settings, &target.settings),
    };
    if edit.added.is_empty() && edit.removed.is_empty() && edit.settings.is_empty() {
        return Ok(edit);
    }
    let no_table = || EditError::NoTable { plugin: plugin.to_owned() };
    let mut document: DocumentMut = text.parse().map_err(unreadable(CONFIGURATION))?;
    let has_defaults =
        defaults()?.plugins.contains_key(plugin) && config.host.bundled != Some(false);
    if has_defaults && !document::has(&document, &["plugins", plugin]) {
        edit.from_defaults = true;
        let defaults = expand(DEFAULT).map_err(unreadable(DEFAULTS))?;
        let defaults = defaults.parse().map_err(unreadable(DEFAULTS))?;
        document::copy(&mut document, &["plugins", plugin], &defaults).ok_or_else(no_table)?;
    }
    let base = document.to_string();
    apply(&mut document, &base, plugin, &before, &target, has_defaults)?;
    edit.after = document.to_string();
    verify(&base, &edit.after, plugin, &before, &target)?;
    Ok(edit)
}

/// The default configuration of the bundled plugins.
fn defaults() -> Result<Config, EditError> {
    let text = expand(DEFAULT).map_err(unreadable(DEFAULTS))?;
    toml::from_str(&text).map_err(unreadable(DEFAULTS))
}

const CONFIGURATION: &str = "the configuration";
const DEFAULTS: &str = "the default configuration";

/// The error for a text that cannot be parsed.
fn unreadable<E: std::error::Error + Send + Sync + 'static>(
    what: &'static str,
) -> impl Fn(E) -> EditError {
    move |cause| EditError::Unreadable { what, cause: cause.into() }
}

/// The values of `these` that `others` do not have.
fn lacking(these: &Values, others: &Values) -> Vec<(Capability, String)> {
    let has = |capability: &Capability, value: &String| {
        others.get(capability).is_some_and(|values| values.contains(value))
    };
    let all = these.iter().flat_map(|(one, values)| values.iter().map(move |value| (one, value)));
    let lacking = all.filter(|(capability, value)| !has(capability, value));
    lacking.map(|(capability, value)| (*capability, value.clone())).collect()
}

fn changed_settings(
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
) -> Vec<(String, Option<String>)> {
    let set = after.iter().filter(|(key, value)| before.get(*key) != Some(value));
    let set = set.map(|(key, value)| (key.clone(), Some(value.clone())));
    let removed = before.keys().filter(|key| !after.contains_key(*key));
    set.chain(removed.map(|key| (key.clone(), None))).collect()
}

/// Writes the grants and settings of `target` into the document.
///
/// # Errors
///
/// [`EditError::NoTable`]: a part of the path is not a table; or [`EditError::Unreadable`].
fn apply(
    document: &mut DocumentMut,
    base: &str,
    plugin: &str,
    before: &Values,
    target: &Target,
    has_defaults: bool,
) -> Result<(), EditError> {
    let no_table = || EditError::NoTable { plugin: plugin.to_owned() };
    let none = BTreeSet::new();
    let mut is_removed = false;
    for capability in Capability::ALL {
        let old = before.get(&capability).unwrap_or(&none);
        let new = target.values.get(&capability).unwrap_or(&none);
        if old == new {
            continue;
        }
        let path = ["plugins", plugin, "grants", capability.as_str()];
        if new.is_empty() {
            document::remove(document, &path);
            is_removed = true;
            continue;
        }
        let keys = keys_at(base, &path)?.ok_or_else(no_table)?;
        let mut changed = keys.clone();
        capability.short_forms().change(&mut changed, old, new);
        document::change(document, &path, &keys, &changed).ok_or_else(no_table)?;
    }
    let path = ["plugins", plugin, "settings"];
    let keys = keys_at(base, &path)?.ok_or_else(no_table)?;
    let settings = target.settings.iter().map(|(key, value)| (key.clone(), value.clone().into()));
    let settings: Keys = settings.collect();
    if settings.is_empty() && !keys.is_empty() {
        document::remove(document, &path);
        is_removed = true;
    } else if settings != keys {
        document::change(document, &path, &keys, &settings).ok_or_else(no_table)?;
    }
    // Without its section, a bundled plugin would get its default grants again.
    if is_removed && has_defaults {
        document::keep_header(document, &["plugins", plugin]).ok_or_else(no_table)?;
    }
    Ok(())
}

/// The keys of the table at a path. Empty: nothing is at the path. `None`: the value at the path is not a table.
///
/// # Errors
///
/// [`EditError::Unreadable`]: the text is not TOML.
fn keys_at(text: &str, path: &[&str]) -> Result<Option<Keys>, EditError> {
    let table: toml::Table = toml::from_str(text).map_err(unreadable(CONFIGURATION))?;
    let mut table = serde_json::to_value(table).map_err(unreadable(CONFIGURATION))?;
    for key in path {
        let Some(keys) = table.as_object_mut() else { return Ok(None) };
        match keys.remove(*key) {
            Some(inner) => table = inner,
            None => return Ok(Some(Keys::new())),
        }
    }
    Ok(table.as_object().cloned())
}

/// Checks that the edited text is a valid configuration with exactly the grants and settings of `target`, and that
/// nothing else has changed.
fn verify(
    base: &str,
    after: &str,
    plugin: &str,
    before: &Values,
    target: &Target,
) -> Result<(), EditError> {
    let config = Config::parse(after).map_err(|error| EditError::After(Box::new(error)))?;
    let now = values_of(&config, plugin);
    for capability in Capability::ALL {
        let values_in = |values: &Values| values.get(&capability).cloned().unwrap_or_default();
        let (now, expected) = (values_in(&now), values_in(&target.values));
        if now != expected {
            let missing = |these: &BTreeSet<String>, others: &BTreeSet<String>| {
                these.difference(others).cloned().collect()
            };
            return Err(EditError::Inexact {
                capability,
                extra: missing(&now, &expected),
                missing: missing(&expected, &now),
            });
        }
    }
    if config.plugins.get(plugin).is_some_and(|plugin| plugin.settings != target.settings) {
        return Err(EditError::Other);
    }
    let rest = |text: &str| -> Result<serde_json::Value, EditError> {
        let mut rest: toml::Table = toml::from_str(text).map_err(unreadable(CONFIGURATION))?;
        for capability in Capability::ALL {
            if before.get(&capability) != target.values.get(&capability) {
                take(&mut rest, &["plugins", plugin, "grants", capability.as_str()]);
            }
        }
        take(&mut rest, &["plugins", plugin, "settings"]);
        serde_json::to_value(rest).map_err(unreadable(CONFIGURATION))
    };
    if rest(base)? == rest(after)? { Ok(()) } else { Err(EditError::Other) }
}

/// Removes a table, and the tables above it that are then empty.
fn take(table: &mut toml::Table, path: &[&str]) {
    let Some((key, rest)) = path.split_first() else { return };
    if let (false, Some(toml::Value::Table(inner))) = (rest.is_empty(), table.get_mut(*key)) {
        take(inner, rest);
        if !inner.is_empty() {
            return;
        }
    }
    table.remove(*key);
}

#[cfg(test)]
mod tests;
