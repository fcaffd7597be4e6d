//! The lists of a registry: its repositories, and the tags of a repository.

use crate::artifact::{Terms, within};
use crate::error::SourceError;
use crate::reference::Location;
use crate::registry::{NameList, Registry};

/// A list of a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listed {
    /// The tags of one repository.
    Tags {
        /// The tags.
        names: Vec<String>,
        /// Whether the registry has more tags than are read.
        is_cut: bool,
    },
    /// The repositories whose names begin with the location's repository.
    Repositories {
        /// The names.
        names: Vec<String>,
        /// Whether the registry has more names than are read.
        is_cut: bool,
    },
    /// The registry offers no list of its repositories, and has no repository of this name.
    Nothing,
}

/// Asks a registry for a list: the tags, if the location names a repository, or else the repositories.
///
/// # Errors
///
/// [`SourceError`].
pub async fn list(location: &Location, terms: Terms<'_>) -> Result<Listed, SourceError> {
    within(&format!("asking {location} for its list"), async {
        let mut registry = Registry::at(location.clone(), terms.logins, terms.most)?;
        if !location.repository.is_empty() {
            match registry.tags().await {
                Ok(Some(NameList { names, is_cut })) => return Ok(Listed::Tags { names, is_cut }),
                // Some registries demand a login for repositories that they do not have. Then the list of
                // repositories decides.
                Ok(None) | Err(SourceError::Login { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let Some(NameList { mut names, is_cut }) = registry.repositories().await? else {
            return Ok(Listed::Nothing);
        };
        names.retain(|name| name.starts_with(&location.repository));
        names.sort_unstable();
        Ok(Listed::Repositories { names, is_cut })
    })
    .await
}
