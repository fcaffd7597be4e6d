//! Tests of the API reference, from the CDN to a query's result.

use super::*;
use portcullis_plugin::{
    http::Reason,
    rehearsal::{Page, Rehearsal},
};
use serde_json::{Value, json};
use tempfile::TempDir;

const BASE: &str = "https://sdk.openui5.org/1.120.30";

fn directory() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn core() -> Value {
    json!({ "$schema-ref": "x", "version": "1.120.30", "library": "sap.ui.core", "symbols": [
        { "kind": "class", "name": "sap.ui.core.Control", "module": "sap/ui/core/Control",
          "visibility": "public", "extends": "sap.ui.core.Element",
          "ui5-metadata": { "properties": [{ "name": "busy", "type": "boolean" }] } },
        { "kind": "class", "name": "sap.ui.core.Element", "module": "sap/ui/core/Element",
          "visibility": "public", "extends": "sap.ui.core.Control",
          "methods": [{ "name": "getId", "visibility": "public" }] },
        { "kind": "namespace", "name": "sap.ui.core", "module": "sap/ui/core/library",
          "export": "", "visibility": "public" },
        { "kind": "enum", "name": "sap.ui.core.TextAlign", "module": "sap/ui/core/library",
          "export": "TextAlign", "visibility": "public", "properties": [{ "name": "Begin" }] },
        { "kind": "function", "name": "module:sap/base/assert", "module": "sap/base/assert",
          "visibility": "public", "parameters": [{ "name": "bResult" }] },
        { "kind": "class", "name": "sap.ui.core.Hidden", "module": "sap/ui/core/Hidden",
          "visibility": "restricted" },
    ]})
}

fn m() -> Value {
    json!({ "library": "sap.m", "symbols": [
        { "kind": "class", "name": "sap.m.Button", "module": "sap/m/Button", "visibility": "public",
          "extends": "sap.ui.core.Control", "constructor": { "parameters": [] },
          "deprecated": { "since": "1.200", "text": "Press something else." },
          "events": [{ "name": "press" }],
          "ui5-metadata": { "properties": [{ "name": "text" }], "events": [{ "name": "press" }] } },
    ]})
}

fn online() -> Rehearsal {
    let library =
        |name: &str| json!({ "name": name, "npmPackageName": format!("@openui5/{name}") });
    let versions = json!({ "libraries": [
        library("sap.ui.core"), library("sap.m"), library("themelib_sap_horizon"),
        library("sap.without"), { "name": "sap.internal" },
    ]});
    let api = |path: &str| format!("{BASE}/test-resources/{path}/designtime/api.json");
    Rehearsal::new()
        .page(&format!("{BASE}/resources/sap-ui-version.json"), 200, versions.to_string())
        .page(&api("sap/ui/core"), 200, core().to_string())
        .page(&api("sap/m"), 200, m().to_string())
        .page(&api("sap/without"), 404, "")
}

fn release(version: &str) -> Release {
    Release { framework: Framework::OpenUi5, version: version.to_owned() }
}

fn open(
    rehearsal: &Rehearsal,
    directory: impl AsRef<Path>,
    version: &str,
) -> Result<Reference, String> {
    Reference::open_in(directory.as_ref(), &release(version), &Cdn::default(), &rehearsal.request())
}

fn one(reference: &mut Reference, query: &str) -> Value {
    match reference.find(query).expect("it is found") {
        Found::One(hit) => Value::Object(full(&hit)),
        Found::Module { .. } => panic!("{query} is one"),
    }
}

#[test]
fn data_is_downloaded_once_in_the_layout_of_the_ui5_mcp_server() {
    let (rehearsal, folder) = (online(), directory());
    let directory = folder.path().join("made");
    let mut reference = open(&rehearsal, &directory, "1.120.30").expect("it is fetched");
    assert_eq!(one(&mut reference, "sap.m.Button")["name"], "sap.m.Button");
    assert_eq!(rehearsal.sent().len(), 4);
    assert_eq!(rehearsal.progress_made().len(), 4);
    let tool = directory.join("mcp-server");
    let kept = tool.join("api_json_files/openui5-1.120.30");
    let mut names: Vec<_> = fs::read_dir(&kept)
        .expect("it is there")
        .map(|entry| entry.expect("it is readable").file_name().into_string().expect("text"))
        .collect();
    names.sort();
    let expected = ["index.json", "portcullis.index", "sap.m.api.json", "sap.ui.core.api.json"];
    assert_eq!(names, expected);
    let index = fs::read_to_string(kept.join("index.json")).expect("it is there");
    let begin = "{\n    \"sap.m.button\": {\n        \"name\": \"sap.m.Button\",\n        \
                 \"filePath\": \"sap.m.api.json\"\n    },\n    \"sap.ui.core.control\": {";
    assert!(index.starts_with(begin), "{index}");
    assert!(index.contains("\"sap.base.assert\": {\n        \"name\": \"module:sap/base/assert\""));
    assert!(fs::read_dir(tool.join("locks")).expect("it is there").next().is_none());
    assert!(
        fs::read_dir(tool.join("api_json_files/staging")).expect("it is there").next().is_none()
    );
    let again = open(&rehearsal, &directory, "1.120.30").expect("it is there");
    assert_eq!((again.note, rehearsal.sent().len()), (None, 4));
}

#[test]
fn every_form_of_query() {
    let (rehearsal, directory) = (online(), directory());
    let mut reference = open(&rehearsal, &directory, "1.120.30").expect("it is fetched");
    for (query, kind, module) in [
        (" module:sap/m/Button ", "class", "sap/m/Button"),
        ("SAP.M.BUTTON#Text", "ui5-property", "sap/m/Button"),
        ("sap.m.Button.press", "event", "sap/m/Button"),
        ("sap.m.Button#text#x", "ui5-property", "sap/m/Button"),
        ("sap.m.Button#constructor", "constructor", "sap/m/Button"),
        ("sap.m.Button#busy", "ui5-property", "sap/ui/core/Control"),
        ("sap.m.Button#getId", "method", "sap/ui/core/Element"),
        ("sap.ui.core.TextAlign.Begin", "enum-property", "sap/ui/core/library"),
        ("sap/base/assert#bResult", "parameter", "sap/base/assert"),
    ] {
        let found = one(&mut reference, query);
        assert_eq!((found["kind"].as_str(), found["module"].as_str()), (Some(kind), Some(module)));
    }
    let found = reference.find("sap/ui/core/library").expect("it is a module");
    assert_eq!(found, Found::Module { module: "sap/ui/core/library".into(), symbols: vec![3, 4] });
    let summaries = reference.summaries("sap/ui/core/library").expect("it is a module");
    assert_eq!(summaries.len(), 2);
    let summary = &reference.summaries("sap.m.Button").expect("it is there")[0];
    assert_eq!(summary["deprecatedText"], "Press something else.");
}

#[test]
fn a_query_without_a_result_has_suggestions() {
    let (rehearsal, directory) = (online(), directory());
    let mut reference = open(&rehearsal, &directory, "1.120.30").expect("it is fetched");
    for (query, message, near) in [
        ("sap.m.Buton", "Could not find symbol for query 'sap.m.Buton'", &["sap.m.Button"][..]),
        (
            "sap.ui.core.TextAlgn",
            "Could not find field 'textalgn' in symbol 'sap.ui.core' of library 'sap.ui.core'",
            &["sap.ui.core.TextAlign"],
        ),
        (
            "my.TextAlign",
            "Could not find symbol for query 'my.TextAlign'",
            &["sap.ui.core.TextAlign"],
        ),
        ("my.app", "Could not find symbol for query 'my.app'", &[]),
        ("sap.ui.core.Hidden#x", "Symbol 'sap.ui.core.Hidden' is not public API", &[]),
        (
            "sap.m.Button#pres",
            "Could not find field 'pres' in symbol 'sap.m.Button' of library 'sap.m'",
            &["sap.m.Button#press"],
        ),
    ] {
        let miss = reference.find(query).expect_err(query);
        assert_eq!(
            (miss.message.as_str(), miss.near),
            (message, near.iter().map(|it| (*it).to_owned()).collect())
        );
    }
}

#[test]
fn without_a_network_the_nearest_release_answers() {
    let directory = directory();
    open(&online(), &directory, "1.120.30").expect("it is fetched");
    let rehearsal = Rehearsal::new();
    for version in ["1.120.31", "1.119.0", "1.152.0"] {
        let reference = open(&rehearsal, &directory, version).expect("there is one");
        assert_eq!(reference.release, release("1.120.30"));
        let note = reference.note.expect("it is labelled");
        assert!(note.contains("OpenUI5 1.120.30, the nearest version at hand"), "{note}");
        assert!(note.contains("denied by the host"), "{note}");
    }
    let wanted = Release { framework: Framework::SapUi5, version: "1.120.30".into() };
    let request = rehearsal.request();
    let why = Reference::open_in(directory.path(), &wanted, &Cdn::default(), &request).err();
    assert_eq!(
        why.expect("there is none"),
        "Failed to fetch resource from CDN. Error: denied by the host for URL: \
         https://ui5.sap.com/1.120.30/resources/sap-ui-version.json. Where there is no network, \
         `portcullis call pack_ui5_data` and `portcullis call unpack_ui5_data` transfer the API reference from a machine with network access"
    );
    let sent = rehearsal.sent().len();
    open(&rehearsal, &directory, "1.152.0").expect("there is one");
    assert_eq!(rehearsal.sent().len(), sent, "it is not asked again at once");
}

#[test]
fn an_outdated_or_damaged_index_is_rebuilt() {
    let (rehearsal, directory) = (online(), directory());
    open(&rehearsal, &directory, "1.120.30").expect("it is fetched");
    let kept = directory.path().join("mcp-server/api_json_files/openui5-1.120.30");
    let index = kept.join("portcullis.index");
    let good = fs::read(&index).expect("it is there");
    let mut shifted = good.clone();
    let last = shifted.len() - 1;
    shifted[last] ^= 1;
    // Damages everything after the first 120 bytes, which include the header.
    let mut scattered = good.clone();
    scattered.iter_mut().skip(120).for_each(|byte| *byte = byte.wrapping_add(3));
    for bad in
        [&scattered[..], &b""[..], b"portcullis api index 0\n\0", &good[..good.len() - 9], &shifted]
    {
        fs::write(&index, bad).expect("it is writable");
        let mut reference = open(&rehearsal, &directory, "1.120.30").expect("it is there");
        assert_eq!(one(&mut reference, "sap.m.Button")["library"], "sap.m");
    }
    // Another process downloads the data again.
    let mut other = m();
    other["symbols"][0]["description"] = "New.".into();
    fs::write(kept.join("sap.m.api.json"), other.to_string()).expect("it is writable");
    let mut reference = open(&rehearsal, &directory, "1.120.30").expect("it is there");
    assert_eq!(one(&mut reference, "sap.m.Button")["description"], "New.");
    fs::remove_file(&index).expect("it is there");
    let mut reference = open(&rehearsal, &directory, "1.120.30").expect("it is there");
    assert_eq!(one(&mut reference, "sap.m.Button")["description"], "New.");
    assert!(index.exists());
}

#[test]
fn broken_data_is_reported() {
    let (rehearsal, directory) = (online(), directory());
    open(&rehearsal, &directory, "1.120.30").expect("it is fetched");
    let kept = directory.path().join("mcp-server/api_json_files/openui5-1.120.30");
    fs::write(kept.join("sap.m.api.json"), "{\"symbols\": [").expect("it is writable");
    let mut reference = open(&rehearsal, &directory, "1.120.30").expect("it is there");
    let miss = reference.find("sap.m.Button").expect_err("it is broken");
    assert!(miss.message.contains("sap.m.api.json: it ends before its JSON does"), "{miss:?}");
    assert!(miss.message.contains("Delete the directory "), "{miss:?}");
    one(&mut reference, "sap.ui.core.Control");
    let huge = fs::File::create(kept.join("sap.m.api.json")).expect("it is writable");
    huge.set_len(1 << 30).expect("it takes no room");
    let miss = reference.find("sap.m.Button").expect_err("it is too large");
    assert!(miss.message.contains("sap.m.api.json: it is larger than 256 MiB"), "{miss:?}");
    for (index, told) in [
        ("{", "EOF while parsing"),
        (r#"{"a": {"name": "a"}}"#, "its entry 'a' has no name or no file"),
        (r#"{"a": {"name": "a", "filePath": "../../a"}}"#, "is in a file elsewhere: '../../a'"),
    ] {
        fs::write(kept.join("index.json"), index).expect("it is writable");
        let why = open(&rehearsal, &directory, "1.120.30").err().expect("it is broken");
        assert!(why.contains(told), "{why}");
    }
    // Without an index the directory is incomplete, and is downloaded again.
    fs::remove_file(kept.join("index.json")).expect("it is there");
    let mut reference = open(&rehearsal, &directory, "1.120.30").expect("it is fetched");
    one(&mut reference, "sap.m.Button");
}

#[test]
fn unusable_answers_of_the_cdn_are_errors() {
    let versions = format!("{BASE}/resources/sap-ui-version.json");
    let library = |name: &str| json!({ "libraries": [{ "name": name, "npmPackageName": "x" }] });
    for (status, body, told) in [
        (404, String::new(), "Error: The requested resource does not exist for URL: "),
        (500, String::new(), "returned unexpected status \"500\" for URL: "),
        (200, "<html>".to_owned(), "not the expected JSON"),
        (200, library("../x").to_string(), "there cannot be a library named '../x'"),
        (200, library("sap.m").to_string(), "denied by the host"),
    ] {
        let (rehearsal, directory) = (Rehearsal::new().page(&versions, status, body), directory());
        let why = open(&rehearsal, &directory, "1.120.30").err().expect("it cannot be used");
        assert!(why.contains(told), "{why}");
        let left = directory.path().join("mcp-server/api_json_files/openui5-1.120.30");
        assert!(!left.exists());
    }
    let (rehearsal, directory) = (Rehearsal::new(), directory());
    for version in ["", "..", "1.2/3", "../../etc", "1.2.3%2e"] {
        let why = open(&rehearsal, &directory, version).err().expect("it is odd");
        assert_eq!(why, format!("Invalid framework version: {version}"));
    }
    assert!(
        open(&rehearsal, Path::new("data"), "1.2.3")
            .err()
            .expect("it is relative")
            .contains("not an absolute path")
    );
}

#[test]
fn a_cdn_may_redirect_to_another_that_is_granted() {
    let to = |path: &str| format!("https://ui5.sap.com/1.120.30{path}");
    let mut rehearsal = Rehearsal::new();
    let list = json!({ "libraries": [{ "name": "sap.ui.core", "npmPackageName": "x" }] });
    for (path, body) in [
        ("/resources/sap-ui-version.json", list),
        ("/test-resources/sap/ui/core/designtime/api.json", core()),
    ] {
        let page = Page::new(302, "<html>moved</html>").header("location", &to(path));
        rehearsal = rehearsal.server(&format!("{BASE}{path}"), move |_| Ok(page.clone())).page(
            &to(path),
            200,
            body.to_string(),
        );
    }
    let directory = directory();
    let mut reference = open(&rehearsal, &directory, "1.120.30").expect("it is fetched");
    assert_eq!(one(&mut reference, "sap.ui.core.Control")["kind"], "class");
    assert_eq!((reference.note, rehearsal.sent().len()), (None, 4));
}

#[test]
fn a_silent_cdn_gets_no_requests_for_a_while() {
    let silent = |url: &str| Rehearsal::new().server(url, |_| Err(Reason::GivenUp));
    let list = format!("{BASE}/resources/sap-ui-version.json");
    let (rehearsal, directory) = (silent(&list), directory());
    let failed = |version: &str| open(&rehearsal, &directory, version).err().expect("silent");
    assert!(failed("1.120.30").contains("no answer within 15 seconds"));
    assert!(failed("1.121.0").contains("no answer within 15 seconds"), "one host, one silence");
    assert_eq!(rehearsal.sent().len(), 1);
    // If other data is available, the wait is short.
    open(&online(), &directory, "1.120.30").expect("it is fetched");
    let rehearsal = silent(&list.replace("1.120.30", "1.120.31"));
    let reference = open(&rehearsal, &directory, "1.120.31").expect("there is another");
    assert!(reference.note.is_some_and(|note| note.contains("no answer within 3 seconds")));
    assert_eq!(rehearsal.sent()[0].patience, Some(fetched::SHORT_PATIENCE));
}

#[test]
fn a_missing_release_does_not_affect_others() {
    let (rehearsal, directory) = (online(), directory());
    let gone = "https://sdk.openui5.org/1.119.0/resources/sap-ui-version.json";
    let rehearsal = rehearsal.page(gone, 404, "");
    for _ in 0..2 {
        let why = open(&rehearsal, &directory, "1.119.0").err().expect("it is not there");
        assert!(why.contains("does not exist"), "{why}");
    }
    assert_eq!(rehearsal.sent().len(), 1, "it is not asked again at once");
    open(&rehearsal, &directory, "1.120.30").expect("the host answers");
}
