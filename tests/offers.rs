//! Tests of tasks, and of notifications to clients about changed resources and lists.

use std::time::Instant;

use serde_json::{Value, json};

use crate::support::PATIENCE;
use crate::support::client::{Client, Era, Event, text_of};
use crate::support::home::Home;

const CONFIG: &str = "[host]\nbundled = false\n[plugins.conformance.grants.client]\n\
                      features = [\"elicitation\", \"sampling\", \"roots\"]\n";

fn with_tasks() -> Value {
    json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}})
}

/// Begins a call that becomes a task, and returns the task's id.
fn task(client: &mut Client, tool: &str, arguments: Value) -> String {
    let reply = client.call(tool, arguments);
    assert_eq!(reply["result"]["resultType"], "task", "{reply}");
    reply["result"]["taskId"].as_str().expect("a task has an id").to_owned()
}

/// Polls a task until its status is not one of these.
fn until_not(client: &mut Client, id: &str, states: &[&str]) -> Value {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let asked = client.request("tasks/get", json!({"taskId": id}));
        let reply = client.reply(asked);
        let state = reply["result"]["status"].as_str().unwrap_or("(none)");
        if !states.contains(&state) {
            return reply;
        }
        assert!(Instant::now() < deadline, "the task should be over: {reply}");
    }
}

#[test]
fn a_long_call_becomes_a_task_for_clients_that_support_tasks() {
    let home = Home::with(&["conformance"], CONFIG);
    for era in Era::BOTH {
        let mut client = Client::start_with(&home, &["serve"], era, with_tasks());
        let id = task(&mut client, "slow_compute", json!({"seconds": 0.1, "label": "a sum"}));
        let ended = until_not(&mut client, &id, &["working"]);
        assert_eq!(ended["result"]["status"], "completed", "{ended}");
        assert_eq!(ended["result"]["result"]["content"][0]["text"], "Computed a sum");
        let id = task(&mut client, "failing_job", json!({}));
        let ended = until_not(&mut client, &id, &["working"]);
        assert_eq!(ended["result"]["result"]["isError"], true, "{ended}");
        let id = task(&mut client, "protocol_error_job", json!({}));
        let ended = until_not(&mut client, &id, &["working"]);
        assert_eq!(ended["result"]["error"]["code"], -32602, "{ended}");
    }
}

#[test]
fn a_task_that_takes_too_long_is_told_the_limit_of_tasks() {
    let limits = "[plugins.conformance.limits]\nwall-ms = 60_000\nbackground-ms = 300\n";
    let home = Home::with(&["conformance"], &format!("{CONFIG}{limits}"));
    let mut client = Client::start_with(&home, &["serve"], Era::Modern, with_tasks());
    let id = task(&mut client, "slow_compute", json!({"seconds": 60}));
    let ended = until_not(&mut client, &id, &["working"]).to_string();
    assert!(ended.contains("was stopped after 300 ms (`background-ms`)"), "{ended}");
}

#[test]
fn a_client_can_cancel_a_task_and_answer_its_questions() {
    let home = Home::with(&["conformance"], CONFIG);
    let mut client = Client::start_with(&home, &["serve"], Era::Modern, with_tasks());
    let id = task(&mut client, "slow_compute", json!({"seconds": 60}));
    let cancel = client.request("tasks/cancel", json!({"taskId": id}));
    client.reply(cancel);
    let ended = until_not(&mut client, &id, &["working"]);
    assert_eq!(ended["result"]["status"], "cancelled", "{ended}");

    let id = task(&mut client, "confirm_delete", json!({"filename": "a.txt"}));
    let asks = until_not(&mut client, &id, &["working"]);
    assert_eq!(asks["result"]["status"], "input_required", "{asks}");
    assert_eq!(asks["result"]["inputRequests"]["confirm"]["params"]["message"], "Delete a.txt?");
    let yes = json!({"confirm": {"action": "accept", "content": {"confirm": true}}});
    let update = client.request("tasks/update", json!({"taskId": id, "inputResponses": yes}));
    client.reply(update);
    let ended = until_not(&mut client, &id, &["working", "input_required"]);
    assert_eq!(ended["result"]["result"]["content"][0]["text"], "Deleted a.txt", "{ended}");

    let other = client.request("tasks/get", json!({"taskId": "nobody's"}));
    assert_eq!(client.reply(other)["error"]["code"], -32602);
}

#[test]
fn clients_without_tasks_get_the_answer_or_an_error_that_names_tasks() {
    let home = Home::with(&["conformance"], CONFIG);
    for era in Era::BOTH {
        let mut client = Client::start(&home, era);
        let text = client.text("slow_compute", json!({"seconds": 0.1, "label": "a sum"}));
        assert_eq!(text, "Computed a sum");
        let refused = client.call("failing_job", json!({}));
        assert_eq!(refused["error"]["code"], -32021, "{}", text_of(&refused));
        let required = &refused["error"]["data"]["requiredCapabilities"]["extensions"];
        assert!(required.get("io.modelcontextprotocol/tasks").is_some(), "{refused}");
    }
}

/// The methods of the notifications since the last call of this function.
fn told(client: &mut Client) -> Vec<String> {
    let method = |event: &Event| match event {
        Event::Told(message) => message["method"].as_str().map(str::to_owned),
        Event::Asked(..) => None,
    };
    std::mem::take(&mut client.events).iter().filter_map(method).collect()
}

/// Calls a tool until a notification with this method arrives. Returns the methods of all notifications.
fn wait_for(client: &mut Client, method: &str) -> Vec<String> {
    let (deadline, mut all) = (Instant::now() + PATIENCE, Vec::new());
    while !all.iter().any(|one| one == method) {
        assert!(Instant::now() < deadline, "nobody said {method}: {all:?}");
        client.call("test_simple_text", json!({}));
        all.extend(told(client));
    }
    all
}

#[test]
fn changed_lists_are_notified_to_sessions() {
    let home = Home::with(&["conformance"], CONFIG);
    let mut client = Client::start(&home, Era::Legacy);
    client.call("test_trigger_tool_change", json!({}));
    wait_for(&mut client, "notifications/tools/list_changed");
    client.call("test_trigger_prompt_change", json!({}));
    wait_for(&mut client, "notifications/prompts/list_changed");
}

#[test]
fn subscribers_get_the_notifications_that_they_asked_for() {
    let home = Home::with(&["conformance"], CONFIG);
    let mut client = Client::start(&home, Era::Modern);
    let filter = json!({"notifications": {"toolsListChanged": true}});
    client.request("subscriptions/listen", filter);
    wait_for(&mut client, "notifications/subscriptions/acknowledged");
    client.call("test_trigger_prompt_change", json!({}));
    client.call("test_trigger_tool_change", json!({}));
    let all = wait_for(&mut client, "notifications/tools/list_changed");
    assert!(!all.iter().any(|one| one.contains("prompts")), "{all:?}");
}

#[test]
fn a_changed_resource_is_notified_to_its_subscribers() {
    let home = Home::with(&["conformance"], CONFIG);
    for era in Era::BOTH {
        let mut client = Client::start(&home, era);
        let uri = "test://watched-resource";
        client.watch(uri);
        if era == Era::Modern {
            wait_for(&mut client, "notifications/subscriptions/acknowledged");
        }
        client.call("touch", json!({"uri": "test://another"}));
        client.call("touch", json!({"uri": uri}));
        let all = wait_for(&mut client, "notifications/resources/updated");
        let updates = all.iter().filter(|one| one.ends_with("resources/updated"));
        assert_eq!(updates.count(), 1, "{all:?}");
    }
}
