//! Serves MCP over stdin and stdout.

use std::io;
use std::sync::Arc;

use portcullis_stdio_transport::{EndSignals, StdioTransport};
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use tokio_util::sync::CancellationToken;

use super::DRAIN;
use crate::mcp::{Server, Shared};
use portcullis_core::host::Host;

/// Serves one session over the process's stdin and stdout, until stdin ends or `stop` is cancelled. Calls in flight
/// may then run on for three seconds. If stdout is closed, they are cancelled at once. `on_stop` is called when the
/// stop begins, for example to end the process even if a plugin does not end.
///
/// # Errors
///
/// The session cannot be initialized, or its task fails. If stdin cannot be read or stdout cannot be written, the
/// session ends without an error.
pub async fn serve(
    shared: Arc<Shared>,
    stop: CancellationToken,
    on_stop: impl FnOnce() + Send + 'static,
) -> io::Result<()> {
    let (input, output) = rmcp::transport::stdio_pipes();
    let ends = EndSignals { input: stop, output: CancellationToken::new() };
    let lines = StdioTransport::new(input, output, shared.raw.clone(), ends.clone());
    let output = ends.output.clone();
    tokio::spawn(shut_down(ends, shared.host.clone(), on_stop));
    let session = match Server::new(shared).serve(lines).await {
        Ok(session) => session,
        // The end of stdin before the first message is not an error.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        // stdout is closed. The transport has logged it.
        Err(_) if output.is_cancelled() => return Ok(()),
        Err(error) => return Err(io::Error::other(error.to_string())),
    };
    session.waiting().await.map(drop).map_err(io::Error::other)
}

/// Shuts the host down after the end of the input, once calls in flight have had time to end.
async fn shut_down(ends: EndSignals, host: Arc<Host>, on_stop: impl FnOnce()) {
    ends.input.cancelled().await;
    on_stop();
    tokio::select! {
        () = tokio::time::sleep(DRAIN) => {}
        () = ends.output.cancelled() => {}
    }
    host.shutdown.cancel();
}
