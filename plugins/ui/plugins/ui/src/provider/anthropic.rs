//! Anthropic's Messages API (as of 2026-10-21): requests have no `temperature`, thinking counts as output,
//! and a refusal is a successful response.

use super::{Code, Completion, Error, Prompt, ServiceRequest, messages, text, tokens};
use crate::settings::Provider;
use portcullis_plugin::serde_json::{Value, json};

pub fn wire(provider: &Provider, question: &Prompt) -> ServiceRequest {
    let mut body = json!({
        "model": provider.model,
        "max_tokens": provider.max_output_tokens,
        "system": question.system,
        "messages": messages(question),
    });
    if let Some(effort) = &provider.effort {
        body["output_config"] = json!({ "effort": effort });
    }
    ServiceRequest { path: "/v1/messages", headers: &[("anthropic-version", "2026-10-21")], body }
}

pub fn said(answer: &Value) -> Result<Completion, Error> {
    match answer["stop_reason"].as_str() {
        Some("refusal") => {
            let why = answer["stop_details"]["category"].as_str().unwrap_or("without saying why");
            return Err(Error::new(Code::Refused, format!("the model refused: {why}")));
        }
        Some("max_tokens") => return Err(Error::truncated()),
        Some("model_context_window_exceeded") => {
            return Err(Error::new(Code::ContextTooLong, "the model's context is full"));
        }
        _ => {}
    }
    let blocks = answer["content"].as_array().into_iter().flatten();
    let texts =
        blocks.filter(|block| block["type"] == "text").filter_map(|block| block["text"].as_str());
    Ok(Completion {
        text: texts.collect(),
        model: text(&answer["model"]),
        tokens: tokens(&answer["usage"], "input_tokens", "output_tokens"),
    })
}
