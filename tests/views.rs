//! Tests of views for tools, and of background jobs.

use std::time::Instant;

use serde_json::{Value, json};

use crate::support::PATIENCE;
use crate::support::client::{Client, Era};
use crate::support::home::Home;

const CONFIG: &str = "[host]\nbundled = false\n[plugins.view-assigner.grants]\n\
                      catalog.read = [\"tools\"]\ncache.bytes = 10_000\n\
                      [plugins.deeds.grants.actions]\nallow = [\"erase\", \"burn\"]\n";

fn tools(client: &mut Client) -> Vec<Value> {
    let asked = client.request("tools/list", json!({}));
    client.reply(asked)["result"]["tools"].as_array().expect("a list").clone()
}

/// The `_meta` of a tool. `None`: the tool is not listed.
fn meta(tools: &[Value], name: &str) -> Option<Value> {
    Some(tools.iter().find(|tool| tool["name"] == name)?["_meta"].clone())
}

#[test]
fn tools_of_all_plugins_get_views() {
    let home = Home::with(&["view-assigner", "deeds"], CONFIG);
    for era in Era::BOTH {
        let mut client = Client::start(&home, era);
        let tools = tools(&mut client);
        let view = |name: &str, who: Value| {
            let address = format!("ui://view-assigner/{name}/0.html");
            json!({"ui": {"resourceUri": address, "visibility": who}, "ui/resourceUri": address})
        };
        assert_eq!(meta(&tools, "sum"), Some(view("sum", json!(["model", "app"]))));
        assert_eq!(meta(&tools, "erase"), Some(view("erase", json!(["model"]))));
        assert_eq!(meta(&tools, "burn"), Some(json!({"ui": {"visibility": ["model"]}})));
        assert_eq!(meta(&tools, "look"), None, "neither models nor views may call it");
    }
}

#[test]
fn a_job_runs_later_and_changes_the_list() {
    let home = Home::with(&["view-assigner"], CONFIG);
    let mut client = Client::start(&home, Era::Legacy);
    assert_eq!(
        meta(&tools(&mut client), "sum").unwrap()["ui/resourceUri"],
        "ui://view-assigner/sum/0.html"
    );
    // The first job fails. Only the log shows this.
    let said = client.text("put_off", json!({"jobs": 2}));
    assert_eq!(said, "2 will be done; a huge one: false");
    let deadline = Instant::now() + PATIENCE;
    loop {
        let view = meta(&tools(&mut client), "sum").unwrap()["ui/resourceUri"].clone();
        let told = |client: &Client| {
            client.events.iter().any(|event| format!("{event:?}").contains("tools/list_changed"))
        };
        if view == "ui://view-assigner/sum/1.html" && told(&client) {
            break;
        }
        assert!(Instant::now() < deadline, "the job should be done, and clients told: {view}");
    }
}

#[test]
fn the_number_of_waiting_jobs_is_limited() {
    let home = Home::with(&["view-assigner"], CONFIG);
    let mut client = Client::start(&home, Era::Legacy);
    let said = client.text("put_off", json!({"jobs": 5_000}));
    let taken: u32 = said.split_once(' ').expect("a number").0.parse().expect("a number");
    assert!((32..5_000).contains(&taken), "{said}");
}

#[test]
fn a_start_without_changes_runs_no_plugin() {
    let home = Home::with(&["view-assigner", "deeds"], CONFIG);
    let first = tools(&mut Client::start(&home, Era::Modern));
    let calls = home.audit().len();
    assert!(calls > 0, "the plugin was asked");
    assert_eq!(tools(&mut Client::start(&home, Era::Legacy)), first);
    assert_eq!(home.audit().len(), calls, "what it said then was remembered");
    home.configure(&CONFIG.replace("allow = [\"erase\", \"burn\"]", "allow = [\"erase\"]"));
    assert_eq!(meta(&tools(&mut Client::start(&home, Era::Modern)), "burn"), None);
    assert!(home.audit().len() > calls, "the tools are others, so it was asked again");
}
