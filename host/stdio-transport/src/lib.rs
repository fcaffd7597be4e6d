//! The stdio transport of MCP: one JSON-RPC message per line. A request that cannot be parsed gets an error response.
//!
//! rmcp's own transport silently drops lines that it cannot read. The client would then wait until its timeout.

mod fast_path;
mod input;
mod read;

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use portcullis_result_passthrough::PassthroughKey;
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

pub use input::MAX_LINE;

use input::{Input, InputLine};
use read::Read;

/// Maximum size of all unanswered requests together, in bytes. Further requests are refused.
pub const MAX_OPEN_BYTES: usize = 4 * MAX_LINE;

/// Why a request is refused.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    /// An unanswered request has the same id.
    #[error("another request with this id has no answer yet")]
    SameId,
    /// The unanswered requests have this size in bytes. With the new request, they would exceed the limit.
    #[error(
        "the unanswered requests have {0} bytes, and the limit is {MAX_OPEN_BYTES} bytes: try again later"
    )]
    TooManyBytes(usize),
}

/// The signals that end a connection.
#[derive(Debug, Clone, Default)]
pub struct EndSignals {
    /// Cancelled when the input has ended or cannot be read, or when the output is closed. Another task can cancel this
    /// token to stop reading.
    pub input: CancellationToken,
    /// Cancelled when the output is closed.
    pub output: CancellationToken,
}

/// The server's side of a connection.
pub struct StdioTransport<R, W> {
    input: Input<R>,
    output: Arc<Mutex<W>>,
    raw: PassthroughKey,
    ends: EndSignals,
    /// Whether a request has arrived. Until then, all messages are dropped, because rmcp would end the session at a
    /// notification that comes before the first request.
    has_request: bool,
    /// The unanswered requests with their sizes in bytes. A second request with the same id is refused, because rmcp
    /// would answer only one of the two.
    open: HashMap<RequestId, usize>,
    /// The sizes of all unanswered requests together.
    open_bytes: usize,
}

impl<R: AsyncRead + Unpin + Send, W: AsyncWrite + Unpin + Send + 'static> StdioTransport<R, W> {
    /// Reads from `input` and writes to `output`. Results that were wrapped with `raw` are written unchanged.
    pub fn new(input: R, output: W, raw: PassthroughKey, ends: EndSignals) -> Self {
        let (input, output) = (Input::new(input), Arc::new(Mutex::new(output)));
        Self { input, output, raw, ends, has_request: false, open: HashMap::new(), open_bytes: 0 }
    }

    /// The next line. `None`: the input has ended or cannot be read, or reading was stopped.
    async fn next_line(&mut self) -> Option<InputLine> {
        let line = match self.ends.input.run_until_cancelled(self.input.next()).await {
            None => return None,
            Some(Ok(line)) => line,
            Some(Err(error)) => {
                tracing::error!("cannot read stdin: {error}");
                None
            }
        };
        if line.is_none() {
            self.ends.input.cancel();
        }
        line
    }

    /// Admits a message of this size in bytes.
    ///
    /// # Errors
    ///
    /// [`Refusal`]: an unanswered request has the same id, or the unanswered requests are too large together.
    fn admit(&mut self, message: &ClientJsonRpcMessage, bytes: usize) -> Result<(), Refusal> {
        match message {
            ClientJsonRpcMessage::Request(request) => {
                self.has_request = true;
                if self.open.contains_key(&request.id) {
                    return Err(Refusal::SameId);
                }
                if self.open_bytes + bytes > MAX_OPEN_BYTES {
                    return Err(Refusal::TooManyBytes(self.open_bytes));
                }
                self.open_bytes += bytes;
                self.open.insert(request.id.clone(), bytes);
            }
            ClientJsonRpcMessage::Notification(message) => {
                // A cancelled request gets no answer.
                if let ClientNotification::CancelledNotification(cancelled) = &message.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.close_request(id);
                }
            }
            ClientJsonRpcMessage::Response(_) | ClientJsonRpcMessage::Error(_) => {}
        }
        Ok(())
    }

    fn close_request(&mut self, id: &RequestId) {
        self.open_bytes -= self.open.remove(id).unwrap_or_default();
    }

    async fn refuse(&mut self, id: Option<RequestId>, error: ErrorData) {
        // rmcp's type would omit an absent id, for which JSON-RPC requires `null`.
        let id = id.map_or(Value::Null, |id| serde_json::json!(id));
        let reply = serde_json::json!({"jsonrpc": "2.0", "id": id, "error": error});
        let (output, ends) = (self.output.clone(), self.ends.clone());
        let line = reply.to_string().into_bytes();
        // The line is written in a task of its own: rmcp may drop this future, but a line must be written
        // completely.
        let writing = tokio::spawn(async move { write(&output, &ends, line).await });
        // `write` logs failures.
        let _logged = writing.await;
    }
}

/// Writes a line. If it cannot be written, the connection ends.
async fn write<W: AsyncWrite + Unpin>(
    output: &Mutex<W>,
    ends: &EndSignals,
    mut line: Vec<u8>,
) -> io::Result<()> {
    line.push(b'\n');
    let mut output = output.lock().await;
    let written = match output.write_all(&line).await {
        Ok(()) => output.flush().await,
        Err(error) => Err(error),
    };
    if let Err(error) = &written
        && !ends.output.is_cancelled()
    {
        tracing::error!(
            "cannot write to stdout: {error}; the session ends, because the client cannot receive answers"
        );
        ends.output.cancel();
        ends.input.cancel();
    }
    written
}

impl<R, W> Transport<RoleServer> for StdioTransport<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (output, raw, ends) = (self.output.clone(), self.raw.clone(), self.ends.clone());
        let answered = match &message {
            ServerJsonRpcMessage::Response(answer) => Some(&answer.id),
            ServerJsonRpcMessage::Error(answer) => answer.id.as_ref(),
            ServerJsonRpcMessage::Request(_) | ServerJsonRpcMessage::Notification(_) => None,
        };
        if let Some(id) = answered {
            self.close_request(id);
        }
        async move { write(&output, &ends, raw.to_json(message)?).await }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let line = self.next_line().await?;
            let bytes = match &line {
                InputLine::Text(line) => line.len(),
                InputLine::TooLong(_) => 0,
            };
            let read = read::read(&line);
            drop(line);
            match read {
                Read::Nothing => {}
                Read::Message(message) => match (self.admit(&message, bytes), *message) {
                    (Ok(()), message) if self.has_request => return Some(message),
                    (Err(refusal), ClientJsonRpcMessage::Request(request)) => {
                        let why = refusal.to_string();
                        let error = ErrorData::new(ErrorCode::INVALID_REQUEST, why, None);
                        self.refuse(Some(request.id), error).await;
                    }
                    (Ok(()) | Err(_), _) => {}
                },
                Read::Refused(id, error) => self.refuse(id, error).await,
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.lock().await.shutdown().await
    }
}

#[cfg(test)]
mod tests;
