//! Tests of `portcullis wrap`: the tools of an upstream server, with views and without a configuration file.

use std::fs;

use serde_json::{Value, json};

use crate::support::client::{Client, Era};
use crate::support::home::Home;
use crate::support::stand_in;

fn wrapped(home: &Home, more: &[&str], era: Era) -> Client {
    let server = stand_in();
    let arguments = [&["wrap"], more, &["--", server.as_str(), "stdio", "all"]].concat();
    Client::start_with(home, &arguments, era, json!({}))
}

fn tools(client: &mut Client) -> Vec<Value> {
    let asked = client.request("tools/list", json!({}));
    client.reply(asked)["result"]["tools"].as_array().expect("a list").clone()
}

fn read(client: &mut Client, uri: &str) -> Value {
    let asked = client.request("resources/read", json!({"uri": uri}));
    let reply = client.reply(asked);
    assert!(reply["error"].is_null(), "{reply}");
    reply["result"]["contents"][0].clone()
}

#[test]
fn each_tool_of_another_server_has_a_view() {
    let home = Home::new();
    for era in Era::BOTH {
        let mut client = wrapped(&home, &[], era);
        let tools = tools(&mut client);
        let mut views = 0;
        for tool in &tools {
            let view = tool["_meta"]["ui"]["resourceUri"].as_str();
            let view = view.unwrap_or_else(|| panic!("{tool} has no view"));
            assert_eq!(tool["_meta"]["ui/resourceUri"], view, "{tool}");
            let page = read(&mut client, view);
            assert_eq!(page["mimeType"], "text/html;profile=mcp-app");
            let text = page["text"].as_str().expect("a page");
            assert!(text.starts_with("<!doctype html>"), "{text:.200}");
            assert!(text.contains(tool["name"].as_str().expect("a name")), "{text:.200}");
            views += 1;
        }
        assert!(views > 0, "the server has tools");
        assert!(!tools.iter().any(|tool| tool["name"] == "get_guidelines"), "it was not asked for");
        let by_an_old_address = "ui://portcullis/echo/0000.html";
        assert!(read(&mut client, by_an_old_address)["text"].is_string());
    }
}

#[test]
fn approvals_belong_to_the_server_on_the_command_line() {
    let home = Home::new();
    let server = stand_in();
    let names = |options: &[&str]| -> Vec<String> {
        let arguments = [&["wrap", "--", server.as_str(), "stdio"], options].concat();
        let mut client = Client::start_with(&home, &arguments, Era::Legacy, json!({}));
        let name = |tool: &Value| tool["name"].as_str().expect("a name").to_owned();
        tools(&mut client).iter().map(name).collect()
    };
    assert!(!names(&[]).contains(&"log".to_owned()));
    let all = names(&["all"]);
    assert!(all.contains(&"log".to_owned()), "another server by the same name: {all:?}");
    let lock = home.path().join(".local/state/portcullis/portcullis.lock");
    let text = fs::read_to_string(&lock).expect("it was approved");
    let forgotten: String = text
        .lines()
        .filter(|line| !line.starts_with("log = "))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_ne!(forgotten.len(), text.len(), "{text}");
    fs::write(&lock, forgotten).expect("a home");
    assert!(!names(&["all"]).contains(&"log".to_owned()), "nobody has approved it");
    let arguments = ["wrap", "--", server.as_str(), "stdio", "all"];
    let mut client = Client::start_with(&home, &arguments, Era::Legacy, json!({}));
    tools(&mut client);
    let said = client.end().stderr;
    let advice =
        said.split_once("approve it, run `portcullis ").and_then(|(_, rest)| rest.split_once('`'));
    let (advice, _) = advice.unwrap_or_else(|| panic!("nothing is advised: {said}"));
    let advice = advice.replacen("plugin approve", "plugin approve --yes", 1);
    let approved = home.run(&advice.split(' ').collect::<Vec<_>>());
    assert!(approved.stdout.contains("log (new)"), "{advice}: {approved:?}");
    assert!(names(&["all"]).contains(&"log".to_owned()), "{approved:?}");
}

#[test]
fn flags_have_their_effects() {
    let home = Home::new();
    let folder = home.files().join("pages");
    fs::create_dir_all(&folder).expect("a home can be written");
    let folder_text = folder.to_str().expect("a path is UTF-8").to_owned();
    let flags = ["--name", "odd", "--with-bundled", "--no-cache", "--export-dir", &folder_text];
    let mut client = wrapped(&home, &flags, Era::Modern);
    let tools = tools(&mut client);
    assert!(tools.iter().any(|tool| tool["name"] == "get_guidelines"), "it was asked for");
    let echo = tools.iter().find(|tool| tool["name"] == "echo").expect("it is listed");
    read(&mut client, echo["_meta"]["ui"]["resourceUri"].as_str().expect("a view"));
    let pages = fs::read_dir(&folder).expect("it was made").count();
    assert!(pages > 0, "pages are left in the folder that was named");
}

#[test]
fn invalid_commands_are_refused_with_the_reason() {
    let home = Home::new();
    for (arguments, expected) in [
        (&["wrap"][..], "COMMAND | URL"),
        (&["wrap", "--", "https://a.example/mcp", "more"], "takes neither arguments"),
        (&["wrap", "--env", "NO_SUCH_VARIABLE_HERE", "--", "true"], "NO_SUCH_VARIABLE_HERE"),
        (&["wrap", "--name", "a b", "--", "true"], "letters, digits"),
    ] {
        let ran = home.run(arguments);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(expected), "{ran:?}");
    }
}

#[test]
fn servers_are_named_after_the_command_or_the_option() {
    let home = Home::new();
    for (option, expected) in [(&[][..], "stand-in"), (&["--name", "mine"], "mine")] {
        let mut client = wrapped(&home, option, Era::Legacy);
        client.call("echo", json!({}));
        client.end();
        let audit = home.audit();
        let last = audit.iter().rev().find(|record| record["tool"] == "echo").expect("a record");
        assert_eq!(last["plugin"], expected);
    }
}

#[test]
fn errors_of_a_wrapped_server_are_passed_on() {
    for era in Era::BOTH {
        for (server, unknown, invalid) in [
            (
                "weather",
                "error: MCP error -32602: Tool nothing not found",
                "error: MCP error -32602: Input validation error: Invalid arguments for tool \
                 get_current_weather: expected string at city",
            ),
            ("all", "-32602 no tool nothing", ""),
        ] {
            let home = Home::new();
            let program = stand_in();
            let arguments = ["wrap", "--", program.as_str(), "stdio", server];
            let mut client = Client::start_with(&home, &arguments, era, json!({}));
            assert_eq!(client.text("nothing", json!({})), unknown, "{server} {era:?}");
            if !invalid.is_empty() {
                assert_eq!(client.text("get_current_weather", json!({"city": 7})), invalid);
            }
            client.end();
            let audit = home.audit();
            let unknown = audit.iter().find(|record| record["tool"] == "nothing");
            assert!(unknown.is_some(), "the call is on record: {audit:?}");
        }
    }
}

#[test]
fn a_wrapped_server_can_ask_before_it_refuses_an_unknown_tool() {
    for era in Era::BOTH {
        let home = Home::new();
        let program = stand_in();
        let arguments = ["wrap", "--", program.as_str(), "stdio", "legacy", "curious"];
        let mut client = Client::start_with(&home, &arguments, era, json!({"roots": {}}));
        client.answers = [("roots/list".to_owned(), json!({"roots": []}))].into();
        assert_eq!(client.text("nothing", json!({})), "-32602 no tool nothing", "{era:?}");
    }
}

#[test]
fn a_tool_that_the_server_does_not_list_cannot_be_called() {
    let home = Home::new();
    let program = stand_in();
    // Without the option `all`, this server does not list the tool `seen`, but runs it.
    let arguments = ["wrap", "--", program.as_str(), "stdio"];
    let mut client = Client::start_with(&home, &arguments, Era::Legacy, json!({}));
    let refused = client.text("seen", json!({}));
    assert_eq!(refused, "-32602 no tool seen");
}

#[test]
fn all_tools_of_a_large_server_are_listed() {
    let home = Home::new();
    let server = stand_in();
    for era in Era::BOTH {
        for (options, expected) in [(&[][..], 100), (&["--tools", "search"], 2)] {
            let arguments =
                [&["wrap"], options, &["--", server.as_str(), "stdio", "hundred"]].concat();
            let mut client = Client::start_with(&home, &arguments, era, json!({}));
            let tools = tools(&mut client);
            assert_eq!(tools.len(), expected, "{era:?} {options:?}");
            assert_eq!(tools[0]["name"] == "search_tools", expected == 2, "{}", tools[0]);
        }
    }
}
