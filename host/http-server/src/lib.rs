//! An HTTP server for MCP: it checks who calls, and bounds what they send.
//!
//! [`serve`] puts any rmcp [`ServerHandler`] behind a hardened server: streamable HTTP at `/mcp`, the
//! transport of 2024-11-05 at `/sse` and `/messages`, TLS, a bearer token or OAuth access tokens, and
//! bounds on everything that a client decides. It makes no outgoing connection, reads no file but
//! those of [`Tls::load`], and knows nothing of the server behind it.
//!
//! What a handler learns of its caller is the [`Principal`] in the extensions of the request's
//! [`http::request::Parts`]. It sees no credentials.

mod body;
mod caller;
mod client_address;
mod connections;
mod issuer;
mod issuer_keys;
mod jwt;
mod legacy;
mod listener;
mod oauth;
mod origins;
mod principal;
mod rate_limit;
mod refusals;
mod replay;
mod request_body;
mod responses;
mod router;
mod session_limit;
mod sessions;
mod settings;
mod timeouts;
mod tls;
mod verify;
mod write_timeout;

use std::io;
use std::sync::Arc;

use rmcp::ServerHandler;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub use issuer::{Fetch, Issuer};
pub use oauth::Oauth;
pub use principal::Principal;
pub use settings::{Page, Settings};
pub use tls::{Tls, TlsError};

use crate::listener::Ends;
use crate::router::Router;

/// Where MCP is served.
pub const PATH: &str = "/mcp";

/// Where the event stream of the transport of 2024-11-05 is opened.
pub const SSE_PATH: &str = "/sse";

/// Where the messages of the transport of 2024-11-05 are posted.
pub const MESSAGES_PATH: &str = "/messages";

/// The origins of this server itself, on loopback: whatever page had one of them came from here.
fn own_origins(listener: &TcpListener, tls: bool) -> Vec<String> {
    let Ok(address) = listener.local_addr() else { return Vec::new() };
    if !address.ip().is_loopback() {
        return Vec::new();
    }
    let (scheme, port) = (if tls { "https" } else { "http" }, address.port());
    ["localhost", "127.0.0.1", "[::1]"].map(|host| format!("{scheme}://{host}:{port}")).to_vec()
}

/// Serves handlers made by `factory` on `listener`, until `shutdown` is cancelled and requests in
/// flight have had three seconds to end. Where [`Settings::stop`] is cancelled before, nothing new is
/// taken from then on, and what is in flight goes on.
///
/// The factory is called once for each session, and once for each request of clients that have
/// none: what it makes should be a handle to something that lives longer.
///
/// # Errors
///
/// Where the settings make no sense, in words for whoever made them.
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
    let ends = Ends { stop: settings.stop.clone(), shutdown: shutdown.clone() };
    let mut settings = settings;
    settings.allowed_origins.extend(own_origins(&listener, tls.is_some()));
    let gate = Router::new(settings, factory, shutdown.clone())
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    listener::accept(listener, connections, tls, Arc::new(gate), ends).await;
    Ok(())
}
