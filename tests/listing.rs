//! Tests of the list of tools that a client gets: by projects, by profiles, by search, and its size in bytes.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::client::{Client, Era, text_of};
use crate::support::home::Home;
use crate::support::http;
use crate::support::process::Process;
use crate::support::stand_in;

/// A UI5 tool that needs a project, one that needs none, and an Unreal tool.
const UI5: &str = "run_ui5_linter";
const CREATES: &str = "create_ui5_app";
const UNREAL: &str = "search_blueprints";

/// Writes a file that marks a UI5 project into a folder of the home's files.
fn ui5_project(home: &Home, folder: &str) -> String {
    let folder = home.files().join(folder);
    fs::create_dir_all(&folder).expect("it is writable");
    fs::write(folder.join("ui5.yaml"), "specVersion: \"3.0\"\n").expect("it is writable");
    folder.to_str().expect("UTF-8").to_owned()
}

/// Writes a file that marks an Unreal project into a folder of the home's files.
fn unreal_project(home: &Home, folder: &str) -> String {
    let folder = home.files().join(folder);
    fs::create_dir_all(&folder).expect("it is writable");
    fs::write(folder.join("Game.uproject"), "{\"FileVersion\": 3}").expect("it is writable");
    folder.to_str().expect("UTF-8").to_owned()
}

fn list(client: &mut Client) -> Vec<Value> {
    let id = client.request("tools/list", json!({}));
    let reply = client.reply(id);
    reply["result"]["tools"].as_array().unwrap_or_else(|| panic!("{reply}")).clone()
}

fn names(client: &mut Client) -> Vec<String> {
    let tools = list(client);
    tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect()
}

fn has(names: &[String], name: &str) -> bool {
    names.iter().any(|one| one == name)
}

/// Which of the three tools a server with these arguments lists.
fn listed(home: &Home, arguments: &[&str], era: Era) -> [bool; 3] {
    let mut client = Client::start_with(home, arguments, era, json!({}));
    let names = names(&mut client);
    [UI5, CREATES, UNREAL].map(|name| has(&names, name))
}

#[test]
fn a_project_lists_the_tools_of_its_own_family() {
    for era in Era::BOTH {
        let home = Home::new();
        let root = home.file("");
        let serve = ["serve", "--root", &root];
        assert_eq!(listed(&home, &["serve"], era), [false, true, false], "no root");
        assert_eq!(listed(&home, &serve, era), [false, true, false], "an empty root");
        ui5_project(&home, "app");
        assert_eq!(listed(&home, &serve, era), [true, true, false], "a UI5 project");
        let game = unreal_project(&home, "game");
        assert_eq!(listed(&home, &serve, era), [true, true, true], "both");
        assert_eq!(listed(&home, &["serve", "--root", &game], era), [false, true, true]);
    }
}

#[test]
fn a_tool_that_is_unlisted_without_a_project_can_be_called() {
    let home = Home::new();
    let root = ui5_project(&home, "app");
    let mut client = Client::start_with(&home, &["serve", "--root", &root], Era::Legacy, json!({}));
    assert!(!has(&names(&mut client), "unreal_status"));
    let reply = client.call("unreal_status", json!({}));
    assert!(reply.get("result").is_some(), "{reply}");
}

#[test]
fn instructions_are_those_of_the_listed_plugins() {
    let home = Home::new();
    let unreal = instructions(&home, &["serve", "--tools", "unreal"]);
    assert!(unreal.contains("get_blueprint_graph"), "{unreal}");
    assert_eq!(instructions(&home, &["serve", "--tools", "all"]), unreal);
    assert_eq!(instructions(&home, &["serve", "--tools", "ui5"]), "");
    assert_eq!(instructions(&home, &["serve"]), "", "no root has a project");
    let game = unreal_project(&home, "game");
    assert_eq!(instructions(&home, &["serve", "--root", &game]), unreal);
}

fn instructions(home: &Home, arguments: &[&str]) -> String {
    let mut client = Client::start_with(home, arguments, Era::Modern, json!({}));
    let id = client.request("server/discover", json!({}));
    client.reply(id)["result"]["instructions"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_clients_roots_select_the_tools_and_changes_are_notified() {
    let home = Home::new();
    let (app, game) = (ui5_project(&home, "app"), unreal_project(&home, "game"));
    let root = home.file("");
    let roots = |path: &str| json!({"roots": [{"uri": format!("file://{path}")}]});
    let capabilities = json!({"roots": {"listChanged": true}});
    let serve = ["serve", "--root", &root];
    let mut client = Client::start_with(&home, &serve, Era::Legacy, capabilities);
    client.answers.insert("roots/list".to_owned(), roots(&app));
    let before = names(&mut client);
    assert!(has(&before, UI5) && !has(&before, UNREAL), "{before:?}");
    client.answers.insert("roots/list".to_owned(), roots(&game));
    client.notify("notifications/roots/list_changed", json!({}));
    client.hear(|told| told["method"] == "notifications/tools/list_changed");
    let after = names(&mut client);
    assert!(!has(&after, UI5) && has(&after, UNREAL), "{after:?}");
}

#[test]
fn a_client_that_does_not_send_its_roots_gets_a_list_by_the_operators_roots() {
    let home = Home::new();
    let root = ui5_project(&home, "app");
    let serve = ["serve", "--root", &root];
    let mut client = Client::start_with(&home, &serve, Era::Legacy, json!({"roots": {}}));
    let begun = Instant::now();
    let names = names(&mut client);
    assert!(has(&names, UI5) && !has(&names, UNREAL), "{names:?}");
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

#[test]
fn a_tool_that_makes_a_project_changes_the_list() {
    for era in Era::BOTH {
        let home = Home::new();
        let root = home.file("");
        let mut client = Client::start_with(&home, &["serve", "--root", &root], era, json!({}));
        if era == Era::Modern {
            let filter = json!({"notifications": {"toolsListChanged": true}});
            client.request("subscriptions/listen", filter);
        }
        assert!(!has(&names(&mut client), UI5));
        let made = client.call("create_integration_card", json!({"basePath": root}));
        assert_ne!(made["result"]["isError"], true, "{made}");
        client.hear(|told| told["method"] == "notifications/tools/list_changed");
        assert!(has(&names(&mut client), UI5));
    }
}

#[test]
fn options_and_profiles_win_over_projects() {
    let home = Home::new();
    let root = ui5_project(&home, "app");
    home.configure(
        "[profiles.lean]\nfamilies = [\"unreal\"]\ntools-on = [\"create_*\"]\ntools-off = [\"create_integration_*\"]\n\
         [profiles.named]\nclients = [\"blackbox\"]\nfamilies = [\"unreal\"]\n",
    );
    for era in Era::BOTH {
        let serve = ["serve", "--root", &root];
        assert_eq!(listed(&home, &serve, era), [false, false, true], "the client's profile");
        let typed = [&serve[..], &["--tools", "ui5"]].concat();
        assert_eq!(listed(&home, &typed, era), [true, true, false], "--tools");
        let lean = [&serve[..], &["--profile", "lean"]].concat();
        let mut client = Client::start_with(&home, &lean, era, json!({}));
        let names = names(&mut client);
        assert!(has(&names, UNREAL) && has(&names, CREATES) && !has(&names, UI5), "{names:?}");
        for excluded in ["create_integration_card", UI5] {
            assert!(!has(&names, excluded), "{names:?}");
            let reply = client.call(excluded, json!({}));
            assert_eq!(reply["error"]["code"], -32602, "{reply}");
            assert!(text_of(&reply).contains("the profile `lean`"), "{reply}");
        }
    }
}

#[test]
fn an_unknown_family_or_profile_is_refused_with_the_known_names() {
    let home = Home::new();
    let ran = home.run(&["serve", "--tools", "u15"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("`u15`") && ran.stderr.contains("unreal"), "{ran:?}");
    let ran = home.run(&["serve", "--profile", "lean"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("no profile `lean`"), "{ran:?}");
    home.configure("[profiles.a]\nclients = [\"x\"]\n[profiles.b]\nclients = [\"x\"]\n");
    let ran = home.run(&["tools"]);
    assert!(ran.stderr.contains("`x` is in the profile `a` already"), "{ran:?}");
}

#[test]
fn a_command_says_why_each_tool_is_listed() {
    let home = Home::new();
    let root = ui5_project(&home, "app");
    let why = |arguments: &[&str]| {
        let ran = home.run(&[&["tools", "--why", "--json", "--root", &root], arguments].concat());
        let said: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
        let tools = said["tools"].as_array().expect("a list").clone();
        move |name: &str| {
            let tool = tools.iter().find(|tool| tool["name"] == name).expect("it is there").clone();
            (tool["place"].as_str().expect("text").to_owned(), tool["why"].to_string())
        }
    };
    let said = why(&[]);
    let (place, text) = said(UI5);
    assert!(place == "listed" && text.contains("ui5.yaml"), "{text}");
    let (place, text) = said(UNREAL);
    assert!(place == "unlisted" && text.contains("no project of `unreal`"), "{text}");
    let (place, text) = why(&["--tools", "ui5"])(UNREAL);
    assert!(place == "excluded" && text.contains("--tools"), "{text}");
    let only = home.run(&["tools", "--tools", "unreal"]).stdout;
    assert!(only.contains(UNREAL) && !only.contains(UI5), "{only}");
    let shown = home.run(&["tools", "--why", "--root", &root]);
    assert!(shown.stdout.contains("not listed, can be called"), "{shown:?}");
    // What only the command line may use is no tool of clients.
    let all = home.run(&["tools"]).stdout;
    assert!(all.contains("pack_ui5_data") && !shown.stdout.contains("pack_ui5_data"), "{shown:?}");
}

#[test]
fn a_command_says_which_tools_the_ui_plugin_hides_from_models() {
    let home = Home::new();
    for (settings, place, reason) in [
        ("", "unlisted", "neither to models nor to views"),
        (
            "[plugins.ui.settings]\nmodel-tool = \"true\"\n[plugins.ui.grants.catalog]\nread = [\"tools\"]\n\
             [plugins.ui.grants.store]\nbytes = 1_000_000\n[plugins.ui.grants.cache]\nbytes = 1_000_000\n",
            "listed",
            "it is for every project",
        ),
    ] {
        home.configure(settings);
        let mut client = Client::start(&home, Era::Legacy);
        assert_eq!(has(&names(&mut client), "_ui"), place == "listed", "{settings}");
        client.end();
        let ran = home.run(&["tools", "--why", "--json"]);
        let said: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
        let tools = said["tools"].as_array().expect("a list");
        let tool = tools.iter().find(|tool| tool["name"] == "_ui").expect("it is there");
        assert_eq!(tool["place"], place, "{tool}");
        assert!(tool["why"].to_string().contains(reason), "{tool}");
    }
}

#[test]
fn a_list_that_is_too_large_is_searched_unless_the_client_searches_itself() {
    let home = Home::new();
    let server = |name: &str| {
        let program = stand_in();
        format!(
            "[upstreams.{name}]\nprefix = \"{name}\"\ncommand = {program:?}\nargs = [\"stdio\", \"fifty\"]\n"
        )
    };
    for (servers, client, tools) in [
        (&["one"][..], "blackbox", 50),
        (&["one", "two"], "blackbox", 2),
        (&["one", "two"], "claude-code", 100),
    ] {
        let sections: String = servers.iter().map(|name| server(name)).collect();
        home.configure(&format!("[host]\nbundled = false\n{sections}"));
        for era in Era::BOTH {
            let mut client = Client::named(client, &mut home.command(&["serve"]), era, json!({}));
            let names = names(&mut client);
            assert_eq!(names.len(), tools, "{names:?}");
            let is_searched = tools == 2;
            assert_eq!(has(&names, "search_tools"), is_searched, "{names:?}");
            if is_searched {
                let found = client.text("search_tools", json!({"query": "tool_07"}));
                assert!(found.contains("one_tool_07") && found.contains("two_tool_07"), "{found}");
                let call = json!({"name": "two_tool_07", "arguments": {}});
                assert!(client.text("call_tool", call).contains("tool_07"));
            }
        }
        let ran = home.run(&["tools", "--why", "--json", "--client", client]);
        let said: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
        assert_eq!(said["searched"], tools == 2, "{servers:?} {client}");
    }
}

#[test]
fn over_http_a_path_names_a_profile() {
    let home = Home::new();
    home.configure("[profiles.games]\nfamilies = [\"unreal\"]\n");
    let process = Process::start(&mut home.command(&["serve", "--http", "127.0.0.1:0"]));
    let said = process.hear("/mcp\n");
    let address = said.split_once("http://").and_then(|(_, rest)| rest.split_once("/mcp\n"));
    let address = address.and_then(|(address, _)| address.parse().ok()).expect("an address");
    let host = format!("{address}");
    let post = |path: &str| {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }}});
        let headers = [
            ("host", host.as_str()),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/list"),
        ];
        let line = format!("POST {path}");
        http::request(address, &line, &headers, body.to_string().as_bytes()).expect("an answer")
    };
    let text = |path: &str| String::from_utf8_lossy(&post(path).body).into_owned();
    assert!(text("/mcp/games").contains(UNREAL) && !text("/mcp/games").contains(CREATES));
    assert!(text("/mcp").contains(CREATES) && !text("/mcp").contains(UNREAL));
    assert_eq!(post("/mcp/other").status(), 404);
    assert_eq!(post("/mcp/").status(), 404);
}

#[test]
fn tools_are_found_by_search_and_called_by_name() {
    for era in Era::BOTH {
        let home = Home::new();
        let root = ui5_project(&home, "app");
        home.configure("[profiles.few]\noffer = \"search\"\npinned = [\"get_version_*\"]\n");
        let serve = ["serve", "--root", &root, "--profile", "few"];
        let mut client = Client::start_with(&home, &serve, era, json!({}));
        let all = names(&mut client);
        let shown: Vec<_> = all.iter().filter(|name| *name != "_ui").collect();
        assert_eq!(shown, ["search_tools", "call_tool", "get_version_info"]);
        let found = client.text("search_tools", json!({"query": "check my manifest", "limit": 2}));
        let found: Value = serde_json::from_str(&found).expect("JSON");
        assert_eq!(found["tools"][0]["name"], "run_manifest_validation", "{found}");
        assert!(found["tools"].as_array().expect("a list").len() <= 2, "{found}");
        let arguments = "manifestPath: string, detail?: \"brief\" | \"full\"";
        assert_eq!(found["tools"][0]["arguments"], arguments, "{found}");
        let full = json!({"query": "run_manifest_validation", "detail": "full", "limit": 1});
        let full = client.text("search_tools", full);
        assert!(full.contains("\"inputSchema\":{\"type\":\"object\""), "{full}");
        fs::write(home.files().join("app/manifest.json"), "{}").expect("it is writable");
        let call = json!({
            "name": "run_manifest_validation",
            "arguments": {"manifestPath": format!("{root}/manifest.json")},
        });
        let direct = client.text("run_manifest_validation", call["arguments"].clone());
        assert_eq!(client.text("call_tool", call), direct);
        let wrong = json!({"name": "run_manifest_validation", "arguments": {"path": 1}});
        let wrong = client.text("call_tool", wrong);
        assert!(wrong.starts_with("error: ") && wrong.contains("manifestPath"), "{wrong}");
        let unknown = client.text("call_tool", json!({"name": "manifest_validation"}));
        assert!(unknown.contains("did you mean run_manifest_validation"), "{unknown}");
        for (tool, arguments) in [("search_tools", json!({})), ("call_tool", json!({"tool": "x"}))]
        {
            let refused = client.text(tool, arguments);
            assert!(refused.starts_with("error: the arguments are wrong"), "{refused}");
        }
        let nothing = client.text("search_tools", json!({"query": "zzzz"}));
        assert!(nothing.contains("no tool matches these words"), "{nothing}");
        client.end();
        let audit = home.audit();
        let called: Vec<_> =
            audit.iter().filter(|one| one["tool"] == "run_manifest_validation").collect();
        assert!(called.len() >= 2, "{audit:#?}");
        assert!(!audit.iter().any(|one| one["tool"] == "call_tool"), "{audit:#?}");
    }
}

#[test]
fn a_search_finds_only_tools_of_the_profile() {
    let home = Home::new();
    home.configure("[profiles.few]\nfamilies = [\"ui5\"]\noffer = \"search\"\n");
    let serve = ["serve", "--profile", "few"];
    let mut client = Client::start_with(&home, &serve, Era::Legacy, json!({}));
    let found = client.text("search_tools", json!({"query": "search blueprints", "limit": 50}));
    assert!(!found.contains(UNREAL), "{found}");
    let reply = client.call("call_tool", json!({"name": UNREAL, "arguments": {}}));
    assert!(text_of(&reply).contains("the profile `few`"), "{reply}");
    let itself = client.text("call_tool", json!({"name": "call_tool", "arguments": {}}));
    assert!(itself.contains("unknown tool"), "{itself}");
}

#[test]
fn inner_calls_cannot_call_tools_that_the_profile_excludes() {
    let config = "[host]\nbundled = false\n[plugins.echo]\n[plugins.caller.grants.tools]\ncall = [\"*\"]\n\
                  [profiles.few]\nfamilies = [\"caller\"]\n";
    let home = Home::with(&["echo", "caller"], config);
    let calls = json!({"calls": [{"tool": "echo", "with": {"text": "hello"}}]});
    for era in Era::BOTH {
        let run = |arguments: &[&str]| {
            let mut client = Client::start_with(&home, arguments, era, json!({}));
            let seen = client.text("see_callable", json!({}));
            (client.text("call_tools", calls.clone()), seen)
        };
        let (answer, seen) = run(&["serve"]);
        assert!(answer.contains("hello") && seen.contains("echo"), "{answer} {seen}");
        let (answer, seen) = run(&["serve", "--profile", "few"]);
        assert!(answer.contains("unknown tool: echo") && !seen.contains("echo"), "{answer} {seen}");
    }
    let audit = home.audit();
    let calls = audit.iter().filter(|one| one["event"] == "call" && one["tool"] == "echo");
    assert_eq!(calls.count(), 2, "{audit:#?}");
}

#[test]
fn a_profile_excludes_resources_templates_and_completions_with_their_source() {
    let config = "[host]\nbundled = false\n[plugins.echo]\n[plugins.conformance]\n\
                  [profiles.few]\nfamilies = [\"echo\"]\n";
    let home = Home::with(&["echo", "conformance"], config);
    for era in Era::BOTH {
        let seen = |arguments: &[&str]| {
            let mut client = Client::start_with(&home, arguments, era, json!({}));
            let mut ask = |method: &str, params: Value| {
                let id = client.request(method, params);
                client.finish(id)["result"].clone()
            };
            let count = |result: &Value, key: &str| result[key].as_array().map(Vec::len);
            let resources = count(&ask("resources/list", json!({})), "resources");
            let templates = count(&ask("resources/templates/list", json!({})), "resourceTemplates");
            let completed = ask(
                "completion/complete",
                json!({
                    "ref": {"type": "ref/prompt", "name": "test_prompt_with_arguments"},
                    "argument": {"name": "arg1", "value": "t"},
                }),
            );
            (resources, templates, completed["completion"].is_object())
        };
        let (resources, templates, completed) = seen(&["serve"]);
        assert!(resources > Some(0) && templates > Some(0) && completed, "all are there");
        assert_eq!(seen(&["serve", "--profile", "few"]), (Some(0), Some(0), false));
    }
}

/// The bytes of each listed tool of a family.
fn bytes(family: &str) -> Vec<(String, usize)> {
    let home = Home::new();
    let mut client =
        Client::start_with(&home, &["serve", "--tools", family], Era::Legacy, json!({}));
    let tools = list(&mut client);
    // `_meta` does not count: clients find the views in it, and models do not get it.
    let size = |tool: &Value| {
        let mut tool = tool.as_object().expect("a definition").clone();
        tool.remove("_meta");
        let name = tool["name"].as_str().expect("a name").to_owned();
        (name, Value::Object(tool).to_string().len())
    };
    let is_of_family = |(name, _): &(String, usize)| *name != "_ui";
    tools.iter().map(size).filter(is_of_family).collect()
}

#[test]
fn definitions_of_tools_are_small() {
    let mut all = String::new();
    // The maximum is 12 kB for ten UI5 tools, and 16 kB for fifteen Unreal tools.
    for (family, tools, most) in [("ui5", 10, 12_000), ("unreal", 15, 16_000)] {
        let sizes = bytes(family);
        let sum: usize = sizes.iter().map(|(_, size)| size).sum();
        let told: String = sizes.iter().map(|(name, size)| format!("{size:>6} {name}\n")).collect();
        all += &format!("{family}: {} tools, {sum} bytes\n{told}", sizes.len());
        assert!(sizes.len() >= tools, "{told}");
        assert!(sum * tools <= most * sizes.len(), "{family}: {sum} bytes\n{told}");
    }
    println!("{all}");
    // Whoever makes a definition longer sees by how much. `INSTA_UPDATE=always` writes the new sizes.
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("listing");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("bytes", all));
}

#[test]
fn every_tool_has_a_short_description() {
    let home = Home::new();
    let mut client =
        Client::start_with(&home, &["serve", "--tools", "all"], Era::Legacy, json!({}));
    for tool in list(&mut client) {
        let length = tool["description"].as_str().unwrap_or_default().chars().count();
        assert!((20..=400).contains(&length), "{length}: {tool}");
        assert_eq!(tool.get("outputSchema"), None, "{tool}");
    }
    home.configure("[profiles.whole]\nfamilies = [\"unreal\"]\noutput-schemas = true\n");
    let serve = ["serve", "--profile", "whole"];
    let mut client = Client::start_with(&home, &serve, Era::Legacy, json!({}));
    assert!(list(&mut client).iter().any(|tool| tool.get("outputSchema").is_some()));
}
