//! MCP over HTTP: serves the host through the HTTP server.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use portcullis_core::config::HttpConfig;
use portcullis_http_server::{Fetch, Page, Settings};
use portcullis_metrics::{CacheUse, MEDIA_TYPE, Metrics};
use rmcp::ServerHandler;
use tokio::net::TcpListener;

use super::settings::{SettingsError, oauth_hosts};
use super::{DRAIN, settings as make};
use crate::mcp::{Server, Shared};
use portcullis_core::host::Host;

/// Where the protocol is served.
pub use portcullis_http_server::PATH;

/// The settings of the HTTP server, with the host's metrics as a page. The host fetches the keys of issuers.
///
/// # Errors
///
/// Which key or file of the configuration cannot be used, and why.
pub fn settings(config: &HttpConfig, shared: &Arc<Shared>) -> Result<Settings, SettingsError> {
    let named = oauth_hosts(config);
    let agent = concat!("portcullis/", env!("CARGO_PKG_VERSION"));
    let fetch = Fetch::new(move |url| {
        let fetched = portcullis_egress::fetch_document(url, named.clone(), agent);
        async move { fetched.await.map_err(Into::into) }
    });
    let mut settings = make::settings(config, shared.raw.clone(), fetch)?;
    settings.pages.insert("/metrics".to_owned(), metrics_page(&shared.host));
    Ok(settings)
}

fn metrics_page(host: &Arc<Host>) -> Page {
    let metrics = Arc::new(Metrics::default());
    let (counting, host_now) = (metrics.clone(), Arc::downgrade(host));
    host.upstreams.audit().watch(move |record| counting.count(record));
    Page::new(move || {
        let caches = host_now.upgrade().map(|host| host.cache_uses()).unwrap_or_default();
        let used = |(plugin, (hits, misses))| CacheUse { plugin, hits, misses };
        let caches: Vec<_> = caches.into_iter().map(used).collect();
        (MEDIA_TYPE, metrics.text(&caches).into())
    })
}

/// Serves pages alone on a listener: an origin that is nothing else's.
///
/// # Errors
///
/// Where the pages make no sense.
pub async fn serve_pages(
    shared: &Shared,
    listener: TcpListener,
    pages: BTreeMap<String, Page>,
) -> io::Result<()> {
    /// An MCP server that offers nothing.
    struct Nothing;
    impl ServerHandler for Nothing {}
    let (streamable, legacy_sse) = (false, false);
    let settings = Settings { pages, streamable, legacy_sse, ..Settings::new(shared.raw.clone()) };
    portcullis_http_server::serve(listener, settings, || Nothing, shared.host.shutdown.clone())
        .await
}

/// Serves sessions, and pages beside them, on a listener until the host shuts down. Where `settings.stop` is
/// cancelled, nothing new is taken, `leave` is called, and the host shuts down once no call is in flight, or
/// after three seconds.
///
/// # Errors
///
/// Where the settings make no sense: a host or an origin that is none.
pub async fn serve(
    shared: Arc<Shared>,
    listener: TcpListener,
    settings: Settings,
    leave: impl FnOnce() + Send + 'static,
) -> io::Result<()> {
    let shutdown = shared.host.shutdown.clone();
    let (stop, ending) = (settings.stop.clone(), shared.clone());
    let end = async move {
        stop.cancelled().await;
        leave();
        // Timed out or not, that is the end.
        let _drained = tokio::time::timeout(DRAIN, ending.idle()).await;
        ending.host.shutdown.cancel();
    };
    let until = shutdown.clone();
    tokio::spawn(async move { until.run_until_cancelled(end).await });
    let server = move || Server::new(shared.clone());
    portcullis_http_server::serve(listener, settings, server, shutdown).await
}
