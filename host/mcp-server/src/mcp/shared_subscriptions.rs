//! Subscriptions of a session that several hosts serve: every host knows them, and one host watches each resource.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use portcullis_cluster_state::{Subscribed, Subscription};
use portcullis_core::host::Host;
use portcullis_http_server::SessionShare;
use rmcp::RoleServer;
use rmcp::model::ErrorData;
use rmcp::service::Peer;

use super::failures;
use super::session::{Session, Watch};
use super::watches::{MAX_SUBSCRIPTIONS, Watcher, start_watch, too_many_subscriptions};

/// Subscribes the client of a session to a resource. [`follow`] begins to watch it.
pub(super) async fn subscribe(share: &SessionShare, uri: &str) -> Result<(), ErrorData> {
    let failed = |error| failures::cluster("a subscription of a session", &error);
    match share.subscribe(uri, MAX_SUBSCRIPTIONS).await.map_err(failed)? {
        Subscribed::Yes => Ok(()),
        Subscribed::TooMany => Err(too_many_subscriptions()),
        Subscribed::NoSession => Err(ErrorData::invalid_request("the session has ended", None)),
    }
}

/// Applies changes of the subscriptions at any host, until the session ends at this host.
pub(super) fn follow(
    host: &Arc<Host>,
    session: &Arc<Session>,
    share: &SessionShare,
    peer: Peer<RoleServer>,
) {
    let (mut changes, end) = (share.subscriptions(), session.end.0.clone());
    let (host, session) = (host.clone(), Arc::downgrade(session));
    let following = async move {
        // Resources that this host watches from the beginning were watched by another host before.
        let mut was_watched = true;
        loop {
            let subscriptions = changes.borrow_and_update().clone();
            apply(&host, &session, &subscriptions, &peer, was_watched).await;
            was_watched = false;
            if changes.changed().await.is_err() {
                return;
            }
        }
    };
    tokio::spawn(end.run_until_cancelled_owned(following));
}

/// Watches what this host has to watch now, and nothing else. `was_watched`: whether other hosts watched all resources
/// that this host did not know.
async fn apply(
    host: &Arc<Host>,
    session: &Weak<Session>,
    subscriptions: &[Subscription],
    peer: &Peer<RoleServer>,
    was_watched: bool,
) {
    let Some(session) = session.upgrade() else { return };
    let own = subscriptions.iter().filter(|one| one.is_own);
    let is_watched = |uri: &str| matches!(session.subscriptions.lock().get(uri), Some(Some(_)));
    let added: Vec<_> = own.filter(|one| !is_watched(&one.uri)).map(|one| &one.uri).collect();
    let caller = session.initialized_by.lock().clone();
    if let Some(caller) = caller.filter(|_| !added.is_empty()) {
        // The watch uses the roots of the client, which this host may have to ask for.
        session.roots(&host.roots(), &caller, peer, None).await;
    }
    let mut adopted = Vec::new();
    {
        let mut known = session.subscriptions.lock();
        let mut next: HashMap<String, Option<Watch>> = HashMap::new();
        for Subscription { uri, is_own } in subscriptions {
            let before = known.remove(uri);
            let watch = match before {
                Some(Some(watch)) if *is_own => Some(watch),
                before if *is_own => {
                    if before.is_some() || was_watched {
                        adopted.push(uri.clone());
                    }
                    Some(start_watch(host, uri.clone(), Watcher::of_session(&session)))
                }
                _ => None,
            };
            next.insert(uri.clone(), watch);
        }
        *known = next;
    }
    // The resource may have changed after the other host ended, so the client is told to read it again.
    for uri in adopted {
        let _ended = session.changed.sender.send(uri).await;
    }
}
