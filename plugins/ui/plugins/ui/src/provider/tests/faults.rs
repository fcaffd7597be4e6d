//! Tests of failures and their codes.

use super::{super::*, asked, right};
use portcullis_plugin::rehearsal::{Page, Rehearsal};
use std::time::Duration;

use Code::*;

/// The response of a service, the expected code, and the number of requests.
type Row = (Service, u16, Value, Code, usize);

fn error(kind: &str, code: &str, message: &str) -> Value {
    json!({ "error": { "type": kind, "code": code, "message": message } })
}

fn anthropic() -> Vec<Row> {
    let refused = json!({ "stop_reason": "refusal", "content": [], "stop_details": { "category": "general_harms" } });
    vec![
        (Service::Anthropic, 401, error("authentication_error", "", "invalid x-api-key"), Auth, 1),
        (Service::Anthropic, 403, error("permission_error", "", "no"), Auth, 1),
        (Service::Anthropic, 402, error("billing_error", "", "no"), Quota, 1),
        (Service::Anthropic, 404, error("not_found_error", "", "model: old"), InvalidRequest, 1),
        (Service::Anthropic, 413, error("request_too_large", "", "large"), ContextTooLong, 1),
        (
            Service::Anthropic,
            400,
            error("invalid_request_error", "", "prompt is too long: 3 tokens"),
            ContextTooLong,
            1,
        ),
        (Service::Anthropic, 429, error("rate_limit_error", "", "slow"), RateLimit, 3),
        (Service::Anthropic, 529, error("overloaded_error", "", "Overloaded"), ServerError, 3),
        (Service::Anthropic, 504, error("timeout_error", "", "slow"), ServerError, 3),
        (Service::Anthropic, 307, json!({}), InvalidRequest, 1),
        (Service::Anthropic, 200, refused, Refused, 1),
        (
            Service::Anthropic,
            200,
            json!({ "stop_reason": "max_tokens", "content": [{ "type": "text", "text": "{" }] }),
            Truncated,
            1,
        ),
        (
            Service::Anthropic,
            200,
            json!({ "stop_reason": "model_context_window_exceeded" }),
            ContextTooLong,
            1,
        ),
        (
            Service::Anthropic,
            200,
            json!({ "stop_reason": "end_turn", "content": [] }),
            ServerError,
            3,
        ),
    ]
}

fn responses() -> Vec<Row> {
    vec![
        (
            Service::Responses,
            200,
            json!({ "status": "incomplete", "incomplete_details": { "reason": "max_output_tokens" } }),
            Truncated,
            1,
        ),
        (
            Service::Responses,
            200,
            json!({ "status": "incomplete", "incomplete_details": { "reason": "content_filter" } }),
            ContentFiltered,
            1,
        ),
        (
            Service::Responses,
            200,
            json!({ "status": "failed", "error": { "message": "broken" } }),
            ServerError,
            3,
        ),
        (
            Service::Responses,
            200,
            json!({ "output": [{ "type": "message", "content": [{ "type": "refusal", "refusal": "no" }] }] }),
            Refused,
            1,
        ),
    ]
}

fn chat() -> Vec<Row> {
    vec![
        (Service::Chat, 429, error("requests", "rate_limit_exceeded", "slow"), RateLimit, 3),
        (Service::Chat, 429, error("insufficient_quota", "insufficient_quota", "pay"), Quota, 1),
        (Service::Chat, 400, error("", "context_length_exceeded", "long"), ContextTooLong, 1),
        (Service::Chat, 400, error("", "content_filter", "no"), ContentFiltered, 1),
        (
            Service::Chat,
            200,
            json!({ "choices": [{ "finish_reason": "length", "message": { "content": "{" } }] }),
            Truncated,
            1,
        ),
        (
            Service::Chat,
            200,
            json!({ "choices": [{ "finish_reason": "content_filter", "message": { "content": "" } }] }),
            ContentFiltered,
            1,
        ),
        (
            Service::Chat,
            200,
            json!({ "choices": [{ "finish_reason": "stop", "message": { "content": null, "refusal": "no" } }] }),
            Refused,
            1,
        ),
        (Service::Chat, 200, json!({ "choices": [] }), ServerError, 3),
    ]
}

fn ollama() -> Vec<Row> {
    vec![
        (Service::Ollama, 404, json!({ "error": "model 'x' not found" }), InvalidRequest, 1),
        (Service::Ollama, 503, json!({ "error": "server busy" }), ServerError, 3),
        (Service::Ollama, 200, json!({ "error": "llama runner has terminated" }), ServerError, 3),
        (
            Service::Ollama,
            200,
            json!({ "done_reason": "length", "message": { "content": "{" } }),
            Truncated,
            1,
        ),
    ]
}

#[test]
fn errors_of_all_services_have_the_same_codes() {
    let rows = [anthropic(), responses(), chat(), ollama()].into_iter().flatten();
    for (service, status, body, code, times) in rows {
        let page = Page::new(status, body.to_string());
        let (said, sent, _) = asked(service, Rehearsal::new(), move |_| Ok(page.clone()));
        let error = said.expect_err("it went wrong");
        assert_eq!((error.code, sent.len()), (code, times), "{service:?} {status} {body}: {error}");
    }
}

#[test]
fn an_answer_that_is_not_json_is_a_server_error() {
    for (status, body, code) in [
        (200, "{\"choices\":[{", ServerError),
        (502, "<html>Bad Gateway</html>", ServerError),
        (200, "", ServerError),
    ] {
        let (said, sent, _) =
            asked(Service::Chat, Rehearsal::new(), move |_| Ok(Page::new(status, body)));
        assert_eq!((said.expect_err("it went wrong").code, sent.len()), (code, 3), "{body}");
    }
}

#[test]
fn failed_connections_have_codes() {
    let table = [
        (http::ErrorCode::ConnectionRefused, NetworkError, 3),
        (http::ErrorCode::ConnectionTerminated, NetworkError, 3),
        (http::ErrorCode::HttpRequestDenied, NetworkError, 1),
        (http::ErrorCode::HttpResponseTimeout, Timeout, 3),
    ];
    for (failed, code, times) in table {
        let said = format!("{failed:?}");
        let (answer, sent, _) = asked(Service::Chat, Rehearsal::new(), move |_| {
            Err(http::Reason::Code(failed.clone()))
        });
        assert_eq!((answer.expect_err("it went wrong").code, sent.len()), (code, times), "{said}");
    }
}

#[test]
fn features_that_a_server_refuses_are_left_out() {
    let answer = right(Service::Chat, "{}").to_string();
    let (said, sent, time) = asked(Service::Chat, Rehearsal::new(), move |sent| {
        let body = String::from_utf8_lossy(&sent.body);
        let complaint = if body.contains("response_format") {
            "'response_format.type' must be 'json_schema' or 'text'"
        } else if body.contains("max_completion_tokens") {
            "unknown field `max_completion_tokens`"
        } else {
            return Ok(Page::new(200, answer.clone()));
        };
        Ok(Page::new(400, json!({ "error": { "message": complaint } }).to_string()))
    });
    assert_eq!(
        (said.expect("it answers").text.as_str(), sent.len(), time),
        ("{}", 3, Duration::ZERO)
    );
    let last: Value = serde_json::from_slice(&sent[2].body).expect("it is JSON");
    assert_eq!(last["max_tokens"], 1000);
}
