//! Tests of the traces of a generation: log records with one id, debug files, and no traces with
//! storage turned off.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::generation::{
    GRANTS, KEY, address, apply, author, files_with, home, inspected, page, refine, specification,
    weather,
};
use crate::support::client::{Client, Era};
use crate::support::home::Home;
use crate::support::model::{Model, Turn};
use crate::support::stand_in;

/// The log records of plugins whose data are JSON objects.
fn said(stderr: &str) -> Vec<Value> {
    let lines = stderr.lines().filter(|line| line.starts_with('{'));
    let lines = lines.map(|line| serde_json::from_str(line).expect("a line of the log is JSON"));
    lines.filter(|line: &Value| line["target"] == "plugin" && line["data"].is_object()).collect()
}

/// The steps of one request, in their order.
fn steps(said: &[Value], request: &Value) -> Vec<String> {
    let own = said.iter().filter(|line| line["request"] == *request);
    own.map(|line| line["data"]["step"].as_str().expect("each is a step").to_owned()).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder was made");
    let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("it is there").file_name();
    let mut names: Vec<_> =
        entries.map(|entry| name(entry).into_string().expect("it is text")).collect();
    names.sort();
    names
}

#[test]
fn a_generation_can_be_followed_by_its_id() {
    let model = Model::that(author("Traced"));
    model.once(Turn::Fails(429, ("retry-after", "0"), "slow down"));
    model.once(Turn::Says("no".into()));
    let home = home(&model, "openai", "");
    let mut client = weather(&home, &["-vv", "--log-json"], Era::Legacy);
    let view = address(&mut client, "get_forecast");
    page(&mut client, &view);
    client.hear(|told| told["method"] == "notifications/tools/list_changed");
    let request = inspected(&mut client)["requestId"].clone();
    // Generates again, while a client waits, and without the cached result.
    let anew = client.text("_ui", json!({"action": "regenerate", "toolName": "get_forecast"}));
    assert!(anew.starts_with("UI regenerated"), "{anew}");
    let second = inspected(&mut client)["requestId"].clone();
    assert!(request.is_string() && second.is_string() && request != second, "{request} {second}");
    let said = said(&client.end().stderr);
    let expected = [
        "generate", "cache", "provider", "provider", "validate", "provider", "validate", "store",
        "publish",
    ];
    let mut own = steps(&said, &request);
    // The job may begin before its step `queue` is logged.
    own.retain(|step| step != "queue");
    assert_eq!(own, expected, "{said:#?}");
    assert!(steps(&said, &request).contains(&"queue".to_owned()));
    assert_eq!(steps(&said, &second), ["generate", "provider", "validate", "store"]);
    let of = |step: &str| -> Vec<Value> {
        let own = said.iter().filter(|line| line["request"] == request);
        own.filter(|line| line["data"]["step"] == step).map(|line| line["data"].clone()).collect()
    };
    assert_eq!(of("generate")[0]["pace"], "background");
    assert_eq!(of("cache")[0]["hit"], false);
    assert_eq!(
        (&of("provider")[0]["code"], &of("provider")[1]["code"]),
        (&json!("RATE_LIMIT"), &Value::Null)
    );
    assert_eq!(of("provider")[1]["tokens"], json!([11, 7]));
    assert_eq!(of("validate")[0]["problems"], json!(["there is no JSON object in it"]));
    assert_eq!(of("validate")[1]["problems"], json!([]));
    let store = &of("store")[0];
    assert_eq!((&store["tool"], &store["kind"]), (&json!("get_forecast"), &json!("specification")));
    assert!(store["ms"].is_number());
    for step in ["generate", "cache", "store"] {
        assert_eq!(of(step)[0]["key"], store["key"], "{step}");
    }
    for line in &said {
        assert!(line["timestamp"].is_string() && line["level"].is_string(), "{line}");
    }
    assert!(said.iter().any(|line| line["level"] == "WARNING"), "a plugin's own level counts");
    // The requests to the service and the records of the audit have the same id.
    let header = ("x-client-request-id".to_owned(), request.as_str().expect("text").to_owned());
    let asked = model.asked();
    assert!(asked[..3].iter().all(|one| one.headers.contains(&header)), "{asked:?}");
    let audit = home.audit();
    let own = audit.iter().filter(|record| record["request"] == request);
    let calls = own.clone().filter(|record| record["event"] == "call").count();
    assert_eq!(calls, 2, "the look at the view, and what it led to");
    assert!(own.clone().any(|record| record["capability"] == "http"), "{audit:?}");
    assert!(own.clone().any(|record| record["capability"] == "store"));
}

#[test]
fn prompts_answers_and_pages_are_written_to_folders() {
    let model = Model::that(author("Shown"));
    model.once(Turn::Says("Sorry, Bearer abcdefgh12345678 is all I have.".into()));
    let home = home(&model, "anthropic", "generate = \"asked\"");
    let (debug, export) = (home.file("new/debug"), home.file("new/pages"));
    let flags = ["--debug", &debug, "--export-dir", &export];
    let mut client = weather(&home, &flags, Era::Modern);
    let said = refine(&mut client, "a badge with sk-ant-REDACTED in it");
    assert!(said.starts_with("UI refined"), "{said}");
    let view = address(&mut client, "get_forecast");
    let shown = page(&mut client, &view);
    let id = inspected(&mut client)["requestId"].as_str().expect("an id").to_owned();
    let expected = ["1-answer.txt", "1-prompt.txt", "2-answer.txt", "2-prompt.txt", "page.html"];
    let expected = expected.map(|what| format!("get_forecast-{id}-{what}"));
    assert_eq!(names(Path::new(&debug)), expected);
    let prompt = fs::read_to_string(format!("{debug}/{}", expected[1])).expect("it is there");
    assert!(prompt.contains("a badge with [redacted] in it"), "{prompt}");
    let answer = fs::read_to_string(format!("{debug}/{}", expected[0])).expect("it is there");
    assert_eq!(answer, "Sorry, [redacted] is all I have.");
    // Reading another view exports its page, too.
    let other = address(&mut client, "get_alerts");
    page(&mut client, &other);
    assert_eq!(names(Path::new(&export)), ["get_alerts.html", "get_forecast.html"]);
    let exported = fs::read_to_string(format!("{export}/get_forecast.html")).expect("it is there");
    assert!(exported.contains(&shown["view"]["root"]["text"].to_string()), "{exported}");
    assert_eq!(files_with(&home.files(), "abcdefgh12345678"), [""; 0]);
    assert_eq!(files_with(home.path(), KEY), [""; 0]);
}

#[test]
fn without_storage_nothing_is_kept() {
    let model = Model::that(author("Kept"));
    let home = home(&model, "chat", "generate = \"asked\"");
    let mut client = weather(&home, &[], Era::Modern);
    assert!(refine(&mut client, "keep this").starts_with("UI refined"));
    let kept = address(&mut client, "get_forecast");
    client.end();

    model.always(author("Fleeting"));
    let mut before = String::new();
    for round in 0..2 {
        let mut client = weather(&home, &["--no-cache"], Era::BOTH[round]);
        let plain = address(&mut client, "get_forecast");
        assert_ne!(plain, kept, "what was made before does not count");
        assert!(page(&mut client, &plain)["view"].is_null());
        assert_eq!(inspected(&mut client)["refinementHistory"], json!([]));
        assert!(refine(&mut client, "passing wish").starts_with("UI refined"));
        // The view stays as long as the host runs.
        let now = address(&mut client, "get_forecast");
        assert_eq!(page(&mut client, &now)["view"], specification("Fleeting"));
        assert_eq!(inspected(&mut client)["refinementHistory"], json!(["passing wish"]));
        assert!(round == 0 || before == plain, "each time begins with the plain view");
        before = plain;
        client.end();
        for trace in ["Fleeting", "passing wish"] {
            assert_eq!(files_with(home.path(), trace), [""; 0]);
        }
    }
    assert_eq!(model.asked().len(), 3, "each time, it is made anew");

    let mut client = weather(&home, &[], Era::Legacy);
    assert_eq!(address(&mut client, "get_forecast"), kept);
    assert_eq!(page(&mut client, &kept)["view"], specification("Kept"));
}

#[test]
fn serve_has_the_same_flags_as_wrap() {
    let home = Home::new();
    let program = stand_in();
    home.configure(&format!(
        "{GRANTS}[upstreams.shop]\ncommand = {program:?}\nargs = [\"stdio\", \"weather\"]\n"
    ));
    let pages = home.file("pages");
    let flags = ["serve", "--no-cache", "--export-dir", &pages];
    let mut client = Client::start_with(&home, &flags, Era::Modern, json!({}));
    assert!(apply(&mut client, &specification("Fleeting")).starts_with("UI applied"));
    client.end();
    assert_eq!(names(Path::new(&pages)), ["get_forecast.html"]);
    assert_eq!(files_with(&home.path().join(".local"), "Fleeting"), [""; 0]);
    let ran = home.run(&["serve", "--export-dir", "/proc/no/such/folder"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("--export-dir") && ran.stderr.contains("/proc/no"), "{ran:?}");
}
