//! Tests of options about models that generate views: a provider on the command line, errors in these options, when the
//! tool `_ui` is listed, and what the host tells the plugin about answers that the plugin cannot read.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::generation::{
    GRANTS, KEY, address, author, files_with, home, inspected, page, refine, specification, weather,
};
use crate::support::client::{Client, Era};
use crate::support::home::Home;
use crate::support::model::{DIALECTS, Model, Turn};
use crate::support::stand_in;

/// The tools as clients see them.
fn listed(client: &mut Client) -> Vec<Value> {
    let asked = client.request("tools/list", json!({}));
    client.reply(asked)["result"]["tools"].as_array().expect("a list").clone()
}

#[test]
fn options_set_a_provider() {
    for (dialect, path, header) in DIALECTS {
        let model = Model::that(author("Lovely"));
        let mut home = Home::new();
        home.set("MY_KEY", KEY);
        let file = home.files().join("style.txt");
        fs::write(&file, "Write in Dutch.\n").expect("a home can be written");
        let file = file.to_str().expect("a path is UTF-8").to_owned();
        let base = format!("http://{}", model.address);
        let options = [
            &["--provider", dialect, "--model", "a-model", "--base-url", &base][..],
            &["--key-env", "MY_KEY", "--prompt-file", &file, "--prompt", "And in purple."],
        ]
        .concat();
        let mut client = weather(&home, &options, Era::Modern);
        let before = address(&mut client, "get_forecast");
        let said = refine(&mut client, "say that it is lovely");
        assert!(said.starts_with("UI refined for tool 'get_forecast'. Generation took "), "{said}");
        let now = address(&mut client, "get_forecast");
        assert_ne!(now, before);
        assert_eq!(page(&mut client, &now)["view"], specification("Lovely"));
        let asked = model.asked();
        assert_eq!((asked.len(), asked[0].path.as_str()), (1, path));
        let value = if dialect == "anthropic" { KEY.to_owned() } else { format!("Bearer {KEY}") };
        assert!(asked[0].headers.contains(&(header.to_owned(), value)), "{:?}", asked[0].headers);
        let body = asked[0].body.to_string();
        assert!(body.contains("of all tools:\\nWrite in Dutch.\\nAnd in purple.\\n"), "{body}");
        assert!(body.contains("a-model"), "{body}");
        assert_eq!(inspected(&mut client)["madeBy"], "provider");
        client.end();
        assert_eq!(files_with(home.path(), KEY), [""; 0]);
        let audit = home.audit();
        let mut asks =
            audit.iter().filter(|one| one["plugin"] == "ui" && one["capability"] == "http");
        assert!(asks.all(|one| one["verdict"] == "allowed"), "{audit:?}");
    }
}

#[test]
fn wrong_options_are_refused_with_the_remedy() {
    let mut home = Home::new();
    home.set("SHORT", "x");
    for (options, expected) in [
        (&["--provider", "anthropic"][..], &["--provider anthropic needs --model", "retire"][..]),
        (&["--provider", "anthropic", "--model", " "], &["needs --model"]),
        (
            &["--provider", "anthropic", "--model", "m"],
            &["needs the service's key", "ANTHROPIC_API_KEY", "--key-env"],
        ),
        (&["--provider", "openai", "--model", "m"], &["OPENAI_API_KEY"]),
        (&["--provider", "chat", "--model", "m"], &["OPENAI_API_KEY"]),
        (&["--provider", "ollama", "--model", "m", "--key-env", "NOT_SET"], &["NOT_SET"]),
        (&["--provider", "ollama", "--model", "m", "--key-env", "SHORT"], &["SHORT"]),
        (&["--provider", "ollama", "--model", "m", "--base-url", "ftp://a"], &["--base-url"]),
        (&["--provider", "gemini", "--model", "m"], &["gemini", "anthropic, openai, chat, ollama"]),
        (&["--model", "m"], &["--model needs --provider"]),
        (&["--base-url", "http://a"], &["--base-url needs --provider"]),
        (&["--key-env", "A"], &["--key-env needs --provider"]),
        (
            &["--api-key", "sk-secret-of-mine"],
            &["can be read by other programs", "ANTHROPIC_API_KEY"],
        ),
        (&["--standard", "openai"], &["ChatGPT shows views by MCP Apps", "leave out --standard"]),
        (&["--prompt-file", "/no/such/file"], &["--prompt-file", "/no/such/file"]),
        (&["--prompt", &"x".repeat(9000)], &["9000 bytes", "8000"]),
    ] {
        let ran = home.run(&[&["wrap"], options, &["--", "true"]].concat());
        assert_eq!(ran.code, Some(2), "{options:?}: {ran:?}");
        for part in expected {
            assert!(ran.stderr.contains(part), "{options:?}: {}", ran.stderr);
        }
        assert!(!ran.stderr.contains("sk-secret-of-mine"), "{}", ran.stderr);
    }
}

#[test]
fn the_ui_tool_is_listed_only_if_it_is_wanted() {
    for era in Era::BOTH {
        let home_of_others = Home::new();
        let mut client = weather(&home_of_others, &[], era);
        let tools = listed(&mut client);
        assert!(!tools.is_empty() && tools.iter().all(|one| one["name"] != "_ui"), "{tools:?}");
        let mut client = weather(&home_of_others, &["--ui-tool"], era);
        let tools = listed(&mut client);
        let one = tools.iter().find(|one| one["name"] == "_ui").expect("it was asked for");
        let bytes = one.to_string().len();
        assert!(bytes < 1500, "{bytes}: {one}");
        let model = Model::that(author("Never"));
        let home = home(&model, "chat", "");
        let mut client = weather(&home, &[], era);
        assert!(listed(&mut client).iter().any(|one| one["name"] == "_ui"), "there is a provider");
    }
}

/// Applies a view of the tool `echo` that shows a path, and returns the text of the result.
fn show(client: &mut Client, path: &str) -> String {
    let spec = json!({"version": 1, "root": {"component": "Text", "text": {"path": path}}});
    client.text("_ui", json!({"action": "apply", "toolName": "echo", "spec": spec}))
}

#[test]
fn the_host_tells_whether_pointers_have_targets() {
    let home = Home::new();
    let server = stand_in();
    let arguments = ["wrap", "--ui-tool", "--", &server, "stdio", "all"];
    let mut client = Client::start_with(&home, &arguments, Era::Modern, json!({}));
    listed(&mut client);
    let unknown = show(&mut client, "/result/city");
    assert!(unknown.contains("Not verified: `/result/city`."), "{unknown}");
    // The tool has no output schema, and its answer is JSON as text.
    client.text("echo", json!({"city": "Bonn", "secret": "s3cr3t-of-bonn"}));
    let known = show(&mut client, "/result/city");
    assert!(known.starts_with("UI applied") && !known.contains("Not verified"), "{known}");
    let wrong = show(&mut client, "/result/town");
    assert!(wrong.contains("`/result/town` leads to nothing in the last answer"), "{wrong}");
    assert!(!wrong.contains("s3cr3t") && !wrong.contains("city"), "names are data, too: {wrong}");
    let audit = home.audit();
    let subject = "see what is in the last answer of `echo`";
    let asks = audit.iter().filter(|one| one["plugin"] == "ui" && one["subject"] == subject);
    let outcomes: Vec<_> = asks.map(|one| one["outcome"].as_str().unwrap_or_default()).collect();
    assert_eq!(outcomes, ["0 of 1 found", "1 of 1 found", "0 of 1 found"], "{audit:?}");
    client.end();
    assert_eq!(files_with(home.path(), "s3cr3t-of-bonn"), [""; 0]);
}

#[test]
fn without_the_grant_the_host_tells_nothing_about_answers() {
    let home = Home::new();
    home.configure(&format!("[plugins.ui.settings]\nmodel-tool = \"true\"\n{GRANTS}"));
    let server = stand_in();
    let arguments = ["wrap", "--", &server, "stdio", "all"];
    let mut client = Client::start_with(&home, &arguments, Era::Legacy, json!({}));
    listed(&mut client);
    client.text("echo", json!({"city": "Bonn"}));
    for path in ["/result/city", "/result/town"] {
        let said = show(&mut client, path);
        assert!(said.contains("Not verified"), "{said}");
    }
}

#[test]
fn two_calls_for_one_view_lead_to_one_request() {
    let model = Model::that(author("Once"));
    let slow = Turn::Slow(Duration::from_millis(800), specification("Once").to_string());
    model.once(slow.clone());
    let home = home(&model, "openai", "generate = \"asked\"");
    let mut client = weather(&home, &[], Era::Modern);
    listed(&mut client);
    let anew = json!({"action": "regenerate", "toolName": "get_forecast"});
    let both = [client.begin("_ui", anew.clone()), client.begin("_ui", anew)];
    let said = both.map(|id| crate::support::client::text_of(&client.finish(id)));
    assert!(said.iter().all(|one| one.starts_with("UI regenerated")), "{said:?}");
    assert!(said.iter().any(|one| one.contains("It was generated before")), "{said:?}");
    assert_eq!(model.asked().len(), 1, "{said:?}");
    // A request for the view of another tool does not wait.
    model.once(slow);
    let other = json!({"action": "regenerate", "toolName": "get_alerts"});
    let first = client.begin("_ui", json!({"action": "regenerate", "toolName": "get_forecast"}));
    model.wait(2);
    client.text("_ui", other);
    assert_eq!(model.asked().len(), 3);
    client.finish(first);
}

#[test]
fn a_caller_waits_no_longer_than_it_should() {
    let model = Model::that(Turn::Hangs);
    let home = home(&model, "chat", "foreground-ms = \"700\"\nbackground-ms = \"60000\"");
    let mut client = weather(&home, &[], Era::Modern);
    let forecast = address(&mut client, "get_forecast");
    page(&mut client, &forecast);
    model.wait(1);
    // The view is being generated in the background, for a minute.
    let begin = Instant::now();
    let ids: Vec<_> = ["larger", "bluer", "rounder"]
        .map(|wish| {
            let wish = json!({"action": "refine", "toolName": "get_forecast", "feedback": wish});
            client.begin("_ui", wish)
        })
        .into();
    for id in ids {
        let said = crate::support::client::text_of(&client.finish(id));
        assert!(said.contains("in the background (other views are being generated)"), "{said}");
    }
    let waited = begin.elapsed();
    assert!(waited >= Duration::from_millis(600), "{waited:?}");
    assert!(waited < Duration::from_secs(20), "{waited:?}");
    assert_eq!(model.asked().len(), 1);
}
