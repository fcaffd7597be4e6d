//! An MCP session: its subscriptions, its roots and its log level.

#![expect(deprecated, reason = "roots, sampling and logging are in both eras until 2027")]

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use portcullis_cluster_state::StateError;
use portcullis_core::projects::Projects;
use portcullis_http_server::SessionShare;
use portcullis_roots::Roots;
use rmcp::RoleServer;
use rmcp::model::{ErrorCode, LoggingLevel};
use rmcp::service::{Peer, ServiceError};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::caller::Caller;
use super::log_levels::{LEVELS, rank};

/// How long a client may take to answer `roots/list`.
const ROOTS_TIMEOUT: Duration = Duration::from_secs(3);

/// Maximum number of `roots/list` requests for one request of the client, if the roots change meanwhile.
const MAX_ROOTS_REQUESTS: usize = 3;

/// A task that watches a resource for changes. Dropping this value ends the task.
pub type Watch = AbortOnDropHandle<()>;

/// One session.
#[derive(Default)]
pub struct Session {
    /// The subscriptions of a legacy client, by URI. `None`: another host of the cluster watches the resource.
    pub subscriptions: Mutex<HashMap<String, Option<Watch>>>,
    /// The session as all hosts of the cluster know it. Absent: only this host serves the session.
    pub share: OnceLock<Arc<SessionShare>>,
    /// Changes of those resources of upstream servers that this client is subscribed to.
    pub changed: ChangedResources,
    /// Whether the client has sent `initialize`.
    pub is_initialized: AtomicBool,
    /// Cancelled when the session ends.
    pub end: CancelOnDrop,
    /// The session's unique name.
    pub name: UniqueName,
    /// The caller that sent `initialize`, if the client has roots.
    pub initialized_by: Mutex<Option<Caller>>,
    /// The projects for which tools were last listed. `None`: no tools were listed, or the last list did not depend on
    /// projects.
    pub seen: Mutex<Option<Arc<Projects>>>,
    roots: Mutex<KnownRoots>,
    /// 1 + the rank of the minimum level of log records that the client wants. 0: the client has not set a level.
    level: AtomicU8,
}

/// The client's roots, as far as they are known.
#[derive(Default)]
struct KnownRoots {
    /// The roots that the client last named.
    last: Option<NarrowedRoots>,
    /// Counts the client's notifications that its roots have changed. An answer to a request from before such a
    /// notification is out of date.
    changes: u64,
    /// Those of the notifications, to any host, that are considered here.
    changes_at_hosts: u64,
}

/// The operator's roots, narrowed by the client's.
struct NarrowedRoots {
    /// The operator's roots. A reload of the configuration may replace them, and then the client is asked again.
    operator: Roots,
    /// The narrowed roots.
    roots: Roots,
}

impl KnownRoots {
    /// The narrowed roots, if they were made from these roots of the operator.
    fn last(&self, operator: &Roots) -> Option<&Roots> {
        let last = self.last.as_ref().filter(|last| last.operator.is_clone_of(operator));
        last.map(|last| &last.roots)
    }

    fn set(&mut self, operator: &Roots, roots: &Roots) {
        self.last = Some(NarrowedRoots { operator: operator.clone(), roots: roots.clone() });
    }
}

/// Maximum number of changed resources that wait until a client is notified.
const MAX_CHANGED: usize = 16;

/// The URIs of changed resources, on their way from the watches of a session to its client.
pub struct ChangedResources {
    /// The sender, of which each watch has a clone.
    pub sender: mpsc::Sender<String>,
    /// The receiver. The task that notifies the client takes the receiver out.
    pub receiver: Mutex<Option<mpsc::Receiver<String>>>,
}

impl Default for ChangedResources {
    fn default() -> Self {
        let (sender, receiver) = mpsc::channel(MAX_CHANGED);
        Self { sender, receiver: Mutex::new(Some(receiver)) }
    }
}

/// A name that no other session has.
pub struct UniqueName(pub String);

impl Default for UniqueName {
    fn default() -> Self {
        Self(portcullis_core::call::request_id())
    }
}

/// Cancels its token when it is dropped.
#[derive(Default)]
pub struct CancelOnDrop(pub CancellationToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Session {
    /// The session's roots. `named`: the client's answer in this call to the question for its roots. Returns `None` if
    /// the client has to be asked and only the answer to this request can contain the question. If a client declares
    /// roots and they stay unknown, no path can be opened, and the next request asks again.
    pub async fn roots(
        &self,
        operator: &Roots,
        caller: &Caller,
        peer: &Peer<RoleServer>,
        named: Option<ClientRoots>,
    ) -> Option<Roots> {
        if caller.capabilities.roots.is_none() {
            return Some(operator.clone());
        }
        if caller.modern {
            // MCP 2026-07-28 has no notification of changed roots, so each call asks.
            let Some(roots) = named?.narrow(operator) else { return Some(operator.unknown()) };
            self.roots.lock().set(operator, &roots);
            return Some(roots);
        }
        Some(self.roots_by_asking(operator, peer).await)
    }

    /// The roots of a legacy client, which is asked if its roots are not known.
    async fn roots_by_asking(&self, operator: &Roots, peer: &Peer<RoleServer>) -> Roots {
        for _ in 0..MAX_ROOTS_REQUESTS {
            let changes = {
                let mut known = self.roots.lock();
                self.forget_if_changed_elsewhere(&mut known);
                if let Some(last) = known.last(operator) {
                    return last.clone();
                }
                known.changes
            };
            let client = ask_roots(peer).await;
            let Some(roots) = client.narrow(operator) else { return operator.unknown() };
            let mut known = self.roots.lock();
            if known.changes == changes {
                known.set(operator, &roots);
                return roots;
            }
            // The roots have changed since the request.
        }
        operator.unknown()
    }

    /// The roots that the client last named: for work that cannot ask the client. If a client that has roots has not
    /// named them yet, no path can be opened.
    pub fn last_roots(&self, operator: &Roots, has_roots: bool) -> Roots {
        let mut known = self.roots.lock();
        self.forget_if_changed_elsewhere(&mut known);
        match known.last(operator) {
            _ if !has_roots => operator.clone(),
            Some(last) => last.clone(),
            None => operator.unknown(),
        }
    }

    /// Discards the client's roots if the client has told another host that they have changed.
    fn forget_if_changed_elsewhere(&self, known: &mut KnownRoots) {
        let changes = self.share.get().map_or(0, |share| share.changes_of_roots());
        if changes > known.changes_at_hosts {
            known.changes_at_hosts = changes;
            known.last = None;
            known.changes += 1;
        }
    }

    /// Discards the client's roots because they have changed. The next call asks for them.
    pub fn forget_roots(&self) {
        let mut known = self.roots.lock();
        known.last = None;
        known.changes += 1;
    }

    /// The minimum level of log records that a legacy client wants: `info` if it has set none.
    pub fn log_level(&self) -> Option<LoggingLevel> {
        // The level of all hosts, if there are several.
        let level = match self.share.get() {
            Some(share) => share.level().unwrap_or(0),
            None => self.level.load(Ordering::Relaxed),
        };
        match level {
            0 => Some(LoggingLevel::Info),
            level => LEVELS.get(usize::from(level - 1)).copied(),
        }
    }

    /// The minimum level of log records that a caller in this session wants. `None`: no log records.
    pub fn log_level_of(&self, caller: &Caller) -> Option<LoggingLevel> {
        if caller.modern { caller.log_level } else { self.log_level() }
    }

    /// Whether this host tells the client when this resource changes.
    pub fn watches(&self, uri: &str) -> bool {
        matches!(self.subscriptions.lock().get(uri), Some(Some(_)))
    }

    /// The resources of which this host tells the client when they change.
    pub fn watched(&self) -> Vec<String> {
        let known = self.subscriptions.lock();
        known.iter().filter(|(_, watch)| watch.is_some()).map(|(uri, _)| uri.clone()).collect()
    }

    /// Sets the minimum level of log records that the client wants, at all hosts.
    ///
    /// # Errors
    ///
    /// The cluster's state cannot be used.
    pub async fn set_log_level(&self, level: LoggingLevel) -> Result<(), StateError> {
        let level = 1 + rank(level);
        match self.share.get() {
            Some(share) => share.set_level(level).await,
            None => {
                self.level.store(level, Ordering::Relaxed);
                Ok(())
            }
        }
    }
}

/// A client's answer to the question for its roots.
#[derive(Debug, PartialEq)]
pub enum ClientRoots {
    /// The URIs of the roots.
    Named(Vec<String>),
    /// The client declares roots and does not know `roots/list`, so it has no roots.
    HasNone,
    /// The client did not answer in time, or its answer is an error or malformed.
    Unknown,
}

impl ClientRoots {
    /// The operator's roots, narrowed to the client's. A client that names no roots narrows nothing. `None`: the roots
    /// of the client are not known.
    fn narrow(&self, operator: &Roots) -> Option<Roots> {
        match self {
            Self::Named(client) if !client.is_empty() => {
                Some(operator.narrowed_by_uris(client.iter().map(String::as_str)))
            }
            Self::Named(_) | Self::HasNone => Some(operator.clone()),
            Self::Unknown => None,
        }
    }
}

/// Asks a legacy client for its roots.
async fn ask_roots(peer: &Peer<RoleServer>) -> ClientRoots {
    match tokio::time::timeout(ROOTS_TIMEOUT, peer.list_roots()).await {
        Ok(Ok(answer)) => {
            ClientRoots::Named(answer.roots.into_iter().map(|root| root.uri).collect())
        }
        Ok(Err(ServiceError::McpError(error))) if error.code == ErrorCode::METHOD_NOT_FOUND => {
            tracing::warn!("the client declares roots and does not know `roots/list`");
            ClientRoots::HasNone
        }
        Ok(Err(error)) => {
            tracing::warn!("the client declares roots and refuses `roots/list`: {error}");
            ClientRoots::Unknown
        }
        Err(_) => {
            tracing::warn!("the client declares roots and does not answer `roots/list` in time");
            ClientRoots::Unknown
        }
    }
}

#[cfg(test)]
mod tests {
    use portcullis_roots::{HostFiles, Intent, Kind, Refusal, Root};

    use super::*;

    #[test]
    fn work_that_cannot_ask_uses_the_roots_that_the_client_last_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        let operator = Roots::new(
            vec![Root::open(folder.path(), &HostFiles::default()).unwrap()],
            HostFiles::default(),
        );
        let opened = |roots: &Roots| {
            let path = file.to_str().unwrap();
            roots.designate(path, Kind::File, Intent::Read, &[]).map(drop)
        };
        let session = Session::default();
        assert!(opened(&session.last_roots(&operator, false)).is_ok());
        let unknown = session.last_roots(&operator, true);
        assert!(matches!(opened(&unknown), Err(Refusal::RootsNotListed)));
        session.roots.lock().set(&operator, &operator);
        assert!(opened(&session.last_roots(&operator, true)).is_ok());
        let reloaded = Roots::new(
            vec![Root::open(folder.path(), &HostFiles::default()).unwrap()],
            HostFiles::default(),
        );
        let narrowed_before = session.last_roots(&reloaded, true);
        assert!(matches!(opened(&narrowed_before), Err(Refusal::RootsNotListed)));
        session.forget_roots();
        let forgotten = session.last_roots(&operator, true);
        assert!(matches!(opened(&forgotten), Err(Refusal::RootsNotListed)));
    }
}
