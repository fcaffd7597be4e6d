//! Compares the tools of an upstream server with the approved tools, and approves them.

use std::sync::Arc;

use portcullis_mcp_client::Listing;

use super::{UpstreamSource, Upstreams};
use crate::lock::{Approval, ApprovalKey, HeldTool, LockError, LockFile, NewApproval};
use crate::plugins::description::{self, Difference};

/// The tools of an upstream server now, compared with those that were approved.
pub struct UpstreamReview {
    /// The tools that are held back.
    pub held: Vec<HeldTool>,
    /// The last approval. `None`: there is none, or an earlier version of the host made it.
    pub approval: Option<Approval>,
    /// The differences from the approved tools. `None`: no description was kept with the approval.
    pub differences: Option<Vec<Difference>>,
}

impl Upstreams {
    /// The tools of a listing that are not approved with their current definitions. At the first use of a server,
    /// its tools are approved, unless the host is locked.
    pub async fn unapproved(
        &self,
        source: &UpstreamSource,
        listing: &Arc<Listing>,
    ) -> Vec<HeldTool> {
        let (key, listing) = (source.key.clone(), listing.clone());
        let (is_locked, audit) = (self.is_locked, self.audit.clone());
        let judge = move |lock: &LockFile| {
            let finish = |new: &NewApproval| {
                let description = description::of_listing(&listing);
                lock.finish_approval(ApprovalKey::Upstream(&key), new, &description, &audit);
            };
            lock.unapproved(&key, digests(&listing), is_locked, finish)
        };
        self.lock.on_a_thread(judge).await
    }

    /// Compares the tools of a server with those that were approved. Approves nothing.
    ///
    /// # Errors
    ///
    /// The lock file cannot be read: [`LockError::Read`].
    pub async fn review(
        &self,
        source: &UpstreamSource,
        listing: &Arc<Listing>,
    ) -> Result<UpstreamReview, LockError> {
        let (key, listing) = (source.key.clone(), listing.clone());
        let review = move |lock: &LockFile| {
            let approval_key = ApprovalKey::Upstream(&key);
            let approval = lock.approval(approval_key)?;
            let before =
                approval.as_ref().and_then(|one| lock.description(approval_key, &one.digest));
            let now = description::of_listing(&listing);
            let differences = before.map(|before| description::differences(&before, &now));
            let held = lock.unapproved(&key, digests(&listing), true, |_| ());
            Ok(UpstreamReview { held, approval, differences })
        };
        self.lock.on_a_thread(review).await
    }

    /// Approves the tools of a server as they are in a listing.
    ///
    /// # Errors
    ///
    /// [`LockError`]: nothing is approved.
    pub async fn approve(
        &self,
        source: &UpstreamSource,
        listing: &Arc<Listing>,
        reason: &str,
    ) -> Result<(), LockError> {
        let (key, listing, reason) = (source.key.clone(), listing.clone(), reason.to_owned());
        let audit = self.audit.clone();
        let approve = move |lock: &LockFile| {
            let new = lock.approve(&key, digests(&listing), &reason)?;
            let description = description::of_listing(&listing);
            lock.finish_approval(ApprovalKey::Upstream(&key), &new, &description, &audit);
            Ok(())
        };
        self.lock.on_a_thread(approve).await
    }
}

/// The name and the digest of each tool of a listing.
fn digests(listing: &Listing) -> impl Iterator<Item = (&str, &str)> + Clone {
    listing.tools.iter().map(|tool| (tool.name.as_str(), tool.digest.as_str()))
}
