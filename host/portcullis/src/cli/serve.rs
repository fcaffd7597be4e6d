//! `portcullis serve`: serves MCP over stdio or HTTP.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use tokio_util::sync::CancellationToken;

use super::context::CommandContext;
use super::{CommandEnd, log, safety, selection, signals, views};
use portcullis_mcp_server::transport;

/// The time from the end of stdin, or a signal, to the forced exit of the process.
const STDIO_EXIT_TIMEOUT: Duration = Duration::from_millis(4500);

/// The time from a signal to the forced exit, over HTTP. Clients also have to receive their last responses.
const HTTP_EXIT_TIMEOUT: Duration = Duration::from_secs(8);

/// Arguments of `serve`.
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
    selection: selection::Flags,
    #[command(flatten)]
    views: views::Flags,
}

impl Args {
    /// Lists every tool, if no option says which tools clients see.
    pub(super) fn list_all_by_default(&mut self) {
        self.selection.list_all_by_default();
    }

    pub(super) async fn run(self, mut context: CommandContext) -> anyhow::Result<CommandEnd> {
        self.views.apply(&mut context.config)?;
        let selections = self.selection.selections(&context)?;
        super::first_start::say(&context);
        let profiles = selections.names().map(str::to_owned).collect();
        let host = context.host()?;
        // Loading begins before the client sends `initialize`.
        let loading = host.clone();
        tokio::spawn(async move {
            loading.catalog().await;
        });
        let stop = CancellationToken::new();
        signals::listen(stop.clone())?;
        let key_file = context.config.http.state_key_file.as_deref();
        let key_file = key_file.filter(|_| self.http.is_some());
        let shared = context.shared(host.clone(), selections, key_file)?;
        let Some(address) = self.http else {
            let exit = || signals::exit_after(STDIO_EXIT_TIMEOUT);
            let served = transport::stdio::serve(shared, stop, exit).await;
            host.upstreams.close().await;
            return served.map(|()| CommandEnd::Done).context("serving stdio");
        };
        let mut config = context.config.http.clone();
        config.listen = address.unwrap_or(config.listen);
        let given_files = [("the token file", &self.token_file), ("the TLS key", &self.tls_key)];
        for (what, file) in given_files {
            if let Some(warning) = file.as_deref().and_then(|file| safety::readable(what, file)) {
                tracing::warn!("{warning}");
            }
        }
        config.token_file = self.token_file.or(config.token_file);
        config.tls_cert = self.tls_cert.or(config.tls_cert);
        config.tls_key = self.tls_key.or(config.tls_key);
        let mut settings = transport::http::settings(&config, &shared)?;
        settings.stop = stop;
        settings.profiles = profiles;
        let listener = tokio::net::TcpListener::bind(config.listen)
            .await
            .with_context(|| format!("listening on {}", config.listen))?;
        let address = listener.local_addr()?;
        if settings.tls.is_none() && !address.ip().is_loopback() {
            tracing::warn!(
                "without TLS, others on the network can read tokens and answers: give --tls-cert \
                 and --tls-key, unless a proxy in front of this server has TLS"
            );
        }
        let (scheme, path) = (config.scheme(), transport::http::PATH);
        log::say(&format!("serving MCP at {scheme}://{address}{path}"));
        let exit = || signals::exit_after(HTTP_EXIT_TIMEOUT);
        let served = transport::http::serve(shared, listener, settings, exit).await;
        host.upstreams.close().await;
        served.map(|()| CommandEnd::Done).context("serving HTTP")
    }
}
