//! Tests of MCP over HTTP: access checks, size limits, and both eras of MCP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::http::{self, Message};
use crate::support::process::Process;
use crate::support::stand_in;

const CONFIG: &str = "[host]\nbundled = false\n[plugins.echo]\n[plugins.greedy]\n";

const TYPES: [(&str, &str); 2] =
    [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];

/// A server with its own port.
struct Front {
    process: Process,
    address: SocketAddr,
    home: Home,
}

impl Front {
    fn start(http: &str) -> Self {
        let home = Home::with(&["echo", "greedy"], &format!("{CONFIG}{http}"));
        Self::start_in(home, &[])
    }

    fn start_in(home: Home, arguments: &[&str]) -> Self {
        let arguments = [&["serve", "--http", "127.0.0.1:0"], arguments].concat();
        let process = Process::start(&mut home.command(&arguments));
        let said = process.hear("/mcp\n");
        let address = said.split_once("http://").and_then(|(_, rest)| rest.split_once("/mcp\n"));
        let address = address.and_then(|(address, _)| address.parse().ok()).expect("an address");
        Self { process, address, home }
    }

    fn host(&self) -> String {
        self.address.to_string()
    }

    /// Posts a body with these headers, and with the headers that every client sends.
    fn post(&self, headers: &[(&str, &str)], body: &str) -> Message {
        let host = self.host();
        let mut all = vec![];
        for (name, value) in [("host", host.as_str())].into_iter().chain(TYPES) {
            if !headers.iter().any(|(given, _)| *given == name) {
                all.push((name, value));
            }
        }
        all.extend(headers.iter().filter(|(_, value)| !value.is_empty()));
        let reply = http::request(self.address, "POST /mcp", &all, body.as_bytes());
        reply.expect("an answer")
    }

    /// Sends a request of the modern era, with the headers that it requires.
    fn modern(&self, headers: &[(&str, &str)], method: &str, mut params: Value) -> Message {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut all = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
        if !name.is_empty() {
            all.push(("mcp-name", &name));
        }
        all.extend(headers);
        self.post(&all, &body.to_string())
    }

    /// Begins a legacy session, and returns its id.
    fn session(&self) -> String {
        let reply = self.post(&[], &initialize());
        assert_eq!(reply.status(), 200, "{reply:?}");
        let session = reply.header("mcp-session-id").expect("a session").to_owned();
        let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(self.post(&[("mcp-session-id", &session)], ready).status(), 202);
        session
    }
}

fn initialize() -> String {
    json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "blackbox", "version": "1"},
        },
    })
    .to_string()
}

/// The message in a response: JSON, or the last event of a stream.
fn message(reply: &Message) -> Value {
    let text = reply.text();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: ")).rfind(|d| !d.is_empty());
    let json = data.unwrap_or(&text);
    serde_json::from_str(json)
        .unwrap_or_else(|error| panic!("{error}: {} {}", reply.line, reply.text()))
}

fn echo(text: &str) -> Value {
    json!({"name": "echo", "arguments": {"text": text}})
}

fn call(id: i64, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}

#[test]
fn both_eras_are_served() {
    let front = Front::start("");
    let reply = message(&front.modern(&[], "tools/call", echo("modern")));
    assert_eq!(reply["result"]["content"][0]["text"], "modern", "{reply}");
    let session = front.session();
    let reply = front.post(&[("mcp-session-id", &session)], &call(1, &echo("legacy")));
    assert_eq!(message(&reply)["result"]["content"][0]["text"], "legacy", "{reply:?}");
    // The SDKs for TypeScript and Python respond to DELETE in the same way: `handleDeleteRequest` in
    // `streamableHttp.ts`, and `_handle_delete_request` in `streamable_http.py`.
    for expected in [200, 404] {
        let gone = http::request(
            front.address,
            "DELETE /mcp",
            &[("host", &front.host()), ("mcp-session-id", &session)],
            b"",
        );
        assert_eq!(gone.expect("an answer").status(), expected);
    }
    let reply = front.post(&[("mcp-session-id", &session)], &call(2, &echo("gone")));
    assert_eq!(reply.status(), 404, "{reply:?}");
    let outcomes = front.home.outcomes();
    assert_eq!(outcomes.len(), 2, "{outcomes:?}");
}

#[test]
fn each_session_has_an_upstream_server_of_its_own_unless_all_share_it() {
    for (share, expected) in [("session", 2), ("all", 1)] {
        let home = Home::new();
        let script = "echo started >> $HOME/starts; exec \"$0\" stdio legacy";
        home.configure(&format!(
            "[host]\nbundled = false\n[upstreams.one]\ncommand = \"/bin/sh\"\nshare = {share:?}\n\
             args = [\"-c\", '{script}', {:?}]\n",
            stand_in()
        ));
        let front = Front::start_in(home, &[]);
        let sessions = [front.session(), front.session()];
        for (id, session) in (1..).zip(sessions.iter().chain(&sessions)) {
            let reply = front.post(&[("mcp-session-id", session)], &call(id, &echo("mine")));
            let text = message(&reply)["result"]["content"][1]["text"].to_string();
            assert!(text.contains("mine"), "{reply:?}");
        }
        let starts = std::fs::read_to_string(front.home.path().join("starts")).expect("starts");
        assert_eq!(starts.lines().count(), expected, "share = {share}");
    }
}

#[test]
fn each_session_has_its_upstream_server_in_its_own_era() {
    let home = Home::new();
    home.configure(&format!(
        "[host]\nbundled = false\n[upstreams.one]\ncommand = {:?}\nargs = [\"stdio\", \"all\"]\n",
        stand_in()
    ));
    let front = Front::start_in(home, &[]);
    let sessions = [front.session(), front.session()];
    let begun = sessions.map(|session| {
        let seen = json!({"name": "seen", "arguments": {}});
        let reply = front.post(&[("mcp-session-id", &session)], &call(1, &seen));
        message(&reply)["result"]["content"].to_string().contains("initialize")
    });
    assert_eq!(begun, [true, true], "whether the server of each session got `initialize`");
}

#[test]
fn without_a_token_the_server_listens_only_on_loopback() {
    let home = Home::with(&["echo"], CONFIG);
    let ran = home.run(&["serve", "--http", "0.0.0.0:0"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("--token-file"), "{ran:?}");
}

#[test]
fn requests_of_other_hosts_and_origins_are_refused() {
    let front = Front::start("[http]\nallowed-origins = [\"https://app.example\"]\n");
    let port = front.address.port();
    for (name, value, expected) in [
        ("host", "evil.example".to_owned(), 403),
        ("host", format!("evil.example:{port}"), 403),
        ("host", format!("127.0.0.1.evil.example:{port}"), 403),
        ("host", format!("127.0.0.1@evil.example:{port}"), 403),
        ("host", format!("localhost:{port}"), 200),
        ("host", format!("[::1]:{port}"), 200),
        ("origin", "https://evil.example".to_owned(), 403),
        ("origin", format!("http://127.0.0.1.evil.example:{port}"), 403),
        ("origin", "null".to_owned(), 403),
        // Pages of other servers on this machine are refused, too, unless the operator named them.
        ("origin", "http://localhost:5173".to_owned(), 403),
        ("origin", format!("http://localhost:{port}"), 200),
        ("origin", format!("http://127.0.0.1:{port}"), 200),
        ("origin", "https://app.example".to_owned(), 200),
        ("origin", "https://app.example:443".to_owned(), 200),
        ("origin", "http://app.example".to_owned(), 403),
        ("origin", "https://app.example:444".to_owned(), 403),
    ] {
        let reply = front.modern(&[(name, &value)], "tools/list", json!({}));
        let status = reply.status();
        // An invalid value may be refused with status 400.
        let refused = expected == 403 && status == 400;
        assert!(status == expected || refused, "{name}: {value}: {status} {}", reply.text());
    }
}

#[test]
fn requests_without_the_token_are_refused() {
    let home = Home::with(&["echo", "greedy"], CONFIG);
    let token = "0123456789abcdef-token";
    std::fs::write(home.path().join("token"), format!("{token}\n")).expect("a home");
    let file = home.path().join("token").display().to_string();
    let front = Front::start_in(home, &["--token-file", &file]);
    for wrong in [
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        "Basic 0123456789abcdef-token",
        "Bearer 0123456789abcdef-toke",
        "Bearer 0123456789abcdef-tokens",
        "0123456789abcdef-token",
    ] {
        let reply = front.modern(&[("authorization", wrong)], "tools/list", json!({}));
        assert_eq!(reply.status(), 401, "{wrong}: {reply:?}");
        assert!(reply.header("www-authenticate").is_some(), "{reply:?}");
        assert!(!reply.text().contains("echo"), "{reply:?}");
    }
    // A token in the URL is refused, since logs would keep it.
    let line = format!("POST /mcp?token={token}");
    let host = front.host();
    let headers = [("host", host.as_str()), TYPES[0], TYPES[1]];
    let reply = http::request(front.address, &line, &headers, initialize().as_bytes());
    assert_eq!(reply.expect("an answer").status(), 401);
    let right = format!("Bearer {token}");
    let reply = front.modern(&[("authorization", &right)], "tools/call", echo("in"));
    assert_eq!(message(&reply)["result"]["content"][0]["text"], "in", "{reply:?}");
    // Each record has the holder of the token as its principal.
    let audit = front.home.audit();
    assert!(audit.iter().all(|record| record["principal"].is_string()), "{audit:?}");
    assert!(!format!("{audit:?}{}", front.process.stderr()).contains(token));
}

#[test]
fn a_short_token_is_refused_at_start() {
    let home = Home::with(&["echo"], CONFIG);
    std::fs::write(home.path().join("token"), "short").expect("a home");
    let file = home.path().join("token").display().to_string();
    let ran = home.run(&["serve", "--http", "127.0.0.1:0", "--token-file", &file]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("16 bytes"), "{ran:?}");
}

#[test]
fn invalid_requests_are_refused_with_the_right_status() {
    let front = Front::start("");
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    for (headers, body, expected) in [
        (&[("content-type", "text/plain")][..], list, 415),
        (&[("content-type", "application/x-www-form-urlencoded")], list, 415),
        (&[("content-type", "")], list, 415),
        (&[("accept", "text/html")], list, 406),
        (&[("accept", "")], list, 406),
        (&[], "{", 400),
        (&[], "", 400),
        (&[("mcp-session-id", "no-such-session")], list, 404),
        (&[("mcp-session-id", "../../etc/passwd")], list, 404),
        (&[("mcp-protocol-version", "1999-01-01")], list, 400),
    ] {
        let reply = front.post(headers, body);
        assert_eq!(reply.status(), expected, "{headers:?} {body:?}: {reply:?}");
    }
    let host = front.host();
    for (line, expected) in [
        ("GET /", 404),
        ("GET /mcp/../secret", 404),
        ("POST /other", 404),
        ("PUT /mcp", 405),
        ("OPTIONS /mcp", 405),
        ("TRACE /mcp", 405),
    ] {
        let reply = http::request(front.address, line, &[("host", &host)], b"");
        let reply = reply.expect("an answer");
        assert_eq!(reply.status(), expected, "{line}: {reply:?}");
    }
    let reply = message(&front.post(&[], "{"));
    assert_eq!((&reply["id"], &reply["error"]["code"]), (&Value::Null, &json!(-32700)), "{reply}");
}

#[test]
fn invalid_http_harms_no_other_client() {
    let front = Front::start("");
    let host = front.host();
    let long = "x".repeat(200_000);
    for bytes in [
        "\r\n\r\n".to_owned(),
        "hello\r\n\r\n".to_owned(),
        "\u{16}\u{3}\u{1}".to_owned(),
        "POST /mcp HTTP/9.9\r\n\r\n".to_owned(),
        format!("GET /mcp HTTP/1.1\r\nhost: {host}\r\nx: {long}\r\n\r\n"),
        format!("GET /{long} HTTP/1.1\r\nhost: {host}\r\n\r\n"),
        format!("POST /mcp HTTP/1.1\r\nhost: {host}\r\ncontent-length: -1\r\n\r\n"),
        format!(
            "POST /mcp HTTP/1.1\r\nhost: {host}\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx"
        ),
        format!(
            "POST /mcp HTTP/1.1\r\nhost: {host}\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"
        ),
        format!(
            "POST /mcp HTTP/1.1\r\nhost: {host}\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n"
        ),
    ] {
        let mut stream = http::connect(front.address);
        // The server may close the connection before it has read all bytes.
        let _closed = stream.write_all(bytes.as_bytes());
        let _closed = stream.shutdown(std::net::Shutdown::Write);
        if let Some(reply) = Message::read(&mut BufReader::new(stream)) {
            assert!(reply.status() >= 400, "{reply:?}");
        }
    }
    let reply = message(&front.modern(&[], "tools/call", echo("alive")));
    assert_eq!(reply["result"]["content"][0]["text"], "alive", "{reply}");
}

#[test]
fn a_body_has_a_maximum_size_and_a_time_limit() {
    let front = Front::start("[http]\nbody-bytes = 10_000\n");
    let large = "x".repeat(20_000);
    let reply = front.modern(&[], "tools/call", echo(&large));
    assert_eq!(reply.status(), 413, "{reply:?}");
    // A chunked body has the same limit.
    let mut stream = http::connect(front.address);
    let host = front.host();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).expect("it listens");
    for _ in 0..20 {
        let _closed = stream.write_all(format!("3e8\r\n{}\r\n", "x".repeat(1000)).as_bytes());
    }
    let reply = Message::read(&mut BufReader::new(stream)).expect("an answer");
    assert_eq!(reply.status(), 413, "{reply:?}");
    // An incomplete body and incomplete headers time out, and delay no other request.
    let mut half = http::connect(front.address);
    half.write_all(format!("{head}1\r\n{{\r\n").as_bytes()).expect("it listens");
    let mut head_only = http::connect(front.address);
    head_only.write_all(b"POST /mcp HTTP/1.1\r\nhost: 127").expect("it listens");
    let reply = message(&front.modern(&[], "tools/call", echo("meanwhile")));
    assert_eq!(reply["result"]["content"][0]["text"], "meanwhile", "{reply}");
    let began = std::time::Instant::now();
    let reply = Message::read(&mut BufReader::new(half));
    assert!(reply.is_none_or(|reply| reply.status() == 408));
    let mut rest = Vec::new();
    let _closed = head_only.read_to_end(&mut rest);
    let time = began.elapsed();
    assert!(time.as_secs() < 30, "both are given up: {time:?}");
}

#[test]
fn the_number_of_sessions_is_limited() {
    let front = Front::start("[http]\nsessions = 5\n");
    let sessions: Vec<_> = (0..5).map(|_| front.session()).collect();
    for _ in 0..3 {
        let reply = front.post(&[], &initialize());
        assert_eq!(reply.status(), 503, "{reply:?}");
    }
    // The open sessions go on.
    let reply = front.post(&[("mcp-session-id", &sessions[0])], &call(1, &echo("in")));
    assert_eq!(message(&reply)["result"]["content"][0]["text"], "in", "{reply:?}");
    // The modern era has no sessions, so the limit does not apply to it.
    let reply = message(&front.modern(&[], "tools/call", echo("modern")));
    assert_eq!(reply["result"]["content"][0]["text"], "modern", "{reply}");

    let front = Front::start("[http]\nrequests-per-second = 3\n");
    let statuses: Vec<_> =
        (0..20).map(|_| front.modern(&[], "tools/list", json!({})).status()).collect();
    assert!(statuses.contains(&200) && statuses.contains(&429), "{statuses:?}");
}

#[test]
fn one_session_cannot_be_guessed_from_another() {
    let front = Front::start("");
    let sessions: Vec<_> = (0..4).map(|_| front.session()).collect();
    for (n, session) in sessions.iter().enumerate() {
        assert!(session.len() >= 32, "{session}");
        assert!(!sessions[..n].contains(session));
        // A prefix of a session's id is not accepted.
        let reply = front.post(&[("mcp-session-id", &session[..20])], &call(1, &echo("in")));
        assert_eq!(reply.status(), 404, "{reply:?}");
    }
}

#[test]
fn a_client_that_goes_away_cancels_its_call() {
    let front = Front::start("[limits]\nwall-ms = 1_000_000\ncpu-ms = 1_000_000\n");
    let params = json!({
        "name": "spin", "arguments": {"how": "code"},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    });
    let body = call(1, &params);
    let host = front.host();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
         mcp-method: tools/call\r\nmcp-name: spin\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = http::connect(front.address);
    stream.write_all(request.as_bytes()).expect("it listens");
    // When a call that was sent later has been answered, the first call has begun.
    message(&front.modern(&[], "tools/call", echo("later")));
    drop(stream);
    let deadline = std::time::Instant::now() + crate::support::PATIENCE;
    while !front.home.outcomes().contains(&("spin".into(), "cancelled".into())) {
        assert!(std::time::Instant::now() < deadline, "{:?}", front.home.outcomes());
        message(&front.modern(&[], "tools/list", json!({})));
    }
}

#[test]
fn progress_comes_before_the_answer() {
    let front = Front::start("");
    let params = json!({"name": "report", "arguments": {}, "_meta": {"progressToken": 7}});
    let session = front.session();
    let reply = front.post(&[("mcp-session-id", &session)], &call(5, &params));
    let messages: Vec<Value> = reply
        .body
        .lines()
        .map_while(Result::ok)
        .filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok())
        .collect();
    let progress = messages.iter().filter(|m| m["method"] == "notifications/progress").count();
    assert_eq!(progress, 2, "{messages:#?}");
    assert_eq!(messages.last().map(|last| &last["id"]), Some(&json!(5)), "{messages:#?}");
}

#[test]
fn metrics_can_have_an_address_of_their_own_where_no_token_is_needed() {
    let token = "token-file = \"$HOME/token\"\nmetrics-listen = \"127.0.0.1:0\"\n";
    let home = Home::with(&["echo"], &format!("{CONFIG}[http]\n{token}"));
    std::fs::write(home.path().join("token"), "0123456789abcdef").expect("a home can be written");
    let front = Front::start_in(home, &[]);
    let said = front.process.hear("/metrics\n");
    let address = said.split_once("metrics at http://").and_then(|(_, rest)| rest.split_once('/'));
    let address: SocketAddr = address.expect("an address").0.parse().expect("an address");
    let get = |at: SocketAddr, path: &str, headers: &[(&str, &str)]| {
        let reply = http::request(at, &format!("GET {path}"), headers, b"");
        reply.expect("an answer").status()
    };
    // The header `Host` of a scraper that knows the machine by its address in another network.
    let scraper = [("host", "10.1.2.3:9090")];
    for (path, status) in [("/metrics", 200), ("/healthz", 200), ("/mcp", 404), ("/sse", 404)] {
        assert_eq!(get(address, path, &scraper), status, "{path}");
    }
    assert_eq!(get(address, "/metrics", &[("host", "rebound.example")]), 403);
    let host = front.host();
    let bearer = ("authorization", "Bearer 0123456789abcdef");
    assert_eq!(get(front.address, "/metrics", &[("host", &host), bearer]), 404);
}

#[test]
fn metrics_require_the_token() {
    let home = Home::with(&["echo", "greedy"], CONFIG);
    let token = home.file("token");
    std::fs::write(&token, "0123456789abcdef").expect("a home can be written");
    let front = Front::start_in(home, &["--token-file", &token]);
    let host = front.host();
    let get = |headers: &[(&str, &str)]| {
        let all = [&[("host", host.as_str())], headers].concat();
        http::request(front.address, "GET /metrics", &all, b"").expect("an answer")
    };
    assert_eq!(get(&[]).status(), 401);
    let let_in = ("authorization", "Bearer 0123456789abcdef");
    let params = json!({"name": "echo", "arguments": {"text": "hi"}});
    assert_eq!(front.modern(&[let_in], "tools/call", params).status(), 200);
    let numbers = get(&[let_in]);
    assert_eq!(numbers.status(), 200, "{numbers:?}");
    let expected = "portcullis_calls_total{plugin=\"echo\",tool=\"echo\",outcome=\"done\"} 1";
    assert!(numbers.text().contains(expected), "{}", numbers.text());
    assert!(!numbers.text().contains("hi\""), "arguments are nowhere");
    let other = ("origin", "https://a.example");
    assert_eq!(get(&[let_in, other]).status(), 403);
}
