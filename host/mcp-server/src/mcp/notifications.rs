//! Notifications to clients: changed lists and resources, and log records of upstream servers.

#![expect(deprecated, reason = "logging is in both eras until 2027")]

use std::fmt::Display;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{
    ErrorData, LoggingMessageNotificationParam, ResourceUpdatedNotificationParam,
    SubscriptionFilter,
};
use rmcp::service::{Peer, RequestContext, ServiceError, SubscriptionContext};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

use super::Server;
use super::caller::Caller;
use super::log_levels::rank;
use super::session::{ChangedResources, Watch};
use super::watches::{MAX_SUBSCRIPTIONS, Watcher, start_watch, too_many_subscriptions};
use super::{failures, shared_subscriptions};
use portcullis_core::bindings::portcullis::plugin::request::ListKind;
use portcullis_core::sandbox::Broadcast;
use portcullis_mcp_client::Object;

impl Server {
    /// Sends notifications to a legacy client, until its session ends. Log records that upstream servers send outside
    /// of a request may concern any session, so they are sent only if there is no other session.
    pub(super) fn notify_session(&self, peer: Peer<RoleServer>, is_only_session: bool) {
        let mut news = self.shared.host.shared_state.listen();
        let mut logs = self.shared.host.logs.subscribe();
        let Some(mut changed) = self.session.changed.receiver.lock().take() else { return };
        if let Some(share) = self.session.share.get() {
            shared_subscriptions::follow(&self.shared.host, &self.session, share, peer.clone());
        }
        let session = Arc::downgrade(&self.session);
        let end = self.session.end.0.clone();
        tokio::spawn(async move {
            loop {
                let one = tokio::select! {
                    one = end.run_until_cancelled(news.next()) => one.flatten(),
                    Some(uri) = changed.recv() => {
                        let changed = ResourceUpdatedNotificationParam::new(uri);
                        log_failure(peer.notify_resource_updated(changed).await);
                        continue;
                    }
                    Some(record) = next_record(&mut logs, &end), if is_only_session => {
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
                    Broadcast::Resource(uri) if session.watches(&uri) => {
                        let changed = ResourceUpdatedNotificationParam::new(uri);
                        peer.notify_resource_updated(changed).await
                    }
                    Broadcast::Resource(_) => Ok(()),
                    Broadcast::AnyResource => {
                        for uri in session.watched() {
                            let changed = ResourceUpdatedNotificationParam::new(uri);
                            log_failure(peer.notify_resource_updated(changed).await);
                        }
                        Ok(())
                    }
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
        if let Some(share) = self.session.share.get() {
            return shared_subscriptions::subscribe(share, &uri).await;
        }
        let mut subscriptions = self.session.subscriptions.lock();
        if subscriptions.len() >= MAX_SUBSCRIPTIONS && !subscriptions.contains_key(&uri) {
            return Err(too_many_subscriptions());
        }
        let watcher = Watcher::of(self, &caller, cx, self.session.changed.sender.clone());
        subscriptions
            .entry(uri)
            .or_insert_with_key(|uri| Some(start_watch(&self.shared.host, uri.clone(), watcher)));
        Ok(())
    }

    /// Ends the subscription of a legacy client to a resource.
    pub(super) async fn unsubscribe_from(&self, uri: &str) -> Result<(), ErrorData> {
        if let Some(share) = self.session.share.get() {
            let done = share.unsubscribe(uri).await;
            done.map_err(|error| failures::cluster("a subscription of a session", &error))?;
        }
        self.session.subscriptions.lock().remove(uri);
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
                one = shutdown.run_until_cancelled(news.next()) => one.flatten(),
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
                Some(Broadcast::AnyResource) => {
                    let accepted = subscription.accepted().resource_subscriptions.iter().flatten();
                    for uri in accepted {
                        log_unsent(sink.notify_resource_updated(uri.clone()).await);
                    }
                    continue;
                }
                None => break,
            };
            log_unsent(sent);
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

/// Logs why a client of 2026-07-28 does not get a notification: also that it did not subscribe to it.
fn log_unsent<E: Display>(sent: Result<(), E>) {
    if let Err(error) = sent {
        tracing::trace!("a notification did not reach the client: {error}");
    }
}

fn log_failure(sent: Result<(), ServiceError>) {
    if let Err(error) = sent {
        tracing::debug!("a notification did not reach the client: {error}");
    }
}

/// The next log record. `None`: the host has ended, or `end` was cancelled.
async fn next_record(records: &mut Receiver<Object>, end: &CancellationToken) -> Option<Object> {
    loop {
        match end.run_until_cancelled(records.recv()).await? {
            Ok(record) => return Some(record),
            // The client takes records too slowly, so some were lost.
            Err(RecvError::Lagged(count)) => tracing::debug!("{count} log records were lost"),
            Err(RecvError::Closed) => return None,
        }
    }
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
