//! Tests with many or slow HTTP clients: leaks, and effects on other clients.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::PATIENCE;
use crate::support::home::Home;
use crate::support::http::{self, Message};
use crate::support::process::{descriptors, memory, threads};
use crate::support::wire::serve;

const CONFIG: &str = "[host]\nbundled = false\n[plugins.echo]\n[http]\nsessions = 1000\n\
    connections = 1000\n\
    requests-per-second = 1_000_000\nsession-idle-ms = 1000\n";

const TYPES: [(&str, &str); 2] =
    [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];

fn initialize() -> String {
    let client = json!({"name": "blackbox", "version": "1"});
    let params = json!({"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string()
}

fn echo(id: i64, text: &str) -> String {
    let params = json!({"name": "echo", "arguments": {"text": text}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}

fn post(address: SocketAddr, path: &str, session: Option<&str>, body: &str) -> Message {
    let host = address.to_string();
    let mut headers = vec![("host", host.as_str()), TYPES[0], TYPES[1]];
    headers.extend(session.map(|session| ("mcp-session-id", session)));
    let reply = http::request(address, &format!("POST {path}"), &headers, body.as_bytes());
    reply.expect("an answer")
}

/// Opens a session as soon as there is room for it. Returns the id of the session. For the transport of 2024-11-05,
/// returns the session's endpoint and its stream.
fn open(address: SocketAddr, sse: bool) -> (String, Option<BufReader<TcpStream>>) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        assert!(Instant::now() < deadline, "there is no room, though nobody is there");
        if !sse {
            let reply = post(address, "/mcp", None, &initialize());
            match reply.header("mcp-session-id") {
                Some(session) => return (session.to_owned(), None),
                None => assert_eq!(reply.status(), 503, "{reply:?}"),
            }
            continue;
        }
        let mut stream = http::connect(address);
        let request = format!("GET /sse HTTP/1.1\r\nhost: {address}\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("it listens");
        let mut stream = BufReader::new(stream);
        let head = Message::read_head(&mut stream).expect("an answer");
        if head.status() == 503 {
            continue;
        }
        let mut line = String::new();
        while !line.starts_with("data: ") {
            line.clear();
            assert!(stream.read_line(&mut line).expect("a stream") > 0, "it says where");
        }
        return (line["data: ".len()..].trim().to_owned(), Some(stream));
    }
}

/// Asserts that a call in a new session is answered, whatever other clients do.
fn is_served(address: SocketAddr) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let (session, _) = open(address, false);
        let reply = post(address, "/mcp", Some(&session), &echo(1, "still here"));
        if reply.text().contains("still here") {
            return;
        }
        // On a busy machine, the session may be closed as idle before it is used.
        assert!(Instant::now() < deadline, "{reply:?}");
    }
}

#[test]
fn sessions_that_are_opened_and_dropped_leave_no_descriptors() {
    let home = Home::with(&["echo"], CONFIG);
    let (process, address) = serve(&home, &[]);
    is_served(address);
    let at_first = descriptors(process.id());
    let mut kept = Vec::new();
    // Each round opens as many sessions as there is room for, so the sessions of the round before must have ended.
    for round in 0..3 {
        for number in 0..1000 {
            let (endpoint, stream) = open(address, number % 2 == 1);
            // Some of the sessions are initialized.
            if number % 100 == 1 {
                post(address, &endpoint, None, &initialize());
            }
            drop(stream);
        }
        is_served(address);
        kept.push(memory(process.id()));
        let deadline = Instant::now() + PATIENCE;
        while descriptors(process.id()) > at_first + 16 {
            let open = descriptors(process.id());
            assert!(Instant::now() < deadline, "round {round}: {at_first} before, now {open}");
            std::thread::yield_now();
        }
    }
    let grown = kept[2].saturating_sub(kept[1]);
    assert!(grown < 48_000_000, "it keeps something of each session: {kept:?}");
}

#[test]
fn clients_that_read_nothing_delay_no_other_client() {
    let home = Home::with(&["echo"], CONFIG);
    let (process, address) = serve(&home, &[]);
    is_served(address);
    let (descriptors_before, memory_before) = (descriptors(process.id()), memory(process.id()));
    let large = "x".repeat(500_000);
    let mut slow = Vec::new();
    for sse in [true, false] {
        for _ in 0..4 {
            let (name, stream) = open(address, sse);
            slow.extend(stream.map(BufReader::into_inner));
            let session = (!sse).then_some(name.as_str());
            let path = if sse { &name } else { "/mcp" };
            if sse {
                post(address, path, session, &initialize());
            }
            // The answers are far larger than any buffer, and the client does not read them.
            for id in 1..=30 {
                slow.push(ask(address, path, session, &echo(id, &large)));
            }
        }
    }
    for _ in 0..10 {
        is_served(address);
    }
    let grown = memory(process.id()).saturating_sub(memory_before);
    assert!(grown < 400_000_000, "{grown} bytes for those who read nothing");
    drop(slow);
    let deadline = Instant::now() + PATIENCE;
    while descriptors(process.id()) > descriptors_before + 16 {
        assert!(Instant::now() < deadline, "connections stay open: {}", descriptors(process.id()));
        std::thread::yield_now();
    }
    is_served(address);
}

/// Sends a POST request without reading the response.
fn ask(address: SocketAddr, path: &str, session: Option<&str>, body: &str) -> TcpStream {
    let mut stream = http::connect(address);
    let mut head = format!("POST {path} HTTP/1.1\r\nhost: {address}\r\n");
    for (name, value) in TYPES {
        head += &format!("{name}: {value}\r\n");
    }
    head += &session.map_or(String::new(), |session| format!("mcp-session-id: {session}\r\n"));
    head += &format!("content-length: {}\r\n\r\n", body.len());
    // A server that refuses the request may close the connection before all bytes are sent.
    let _closed = stream.write_all((head + body).as_bytes());
    stream
}

#[test]
fn a_session_above_the_maximum_is_refused_with_503() {
    let home =
        Home::with(&["echo"], "[host]\nbundled = false\n[plugins.echo]\n[http]\nsessions = 2\n");
    let (_process, address) = serve(&home, &[]);
    let first = open(address, true);
    let _second = open(address, false);
    let reply = post(address, "/mcp", None, &initialize());
    assert_eq!(reply.status(), 503, "{reply:?}");
    drop(first);
    // The place of the first session is free once the server has noticed that the session ended.
    let (session, _) = open(address, false);
    let reply = post(address, "/mcp", Some(&session), &echo(1, "in"));
    let reply: Vec<Value> = reply
        .text()
        .lines()
        .filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok())
        .collect();
    assert_eq!(reply[0]["result"]["content"][0]["text"], "in", "{reply:?}");
}

#[test]
fn a_host_serves_connections_on_all_processors() {
    let home = Home::with(&["echo"], CONFIG);
    let (process, address) = serve(&home, &[]);
    let (session, _) = open(address, false);
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(post(address, "/mcp", Some(&session), &initialized.to_string()).status(), 202);
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    // The first thread of the process serves connections, too.
    assert_eq!(threads(process.id(), "connections"), processors.min(8) - 1);
    // The calls of one session come on connections of all threads.
    for id in 1..=2 * i64::try_from(processors).expect("a small number") {
        let reply = post(address, "/mcp", Some(&session), &echo(id, "hello"));
        assert!(reply.text().contains("hello"), "{reply:?}");
    }
}
