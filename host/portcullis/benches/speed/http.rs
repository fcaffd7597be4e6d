//! A client over HTTP: raw requests on kept connections, one thread, blocking I/O.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Stdio as Pipe};
use std::time::{Duration, Instant};

use crate::requests::{Era, echo, initialize, initialized, require_result};
use crate::server::Server;

/// A server that serves HTTP. It is killed when this is dropped.
pub struct HttpServer {
    child: Child,
    address: String,
    _stderr: BufReader<ChildStderr>,
}

impl HttpServer {
    /// Starts the server and reads the address that it prints.
    pub fn start(server: Server) -> Self {
        let mut child = server
            .over_http()
            .stdin(Pipe::null())
            .stdout(Pipe::null())
            .stderr(Pipe::piped())
            .spawn()
            .expect("the server starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("the stream is a pipe"));
        let address = loop {
            let mut printed = String::new();
            let read = stderr.read_line(&mut printed).expect("the server speaks");
            assert!(read > 0, "the server does not say where it is");
            let address = printed.trim().split_once("http://").map(|(_, address)| address);
            if let Some(address) = address.and_then(|address| address.strip_suffix("/mcp")) {
                break address.to_owned();
            }
        };
        Self { child, address, _stderr: stderr }
    }

    /// Opens a connection. In the legacy era, it has a session of its own.
    pub fn connect(&self, era: Era) -> Connection {
        Connection::open(&self.address, era)
    }

    /// The number of the server's process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let killed = self.child.kill().and_then(|()| self.child.wait());
        killed.expect("a child can be ended");
    }
}

/// One connection of a client.
pub struct Connection {
    stream: BufReader<TcpStream>,
    /// A whole request that calls `echo`.
    echo: Vec<u8>,
}

impl Connection {
    fn open(address: &str, era: Era) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_nodelay(true).expect("the option of a socket can be set");
        let mut connection = Self { stream: BufReader::new(stream), echo: Vec::new() };
        let revision = format!("MCP-Protocol-Version: {era}\r\n");
        let headers = match era {
            Era::Modern => format!("{revision}Mcp-Method: tools/call\r\nMcp-Name: echo\r\n"),
            Era::Legacy => {
                connection.send(&post(address, "", &initialize().to_string()));
                let session = connection.receive().session.expect("the server opens a session");
                let headers = format!("{revision}Mcp-Session-Id: {session}\r\n");
                connection.send(&post(address, &headers, &initialized().to_string()));
                connection.receive();
                headers
            }
        };
        connection.echo = post(address, &headers, &echo(1, era, "echo", "hello").to_string());
        connection
    }

    fn send(&mut self, request: &[u8]) {
        self.stream.get_mut().write_all(request).expect("the server listens");
    }

    /// Calls `echo` and waits for its answer.
    pub fn echo(&mut self) {
        self.begin_echo();
        self.end_echo();
    }

    fn begin_echo(&mut self) {
        self.stream.get_mut().write_all(&self.echo).expect("the server listens");
    }

    fn end_echo(&mut self) {
        require_result(&self.receive().body);
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("the server answers");
        assert!(line.ends_with('\n'), "the server closed the connection");
        line.trim_end().to_owned()
    }

    fn read(&mut self, bytes: usize, body: &mut Vec<u8>) {
        let before = body.len();
        body.resize(before + bytes, 0);
        self.stream.read_exact(&mut body[before..]).expect("the server answers");
    }

    /// Reads a whole response, whose body has a length or is in chunks.
    fn receive(&mut self) -> Response {
        let (mut length, mut session) = (None, None);
        loop {
            let line = self.line();
            if line.is_empty() {
                break;
            }
            let Some((name, value)) = line.split_once(':') else { continue };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().ok();
            }
            if name.eq_ignore_ascii_case("mcp-session-id") {
                session = Some(value.trim().to_owned());
            }
        }
        let mut body = Vec::new();
        match length {
            Some(length) => self.read(length, &mut body),
            None => self.chunks(&mut body),
        }
        Response { session, body }
    }

    fn chunks(&mut self, body: &mut Vec<u8>) {
        loop {
            let length = self.line();
            let length = usize::from_str_radix(&length, 16).expect("a chunk has a length");
            self.read(length, body);
            assert_eq!(self.line(), "", "a chunk ends");
            if length == 0 {
                return;
            }
        }
    }
}

/// The parts of a response that the benchmark looks at.
struct Response {
    session: Option<String>,
    body: Vec<u8>,
}

fn post(address: &str, headers: &str, body: &str) -> Vec<u8> {
    let text = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    text.into()
}

/// The time of this many calls of `echo`, one in flight on each of these connections. The answers are read in turns.
pub fn echo_in_flight(connections: &mut [Connection], calls: u32) -> Duration {
    let began = Instant::now();
    connections.iter_mut().for_each(Connection::begin_echo);
    let rounds = calls as usize / connections.len();
    for round in 1..=rounds {
        for connection in connections.iter_mut() {
            connection.end_echo();
            if round < rounds {
                connection.begin_echo();
            }
        }
    }
    began.elapsed()
}
