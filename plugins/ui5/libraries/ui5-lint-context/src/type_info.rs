//! The API that a finding is about, as the linter describes it: a name with its ancestors.

use serde::Deserialize;

/// A piece of API.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct TypeInfo {
    /// The kind of the piece of API.
    #[serde(default)]
    pub kind: Kind,
    /// The name, without its ancestors.
    #[serde(default)]
    pub name: String,
    /// The piece of API that contains this one.
    #[serde(default)]
    pub parent: Option<Box<TypeInfo>>,
}

/// The kind of a piece of API.
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
    /// A kind that only newer linters report.
    #[default]
    #[serde(other)]
    Unknown,
}

impl TypeInfo {
    /// The piece of API and its ancestors, the innermost first.
    pub fn ancestry(&self) -> impl Iterator<Item = &TypeInfo> {
        std::iter::successors(Some(self), |info| info.parent.as_deref())
    }

    /// The module that contains the piece of API.
    pub fn module(&self) -> Option<&str> {
        let module = self.ancestry().find(|info| info.kind == Kind::Module)?;
        Some(&module.name)
    }

    /// The name of the piece of API in the API reference, such as `sap.ui.core.Core#byId`. `None`: one of the
    /// kinds is unknown, or the name would be empty.
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
                // A type such as `$ButtonSettings` is that of the constructor's argument. The module names the class.
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

    /// Whether the piece of API and its ancestors are exactly these, the innermost first.
    pub(crate) fn is(&self, path: &[(Kind, &str)]) -> bool {
        let mut path = path.iter();
        let is_same = self.ancestry().all(|info| {
            path.next().is_some_and(|&(kind, name)| info.kind == kind && info.name == name)
        });
        is_same && path.next().is_none()
    }
}
