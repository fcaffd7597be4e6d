//! An HTTP server for MCP: it authenticates callers and limits what they send.
//!
//! [`serve`] serves an rmcp [`ServerHandler`] with streamable HTTP at `/mcp`, and with the transport of 2024-11-05 at
//! `/sse` and `/messages`. The server offers TLS, a bearer token or OAuth access tokens, and limits of size, time and
//! number for everything that clients send. It makes no outgoing connections but those of [`Settings::cluster`], and reads
//! only the files of [`Tls`].
//!
//! A handler finds its caller as [`Principal`] in the extensions of the request's [`http::request::Parts`]. The handler
//! gets no credentials.

mod access;
mod body;
mod caller;
mod client_address;
mod cluster_rates;
mod connection_threads;
mod connections;
mod host_ids;
mod issuer;
mod issuer_keys;
mod jwt;
mod legacy;
mod listener;
mod oauth;
mod openings;
mod origins;
mod principal;
mod rate_limit;
mod refusal_log;
mod replay;
mod request_body;
mod responses;
mod router;
mod session_limit;
mod session_share;
mod sessions;
mod settings;
mod settings_error;
mod shared_events;
mod shared_sessions;
mod signatures;
mod timeouts;
mod tls;
mod write_timeout;

use std::io;
use std::sync::Arc;

use rmcp::ServerHandler;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub use access::{Access, AccessRules};
pub use cluster_rates::ClusterRates;
pub use issuer::{Fetch, FetchError, HttpsUrlError, Issuer};
pub use oauth::Oauth;
pub use principal::{Principal, ProfileName};
pub use session_share::SessionShare;
pub use settings::{Page, Readiness, Settings};
pub use settings_error::InvalidSettings;
pub use tls::{Tls, TlsError};

use crate::connection_threads::ConnectionThreads;
use crate::listener::StopSignals;
use crate::router::Router;

/// The path of streamable HTTP.
pub const PATH: &str = "/mcp";

/// The path of the event stream of the transport of 2024-11-05.
pub const SSE_PATH: &str = "/sse";

/// The path to which clients of the transport of 2024-11-05 post messages.
pub const MESSAGES_PATH: &str = "/messages";

/// The path that responds with status 200 as long as the process serves HTTP. It needs no token.
pub const HEALTH_PATH: &str = "/healthz";

/// The path that responds with status 200 if the server can serve calls now, and with 503 if not. It needs no token.
pub const READINESS_PATH: &str = "/readyz";

/// The origins of this server itself, if it listens on loopback: those of the hosts of loopback, with its port.
fn own_origins(listener: &TcpListener, has_tls: bool) -> Vec<String> {
    let Ok(address) = listener.local_addr() else { return Vec::new() };
    if !address.ip().is_loopback() {
        return Vec::new();
    }
    let (scheme, port) = (if has_tls { "https" } else { "http" }, address.port());
    ["localhost", "127.0.0.1", "[::1]"].map(|host| format!("{scheme}://{host}:{port}")).to_vec()
}

/// Serves handlers made by `factory` on `listener`, until `shutdown` is cancelled. Requests of MCP in flight are
/// then cancelled at once, and connections have three seconds to end. To give requests time, cancel
/// [`Settings::stop`] first: no new requests are accepted from then on, and requests in flight go on. The server
/// then ends as soon as all connections have ended.
///
/// The factory is called once for each session, and once for each request without a session. The factory should return
/// a handle to shared state.
///
/// # Errors
///
/// The settings cannot be used. The error contains an [`InvalidSettings`].
pub async fn serve<S, F>(
    listener: TcpListener,
    settings: Settings,
    factory: F,
    shutdown: CancellationToken,
) -> io::Result<()>
where
    S: ServerHandler,
    F: Fn() -> S + Send + Sync + 'static,
{
    let (connections, tls) = (settings.connections, settings.tls.clone());
    let threads = ConnectionThreads::new(settings.more_threads);
    let signals = StopSignals { stop: settings.stop.clone(), shutdown: shutdown.clone() };
    let invalid = |error| io::Error::new(io::ErrorKind::InvalidInput, error);
    settings.access.allow_own(own_origins(&listener, tls.is_some())).map_err(invalid)?;
    let router = Router::new(settings, factory, shutdown.clone()).map_err(invalid)?;
    let certificates = tls.clone();
    let following = async {
        match certificates {
            Some(tls) => tls.follow_files().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = listener::accept(listener, connections, threads, tls, Arc::new(router), signals) => {}
        () = following => {}
    }
    Ok(())
}
