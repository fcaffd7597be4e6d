//! Everything a plugin can be granted: a folder each, and one line each in the table `register!`.

pub mod actions;
pub mod cache;
pub mod catalog;
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

use schemars::JsonSchema;
use serde::Deserialize;
use wasmtime::component::Linker;

use crate::bindings::Want;
use crate::sandbox::State;

/// What the folder of a capability says of it. It is implemented by the type of its grants.
trait Registered: Sized + PartialEq + fmt::Display {
    /// Its name in `portcullis.toml`, and in the audit.
    const NAME: &'static str;

    /// The interfaces that exist for a plugin only where this is granted, as prefixes of their names.
    const IMPORTS: &'static [&'static str] = &[];

    /// The keys of the smallest grant.
    const LEAST: &'static str;

    /// Adds a want to what is wanted so far.
    ///
    /// # Errors
    ///
    /// What is wrong with the want, in words for the operator.
    fn want(sum: &mut Option<Self>, target: &str, access: &str) -> Result<(), String>;

    /// Whether this grant is what the plugin wants, apart from what only an operator can say.
    fn is_as_wanted(&self, want: &Self) -> bool {
        self == want
    }

    /// Links the interfaces of [`Self::IMPORTS`].
    ///
    /// # Errors
    ///
    /// Where two parts define one name: a fault of this program.
    fn link(_linker: &mut Linker<State>) -> wasmtime::Result<()> {
        Ok(())
    }
}

/// Makes the list of capabilities, and what plugins are granted of them.
macro_rules! register {
    ($($(#[doc = $doc:literal])* $capability:ident: $folder:ident::$grant:ident;)*) => {
        /// The kinds of things a plugin can be granted.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Capability {
            $($(#[doc = $doc])* $capability,)*
        }

        impl Capability {
            /// All of them, in the order in which they are shown.
            pub const ALL: [Self; [$(Self::$capability),*].len()] = [$(Self::$capability),*];

            /// Its name in `portcullis.toml`, and in the audit.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$capability => $folder::$grant::NAME,)* }
            }

            /// The interfaces that exist for a plugin only where this is granted.
            ///
            /// A prefix of the interface's name without its version.
            pub fn imports(self) -> &'static [&'static str] {
                match self { $(Self::$capability => $folder::$grant::IMPORTS,)* }
            }

            fn least(self) -> &'static str {
                match self { $(Self::$capability => $folder::$grant::LEAST,)* }
            }

            /// Links its interfaces.
            ///
            /// # Errors
            ///
            /// Where two parts define one name: a fault of this program.
            pub fn link(self, linker: &mut Linker<State>) -> wasmtime::Result<()> {
                match self { $(Self::$capability => $folder::$grant::link(linker),)* }
            }
        }

        /// What one plugin is granted, or says it wants. Absence is refusal.
        #[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct Grants {
            $($(#[doc = $doc])* pub $folder: Option<$folder::$grant>,)*
        }

        impl Grants {
            fn get(&self, capability: Capability) -> Option<&dyn fmt::Display> {
                match capability {
                    $(Capability::$capability => self.$folder.as_ref().map(|grant| grant as _),)*
                }
            }

            /// Whether the grant of a capability is what a plugin wants of it, apart from what only an
            /// operator can say, such as private networks. Also true where neither is there.
            pub fn is_as_wanted(&self, capability: Capability, wants: &Self) -> bool {
                match capability {
                    $(Capability::$capability => match (&self.$folder, &wants.$folder) {
                        (Some(grant), Some(want)) => grant.is_as_wanted(want),
                        (None, None) => true,
                        (Some(_), None) | (None, Some(_)) => false,
                    },)*
                }
            }

            /// Adds a want to what is wanted so far.
            fn want(&mut self, of: Capability, target: &str, access: &str) -> Result<(), String> {
                match of {
                    $(Capability::$capability =>
                        $folder::$grant::want(&mut self.$folder, target, access),)*
                }
            }
        }
    };
}

register! {
    /// Files and directories of the session's roots.
    Files: files::FilesGrant;
    /// Requests to other machines.
    Http: http::HttpGrant;
    /// Other programs of this machine.
    Process: process::ProcessGrant;
    /// Small durable state.
    Store: store::StoreGrant;
    /// Derived data that may vanish.
    Cache: cache::CacheGrant;
    /// Questions to the connected client.
    Client: client::ClientGrant;
    /// Actions of tools that no other capability covers.
    Actions: actions::ActionsGrant;
    /// The tools of all plugins.
    Catalog: catalog::CatalogGrant;
}

impl Capability {
    /// The smallest block for `portcullis.toml` that grants it to `plugin`.
    pub fn remedy(self, plugin: &str) -> String {
        format!("[plugins.{plugin}.grants.{self}]\n{}", self.least())
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Grants {
    /// Whether anything of this capability is granted.
    pub fn has(&self, capability: Capability) -> bool {
        self.get(capability).is_some()
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
            let capability =
                Capability::ALL.into_iter().find(|one| one.as_str() == want.capability);
            let joined = match capability {
                Some(capability) => sum.want(capability, &target, &want.access),
                // Always there: it reaches nothing but what the operator wrote for this plugin.
                None if want.capability == settings::NAME => Ok(()),
                None => Err("this host knows no such capability".to_owned()),
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

/// A list that names at least one: an empty one in a grant is a mistake. Two lists are equal if they name the same,
/// in whatever order.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[schemars(extend("minItems" = 1))]
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

impl<T: PartialEq> PartialEq for Named<T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().all(|name| other.contains(name)) && other.iter().all(|name| self.contains(name))
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
