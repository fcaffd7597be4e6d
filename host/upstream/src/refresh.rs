//! Keeping what is known of an upstream's offers true: when it says that they changed, by the clock,
//! and with patience where that fails.

use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep, sleep_until};

use crate::calls::{Done, Whose};
use crate::connection::{Connection, Sending};
use crate::message::Object;
use crate::upstream::Inner;
use crate::wire::Era;

/// How long to wait after a refresh that failed, and after further ones.
const PATIENCE: [Duration; 3] =
    [Duration::from_secs(30), Duration::from_secs(60), Duration::from_secs(120)];

/// Between two refreshes that the upstream causes. It may say that it changed as often as it likes.
const CALM: Duration = Duration::from_secs(1);

/// Before a subscription that has ended is asked for again; each time twice as long.
const RESUBSCRIBE: Duration = Duration::from_secs(1);
const LONGEST_RESUBSCRIBE: Duration = Duration::from_secs(120);

/// From now on, sees to it that the listing holds.
pub(crate) fn keep(inner: &Arc<Inner>) {
    let (end, changed) = (inner.end.clone(), inner.settings.changed.clone());
    let period = inner.settings.plan.refresh;
    let inner = Arc::downgrade(inner);
    let keeping = async move {
        let mut failures = 0;
        let mut due = period.map(|period| Instant::now() + period);
        loop {
            let by_the_clock = async {
                match due {
                    Some(due) => sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = changed.notified() => {}
                () = by_the_clock => {}
            }
            let Some(succeeded) = once(&inner).await else { return };
            let now = Instant::now();
            if succeeded {
                failures = 0;
                due = period.map(|period| now + period);
                sleep(CALM).await;
            } else {
                let wait = PATIENCE[failures.min(PATIENCE.len() - 1)];
                failures += 1;
                due = Some(now + wait);
                sleep_until(now + wait).await;
            }
        }
    };
    tokio::spawn(async move { end.run_until_cancelled(keeping).await });
}

/// Refreshes. `None`: there is nothing left to refresh for.
async fn once(inner: &Weak<Inner>) -> Option<bool> {
    let inner = inner.upgrade()?;
    inner.outdated();
    // Nobody has asked for it yet: then it need not be kept.
    if inner.known().is_none() && inner.settings.plan.refresh.is_none() {
        return Some(true);
    }
    match inner.refresh().await {
        Ok(_) => Some(true),
        Err(fault) => {
            tracing::warn!("{fault}");
            Some(false)
        }
    }
}

/// Has a modern upstream tell us of changes, for as long as this connection is used.
pub(crate) fn listen(inner: &Arc<Inner>, connection: &Arc<Connection>) {
    let filter = match connection.peer.era {
        Era::Modern => filter(connection),
        // It tells without being asked.
        Era::Legacy => return,
    };
    if filter.is_empty() {
        return;
    }
    let settings = inner.settings.clone();
    let end = inner.end.clone();
    let connection = Arc::downgrade(connection);
    let listening = async move {
        let mut wait = RESUBSCRIBE;
        loop {
            let mut ticket = {
                let Some(connection) = connection.upgrade() else { return };
                let mut params = Object::new();
                params.insert("notifications".to_owned(), filter.clone().into());
                let sending = Sending {
                    method: "subscriptions/listen",
                    params: &mut params,
                    progress: false,
                    capabilities: None,
                    header_params: &[],
                };
                let whose = Whose { session: None, subscribes: true };
                match connection.begin(&settings.client, whose, sending).await {
                    Ok(ticket) => ticket,
                    Err(_) => return,
                }
            };
            let begun = Instant::now();
            match ticket.done().await {
                // It does not do that.
                Done::Answer(Err(error), _) => {
                    tracing::debug!("upstream `{}`: {}", settings.name, error.message);
                    return;
                }
                Done::Answer(Ok(_), _) | Done::Trouble(_) | Done::SessionGone => {}
            }
            if begun.elapsed() > LONGEST_RESUBSCRIBE {
                wait = RESUBSCRIBE;
            }
            sleep(wait).await;
            wait = (wait * 2).min(LONGEST_RESUBSCRIBE);
            // What changed in between was not told.
            settings.changed.notify_one();
        }
    };
    tokio::spawn(async move { end.run_until_cancelled(listening).await });
}

/// What a modern upstream can tell of.
fn filter(connection: &Connection) -> Object {
    let lists = [
        ("tools", "toolsListChanged"),
        ("prompts", "promptsListChanged"),
        ("resources", "resourcesListChanged"),
    ];
    let told = lists.into_iter().filter(|(list, _)| connection.peer.tells_changes_of(list));
    told.map(|(_, key)| (key.to_owned(), json!(true))).collect()
}
