//! Tests of `[cluster]` without a server of the state: the configuration, and what happens while the server is away. Tests
//! with a server are in `host/cluster-state/tests` and `tests/cluster`.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::home::Home;
use crate::support::http;
use crate::support::wire::serve;

/// The configuration of a host whose server of the state is at this port.
fn config(home: &Home, port: u16) -> String {
    let keys = home.file("keys");
    std::fs::write(&keys, "a key that all hosts have, 0123456789\n")
        .expect("a home can be written");
    format!(
        "[host]\nbundled = false\n[http]\nstate-key-file = {keys:?}\n\
         [cluster]\nstate = \"redis://127.0.0.1:{port}\"\n\
         [plugins.keeper.grants.store]\nbytes = 10_000\n\
         [plugins.keeper.grants.cache]\nbytes = 10_000\n"
    )
}

/// A port of this machine at which nobody listens.
fn unused_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.local_addr().expect("it has an address").port()
}

#[test]
fn a_cluster_needs_keys_that_can_be_read() {
    let home = Home::with(&["keeper"], "");
    home.configure("[cluster]\nstate = \"redis://127.0.0.1\"\n");
    let ran = home.run(&["serve", "--http", "127.0.0.1:0"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("`cluster`") && ran.stderr.contains("state-key-file"), "{ran:?}");
    let text = config(&home, unused_port());
    home.configure(&text);
    std::fs::write(home.file("keys"), "short\n").expect("a home can be written");
    let ran = home.run(&["serve", "--http", "127.0.0.1:0"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("line 1 of the state key file"), "{ran:?}");
    home.configure(&text.replace("127.0.0.1:", "me:s3cr3t@127.0.0.1:"));
    let ran = home.run(&["config", "show"]);
    assert!(!ran.stdout.contains("s3cr3t") && !ran.stderr.contains("s3cr3t"), "{ran:?}");
    let ran = home.run(&["serve"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("`user` and `password`"), "{ran:?}");
    assert!(!ran.stderr.contains("s3cr3t"), "{ran:?}");
}

#[test]
fn without_the_server_of_the_state_only_what_needs_it_fails() {
    let home = Home::with(&["keeper"], "");
    home.configure(&config(&home, unused_port()));
    let token = home.file("token");
    std::fs::write(&token, "0123456789abcdef").expect("a home can be written");
    let (_process, address) = serve(&home, &["--token-file", &token]);
    let headers = [
        ("host", "localhost"),
        ("authorization", "Bearer 0123456789abcdef"),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
    ];
    let call = |name: &str, arguments: &serde_json::Value| {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({"name": name, "arguments": arguments, "_meta": meta});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let headers: Vec<_> = headers.iter().copied().chain([("mcp-name", name)]).collect();
        let body = body.to_string();
        http::request(address, "POST /mcp", &headers, body.as_bytes()).expect("an answer").text()
    };
    let began = Instant::now();
    let found = call("remember", &json!({"key": "a", "value": "b"}));
    assert!(found.contains("made"), "{found}");
    assert!(began.elapsed() < Duration::from_secs(3), "nothing waits for the server of the state");
    let began = Instant::now();
    let failed = call("keep", &json!({"steps": [{"do": "set", "key": "a", "value": "b"}]}));
    assert!(failed.contains("the store of the hosts cannot be reached now"), "{failed}");
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    // A session that other hosts could not serve does not begin.
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "a", "version": "1"},
    });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let body = body.to_string();
    let refused = http::request(address, "POST /mcp", &headers[..4], body.as_bytes());
    let refused = refused.expect("an answer");
    assert_eq!(refused.status(), 503, "{}", refused.text());
    assert!(refused.text().contains("try again later"), "{}", refused.text());
    let probe =
        |line| http::request(address, line, &[("host", "10.1.2.3")], b"").expect("an answer");
    assert_eq!(probe("GET /readyz").status(), 503);
    assert_eq!(probe("GET /healthz").status(), 200);
}
