//! Serves MCP over HTTP.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use portcullis_cluster_state::ClusterState;
use portcullis_core::config::HttpConfig;
use portcullis_http_server::{Access, AccessRules, ClusterRates, Fetch, Page, Readiness, Settings};
use portcullis_metrics::{CacheUse, MEDIA_TYPE, Metrics};
use rmcp::ServerHandler;
use tokio::net::TcpListener;

use super::settings::{SettingsError, oauth_hosts};
use super::{DRAIN, settings as make};
use crate::mcp::{Server, Shared};
use portcullis_core::host::Host;

/// Maximum number of threads that serve connections.
const MAX_THREADS: usize = 8;

/// The path of the MCP endpoint.
pub use portcullis_http_server::PATH;

/// Who may send requests. The keys of OAuth issuers are fetched through the egress filter. `profiles`: the names of
/// profiles, each of which has an MCP endpoint of its own.
///
/// # Errors
///
/// [`SettingsError`]: other machines could call without credentials, or the token is missing or cannot be used.
pub fn access_rules(
    config: &HttpConfig,
    profiles: BTreeSet<String>,
) -> Result<AccessRules, SettingsError> {
    let named = oauth_hosts(config);
    let agent = concat!("portcullis/", env!("CARGO_PKG_VERSION"));
    let fetch = Fetch::new(move |url| {
        let fetched = portcullis_egress::fetch_document(url, named.clone(), agent);
        async move { fetched.await.map_err(Into::into) }
    });
    make::access_rules(config, profiles, fetch)
}

/// The settings of the HTTP server, with a page of the host's metrics unless metrics have a listener of their own.
///
/// # Errors
///
/// [`SettingsError`]: a rule is invalid, or the files for TLS are missing or cannot be used.
pub fn settings(
    config: &HttpConfig,
    rules: AccessRules,
    shared: &Arc<Shared>,
) -> Result<Settings, SettingsError> {
    let mut settings = make::settings(config, rules, shared.raw.clone())?;
    settings.readiness = readiness(shared);
    // A connection stays on its thread, so each processor serves clients of its own.
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    settings.more_threads = processors.min(MAX_THREADS) - 1;
    settings.cluster_rates = shared.cluster.clone().map(cluster_rates);
    settings.cluster = shared.cluster.clone();
    if config.metrics_listen.is_none() {
        settings.pages.extend(metrics_pages(&shared.host));
    }
    Ok(settings)
}

/// Whether a server could be started with this configuration. Reads the files of the token and of TLS, and opens no
/// listener.
///
/// # Errors
///
/// As [`access_rules`] and [`settings`].
pub fn check(config: &HttpConfig) -> Result<(), SettingsError> {
    make::check(config, access_rules(config, BTreeSet::new())?)
}

/// Serves the host's metrics and the probes on a listener of their own until the host shuts down. No token is needed.
///
/// # Errors
///
/// The HTTP server cannot be started.
pub async fn serve_metrics(shared: &Shared, listener: TcpListener) -> io::Result<()> {
    // Scrapers and probes send an IP address as `Host`, so each IP address is accepted.
    let rules = AccessRules { any_address: true, ..AccessRules::default() };
    let access = Access::new(rules).map_err(io::Error::other)?;
    let settings = pages_only(shared, metrics_pages(&shared.host));
    let settings = Settings { access, readiness: readiness(shared), ..settings };
    serve_without_sessions(shared, listener, settings).await
}

/// The host is ready once all plugins are loaded, until it shuts down, and while the server of the cluster's state
/// answers.
fn readiness(shared: &Shared) -> Readiness {
    let (host, cluster) = (Arc::downgrade(&shared.host), shared.cluster.clone());
    Readiness::new(move || {
        let is_reached = cluster.as_ref().is_none_or(ClusterState::is_reached);
        is_reached && host.upgrade().is_some_and(|host| host.is_ready())
    })
}

/// Counts requests in the cluster's state.
fn cluster_rates(cluster: ClusterState) -> ClusterRates {
    ClusterRates::new(move |name, per_second, wanted| {
        let cluster = cluster.clone();
        async move {
            let taken = cluster.take_rate(&name, per_second, wanted).await;
            taken.inspect_err(|error| tracing::debug!("a rate is counted here only: {error}")).ok()
        }
    })
}

fn metrics_pages(host: &Arc<Host>) -> BTreeMap<String, Page> {
    [("/metrics".to_owned(), metrics_page(host))].into()
}

fn metrics_page(host: &Arc<Host>) -> Page {
    let metrics = Arc::new(Metrics::default());
    let (counting, host_now) = (metrics.clone(), Arc::downgrade(host));
    host.upstreams().audit().watch(move |record| counting.count(record));
    Page::new(move || {
        let caches = host_now.upgrade().map(|host| host.cache_uses()).unwrap_or_default();
        let used = |(plugin, (hits, misses))| CacheUse { plugin, hits, misses };
        let caches: Vec<_> = caches.into_iter().map(used).collect();
        (MEDIA_TYPE, metrics.text(&caches).into())
    })
}

/// Serves only these pages on a listener, so that no other content has their web origin.
///
/// # Errors
///
/// The HTTP server cannot be started.
pub async fn serve_pages(
    shared: &Shared,
    listener: TcpListener,
    pages: BTreeMap<String, Page>,
) -> io::Result<()> {
    serve_without_sessions(shared, listener, pages_only(shared, pages)).await
}

/// Settings for these pages, without MCP.
fn pages_only(shared: &Shared, pages: BTreeMap<String, Page>) -> Settings {
    let (streamable, legacy_sse) = (false, false);
    Settings { pages, streamable, legacy_sse, ..Settings::new(shared.raw.clone()) }
}

async fn serve_without_sessions(
    shared: &Shared,
    listener: TcpListener,
    settings: Settings,
) -> io::Result<()> {
    /// An MCP server that offers nothing.
    struct EmptyServer;
    impl ServerHandler for EmptyServer {}
    portcullis_http_server::serve(listener, settings, || EmptyServer, shared.host.shutdown.clone())
        .await
}

/// Serves sessions and the pages of `settings` on a listener until the host shuts down. When `settings.stop` is
/// cancelled, new requests are refused, `on_stop` is called, and the host shuts down once no call is in flight, or
/// after three seconds.
///
/// # Errors
///
/// A setting is invalid, such as an allowed host, the path of a page, or the OAuth resource.
pub async fn serve(
    shared: Arc<Shared>,
    listener: TcpListener,
    settings: Settings,
    on_stop: impl FnOnce() + Send + 'static,
) -> io::Result<()> {
    let shutdown = shared.host.shutdown.clone();
    let (stop, ending) = (settings.stop.clone(), shared.clone());
    let end = async move {
        stop.cancelled().await;
        on_stop();
        // After this time, the host shuts down even if calls are in flight.
        let _drained = tokio::time::timeout(DRAIN, ending.idle()).await;
        ending.host.shutdown.cancel();
    };
    let until = shutdown.clone();
    tokio::spawn(async move { until.run_until_cancelled(end).await });
    let server = move || Server::new(shared.clone());
    portcullis_http_server::serve(listener, settings, server, shutdown).await
}
