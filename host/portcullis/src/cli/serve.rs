//! `portcullis serve`: an MCP server, until its client or its operator ends it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::setup::Setup;
use super::{End, log, safety, signals, views};
use portcullis_mcp_server::mcp::Shared;
use portcullis_mcp_server::transport;

/// After the end of stdin, or a signal: when the process ends, whatever is still going on.
const STDIO_END: Duration = Duration::from_millis(4500);

/// The same over HTTP, where answers have to be taken by their clients, too.
const HTTP_END: Duration = Duration::from_secs(8);

/// What `serve` takes.
#[derive(clap::Args)]
pub struct Args {
    /// Serve over HTTP, by default at 127.0.0.1:8719
    #[arg(long, value_name = "ADDRESS")]
    http: Option<Option<SocketAddr>>,
    /// Require the text of this file as the bearer token of every HTTP request
    #[arg(long, value_name = "FILE", requires = "http")]
    token_file: Option<PathBuf>,
    /// Serve HTTPS with this certificate chain (PEM)
    #[arg(long, value_name = "FILE", requires = "http", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    #[command(flatten)]
    views: views::Flags,
}

impl Args {
    pub(super) async fn run(self, mut setup: Setup) -> Result<End, String> {
        self.views.apply(&mut setup.config)?;
        let host = setup.host()?;
        // While the client introduces itself; `initialize` does not wait for it.
        let loading = host.clone();
        tokio::spawn(async move {
            loading.catalog().await;
        });
        let stop = CancellationToken::new();
        signals::listen(stop.clone())?;
        let shared = Shared::new(host.clone());
        let Some(address) = self.http else {
            let leave = || signals::leave_after(STDIO_END);
            let served = transport::stdio::serve(shared, stop, leave).await;
            host.upstreams.close().await;
            return served.map(|()| End::Done).map_err(|error| format!("serving stdio: {error}"));
        };
        let mut config = setup.config.http.clone();
        config.listen = address.unwrap_or(config.listen);
        let typed = [("the token file", &self.token_file), ("the TLS key", &self.tls_key)];
        for (what, file) in typed {
            if let Some(warning) = file.as_deref().and_then(|file| safety::readable(what, file)) {
                tracing::warn!("{warning}");
            }
        }
        config.token_file = self.token_file.or(config.token_file);
        config.tls_cert = self.tls_cert.or(config.tls_cert);
        config.tls_key = self.tls_key.or(config.tls_key);
        let mut settings =
            transport::http::settings(&config, &shared).map_err(|error| error.to_string())?;
        settings.stop = stop;
        let listener = tokio::net::TcpListener::bind(config.listen)
            .await
            .map_err(|error| format!("listening on {}: {error}", config.listen))?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        if settings.tls.is_none() && !address.ip().is_loopback() {
            tracing::warn!(
                "without TLS, whoever is on the way can read tokens and answers: give --tls-cert \
                 and --tls-key, unless a proxy before this has it"
            );
        }
        let (scheme, path) = (config.scheme(), transport::http::PATH);
        log::say(&format!("serving MCP at {scheme}://{address}{path}"));
        let leave = || signals::leave_after(HTTP_END);
        let served = transport::http::serve(shared, listener, settings, leave).await;
        host.upstreams.close().await;
        served.map(|()| End::Done).map_err(|error| format!("serving HTTP: {error}"))
    }
}
