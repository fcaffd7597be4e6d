//! Tests of the tool with data on disk.

use super::*;
use portcullis_plugin::{
    content::{ContentBody, ResourceData},
    rehearsal::Rehearsal,
};
use serde_json::Value;
use std::{fs, path::PathBuf};
use tempfile::TempDir;

/// A data directory with a library of that many symbols in one module, and a project.
pub fn prepared(symbols: usize, framework: &str) -> (TempDir, Rehearsal, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    let data = root.join("mcp-server/api_json_files/openui5-1.136.5");
    fs::create_dir_all(&data).expect("the temporary directory can be written to");
    let mut all = vec![json!({
        "kind": "namespace", "name": "my.lib", "module": "my/lib/library", "visibility": "public",
        "methods": [{ "name": "init", "visibility": "public" }],
    })];
    all.extend((1..symbols).map(|number| {
        json!({
            "kind": "typedef", "name": format!("my.lib.Type{number}"), "visibility": "public",
            "module": "my/lib/library", "export": format!("Type{number}"),
            "description": "x".repeat(1000),
        })
    }));
    let library = json!({ "library": "my.lib", "symbols": all });
    fs::write(data.join("my.lib.api.json"), library.to_string()).expect("it is writable");
    ui5::reference::index_directory(&data).expect("it is API data");
    let project = root.join("project");
    fs::create_dir_all(project.join("webapp")).expect("it is writable");
    fs::write(project.join("webapp/manifest.json"), r#"{"sap.app": {"id": "my.app"}}"#)
        .expect("it is writable");
    let yaml = "specVersion: '4.0'\ntype: application\nmetadata:\n  name: my.app\n";
    fs::write(project.join("ui5.yaml"), format!("{yaml}{framework}")).expect("it is writable");
    let setting = root.to_str().expect("its path is text");
    let rehearsal = Rehearsal::new().setting("data-dir", setting);
    (folder, rehearsal, project)
}

fn resources(reply: &Reply) -> Vec<(String, Value)> {
    reply
        .content
        .iter()
        .filter_map(|content| {
            let ContentBody::Resource(resource) = &content.body else { return None };
            let ResourceData::Text(text) = &resource.data else { panic!("it is text") };
            assert_eq!(resource.mime_type.as_deref(), Some("application/json"));
            let value = serde_json::from_str(text).expect("it is JSON");
            Some((resource.uri.clone(), value))
        })
        .collect()
}

#[test]
fn a_symbol_is_a_resource() {
    let (_folder, rehearsal, project) = prepared(2, "");
    let arguments = json!({ "projectDir": project, "query": "my/lib#INIT" });
    let reply = rehearsal.call::<GetApiReference>(arguments).expect("it is found");
    assert_eq!(
        resources(&reply),
        [(
            "https://openui5.org/1.136.5/api/my.lib.library/methods/init".to_owned(),
            json!({ "kind": "method", "name": "init", "module": "my/lib/library", "library": "my.lib" }),
        )]
    );
    assert_eq!((reply.content.len(), reply.structured), (1, None));
    assert_eq!(rehearsal.sent(), []);
}

#[test]
fn a_large_module_has_pages() {
    let (_folder, rehearsal, project) = prepared(130, "");
    let page = |page: Option<u32>| {
        let arguments = json!({
            "projectDir": project, "query": "my/lib/library", "page": page, "detail": "full",
        });
        rehearsal.call::<GetApiReference>(arguments)
    };
    let mut names = Vec::new();
    for (number, count) in [(1, 64), (2, 64), (3, 2)] {
        let reply = page(Some(number)).expect("it is there");
        let found = resources(&reply);
        assert_eq!(found.len(), count);
        names.extend(found.into_iter().map(|(_, value)| value["name"].to_string()));
        let more = format!(
            " Call again with `page` {} for more, or name a symbol of the module.",
            number + 1
        );
        let more = if number < 3 { more.as_str() } else { "" };
        let expected = format!("Page {number} of 3: my/lib/library has 130 symbols.{more}");
        assert_eq!(reply.as_text(), expected);
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 130);
    assert_eq!(resources(&page(None).expect("it is there")).len(), 64);
    let failure = page(Some(4)).expect_err("it is not there");
    assert_eq!(failure.to_string(), "There is no page 4: the last one is 3");
}

#[test]
fn pages_have_neither_too_many_symbols_nor_too_many_bytes() {
    assert_eq!(pages(&[1; 64]).len(), 1);
    assert_eq!(pages(&[1; 65]), [0..64, 64..65]);
    assert_eq!(pages(&[100_000, 60_000, 1, u32::MAX, 1]), [0..2, 2..3, 3..4, 4..5]);
    assert!(pages(&[]).is_empty());
}

#[test]
fn a_small_module_has_none() {
    let (_folder, rehearsal, project) = prepared(5, "");
    let arguments = json!({ "projectDir": project, "query": "my/lib/library" });
    let reply = rehearsal.call::<GetApiReference>(arguments).expect("it is there");
    assert_eq!((resources(&reply).len(), reply.content.len()), (5, 5));
}

#[test]
fn refusals_have_hints() {
    let (_folder, rehearsal, project) = prepared(3, "");
    let fail = |query: &str| {
        let arguments = json!({ "projectDir": project, "query": query });
        rehearsal.call::<GetApiReference>(arguments).expect_err(query).to_string()
    };
    assert_eq!(fail("my.app"), "Could not find symbol for query 'my.app'");
    assert_eq!(
        fail("my.lib.Tipe1"),
        "Could not find field 'tipe1' in symbol 'my.lib' of library 'my.lib'\nDid you mean \
         my.lib.Type1?"
    );
    assert_eq!(fail("a<b>"), "Characters < > ( ) \" ' are not allowed.");
}

#[test]
fn another_version_is_labelled() {
    let framework = "framework:\n  name: OpenUI5\n  version: 1.120.30\n";
    let (_folder, rehearsal, project) = prepared(2, framework);
    let arguments = json!({ "projectDir": project, "query": "my.lib" });
    let reply = rehearsal.call::<GetApiReference>(arguments).expect("it is found");
    assert!(resources(&reply)[0].0.starts_with("https://openui5.org/1.136.5/api/"));
    assert!(
        reply.as_text().starts_with("This is the API reference of OpenUI5 1.136.5, the nearest")
    );
    let arguments = json!({ "projectDir": project, "query": "gone" });
    let failure = rehearsal.call::<GetApiReference>(arguments).expect_err("it is not there");
    assert!(failure.to_string().contains("the nearest version at hand"), "{failure}");
}

#[test]
fn without_a_data_directory_the_answer_names_the_setting() {
    let (_folder, _, project) = prepared(2, "");
    let arguments = json!({ "projectDir": project, "query": "sap.m.Button#press" });
    let reply = Rehearsal::new().call::<GetApiReference>(arguments).expect("it is carried");
    assert!(reply.as_text().contains("set `data-dir` of this plugin"), "{}", reply.as_text());
}

/// A project without any API reference on disk, and no network.
fn bare(framework: &str) -> (TempDir, Rehearsal, PathBuf) {
    let (folder, _, project) = prepared(2, framework);
    let empty = folder.path().join("empty");
    let rehearsal = Rehearsal::new().setting("data-dir", empty.to_str().expect("it is text"));
    (folder, rehearsal, project)
}

fn ask(rehearsal: &Rehearsal, project: &PathBuf, query: &str) -> Result<Reply, String> {
    let arguments = json!({ "projectDir": project, "query": query });
    rehearsal.call::<GetApiReference>(arguments).map_err(|failure| failure.to_string())
}

#[test]
fn without_a_network_the_carried_reference_answers_and_is_labelled() {
    for (framework, told) in [
        ("", "that of OpenUI5 1.136.5 could not be fetched"),
        (
            "framework:\n  name: SAPUI5\n  version: 1.120.1\n",
            "that of SAPUI5 1.120.1, which has further libraries, could not be fetched",
        ),
        (
            "framework:\n  name: OpenUI5\n  version: 1.152.0\n",
            "that of the UI5 CDN could not be fetched",
        ),
    ] {
        let (_folder, rehearsal, project) = bare(framework);
        let reply = ask(&rehearsal, &project, "sap.m.Button#press").expect("it is carried");
        let (uri, found) = &resources(&reply)[0];
        assert_eq!(uri, "https://openui5.org/1.152.0/api/sap.m.Button/");
        assert_eq!((&found["name"], &found["library"]), (&json!("press"), &json!("sap.m")));
        let note = reply.as_text();
        assert!(note.starts_with("This is the API reference of OpenUI5 1.152.0 ("), "{note}");
        assert!(note.contains(told), "{note}");
        assert!(note.contains("denied by the host for URL: "), "{note}");
        assert!(note.contains("`portcullis call pack_ui5_data`"), "{note}");
        let sent = rehearsal.sent();
        assert_eq!(sent.len(), 1);
        assert_eq!(sent[0].patience, Some(std::time::Duration::from_secs(3)));
        ask(&rehearsal, &project, "sap.m.Button").expect("it is carried");
        assert_eq!(rehearsal.sent().len(), 1, "the failure is remembered");
    }
}

#[test]
fn a_misspelt_name_leads_to_the_meant_member() {
    let (_folder, rehearsal, project) = bare("");
    for (query, near) in [
        ("sap.m.Buttn#press", "sap.m.Button#press"),
        ("sap.m.Buttn.press", "sap.m.Button#press"),
        ("sap.m.Button#prss", "sap.m.Button#press"),
        ("sap.m.Buttn", "sap.m.Button"),
        ("sap.ui.core.mvc.Controler#onInit", "sap.ui.core.mvc.Controller#onInit"),
        ("sap.m.Inptu#attachLiveChange", "sap.m.Input#attachLiveChange"),
        ("sap/ui/table/Tabel", "sap.ui.table.Table"),
    ] {
        let failure = ask(&rehearsal, &project, query).expect_err(query);
        let offered = failure.lines().find_map(|line| line.strip_prefix("Did you mean "));
        let offered = offered.unwrap_or_default().trim_end_matches('?');
        assert_eq!(offered.split(", ").next(), Some(near), "{query}: {failure}");
    }
    let failure = ask(&rehearsal, &project, "com.acme.Thing#doIt").expect_err("it is not there");
    assert!(!failure.contains("Did you mean"), "{failure}");
}

#[test]
fn a_first_answer_is_short_and_the_full_one_is_available() {
    let (_folder, rehearsal, project) = bare("");
    let mut shortened = 0;
    for query in [
        "sap/m/library",
        "sap.m.Button",
        "sap.m.Table",
        "sap.ui.core.Control",
        "sap.ui.model.odata.v4.ODataModel",
        "sap.ui.core.library",
        "sap.m.Input",
        "sap.ui.mdc.Table",
        "sap.ui.table.Table",
        "sap.m.IconTabBar",
        "sap.ui.core.Element",
        "jQuery",
        "sap.ui.base.ManagedObject",
        "ui5-table",
        "ui5-button",
        "sap/ui/core/library",
    ] {
        let of = |detail: Option<&str>| {
            let arguments = json!({ "projectDir": project, "query": query, "detail": detail });
            let reply = rehearsal.call::<GetApiReference>(arguments).expect(query);
            let length =
                resources(&reply).iter().map(|(_, it)| it.to_string().len()).sum::<usize>();
            (length, resources(&reply)[0].1["_summaryInfo"].as_str().map(str::to_owned))
        };
        let (brief, full) = (of(None), of(Some("full")));
        assert!(brief.0 <= 6_000, "{query}: {} bytes", brief.0);
        assert_eq!(full.1, None, "{query} is whole");
        if full.0 > 6_000 {
            shortened += 1;
            assert!(brief.1.is_some_and(|how| how.contains("with `detail` `full`")), "{query}");
        } else {
            assert_eq!(brief, full, "{query} is short anyway");
        }
    }
    assert!(shortened > 8, "{shortened}");
    let rehearsal = rehearsal.setting("detail", "full");
    let reply = ask(&rehearsal, &project, "sap.m.Button").expect("it is there");
    assert_eq!(resources(&reply)[0].1.get("_summaryInfo"), None);
    let rehearsal = rehearsal.setting("detail", "all");
    let failure = ask(&rehearsal, &project, "sap.m.Button").expect_err("it is none");
    assert!(failure.contains("to `brief` or `full`, not to `all`"), "{failure}");
}

#[test]
fn web_components_are_found_and_labelled() {
    let (_folder, rehearsal, project) = bare("");
    for (query, kind, name) in [
        ("ui5-button", "class", "Button"),
        ("@ui5/webcomponents/dist/Button.js", "class", "Button"),
        ("Button#design", "property", "design"),
        ("ui5-shellbar", "class", "ShellBar"),
        ("@ui5/webcomponents-ai/dist/PromptInput.js", "class", "PromptInput"),
        ("ButtonDesign", "enum", "ButtonDesign"),
        ("ui5-button#id", "", ""),
    ] {
        match ask(&rehearsal, &project, query) {
            Ok(reply) => {
                let found = &resources(&reply)[0].1;
                assert_eq!((&found["kind"], &found["name"]), (&json!(kind), &json!(name)));
                let note = reply.as_text();
                let label = "This is UI5 Web Components 2.26.0, which comes with this tool: the \
                             project has none installed.";
                assert!(note.starts_with(label), "{note}");
            }
            Err(failure) => {
                assert_eq!(kind, "", "{failure}");
                assert!(failure.contains("Could not find field 'id'"), "{failure}");
                assert!(failure.contains("UI5 Web Components 2.26.0"), "{failure}");
            }
        }
    }
    for query in ["Button", "Button#design"] {
        let reply = ask(&rehearsal, &project, query).expect("there is a component");
        let text = reply.as_text();
        let meant =
            text.lines().find_map(|line| line.strip_prefix("UI5 symbols with a similar name: "));
        let meant: Vec<&str> =
            meant.unwrap_or_default().trim_end_matches('.').split(", ").collect();
        assert!(meant.contains(&"sap.m.Button"), "{text}");
        assert!(meant.iter().all(|name| name.ends_with(".Button")), "{text}");
    }
    let sent = rehearsal.sent().len();
    ask(&rehearsal, &project, "ui5-table").expect("it is there");
    assert_eq!(rehearsal.sent().len(), sent, "what is carried needs no network");
}

#[test]
fn every_carried_symbol_is_whole() {
    let (_folder, rehearsal, project) = bare("");
    let mut reference = Reference::carried(OPENUI5).expect("it is whole");
    let names = reference.names("", usize::MAX).expect("it is whole");
    assert!(names.len() > 1_800, "{}", names.len());
    let mut public = 0;
    for name in &names {
        match reference.find(name) {
            Ok(Found::One(hit)) => {
                assert_eq!(hit.content.get("name").and_then(Value::as_str), Some(name.as_str()));
                public += 1;
            }
            Ok(Found::Module { .. }) => panic!("{name} is one"),
            Err(miss) => assert!(miss.message.ends_with("is not public API"), "{miss:?}"),
        }
    }
    assert!(public > 1_300, "{public} of {}", names.len());
    let failure = ask(&rehearsal, &project, "sap.ui.core.Nothing#x").expect_err("it is not there");
    assert!(failure.contains("1.152.0"), "{failure}");
}
