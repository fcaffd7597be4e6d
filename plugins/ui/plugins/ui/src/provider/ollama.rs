//! Ollama's chat API. Requests set the size of the context: the default is small, and Ollama cuts longer
//! prompts silently.

use super::{Code, Completion, Dialect, Error, Prompt, ServiceRequest, messages, text, tokens};
use crate::settings::Provider;
use portcullis_plugin::serde_json::{Value, json};

/// Estimated bytes of a prompt per token. The estimate is low, so that the context is large enough.
const BYTES_PER_TOKEN: u64 = 3;

pub fn wire(provider: &Provider, question: &Prompt, dialect: Dialect) -> ServiceRequest {
    let system = json!({ "role": "system", "content": question.system });
    let all: Vec<Value> = [vec![system], messages(question)].concat();
    let bytes = question.system.len() + question.turns.iter().map(String::len).sum::<usize>();
    let context = bytes as u64 / BYTES_PER_TOKEN + provider.max_output_tokens;
    let mut body = json!({
        "model": provider.model,
        "messages": all,
        "stream": false,
        "options": { "num_predict": provider.max_output_tokens, "num_ctx": context.next_multiple_of(1024) },
    });
    if dialect.json {
        body["format"] = "json".into();
    }
    if let Some(effort) = &provider.effort {
        body["think"] = match effort.as_str() {
            "true" => true.into(),
            "false" | "none" => false.into(),
            other => other.into(),
        };
    }
    ServiceRequest { path: "/api/chat", headers: &[], body }
}

pub fn said(answer: &Value) -> Result<Completion, Error> {
    if let Some(why) = answer["error"].as_str() {
        return Err(Error::new(Code::ServerError, format!("the service failed: {why}")));
    }
    if answer["done_reason"] == "length" {
        return Err(Error::truncated());
    }
    Ok(Completion {
        text: text(&answer["message"]["content"]).unwrap_or_default(),
        model: text(&answer["model"]),
        tokens: tokens(answer, "prompt_eval_count", "eval_count"),
    })
}
