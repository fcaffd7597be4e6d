//! Where the components of plugins were fetched from.

use serde::{Deserialize, Serialize};

use super::{ApprovalKey, LockError, LockFile, NewApproval};

/// Where a plugin's component was fetched from, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The reference, the address or the path that the operator named.
    pub source: String,
    /// The SHA-256 digest of the component.
    pub digest: String,
    /// The digest of the artifact's manifest, if the source is a registry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<String>,
    /// What was verified, as text: the key of the signature, and the builder if the configuration requires one. `None`:
    /// the configuration requires no signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<String>,
    /// The time, in RFC 3339, UTC.
    pub time: String,
}

impl LockFile {
    /// Where a plugin's component was fetched from. `None`: the component was not fetched, but copied.
    ///
    /// # Errors
    ///
    /// The file cannot be read: [`LockError::Read`].
    pub fn provenance(&self, name: &str) -> Result<Option<Provenance>, LockError> {
        Ok(self.read()?.provenances.get(name).cloned())
    }

    /// The names of all plugins whose components were fetched.
    ///
    /// # Errors
    ///
    /// The file cannot be read: [`LockError::Read`].
    pub fn fetched_plugins(&self) -> Result<Vec<String>, LockError> {
        Ok(self.read()?.provenances.keys().cloned().collect())
    }

    /// Approves a component that was fetched, and records where it is from.
    ///
    /// # Errors
    ///
    /// [`LockError`]: approvals and provenances are as they were.
    pub fn approve_fetched(
        &self,
        name: &str,
        from: &Provenance,
        reason: &str,
    ) -> Result<NewApproval, LockError> {
        self.update(|content| {
            content.provenances.insert(name.to_owned(), from.clone());
            content.approve_plugin(name, &from.digest, reason)
        })
    }

    /// Removes the entries of a plugin: its approval, its provenance and its claims.
    ///
    /// # Errors
    ///
    /// [`LockError`]: the file is as it was.
    pub fn forget_plugin(&self, name: &str) -> Result<(), LockError> {
        let key = ApprovalKey::Plugin(name).to_string();
        self.update(|content| {
            content.plugins.remove(name);
            content.approvals.remove(&key);
            content.provenances.remove(name);
            content.claims.retain(|claim| claim.by != key);
        })?;
        if let Err(error) = self.descriptions().remove(&key) {
            tracing::warn!("the description of `{name}` that was approved is still kept: {error}");
        }
        Ok(())
    }
}
