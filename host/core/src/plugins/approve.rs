//! The review and the approval of a plugin whose component is new or has changed.

use std::sync::Arc;

use serde_json::Value;

use super::description::{Difference, differences, of_component};
use super::inspect::{Inspection, inspect};
use super::open::candidates;
use crate::config::{Config, Folders};
use crate::lock::{Approval, ApprovalKey, LockError, LockFile, NewApproval};
use crate::sandbox::Sandbox;

/// The component that is now in the file of a plugin, compared with the approved component.
pub struct Review {
    /// The plugin.
    pub name: String,
    /// The SHA-256 digest of its component now.
    pub digest: String,
    /// The approved digest. `None`: no component is approved under this name.
    pub approved: Option<String>,
    /// The approval of the approved digest. `None`: there is none, or an earlier version of the host made it.
    pub approval: Option<Approval>,
    /// The component in the file, or why it cannot be examined.
    pub now: Result<Inspection, String>,
    /// The differences from the approved component. `None`: no description was kept with the approval, or the
    /// component cannot be examined.
    pub differences: Option<Vec<Difference>>,
    lock: LockFile,
}

/// A component could not be reviewed or approved.
#[derive(Debug, thiserror::Error)]
pub enum ApprovalError {
    /// The component cannot be read.
    #[error("the plugin `{name}`: {reason}")]
    Refused {
        /// The plugin.
        name: String,
        /// The reason, for display.
        reason: String,
    },
    /// The lock file cannot be used.
    #[error("the approval of `{name}`: {cause}")]
    Lock {
        /// The plugin.
        name: String,
        /// The cause.
        #[source]
        cause: LockError,
    },
}

/// Examines the component that is now in the file of a plugin, and compares it with the approved component. `None`:
/// no plugin of this name is in a file.
///
/// # Errors
///
/// The component or the lock file cannot be read: [`ApprovalError`].
pub async fn review(
    name: &str,
    sandbox: &Arc<Sandbox>,
    config: &Config,
    folders: &Folders,
) -> Result<Option<Review>, ApprovalError> {
    let mut all = candidates(config, folders, &mut Vec::new()).into_iter();
    if !all.any(|one| one.name == name && one.bundled.is_none()) {
        return Ok(None);
    }
    let failed = |cause| ApprovalError::Lock { name: name.to_owned(), cause };
    let lock = LockFile::at(folders.lock.clone());
    let approved = lock.plugin(name).map_err(failed)?;
    let approval = lock.approval(ApprovalKey::Plugin(name)).map_err(failed)?;
    // The plugin was found above. If its file is gone since, there is no plugin.
    let Some(inspected) = inspect(name, sandbox, config, folders).await else { return Ok(None) };
    let (digest, now) = match inspected {
        Ok(inspection) => (inspection.digest.clone(), Ok(inspection)),
        Err(refused) => match refused.digest {
            Some(digest) => (digest, Err(refused.reason)),
            None => {
                let (name, reason) = (name.to_owned(), refused.reason);
                return Err(ApprovalError::Refused { name, reason });
            }
        },
    };
    let before = approved
        .as_deref()
        .and_then(|approved| lock.description(ApprovalKey::Plugin(name), approved));
    let differences = match (&before, &now) {
        (Some(before), Ok(now)) => Some(differences(before, &of_component(&now.info))),
        (None, _) | (Some(_), Err(_)) => None,
    };
    let approval = approval.filter(|one| approved.as_ref() == Some(&one.digest));
    let name = name.to_owned();
    Ok(Some(Review { name, digest, approved, approval, now, differences, lock }))
}

impl Review {
    /// Whether the component is the approved one.
    pub fn is_approved(&self) -> bool {
        self.approved.as_ref() == Some(&self.digest)
    }

    /// Approves the component that was reviewed. If the file was changed since, the new component stays refused.
    ///
    /// # Errors
    ///
    /// [`ApprovalError::Lock`]: the approvals are as they were.
    pub fn approve(
        &self,
        reason: &str,
        sandbox: &Sandbox,
        config: &Config,
    ) -> Result<NewApproval, ApprovalError> {
        let Self { name, digest, lock, now, .. } = self;
        let new = lock
            .approve_plugin(name, digest, reason)
            .map_err(|cause| ApprovalError::Lock { name: name.clone(), cause })?;
        let description = match now {
            Ok(inspection) => of_component(&inspection.info),
            Err(_) => Value::Null,
        };
        let key = ApprovalKey::Plugin(name);
        lock.finish_approval(key, &new, &description, sandbox.audit());
        self.try_again(sandbox, config);
        Ok(new)
    }

    /// Makes the sandbox forget a remembered refusal of this component, so that the component is examined again.
    pub fn try_again(&self, sandbox: &Sandbox, config: &Config) {
        sandbox.forget(&self.digest, &config.limits_of(&self.name));
    }
}
