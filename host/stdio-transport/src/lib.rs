//! MCP as lines, a message a line: every request is answered, also one that cannot be read.
//!
//! rmcp's own line transport drops what it cannot read without a word, and a client then waits
//! until it gives up.

mod input;
mod quick;
mod read;

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

/// The requests without an answer may have so many bytes together. One request more is refused.
pub const MAX_OPEN: usize = 4 * MAX_LINE;

/// The two ways in which a connection ends.
#[derive(Debug, Clone, Default)]
pub struct EndSignals {
    /// Fires when there is nothing more to read. Cancelled by another, it stops the reading.
    pub input: CancellationToken,
    /// Fires when nobody is there to read what is written.
    pub output: CancellationToken,
}

/// A server's side of a connection: messages as lines.
pub struct StdioTransport<R, W> {
    input: Input<R>,
    output: Arc<Mutex<W>>,
    raw: Raw,
    ends: EndSignals,
    /// Whether a request has come: rmcp ends the session at a notification before it.
    begun: bool,
    /// The requests without an answer, with their bytes: of two with one id, rmcp would answer only one.
    open: HashMap<RequestId, usize>,
    /// All their bytes.
    open_bytes: usize,
}

impl<R: AsyncRead + Unpin + Send, W: AsyncWrite + Unpin + Send + 'static> StdioTransport<R, W> {
    /// Reads from `input` and writes to `output`, results that were wrapped with `raw` as they are.
    pub fn new(input: R, output: W, raw: Raw, ends: EndSignals) -> Self {
        let (input, output) = (Input::new(input), Arc::new(Mutex::new(output)));
        Self { input, output, raw, ends, begun: false, open: HashMap::new(), open_bytes: 0 }
    }

    /// The next line that is there, unless somebody stops the reading. `None`: there is none.
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

    /// Whether a message of so many bytes may come in.
    ///
    /// # Errors
    ///
    /// Of a request: why it may not begin.
    fn admit(&mut self, message: &ClientJsonRpcMessage, bytes: usize) -> Result<(), String> {
        match message {
            ClientJsonRpcMessage::Request(request) => {
                self.begun = true;
                if self.open.contains_key(&request.id) {
                    return Err("a request with this id still waits for its answer".to_owned());
                }
                if self.open_bytes + bytes > MAX_OPEN {
                    return Err(format!(
                        "requests of {} bytes wait for their answers, and {MAX_OPEN} are the most: \
                         try again later",
                        self.open_bytes
                    ));
                }
                self.open_bytes += bytes;
                self.open.insert(request.id.clone(), bytes);
            }
            ClientJsonRpcMessage::Notification(told) => {
                // What is cancelled is not answered.
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

    fn close_request(&mut self, id: &RequestId) {
        self.open_bytes -= self.open.remove(id).unwrap_or_default();
    }

    async fn refuse(&mut self, id: Option<RequestId>, error: ErrorData) {
        // Not by rmcp's type, which leaves an absent id out: JSON-RPC wants `null` there.
        let id = id.map_or(Value::Null, |id| serde_json::json!(id));
        let reply = serde_json::json!({"jsonrpc": "2.0", "id": id, "error": error});
        let (output, ends) = (self.output.clone(), self.ends.clone());
        let line = reply.to_string().into_bytes();
        // In a task of its own: rmcp may drop this future, and half a line must not stay half.
        let writing = tokio::spawn(async move { write(&output, &ends, line).await });
        // Its error has been told.
        let _told = writing.await;
    }
}

/// Writes a line. Where nobody reads it, that is the end.
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
                    (Ok(()), message) if self.begun => return Some(message),
                    (Err(why), ClientJsonRpcMessage::Request(request)) => {
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
