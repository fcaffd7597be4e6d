//! The capabilities: each has a folder here and a line in the table `register!`. The folder `settings` has the
//! interface `settings`, which is no capability.

pub mod actions;
pub mod cache;
pub mod catalog;
pub mod client;
pub mod files;
pub mod http;
pub mod process;
pub mod settings;
mod short_form;
pub mod store;
pub mod tools;

#[cfg(test)]
mod within_tests;

use std::collections::BTreeMap;
use std::fmt;

use portcullis_engine::EngineKind;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use wasmtime::component::Linker;

use crate::bindings::Want;
use crate::sandbox::InstanceState;
use short_form::ShortForms;

pub use short_form::{Form, FormsOf, InvalidShortForm, InvalidValue, ShortForm, Table};

/// The registration of a capability, implemented by the type of its grant.
trait Registered: Sized + PartialEq + fmt::Display + ShortForms {
    /// The capability's name in `portcullis.toml` and in the audit.
    const NAME: &'static str;

    /// The interfaces of the capability, as prefixes of their names. An interface is linked only if the capability is
    /// granted, or if the plugin can run without the capability.
    const IMPORTS: &'static [&'static str] = &[];

    /// The keys of the smallest grant, as TOML.
    const EXAMPLE: &'static str;

    /// Adds a want of the manifest to the plugin's wants.
    ///
    /// # Errors
    ///
    /// [`InvalidWant`]: the capability has no such target or access.
    fn want(wants: &mut Option<Self>, target: &str, access: &str) -> Result<(), InvalidWant>;

    /// Whether this grant equals the plugin's want, apart from values that only the operator can give.
    fn is_as_wanted(&self, want: &Self) -> bool {
        self == want
    }

    /// The parts of the grant, for display, such as hosts with methods, commands or directories.
    fn targets(&self) -> Vec<String> {
        vec![self.to_string()]
    }

    /// Whether the grant lets a plugin change something outside the host, such as files or the state of a server.
    fn can_change(&self) -> bool {
        false
    }

    /// The grant and the plugin's wants for one call of a tool. A target that the call's arguments name is added to
    /// both, because both must cover an ask. `None`: the arguments name nothing that the grant allows.
    fn of_call(&self, _wants: &Self, _arguments: &Value) -> Option<(Self, Self)> {
        None
    }

    /// Links the interfaces of [`Self::IMPORTS`].
    ///
    /// # Errors
    ///
    /// Two interfaces define one name: a fault of this program.
    fn link(_linker: &mut Linker<InstanceState>) -> wasmtime::Result<()> {
        Ok(())
    }

    /// Links those interfaces of [`Self::IMPORTS`] that need concurrency, which are those of WASI 0.3.
    ///
    /// # Errors
    ///
    /// Two interfaces define one name: a fault of this program.
    fn link_concurrent(_linker: &mut Linker<InstanceState>) -> wasmtime::Result<()> {
        Ok(())
    }
}

/// Defines [`Capability`] and [`Grants`] from the list of capabilities.
macro_rules! register {
    ($($(#[doc = $doc:literal])* $capability:ident: $folder:ident::$grant:ident;)*) => {
        /// A capability.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Capability {
            $($(#[doc = $doc])* $capability,)*
        }

        impl Capability {
            /// All capabilities, in the order in which they are displayed.
            pub const ALL: [Self; [$(Self::$capability),*].len()] = [$(Self::$capability),*];

            /// The name in `portcullis.toml` and in the audit.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$capability => $folder::$grant::NAME,)* }
            }

            /// The interfaces of the capability, as prefixes of their names. An interface is linked only if the
            /// capability is granted, or if the plugin can run without the capability.
            pub fn imports(self) -> &'static [&'static str] {
                match self { $(Self::$capability => $folder::$grant::IMPORTS,)* }
            }

            fn smallest_grant(self) -> &'static str {
                match self { $(Self::$capability => $folder::$grant::EXAMPLE,)* }
            }

            /// The short forms of the capability's grants.
            pub fn short_forms(self) -> FormsOf {
                match self { $(Self::$capability => FormsOf::of::<$folder::$grant>(),)* }
            }

            /// Links the interfaces for an engine of this kind.
            ///
            /// # Errors
            ///
            /// Two interfaces define one name: a fault of this program.
            pub fn link(
                self,
                linker: &mut Linker<InstanceState>,
                kind: EngineKind,
            ) -> wasmtime::Result<()> {
                match self { $(Self::$capability => $folder::$grant::link(linker)?,)* }
                if kind == EngineKind::Concurrent {
                    match self { $(Self::$capability => $folder::$grant::link_concurrent(linker)?,)* }
                }
                Ok(())
            }
        }

        /// The grants of a plugin, or its wants. A capability that is absent is refused.
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

            /// The parts of the grant of a capability, for display. Empty: there is no grant.
            pub fn targets(&self, capability: Capability) -> Vec<String> {
                match capability {
                    $(Capability::$capability =>
                        self.$folder.as_ref().map(Registered::targets).unwrap_or_default(),)*
                }
            }

            /// Whether the grant of a capability lets a plugin change something outside the host.
            pub fn can_change(&self, capability: Capability) -> bool {
                match capability {
                    $(Capability::$capability =>
                        self.$folder.as_ref().is_some_and(Registered::can_change),)*
                }
            }

            /// These grants and the plugin's wants for one call of a tool, with additions by the call's arguments.
            /// `None`: the arguments add nothing.
            pub fn of_call(&self, wants: &Self, arguments: &Value) -> Option<(Self, Self)> {
                let mut changed = None;
                $(if let (Some(grant), Some(want)) = (&self.$folder, &wants.$folder)
                    && let Some((grant, want)) = Registered::of_call(grant, want, arguments)
                {
                    let (grants, wants) =
                        changed.get_or_insert_with(|| (self.clone(), wants.clone()));
                    grants.$folder = Some(grant);
                    wants.$folder = Some(want);
                })*
                changed
            }

            fn values_of(&self, capability: Capability) -> Vec<String> {
                match capability {
                    $(Capability::$capability =>
                        self.$folder.as_ref().map(ShortForms::values).unwrap_or_default(),)*
                }
            }

            /// Whether a plugin with these wants can use a value of a grant at all.
            pub fn want_value(&self, capability: Capability, value: &str) -> bool {
                match capability {
                    $(Capability::$capability => self
                        .$folder
                        .as_ref()
                        .is_some_and(|wants| ShortForms::is_wanted(value, wants)),)*
                }
            }

            /// Whether the grant of a capability equals the plugin's want, apart from values that only the operator
            /// can give, such as private networks. Also true if the capability is not granted and not wanted.
            pub fn is_as_wanted(&self, capability: Capability, wants: &Self) -> bool {
                match capability {
                    $(Capability::$capability => match (&self.$folder, &wants.$folder) {
                        (Some(grant), Some(want)) => grant.is_as_wanted(want),
                        (None, None) => true,
                        (Some(_), None) | (None, Some(_)) => false,
                    },)*
                }
            }

            /// Adds a want of the manifest to these wants.
            fn want(
                &mut self,
                capability: Capability,
                target: &str,
                access: &str,
            ) -> Result<(), InvalidWant> {
                match capability {
                    $(Capability::$capability =>
                        $folder::$grant::want(&mut self.$folder, target, access),)*
                }
            }
        }
    };
}

register! {
    /// Files and directories: those in the session's roots, and those that the operator names.
    Files: files::FilesGrant;
    /// HTTP requests to hosts that the operator names.
    Http: http::HttpGrant;
    /// Other programs of this machine.
    Process: process::ProcessGrant;
    /// Small durable state.
    Store: store::StoreGrant;
    /// A cache of derived data. The host may drop any of it at any time.
    Cache: cache::CacheGrant;
    /// Questions to the connected client.
    Client: client::ClientGrant;
    /// Actions of tools that no other capability covers.
    Actions: actions::ActionsGrant;
    /// The tools of all plugins and upstream servers, and their last answers.
    Catalog: catalog::CatalogGrant;
    /// Calls of the tools of other plugins and of upstream servers.
    Tools: tools::ToolsGrant;
}

impl Capability {
    /// The smallest table of `portcullis.toml` that grants the capability to `plugin`.
    pub fn remedy(self, plugin: &str) -> String {
        format!("[plugins.{plugin}.grants.{self}]\n{}", self.smallest_grant())
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Grants {
    /// Whether the capability is granted.
    pub fn has(&self, capability: Capability) -> bool {
        self.get(capability).is_some()
    }

    /// A line for display about each granted capability.
    pub fn lines(&self) -> Vec<(Capability, String)> {
        let line = |capability| Some((capability, self.get(capability)?.to_string()));
        Capability::ALL.into_iter().filter_map(line).collect()
    }

    /// The valid wants of a manifest, and the invalid ones.
    ///
    /// A target `$NAME` is the value of the operator's setting NAME: a plugin can want the host that it is configured
    /// with, without knowing the host. If the setting is missing or empty, the want is ignored.
    pub fn wanted(
        wants: &[Want],
        settings: &BTreeMap<String, String>,
    ) -> (Self, Vec<UnusableWant>) {
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
            let added = match capability {
                Some(capability) => sum.want(capability, &target, &want.access),
                // The interface `settings` needs no grant: a plugin reads only the settings that are written for it.
                None if want.capability == settings::NAME => Ok(()),
                None => Err(InvalidWant::UnknownCapability),
            };
            if let Err(reason) = added {
                unusable.push(UnusableWant {
                    want: format!("{} {}", want.capability, want.target),
                    optional: want.optional,
                    reason,
                });
            }
        }
        (sum, unusable)
    }
}

/// A TOML list of these values and one more.
fn listed<T: fmt::Display>(present: impl IntoIterator<Item = T>, more: &str) -> String {
    let mut all: Vec<String> = present.into_iter().map(|one| one.to_string()).collect();
    if !all.iter().any(|one| one == more) {
        all.push(more.to_owned());
    }
    format!("{all:?}")
}

/// A list with at least one name: an empty list in a grant would be a mistake. The order does not matter when lists are
/// compared.
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
    /// Whether the list has this name.
    pub fn contains(&self, name: &T) -> bool {
        self.0.contains(name)
    }

    /// The names.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }

    /// Adds a name to a list. `None`: makes a list with this name.
    fn add(list: Option<Self>, name: T) -> Self {
        let mut names = list.map_or_else(Vec::new, |Self(names)| names);
        names.push(name);
        Self(names)
    }
}

/// Why a want of a manifest is invalid.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum InvalidWant {
    /// The capability is unknown to this host.
    #[error("this host knows no such capability")]
    UnknownCapability,
    /// The target or the access is not one of those that the capability has. The text names the valid ones.
    #[error("{0}")]
    Unexpected(&'static str),
    /// The target is not a number of bytes.
    #[error("the target must be a number of bytes above 0")]
    Bytes(#[source] std::num::ParseIntError),
    /// The target is not an origin.
    #[error(transparent)]
    Origin(#[from] portcullis_egress::ParseOriginError),
}

/// A want that is invalid.
#[derive(Debug, Clone, PartialEq)]
pub struct UnusableWant {
    /// The capability and the target.
    pub want: String,
    /// Whether the plugin can run without the wanted capability.
    pub optional: bool,
    /// Why the want is invalid.
    pub reason: InvalidWant,
}
