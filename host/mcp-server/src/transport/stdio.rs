//! MCP over stdin and stdout, until stdin ends.

use std::io;
use std::sync::Arc;

use portcullis_stdio_transport::{EndSignals, StdioTransport};
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use tokio_util::sync::CancellationToken;

use super::DRAIN;
use crate::mcp::{Server, Shared};
use portcullis_core::host::Host;

/// Serves one session over this process's stdin and stdout, until stdin ends or `stop` is cancelled. Calls in
/// flight may then go on for three seconds; where nobody reads stdout any more, they are cancelled at once.
/// `leave` is called when the end begins, to see to it that the process ends whatever guests do.
///
/// # Errors
///
/// Where stdin or stdout fail.
pub async fn serve(
    shared: Arc<Shared>,
    stop: CancellationToken,
    leave: impl FnOnce() + Send + 'static,
) -> io::Result<()> {
    let (input, output) = rmcp::transport::stdio_pipes();
    let ends = EndSignals { input: stop, output: CancellationToken::new() };
    let lines = StdioTransport::new(input, output, shared.raw.clone(), ends.clone());
    let output = ends.output.clone();
    tokio::spawn(end(ends, shared.host.clone(), leave));
    let session = match Server::new(shared).serve(lines).await {
        Ok(session) => session,
        // stdin ended before the client said anything: nothing is wrong.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        // The log says that nobody reads stdout.
        Err(_) if output.is_cancelled() => return Ok(()),
        Err(error) => return Err(io::Error::other(error.to_string())),
    };
    session.waiting().await.map(drop).map_err(io::Error::other)
}

/// Waits for the end of the input, and sees to it that calls in flight end soon after it.
async fn end(ends: EndSignals, host: Arc<Host>, leave: impl FnOnce()) {
    ends.input.cancelled().await;
    leave();
    tokio::select! {
        () = tokio::time::sleep(DRAIN) => {}
        () = ends.output.cancelled() => {}
    }
    host.shutdown.cancel();
}
