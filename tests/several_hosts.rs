//! Tests of several hosts behind one address: shared keys for the state of calls, and the paths of probes.

use serde_json::{Value, json};

use crate::support::client::Era;
use crate::support::home::Home;
use crate::support::http;
use crate::support::wire::{Transport, Wire, serve};

const CONFIG: &str = "[host]\nbundled = false\n\
    [plugins.conformance.grants.client]\nfeatures = [\"elicitation\", \"sampling\", \"roots\"]\n";

const OLD_KEY: &str = "an old key, 0123456789 0123456789";
const NEW_KEY: &str = "a new key, 0123456789 0123456789 0";

/// A host with these keys. Without keys, the host uses the key of its own home.
fn host(keys: &[&str]) -> (Home, Wire) {
    let home = Home::with(&["conformance"], CONFIG);
    if keys.is_empty() {
        // The homes of tests have copies of one key, so that they can share compiled plugins. This home needs a key of
        // its own.
        std::fs::remove_file(home.path().join(".local/state/portcullis/cache.key"))
            .expect("the home has a key");
    } else {
        let file = home.file("keys");
        std::fs::write(&file, keys.join("\n")).expect("a home can be written");
        home.configure(&format!("{CONFIG}[http]\nstate-key-file = {file:?}\n"));
    }
    let wire = Wire::open(&home, Transport::Http, Era::Modern);
    (home, wire)
}

/// Calls the tool that asks for a name, and returns the reply.
fn call(wire: &mut Wire, more: &[(&str, Value)]) -> Value {
    let mut params = json!({
        "name": "test_input_required_result_elicitation", "arguments": {},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        },
    });
    for (key, value) in more {
        params[*key] = value.clone();
    }
    wire.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
    wire.receive()
}

/// Calls a tool at one host, and gives the answer to its question to another host. Returns the other host's reply.
fn answered_elsewhere(asking: &mut Wire, answering: &mut Wire) -> Value {
    let asked = call(asking, &[])["result"].clone();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let questions = asked["inputRequests"].as_object().expect("questions");
    let answer = json!({"action": "accept", "content": {"name": "Ada"}});
    let answers: Value = questions
        .keys()
        .map(|key| (key.clone(), answer.clone()))
        .collect::<serde_json::Map<_, _>>()
        .into();
    call(answering, &[("inputResponses", answers), ("requestState", asked["requestState"].clone())])
}

#[test]
fn a_question_of_one_host_is_answered_at_another_if_they_share_a_key() {
    let (_one, mut one) = host(&[OLD_KEY]);
    let (_two, mut two) = host(&[NEW_KEY, OLD_KEY]);
    let reply = answered_elsewhere(&mut one, &mut two);
    assert_eq!(reply["result"]["content"][0]["text"], "Hello, Ada!", "{reply}");
    // The second host seals with the new key, which the first host does not have.
    let reply = answered_elsewhere(&mut two, &mut one);
    assert_eq!(reply["error"]["code"], -32602, "{reply}");
}

#[test]
fn a_question_of_one_host_is_not_answered_at_another_without_a_shared_key() {
    let (_one, mut one) = host(&[]);
    let (_two, mut two) = host(&[]);
    let reply = answered_elsewhere(&mut one, &mut two);
    assert_eq!(reply["error"]["code"], -32602, "{reply}");
    let message = reply["error"]["message"].as_str().expect("a message");
    assert!(message.contains("requestState is not what this server gave out"), "{reply}");
}

#[test]
fn a_file_without_a_usable_key_stops_the_start_over_http_only() {
    let home = Home::with(&[], CONFIG);
    let file = home.file("keys");
    home.configure(&format!("{CONFIG}[http]\nstate-key-file = {file:?}\n"));
    std::fs::write(&file, "short\n").expect("a home can be written");
    let ran = home.run(&["serve", "--http", "127.0.0.1:0"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("line 1 of the state key file"), "{ran:?}");
    let ran = home.run(&["serve"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

/// Requests a path without a token, like a probe that knows only the address.
fn probe(address: std::net::SocketAddr, line: &str) -> http::Message {
    http::request(address, line, &[("host", "10.1.2.3:8719")], b"").expect("an answer")
}

#[test]
fn probes_need_no_token_and_no_known_host() {
    let home = Home::with(&["conformance"], CONFIG);
    let token = home.file("token");
    std::fs::write(&token, "0123456789abcdef").expect("a home can be written");
    let (_process, address) = serve(&home, &["--token-file", &token]);
    assert_eq!(probe(address, "GET /healthz").status(), 200);
    assert_eq!(probe(address, "POST /healthz").status(), 405);
    // The host is not ready before it has loaded the plugin.
    let deadline = std::time::Instant::now() + crate::support::PATIENCE;
    while probe(address, "GET /readyz").status() != 200 {
        assert!(std::time::Instant::now() < deadline, "the host becomes ready");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(probe(address, "GET /metrics").status(), 403, "other paths check the host");
}
