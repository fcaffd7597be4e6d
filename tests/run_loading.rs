//! Tests of runs and searches that begin while plugins are still being compiled: they find the tools of these plugins,
//! as a direct call does. The compiler is stopped meanwhile, so that the tests do not depend on its speed.
#![cfg(target_os = "linux")]

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::bombs::drop_bomb;
use crate::support::PATIENCE;
use crate::support::client::{Client, Era, text_of};
use crate::support::guests::guests;
use crate::support::home::Home;

/// Size in bytes of a component that takes a second to compile. It is compiled before larger components.
const SLOW: usize = 120_000;

/// Size in bytes of a component that takes several seconds to compile. It is compiled after `echo`.
const LARGE: usize = 600_000;

/// A home in which `echo` has to be compiled, after a slow component. The plugins in `known` are compiled already.
fn home(known: &[&str], config: &str) -> Home {
    let home = Home::with(&[], config);
    for name in known {
        home.install(name);
    }
    fs::remove_dir_all(home.path().join(".cache/portcullis")).ok();
    let listed = home.run(&["plugin", "list"]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    // `install` is not used, since it also copies the compiled code.
    let echo = home.plugins().join("echo.wasm");
    fs::copy(guests().component("echo"), echo).expect("it was built");
    drop_bomb(&home, "slow", SLOW);
    home
}

/// The stopped compiler of a host. It continues when this value is dropped.
struct StoppedCompiler(Pid);

impl StoppedCompiler {
    /// Waits until the host of this client has started a compiler, and stops it.
    fn of(client: &mut Client) -> Self {
        // The host starts the compiler with the first request at the latest.
        client.request("tools/list", json!({}));
        let host = client.process().id();
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(compiler) = compiler_of(host) {
                kill_process(compiler, Signal::STOP).expect("it is ours");
                return Self(compiler);
            }
            assert!(Instant::now() < deadline, "nothing is compiled");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for StoppedCompiler {
    fn drop(&mut self) {
        // The compiler has ended if its host has ended.
        let _gone = kill_process(self.0, Signal::CONT);
    }
}

/// The compiler that this process has started.
fn compiler_of(host: u32) -> Option<Pid> {
    let processes = fs::read_dir("/proc").expect("Linux has it").filter_map(Result::ok);
    let is_compiler = |process: &fs::DirEntry| {
        let read = |file: &str| fs::read_to_string(process.path().join(file)).unwrap_or_default();
        read("cmdline").contains("compile-component")
            && read("status").contains(&format!("\nPPid:\t{host}\n"))
    };
    let found =
        processes.filter(is_compiler).find_map(|one| one.file_name().to_str()?.parse().ok());
    found.and_then(Pid::from_raw)
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
        let compiler = StoppedCompiler::of(&mut client);
        let one = client.call("run_code", json!({ "code": "return 1" }));
        assert_eq!(one["result"]["structuredContent"]["result"], 1, "{}", text_of(&one));
        let code = "return await tools.echo.echo({ text: 'hello' })";
        let ran = client.begin("run_code", json!({ "code": code }));
        assert!(!lists(&mut client, "echo") && !client.has_reply(ran));
        drop(compiler);
        let ran = client.finish(ran);
        assert_eq!(ran["result"]["structuredContent"]["result"], "hello", "{}", text_of(&ran));
        let lost = client.call("run_code", json!({ "code": "return tools.lost" }));
        assert!(text_of(&lost).contains("tools has no \"lost\""), "{}", text_of(&lost));
    }
}

#[test]
fn a_call_does_not_wait_for_plugins_that_are_compiled_after_its_own() {
    let home = home(&[], "");
    drop_bomb(&home, "large", LARGE);
    let mut client = Client::start(&home, Era::Legacy);
    let compiler = StoppedCompiler::of(&mut client);
    let called = client.begin("echo", json!({ "text": "hello" }));
    drop(compiler);
    let called = client.finish(called);
    assert!(compiler_of(client.process().id()).is_some(), "it waited for the large component");
    assert_eq!(text_of(&called), "hello");
}

#[test]
fn a_call_of_a_plugin_waits_for_a_plugin_that_is_being_compiled() {
    let config = "[host]\nbundled = false\n[limits]\nwall-ms = 100_000\n\
                  [plugins.caller.grants.tools]\ncall = [\"*\"]\n";
    let home = home(&["caller"], config);
    let mut client = Client::start(&home, Era::Legacy);
    let compiler = StoppedCompiler::of(&mut client);
    let calls =
        json!({ "calls": [{ "tool": "echo", "with": { "text": "hello" } }, { "tool": "lost" }] });
    let told = client.begin("call_tools", calls);
    assert!(!lists(&mut client, "echo") && !client.has_reply(told));
    drop(compiler);
    let told = text_of(&client.finish(told));
    assert!(told.contains("0: \"hello\""), "{told}");
    assert!(told.contains("1: unknown: unknown tool: lost"), "{told}");
}

#[test]
fn a_client_that_searches_calls_a_tool_of_a_plugin_that_is_being_compiled() {
    let home = home(&[], "");
    let serve = ["serve", "--tools", "search"];
    let mut client = Client::start_with(&home, &serve, Era::Legacy, json!({}));
    let compiler = StoppedCompiler::of(&mut client);
    let call = json!({ "name": "echo", "arguments": { "text": "hello" } });
    let called = client.begin("call_tool", call);
    assert!(!lists(&mut client, "echo") && !client.has_reply(called));
    drop(compiler);
    assert_eq!(text_of(&client.finish(called)), "hello");
}

#[test]
fn a_search_waits_for_a_plugin_that_is_being_compiled() {
    for tools in ["search", "code"] {
        let home = home(&[], "");
        let serve = ["serve", "--tools", tools];
        let mut client = Client::start_with(&home, &serve, Era::Legacy, json!({}));
        let compiler = StoppedCompiler::of(&mut client);
        let searched = client.begin("search_tools", json!({ "query": "echo" }));
        assert!(!lists(&mut client, "echo") && !client.has_reply(searched));
        drop(compiler);
        let found = text_of(&client.finish(searched));
        assert!(found.contains("Answers with the text it is given."), "{tools}: {found}");
    }
}
