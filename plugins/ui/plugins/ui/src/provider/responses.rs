//! OpenAI's Responses API.

use super::{Code, Completion, Dialect, Error, Prompt, ServiceRequest, messages, text, tokens};
use crate::settings::Provider;
use portcullis_plugin::serde_json::{Value, json};

pub fn wire(provider: &Provider, question: &Prompt, dialect: Dialect) -> ServiceRequest {
    let mut body = json!({
        "model": provider.model,
        "instructions": question.system,
        "input": messages(question),
        "max_output_tokens": provider.max_output_tokens,
        "store": false,
    });
    if dialect.json {
        body["text"] = json!({ "format": { "type": "json_object" } });
    }
    if let Some(effort) = &provider.effort {
        body["reasoning"] = json!({ "effort": effort });
    }
    ServiceRequest { path: "/v1/responses", headers: &[], body }
}

pub fn said(answer: &Value) -> Result<Completion, Error> {
    match answer["incomplete_details"]["reason"].as_str() {
        Some("content_filter") => return Err(Error::filtered()),
        Some(_) => return Err(Error::truncated()),
        None => {}
    }
    if answer["status"] == "failed" {
        let why = answer["error"]["message"].as_str().unwrap_or("without saying why");
        return Err(Error::new(Code::ServerError, format!("the service failed: {why}")));
    }
    let items = answer["output"].as_array().into_iter().flatten();
    let parts = items
        .filter(|item| item["type"] == "message")
        .filter_map(|item| item["content"].as_array());
    let mut all = String::new();
    for part in parts.flatten() {
        if let Some(why) = part["refusal"].as_str() {
            return Err(Error::new(Code::Refused, format!("the model refused: {why}")));
        }
        all.push_str(part["text"].as_str().unwrap_or_default());
    }
    Ok(Completion {
        text: all,
        model: text(&answer["model"]),
        tokens: tokens(&answer["usage"], "input_tokens", "output_tokens"),
    })
}
