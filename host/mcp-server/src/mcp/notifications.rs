//! Notifications to clients: changed lists and resources, and log records of upstream servers.

#![expect(deprecated, reason = "logging is in both eras until 2027")]

use std::sync::{Arc, Weak};
use std::time::Duration;

use portcullis_roots::Roots;
use rmcp::RoleServer;
use rmcp::model::{
    ErrorData, LoggingMessageNotificationParam, ResourceUpdatedNotificationParam,
    SubscriptionFilter,
};
use rmcp::service::{Peer, RequestContext, ServiceError, SubscriptionContext};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::Server;
use super::caller::Caller;
use super::log_levels::rank;
use super::session::{ChangedResources, Session, Watch};
use portcullis_core::bindings::portcullis::plugin::request::ListKind;
use portcullis_core::call::client::NoClient;
use portcullis_core::call::{self, Call, PluginAnswer, SourceAnswer, Work};
use portcullis_core::host::Host;
use portcullis_core::sandbox::{Broadcast, CallContext};
use portcullis_core::upstreams::Owner;

/// Interval at which a plugin is asked for the version of a resource that a client is subscribed to.
const POLL_INTERVAL: Duration = Duration::from_secs(3);

/// Maximum number of resources that one session, or one `subscriptions/listen` request, may be subscribed to.
const MAX_SUBSCRIPTIONS: usize = 64;

impl Server {
    /// Sends notifications to a legacy client, until its session ends. Log records that upstream servers send outside
    /// of a request may concern any session, so they are sent only if there is no other session.
    pub(super) fn notify_session(&self, peer: Peer<RoleServer>, is_only_session: bool) {
        let mut news = self.shared.host.shared_state.listen();
        let mut logs = self.shared.host.logs.subscribe();
        let Some(mut changed) = self.session.changed.receiver.lock().take() else { return };
        let session = Arc::downgrade(&self.session);
        let end = self.session.end.0.clone();
        tokio::spawn(async move {
            loop {
                let one = tokio::select! {
                    one = next(&mut news, &end) => one,
                    Some(uri) = changed.recv() => {
                        let changed = ResourceUpdatedNotificationParam::new(uri);
                        log_failure(peer.notify_resource_updated(changed).await);
                        continue;
                    }
                    Some(record) = next(&mut logs, &end), if is_only_session => {
                        let Some(session) = session.upgrade() else { return };
                        let record: Option<LoggingMessageNotificationParam> =
                            serde_json::from_value(record.into()).ok();
                        let minimum = session.log_level().map_or(u8::MAX, rank);
                        if let Some(record) = record.filter(|record| rank(record.level) >= minimum) {
                            log_failure(peer.notify_logging_message(record).await);
                        }
                        continue;
                    }
                };
                let (Some(one), Some(session)) = (one, session.upgrade()) else { return };
                log_failure(match one {
                    Broadcast::List(ListKind::Tools) => peer.notify_tool_list_changed().await,
                    Broadcast::List(ListKind::Prompts) => peer.notify_prompt_list_changed().await,
                    Broadcast::List(ListKind::Resources) => {
                        peer.notify_resource_list_changed().await
                    }
                    Broadcast::Resource(uri) if session.subscriptions.lock().contains_key(&uri) => {
                        let changed = ResourceUpdatedNotificationParam::new(uri);
                        peer.notify_resource_updated(changed).await
                    }
                    Broadcast::Resource(_) => Ok(()),
                });
            }
        });
    }

    /// Subscribes a legacy client to a resource.
    pub(super) async fn subscribe_to(
        &self,
        uri: String,
        cx: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // The client is asked for its roots now, because the watch uses them.
        let caller = Caller::of(cx);
        self.session.roots(&self.shared.host.roots(), &caller, &cx.peer, None).await;
        let mut subscriptions = self.session.subscriptions.lock();
        if subscriptions.len() >= MAX_SUBSCRIPTIONS && !subscriptions.contains_key(&uri) {
            let why =
                format!("a session may be subscribed to at most {MAX_SUBSCRIPTIONS} resources");
            return Err(ErrorData::invalid_params(why, None));
        }
        let watcher = Watcher::of(self, &caller, cx, self.session.changed.sender.clone());
        subscriptions
            .entry(uri)
            .or_insert_with_key(|uri| start_watch(&self.shared.host, uri.clone(), watcher));
        Ok(())
    }

    /// Sends notifications to a client of 2026-07-28 for its `subscriptions/listen`.
    pub(super) async fn notify_subscriber(&self, subscription: SubscriptionContext) {
        let mut news = self.shared.host.shared_state.listen();
        let cx = subscription.request_context();
        let caller = Caller::of(cx);
        let ChangedResources { sender, receiver } = ChangedResources::default();
        let Some(mut changed) = receiver.into_inner() else { return };
        let uris = subscription.accepted().resource_subscriptions.iter().flatten();
        let watches: Vec<Watch> = uris
            .map(|uri| {
                let watcher = Watcher::of(self, &caller, cx, sender.clone());
                start_watch(&self.shared.host, uri.clone(), watcher)
            })
            .collect();
        let (sink, shutdown) = (subscription.sink().clone(), self.shared.host.shutdown.clone());
        loop {
            let one = tokio::select! {
                one = next(&mut news, &shutdown) => one,
                Some(uri) = changed.recv() => Some(Broadcast::Resource(uri)),
                () = subscription.cancelled() => None,
            };
            // The sink drops notifications that the client did not subscribe to.
            let sent = match one {
                Some(Broadcast::List(ListKind::Tools)) => sink.notify_tool_list_changed().await,
                Some(Broadcast::List(ListKind::Prompts)) => sink.notify_prompt_list_changed().await,
                Some(Broadcast::List(ListKind::Resources)) => {
                    sink.notify_resource_list_changed().await
                }
                Some(Broadcast::Resource(uri)) => sink.notify_resource_updated(uri).await,
                None => break,
            };
            if let Err(error) = sent {
                tracing::trace!("a notification did not reach the client: {error}");
            }
        }
        drop(watches);
    }
}

/// The part of a client's `subscriptions/listen` that the server serves: all but the resources beyond the limit. The
/// acknowledgment names this part to the client.
pub(super) fn accepted_subscriptions(asked: &SubscriptionFilter) -> SubscriptionFilter {
    let mut accepted = asked.clone();
    if let Some(uris) = &mut accepted.resource_subscriptions {
        uris.truncate(MAX_SUBSCRIPTIONS);
    }
    accepted
}

fn log_failure(sent: Result<(), ServiceError>) {
    if let Err(error) = sent {
        tracing::debug!("a notification did not reach the client: {error}");
    }
}

/// The next message. `None`: the senders were dropped, or `end` was cancelled.
async fn next<T: Clone>(messages: &mut Receiver<T>, end: &CancellationToken) -> Option<T> {
    loop {
        let one = tokio::select! {
            one = messages.recv() => one,
            () = end.cancelled() => return None,
        };
        match one {
            Ok(one) => return Some(one),
            // Some messages were missed. A client that lists or reads again gets the newest state.
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return None,
        }
    }
}

/// The session that watches a resource.
struct Watcher {
    session: Weak<Session>,
    has_roots: bool,
    /// The owner of the connections to upstream servers.
    owner: Owner,
    /// Gets the URIs of changed resources of upstream servers.
    changed: mpsc::Sender<String>,
}

impl Watcher {
    fn of(
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

fn start_watch(host: &Arc<Host>, uri: String, watcher: Watcher) -> Watch {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_beyond_the_limit_are_not_accepted() {
        let uris: Vec<String> = (0..=MAX_SUBSCRIPTIONS).map(|n| format!("a://{n}")).collect();
        let mut asked = SubscriptionFilter::new();
        asked.tools_list_changed = Some(true);
        asked.resource_subscriptions = Some(uris.clone());
        let accepted = accepted_subscriptions(&asked);
        assert_eq!(accepted.tools_list_changed, Some(true));
        assert_eq!(accepted.resource_subscriptions.as_deref(), Some(&uris[..MAX_SUBSCRIPTIONS]));
    }
}
