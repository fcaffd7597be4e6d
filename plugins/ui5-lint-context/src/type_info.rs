//! What the linter says of the API that a finding is about: a name, and what it is part of.

use serde::Deserialize;

/// A piece of API.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct TypeInfo {
    /// What it is.
    #[serde(default)]
    pub kind: Kind,
    /// What it is called.
    #[serde(default)]
    pub name: String,
    /// What it is part of.
    #[serde(default)]
    pub parent: Option<Box<TypeInfo>>,
}

/// What a piece of API is.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[allow(missing_docs, reason = "the names are the linter's and say it")]
pub enum Kind {
    Module,
    Namespace,
    Class,
    Constructor,
    ConstructorParameter,
    ManagedObjectSettings,
    MetadataProperty,
    MetadataEvent,
    MetadataAggregation,
    MetadataAssociation,
    Function,
    Method,
    Property,
    StaticMethod,
    StaticProperty,
    Enum,
    EnumMember,
    Export,
    /// One that a newer linter knows.
    #[default]
    #[serde(other)]
    Unknown,
}

impl TypeInfo {
    /// It and what it is part of, the smallest first.
    pub fn ancestry(&self) -> impl Iterator<Item = &TypeInfo> {
        std::iter::successors(Some(self), |info| info.parent.as_deref())
    }

    /// The module that it is in.
    pub fn module(&self) -> Option<&str> {
        let module = self.ancestry().find(|info| info.kind == Kind::Module)?;
        Some(&module.name)
    }

    /// What it is called in the API reference, such as `sap.ui.core.Core#byId`; `None` if it has no entry
    /// of its own.
    pub fn api_name(&self) -> Option<String> {
        let (mut symbol, mut member) = (Vec::new(), None);
        for info in self.ancestry() {
            match info.kind {
                Kind::Module => {
                    let path = info.name.strip_suffix("/library").unwrap_or(&info.name);
                    let class = path.rsplit('/').next().unwrap_or_default();
                    if symbol.last() == Some(&class) {
                        symbol.pop();
                    }
                    symbol.extend(path.rsplit('/'));
                }
                Kind::Namespace | Kind::Class | Kind::Enum | Kind::Function | Kind::Export => {
                    symbol.push(&info.name);
                }
                Kind::Constructor | Kind::ConstructorParameter => member = Some("constructor"),
                Kind::MetadataProperty
                | Kind::MetadataEvent
                | Kind::MetadataAggregation
                | Kind::MetadataAssociation
                | Kind::Method
                | Kind::StaticMethod
                | Kind::Property
                | Kind::StaticProperty
                | Kind::EnumMember => member = Some(&info.name),
                // `$ButtonSettings` is what the constructor of `Button` takes: the module says which.
                Kind::ManagedObjectSettings => {}
                Kind::Unknown => return None,
            }
        }
        symbol.reverse();
        let symbol = symbol.join(".");
        if symbol.is_empty() {
            return None;
        }
        Some(match member {
            Some(member) => format!("{symbol}#{member}"),
            None => symbol,
        })
    }

    /// Whether it and what it is part of are just these, the smallest first.
    pub(crate) fn is(&self, path: &[(Kind, &str)]) -> bool {
        let mut path = path.iter();
        let fits = self.ancestry().all(|info| {
            path.next().is_some_and(|&(kind, name)| info.kind == kind && info.name == name)
        });
        fits && path.next().is_none()
    }
}
