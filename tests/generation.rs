//! Tests of views that a provider generates, through the built host: on request, in the background, after a restart,
//! with notifications in both eras of MCP. And tests that the key stays secret.

use std::fs;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::client::{Client, Era};
use crate::support::home::Home;
use crate::support::model::{DIALECTS, Model, Turn};
use crate::support::{PATIENCE, stand_in};

/// The default grants of the plugin `ui`. A configuration with a table of this plugin must repeat these grants, because
/// the table replaces all defaults.
pub const GRANTS: &str = "[plugins.ui.grants]\ncatalog.read = [\"tools\"]\nstore.bytes = 58_720_256\n\
                          cache = { bytes = 58_720_256, disk = true }\n";

/// The key of the model service, which no view, log, cache, record or error may contain.
pub const KEY: &str = "sk-none-0f-y0ur-bus1ness-0123456789";

/// A home whose host uses this model with the API `dialect`, with these further settings.
pub fn home(model: &Model, dialect: &str, settings: &str) -> Home {
    let mut home = Home::new();
    home.set("MODEL_KEY", &format!("Bearer {KEY}"));
    configure(&home, model, dialect, settings);
    home
}

/// Replaces the configuration.
pub fn configure(home: &Home, model: &Model, dialect: &str, settings: &str) {
    let base = format!("http://{}", model.address);
    let (_, _, header) = DIALECTS.iter().find(|(name, ..)| *name == dialect).expect("it is known");
    home.configure(&format!(
        "[plugins.ui.settings]\nprovider = \"{dialect}\"\nmodel = \"a-model\"\nbase-url = \"{base}\"\n{settings}\n\
         {GRANTS}[plugins.ui.grants.http]\nhosts = [\"{base}\"]\nmethods = [\"POST\"]\n\
         [plugins.ui.grants.http.headers.\"{base}\"]\n{header} = {{ env = \"MODEL_KEY\" }}\n\
         [plugins.ui.limits]\nbackground-ms = 150_000\nhttp-ms = 130_000\n"
    ));
}

/// A client of a host that wraps the weather service in this home.
pub fn weather(home: &Home, flags: &[&str], era: Era) -> Client {
    let server = stand_in();
    let arguments =
        [&["wrap", "--name", "shop"], flags, &["--", &server, "stdio", "weather"]].concat();
    Client::start_with(home, &arguments, era, json!({}))
}

/// A specification that fits the forecast.
pub fn specification(words: &str) -> Value {
    let text = format!("{words} {{/result/city}}");
    json!({"version": 1, "root": {"component": "Text", "text": text}})
}

/// The turn of a model that answers with a specification with these words.
pub fn author(words: &str) -> Turn {
    Turn::Says(specification(words).to_string())
}

/// The address of a tool's view.
pub fn address(client: &mut Client, tool: &str) -> String {
    let asked = client.request("tools/list", json!({}));
    let reply = client.reply(asked);
    let tools = reply["result"]["tools"].as_array().expect("a list");
    let tool = tools.iter().find(|one| one["name"] == tool).expect("it is listed");
    tool["_meta"]["ui"]["resourceUri"].as_str().expect("it has a view").to_owned()
}

/// The data in the page at a URI: the tool, and what a model wrote.
pub fn page(client: &mut Client, uri: &str) -> Value {
    let asked = client.request("resources/read", json!({"uri": uri}));
    let reply = client.reply(asked);
    let text = reply["result"]["contents"][0]["text"].as_str();
    let text = text.unwrap_or_else(|| panic!("{reply}"));
    let start =
        text.find("id=\"portcullis\">").expect("there is data") + "id=\"portcullis\">".len();
    let end = start + text[start..].find("</script").expect("it ends");
    serde_json::from_str(&text[start..end]).expect("it is JSON")
}

/// The details of the forecast's view, by the action `inspect`.
pub fn inspected(client: &mut Client) -> Value {
    let reply = client.call("_ui", json!({"action": "inspect", "toolName": "get_forecast"}));
    reply["result"]["structuredContent"].clone()
}

/// Asks for a change of the view, and returns the text of the result.
pub fn refine(client: &mut Client, wish: &str) -> String {
    let arguments = json!({"action": "refine", "toolName": "get_forecast", "feedback": wish});
    client.text("_ui", arguments)
}

/// Sets a view as the client's model does, and returns the text of the result.
pub fn apply(client: &mut Client, spec: &Value) -> String {
    client.text("_ui", json!({"action": "apply", "toolName": "get_forecast", "spec": spec}))
}

/// All files beneath a folder whose contents include a text.
pub fn files_with(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a home can be read") {
        let path = entry.expect("a home can be read").path();
        if path.is_dir() {
            found.extend(files_with(&path, text));
        } else if path.is_file() {
            let bytes = fs::read(&path).expect("a home can be read");
            if bytes.windows(text.len()).any(|window| window == text.as_bytes()) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

#[test]
fn feedback_reaches_the_model_with_every_api() {
    for (dialect, path, header) in DIALECTS {
        let model = Model::that(author("Lovely"));
        let home = home(&model, dialect, "");
        let mut client = weather(&home, &[], Era::Modern);
        let before = address(&mut client, "get_forecast");
        let said = refine(&mut client, "say that it is lovely");
        assert!(said.starts_with("UI refined for tool 'get_forecast'. Generation took "), "{said}");
        let now = address(&mut client, "get_forecast");
        assert!(now != before && said.contains(&now), "{said}");
        assert_eq!(page(&mut client, &now)["view"], specification("Lovely"));
        assert_eq!(
            page(&mut client, &before)["view"],
            specification("Lovely"),
            "as old clients see"
        );
        let known = inspected(&mut client);
        let seen = ["uiType", "madeBy", "llmModel"].map(|key| known[key].clone());
        assert_eq!(seen, ["rich", "provider", "served-1"].map(Value::from), "{dialect}");
        assert_eq!(known["tokens"], json!({"input": 11, "output": 7}), "{dialect}");
        let asked = model.asked();
        assert_eq!(asked.len(), 1);
        assert_eq!(asked[0].path, path);
        let key = (header.to_owned(), format!("Bearer {KEY}"));
        assert!(asked[0].headers.contains(&key), "{:?}", asked[0].headers);
        let body = asked[0].body.to_string();
        assert!(body.contains("say that it is lovely") && body.contains("TOOL NAME: get_forecast"));
        assert!(!body.contains(KEY));
        // The tool itself has not changed.
        let called = client.call("get_forecast", json!({"city": "Bonn", "days": 1}));
        assert_eq!(called["result"]["structuredContent"]["city"], "Bonn");
    }
}

#[test]
fn reading_a_view_leads_to_a_generated_one_and_a_notification() {
    for era in Era::BOTH {
        let model = Model::that(author("Better"));
        let home = home(&model, "anthropic", "");
        let mut client = weather(&home, &[], era);
        let before = address(&mut client, "get_forecast");
        match era {
            Era::Legacy => {
                let id = client.request("resources/subscribe", json!({"uri": before}));
                client.reply(id);
            }
            Era::Modern => {
                let wanted = json!({"notifications": {"toolsListChanged": true,
                    "resourcesListChanged": true, "resourceSubscriptions": [before]}});
                client.request("subscriptions/listen", wanted);
                client.hear(|told| told["method"] == "notifications/subscriptions/acknowledged");
            }
        }
        assert!(page(&mut client, &before)["view"].is_null(), "the first look waits for nobody");
        for method in ["tools/list_changed", "resources/list_changed", "resources/updated"] {
            let told = client.hear(|told| told["method"] == format!("notifications/{method}"));
            if method == "resources/updated" {
                assert_eq!(told["params"]["uri"], before);
            }
        }
        let now = address(&mut client, "get_forecast");
        assert_ne!(now, before);
        assert_eq!(page(&mut client, &now)["view"], specification("Better"));
        assert_eq!(model.asked().len(), 1);
    }
}

#[test]
fn views_can_be_read_at_once_while_the_model_works() {
    let model = Model::that(Turn::Hangs);
    let home = home(&model, "chat", "foreground-ms = \"300\"\nbackground-ms = \"140000\"");
    let mut client = weather(&home, &[], Era::Modern);
    let forecast = address(&mut client, "get_forecast");
    assert!(page(&mut client, &forecast)["view"].is_null());
    model.wait(1);
    for tool in ["get_forecast", "get_current_weather", "compare_cities", "get_alerts"] {
        let view = address(&mut client, tool);
        assert_eq!(page(&mut client, &view)["tool"]["name"], tool);
    }
    assert_eq!(client.text("get_alerts", json!({})), "No alerts.");
    assert_eq!(model.left(), 0, "all of it was answered while the model was waited for");
    // A request for a change does not wait either.
    let said = refine(&mut client, "larger");
    assert!(said.contains("being generated in the background"), "{said}");
    assert_eq!(client.end().code, Some(0), "a request on its way holds up nothing");
}

#[test]
fn feedback_and_views_survive_a_restart_of_the_host() {
    let model = Model::that(author("First"));
    let home = home(&model, "openai", "max-refinements = \"2\"\ngenerate = \"asked\"");
    let mut client = weather(&home, &[], Era::Legacy);
    for wish in ["one", "two", "three"] {
        refine(&mut client, wish);
    }
    let shown = address(&mut client, "get_forecast");
    let history = inspected(&mut client)["refinementHistory"].clone();
    assert_eq!(history, json!(["two", "three"]));
    assert_eq!(model.asked().len(), 3);
    client.end();

    let mut client = weather(&home, &[], Era::Modern);
    assert_eq!(address(&mut client, "get_forecast"), shown);
    assert_eq!(page(&mut client, &shown)["view"], specification("First"));
    assert_eq!(inspected(&mut client)["refinementHistory"], history);
    let listed = client.call("_ui", json!({"action": "list"}));
    let tools = listed["result"]["structuredContent"]["tools"].as_array().expect("a list").clone();
    let of = |name: &str| tools.iter().find(|tool| tool["name"] == name).expect("it is listed");
    assert_eq!(
        (&of("get_forecast")["uiType"], &of("get_forecast")["refinements"]),
        (&json!("rich"), &json!(2))
    );
    assert_eq!(of("show_radar")["uiType"], "own");
    assert_eq!(model.asked().len(), 3, "nothing is paid for twice");

    model.always(author("Second"));
    let anew =
        json!({"action": "regenerate", "toolName": "get_forecast", "clearRefinements": true});
    let said = client.text("_ui", anew);
    assert!(said.starts_with("UI regenerated for tool 'get_forecast'. Generation took"), "{said}");
    assert_eq!(inspected(&mut client)["refinementHistory"], json!([]));
    let asked = model.asked().pop().expect("it was asked").body.to_string();
    assert!(!asked.contains("asks for this"), "the wishes are forgotten: {asked}");

    // A specification by the client's own model replaces the view, and stays after a restart.
    let said = apply(&mut client, &specification("Third"));
    assert!(said.starts_with("UI applied for tool 'get_forecast'."), "{said}");
    client.end();
    let mut client = weather(&home, &[], Era::Legacy);
    let shown = address(&mut client, "get_forecast");
    assert_eq!(page(&mut client, &shown)["view"], specification("Third"));
    assert_eq!(inspected(&mut client)["madeBy"], "client");
}

#[test]
fn the_key_is_only_in_requests_to_the_service() {
    let model = Model::that(author("Fine"));
    let echo: &'static str = format!("Incorrect API key provided: {KEY}.").leak();
    let home = home(&model, "chat", "debug-dir = \"$FILES\"\nexport-dir = \"$FILES\"");
    let config = fs::read_to_string(home.config()).expect("it was written");
    let files = "[plugins.ui.grants.files]\naccess = \"write\"\nwritable = [\"$FILES\"]\n";
    home.configure(&format!("{config}{files}"));
    for era in Era::BOTH {
        let mut client = weather(&home, &["-vv", "--log-json"], era);
        // The host must not show the key, even if the service sends it back.
        model.once(Turn::Fails(401, ("x-key", KEY), echo));
        let mut said = vec![refine(&mut client, "blue")];
        assert!(said[0].contains("AUTH"), "{said:?}");
        said.push(refine(&mut client, "green"));
        said.push(refine(&mut client, "red"));
        let view = address(&mut client, "get_forecast");
        said.push(page(&mut client, &view).to_string());
        said.push(inspected(&mut client).to_string());
        said.extend(client.events.iter().map(|event| format!("{event:?}")));
        let ran = client.end();
        said.extend([ran.stdout, ran.stderr]);
        for one in said {
            assert!(!one.contains(KEY), "{one}");
        }
    }
    assert_eq!(files_with(home.path(), KEY), [""; 0]);
    assert!(!files_with(home.path(), "get_forecast").is_empty(), "there are files to look at");
}

#[test]
fn a_request_that_hangs_times_out_and_is_reported() {
    let model = Model::that(Turn::Hangs);
    let home = home(&model, "ollama", "foreground-ms = \"200\"\nbackground-ms = \"400\"");
    let mut client = weather(&home, &[], Era::Legacy);
    let said = refine(&mut client, "larger");
    assert!(said.contains("in the background (TIMEOUT"), "{said}");
    let deadline = Instant::now() + PATIENCE;
    while inspected(&mut client)["fallbackReason"].is_null() || model.left() < 2 {
        assert!(Instant::now() < deadline, "both requests end: {}", model.left());
    }
    let why = inspected(&mut client)["fallbackReason"].clone();
    assert!(why.as_str().is_some_and(|why| why.starts_with("TIMEOUT")), "{why}");
    model.always(author("Awake"));
    // The last cancelled request may still be ending.
    while !refine(&mut client, "larger still").starts_with("UI refined") {
        assert!(Instant::now() < deadline, "its place is free again");
    }
    assert!(inspected(&mut client)["fallbackReason"].is_null());
}
