//! Tests of the limits over HTTP: clients without a token do not keep out a client with the token, and one principal
//! cannot open all sessions.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::home::Home;
use crate::support::http;
use crate::support::process::Process;
use crate::support::wire::serve;

const CONFIG: &str = "[host]\nbundled = false\n[plugins.echo]\n";
const TOKEN: &str = "0123456789abcdef-token";

/// A server that requires a token.
fn guarded(config: &str) -> (Home, Process, SocketAddr) {
    let home = Home::with(&["echo"], &format!("{CONFIG}[http]\n{config}"));
    let file = home.path().join("token");
    std::fs::write(&file, TOKEN).expect("a home");
    let file = file.display().to_string();
    let (process, address) = serve(&home, &["--token-file", &file]);
    (home, process, address)
}

/// Calls a tool in the era without sessions, and returns the status. `None`: the connection was closed.
fn call(address: SocketAddr, token: Option<&str>) -> Option<u16> {
    let params = json!({
        "name": "echo", "arguments": {"text": "in"},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let extra = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "echo"),
    ];
    post(address, token, &extra, &body.to_string())
}

fn post(
    address: SocketAddr,
    token: Option<&str>,
    extra: &[(&str, &str)],
    body: &str,
) -> Option<u16> {
    let host = address.to_string();
    let bearer = token.map(|token| format!("Bearer {token}"));
    let mut headers = vec![
        ("host", host.as_str()),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    headers.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
    headers.extend(extra);
    http::request(address, "POST /mcp", &headers, body.as_bytes()).map(|reply| reply.status())
}

#[test]
fn a_flood_without_a_token_does_not_affect_clients_with_the_token() {
    let (_home, process, address) = guarded("requests-per-second = 100\n");
    assert_eq!(call(address, Some(TOKEN)), Some(200));
    let over = Arc::new(AtomicBool::new(false));
    let refused = Arc::new(AtomicUsize::new(0));
    let strangers: Vec<_> = (0..12)
        .map(|number| {
            let (over, refused) = (over.clone(), refused.clone());
            std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    let wrong = (number % 2 == 0).then_some("a-wrong-token-of-length");
                    match call(address, wrong) {
                        Some(429) => drop(refused.fetch_add(1, Ordering::Relaxed)),
                        Some(status) => assert_eq!(status, 401),
                        None => {}
                    }
                }
            })
        })
        .collect();
    // Waits until the clients without a valid token have used up their limit.
    while refused.load(Ordering::Relaxed) < 10 {
        std::thread::yield_now();
    }
    let served = (0..60).filter(|_| call(address, Some(TOKEN)) == Some(200)).count();
    over.store(true, Ordering::Relaxed);
    for stranger in strangers {
        stranger.join().expect("it is refused in good order");
    }
    assert!(served >= 57, "its holder was served {served} of 60 times");
    // Refusals are logged, with about one line per second at most.
    let said = process.hear("refused in the last second");
    assert!(said.contains("a request of 127.0.0.1 was refused"), "{said}");
    let lines = said.lines().filter(|line| line.contains("refused")).count();
    assert!(lines < 60, "{lines} lines: {said}");
    assert!(!said.contains("a-wrong-token"), "{said}");
}

#[test]
fn idle_connections_do_not_keep_other_clients_out() {
    let (_home, _process, address) = guarded("");
    let mut idle: Vec<TcpStream> = Vec::new();
    // Opens as many connections as the maximum, three times, and closes none.
    for _ in 0..3 {
        idle.extend((0..256).map(|_| http::connect(address)));
        let began = Instant::now();
        assert_eq!(call(address, Some(TOKEN)), Some(200));
        let time = began.elapsed();
        assert!(time < Duration::from_secs(1), "its holder had to wait for {time:?}");
    }
}

#[test]
fn sessions_are_limited_for_each_principal() {
    let (_home, _process, address) = guarded("sessions = 6\n");
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "blackbox", "version": "1"},
    });
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let open = || post(address, Some(TOKEN), &[], &body.to_string());
    let opened: Vec<_> = (0..6).map(|_| open()).collect();
    assert_eq!(opened[..3], [Some(200); 3]);
    assert_eq!(opened[3..], [Some(503); 3]);
    // The modern era needs no session.
    assert_eq!(call(address, Some(TOKEN)), Some(200));
    let (_home, _process, address) = guarded("sessions = 6\nsessions-per-principal = 5\n");
    let opened = (0..6).filter(|_| post(address, Some(TOKEN), &[], &body.to_string()) == Some(200));
    assert_eq!(opened.count(), 5);
}
