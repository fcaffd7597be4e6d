//! The approved components of plugins.

use std::sync::Arc;

use super::{Approval, ApprovalKey, Content, FIRST_USE, LockError, LockFile, NewApproval};

/// The approved plugins at one moment.
pub struct ApprovedPlugins(Arc<Content>);

impl ApprovedPlugins {
    /// The digest of the component that was approved as this plugin. `None`: no component was approved.
    pub fn digest(&self, name: &str) -> Option<&str> {
        self.0.plugins.get(name).map(String::as_str)
    }
}

impl Content {
    /// Approves a component as this plugin.
    pub(super) fn approve_plugin(&mut self, name: &str, digest: &str, reason: &str) -> NewApproval {
        let before = self.plugins.insert(name.to_owned(), digest.to_owned());
        let approval = Approval::now(digest, reason);
        self.approvals.insert(ApprovalKey::Plugin(name).to_string(), approval.clone());
        NewApproval { approval, before }
    }
}

impl LockFile {
    /// The digest of the component that was approved as this plugin. `None`: no component was approved.
    ///
    /// # Errors
    ///
    /// The file cannot be read: [`LockError::Read`]. Nothing then counts as approved.
    pub fn plugin(&self, name: &str) -> Result<Option<String>, LockError> {
        Ok(self.approved_plugins()?.digest(name).map(str::to_owned))
    }

    /// The approved plugins, as they are now.
    ///
    /// # Errors
    ///
    /// The file cannot be read: [`LockError::Read`]. Nothing then counts as approved.
    pub fn approved_plugins(&self) -> Result<ApprovedPlugins, LockError> {
        Ok(ApprovedPlugins(self.read()?))
    }

    /// Approves a component at its first use as this plugin. `None`: a component is approved as this plugin already, this
    /// one or another one, and nothing changes.
    ///
    /// # Errors
    ///
    /// [`LockError`]: the approvals are as they were.
    pub fn approve_new_plugin(
        &self,
        name: &str,
        digest: &str,
    ) -> Result<Option<NewApproval>, LockError> {
        self.update(|content| {
            let is_new = !content.plugins.contains_key(name);
            is_new.then(|| content.approve_plugin(name, digest, FIRST_USE))
        })
    }

    /// Approves a component as this plugin.
    ///
    /// # Errors
    ///
    /// [`LockError`]: the approvals are as they were.
    pub fn approve_plugin(
        &self,
        name: &str,
        digest: &str,
        reason: &str,
    ) -> Result<NewApproval, LockError> {
        self.update(|content| content.approve_plugin(name, digest, reason))
    }
}
