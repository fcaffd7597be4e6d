//! Asks an upstream for notifications: about changed lists, about changed resources, and log records.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::json;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tokio_util::task::AbortOnDropHandle;

use crate::calls::{RequestEnd, RequestEvent, RequestOwner, UnassignedNotification};
use crate::connect::Settings;
use crate::connection::{Connection, OutgoingRequest};
use crate::fault::FaultCause;
use crate::message::{Object, RpcError, object};
use crate::shared::{Shared, WantedNotifications};
use crate::text;
use crate::wire::{Era, PendingRequest, ended};

/// How long to wait before a subscription that failed or ended is made again. The time doubles with each attempt.
const RESUBSCRIBE: Duration = Duration::from_secs(1);
const MAX_RESUBSCRIBE: Duration = Duration::from_secs(120);

/// A subscription to the changes of one resource. It ends when this value is dropped.
pub struct ResourceSubscription {
    shared: Arc<Shared>,
    uri: String,
}

impl ResourceSubscription {
    pub(crate) fn new(shared: Arc<Shared>, uri: &str) -> Self {
        shared.wanted.send_if_modified(|wanted| {
            let count = wanted.uris.entry(uri.to_owned()).or_default();
            *count += 1;
            *count == 1
        });
        Self { shared, uri: uri.to_owned() }
    }
}

impl Drop for ResourceSubscription {
    fn drop(&mut self) {
        self.shared.wanted.send_if_modified(|wanted| {
            let Some(count) = wanted.uris.get_mut(&self.uri) else { return false };
            *count -= 1;
            let was_last = *count == 0;
            if was_last {
                wanted.uris.remove(&self.uri);
            }
            was_last
        });
    }
}

/// Starts the task that asks for the wanted notifications on a connection.
pub(crate) fn follow(shared: &Arc<Shared>, connection: &Arc<Connection>) -> AbortOnDropHandle<()> {
    let follower = Follower {
        connection: Arc::downgrade(connection),
        settings: shared.settings.clone(),
        wanted: shared.wanted.subscribe(),
    };
    let (era, end) = (connection.peer.era, shared.end.clone());
    AbortOnDropHandle::new(tokio::spawn(async move {
        let following = async {
            match era {
                Era::Legacy => follower.by_requests().await,
                Era::Modern => follower.by_listening().await,
            }
        };
        end.run_until_cancelled(following).await;
    }))
}

struct Follower {
    connection: Weak<Connection>,
    settings: Arc<Settings>,
    wanted: watch::Receiver<WantedNotifications>,
}

impl Follower {
    /// Up to 2025-11-25, a server notifies of changed lists without being asked. The level of log records, and the
    /// changes of each resource, need a request.
    async fn by_requests(mut self) {
        let (mut subscribed, mut level) = (BTreeSet::new(), None);
        loop {
            let wanted = self.wanted.borrow_and_update().clone();
            let Some(connection) = self.connection.upgrade() else { return };
            let peer = &connection.peer;
            if wanted.level != level && peer.offers("logging") {
                let params = json!({"level": wanted.level});
                if self.ask(&connection, "logging/setLevel", params).await {
                    level = wanted.level;
                }
            }
            let now: BTreeSet<_> = wanted.uris.into_keys().collect();
            if peer.takes_subscriptions() {
                // A failed request is repeated when the wanted notifications change the next time.
                let added: Vec<_> = now.difference(&subscribed).cloned().collect();
                for uri in added {
                    if self.ask(&connection, "resources/subscribe", json!({"uri": uri})).await {
                        subscribed.insert(uri);
                    }
                }
                let removed: Vec<_> = subscribed.difference(&now).cloned().collect();
                for uri in removed {
                    if self.ask(&connection, "resources/unsubscribe", json!({"uri": uri})).await {
                        subscribed.remove(&uri);
                    }
                }
            }
            drop(connection);
            if self.wanted.changed().await.is_err() {
                return;
            }
        }
    }

    /// Sends a request whose result has no content. `false`: the request failed, and the error was logged.
    async fn ask(&self, connection: &Connection, method: &str, params: serde_json::Value) -> bool {
        let Settings { name, plan, client, .. } = &*self.settings;
        let answer = connection.ask(client, method, object(params), plan.timeout).await;
        if let Err(failure) = &answer {
            tracing::debug!("upstream `{name}`: {method}: {failure:?}");
        }
        answer.is_ok()
    }

    /// From 2026-07-28 on, one request asks for all notifications, and stays open.
    async fn by_listening(mut self) {
        let mut wait = RESUBSCRIBE;
        let mut before = None;
        loop {
            let uris: Vec<_> = self.wanted.borrow_and_update().uris.keys().cloned().collect();
            let begun = Instant::now();
            let mut ticket = match self.listen(&uris).await {
                Ok(Some(ticket)) => ticket,
                Ok(None) => {
                    before = None;
                    if self.wanted.changed().await.is_err() {
                        return;
                    }
                    continue;
                }
                Err(NotBegun::ConnectionEnded) => return,
                Err(NotBegun::Trouble(trouble)) => {
                    self.pause(&mut wait, &trouble.to_string()).await;
                    continue;
                }
            };
            // The earlier subscription ends after the new one began, so that no notification is lost.
            drop(before.take());
            match self.pass_on(&mut ticket, &uris).await {
                FollowerEnd::OthersWanted => before = Some(ticket),
                FollowerEnd::Request(RequestEnd::Answer(Err(error), _))
                    if error.code == RpcError::METHOD_NOT_FOUND =>
                {
                    self.note("it does not support `subscriptions/listen`, so its changes are not noticed");
                    return;
                }
                FollowerEnd::Request(done) => {
                    if begun.elapsed() > MAX_RESUBSCRIBE {
                        wait = RESUBSCRIBE;
                    }
                    let why = match done {
                        RequestEnd::Answer(Ok(_), _) => "it ended the subscription".to_owned(),
                        RequestEnd::Answer(Err(error), _) => text::line(&error.message, 200),
                        RequestEnd::Trouble(trouble) => trouble.to_string(),
                        RequestEnd::SessionGone => "it has forgotten the session".to_owned(),
                    };
                    self.pause(&mut wait, &why).await;
                    // Notifications may have been missed.
                    self.settings.changed.notify_one();
                }
                FollowerEnd::Dropped => return,
            }
        }
    }

    /// Waits before the next attempt to subscribe, and doubles the wait.
    async fn pause(&self, wait: &mut Duration, why: &str) {
        self.note(&format!("no subscription, next attempt in {} s: {why}", wait.as_secs()));
        sleep(*wait).await;
        *wait = (*wait * 2).min(MAX_RESUBSCRIBE);
    }

    fn note(&self, what: &str) {
        tracing::debug!("upstream `{}`: {what}", self.settings.name);
    }

    /// Sends `subscriptions/listen`. `None`: the upstream supports none of the wanted notifications.
    async fn listen(&self, uris: &[String]) -> Result<Option<PendingRequest>, NotBegun> {
        let connection = self.connection.upgrade().ok_or(NotBegun::ConnectionEnded)?;
        let filter = filter(&connection, uris);
        if filter.is_empty() {
            return Ok(None);
        }
        let mut params = Object::new();
        params.insert("notifications".to_owned(), filter.into());
        let sending = OutgoingRequest {
            method: "subscriptions/listen",
            params: &mut params,
            progress: false,
            capabilities: None,
            log_level: None,
            header_params: &[],
        };
        let whose = RequestOwner { subscribes: true, ..RequestOwner::default() };
        let begun = connection.begin(&self.settings.client, whose, sending).await;
        begun.map(Some).map_err(|trouble| match connection.has_ended() {
            true => NotBegun::ConnectionEnded,
            false => NotBegun::Trouble(trouble),
        })
    }

    /// Passes notifications on, until the request ends or other notifications are wanted.
    async fn pass_on(&mut self, ticket: &mut PendingRequest, uris: &[String]) -> FollowerEnd {
        loop {
            tokio::select! {
                biased;
                Some(happening) = ticket.happenings.recv() => {
                    if let RequestEvent::Notification { method, params } = happening {
                        // There may be no receiver.
                        let _unheard = self.settings.notices.send(UnassignedNotification { method, params });
                    }
                }
                done = &mut ticket.done => return FollowerEnd::Request(ended(done)),
                changed = self.wanted.changed() => {
                    if changed.is_err() {
                        return FollowerEnd::Dropped;
                    }
                    // Each request to a modern upstream names the level of log records, so a new level needs no new
                    // subscription.
                    if !self.wanted.borrow().uris.keys().eq(uris) {
                        return FollowerEnd::OthersWanted;
                    }
                }
            }
        }
    }
}

/// Why `subscriptions/listen` was not sent.
enum NotBegun {
    /// The connection has ended. The next one has a follower of its own.
    ConnectionEnded,
    /// The request can be sent later.
    Trouble(FaultCause),
}

/// Why [`Follower::pass_on`] ended.
enum FollowerEnd {
    /// Other notifications are wanted.
    OthersWanted,
    /// The request ended.
    Request(RequestEnd),
    /// The upstream was dropped.
    Dropped,
}

/// The notifications that a modern upstream supports and that are wanted.
fn filter(connection: &Connection, uris: &[String]) -> Object {
    let lists = [
        ("tools", "toolsListChanged"),
        ("prompts", "promptsListChanged"),
        ("resources", "resourcesListChanged"),
    ];
    let supported = lists.into_iter().filter(|(list, _)| connection.peer.tells_changes_of(list));
    let mut filter: Object = supported.map(|(_, key)| (key.to_owned(), json!(true))).collect();
    if !uris.is_empty() && connection.peer.takes_subscriptions() {
        filter.insert("resourceSubscriptions".to_owned(), json!(uris));
    }
    filter
}
