//! Tests of the owners of names and URIs: bundled plugins come first, then the source that was there first.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::PATIENCE;
use crate::support::client::{Client, Era};
use crate::support::guests::guests;
use crate::support::home::Home;

/// The first text of a resource, or the message of the error.
fn read(client: &mut Client, uri: &str) -> String {
    let id = client.request("resources/read", json!({ "uri": uri }));
    let reply = client.reply(id);
    let text = reply["result"]["contents"][0]["text"].as_str();
    text.or(reply["error"]["message"].as_str()).unwrap_or_default().to_owned()
}

/// One member of each entry in a list.
fn listed(client: &mut Client, method: &str, list: &str, key: &str) -> Vec<String> {
    let id = client.request(method, json!({}));
    let reply = client.reply(id);
    let all = reply["result"][list].as_array().expect("a list");
    all.iter().map(|one| one[key].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_later_plugin_takes_no_name_and_no_uri_from_what_is_bundled() {
    let home = Home::with(&["usurper"], "[plugins.usurper.grants.files]\naccess = \"write\"\n");
    let mut client = Client::start(&home, Era::Legacy);
    // On a busy machine, the first list may come before the plugin is compiled.
    let began = Instant::now();
    let names = loop {
        let names = listed(&mut client, "tools/list", "tools", "name");
        if names.contains(&"usurper_get_guidelines".to_owned()) {
            break names;
        }
        assert!(began.elapsed() < PATIENCE, "{names:?}");
        std::thread::sleep(Duration::from_millis(100));
    };
    assert!(names.contains(&"get_guidelines".to_owned()), "{names:?}");
    assert!(!client.text("get_guidelines", json!({})).contains("usurped"));
    assert_eq!(client.text("usurper_get_guidelines", json!({})), "usurped");
    for uri in [
        "ui5://guidelines/applications.md",
        "ui5://guidelines/none.md",
        "UI5://guidelines/applications.md",
        "ui5://api/openui5/1.0.0/sap.m.None",
        "ui5://documentation/none",
        "ui://portcullis/get_guidelines/1.html",
        "unreal+t3d:///Game/None",
    ] {
        assert!(!read(&mut client, uri).contains("usurped"), "{uri}");
    }
    assert_eq!(read(&mut client, "usurper://anything"), "usurped");
    let templates =
        listed(&mut client, "resources/templates/list", "resourceTemplates", "uriTemplate");
    for hidden in ["{+any}", "{scheme}://static-text", "ui5:{+rest}", "ui://portcullis/{+view}"] {
        assert!(!templates.iter().any(|one| one == hidden), "{hidden}: {templates:?}");
    }
    assert!(templates.iter().any(|one| one == "usurper://{+rest}"), "{templates:?}");
    drop(client);
    for command in [&["check"][..], &["audit", "usurper"], &["plugin", "list"]] {
        let ran = home.run(command);
        assert!(ran.stdout.contains("`usurper_get_guidelines`"), "{ran:?}");
        assert!(ran.stdout.contains("a scheme of its own"), "{ran:?}");
        assert!(ran.stdout.contains("ui5:{+rest}"), "{ran:?}");
    }
    let ran = home.run(&["audit", "usurper", "--json"]);
    assert!(ran.stdout.contains("usurper_get_guidelines"), "{ran:?}");
}

#[test]
fn who_was_there_first_keeps_names_and_uris_whatever_files_are_called() {
    let home = Home::with(&["conformance"], "[host]\nbundled = false\n[plugins.conformance]\n");
    // The host sees the plugin `conformance` first. The file of the other plugin comes first in the order of names.
    assert!(home.run(&["tools"]).stdout.contains("test_simple_text"));
    fs::copy(guests().component("usurper"), home.plugins().join("a-usurper.wasm")).expect("a home");
    home.configure(
        "[host]\nbundled = false\n[plugins.conformance]\n\
         [plugins.a-usurper.grants.files]\naccess = \"write\"\n",
    );
    for _ in 0..2 {
        let mut client = Client::start(&home, Era::Legacy);
        assert!(!client.text("test_simple_text", json!({})).contains("usurped"));
        assert_eq!(client.text("a-usurper_test_simple_text", json!({})), "usurped");
        let prompts = listed(&mut client, "prompts/list", "prompts", "name");
        assert!(prompts.contains(&"a-usurper_test_simple_prompt".to_owned()), "{prompts:?}");
        for uri in ["test://static-text", "TEST://static-text", "test://template/7/data"] {
            assert!(!read(&mut client, uri).contains("usurped"), "{uri}");
        }
        let uris = listed(&mut client, "resources/list", "resources", "uri");
        assert_eq!(uris.iter().filter(|uri| *uri == "test://static-text").count(), 1, "{uris:?}");
        assert!(!uris.contains(&"test://template/1/data".to_owned()), "{uris:?}");
        assert!(uris.contains(&"usurper://listed".to_owned()), "{uris:?}");
    }
}

#[test]
fn a_tool_that_writes_is_not_listed_as_read_only() {
    let home = Home::with(
        &["usurper"],
        "[host]\nbundled = false\n[plugins.usurper.grants.files]\naccess = \"write\"\n",
    );
    let vouched = "[host]\nbundled = false\n[plugins.usurper]\ntrusted-hints = [\"innocent\"]\n\
                   [plugins.usurper.grants.files]\naccess = \"write\"\n";
    let hints = || {
        let ran = home.run(&["tools", "--json"]);
        let list: Value = serde_json::from_str(&ran.stdout).expect("it is JSON");
        let tools = list["tools"].as_array().expect("tools").clone();
        let tool = tools.into_iter().find(|tool| tool["name"] == "innocent").expect("it is there");
        tool["annotations"].clone()
    };
    let told = hints();
    for (hint, value) in [
        ("readOnlyHint", false),
        ("destructiveHint", true),
        ("idempotentHint", false),
        ("openWorldHint", false),
    ] {
        assert_eq!(told[hint], value, "{hint}: {told}");
    }
    for command in [&["check"][..], &["audit"], &["check", "--json"], &["audit", "--json"]] {
        let ran = home.run(command);
        assert!(ran.stdout.contains("says that it only reads"), "{ran:?}");
    }
    // With `trusted-hints`, the tool's other hints are used. But the tool declares that it writes, so it is still not
    // listed as read-only.
    home.configure(vouched);
    let told = hints();
    assert_eq!((&told["readOnlyHint"], &told["destructiveHint"]), (&json!(false), &json!(false)));
}
