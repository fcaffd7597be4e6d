//! Tests of the data that the binary sends to an OpenTelemetry collector, and of the data that it must not send.
//!
//! The collector follows the OTLP specification (<https://opentelemetry.io/docs/specs/otlp/#otlphttp>): POST of protobuf
//! to `/v1/traces` and `/v1/logs`. Protobuf contains texts unchanged, so the tests search for them as bytes.

use std::io::{BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, channel};

use serde_json::json;

use crate::support::client::{Client, Era};
use crate::support::home::Home;
use crate::support::http::Message;

/// A collector that accepts everything.
fn collector() -> (SocketAddr, Receiver<Message>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it listens");
    let (sender, arrived) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let sender = sender.clone();
            std::thread::spawn(move || {
                let mut stream = BufReader::new(stream);
                while let Some(message) = Message::read(&mut stream) {
                    let _ended = sender.send(message);
                    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
                    if stream.get_mut().write_all(answer).is_err() {
                        break;
                    }
                }
            });
        }
    });
    (address, arrived)
}

fn home(config: &str) -> Home {
    Home::with(&["echo"], &format!("[host]\nbundled = false\n{config}[plugins.echo]\n"))
}

/// Calls `echo` with arguments that a collector must not get, and ends the server.
fn use_server(home: &Home) {
    let mut client = Client::start(home, Era::Legacy);
    assert_eq!(client.text("echo", json!({"text": "ARGUMENT-1"})), "ARGUMENT-1");
    let wrong = client.call("echo", json!({"text": 1, "ARGUMENT-2": "ARGUMENT-3"}));
    assert!(!wrong.is_null());
    client.end();
}

fn has(message: &Message, text: &[u8]) -> bool {
    message.body.windows(text.len()).any(|part| part == text)
}

#[test]
fn a_collector_gets_names_and_outcomes_but_no_arguments() {
    let (address, arrived) = collector();
    let home = home(&format!("[host.telemetry]\nendpoint = \"http://{address}\"\n"));
    use_server(&home);
    let messages: Vec<_> = arrived.try_iter().collect();
    let of = |path: &str| {
        let found = messages.iter().find(|message| message.line.contains(path));
        found.unwrap_or_else(|| panic!("nothing arrived at {path}"))
    };
    for text in ["tools/call echo", "mcp.method.name", "gen_ai.tool.name", "jsonrpc.request.id"] {
        assert!(has(of("/v1/traces"), text.as_bytes()), "{text}");
    }
    for text in ["portcullis.plugin.digest", "error.type", "invalid-arguments"] {
        assert!(has(of("/v1/traces"), text.as_bytes()), "{text}");
    }
    let request = home.audit()[0]["request"].as_str().expect("a request has an id").to_owned();
    for path in ["/v1/traces", "/v1/logs"] {
        assert!(has(of(path), request.as_bytes()), "{path}: {request}");
    }
    assert!(messages.iter().all(|message| !has(message, b"ARGUMENT")));
}

#[test]
fn nothing_is_sent_without_a_configuration() {
    let (address, arrived) = collector();
    let mut home = home("");
    use_server(&home);
    home.set("OTEL_EXPORTER_OTLP_ENDPOINT", &format!("http://{address}"));
    home.set("OTEL_SDK_DISABLED", "true");
    use_server(&home);
    assert_eq!(arrived.try_iter().count(), 0);
    home.set("OTEL_SDK_DISABLED", "false");
    use_server(&home);
    assert!(arrived.try_iter().count() > 0);
}

#[test]
fn the_clients_span_is_the_parent() {
    let (address, arrived) = collector();
    let home = home(&format!("[host.telemetry]\nendpoint = \"http://{address}\"\nlogs = false\n"));
    let mut client = Client::start(&home, Era::Legacy);
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let params = json!({
        "name": "echo", "arguments": {"text": "a"}, "_meta": {"traceparent": parent},
    });
    let id = client.request("tools/call", params);
    client.finish(id);
    client.end();
    let messages: Vec<_> = arrived.try_iter().collect();
    let trace = 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c_u128.to_be_bytes();
    assert!(messages.iter().any(|message| has(message, &trace)));
    assert!(messages.iter().all(|message| message.line.contains("/v1/traces")));
}

#[test]
fn an_unreachable_collector_is_logged_once_and_fails_no_call() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it listens");
    drop(listener);
    let home = home(&format!("[host.telemetry]\nendpoint = \"http://{address}\"\n"));
    let mut client = Client::start(&home, Era::Legacy);
    for _ in 0..50 {
        assert_eq!(client.text("echo", json!({"text": "a"})), "a");
    }
    let ran = client.end();
    assert_eq!(ran.stderr.matches("sending telemetry to").count(), 1, "{}", ran.stderr);
}

/// Asks of the audit quote what a plugin asked for. Only `audit = true` sends them.
#[test]
fn the_audit_is_sent_if_the_configuration_says_so() {
    for is_sent in [false, true] {
        let (address, arrived) = collector();
        let home = home(&format!(
            "[host.telemetry]\nendpoint = \"http://{address}\"\ntraces = false\nlogs = false\naudit = {is_sent}\n"
        ));
        use_server(&home);
        let messages: Vec<_> = arrived.try_iter().collect();
        let request = home.audit()[0]["request"].as_str().expect("a request has an id").to_owned();
        let holds = |text: &str| messages.iter().any(|message| has(message, text.as_bytes()));
        for text in ["portcullis.audit", "\"event\":\"call\"", &request] {
            assert_eq!(holds(text), is_sent, "{text}");
        }
    }
}
