//! MCP over HTTP: the host behind its front.

use std::io;
use std::sync::Arc;

use portcullis_front::{Config, Fetch, Settings};
use tokio::net::TcpListener;

use crate::mcp::{Host, Server};

/// Where the protocol is served.
pub use portcullis_front::PATH;

/// What the operator wants of the front. The keys of issuers are fetched by the host.
///
/// # Errors
///
/// In words for the operator: which key or file, and what is wrong with it.
pub fn settings(config: &Config, host: &Host) -> Result<Settings, String> {
    let named = config.oauth_hosts();
    let agent = concat!("portcullis/", env!("CARGO_PKG_VERSION"));
    let fetch = Fetch::new(move |url| portcullis_outgoing::document(url, named.clone(), agent));
    config.settings(host.raw.clone(), fetch)
}

/// Serves sessions on a listener until the host shuts down.
///
/// # Errors
///
/// Where the settings make no sense: a host or an origin that is none.
pub async fn serve(host: Arc<Host>, listener: TcpListener, settings: Settings) -> io::Result<()> {
    let shutdown = host.shutdown.clone();
    let server = move || Server::new(host.clone());
    portcullis_front::serve(listener, settings, server, shutdown).await
}
