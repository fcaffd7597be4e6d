//! Watches resources for changes, for the clients that are subscribed to them.

use std::sync::{Arc, Weak};
use std::time::Duration;

use portcullis_roots::Roots;
use rmcp::RoleServer;
use rmcp::model::ErrorData;
use rmcp::service::RequestContext;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::Server;
use super::caller::Caller;
use super::session::{Session, Watch};
use portcullis_core::call::client::NoClient;
use portcullis_core::call::{self, Call, PluginAnswer, SourceAnswer, Work};
use portcullis_core::host::Host;
use portcullis_core::sandbox::{Broadcast, CallContext};
use portcullis_core::upstreams::Owner;
use portcullis_mcp_client::Era;

/// Interval at which a plugin is asked for the version of a resource that a client is subscribed to.
const POLL_INTERVAL: Duration = Duration::from_secs(3);

/// Maximum number of resources that one session, or one `subscriptions/listen` request, may be subscribed to.
pub(super) const MAX_SUBSCRIPTIONS: usize = 64;

/// The error for one subscription more than [`MAX_SUBSCRIPTIONS`].
pub(super) fn too_many_subscriptions() -> ErrorData {
    let why = format!("a session may be subscribed to at most {MAX_SUBSCRIPTIONS} resources");
    ErrorData::invalid_params(why, None)
}

/// The session that watches a resource.
pub(super) struct Watcher {
    session: Weak<Session>,
    has_roots: bool,
    /// The owner of the connections to upstream servers.
    owner: Owner,
    /// Gets the URIs of changed resources of upstream servers.
    changed: mpsc::Sender<String>,
}

impl Watcher {
    /// A watcher for a legacy session that another host may have begun.
    pub(super) fn of_session(session: &Arc<Session>) -> Self {
        let has_roots = session.initialized_by.lock().is_some();
        let owner = Owner {
            name: Arc::from(&*session.name.0),
            era: Era::Legacy,
            end: session.end.0.clone(),
        };
        let changed = session.changed.sender.clone();
        Self { session: Arc::downgrade(session), has_roots, owner, changed }
    }

    /// A watcher for the session of a request.
    pub(super) fn of(
        server: &Server,
        caller: &Caller,
        cx: &RequestContext<RoleServer>,
        changed: mpsc::Sender<String>,
    ) -> Self {
        let has_roots = caller.capabilities.roots.is_some();
        let owner = server.connection_owner(caller, cx);
        Self { session: Arc::downgrade(&server.session), has_roots, owner, changed }
    }

    /// The current roots of the session.
    fn roots(&self, operator: &Roots) -> Roots {
        match self.session.upgrade() {
            Some(session) => session.last_roots(operator, self.has_roots),
            None => operator.unknown(),
        }
    }
}

/// Watches a resource until the result is dropped.
pub(super) fn start_watch(host: &Arc<Host>, uri: String, watcher: Watcher) -> Watch {
    let host = host.clone();
    AbortOnDropHandle::new(tokio::spawn(async move {
        tokio::join!(watch_versions(&host, &uri, &watcher), watch_upstream(&host, &uri, &watcher));
    }))
}

/// Reports changes of a plugin's resource. Ends if the resource has no version: then only the plugin itself can report
/// changes.
async fn watch_versions(host: &Arc<Host>, uri: &str, watcher: &Watcher) {
    let mut known = ask_version(host, uri, &watcher.roots(&host.roots())).await;
    while known.is_some() {
        tokio::time::sleep(POLL_INTERVAL).await;
        let now = ask_version(host, uri, &watcher.roots(&host.roots())).await;
        if now.is_some() && now != known {
            host.shared_state.tell(Broadcast::Resource(uri.to_owned()));
        }
        known = now.or(known);
    }
}

/// Reports changes of an upstream server's resource. The server sends notifications of these changes on the session's
/// own connection.
async fn watch_upstream(host: &Arc<Host>, uri: &str, watcher: &Watcher) {
    let catalog = host.catalog().await;
    let Some(offer) = catalog.upstream_owner(uri) else { return };
    let (own, Watcher { owner, changed, .. }) = (offer.own_uri(uri), watcher);
    if let Err(why) = offer.source.report_changes_of(&own, uri, owner, changed).await {
        tracing::warn!("changes of a resource are not reported to a session: {why}");
    }
}

async fn ask_version(host: &Arc<Host>, uri: &str, roots: &Roots) -> Option<String> {
    let catalog = host.catalog().await;
    for source in catalog.resource(uri).into_iter().filter(|one| one.plugin().is_some()) {
        let call = Call {
            request: call::request_id(),
            origin: call::Origin::default(),
            work: Work::Version(uri.to_owned()),
            roots: roots.clone(),
            context: CallContext::default(),
            task: false,
            decisions: Vec::new(),
            resumed: None,
            client: &NoClient,
            inner: None,
        };
        if let Ok(SourceAnswer::Plugin(PluginAnswer::Version(version))) =
            call::call(source, call).await
        {
            return version;
        }
    }
    None
}
