//! Tests of the requests to each service, and of their answers.

mod faults;

use super::*;
use crate::time::Clock;
use portcullis_plugin::rehearsal::{Page, Rehearsal, Sent};
use std::{cell::Cell, rc::Rc, time::Duration};

/// A clock that advances only when it waits.
#[derive(Default)]
struct Stopped(Cell<Duration>);

impl Clock for Stopped {
    fn elapsed(&self) -> Duration {
        self.0.get()
    }

    fn wait(&self, time: Duration) {
        self.0.set(self.0.get() + time);
    }
}

fn provider(service: Service) -> settings::Provider {
    settings::Provider {
        service,
        model: "fine".to_owned(),
        base_url: "http://model.example".to_owned(),
        max_output_tokens: 1000,
        effort: None,
        max_retries: 2,
        foreground: Duration::from_secs(15),
        background: Duration::from_secs(120),
    }
}

fn question() -> Prompt {
    Prompt { system: "be".to_owned(), turns: vec!["a".into(), "b".into(), "c".into()], json: true }
}

fn url(service: Service) -> String {
    join(
        "http://model.example",
        service.wire(&provider(service), &question(), Dialect::of(&question())).path,
    )
}

/// A successful answer of a service, with a text.
fn right(service: Service, text: &str) -> Value {
    match service {
        Service::Anthropic => {
            json!({ "model": "fine-1", "stop_reason": "end_turn", "usage": { "input_tokens": 7, "output_tokens": 3 },
            "content": [{ "type": "thinking", "thinking": "hm" }, { "type": "text", "text": text }] })
        }
        Service::Responses => {
            json!({ "model": "fine-1", "status": "completed", "incomplete_details": null, "usage": { "input_tokens": 7, "output_tokens": 3 },
            "output": [{ "type": "reasoning", "summary": [] }, { "type": "message", "content": [{ "type": "output_text", "text": text }] }] })
        }
        Service::Chat => {
            json!({ "model": "fine-1", "choices": [{ "message": { "content": text, "refusal": null }, "finish_reason": "stop" }],
            "usage": { "prompt_tokens": 7, "completion_tokens": 3 } })
        }
        Service::Ollama => {
            json!({ "model": "fine-1", "message": { "role": "assistant", "content": text }, "done": true, "done_reason": "stop",
            "prompt_eval_count": 7, "eval_count": 3 })
        }
    }
}

/// Asks a service that gives these answers. Returns the result, the requests that were sent, and the time waited.
fn asked(
    service: Service,
    house: Rehearsal,
    answer: impl Fn(&Sent) -> Result<Page, http::Reason> + 'static,
) -> (Result<Completion, Error>, Vec<Sent>, Duration) {
    let house = house.server(&url(service), answer);
    let request = house.request();
    let clock = Stopped::default();
    let provider = provider(service);
    let budget = Budget::new(&request, &clock, provider.foreground);
    let said = ask(&request, &provider, &question(), &budget);
    (said, house.sent(), clock.elapsed())
}

/// Gives the answers one after the other, then repeats the last one.
fn in_turn(pages: Vec<Page>) -> impl Fn(&Sent) -> Result<Page, http::Reason> {
    let next = Rc::new(Cell::new(0));
    move |_| {
        let index = next.get();
        next.set((index + 1).min(pages.len() - 1));
        Ok(pages[index].clone())
    }
}

#[test]
fn each_service_gets_requests_in_its_format() {
    for service in Service::ALL {
        let page = Page::new(200, right(service, "hello").to_string());
        let (said, sent, _) = asked(service, Rehearsal::new(), move |_| Ok(page.clone()));
        let expected =
            Completion { text: "hello".into(), model: Some("fine-1".into()), tokens: Some((7, 3)) };
        assert_eq!(said, Ok(expected), "{service:?}");
        let body: Value = serde_json::from_slice(&sent[0].body).expect("it is JSON");
        for never in ["temperature", "top_p", "top_k"] {
            assert!(body.get(never).is_none(), "{service:?}: {never}");
        }
        let headers: Vec<_> =
            sent[0].headers.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
        assert!(
            !headers.iter().any(|name| name == "authorization" || name == "x-api-key"),
            "{headers:?}"
        );
        let user = json!({ "role": "user", "content": "c" });
        let assistant = json!({ "role": "assistant", "content": "b" });
        match service {
            Service::Anthropic => {
                assert_eq!((&body["system"], &body["max_tokens"]), (&json!("be"), &json!(1000)));
                assert_eq!((&body["messages"][1], &body["messages"][2]), (&assistant, &user));
                assert!(
                    sent[0].headers.contains(&("anthropic-version".into(), "2026-10-21".into()))
                );
            }
            Service::Responses => {
                assert_eq!(
                    (&body["instructions"], &body["max_output_tokens"], &body["input"][2]),
                    (&json!("be"), &json!(1000), &user)
                );
                assert_eq!(
                    (&body["text"]["format"]["type"], &body["store"]),
                    (&json!("json_object"), &json!(false))
                );
            }
            Service::Chat => {
                assert_eq!(body["messages"][0], json!({ "role": "system", "content": "be" }));
                assert_eq!(
                    (&body["messages"][3], &body["max_completion_tokens"], &body["stream"]),
                    (&user, &json!(1000), &json!(false))
                );
            }
            Service::Ollama => {
                assert_eq!(
                    (&body["options"]["num_predict"], &body["format"], &body["stream"]),
                    (&json!(1000), &json!("json"), &json!(false))
                );
                assert!(body["options"]["num_ctx"].as_u64().expect("it is said") > 1000);
            }
        }
    }
}

#[test]
fn effort_is_written_as_each_service_expects() {
    let thinking = |service| settings::Provider { effort: Some("low".into()), ..provider(service) };
    let body = |service: Service| {
        service.wire(&thinking(service), &question(), Dialect::of(&question())).body
    };
    assert_eq!(body(Service::Anthropic)["output_config"]["effort"], "low");
    assert_eq!(body(Service::Responses)["reasoning"]["effort"], "low");
    assert_eq!(body(Service::Chat)["reasoning_effort"], "low");
    assert_eq!(body(Service::Ollama)["think"], "low");
}

#[test]
fn base_urls_and_paths_are_joined() {
    let table = [
        ("https://api.anthropic.com", "/v1/messages", "https://api.anthropic.com/v1/messages"),
        (
            "https://gate.example/anthropic/",
            "/v1/messages",
            "https://gate.example/anthropic/v1/messages",
        ),
        ("https://api.openai.com/v1", "/v1/responses", "https://api.openai.com/v1/responses"),
        (
            "http://localhost:8000",
            "/v1/chat/completions",
            "http://localhost:8000/v1/chat/completions",
        ),
        (
            "https://gate.example/v1beta/openai",
            "/v1/chat/completions",
            "https://gate.example/v1beta/openai/chat/completions",
        ),
        ("http://localhost:11434/", "/api/chat", "http://localhost:11434/api/chat"),
    ];
    for (base, path, expected) in table {
        assert_eq!(join(base, path), expected);
    }
}

#[test]
fn failed_requests_are_retried() {
    let pages = vec![
        Page::new(529, "{}"),
        Page::new(500, "{}"),
        Page::new(200, right(Service::Anthropic, "at last").to_string()),
    ];
    let (said, sent, time) = asked(Service::Anthropic, Rehearsal::new(), in_turn(pages));
    assert_eq!((said.expect("it succeeds").text.as_str(), sent.len()), ("at last", 3));
    assert_eq!(time, Duration::from_secs(1 + 2));
}

#[test]
fn retry_after_is_obeyed_within_the_budget() {
    let waits = |name: &'static str, value: &'static str| {
        let pages = vec![
            Page::new(429, "{}").header(name, value),
            Page::new(200, right(Service::Chat, "ok").to_string()),
        ];
        let (said, sent, time) = asked(Service::Chat, Rehearsal::new(), in_turn(pages));
        (said.map(|said| said.text).map_err(|error| error.code), sent.len(), time)
    };
    assert_eq!(waits("retry-after", "4"), (Ok("ok".into()), 2, Duration::from_secs(4)));
    assert_eq!(waits("Retry-After-Ms", "1500"), (Ok("ok".into()), 2, Duration::from_millis(1500)));
    assert_eq!(waits("retry-after", "15"), (Err(Code::RateLimit), 1, Duration::ZERO));
    assert_eq!(waits("retry-after", "1e300"), (Ok("ok".into()), 2, Duration::from_secs(1)));
    assert_eq!(waits("retry-after", "-1"), (Ok("ok".into()), 2, Duration::from_secs(1)));
    assert_eq!(
        waits("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT"),
        (Ok("ok".into()), 2, Duration::from_secs(1))
    );
    assert_eq!(waits("x-should-retry", "false"), (Err(Code::RateLimit), 1, Duration::ZERO));
}

#[test]
fn all_attempts_share_one_budget() {
    let house = Rehearsal::new().remaining(Duration::from_millis(2500));
    let (said, sent, time) = asked(Service::Chat, house, |_| Ok(Page::new(500, "{}")));
    assert_eq!(said.expect_err("it goes on failing").code, Code::ServerError);
    assert_eq!((sent.len(), time), (2, Duration::from_secs(1)), "two seconds more are not left");
    let none = Rehearsal::new().remaining(Duration::ZERO);
    let (said, sent, _) = asked(Service::Chat, none, |_| Ok(Page::new(200, "{}")));
    assert_eq!((said.expect_err("there is no time").code, sent.len()), (Code::Timeout, 0));
}

#[test]
fn nothing_is_sent_for_a_cancelled_call() {
    let (said, sent, _) =
        asked(Service::Ollama, Rehearsal::new().cancelled(), |_| Ok(Page::new(200, "{}")));
    assert_eq!((said.expect_err("nobody waits").code, sent.len()), (Code::Aborted, 0));
}
