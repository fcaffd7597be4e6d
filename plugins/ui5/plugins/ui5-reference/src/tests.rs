//! Tests of the tool with data on disk.

use super::*;
use portcullis_plugin::{
    content::{ContentBody, ResourceData},
    rehearsal::Rehearsal,
};
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
        let arguments = json!({ "projectDir": project, "query": "my/lib/library", "page": page });
        rehearsal.call::<GetApiReference>(arguments)
    };
    let mut names = Vec::new();
    for (number, count) in [(1, 64), (2, 64), (3, 2)] {
        let reply = page(Some(number)).expect("it is there");
        let found = resources(&reply);
        assert_eq!(found.len(), count);
        names.extend(found.into_iter().map(|(_, value)| value["name"].to_string()));
        let more =
            format!(" Call again with `page` {} for more, or name a symbol of it.", number + 1);
        let more = if number < 3 { more.as_str() } else { "" };
        let expected = format!("Page {number} of 3: my/lib/library has 130 symbols.{more}");
        assert_eq!(reply.as_text(), expected);
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 130);
    assert_eq!(resources(&page(None).expect("it is there")).len(), 64);
    let failure = page(Some(4)).expect_err("it is not there");
    assert_eq!(failure.to_string(), "There is no page 4: the answer has 3");
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
fn refusals_come_with_hints() {
    let (_folder, rehearsal, project) = prepared(3, "");
    let fail = |query: &str| {
        let arguments = json!({ "projectDir": project, "query": query });
        rehearsal.call::<GetApiReference>(arguments).expect_err(query).to_string()
    };
    assert_eq!(fail("my.app"), "Could not find symbol for query 'my.app'");
    assert_eq!(
        fail("my.lib.Tipe1"),
        "Could not find field 'tipe1' in symbol 'my.lib' of library 'my.lib'\nDid you mean \
         my.lib.Type1, my.lib.Type2?"
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
fn without_a_data_directory_it_says_what_to_set() {
    let (_folder, _, project) = prepared(2, "");
    let arguments = json!({ "projectDir": project, "query": "my.lib" });
    let failure = Rehearsal::new().call::<GetApiReference>(arguments).expect_err("it is not set");
    assert!(failure.to_string().contains("set `data-dir` of this plugin"), "{failure}");
}
