//! `portcullis serve`: serves MCP over stdio or HTTP.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use portcullis_core::config::{Config, HttpConfig};
use portcullis_core::listing::Selections;
use portcullis_http_server::Settings;
use portcullis_mcp_server::mcp::Shared;
use portcullis_mcp_server::transport;
use tokio_util::sync::CancellationToken;

use super::context::CommandContext;
use super::reload::{self, Reloader};
use super::signals::{Hangup, OnHangup};
use super::{CommandEnd, Common, log, safety, selection, signals, views};

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

    /// Serves until the client or a signal ends the server. The configuration is reloaded meanwhile.
    pub(super) async fn run(
        self,
        common: &Common,
        context: CommandContext,
    ) -> anyhow::Result<CommandEnd> {
        self.serve(context, Some(common)).await
    }

    /// As [`Self::run`], without reloading the configuration.
    pub(super) async fn run_once(self, context: CommandContext) -> anyhow::Result<CommandEnd> {
        self.serve(context, None).await
    }

    /// Serves. `reloads`: the options of the command line with which the configuration is read again.
    async fn serve(
        self,
        mut context: CommandContext,
        reloads: Option<&Common>,
    ) -> anyhow::Result<CommandEnd> {
        self.override_config(&mut context.config)?;
        let selections = self.selections(&context)?;
        super::first_start::say(&context);
        let profiles = reload::profiles(&selections);
        let sandbox = context.sandbox();
        let host = context.host(sandbox.clone())?;
        // Loading begins before the client sends `initialize`.
        let loading = host.clone();
        tokio::spawn(async move {
            loading.catalog().await;
        });
        let on_hangup = match (&self.http, reloads) {
            (Some(_), Some(_)) => OnHangup::of_service(),
            (Some(_), None) | (None, _) => OnHangup::Stop,
        };
        let stop = CancellationToken::new();
        signals::listen(stop.clone(), on_hangup)?;
        let key_file = context.config.http.state_key_file.as_deref();
        let key_file = key_file.filter(|_| self.http.is_some());
        let shared = context.shared(host.clone(), selections, key_file)?;
        let follow = |context, access| async {
            let Some(common) = reloads else { return std::future::pending().await };
            let hangup = Hangup::listen(on_hangup)?;
            let made =
                Reloader::new(common, &self, context, sandbox, shared.clone(), access, hangup);
            match made.follow().await {}
        };
        let served = if self.http.is_some() {
            let config = self.http_config(&context.config);
            for (what, file) in self.secret_files() {
                if let Some(warning) = safety::readable(what, file) {
                    tracing::warn!("{warning}");
                }
            }
            let rules = transport::http::access_rules(&config, profiles)?;
            let mut settings = transport::http::settings(&config, rules, &shared)?;
            settings.stop = stop;
            let access = settings.access.clone();
            let serving = serve_http(config, shared.clone(), settings);
            tokio::select! {
                served = serving => served,
                failed = follow(context, Some(access)) => failed,
            }
        } else {
            let exit = || signals::exit_after(STDIO_EXIT_TIMEOUT);
            let serving = transport::stdio::serve(shared.clone(), stop, exit);
            tokio::select! {
                served = serving => served.context("serving stdio"),
                failed = follow(context, None) => failed,
            }
        };
        host.upstreams().close().await;
        served.map(|()| CommandEnd::Done)
    }

    /// Applies the options to a configuration that was read.
    ///
    /// # Errors
    ///
    /// An option is wrong, or the resulting configuration is invalid.
    pub(super) fn override_config(&self, config: &mut Config) -> anyhow::Result<()> {
        self.views.apply(config)
    }

    /// Which tools each client sees.
    ///
    /// # Errors
    ///
    /// No family, plugin, upstream server or profile has a name that an option gives.
    pub(super) fn selections(&self, context: &CommandContext) -> anyhow::Result<Selections> {
        self.selection.selections(context)
    }

    /// The section `[http]` with the options.
    pub(super) fn http_config(&self, config: &Config) -> HttpConfig {
        let mut config = config.http.clone();
        config.listen = self.http.flatten().unwrap_or(config.listen);
        config.token_file = self.token_file.clone().or(config.token_file);
        config.tls_cert = self.tls_cert.clone().or(config.tls_cert);
        config.tls_key = self.tls_key.clone().or(config.tls_key);
        config
    }

    /// The files with secrets that options name, each with its name for messages.
    pub(super) fn secret_files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let files = [("the token file", &self.token_file), ("the TLS key", &self.tls_key)];
        files.into_iter().filter_map(|(what, file)| Some((what, file.as_deref()?)))
    }
}

/// Serves HTTP at the configured address.
async fn serve_http(
    config: HttpConfig,
    shared: Arc<Shared>,
    settings: Settings,
) -> anyhow::Result<()> {
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
    served.context("serving HTTP")
}
