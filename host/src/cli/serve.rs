//! `portcullis serve`: an MCP server, until its client or its operator ends it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::End;
use super::start::Ready;
use crate::mcp::Host;
use crate::transport;

/// What `serve` takes.
#[derive(clap::Args)]
pub struct Args {
    /// Serve over HTTP, at 127.0.0.1:8719 unless another address is given
    #[arg(long, value_name = "ADDRESS")]
    http: Option<Option<SocketAddr>>,
    /// Over HTTP: every request must carry the text of this file as its bearer token
    #[arg(long, value_name = "FILE", requires = "http")]
    token_file: Option<PathBuf>,
}

impl Args {
    pub(super) async fn run(self, ready: Ready) -> Result<End, String> {
        let host = ready.host()?;
        // While the client introduces itself; `initialize` does not wait for it.
        let loading = host.clone();
        tokio::spawn(async move {
            loading.catalog().await;
        });
        let ending = host.clone();
        on_signals(move || end(&ending))?;
        let Some(address) = self.http else {
            let served = transport::stdio::serve(host.clone()).await;
            host.upstreams.close().await;
            return served.map(|()| End::Done).map_err(|error| format!("serving stdio: {error}"));
        };
        let config = &ready.config.http;
        let address = address.unwrap_or(config.listen);
        let token = match self.token_file.as_ref().or(config.token_file.as_ref()) {
            Some(file) => Some(token(file)?),
            None => None,
        };
        if token.is_none() && !address.ip().is_loopback() {
            return Err(format!(
                "{address} can be reached by other machines: give --token-file, or listen on \
                 127.0.0.1"
            ));
        }
        let listener = tokio::net::TcpListener::bind(address)
            .await
            .map_err(|error| format!("listening on {address}: {error}"))?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let line = format!("serving MCP at http://{address}{}\n", transport::http::PATH);
        // In one piece, for programs that wait for it.
        anstream::eprint!("{line}");
        let served =
            transport::http::serve(host.clone(), listener, config, token, BTreeMap::new()).await;
        host.upstreams.close().await;
        served.map(|()| End::Done).map_err(|error| format!("serving HTTP: {error}"))
    }
}

#[expect(clippy::disallowed_methods, reason = "the token is in a file, so that no list shows it")]
fn token(file: &Path) -> Result<String, String> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| format!("the token file {}: {error}", file.display()))?;
    let token = text.trim();
    if token.len() < 16 {
        return Err(format!("the token in {} has under 16 characters", file.display()));
    }
    Ok(token.to_owned())
}

/// Does something at the first signal to end.
pub fn on_signals(end: impl FnOnce() + Send + 'static) -> Result<(), String> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let failed = |error: std::io::Error| format!("listening to signals: {error}");
        let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        tokio::spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            end();
        });
    }
    #[cfg(not(unix))]
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            end();
        }
    });
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "the last resort against what does not end")]
fn end(host: Arc<Host>) {
    host.shutdown.cancel();
    std::thread::spawn(|| {
        std::thread::sleep(std::time::Duration::from_secs(4));
        std::process::exit(0);
    });
}
