//! Tests of components that take too long to compile: they are refused once, and tools of other plugins do not wait for
//! them.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::PATIENCE;
use crate::support::client::{Client, Era, Event};
use crate::support::home::Home;

/// Maximum time of a command or session with bundled tools while a component is being compiled, on a busy machine.
const AT_ONCE: Duration = Duration::from_secs(8);

/// A number as unsigned LEB128.
fn number(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

/// Bytes with a prefix that is their length.
fn counted(bytes: &[u8]) -> Vec<u8> {
    [number(bytes.len()), bytes.to_vec()].concat()
}

fn section(id: u8, bytes: &[u8]) -> Vec<u8> {
    [vec![id], counted(bytes)].concat()
}

/// A valid component with one function, whose body has this many bytes. With some megabytes, the compiler needs
/// minutes and gigabytes of memory.
fn bomb(bytes: usize) -> Vec<u8> {
    // The body is a loop that contains `x = x * x + x` many times, each followed by a conditional branch.
    let step = [0x20, 0, 0x20, 0, 0x7e, 0x20, 0, 0x7c, 0x21, 0, 0x20, 0, 0x50, 0x0d, 0];
    let mut body = vec![1, 1, 0x7e, 0x03, 0x40];
    body.extend(step.iter().cycle().take(bytes / step.len() * step.len()));
    body.extend([0x0b, 0x0b]);
    let module = [
        b"\0asm\x01\0\0\0".to_vec(),
        section(1, &[1, 0x60, 0, 0]),
        section(3, &[1, 0]),
        section(10, &[vec![1], counted(&body)].concat()),
    ]
    .concat();
    [b"\0asm\x0d\0\x01\0".to_vec(), section(1, &module)].concat()
}

/// Installs a valid component that takes long to compile.
pub fn drop_bomb(home: &Home, name: &str, bytes: usize) {
    fs::write(home.plugins().join(format!("{name}.wasm")), bomb(bytes)).expect("a home");
}

#[test]
fn a_bomb_does_not_delay_bundled_plugins_and_is_refused_once() {
    let home = Home::with(&[], "");
    drop_bomb(&home, "bomb", 4_000_000);
    // A single call does not wait for the component.
    let began = Instant::now();
    let called = home.run(&["call", "get_guidelines"]);
    assert_eq!(called.code, Some(0), "{called:?}");
    assert!(began.elapsed() < AT_ONCE, "{:?}", began.elapsed());

    // A session with `initialize`, `tools/list` and `tools/call` does not wait for it either.
    let began = Instant::now();
    let mut client = Client::start(&home, Era::Legacy);
    let id = client.request("tools/list", json!({}));
    let tools = client.reply(id);
    let tools = tools["result"]["tools"].as_array().expect("tools");
    assert!(tools.iter().any(|tool| tool["name"] == "get_guidelines"));
    assert!(!client.text("get_guidelines", json!({})).is_empty());
    assert!(began.elapsed() < AT_ONCE, "{:?}", began.elapsed());
    // An unknown tool may belong to a component that is still being compiled, so the answer waits for the compiler.
    let id = client.request("tools/call", json!({ "name": "boom", "arguments": {} }));
    let unknown = client.reply(id);
    assert!(unknown["error"]["message"].as_str().is_some_and(|why| why.contains("unknown tool")));
    drop(client);

    // By now the refusal is remembered.
    let began = Instant::now();
    let listed = home.run(&["plugin", "list"]);
    assert!(listed.stdout.contains("bomb refused"), "{listed:?}");
    assert!(listed.stdout.contains("This refusal is remembered"), "{listed:?}");
    assert!(began.elapsed() < AT_ONCE, "{:?}", began.elapsed());
}

#[test]
fn a_refusal_is_forgotten_when_the_plugin_is_approved_or_its_file_changes() {
    let home = Home::with(&[], "[host]\nbundled = false\n");
    let file = home.plugins().join("broken.wasm");
    let again = "This refusal is remembered";
    fs::write(&file, b"no component").expect("a home");
    assert!(!home.run(&["plugin", "list"]).stdout.contains(again));
    assert!(home.run(&["plugin", "list"]).stdout.contains(again));
    let approved = home.run(&["plugin", "approve", "broken", "--yes"]);
    assert_eq!(approved.code, Some(0), "{approved:?}");
    let listed = home.run(&["plugin", "list"]);
    assert!(
        listed.stdout.contains("broken refused") && !listed.stdout.contains(again),
        "{listed:?}"
    );
    assert!(home.run(&["plugin", "list"]).stdout.contains(again));
    // With other limits, the component is judged again.
    home.configure("[host]\nbundled = false\n[plugins.broken.limits]\nwall-ms = 20000\n");
    assert!(!home.run(&["plugin", "list"]).stdout.contains(again));
}

#[test]
fn clients_are_notified_of_plugins_that_are_compiled_later() {
    let home = Home::with(&[], "");
    home.install("echo");
    // Without a cache, the plugin has to be compiled first.
    fs::remove_dir_all(home.path().join(".cache/portcullis")).expect("a home");
    let mut client = Client::start(&home, Era::Legacy);
    let id = client.request("tools/list", json!({}));
    let first = client.reply(id);
    let has_echo = |list: &serde_json::Value| {
        let tools = list["result"]["tools"].as_array().expect("tools");
        tools.iter().any(|tool| tool["name"] == "echo")
    };
    let deadline = Instant::now() + PATIENCE;
    let mut last = first.clone();
    while !has_echo(&last) {
        assert!(Instant::now() < deadline, "it is never there");
        std::thread::sleep(Duration::from_millis(200));
        let id = client.request("tools/list", json!({}));
        last = client.reply(id);
    }
    if !has_echo(&first) {
        let told = client.events.iter().any(|event| {
            matches!(event, Event::Told(told) if told["method"] == "notifications/tools/list_changed")
        });
        assert!(told, "nobody said that there is more");
    }
    assert_eq!(client.text("echo", json!({ "text": "hello" })), "hello");
}
