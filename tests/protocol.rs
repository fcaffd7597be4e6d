//! Tests of the protocol over stdio: every request is answered or refused, other messages are ignored, and the session
//! goes on.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::client::{Client, Era, text_of};
use crate::support::home::Home;
use crate::support::process::Process;

const CONFIG: &str = "[host]\nbundled = false\n[plugins.echo]\n";

fn home() -> Home {
    Home::with(&["echo"], CONFIG)
}

fn serve(home: &Home) -> Process {
    Process::start(&mut home.command(&["serve"]))
}

/// Sends a line and returns the next line of the server, as JSON.
fn ask(process: &mut Process, line: &str) -> Value {
    process.write(format!("{line}\n").as_bytes());
    let reply = process.line().unwrap_or_else(|| panic!("the end; {}", process.stderr()));
    serde_json::from_str(&reply).unwrap_or_else(|error| panic!("{error}: {reply}"))
}

fn initialize(version: &str) -> String {
    json!({
        "jsonrpc": "2.0", "id": "init", "method": "initialize",
        "params": {
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": {"name": "blackbox", "version": "1"},
        },
    })
    .to_string()
}

/// Asserts that the server still answers requests.
fn is_alive(process: &mut Process, era: Era) {
    let reply = match era {
        Era::Legacy => ask(process, r#"{"jsonrpc":"2.0","id":"alive","method":"ping"}"#),
        Era::Modern => ask(process, &modern("alive", "tools/list", json!({}))),
    };
    assert_eq!(reply["id"], "alive", "{reply}");
    assert!(reply.get("result").is_some(), "{reply}");
}

fn modern(id: &str, method: &str, mut params: Value) -> String {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// A server whose session has begun.
fn begun(home: &Home, era: Era) -> Process {
    let mut process = serve(home);
    if era == Era::Legacy {
        ask(&mut process, &initialize("2025-11-25"));
    }
    is_alive(&mut process, era);
    process
}

#[test]
fn invalid_messages_are_answered_with_an_error_and_the_session_goes_on() {
    let home = home();
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let deep_arguments = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{{"text":{}}}}}}}"#,
        deep(100_000)
    );
    let long = "x".repeat(20 * 1024 * 1024);
    let table = [
        ("{", -32700),
        ("nonsense", -32700),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"n":1e400}}"#, -32700),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"s":"\ud800"}}"#, -32700),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"\udc00":1}}"#, -32700),
        (&deep(100_000), -32700),
        (&deep_arguments, -32700),
        (&long, -32600),
        ("[]", -32600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
        ("1", -32600),
        ("null", -32600),
        (r#""text""#, -32600),
        ("{}", -32600),
        (r#"{"id":1,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":1}"#, -32600),
    ];
    for era in Era::BOTH {
        let mut process = begun(&home, era);
        for (line, code) in &table {
            let reply = ask(&mut process, line);
            let start = &line[..line.len().min(80)];
            assert_eq!(reply["error"]["code"], *code, "{start}: {reply}");
            assert_eq!(reply["jsonrpc"], "2.0", "{start}: {reply}");
            assert!(reply["error"]["message"].as_str().is_some_and(|m| m.len() < 500), "{reply}");
        }
        is_alive(&mut process, era);
        assert_eq!(process.end().code, Some(0));
    }
}

#[test]
fn bytes_that_are_not_utf8_are_answered_with_an_error() {
    let mut process = begun(&home(), Era::Legacy);
    process.write(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}\n");
    let reply: Value = serde_json::from_str(&process.line().expect("a reply")).expect("JSON");
    assert_eq!(reply["error"]["code"], -32700, "{reply}");
    is_alive(&mut process, Era::Legacy);
}

#[test]
fn parameters_of_a_wrong_form_are_invalid_parameters() {
    let home = home();
    let table = [
        ("tools/call", json!({})),
        ("tools/call", json!({"name": 1})),
        ("tools/call", json!({"name": "echo", "arguments": []})),
        ("tools/call", json!({"name": "echo", "arguments": "text"})),
        ("tools/call", json!({"name": "no-such-tool", "arguments": {}})),
        ("tools/call", json!({"name": "", "arguments": {}})),
        ("tools/call", json!({"name": "echo\u{1b}[31m\n", "arguments": {}})),
    ];
    for era in Era::BOTH {
        let mut client = Client::start(&home, era);
        for (method, params) in &table {
            let id = client.request(method, params.clone());
            let reply = client.reply(id);
            assert_eq!(reply["error"]["code"], -32602, "{era:?} {method} {params}: {reply}");
            assert!(!reply.to_string().contains("\\u001b"), "{reply}");
        }
        for method in ["no/such/method", "resources/list", "prompts/list", "completion/complete"] {
            let id = client.request(method, json!({}));
            let reply = client.reply(id);
            let code = reply["error"]["code"].as_i64();
            assert!(matches!(code, Some(-32601 | -32602)), "{era:?} {method}: {reply}");
        }
    }
}

#[test]
fn every_id_is_returned_unchanged() {
    let mut process = begun(&home(), Era::Legacy);
    for id in ["0", "-1", "9007199254740993", "\"\"", "\"a b\"", "\"\\u0000\"", "\"中文\""] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        let reply = ask(&mut process, &line);
        assert_eq!(reply["id"].to_string(), id, "{reply}");
    }
    // A number that is too large for an id is refused, not rounded.
    let huge = ask(&mut process, r#"{"jsonrpc":"2.0","id":1e30,"method":"ping"}"#);
    assert_eq!(huge["error"]["code"], -32600, "{huge}");
    is_alive(&mut process, Era::Legacy);
}

#[test]
fn a_request_that_cannot_be_read_is_refused_with_its_id() {
    let mut process = begun(&home(), Era::Legacy);
    for (line, id, code) in [
        (r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"s":"\ud800"}}"#, json!(7), -32700),
        (r#"{"jsonrpc":"2.0","method":"x","params":{"\udc00":1},"id":"a"}"#, json!("a"), -32700),
        (r#"{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}"#, json!(8), -32600),
        (r#"{"id":7,"method":"ping"}"#, json!(7), -32600),
    ] {
        let reply = ask(&mut process, line);
        assert_eq!((&reply["id"], &reply["error"]["code"]), (&id, &json!(code)), "{line}: {reply}");
    }
    is_alive(&mut process, Era::Legacy);
}

#[test]
fn a_second_initialize_is_refused() {
    let mut process = begun(&home(), Era::Legacy);
    let again = ask(&mut process, &initialize("2025-06-18"));
    assert_eq!(
        (&again["id"], &again["error"]["code"]),
        (&json!("init"), &json!(-32600)),
        "{again}"
    );
    is_alive(&mut process, Era::Legacy);
}

#[test]
fn a_cursor_that_the_server_did_not_issue_is_refused() {
    // The bundled plugins offer something for each list.
    let home = Home::new();
    for era in Era::BOTH {
        let mut client = Client::start(&home, era);
        for method in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
            // The second cursor would be a position in the list, if cursors were not sealed.
            for cursor in ["x", "WzEsbnVsbF0", ""] {
                let id = client.request(method, json!({"cursor": cursor}));
                let reply = client.reply(id);
                let code = &reply["error"]["code"];
                assert!(*code == -32602 || *code == -32601, "{era:?} {method} {cursor:?}: {reply}");
            }
            let id = client.request(method, json!({}));
            let reply = client.reply(id);
            assert!(reply["result"].is_object() || reply["error"]["code"] == -32601, "{reply}");
        }
    }
}

#[test]
fn a_missing_resource_has_the_error_code_of_the_revision() {
    // For `nowhere://`, the plugin fails with an error other than that of a missing resource.
    let home = Home::with(&["conformance"], "[plugins.conformance]\n");
    for (era, code) in [(Era::Legacy, -32002), (Era::Modern, -32602)] {
        let mut client = Client::start(&home, era);
        for uri in ["nowhere://at/all", "file:///etc/passwd", "x"] {
            let id = client.request("resources/read", json!({"uri": uri}));
            let reply = client.reply(id);
            assert_eq!(reply["error"]["code"], code, "{era:?} {uri}: {reply}");
            assert_eq!(reply["error"]["data"]["uri"], uri, "{era:?} {uri}: {reply}");
        }
    }
}

#[test]
fn duplicate_keys_and_reused_ids_are_answered() {
    let mut process = begun(&home(), Era::Legacy);
    for line in [
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"ping","method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"echo","name":"add","arguments":{"a":1}}}"#,
        r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a","text":"b"}}}"#,
    ] {
        let reply = ask(&mut process, line);
        assert!(reply.get("result").is_some() || reply.get("error").is_some(), "{line}: {reply}");
    }
    // Two requests with one id at once: each is answered or refused.
    let line = r#"{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a"}}}"#;
    process.write(format!("{line}\n{line}\n").as_bytes());
    let mut replies: Vec<Value> = (0..2)
        .map(|_| serde_json::from_str(&process.line().expect("a reply")).expect("JSON"))
        .collect();
    assert!(replies.iter().all(|reply| reply["id"] == 6), "{replies:?}");
    replies.retain(|reply| reply.get("result").is_some());
    assert!(!replies.is_empty(), "the first of them is answered");
    // The id of a request that was answered may be used again.
    let reply = ask(&mut process, line);
    assert_eq!(reply["result"]["content"][0]["text"], "a", "{reply}");
    is_alive(&mut process, Era::Legacy);
}

#[test]
fn messages_without_a_request_are_ignored() {
    let home = home();
    for era in Era::BOTH {
        let mut process = begun(&home, era);
        for line in [
            "",
            "   ",
            r#"{"jsonrpc":"2.0","method":"notifications/unknown"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":77,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":78,"error":{"code":1,"message":"?"}}"#,
            r#"{"jsonrpc":"2.0","id":79,"result":{},"error":{"code":1,"message":"?"}}"#,
            r#"{"jsonrpc":"2.0","id":80,"result":{"s":"\ud800"}}"#,
        ] {
            process.write(format!("{line}\n").as_bytes());
        }
        is_alive(&mut process, era);
        assert_eq!(process.end().stdout, "", "{era:?}");
    }
}

#[test]
fn before_initialize_requests_are_refused_and_notifications_ignored() {
    let mut process = serve(&home());
    process.write(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    process.write(
        b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}\n",
    );
    for (id, method) in [(1, "tools/list"), (2, "tools/call"), (3, "no/such")] {
        let params = json!({"name": "echo", "arguments": {"text": "too early"}});
        let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let reply = ask(&mut process, &line.to_string());
        assert_eq!(reply["id"], id, "{reply}");
        assert!(reply.get("error").is_some(), "{method}: {reply}");
    }
    let reply = ask(&mut process, &initialize("2025-11-25"));
    assert_eq!(reply["result"]["serverInfo"]["name"], "portcullis", "{reply}");
    is_alive(&mut process, Era::Legacy);
}

#[test]
fn initialize_is_answered_with_a_version_that_both_support() {
    let home = home();
    for (asked, answered) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("garbage", "2025-11-25"),
    ] {
        let reply = ask(&mut serve(&home), &initialize(asked));
        assert_eq!(reply["result"]["protocolVersion"], answered, "{asked}: {reply}");
    }
}

#[test]
fn discovery_does_not_select_an_era() {
    let mut process = serve(&home());
    let found = ask(&mut process, &modern("1", "server/discover", json!({})));
    let versions = found["result"]["supportedVersions"].as_array().expect("versions");
    assert!(versions.contains(&json!("2026-07-28")), "{found}");
    let reply = ask(&mut process, &initialize("2025-11-25"));
    assert_eq!(reply["result"]["protocolVersion"], "2025-11-25", "{reply}");
    is_alive(&mut process, Era::Legacy);
}

#[test]
fn a_session_that_never_begins_ends_in_an_orderly_way() {
    let home = home();
    for input in ["", "\n", "{", r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#] {
        let mut process = serve(&home);
        process.write(input.as_bytes());
        let ran = process.end();
        assert_eq!(ran.code, Some(0), "{input:?}: {ran:?}");
        assert_eq!(ran.stdout, "", "{input:?}: a line that was cut off is no message");
    }
}

#[test]
fn each_request_of_a_flood_is_answered() {
    let mut client = Client::start(&home(), Era::Legacy);
    let ids: Vec<_> = (0..900)
        .map(|n| match n % 2 {
            0 => client.request("ping", json!({})),
            _ => client.begin("echo", json!({"text": n.to_string()})),
        })
        .collect();
    for (n, id) in ids.into_iter().enumerate() {
        let reply = client.reply(id);
        if n % 2 == 1 {
            assert_eq!(text_of(&reply), n.to_string());
        }
    }
    assert_eq!(client.end().code, Some(0));
}

#[test]
fn more_calls_than_can_wait_are_refused_at_once() {
    let config = "[host]\nbundled = false\n[plugins.greedy.limits]\nwall-ms = 100_000\n";
    let home = Home::with(&["greedy"], config);
    let mut client = Client::start(&home, Era::Legacy);
    let ids: Vec<_> = (0..600).map(|_| client.begin("spin", json!({"how": "sleep"}))).collect();
    // Only the number of refused calls is defined, not which ones.
    let ping = client.request("ping", json!({}));
    client.reply(ping);
    let refused = |client: &Client| ids.iter().filter(|id| client.has_reply(**id)).count();
    while refused(&client) < 600 - 512 {
        let ping = client.request("ping", json!({}));
        client.reply(ping);
    }
    let first = *ids.iter().find(|id| client.has_reply(**id)).expect("some are refused");
    assert_eq!(text_of(&client.reply(first)), "error: 512 calls are running: try again later");
    let (ran, time) = client.into_process().end_timed();
    // On a busy machine, cancelling 512 calls may take longer than a shutdown may take.
    assert!(matches!(ran.code, Some(0 | 3)), "{ran:?}");
    assert!(time.as_secs() < 8, "the end of stdin is the end: {time:?}");
}

#[test]
fn a_client_that_stops_reading_does_not_keep_the_server_running() {
    let home = home();
    let mut child = home
        .command(&["serve"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs");
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().expect("it is piped");
    // The server ends when it notices the closed pipe, or when stdin ends.
    let _gone =
        std::io::Write::write_all(&mut stdin, format!("{}\n", initialize("2025-11-25")).as_bytes());
    drop(stdin);
    assert!(child.wait().is_ok());
}
