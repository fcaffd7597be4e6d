//! Everything a plugin can be granted: one file each.

pub mod actions;
pub mod cache;
pub mod catalog;
pub mod changes;
pub mod client;
pub mod files;
pub mod http;
pub mod process;
pub mod settings;
pub mod store;

#[cfg(test)]
mod within_tests;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use portcullis_files::Access;
use serde::Deserialize;

use crate::bindings::Want;

/// The kinds of things a plugin can be granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Capability {
    /// Files and directories of the session's roots.
    Files,
    /// Requests to other machines.
    Http,
    /// Other programs of this machine.
    Process,
    /// Small durable state.
    Store,
    /// Derived data that may vanish.
    Cache,
    /// Questions to the connected client.
    Client,
    /// What tools do beyond what the others tell apart.
    Actions,
    /// The tools of all plugins.
    Catalog,
}

impl Capability {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 8] = [
        Self::Files,
        Self::Http,
        Self::Process,
        Self::Store,
        Self::Cache,
        Self::Client,
        Self::Actions,
        Self::Catalog,
    ];

    /// Its name; the interfaces that exist for a plugin only where this is granted, as prefixes of
    /// their names; and the least that a grant says.
    fn about(self) -> (&'static str, &'static [&'static str], &'static str) {
        match self {
            Self::Files => {
                let imports = &["wasi:filesystem/", "portcullis:plugin/changes"];
                ("files", imports, "access = \"read\"")
            }
            Self::Http => ("http", &["wasi:http/"], "hosts = [\"HOST\"]"),
            Self::Process => {
                ("process", &["portcullis:plugin/process"], "commands = [\"COMMAND\"]")
            }
            Self::Store => ("store", &["portcullis:plugin/store"], "bytes = 1_000_000"),
            Self::Cache => ("cache", &["portcullis:plugin/cache"], "bytes = 1_000_000"),
            // Asked for through the outcome of a call, not through an import.
            Self::Client => ("client", &[], "features = [\"elicitation\"]"),
            // Asked for by the tools that need them.
            Self::Actions => ("actions", &[], "allow = [\"ACTION\"]"),
            Self::Catalog => ("catalog", &["portcullis:plugin/catalog"], "read = [\"tools\"]"),
        }
    }

    /// The interfaces that exist for a plugin only where this is granted.
    ///
    /// A prefix of the interface's name without its version.
    pub fn imports(self) -> &'static [&'static str] {
        self.about().1
    }

    /// The smallest block for `portcullis.toml` that grants it to `plugin`.
    pub fn remedy(self, plugin: &str) -> String {
        format!("[plugins.{plugin}.grants.{self}]\n{}", self.about().2)
    }
}

impl Capability {
    /// Its name in `portcullis.toml`, and in the audit.
    pub fn as_str(self) -> &'static str {
        self.about().0
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What one plugin is granted, or says it wants. Absence is refusal.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grants {
    /// Which files.
    pub files: Option<files::FilesGrant>,
    /// Which hosts.
    pub http: Option<http::HttpGrant>,
    /// Which commands.
    pub process: Option<process::ProcessGrant>,
    /// How much durable state.
    pub store: Option<store::StoreGrant>,
    /// How much derived data.
    pub cache: Option<cache::CacheGrant>,
    /// Which questions to the client.
    pub client: Option<client::ClientGrant>,
    /// Which actions.
    pub actions: Option<actions::ActionsGrant>,
    /// How much of the catalog.
    pub catalog: Option<catalog::CatalogGrant>,
}

impl Grants {
    fn get(&self, capability: Capability) -> Option<&dyn fmt::Display> {
        match capability {
            Capability::Files => self.files.as_ref().map(|grant| grant as _),
            Capability::Http => self.http.as_ref().map(|grant| grant as _),
            Capability::Process => self.process.as_ref().map(|grant| grant as _),
            Capability::Store => self.store.as_ref().map(|grant| grant as _),
            Capability::Cache => self.cache.as_ref().map(|grant| grant as _),
            Capability::Client => self.client.as_ref().map(|grant| grant as _),
            Capability::Actions => self.actions.as_ref().map(|grant| grant as _),
            Capability::Catalog => self.catalog.as_ref().map(|grant| grant as _),
        }
    }

    /// Whether anything of this capability is granted.
    pub fn has(&self, capability: Capability) -> bool {
        self.get(capability).is_some()
    }

    /// Grants a directory beside the roots, to be read and written.
    pub fn let_write(&mut self, directory: PathBuf) {
        let files = self.files.get_or_insert_with(|| files::FilesGrant {
            access: Access::Write,
            scope: files::Scope::default(),
            directories: Vec::new(),
            writable: Vec::new(),
        });
        files.writable.push(directory);
    }

    /// One line about each capability granted, as `audit` shows it.
    pub fn lines(&self) -> Vec<(Capability, String)> {
        let line = |capability| Some((capability, self.get(capability)?.to_string()));
        Capability::ALL.into_iter().filter_map(line).collect()
    }

    /// What a manifest's wants come to, and the wants nobody understands.
    ///
    /// A target `$NAME` stands for what the operator's setting NAME holds, so that a plugin can
    /// want "the mirror I was configured with" without knowing it.
    pub fn wanted(wants: &[Want], settings: &BTreeMap<String, String>) -> (Self, Vec<Unusable>) {
        let mut sum = Self::default();
        let mut unusable = Vec::new();
        for want in wants {
            let target = match want.target.strip_prefix('$') {
                None => want.target.clone(),
                Some(name) => match settings.get(name) {
                    Some(value) if !value.is_empty() => value.clone(),
                    Some(_) | None => continue,
                },
            };
            let joined = match want.capability.as_str() {
                "files" => files::want(&mut sum.files, &target, &want.access),
                "http" => http::want(&mut sum.http, &target, &want.access),
                "process" => process::want(&mut sum.process, &target),
                "store" => store::want(&mut sum.store, &target),
                "cache" => cache::want(&mut sum.cache, &target),
                "client" => client::want(&mut sum.client, &target),
                "actions" => actions::want(&mut sum.actions, &target),
                "catalog" => catalog::want(&mut sum.catalog, &target),
                // Always there: it reaches nothing but what the operator wrote for this plugin.
                "settings" => Ok(()),
                _ => Err("this host knows no such capability".to_owned()),
            };
            if let Err(reason) = joined {
                unusable.push(Unusable {
                    want: format!("{} {}", want.capability, want.target),
                    optional: want.optional,
                    reason,
                });
            }
        }
        (sum, unusable)
    }
}

/// A list of TOML: what is there, and one more.
fn listed<T: fmt::Display>(there: impl IntoIterator<Item = T>, more: &str) -> String {
    let mut all: Vec<String> = there.into_iter().map(|one| one.to_string()).collect();
    if !all.iter().any(|one| one == more) {
        all.push(more.to_owned());
    }
    format!("{all:?}")
}

/// A list that names at least one: an empty one in a grant is a mistake.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Vec<T>", bound(deserialize = "T: Deserialize<'de>"))]
pub struct Named<T>(Vec<T>);

impl<T> TryFrom<Vec<T>> for Named<T> {
    type Error = &'static str;

    fn try_from(names: Vec<T>) -> Result<Self, Self::Error> {
        if names.is_empty() {
            return Err("the list is empty: name at least one, or leave out the grant");
        }
        Ok(Self(names))
    }
}

impl<T: fmt::Display> fmt::Display for Named<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&names.join(", "))
    }
}

impl<T: PartialEq> Named<T> {
    /// Whether it names this one.
    pub fn contains(&self, name: &T) -> bool {
        self.0.contains(name)
    }

    /// Its names.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }

    /// Adds a name, to a list that may not be there yet.
    fn add(list: Option<Self>, name: T) -> Self {
        let mut names = list.map_or_else(Vec::new, |Self(names)| names);
        names.push(name);
        Self(names)
    }
}

/// A want that this host cannot make sense of.
#[derive(Debug, Clone, PartialEq)]
pub struct Unusable {
    /// The want, in short.
    pub want: String,
    /// Whether the plugin can do without.
    pub optional: bool,
    /// What is wrong with it.
    pub reason: String,
}
