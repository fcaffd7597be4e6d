//! The stdio transport of MCP: one message per line. Every request is answered, even one that cannot be parsed.
//!
//! The line transport of rmcp ignores what it cannot parse, so that the client waits for an answer in vain.

mod input;
mod read;
mod tool_call;

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use portcullis_result_passthrough::Raw;
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

use input::{Input, Line};
use read::Read;

/// The most bytes of all unanswered requests together. A request beyond that is refused.
pub const MAX_UNANSWERED_BYTES: usize = 4 * MAX_LINE;

/// Signals that an end of the connection has closed.
#[derive(Debug, Clone, Default)]
pub struct EndSignals {
    /// Cancelled when the input has ended. The host can cancel it to stop reading.
    pub input: CancellationToken,
    /// Cancelled when the output can no longer be written.
    pub output: CancellationToken,
}

/// Why a request is refused before it is handled.
#[derive(Debug, thiserror::Error)]
enum AdmissionError {
    #[error("a request with this id still waits for its answer")]
    SameId,
    #[error(
        "requests of {0} bytes wait for their answers, and {MAX_UNANSWERED_BYTES} are the most: \
         try again later"
    )]
    TooManyBytes(usize),
}

/// The server's side of a connection, with one message per line.
pub struct StdioTransport<R, W> {
    input: Input<R>,
    output: Arc<Mutex<W>>,
    raw: Raw,
    ends: EndSignals,
    /// Whether a request was received. rmcp ends the session if a notification is the first message.
    has_request: bool,
    /// The size of each unanswered request. rmcp answers only one of two requests with the same id.
    unanswered: HashMap<RequestId, usize>,
    /// The bytes of all unanswered requests.
    unanswered_bytes: usize,
}

impl<R: AsyncRead + Unpin + Send, W: AsyncWrite + Unpin + Send + 'static> StdioTransport<R, W> {
    /// Reads from `input` and writes to `output`. Results that were wrapped with `raw` are written unchanged.
    pub fn new(input: R, output: W, raw: Raw, ends: EndSignals) -> Self {
        let (input, output) = (Input::new(input), Arc::new(Mutex::new(output)));
        Self {
            input,
            output,
            raw,
            ends,
            has_request: false,
            unanswered: HashMap::new(),
            unanswered_bytes: 0,
        }
    }

    /// The next line. `None`: the input has ended, cannot be read, or reading was stopped.
    async fn line(&mut self) -> Option<Line> {
        let line = match self.ends.input.run_until_cancelled(self.input.next()).await {
            None => return None,
            Some(Ok(line)) => line,
            Some(Err(error)) => {
                tracing::error!("reading stdin: {error}");
                None
            }
        };
        if line.is_none() {
            self.ends.input.cancel();
        }
        line
    }

    /// Admits a message of this size, and counts it if it is a request.
    ///
    /// # Errors
    ///
    /// The message is a request that has to be refused.
    fn admit(
        &mut self,
        message: &ClientJsonRpcMessage,
        bytes: usize,
    ) -> Result<(), AdmissionError> {
        match message {
            ClientJsonRpcMessage::Request(request) => {
                self.has_request = true;
                if self.unanswered.contains_key(&request.id) {
                    return Err(AdmissionError::SameId);
                }
                if self.unanswered_bytes + bytes > MAX_UNANSWERED_BYTES {
                    return Err(AdmissionError::TooManyBytes(self.unanswered_bytes));
                }
                self.unanswered_bytes += bytes;
                self.unanswered.insert(request.id.clone(), bytes);
            }
            ClientJsonRpcMessage::Notification(told) => {
                // A cancelled request gets no answer.
                if let ClientNotification::CancelledNotification(told) = &told.notification
                    && let Some(id) = &told.params.request_id
                {
                    self.close_request(id);
                }
            }
            ClientJsonRpcMessage::Response(_) | ClientJsonRpcMessage::Error(_) => {}
        }
        Ok(())
    }

    /// Forgets a request that is answered or cancelled.
    fn close_request(&mut self, id: &RequestId) {
        self.unanswered_bytes -= self.unanswered.remove(id).unwrap_or_default();
    }

    /// Answers with an error.
    async fn refuse(&mut self, id: Option<RequestId>, error: ErrorData) {
        // The type of rmcp omits an unknown id, but JSON-RPC demands `null`.
        let id = id.map_or(Value::Null, |id| serde_json::json!(id));
        let reply = serde_json::json!({"jsonrpc": "2.0", "id": id, "error": error});
        let (output, ends) = (self.output.clone(), self.ends.clone());
        let line = reply.to_string().into_bytes();
        // rmcp may drop this future. The task writes the whole line even then.
        let writing = tokio::spawn(async move { write(&output, &ends, line).await });
        // `write` has logged the error.
        let _logged = writing.await;
    }
}

/// Writes a line. If that fails, both ends of the connection are closed.
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
        tracing::error!("writing stdout: {error}: nobody gets the answers, so this is the end");
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
            let line = self.line().await?;
            let bytes = match &line {
                Line::Text(line) => line.len(),
                Line::TooLong(_) => 0,
            };
            let read = read::read(&line);
            drop(line);
            match read {
                Read::Nothing => {}
                Read::Message(message) => match (self.admit(&message, bytes), *message) {
                    (Ok(()), message) if self.has_request => return Some(message),
                    (Err(error), ClientJsonRpcMessage::Request(request)) => {
                        let code = ErrorCode::INVALID_REQUEST;
                        let error = ErrorData::new(code, error.to_string(), None);
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
