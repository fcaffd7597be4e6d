//! Runs that begin while plugins are still being compiled: a program finds the tools of these plugins, as a direct call does.

use std::fs;

use serde_json::json;

use crate::bombs::drop_bomb;
use crate::support::client::{Client, Era, text_of};
use crate::support::home::Home;

/// Bytes of a component that keeps the compiler busy for seconds, and is compiled before larger ones.
const SLOW: usize = 120_000;

/// A home in which `echo` has to be compiled, after a component that takes long. `known` are compiled already.
fn home(known: &[&str], config: &str) -> Home {
    let home = Home::with(&[], config);
    for name in known {
        home.install(name);
    }
    fs::remove_dir_all(home.path().join(".cache/portcullis")).ok();
    let listed = home.run(&["plugin", "list"]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    home.install("echo");
    drop_bomb(&home, "slow", SLOW);
    home
}

/// Whether the client's list has a tool.
fn lists(client: &mut Client, tool: &str) -> bool {
    let id = client.request("tools/list", json!({}));
    let reply = client.reply(id);
    let tools = reply["result"]["tools"].as_array().expect("tools");
    tools.iter().any(|one| one["name"] == tool)
}

#[test]
fn a_program_waits_for_a_plugin_that_is_being_compiled() {
    for era in Era::BOTH {
        let home = home(&[], "");
        let mut client = Client::start(&home, era);
        assert!(!lists(&mut client, "echo"), "the plugin is there at once: this shows nothing");
        let one = client.call("run_code", json!({ "code": "return 1" }));
        assert_eq!(one["result"]["structuredContent"]["result"], 1, "{}", text_of(&one));
        assert!(!lists(&mut client, "echo"), "a program that calls nothing waits for nothing");
        let code = "return await tools.echo.echo({ text: 'hello' })";
        let ran = client.call("run_code", json!({ "code": code }));
        assert_eq!(ran["result"]["structuredContent"]["result"], "hello", "{}", text_of(&ran));
        let lost = client.call("run_code", json!({ "code": "return tools.lost" }));
        assert!(text_of(&lost).contains("tools has no \"lost\""), "{}", text_of(&lost));
    }
}

#[test]
fn a_call_of_a_plugin_waits_for_a_plugin_that_is_being_compiled() {
    let config = "[host]\nbundled = false\n[plugins.caller.grants.tools]\ncall = [\"*\"]\n";
    let home = home(&["caller"], config);
    let mut client = Client::start(&home, Era::Legacy);
    assert!(!lists(&mut client, "echo"), "the plugin is there at once: this shows nothing");
    let calls =
        json!({ "calls": [{ "tool": "echo", "with": { "text": "hello" } }, { "tool": "lost" }] });
    let told = client.text("call_tools", calls);
    assert!(told.contains("0: \"hello\""), "{told}");
    assert!(told.contains("1: unknown: unknown tool: lost"), "{told}");
}

#[test]
fn a_client_that_searches_calls_a_tool_of_a_plugin_that_is_being_compiled() {
    let home = home(&[], "");
    let serve = ["serve", "--tools", "search"];
    let mut client = Client::start_with(&home, &serve, Era::Legacy, json!({}));
    let call = json!({ "name": "echo", "arguments": { "text": "hello" } });
    assert_eq!(client.text("call_tool", call), "hello");
}
