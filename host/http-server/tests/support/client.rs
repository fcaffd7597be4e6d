//! A simple HTTP client, with which tests can also send invalid requests.

use std::net::SocketAddr;
use std::time::Duration;

use portcullis_http_server::{Access, AccessRules, Settings};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use crate::echo::Echo;

/// The longest time that a test waits for one step.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits for a future that must complete.
pub async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, what).await.expect("it completes in time")
}

/// A server on a port of its own. It ends with the test.
pub struct TestServer {
    pub address: SocketAddr,
    pub echo: Echo,
    pub shutdown: CancellationToken,
    pub served: tokio::task::JoinHandle<std::io::Result<()>>,
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.shutdown.cancel();
    }
}

/// The default rules with a change.
pub fn access(change: impl FnOnce(&mut AccessRules)) -> Access {
    let mut rules = AccessRules::default();
    change(&mut rules);
    Access::new(rules).expect("the rules are valid")
}

impl TestServer {
    pub async fn start(change: impl FnOnce(&mut Settings)) -> Self {
        let echo = Echo::new();
        let mut settings = Settings::new(echo.raw.clone());
        // What holds for connections on one thread holds for those on several.
        settings.more_threads = 2;
        change(&mut settings);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shutdown = CancellationToken::new();
        let (behind, ended) = (echo.clone(), shutdown.clone());
        let served = tokio::spawn(async move {
            portcullis_http_server::serve(listener, settings, move || behind.clone(), ended).await
        });
        Self { address, echo, shutdown, served }
    }

    pub async fn connect(&self) -> Connection<TcpStream> {
        Connection::new(soon(TcpStream::connect(self.address)).await.unwrap())
    }

    /// Sends one request, on a connection of its own, and reads the whole response.
    pub async fn send(&self, line: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let mut connection = self.connect().await;
        connection.send(line, headers, body).await;
        connection.reply().await
    }

    /// Posts to `/mcp`, with the headers that every client sends unless `headers` contains them.
    pub async fn post(&self, headers: &[(&str, &str)], body: &Value) -> Reply {
        self.send("POST /mcp", headers, &body.to_string()).await
    }

    /// Calls a tool as in MCP 2026-07-28, with the headers of that version.
    pub async fn modern(&self, headers: &[(&str, &str)], name: &str, arguments: Value) -> Reply {
        let mut all = modern_headers(name);
        all.extend(headers);
        self.post(&all, &modern(name, arguments)).await
    }

    /// Opens a session of MCP 2025-11-25, and returns its id.
    pub async fn session(&self, headers: &[(&str, &str)]) -> String {
        let reply = self.post(headers, &initialize("2025-11-25")).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        let id = reply.header("mcp-session-id").expect("a session").to_owned();
        let mut all = vec![("mcp-session-id", id.as_str())];
        all.extend(headers);
        assert_eq!(self.post(&all, &initialized()).await.status, 202);
        id
    }
}

pub fn modern_headers(name: &str) -> Vec<(&str, &str)> {
    let method = ("mcp-method", "tools/call");
    vec![("mcp-protocol-version", "2026-07-28"), method, ("mcp-name", name)]
}

pub fn modern(name: &str, arguments: Value) -> Value {
    let mut call = call(1, name, arguments);
    call["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    call
}

pub fn initialize(version: &str) -> Value {
    json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {
            "protocolVersion": version, "capabilities": {"roots": {}},
            "clientInfo": {"name": "test", "version": "1"},
        },
    })
}

pub fn initialized() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/initialized"})
}

pub fn call(id: i64, name: &str, arguments: Value) -> Value {
    let params = json!({"name": name, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

/// A call that requests progress.
pub fn call_with_progress(id: i64, name: &str, arguments: Value) -> Value {
    let mut call = call(id, name, arguments);
    call["params"]["_meta"] = json!({"progressToken": id});
    call
}

/// A response, and the part of its body that has been read.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// The JSON-RPC message of the body, or the last message of an event stream.
    pub fn message(&self) -> Value {
        let mut data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        let json = data.rfind(|data| !data.is_empty()).unwrap_or(&self.body);
        serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The text of the tool's result.
    pub fn text(&self) -> String {
        let message = self.message();
        let text = message["result"]["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("{message}")).to_owned()
    }
}

/// An event of a stream.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Event {
    pub kind: String,
    pub id: Option<String>,
    pub retry: Option<String>,
    pub data: String,
}

impl Event {
    pub fn message(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// One connection.
pub struct Connection<S> {
    stream: BufReader<S>,
    chunk: Vec<u8>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    pub fn new(stream: S) -> Self {
        Self { stream: BufReader::new(stream), chunk: Vec::new() }
    }

    /// Sends a request. Adds the headers that every client sends, unless `headers` contains them. Empty headers are
    /// left out.
    pub async fn send(&mut self, line: &str, headers: &[(&str, &str)], body: &str) {
        let length = body.len().to_string();
        let defaults = [
            ("host", "localhost"),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("content-length", length.as_str()),
        ];
        let mut head = format!("{line} HTTP/1.1\r\n");
        let missing = |name: &str| headers.iter().all(|(given, _)| *given != name);
        let added = defaults.iter().filter(|(name, _)| missing(name));
        for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()).chain(added) {
            head += &format!("{name}: {value}\r\n");
        }
        self.write(format!("{head}\r\n{body}").as_bytes()).await;
    }

    pub async fn write(&mut self, bytes: &[u8]) {
        // The server may respond and close the connection before it has read all.
        let _cut_off = soon(self.stream.write_all(bytes)).await;
        let _cut_off = soon(self.stream.flush()).await;
    }

    /// Ends the sending direction of the connection.
    pub async fn end(&mut self) {
        let _cut_off = soon(self.stream.shutdown()).await;
    }

    /// Reads the head of a response. `None`: the connection was closed without a response.
    pub async fn head(&mut self) -> Option<Reply> {
        let line = self.line().await?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok())?;
        let mut headers = Vec::new();
        loop {
            let line = self.line().await?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        Some(Reply { status, headers, body: String::new() })
    }

    /// Reads a whole response.
    pub async fn reply(&mut self) -> Reply {
        let mut reply = self.head().await.expect("a response");
        let mut body = Vec::new();
        if reply.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = self.next_chunk().await {
                body.extend(chunk);
            }
        } else if let Some(length) = reply.header("content-length") {
            body = vec![0; length.parse().unwrap()];
            soon(self.stream.read_exact(&mut body)).await.unwrap();
        }
        reply.body = String::from_utf8(body).unwrap();
        reply
    }

    /// The next event of a stream. `None`: the stream has ended.
    pub async fn event(&mut self) -> Option<Event> {
        loop {
            while !self.chunk.windows(2).any(|two| two == b"\n\n") {
                let chunk = self.next_chunk().await?;
                self.chunk.extend(chunk);
            }
            let end = self.chunk.windows(2).position(|two| two == b"\n\n").unwrap() + 2;
            let text: Vec<u8> = self.chunk.drain(..end).collect();
            let mut event = Event::default();
            let text = String::from_utf8(text).unwrap();
            for (name, value) in text.lines().filter_map(|line| line.split_once(':')) {
                let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
                match name {
                    "event" => event.kind = value,
                    "id" => event.id = Some(value),
                    "retry" => event.retry = Some(value),
                    "data" => event.data += &value,
                    _ => {}
                }
            }
            if event != Event::default() {
                return Some(event);
            }
        }
    }

    async fn next_chunk(&mut self) -> Option<Vec<u8>> {
        let size = usize::from_str_radix(&self.line().await?, 16).ok()?;
        let mut chunk = vec![0; size + 2];
        soon(self.stream.read_exact(&mut chunk)).await.ok()?;
        chunk.truncate(size);
        (size > 0).then_some(chunk)
    }

    async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        match soon(self.stream.read_line(&mut line)).await {
            Ok(1..) => Some(line.trim_end().to_owned()),
            Ok(0) | Err(_) => None,
        }
    }
}
