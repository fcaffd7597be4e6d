//! Tests of the families of bundled plugins in the host.

use std::fs;

use serde_json::{Value, json};

use crate::support::client::{Client, Era};
use crate::support::home::Home;
use crate::support::web::Web;

/// Starts a mirror with one small release, and names it in the environment of this home.
fn mirror(home: &mut Home) -> Web {
    let folder = home.path().join("mirror");
    let pages = [
        ("version.json", r#"{"1.136": {"version": "1.136.5"}}"#),
        (
            "1.136.5/resources/sap-ui-version.json",
            r#"{"libraries": [{"name": "sap.ui.core", "npmPackageName": "@openui5/sap.ui.core"}]}"#,
        ),
        (
            "1.136.5/test-resources/sap/ui/core/designtime/api.json",
            r#"{"library": "sap.ui.core", "symbols": []}"#,
        ),
        ("main/mapping.json", r#"{"latest": "1.99.0"}"#),
        ("v1.99.0/schema.json", "{}"),
    ];
    for (name, text) in pages {
        let page = folder.join(name);
        fs::create_dir_all(page.parent().expect("a page is in a folder")).expect("it is writable");
        fs::write(page, text).expect("it is writable");
    }
    let web = Web::start(Some(&folder));
    let address = format!("http://{}", web.address);
    home.set("UI5_MCP_SERVER_CDN_URL", &address);
    home.set("UI5_MANIFEST_SCHEMAS_URL", &address);
    web
}

#[test]
fn a_pack_has_the_data_for_a_machine_without_a_network() {
    let mut home = Home::new();
    let web = mirror(&mut home);
    let data = home.path().join("data");
    home.set("UI5_DATA_DIR", data.to_str().expect("UTF-8"));
    let root = home.files();
    let root = root.to_str().expect("UTF-8");
    let pack = format!("{root}/ui5.pack");
    let order = json!({"framework": "OpenUI5", "version": "1.136", "out": pack}).to_string();
    for _ in 0..2 {
        // The second run replaces the file.
        let ran = home.run(&["call", "pack_ui5_data", "--root", root, &order]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stdout.contains("OpenUI5 1.136.5, libraries: 1"), "{ran:?}");
    }
    drop(web);
    let unpack = json!({"file": pack}).to_string();
    let ran = home.run(&["call", "unpack_ui5_data", "--root", root, &unpack]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("API reference added"), "{ran:?}");
    let server = data.join("mcp-server");
    for file in [
        "api_json_files/openui5-1.136.5/sap.ui.core.api.json",
        "api_json_files/openui5-1.136.5/index.json",
        "manifest_schemas/v1.99.0/schema.json",
        "versions/openui5-version.json",
    ] {
        assert!(server.join(file).is_file(), "{file}: {ran:?}");
    }
    fs::write(&pack, "not a pack").expect("it is writable");
    let ran = home.run(&["call", "unpack_ui5_data", "--root", root, &unpack]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("the file is not a pack"), "{ran:?}");
}

#[test]
fn a_plugin_for_the_command_line_only_is_hidden_from_clients() {
    let home = Home::new();
    let listed = home.run(&["tools", "--json"]);
    assert!(listed.stdout.contains("\"pack_ui5_data\""), "{listed:?}");
    let mut client =
        Client::start_with(&home, &["serve", "--tools", "all"], Era::Legacy, json!({}));
    let id = client.request("tools/list", json!({}));
    let served = client.finish(id);
    let tools = served["result"]["tools"].as_array().expect("a list");
    let names: Vec<_> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(names.contains(&"get_api_reference"), "{names:?}");
    assert!(!names.iter().any(|name| name.contains("pack_ui5_data")), "{names:?}");
    let refused = client.call("pack_ui5_data", json!({}));
    assert_ne!(refused["error"], Value::Null, "{refused}");
}

#[test]
fn a_variable_switches_structured_content_off() {
    let mut home = Home::new();
    let schema = |home: &Home| {
        let listed = home.run(&["tools", "--json"]);
        let listed: Value = serde_json::from_str(&listed.stdout).expect("it is JSON");
        let tools = listed["tools"].as_array().expect("a list").clone();
        let is_it = |tool: &&Value| tool["name"] == "get_version_info";
        tools.iter().find(is_it).expect("it is there")["outputSchema"].clone()
    };
    assert_ne!(schema(&home), Value::Null);
    home.set("UI5_MCP_SERVER_RESPONSE_NO_STRUCTURED_CONTENT", "");
    assert_ne!(schema(&home), Value::Null, "a variable that is empty is as one that is not set");
    home.set("UI5_MCP_SERVER_RESPONSE_NO_STRUCTURED_CONTENT", "true");
    assert_eq!(schema(&home), Value::Null);
}
