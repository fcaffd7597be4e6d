//! The Chat Completions API of OpenAI and of many compatible servers.

use super::{Code, Completion, Dialect, Error, Prompt, ServiceRequest, messages, text, tokens};
use crate::settings::Provider;
use portcullis_plugin::serde_json::{Value, json};

pub fn wire(provider: &Provider, question: &Prompt, dialect: Dialect) -> ServiceRequest {
    let system = json!({ "role": "system", "content": question.system });
    let all: Vec<Value> = [vec![system], messages(question)].concat();
    // Reasoning models refuse `max_tokens`; some older servers support only `max_tokens`.
    let limit = if dialect.new_limit { "max_completion_tokens" } else { "max_tokens" };
    let mut body = json!({ "model": provider.model, "messages": all, "stream": false });
    body[limit] = provider.max_output_tokens.into();
    if dialect.json {
        body["response_format"] = json!({ "type": "json_object" });
    }
    if let Some(effort) = &provider.effort {
        body["reasoning_effort"] = effort.as_str().into();
    }
    ServiceRequest { path: "/v1/chat/completions", headers: &[], body }
}

pub fn said(answer: &Value) -> Result<Completion, Error> {
    let choice = &answer["choices"][0];
    if let Some(why) = choice["message"]["refusal"].as_str() {
        return Err(Error::new(Code::Refused, format!("the model refused: {why}")));
    }
    match choice["finish_reason"].as_str() {
        Some("length") => return Err(Error::truncated()),
        Some("content_filter") => return Err(Error::filtered()),
        _ => {}
    }
    Ok(Completion {
        text: text(&choice["message"]["content"]).unwrap_or_default(),
        model: text(&answer["model"]),
        tokens: tokens(&answer["usage"], "prompt_tokens", "completion_tokens"),
    })
}
