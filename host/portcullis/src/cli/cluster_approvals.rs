//! Exchanges approvals with the other hosts of the cluster, so that what is approved at one host is approved at all.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use portcullis_audit::Audit;
use portcullis_cluster_state::{ClusterState, RecordError};
use portcullis_core::lock::{Exchanged, Lock, SharedApprovals};
use portcullis_sanitize::error_chain;
use tokio::sync::Notify;

use super::context::CommandContext;

/// The owner of the record with the approvals. No plugin has such a name.
const OWNER: &str = "host:approvals";

/// The key of the record.
const KEY: &str = "approvals";

/// Maximum size of the record in bytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Interval of the exchanges.
const INTERVAL: Duration = Duration::from_secs(3);

/// Maximum number of attempts of one exchange, if other hosts write at the same time.
const MAX_ATTEMPTS: usize = 8;

/// Exchanges the approvals of this host with those in the cluster's state.
pub struct Approvals {
    state: ClusterState,
    lock: Lock,
    audit: Audit,
    /// Notified when other hosts replaced an approval of this host.
    replaced: Arc<Notify>,
}

impl Approvals {
    /// The exchange of a host. `None`: the host is in no cluster, or it is locked, so that its lock file alone counts.
    pub fn of(context: &CommandContext) -> Option<Self> {
        let state = context.cluster.clone()?;
        if context.config.host.locked == Some(true) {
            return None;
        }
        let (lock, audit) = (context.lock.clone(), context.audit.clone());
        Some(Self { state, lock, audit, replaced: Arc::default() })
    }

    /// Is notified when other hosts replaced an approval of this host.
    pub fn replaced(&self) -> Arc<Notify> {
        self.replaced.clone()
    }

    /// Exchanges the approvals before the host judges its plugins and servers. If that fails, its own approvals count.
    pub async fn begin(&self) {
        if let Err(error) = self.exchange().await {
            let error = error_chain(error.as_ref());
            tracing::warn!("the approvals of other hosts are not known yet: {error}");
        }
    }

    /// Exchanges the approvals again and again. Never ends.
    pub async fn follow(self) {
        let mut was_done = true;
        loop {
            tokio::time::sleep(INTERVAL).await;
            let done = self.exchange().await;
            if let Err(error) = &done
                && was_done
            {
                tracing::warn!("approvals are not exchanged now: {}", error_chain(error.as_ref()));
            }
            was_done = done.is_ok();
        }
    }

    async fn exchange(&self) -> anyhow::Result<()> {
        let records = self.state.records_of(OWNER);
        for _ in 0..MAX_ATTEMPTS {
            let found = records.read(KEY).await?;
            let version = found.as_ref().map_or(0, |found| found.version);
            let others: SharedApprovals = match &found {
                Some(found) => serde_json::from_slice(&found.value)
                    .context("reading the approvals of the other hosts")?,
                None => SharedApprovals::new(),
            };
            let (known, audit) = (others.clone(), self.audit.clone());
            let exchange = self.lock.on_a_thread(move |lock| lock.exchange(&known, &audit));
            let Exchanged { all, replaced } = exchange.await.context("exchanging approvals")?;
            if !replaced.is_empty() {
                let names = replaced.join(", ");
                tracing::warn!("other hosts have approved other definitions: {names}");
                self.replaced.notify_one();
            }
            if all == others {
                return Ok(());
            }
            let record = records.prepare(KEY, serde_json::to_vec(&all)?, Some(version)).await;
            let written = match record {
                Ok(record) => record.commit(MAX_BYTES).await,
                Err(error) => Err(error),
            };
            match written {
                Ok(_) => return Ok(()),
                // Another host was faster: its approvals are considered, too.
                Err(RecordError::Conflict) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(RecordError::Conflict.into())
    }
}
