//! A minimal HTTP client and parser, which can send messages that no regular client would send.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::{Value, json};

use super::PATIENCE;

/// An HTTP message: first line, headers with names in lower case, and body.
#[derive(Debug, Default)]
pub struct Message {
    /// The request or status line.
    pub line: String,
    /// Names and values of the headers.
    pub headers: Vec<(String, String)>,
    /// The whole body.
    pub body: Vec<u8>,
}

impl Message {
    /// The status of a response.
    pub fn status(&self) -> u16 {
        let status = self.line.split(' ').nth(1).and_then(|status| status.parse().ok());
        status.unwrap_or_else(|| panic!("{:?} is no status line", self.line))
    }

    /// The first header of that name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Reads a message. `None`: the other side sends none.
    pub fn read(from: &mut impl BufRead) -> Option<Self> {
        let mut message = Self::read_head(from)?;
        message.read_body(from);
        Some(message)
    }

    /// Reads a message without its body.
    pub fn read_head(from: &mut impl BufRead) -> Option<Self> {
        let line = read_line(from)?;
        let mut message = Self { line, ..Self::default() };
        loop {
            let line = read_line(from)?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':')?;
            message.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        Some(message)
    }

    fn read_body(&mut self, from: &mut impl BufRead) {
        if self.header("transfer-encoding").is_some_and(|coding| coding.contains("chunked")) {
            while let Some(size) = read_line(from) {
                let size = size.split(';').next().unwrap_or_default().trim();
                let size = usize::from_str_radix(size, 16).unwrap_or(0);
                let mut chunk = vec![0; size];
                if from.read_exact(&mut chunk).is_err() {
                    return;
                }
                self.body.extend(chunk);
                let _end_of_chunk = read_line(from);
                if size == 0 {
                    return;
                }
            }
        } else if let Some(length) = self.header("content-length") {
            let length: usize = length.parse().unwrap_or(0);
            self.body = vec![0; length];
            if from.read_exact(&mut self.body).is_err() {
                self.body.clear();
            }
        } else if self.line.starts_with("HTTP/") && !matches!(self.status(), 202 | 204 | 304) {
            let _cut_off = from.read_to_end(&mut self.body);
        }
    }
}

fn read_line(from: &mut impl BufRead) -> Option<String> {
    let mut line = Vec::new();
    match from.read_until(b'\n', &mut line) {
        Ok(1..) => Some(String::from_utf8_lossy(&line).trim_end().to_owned()),
        Ok(0) | Err(_) => None,
    }
}

/// A connection with a time limit for reading.
pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("somebody listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time");
    stream.set_nodelay(true).expect("a connection");
    stream
}

/// Sends bytes unchanged and reads the response. `None`: the connection was closed without one.
pub fn exchange(address: SocketAddr, bytes: &[u8]) -> Option<Message> {
    let mut stream = connect(address);
    // A server may respond and close before it has read everything.
    let _cut_off = stream.write_all(bytes);
    Message::read(&mut BufReader::new(stream))
}

/// Sends a request with these headers, and reads the response.
pub fn request(
    address: SocketAddr,
    line: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Option<Message> {
    let mut head = format!("{line} HTTP/1.1\r\n");
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += &format!("content-length: {}\r\nconnection: close\r\n\r\n", body.len());
    exchange(address, &[head.as_bytes(), body].concat())
}

/// Sends a request of MCP 2026-07-28 with the headers that it requires, and reads the response.
pub fn modern(address: SocketAddr, method: &str, mut params: Value) -> Message {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let (host, name) =
        (address.to_string(), params["name"].as_str().unwrap_or_default().to_owned());
    let mut headers = vec![
        ("host", host.as_str()),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", method),
    ];
    if !name.is_empty() {
        headers.push(("mcp-name", &name));
    }
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    request(address, "POST /mcp", &headers, body.as_bytes()).expect("an answer")
}
