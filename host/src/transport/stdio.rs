//! MCP over stdin and stdout, until stdin ends.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use portcullis_lines::Lines;
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use tokio_util::sync::CancellationToken;

use crate::mcp::{Host, Server};

/// After the end of stdin: how long calls in flight may go on before they are given up.
const DRAIN: Duration = Duration::from_secs(3);

/// After the end of stdin: when the process ends, whatever is still going on.
const END: Duration = Duration::from_millis(4500);

/// Serves one session over this process's stdin and stdout, until stdin ends.
///
/// # Errors
///
/// Where stdin or stdout fail.
pub async fn serve(host: Arc<Host>) -> io::Result<()> {
    let (input, output) = rmcp::transport::stdio_pipes();
    let ended = CancellationToken::new();
    let lines = Lines::new(input, output, host.raw.clone(), ended.clone());
    tokio::spawn(watch(ended, host.clone()));
    let session = match Server::new(host).serve(lines).await {
        Ok(session) => session,
        // stdin ended before the client said anything: nothing is wrong.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(io::Error::other(error.to_string())),
    };
    session.waiting().await.map(drop).map_err(io::Error::other)
}

/// From the end of stdin to the end of the process takes less than five seconds, whatever guests do.
#[expect(clippy::disallowed_methods, reason = "the last resort against what does not end")]
async fn watch(ended: CancellationToken, host: Arc<Host>) {
    ended.cancelled().await;
    std::thread::spawn(|| {
        std::thread::sleep(END);
        tracing::warn!("something does not end: leaving it");
        std::process::exit(0);
    });
    tokio::time::sleep(DRAIN).await;
    host.shutdown.cancel();
}
