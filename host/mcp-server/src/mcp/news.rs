//! Notifications to clients: changed lists and resources, and log records of upstream servers.

#![expect(deprecated, reason = "logging is in both eras until 2027")]

use std::sync::{Arc, Weak};
use std::time::Duration;

use portcullis_roots::Roots;
use rmcp::RoleServer;
use rmcp::model::{ErrorData, LoggingMessageNotificationParam, ResourceUpdatedNotificationParam};
use rmcp::service::{Peer, RequestContext, ServiceError, SubscriptionContext};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::Server;
use super::client::rank;
use super::input::Exchange;
use super::session::{Caller, Session};
use portcullis_core::bindings::portcullis::plugin::request::ListKind;
use portcullis_core::call::client::NoClient;
use portcullis_core::call::{self, Answer, Answered, Call, Work};
use portcullis_core::host::Host;
use portcullis_core::sandbox::{Context, News};

/// How often a plugin is asked whether a resource has changed, while somebody is subscribed to it.
const POLL: Duration = Duration::from_secs(3);

/// Resources that one session may be subscribed to.
const MAX_SUBSCRIPTIONS: usize = 64;

/// Asks again and again whether a resource has changed, until it is dropped.
pub type Watch = AbortOnDropHandle<()>;

impl Server {
    /// Tells a client of the era with `initialize` the news, until its session is over. What belongs
    /// to no request may be another session's: only one that is alone hears it.
    pub(super) fn follow(&self, peer: Peer<RoleServer>, is_alone: bool) {
        let mut news = self.shared.host.shared_state.listen();
        let mut logs = self.shared.host.logs.subscribe();
        let session = Arc::downgrade(&self.session);
        let over = self.session.over.0.clone();
        tokio::spawn(async move {
            loop {
                let one = tokio::select! {
                    one = next(&mut news, &over) => one,
                    Some(record) = next(&mut logs, &over), if is_alone => {
                        let Some(session) = session.upgrade() else { return };
                        let record: Option<LoggingMessageNotificationParam> =
                            serde_json::from_value(record.into()).ok();
                        let least = session.logs().map_or(u8::MAX, rank);
                        if let Some(record) = record.filter(|record| rank(record.level) >= least) {
                            said(peer.notify_logging_message(record).await);
                        }
                        continue;
                    }
                };
                let (Some(one), Some(session)) = (one, session.upgrade()) else { return };
                said(match one {
                    News::List(ListKind::Tools) => peer.notify_tool_list_changed().await,
                    News::List(ListKind::Prompts) => peer.notify_prompt_list_changed().await,
                    News::List(ListKind::Resources) => peer.notify_resource_list_changed().await,
                    News::Resource(uri) if session.subscriptions.lock().contains_key(&uri) => {
                        let changed = ResourceUpdatedNotificationParam::new(uri);
                        peer.notify_resource_updated(changed).await
                    }
                    News::Resource(_) => Ok(()),
                });
            }
        });
    }

    /// Subscribes a client of the era with `initialize`.
    pub(super) async fn subscribe_to(
        &self,
        uri: String,
        cx: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // From here on the roots are those that the client last named.
        let caller = Caller::of(cx);
        self.session.roots(&self.shared.host.roots, &caller, cx, &Exchange::default()).await;
        let mut subscriptions = self.session.subscriptions.lock();
        if subscriptions.len() >= MAX_SUBSCRIPTIONS && !subscriptions.contains_key(&uri) {
            let why = format!("a session may be subscribed to {MAX_SUBSCRIPTIONS} resources");
            return Err(ErrorData::invalid_params(why, None));
        }
        let roots = WatchRoots::of(self, &caller);
        subscriptions
            .entry(uri)
            .or_insert_with_key(|uri| watch(&self.shared.host, uri.clone(), roots));
        Ok(())
    }

    /// Tells a client of 2026-07-28 the news that it listens to.
    pub(super) async fn tell(&self, subscription: SubscriptionContext) {
        let mut news = self.shared.host.shared_state.listen();
        let caller = Caller::of(subscription.request_context());
        let uris = subscription.accepted().resource_subscriptions.iter().flatten();
        let watches: Vec<Watch> = uris
            .take(MAX_SUBSCRIPTIONS)
            .map(|uri| watch(&self.shared.host, uri.clone(), WatchRoots::of(self, &caller)))
            .collect();
        let (sink, shutdown) = (subscription.sink().clone(), self.shared.host.shutdown.clone());
        loop {
            let one = tokio::select! {
                one = next(&mut news, &shutdown) => one,
                () = subscription.cancelled() => None,
            };
            // What it does not listen to, the sink refuses.
            let told = match one {
                Some(News::List(ListKind::Tools)) => sink.notify_tool_list_changed().await,
                Some(News::List(ListKind::Prompts)) => sink.notify_prompt_list_changed().await,
                Some(News::List(ListKind::Resources)) => sink.notify_resource_list_changed().await,
                Some(News::Resource(uri)) => sink.notify_resource_updated(uri).await,
                None => break,
            };
            if let Err(error) = told {
                tracing::trace!("news did not reach a client: {error}");
            }
        }
        drop(watches);
    }
}

fn said(told: Result<(), ServiceError>) {
    if let Err(error) = told {
        tracing::debug!("news did not reach a client: {error}");
    }
}

/// The next piece of news. `None`: there will be no more.
async fn next<T: Clone>(news: &mut Receiver<T>, over: &CancellationToken) -> Option<T> {
    loop {
        let one = tokio::select! {
            one = news.recv() => one,
            () = over.cancelled() => return None,
        };
        match one {
            Ok(one) => return Some(one),
            // Some were missed; a client that asks learns the newest anyhow.
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return None,
        }
    }
}

/// The roots of whoever watches a resource, as they are at the moment.
struct WatchRoots {
    session: Weak<Session>,
    has_roots: bool,
}

impl WatchRoots {
    fn of(server: &Server, caller: &Caller) -> Self {
        let has_roots = caller.capabilities.roots.is_some();
        Self { session: Arc::downgrade(&server.session), has_roots }
    }

    fn now(&self, operator: &Roots) -> Roots {
        match self.session.upgrade() {
            Some(session) => session.last_roots(operator, self.has_roots),
            None => operator.unknown(),
        }
    }
}

fn watch(host: &Arc<Host>, uri: String, roots: WatchRoots) -> Watch {
    let host = host.clone();
    AbortOnDropHandle::new(tokio::spawn(async move {
        let catalog = host.catalog().await;
        let watched = catalog.other_with(&uri).map(|other| other.source.upstream.watch(&uri));
        let mut known = version(&host, &uri, &roots.now(&host.roots)).await;
        // A resource whose plugin cannot tell is announced by the plugin, or by nobody.
        while known.is_some() {
            tokio::time::sleep(POLL).await;
            let now = version(&host, &uri, &roots.now(&host.roots)).await;
            if now.is_some() && now != known {
                host.shared_state.tell(News::Resource(uri.clone()));
            }
            known = now.or(known);
        }
        if watched.is_some() {
            std::future::pending().await
        }
    }))
}

async fn version(host: &Arc<Host>, uri: &str, roots: &Roots) -> Option<String> {
    let catalog = host.catalog().await;
    for source in catalog.resource(uri).into_iter().filter(|one| one.plugin().is_some()) {
        let call = Call {
            request: call::request_id(),
            work: Work::Version(uri.to_owned()),
            roots: roots.clone(),
            context: Context::default(),
            task: false,
            decisions: Vec::new(),
            resumed: None,
            client: &NoClient,
        };
        if let Ok(Answered::Typed(Answer::Version(version))) = call::call(source, call).await {
            return version;
        }
    }
    None
}
