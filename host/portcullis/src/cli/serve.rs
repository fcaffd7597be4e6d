//! `portcullis serve`: serves MCP over stdio or HTTP.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use portcullis_core::config::HttpConfig;
use portcullis_http_server::Settings;
use portcullis_mcp_server::mcp::{Shared, exchange_news};
use portcullis_mcp_server::transport;
use tokio_util::sync::CancellationToken;

use super::cluster_approvals::Approvals;
use super::context::CommandContext;
use super::reload::{self, Reloader};
use super::signals::{Hangup, OnHangup};
use super::{CommandEnd, Common, cluster, log, safety, serve_options, signals};

/// The time from the end of stdin, or a signal, to the forced exit of the process.
const STDIO_EXIT_TIMEOUT: Duration = Duration::from_millis(4500);

/// The time from a signal to the forced exit, over HTTP. This time is longer than that over stdio, because clients also
/// have to receive their last responses.
const HTTP_EXIT_TIMEOUT: Duration = Duration::from_secs(8);

/// Arguments of `serve`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    options: serve_options::Options,
}

impl Args {
    /// Lists every tool, if no option says which tools clients see.
    pub(super) fn list_all_by_default(&mut self) {
        self.options.list_all_by_default();
    }

    /// Serves until the client or a signal ends the server. The configuration is reloaded meanwhile.
    pub(super) async fn run(
        self,
        common: &Common,
        context: CommandContext,
    ) -> anyhow::Result<CommandEnd> {
        self.serve(context, Some(common)).await
    }

    /// Like [`Self::run`], without reloading the configuration.
    pub(super) async fn run_once(self, context: CommandContext) -> anyhow::Result<CommandEnd> {
        self.serve(context, None).await
    }

    /// Serves. `reloads`: the options of the command line, which apply to a reloaded configuration too. `None`: the
    /// configuration is not reloaded.
    async fn serve(
        self,
        mut context: CommandContext,
        reloads: Option<&Common>,
    ) -> anyhow::Result<CommandEnd> {
        self.options.override_config(&mut context.config)?;
        let selections = self.options.selections(&context)?;
        super::first_start::say(&context);
        let profiles = reload::profiles(&selections);
        let approvals = Approvals::of(&context).filter(|_| self.options.is_http());
        if let Some(approvals) = &approvals {
            approvals.begin().await;
        }
        let sandbox = context.sandbox();
        let host = context.host(sandbox.clone())?;
        // Loading begins before the client sends `initialize`.
        let loading = host.clone();
        tokio::spawn(async move {
            loading.catalog().await;
        });
        let on_hangup = match (self.options.is_http(), reloads) {
            (true, Some(_)) => OnHangup::of_service(),
            (true, None) | (false, _) => OnHangup::Stop,
        };
        let stop = CancellationToken::new();
        signals::listen(stop.clone(), on_hangup)?;
        let key_file = context.config.http.state_key_file.as_deref();
        let key_file = key_file.filter(|_| self.options.is_http());
        let shared = context.shared(host.clone(), selections, key_file)?;
        // Before the server says that it serves: without a handler, SIGHUP would end this process.
        let hangup = Hangup::listen(on_hangup)?;
        let replaced = approvals.as_ref().map(Approvals::replaced);
        run_beside(&shared, approvals);
        let follow = |context, access| async {
            let Some(common) = reloads else { return std::future::pending().await };
            let (options, shared) = (&self.options, shared.clone());
            let reloader =
                Reloader { common, options, context, sandbox, shared, access, hangup, replaced };
            match reloader.follow().await {}
        };
        let served = if self.options.is_http() {
            context.cluster.as_ref().map_or(Ok(()), cluster::begin)?;
            let config = self.options.http_config(&context.config);
            for (what, file) in self.options.secret_files() {
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
}

/// Begins what hosts of a cluster do beside serving, until this host shuts down.
fn run_beside(shared: &Arc<Shared>, approvals: Option<Approvals>) {
    let shutdown = &shared.host.shutdown;
    tokio::spawn(shutdown.clone().run_until_cancelled_owned(exchange_news(shared.clone())));
    if let Some(approvals) = approvals {
        tokio::spawn(shutdown.clone().run_until_cancelled_owned(approvals.follow()));
    }
}

/// Serves HTTP at the configured address.
async fn serve_http(
    config: HttpConfig,
    shared: Arc<Shared>,
    settings: Settings,
) -> anyhow::Result<()> {
    let listener = listen(config.listen).await?;
    let address = listener.local_addr()?;
    if settings.tls.is_none() && !address.ip().is_loopback() {
        tracing::warn!(
            "without TLS, others on the network can read tokens and answers: give --tls-cert \
             and --tls-key, unless a proxy in front of this server has TLS"
        );
    }
    let metrics = match config.metrics_listen {
        Some(address) => Some(listen(address).await?),
        None => None,
    };
    let (scheme, path) = (config.scheme(), transport::http::PATH);
    log::say(&format!("serving MCP at {scheme}://{address}{path}"));
    if let Some(metrics) = &metrics {
        log::say(&format!("serving metrics at http://{}/metrics", metrics.local_addr()?));
    }
    let exit = || signals::exit_after(HTTP_EXIT_TIMEOUT);
    let serving = transport::http::serve(shared.clone(), listener, settings, exit);
    let with_metrics = async {
        match metrics {
            Some(metrics) => transport::http::serve_metrics(&shared, metrics).await,
            None => Ok(()),
        }
    };
    tokio::try_join!(serving, with_metrics).map(|_| ()).context("serving HTTP")
}

async fn listen(address: SocketAddr) -> anyhow::Result<tokio::net::TcpListener> {
    let listening = tokio::net::TcpListener::bind(address).await;
    listening.with_context(|| format!("listening on {address}"))
}
