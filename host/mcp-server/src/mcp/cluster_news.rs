//! News between the hosts of a cluster: what a plugin says at one host is told to the clients of all.

use std::sync::Arc;
use std::time::Duration;

use portcullis_cluster_state::{ClusterState, HostId};
use portcullis_core::bindings::portcullis::plugin::request::ListKind;
use portcullis_core::sandbox::{Broadcast, SharedState};
use portcullis_sanitize::error_chain;
use serde::{Deserialize, Serialize};

use super::shared::Shared;

/// Pause after news could not be sent.
const SEND_PAUSE: Duration = Duration::from_millis(100);

/// Pause after news could not be read.
const READ_PAUSE: Duration = Duration::from_millis(500);

/// News as hosts send them.
#[derive(Debug, Serialize, Deserialize)]
enum News {
    Resource(String),
    Tools,
    Prompts,
    Resources,
}

impl News {
    /// `None`: the news concern this host alone.
    fn of(told: Broadcast) -> Option<Self> {
        match told {
            Broadcast::Resource(uri) => Some(Self::Resource(uri)),
            Broadcast::List(ListKind::Tools) => Some(Self::Tools),
            Broadcast::List(ListKind::Prompts) => Some(Self::Prompts),
            Broadcast::List(ListKind::Resources) => Some(Self::Resources),
            Broadcast::AnyResource => None,
        }
    }

    fn broadcast(self) -> Broadcast {
        match self {
            Self::Resource(uri) => Broadcast::Resource(uri),
            Self::Tools => Broadcast::List(ListKind::Tools),
            Self::Prompts => Broadcast::List(ListKind::Prompts),
            Self::Resources => Broadcast::List(ListKind::Resources),
        }
    }
}

/// Sends what plugins say at this host to the other hosts, and tells clients what plugins say at other hosts. Never ends,
/// if this host is in a cluster.
pub async fn exchange_news(shared: Arc<Shared>) {
    let Some(state) = shared.cluster.clone() else { return };
    let host = match HostId::new() {
        Ok(host) => host,
        Err(error) => return tracing::error!("other hosts are told nothing: {error}"),
    };
    let told = &shared.host.shared_state;
    told.outbox.open();
    tokio::join!(send(&state, &host, told), receive(&state, &host, told));
}

async fn send(state: &ClusterState, host: &HostId, told: &SharedState) {
    loop {
        let (waiting, number) = told.outbox.take().await;
        let news: Vec<_> = waiting.iter().cloned().filter_map(News::of).collect();
        let text = match serde_json::to_vec(&news) {
            Ok(text) => text,
            Err(error) => {
                tracing::error!("news for other hosts are lost: {error}");
                continue;
            }
        };
        match state.post_news(host, &text).await {
            Ok(()) => told.outbox.delivered(number),
            Err(error) => {
                tracing::debug!("other hosts are not told yet: {}", error_chain(&error));
                told.outbox.put_back(waiting);
                tokio::time::sleep(SEND_PAUSE).await;
            }
        }
    }
}

async fn receive(state: &ClusterState, host: &HostId, told: &SharedState) {
    let (mut reader, mut has_missed) = (state.news(host), false);
    loop {
        match reader.next().await {
            Ok(received) => {
                if std::mem::take(&mut has_missed) {
                    // A host that was killed while the server was away has told nobody what changed there.
                    told.tell(Broadcast::AnyResource);
                }
                for text in received {
                    match serde_json::from_slice::<Vec<News>>(&text) {
                        Ok(news) => {
                            for one in news {
                                told.tell_of_plugin(one.broadcast());
                            }
                        }
                        Err(error) => tracing::warn!("news of another host: {error}"),
                    }
                }
            }
            Err(error) => {
                tracing::debug!("the news of other hosts: {}", error_chain(&error));
                has_missed = true;
                tokio::time::sleep(READ_PAUSE).await;
            }
        }
    }
}
