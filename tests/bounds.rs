//! Tests how much memory a process takes for a message before any limit of a plugin refuses the message.

use std::io::{BufReader, Write};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::client::{Client, Era};
use crate::support::home::Home;
use crate::support::http::{self, Message};
use crate::support::process::{Process, memory, peak_memory};
use crate::support::wire::serve;

const CONFIG: &str = "[host]\nbundled = false\n[plugins.echo.limits]\nargument-bytes = 33_554_432\n\
    [http]\nbody-bytes = 8_388_608\n";

/// Memory, in bytes, that a process may take in addition for a message of any size: for the maximum number of values
/// in a short message, and for a guest that is started for a call.
const BASE: u64 = 64 << 20;

const MIB: usize = 1 << 20;

fn begun(home: &Home) -> Process {
    let mut process = Process::start(&mut home.command(&["serve"]));
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "blackbox", "version": "1"},
    });
    let line = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    ask(&mut process, &line.to_string());
    let reply = ask(&mut process, &call("1", "\"small\""));
    assert_eq!(reply["result"]["content"][0]["text"], "small", "{reply}");
    process
}

fn call(id: &str, text: &str) -> String {
    let params = format!(r#"{{"name":"echo","arguments":{{"text":{text}}}}}"#);
    format!(r#"{{"jsonrpc":"2.0","method":"tools/call","params":{params},"id":{id}}}"#)
}

fn ask(process: &mut Process, line: &str) -> Value {
    process.write(format!("{line}\n").as_bytes());
    let reply = process.line().unwrap_or_else(|| panic!("the end; {}", process.stderr()));
    serde_json::from_str(&reply).expect("JSON")
}

/// JSON texts of about this many bytes that take far more memory when they are parsed.
fn bombs(size: usize) -> [(&'static str, String); 5] {
    let of = |piece: &str| format!("[{}0]", piece.repeat(size / piece.len()));
    let keys: String = (0..size / 12).map(|n| format!("\"{n:07}\":0,")).collect();
    [
        ("numbers", of("0,")),
        ("arrays", of("[0],")),
        ("objects", of("{\"\":0},")),
        ("nested", of(&("[".repeat(90) + &"]".repeat(90) + ","))),
        ("keys", format!("{{{keys}\"last\":0}}")),
    ]
}

/// The limit holds for all input of a plugin, not only for arguments of tools.
#[test]
fn completions_uris_and_cursors_have_the_same_maximum_size_as_arguments() {
    let limits = "[plugins.conformance.limits]\nargument-bytes = 1_000\n";
    let config = format!("[host]\nbundled = false\n[plugins.conformance]\n{limits}");
    let home = Home::with(&["conformance"], &config);
    let long = "x".repeat(1_100);
    for era in Era::BOTH {
        let mut client = Client::start(&home, era);
        for (method, params) in [
            (
                "completion/complete",
                json!({
                    "ref": {"type": "ref/prompt", "name": "test_prompt_with_arguments"},
                    "argument": {"name": "arg1", "value": long},
                }),
            ),
            ("resources/read", json!({"uri": format!("test://template/{long}/data")})),
        ] {
            let asked = client.request(method, params);
            let reply = client.reply(asked).to_string();
            assert!(reply.contains("`argument-bytes` allows 1000"), "{method}: {reply:.300}");
        }
    }
}

#[test]
fn a_line_of_many_values_takes_eight_times_its_length_at_most() {
    let home = Home::with(&["echo"], CONFIG);
    for (kind, bomb) in bombs(10 * MIB) {
        let mut process = begun(&home);
        let before = peak_memory(process.id());
        let line = call("\"a\"", &bomb);
        let reply = ask(&mut process, &line);
        assert_eq!(
            (&reply["id"], &reply["error"]["code"]),
            (&json!("a"), &json!(-32600)),
            "{kind}"
        );
        let grown = peak_memory(process.id()).saturating_sub(before);
        let most = 8 * line.len() as u64;
        assert!(grown < most, "{kind}: {grown} bytes for a line of {}", line.len());
        // The server still answers requests.
        let reply = ask(&mut process, &call("2", "\"small\""));
        assert_eq!(reply["result"]["content"][0]["text"], "small", "{kind}: {reply}");
    }
}

#[test]
fn the_largest_allowed_message_takes_eight_times_its_length_at_most() {
    let home = Home::with(&["echo"], CONFIG);
    // As many values as a message of this length may have, in the forms that take the most memory.
    let most = [
        ("numbers", format!("[{}0]", "0,".repeat(131_000))),
        ("objects", format!("[{}0]", "{\"\":0},".repeat(131_000 / 7))),
        ("a large text", format!("\"{}\"", "x".repeat(10 * MIB))),
        ("both", format!("[{}\"{}\"]", "0,".repeat(220_000), "x".repeat(15 * MIB))),
    ];
    for (kind, text) in most {
        let mut process = begun(&home);
        let before = peak_memory(process.id());
        let line = call("7", &text);
        let reply = ask(&mut process, &line);
        assert_eq!(reply["id"], 7, "{kind}");
        // The tool's schema refuses arrays.
        let is_text = kind == "a large text";
        assert_eq!(reply["result"]["isError"] == true, !is_text, "{kind}");
        let grown = peak_memory(process.id()).saturating_sub(before);
        let most = 8 * line.len() as u64 + BASE;
        eprintln!("{kind}: a line of {} bytes took {grown} bytes", line.len());
        assert!(grown < most, "{kind}: {grown} bytes for a line of {}", line.len());
    }
}

#[test]
fn a_line_that_is_too_long_is_answered_and_its_memory_is_freed() {
    let home = Home::with(&["echo"], CONFIG);
    let mut process = begun(&home);
    let before = peak_memory(process.id());
    let line = call("28", &format!("\"{}\"", "x".repeat(28 * MIB)));
    let reply = ask(&mut process, &line);
    assert_eq!((&reply["id"], &reply["error"]["code"]), (&json!(28), &json!(-32600)), "{reply}");
    let grown = peak_memory(process.id()).saturating_sub(before);
    assert!(grown < 8 * 16 * MIB as u64, "{grown} bytes");
}

#[test]
fn a_long_line_arrives_whole_while_answers_go_out() {
    let home = Home::with(&["echo"], CONFIG);
    let mut process = begun(&home);
    let large = "x".repeat(MIB);
    let long = call("1000", &format!("\"{large}\""));
    let (first, rest) = long.split_at(long.len() / 2);
    // Each answer that is written interrupts the reading of the line.
    for id in 1..100 {
        process.write(format!("{}\n", call(&id.to_string(), "\"a\"")).as_bytes());
    }
    process.write(first.as_bytes());
    let mut replies: Vec<Value> = (1..100)
        .map(|_| serde_json::from_str(&process.line().expect("a reply")).expect("JSON"))
        .collect();
    process.write(format!("{rest}\n").as_bytes());
    replies.push(serde_json::from_str(&process.line().expect("a reply")).expect("JSON"));
    let last = replies.iter().find(|reply| reply["id"] == 1000).expect("it is answered");
    assert_eq!(last["result"]["content"][0]["text"].as_str().map(str::len), Some(large.len()));
}

#[test]
fn memory_goes_back_to_the_system() {
    let home = Home::with(&["echo"], CONFIG);
    let mut process = begun(&home);
    let before = memory(process.id());
    for id in 2..5 {
        let text = format!("[{}\"{}\"]", "0,".repeat(200_000), "x".repeat(14 * MIB));
        assert_eq!(ask(&mut process, &call(&id.to_string(), &text))["id"], id);
    }
    // When the allocator is used again, it returns to the system the memory that has been free for a second.
    std::thread::sleep(Duration::from_millis(1500));
    for id in 100..400 {
        ask(&mut process, &call(&id.to_string(), "\"small\""));
    }
    let kept = memory(process.id()).saturating_sub(before);
    eprintln!("three lines of 14 MiB leave {kept} bytes");
    assert!(kept < 48 << 20, "{kept} bytes stay");
}

#[test]
fn a_body_of_many_values_is_refused_with_its_id_over_http() {
    let home = Home::with(&["echo"], CONFIG);
    for path in ["/mcp", "/messages"] {
        let (process, address) = serve(&home, &[]);
        let host = address.to_string();
        let mut stream = None;
        let mut path = path.to_owned();
        if path == "/messages" {
            let mut opened = http::connect(address);
            let head = format!("GET /sse HTTP/1.1\r\nhost: {host}\r\n\r\n");
            opened.write_all(head.as_bytes()).expect("it listens");
            let mut reader = BufReader::new(opened);
            Message::read_head(&mut reader).expect("an answer");
            let mut line = String::new();
            while !line.starts_with("data: ") {
                line.clear();
                std::io::BufRead::read_line(&mut reader, &mut line).expect("a stream");
            }
            line["data: ".len()..].trim().clone_into(&mut path);
            stream = Some(reader);
        }
        for (kind, bomb) in bombs(4 * MIB) {
            let before = peak_memory(process.id());
            let body = call("\"a\"", &bomb);
            let types = "application/json, text/event-stream";
            let headers =
                [("host", host.as_str()), ("content-type", "application/json"), ("accept", types)];
            let reply = http::request(address, &format!("POST {path}"), &headers, body.as_bytes());
            let reply = reply.expect("an answer");
            assert_eq!(reply.status(), 400, "{kind}: {reply:?}");
            let said: Value = serde_json::from_str(&reply.text()).expect("JSON");
            assert_eq!(
                (&said["id"], &said["error"]["code"]),
                (&json!("a"), &json!(-32600)),
                "{kind}"
            );
            let grown = peak_memory(process.id()).saturating_sub(before);
            assert!(grown < 8 * body.len() as u64, "{kind}: {grown} bytes");
        }
        drop(stream);
    }
}
