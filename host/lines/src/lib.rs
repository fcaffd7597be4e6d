//! MCP as lines, a message a line: every line is answered that can be.
//!
//! rmcp's own line transport drops what it cannot read without a word, and a client then waits
//! until it gives up.

mod quick;

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use portcullis_raw::Raw;
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// Longest line that is read, in bytes.
pub const MAX_LINE: usize = 16 * 1024 * 1024;

/// A server's side of a connection: messages as lines.
pub struct Lines<R, W> {
    input: BufReader<R>,
    output: Arc<Mutex<W>>,
    raw: Raw,
    ended: CancellationToken,
    /// Whether a request has come: rmcp takes a notification before it for the end of the world.
    begun: bool,
    /// The requests without an answer: of two with one id, rmcp would answer only one.
    open: HashSet<RequestId>,
}

impl<R: AsyncRead + Unpin + Send, W: AsyncWrite + Unpin + Send + 'static> Lines<R, W> {
    /// Reads from `input` and writes to `output`, results that were wrapped with `raw` as they are.
    /// `ended` fires when there is nothing more to read, or nobody left to write to.
    pub fn new(input: R, output: W, raw: Raw, ended: CancellationToken) -> Self {
        let input = BufReader::with_capacity(64 * 1024, input);
        let output = Arc::new(Mutex::new(output));
        Self { input, output, raw, ended, begun: false, open: HashSet::new() }
    }

    /// The next line that is not too long. `None`: there is none.
    async fn line(&mut self) -> io::Result<Option<Line>> {
        let mut line = Vec::new();
        let mut too_long = false;
        loop {
            let chunk = self.input.fill_buf().await?;
            if chunk.is_empty() {
                // A last line without its end was cut off.
                return Ok(None);
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let part = &chunk[..end.unwrap_or(chunk.len())];
            too_long |= line.len() + part.len() > MAX_LINE;
            if too_long {
                line = Vec::new();
            } else {
                line.extend_from_slice(part);
            }
            let used = end.map_or(chunk.len(), |end| end + 1);
            self.input.consume(used);
            if end.is_some() {
                return Ok(Some(if too_long { Line::TooLong } else { Line::Text(line) }));
            }
        }
    }

    /// Whether a request may begin. One whose id still waits for an answer may not.
    fn admits(&mut self, message: &ClientJsonRpcMessage) -> bool {
        match message {
            ClientJsonRpcMessage::Request(request) => {
                self.begun = true;
                self.open.insert(request.id.clone())
            }
            ClientJsonRpcMessage::Notification(told) => {
                // What is cancelled is not answered.
                if let ClientNotification::CancelledNotification(told) = &told.notification
                    && let Some(id) = &told.params.request_id
                {
                    self.open.remove(id);
                }
                true
            }
            ClientJsonRpcMessage::Response(_) | ClientJsonRpcMessage::Error(_) => true,
        }
    }

    async fn refuse(&mut self, id: Option<RequestId>, error: ErrorData) -> io::Result<()> {
        // Not by rmcp's type, which leaves an absent id out: JSON-RPC wants `null` there.
        let id = id.map_or(Value::Null, |id| serde_json::json!(id));
        let reply = serde_json::json!({"jsonrpc": "2.0", "id": id, "error": error});
        write(&self.output, reply.to_string().into_bytes()).await
    }
}

enum Line {
    Text(Vec<u8>),
    TooLong,
}

async fn write<W: AsyncWrite + Unpin>(output: &Mutex<W>, mut line: Vec<u8>) -> io::Result<()> {
    line.push(b'\n');
    let mut output = output.lock().await;
    output.write_all(&line).await?;
    output.flush().await
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (output, raw) = (self.output.clone(), self.raw.clone());
        let answered = match &message {
            ServerJsonRpcMessage::Response(answer) => Some(&answer.id),
            ServerJsonRpcMessage::Error(answer) => answer.id.as_ref(),
            ServerJsonRpcMessage::Request(_) | ServerJsonRpcMessage::Notification(_) => None,
        };
        if let Some(id) = answered {
            self.open.remove(id);
        }
        async move { write(&output, raw.to_json(message)?).await }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let line = match self.line().await {
                Ok(Some(line)) => line,
                Ok(None) => {
                    self.ended.cancel();
                    return None;
                }
                Err(error) => {
                    tracing::error!("reading stdin: {error}");
                    self.ended.cancel();
                    return None;
                }
            };
            let refused = match read(line) {
                Read::Nothing => continue,
                Read::Message(message) => match (self.admits(&message), *message) {
                    (true, message) if self.begun => return Some(message),
                    (false, ClientJsonRpcMessage::Request(request)) => {
                        let why = "a request with this id still waits for its answer";
                        let error = ErrorData::new(ErrorCode::INVALID_REQUEST, why, None);
                        self.refuse(Some(request.id), error).await
                    }
                    (true | false, _) => continue,
                },
                Read::Refused(id, error) => self.refuse(id, error).await,
            };
            if let Err(error) = refused {
                tracing::error!("writing stdout: {error}");
                self.ended.cancel();
                return None;
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.lock().await.shutdown().await
    }
}

/// What a line is.
enum Read {
    Nothing,
    Message(Box<ClientJsonRpcMessage>),
    Refused(Option<RequestId>, ErrorData),
}

fn read(line: Line) -> Read {
    let line = match line {
        Line::Text(line) => line,
        Line::TooLong => {
            let message = format!("a message may have {MAX_LINE} bytes");
            return Read::Refused(None, ErrorData::new(ErrorCode::INVALID_REQUEST, message, None));
        }
    };
    let line = line.trim_ascii();
    if line.is_empty() {
        return Read::Nothing;
    }
    let message = quick::tool_call(line).map_or_else(|| serde_json::from_slice(line), Ok);
    let error = match message {
        Ok(message) => return Read::Message(Box::new(message)),
        Err(error) => error,
    };
    match serde_json::from_slice::<Value>(line) {
        Err(error) => {
            let message = format!("this is no JSON: {error}");
            Read::Refused(None, ErrorData::new(ErrorCode::PARSE_ERROR, message, None))
        }
        Ok(value) => {
            let message = if value.is_array() {
                "batches are not part of this protocol".to_owned()
            } else {
                format!("this is no JSON-RPC message: {error}")
            };
            // A notification or an answer of the wrong form is nobody's question.
            if value.get("method").is_some() && value.get("id").is_none() {
                tracing::warn!("a notification was not understood: {message}");
                return Read::Nothing;
            }
            let id = value.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
            Read::Refused(id, ErrorData::new(ErrorCode::INVALID_REQUEST, message, None))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(line: &str) -> (Option<RequestId>, i32) {
        match read(Line::Text(line.into())) {
            Read::Refused(id, error) => (id, error.code.0),
            Read::Nothing | Read::Message(_) => panic!("{line} is refused"),
        }
    }

    #[test]
    fn what_cannot_be_read_is_answered_with_the_right_code() {
        for line in ["{", "nul", "{\"a\":1e400}", "\"\\ud800\"", &"[".repeat(100_000)] {
            assert_eq!(refused(line), (None, -32700), "{}", &line[..line.len().min(20)]);
        }
        for line in ["[]", "1", "{}", r#"{"jsonrpc":"1.0","id":null,"method":"ping"}"#] {
            assert_eq!(refused(line), (None, -32600), "{line}");
        }
        let (id, code) = refused(r#"{"id":7,"method":"ping"}"#);
        assert_eq!((id, code), (Some(RequestId::Number(7)), -32600));
        assert!(matches!(read(Line::Text(b"  \r".to_vec())), Read::Nothing));
        assert!(matches!(read(Line::TooLong), Read::Refused(None, _)));
    }

    #[tokio::test]
    async fn a_line_too_long_is_refused_and_the_next_one_read() {
        let long = "x".repeat(MAX_LINE + 1);
        let input = format!("{long}\n{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}}\n");
        let (output, mut written) = tokio::io::duplex(4096);
        let ended = CancellationToken::new();
        let raw = Raw::new().unwrap();
        let mut lines = Lines::new(io::Cursor::new(input), output, raw, ended.clone());
        let message = lines.receive().await;
        assert!(matches!(message, Some(ClientJsonRpcMessage::Request(_))));
        assert!(lines.receive().await.is_none());
        assert!(ended.is_cancelled());
        drop(lines);
        let mut said = String::new();
        tokio::io::AsyncReadExt::read_to_string(&mut written, &mut said).await.unwrap();
        assert!(said.contains("\"id\":null") && said.contains("-32600"), "{said}");
    }

    #[tokio::test]
    async fn a_wrapped_result_is_written_as_it_is() {
        let raw = Raw::new().unwrap();
        let (output, mut written) = tokio::io::duplex(4096);
        let ended = CancellationToken::new();
        let mut lines = Lines::new(tokio::io::empty(), output, raw.clone(), ended);
        let mut result = rmcp::model::CallToolResult::success(vec![]);
        result.meta = Some(raw.wrap(serde_json::json!({"content": [], "unknown": 1})));
        let message = ServerJsonRpcMessage::response(result.into(), RequestId::Number(3));
        lines.send(message).await.unwrap();
        drop(lines);
        let mut said = String::new();
        tokio::io::AsyncReadExt::read_to_string(&mut written, &mut said).await.unwrap();
        let expected = r#"{"jsonrpc":"2.0","id":3,"result":{"content":[],"unknown":1}}"#;
        assert_eq!(said, format!("{expected}\n"));
    }
}
