//! MCP over HTTP: the host behind its front.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use portcullis_front::{Page, Settings};
use portcullis_metrics::{CacheUse, MEDIA_TYPE, Metrics};
use rmcp::ServerHandler;
use tokio::net::TcpListener;

use crate::config::HttpConfig;
use crate::mcp::{Host, Server};

/// Where the protocol is served.
pub use portcullis_front::PATH;

/// Serves pages alone on a listener, of an origin that is nothing else's.
///
/// # Errors
///
/// Where the pages make no sense.
pub async fn serve_pages(
    host: &Host,
    listener: TcpListener,
    pages: BTreeMap<String, Page>,
) -> io::Result<()> {
    /// An MCP server that offers nothing.
    struct Nothing;
    impl ServerHandler for Nothing {}
    let settings = Settings { pages, legacy_sse: false, ..Settings::new(host.raw.clone()) };
    portcullis_front::serve(listener, settings, || Nothing, host.shutdown.clone()).await
}

/// Serves sessions, and pages beside them, on a listener until the host shuts down.
///
/// # Errors
///
/// Where the configuration makes no sense: a host or an origin that is none.
pub async fn serve(
    host: Arc<Host>,
    listener: TcpListener,
    config: &HttpConfig,
    token: Option<String>,
    mut pages: BTreeMap<String, Page>,
) -> io::Result<()> {
    let (metrics, counted) = (Arc::new(Metrics::default()), Arc::downgrade(&host));
    let counting = metrics.clone();
    host.upstreams.audit().watch(move |record| counting.count(record));
    let numbers = move || {
        let caches = counted.upgrade().map(|host| host.cache_uses()).unwrap_or_default();
        let uses =
            caches.into_iter().map(|(plugin, (hits, misses))| CacheUse { plugin, hits, misses });
        (MEDIA_TYPE, metrics.text(&uses.collect::<Vec<_>>()).into())
    };
    pages.insert("/metrics".to_owned(), Page::new(numbers));

    let HttpConfig { allowed_hosts, allowed_origins, .. } = config.clone();
    let settings = Settings {
        allowed_hosts,
        allowed_origins,
        token,
        connections: config.connections,
        sessions: config.sessions,
        requests_per_second: config.requests_per_second,
        body_bytes: config.body_bytes,
        pages,
        ..Settings::new(host.raw.clone())
    };
    let shutdown = host.shutdown.clone();
    let server = move || Server::new(host.clone());
    portcullis_front::serve(listener, settings, server, shutdown).await
}
