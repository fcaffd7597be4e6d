//! Clients of model services: requests, answers and errors.
//!
//! This plugin never sees keys: the operator's grant names them, and the host adds them to the request.
//! Answers are not streamed, since only complete answers can be validated.

mod anthropic;
mod budget;
mod chat;
mod error;
mod ollama;
mod responses;

use crate::settings;
use portcullis_plugin::{
    http,
    prelude::*,
    serde_json::{self, Value},
};

pub use budget::Budget;
pub use error::{Code, Error};

/// Longest answer in bytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// A kind of model service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Anthropic's Messages API.
    Anthropic,
    /// OpenAI's Responses API.
    Responses,
    /// Chat Completions: of OpenAI, of most other services and of local servers.
    Chat,
    /// Ollama's own API.
    Ollama,
}

/// A prompt for a model.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// The system prompt.
    pub system: String,
    /// The conversation so far: user and model in turns, the user first.
    pub turns: Vec<String>,
    /// Whether to ask for JSON output.
    pub json: bool,
}

/// The answer of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    /// The whole text.
    pub text: String,
    /// The model, as named by the service.
    pub model: Option<String>,
    /// Tokens of input and output.
    pub tokens: Option<(u64, u64)>,
}

/// Features that not all compatible servers support.
#[derive(Clone, Copy, Debug)]
struct Dialect {
    /// Whether to request JSON output.
    json: bool,
    /// Whether to use the current name of the limit for output tokens.
    new_limit: bool,
}

impl Dialect {
    /// The first attempt: all features.
    fn of(question: &Prompt) -> Self {
        Self { json: question.json, new_limit: true }
    }

    /// The next attempt, if the error may be about one of the features. Some servers refuse the request for JSON
    /// output, but write JSON if the prompt asks for JSON.
    fn next(self, error: &Error) -> Option<Self> {
        let complains_of = |word: &str| {
            error.code == Code::InvalidRequest && error.why.to_ascii_lowercase().contains(word)
        };
        if self.new_limit && complains_of("max_completion_tokens") {
            Some(Self { new_limit: false, ..self })
        } else if self.json && (complains_of("format") || complains_of("json")) {
            Some(Self { json: false, ..self })
        } else {
            None
        }
    }
}

/// An HTTP request in the format of a service.
struct ServiceRequest {
    path: &'static str,
    headers: &'static [(&'static str, &'static str)],
    body: Value,
}

impl Service {
    /// All services.
    pub const ALL: [Self; 4] = [Self::Anthropic, Self::Responses, Self::Chat, Self::Ollama];

    /// The name in the settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Responses => "openai",
            Self::Chat => "chat",
            Self::Ollama => "ollama",
        }
    }

    /// The default base URL.
    pub fn base_url(self) -> &'static str {
        match self {
            Self::Anthropic => "https://api.anthropic.com",
            Self::Responses | Self::Chat => "https://api.openai.com/v1",
            Self::Ollama => "http://localhost:11434",
        }
    }

    fn wire(
        self,
        provider: &settings::Provider,
        question: &Prompt,
        dialect: Dialect,
    ) -> ServiceRequest {
        match self {
            Self::Anthropic => anthropic::wire(provider, question),
            Self::Responses => responses::wire(provider, question, dialect),
            Self::Chat => chat::wire(provider, question, dialect),
            Self::Ollama => ollama::wire(provider, question, dialect),
        }
    }

    fn said(self, answer: &Value) -> Result<Completion, Error> {
        match self {
            Self::Anthropic => anthropic::said(answer),
            Self::Responses => responses::said(answer),
            Self::Chat => chat::said(answer),
            Self::Ollama => ollama::said(answer),
        }
    }
}

/// Sends the question. Repeats it where this may help, within the maximum number of retries and the budget.
pub fn ask(
    request: &Request<'_>,
    provider: &settings::Provider,
    question: &Prompt,
    budget: &Budget<'_>,
) -> Result<Completion, Error> {
    let mut attempt = 0;
    let mut dialect = Dialect::of(question);
    loop {
        attempt += 1;
        let asked = once(&request.id(), provider, question, dialect, budget);
        let error = match asked {
            Ok(said) => {
                request.log(Level::Info, json!({
                    "step": "provider", "service": provider.service.name(), "model": provider.model,
                    "attempt": attempt, "ms": budget.spent_ms(), "tokens": said.tokens,
                }));
                return Ok(said);
            }
            Err(error) => error,
        };
        request.log(Level::Warning, json!({
            "step": "provider", "service": provider.service.name(), "model": provider.model,
            "attempt": attempt, "ms": budget.spent_ms(), "code": error.code.name(), "why": error.why,
        }));
        if let Some(next) = dialect.next(&error) {
            dialect = next;
            continue;
        }
        if !error.is_worth_another_try() || attempt > provider.max_retries {
            return Err(error);
        }
        budget.pause(attempt, &error)?;
    }
}

/// Sends the question once. `id` is the id of the MCP request. The service gets it as `x-client-request-id`, so that
/// its log can be compared with ours.
fn once(
    id: &str,
    provider: &settings::Provider,
    question: &Prompt,
    dialect: Dialect,
    budget: &Budget<'_>,
) -> Result<Completion, Error> {
    let left = budget.left()?;
    let ServiceRequest { path, headers, body } = provider.service.wire(provider, question, dialect);
    let mut request = http::Request::post(join(&provider.base_url, path))
        .json(&body)
        .header("accept", "application/json")
        .header("x-client-request-id", id)
        .timeout(left)
        .max_bytes(MAX_BYTES);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request
        .send_while(|| budget.left().is_ok())
        .map_err(|failed| error::of_http(&failed, budget))?;
    let answer: Result<Value, _> = serde_json::from_slice(&response.body);
    if !(200..300).contains(&response.status) {
        return Err(error::of_status(&response, &answer.unwrap_or_default()));
    }
    let answer = answer.map_err(|wrong| {
        Error::new(Code::ServerError, format!("the service's answer is not JSON: {wrong}"))
    })?;
    let said = provider.service.said(&answer)?;
    if said.text.trim().is_empty() {
        return Err(Error::new(Code::ServerError, "the model's answer is empty"));
    }
    Ok(said)
}

/// Appends a service's path to a base URL, which may already contain the start of the path: `…/v1`.
fn join(base: &str, path: &str) -> String {
    let base = base.trim_end_matches('/');
    let has_path = base.split_once("://").is_some_and(|(_, rest)| rest.contains('/'));
    match path.strip_prefix("/v1") {
        Some(rest) if base.ends_with("/v1") => format!("{base}{rest}"),
        // For services that imitate OpenAI, the base URL lacks only the last segments of the path.
        Some(rest) if has_path && !path.ends_with("/messages") => format!("{base}{rest}"),
        _ => format!("{base}{path}"),
    }
}

/// The turns as messages with alternating roles.
fn messages(question: &Prompt) -> Vec<Value> {
    let roles = ["user", "assistant"].into_iter().cycle();
    let turns = question.turns.iter().zip(roles);
    turns.map(|(text, role)| json!({ "role": role, "content": text })).collect()
}

/// A text of an answer.
fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// Two token counts of an answer.
fn tokens(usage: &Value, read: &str, written: &str) -> Option<(u64, u64)> {
    Some((usage[read].as_u64()?, usage[written].as_u64()?))
}

#[cfg(test)]
mod tests;
