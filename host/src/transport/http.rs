//! MCP over HTTP: the host behind its front.

use std::io;
use std::sync::Arc;

use portcullis_front::Settings;
use tokio::net::TcpListener;

use crate::config::HttpConfig;
use crate::mcp::{Host, Server};

/// Where the protocol is served.
pub use portcullis_front::PATH;

/// Serves sessions on a listener until the host shuts down.
///
/// # Errors
///
/// Where the configuration makes no sense: a host or an origin that is none.
pub async fn serve(
    host: Arc<Host>,
    listener: TcpListener,
    config: &HttpConfig,
    token: Option<String>,
) -> io::Result<()> {
    let HttpConfig { allowed_hosts, allowed_origins, .. } = config.clone();
    let settings = Settings {
        allowed_hosts,
        allowed_origins,
        token,
        connections: config.connections,
        sessions: config.sessions,
        requests_per_second: config.requests_per_second,
        body_bytes: config.body_bytes,
        ..Settings::new(host.raw.clone())
    };
    let shutdown = host.shutdown.clone();
    let server = move || Server::new(host.clone());
    portcullis_front::serve(listener, settings, server, shutdown).await
}
