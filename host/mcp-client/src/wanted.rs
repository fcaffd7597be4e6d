//! What an upstream is to tell us beside answers: that lists and resources changed, and its log.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::json;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tokio_util::task::AbortOnDropHandle;

use crate::calls::{Done, Happening, Notice, Whose};
use crate::connect::Settings;
use crate::connection::{Connection, Sending};
use crate::message::{Object, object};
use crate::upstream::Inner;
use crate::wire::{Era, Ticket, ended};

/// Before a subscription that has ended is asked for again; each time twice as long.
const RESUBSCRIBE: Duration = Duration::from_secs(1);
const LONGEST_RESUBSCRIBE: Duration = Duration::from_secs(120);

/// What somebody wants to be told.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    /// Of these resources, by how many.
    uris: BTreeMap<String, usize>,
    /// The least level of log records. `None`: as the upstream likes.
    pub(crate) level: Option<String>,
}

/// Wants to be told of changes to one resource, until it is dropped.
pub struct Watched {
    inner: Arc<Inner>,
    uri: String,
}

impl Watched {
    pub(crate) fn new(inner: Arc<Inner>, uri: &str) -> Self {
        inner.wanted.send_if_modified(|wanted| {
            let count = wanted.uris.entry(uri.to_owned()).or_default();
            *count += 1;
            *count == 1
        });
        Self { inner, uri: uri.to_owned() }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.inner.wanted.send_if_modified(|wanted| {
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

/// Has an upstream tell what is wanted, for as long as this connection is used.
pub(crate) fn follow(inner: &Arc<Inner>, connection: &Arc<Connection>) -> AbortOnDropHandle<()> {
    let follower = Follower {
        connection: Arc::downgrade(connection),
        settings: inner.settings.clone(),
        wanted: inner.wanted.subscribe(),
    };
    let (era, end) = (connection.peer.era, inner.end.clone());
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
    wanted: watch::Receiver<Wanted>,
}

impl Follower {
    /// Up to 2025-11-25, a server tells of its lists without being asked, and for the rest there are
    /// requests.
    async fn by_requests(mut self) {
        let (mut told, mut level) = (BTreeSet::new(), None);
        loop {
            let wanted = self.wanted.borrow_and_update().clone();
            let Some(connection) = self.connection.upgrade() else { return };
            let peer = &connection.peer;
            if wanted.level != level && peer.offers("logging") {
                let params = json!({"level": wanted.level});
                self.ask(&connection, "logging/setLevel", params).await;
            }
            level = wanted.level;
            let now: BTreeSet<_> = wanted.uris.into_keys().collect();
            if peer.takes_subscriptions() {
                for uri in now.difference(&told) {
                    self.ask(&connection, "resources/subscribe", json!({"uri": uri})).await;
                }
                for uri in told.difference(&now) {
                    self.ask(&connection, "resources/unsubscribe", json!({"uri": uri})).await;
                }
            }
            told = now;
            drop(connection);
            if self.wanted.changed().await.is_err() {
                return;
            }
        }
    }

    async fn ask(&self, connection: &Connection, method: &str, params: serde_json::Value) {
        let Settings { name, plan, client, .. } = &*self.settings;
        if let Err(failure) = connection.ask(client, method, object(params), plan.timeout).await {
            tracing::debug!("upstream `{name}`: {method}: {failure:?}");
        }
    }

    /// From 2026-07-28 on, a server tells what it was asked to tell, in answer to one request.
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
                Err(Gone) => return,
            };
            // What is told in between is told twice rather than not at all.
            drop(before.take());
            match self.heard(&mut ticket, &uris).await {
                Heard::Wanted => before = Some(ticket),
                Heard::Ended(Done::Answer(Err(error), _)) => {
                    // It does not do that.
                    tracing::debug!("upstream `{}`: {}", self.settings.name, error.message);
                    return;
                }
                Heard::Ended(Done::Answer(Ok(_), _) | Done::Trouble(_) | Done::SessionGone) => {
                    if begun.elapsed() > LONGEST_RESUBSCRIBE {
                        wait = RESUBSCRIBE;
                    }
                    sleep(wait).await;
                    wait = (wait * 2).min(LONGEST_RESUBSCRIBE);
                    // What changed in between was not told.
                    self.settings.changed.notify_one();
                }
                Heard::Nobody => return,
            }
        }
    }

    /// Asks to be told. `None`: there is nothing that it could tell.
    async fn listen(&self, uris: &[String]) -> Result<Option<Ticket>, Gone> {
        let connection = self.connection.upgrade().ok_or(Gone)?;
        let filter = filter(&connection, uris);
        if filter.is_empty() {
            return Ok(None);
        }
        let mut params = Object::new();
        params.insert("notifications".to_owned(), filter.into());
        let sending = Sending {
            method: "subscriptions/listen",
            params: &mut params,
            progress: false,
            capabilities: None,
            log_level: None,
            header_params: &[],
        };
        let whose = Whose { session: None, subscribes: true };
        let begun = connection.begin(&self.settings.client, whose, sending).await;
        begun.map(Some).map_err(|_| Gone)
    }

    /// Passes on what is told, until that ends or something else is wanted.
    async fn heard(&mut self, ticket: &mut Ticket, uris: &[String]) -> Heard {
        loop {
            tokio::select! {
                biased;
                Some(happening) = ticket.happenings.recv() => {
                    if let Happening::Notification { method, params } = happening {
                        // Nobody may listen.
                        let _unheard = self.settings.notices.send(Notice { method, params });
                    }
                }
                done = &mut ticket.done => return Heard::Ended(ended(done)),
                changed = self.wanted.changed() => {
                    if changed.is_err() {
                        return Heard::Nobody;
                    }
                    // The level of logs is for requests to tell.
                    if !self.wanted.borrow().uris.keys().eq(uris) {
                        return Heard::Wanted;
                    }
                }
            }
        }
    }
}

/// The connection is no longer one.
struct Gone;

/// Why listening ended.
enum Heard {
    /// Something else is wanted.
    Wanted,
    Ended(Done),
    /// There is nobody left to be told.
    Nobody,
}

/// What a modern upstream can tell of.
fn filter(connection: &Connection, uris: &[String]) -> Object {
    let lists = [
        ("tools", "toolsListChanged"),
        ("prompts", "promptsListChanged"),
        ("resources", "resourcesListChanged"),
    ];
    let told = lists.into_iter().filter(|(list, _)| connection.peer.tells_changes_of(list));
    let mut filter: Object = told.map(|(_, key)| (key.to_owned(), json!(true))).collect();
    if !uris.is_empty() && connection.peer.takes_subscriptions() {
        filter.insert("resourceSubscriptions".to_owned(), json!(uris));
    }
    filter
}
