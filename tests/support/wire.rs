//! Sends the same messages over every transport: stdio and both HTTP transports.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use serde_json::{Value, json};

use super::PATIENCE;
use super::client::Era;
use super::home::Home;
use super::http;
use super::process::Process;

/// A transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// Lines on stdin and stdout.
    Stdio,
    /// Streamable HTTP: responses as JSON, or as events if there is more than a response.
    Http,
    /// HTTP with server-sent events, of revision 2024-11-05.
    Sse,
}

impl Transport {
    /// All transports.
    pub const ALL: [Self; 3] = [Self::Stdio, Self::Http, Self::Sse];

    /// Whether the transport supports this era of MCP.
    pub fn speaks(self, era: Era) -> bool {
        self != Self::Sse || era == Era::Legacy
    }
}

/// A client's connection to a server of its own.
pub struct Wire {
    way: Way,
    received: Receiver<Value>,
}

enum Way {
    Stdio(Process),
    Http(Http),
    Sse(Sse),
}

struct Http {
    _process: Process,
    address: SocketAddr,
    era: Era,
    session: Option<String>,
    sender: Sender<Value>,
    /// The connections of open requests.
    open: HashMap<i64, TcpStream>,
}

struct Sse {
    _process: Process,
    address: SocketAddr,
    endpoint: String,
}

/// Starts an HTTP server in this home, and returns its address.
pub fn serve(home: &Home, more: &[&str]) -> (Process, SocketAddr) {
    let arguments = [&["serve", "--http", "127.0.0.1:0"], more].concat();
    let process = Process::start(&mut home.command(&arguments));
    let said = process.hear("/mcp\n");
    let address = said.split_once("://").and_then(|(_, rest)| rest.split_once("/mcp\n"));
    let address = address.and_then(|(address, _)| address.parse().ok()).expect("an address");
    (process, address)
}

impl Wire {
    /// Starts a server in this home, and connects.
    pub fn open(home: &Home, transport: Transport, era: Era) -> Self {
        let (sender, received) = channel();
        let way = match transport {
            Transport::Stdio => Way::Stdio(Process::start(&mut home.command(&["serve"]))),
            Transport::Http => {
                let (process, address) = serve(home, &[]);
                let (session, open) = (None, HashMap::new());
                Way::Http(Http { _process: process, address, era, session, sender, open })
            }
            Transport::Sse => {
                let (process, address) = serve(home, &[]);
                let (endpoints, endpoint) = channel();
                let stream = post(address, "GET /sse", &[], "");
                let pass = move |kind: &str, data: &str| match kind {
                    "endpoint" => drop(endpoints.send(data.to_owned())),
                    _ => drop(sender.send(parse(data))),
                };
                thread::spawn(move || read_reply(stream, pass));
                let endpoint = endpoint.recv_timeout(PATIENCE).expect("the first event is where");
                Way::Sse(Sse { _process: process, address, endpoint })
            }
        };
        Self { way, received }
    }

    /// Sends a message.
    pub fn send(&mut self, message: &Value) {
        match &mut self.way {
            Way::Stdio(process) => process.write(format!("{message}\n").as_bytes()),
            Way::Http(http) => http.send(message),
            Way::Sse(sse) => {
                let line = format!("POST {}", sse.endpoint);
                let types = [("content-type", "application/json")];
                let host = sse.address.to_string();
                let headers = [types[0], ("host", &host)];
                let reply =
                    http::request(sse.address, &line, &headers, message.to_string().as_bytes());
                assert_eq!(reply.expect("an answer").status(), 202);
            }
        }
    }

    /// The next message of the server.
    pub fn receive(&mut self) -> Value {
        if let Way::Stdio(process) = &mut self.way {
            return parse(&process.line().expect("the server goes on"));
        }
        self.received.recv_timeout(PATIENCE).expect("something comes")
    }

    /// Cancels a request, in the way of this transport and era.
    pub fn cancel(&mut self, id: i64) {
        if let Way::Http(http) = &mut self.way
            && http.era == Era::Modern
        {
            let stream = http.open.remove(&id).expect("it is on its way");
            return stream.shutdown(Shutdown::Both).expect("it is open");
        }
        let params = json!({"requestId": id});
        let method = "notifications/cancelled";
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }
}

impl Http {
    fn send(&mut self, message: &Value) {
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        let types = "application/json, text/event-stream";
        let mut headers = vec![("content-type", "application/json"), ("accept", types)];
        headers.extend(self.session.as_deref().map(|session| ("mcp-session-id", session)));
        let name = ["name", "uri"].iter().find_map(|key| message["params"][key].as_str());
        if self.era == Era::Modern {
            headers.push(("mcp-protocol-version", self.era.version()));
            headers.push(("mcp-method", &method));
            if matches!(method.as_str(), "tools/call" | "prompts/get" | "resources/read") {
                headers.extend(name.map(|name| ("mcp-name", name)));
            }
        }
        let stream = post(self.address, "POST /mcp", &headers, &message.to_string());
        if let Some(id) = message["id"].as_i64().filter(|_| !method.is_empty()) {
            self.open.insert(id, stream.try_clone().expect("a connection"));
        }
        let sender = self.sender.clone();
        let pass = move |_: &str, data: &str| drop(sender.send(parse(data)));
        if method != "initialize" {
            thread::spawn(move || read_reply(stream, pass));
            return;
        }
        let head = read_reply(stream, pass);
        self.session = head.header("mcp-session-id").map(str::to_owned);
        // Messages other than responses come on a stream of their own.
        let session = self.session.clone().expect("a session");
        let headers = [("accept", types), ("mcp-session-id", session.as_str())];
        let mut stream = BufReader::new(post(self.address, "GET /mcp", &headers, ""));
        let head = http::Message::read_head(&mut stream).expect("an answer");
        assert_eq!(head.status(), 200, "{head:?}");
        let sender = self.sender.clone();
        let pass = move |_: &str, data: &str| drop(sender.send(parse(data)));
        thread::spawn(move || read_body(&head, stream, pass));
    }
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("this is no JSON: {error}: {text}"))
}

/// Sends a request without waiting for the response.
fn post(address: SocketAddr, line: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
    let mut stream = http::connect(address);
    let mut head = format!("{line} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n");
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += &format!("content-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(head.as_bytes()).expect("the server listens");
    stream
}

/// Reads a response and passes on its content as it arrives: events, or one document.
fn read_reply(stream: TcpStream, pass: impl FnMut(&str, &str)) -> http::Message {
    let mut reader = BufReader::new(stream);
    let head = http::Message::read_head(&mut reader).unwrap_or_default();
    read_body(&head, reader, pass);
    head
}

fn read_body(head: &http::Message, reader: BufReader<TcpStream>, mut pass: impl FnMut(&str, &str)) {
    let is = |name: &str, value: &str| head.header(name).is_some_and(|all| all.contains(value));
    let mut body: Box<dyn BufRead> = if is("transfer-encoding", "chunked") {
        Box::new(BufReader::new(Chunks { from: reader, left: 0 }))
    } else {
        let length = head.header("content-length").and_then(|length| length.parse().ok());
        Box::new(reader.take(length.unwrap_or(u64::MAX)))
    };
    if !is("content-type", "text/event-stream") {
        let mut text = String::new();
        let _cut_off = body.read_to_string(&mut text);
        if !text.is_empty() {
            pass("", &text);
        }
        return;
    }
    let (mut kind, mut line) = (String::new(), String::new());
    while body.read_line(&mut line).is_ok_and(|length| length > 0) {
        match line.trim_end().split_once(':') {
            Some(("event", of)) => of.trim().clone_into(&mut kind),
            Some(("data", data)) if !data.trim().is_empty() => pass(&kind, data.trim()),
            Some(_) => {}
            None => kind.clear(),
        }
        line.clear();
    }
}

/// Decodes a chunked body.
struct Chunks<R> {
    from: R,
    left: usize,
}

impl<R: BufRead> Read for Chunks<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.left == 0 {
            let mut line = String::new();
            while line.trim().is_empty() {
                line.clear();
                if self.from.read_line(&mut line)? == 0 {
                    return Ok(0);
                }
            }
            let size = line.split(';').next().unwrap_or_default().trim();
            self.left = usize::from_str_radix(size, 16).map_err(std::io::Error::other)?;
        }
        let most = buffer.len().min(self.left);
        let read = self.from.read(&mut buffer[..most])?;
        self.left -= read;
        Ok(read)
    }
}
