//! What a call answers: no more than it may, and what its tool promised.

use serde_json::Value;

use super::{Answer, Failure};
use crate::bindings::types::{Content, ContentBody, Need, ResourceData};
use crate::bindings::{ToolOutcome, ToolResult};
use crate::capabilities::client::ClientAsk;
use crate::gate::Gate;
use crate::plugins::{Loaded, Tool};

pub(super) fn check(
    loaded: &Loaded,
    tool: &Tool,
    gate: &Gate,
    outcome: ToolOutcome,
) -> Result<Answer, Failure> {
    let name = &tool.definition.name;
    let result = match outcome {
        ToolOutcome::Done(result) => result,
        ToolOutcome::NeedInput(need) => {
            check_need(&need, gate)?;
            return Ok(Answer::NeedInput(need));
        }
    };
    let (size, most) = (size_of(&result), loaded.plugin.terms.limits.answer_bytes.get());
    if size > most {
        return Err(Failure::TooLarge(format!(
            "the answer of `{name}` has {size} bytes; `answer-bytes` allows {most}"
        )));
    }
    let broken = |why: String| Failure::BrokenPromise(format!("the answer of `{name}`: {why}"));
    let schema = tool.output().map_err(|error| broken(format!("its schema is wrong: {error}")))?;
    match (&result.structured, schema) {
        (Some(text), schema) => {
            let value: Value = serde_json::from_str(text)
                .map_err(|error| broken(format!("its structured content is no JSON: {error}")))?;
            if let Some(schema) = schema.filter(|_| !result.is_error) {
                schema.check(&value).map_err(broken)?;
            }
        }
        (None, Some(_)) if !result.is_error => {
            return Err(broken("it promises structured content and has none".into()));
        }
        (None, _) => {}
    }
    Ok(Answer::Done(result))
}

/// Questions are asked of the client only where the grant allows each of them.
fn check_need(need: &Need, gate: &Gate) -> Result<(), Failure> {
    const MAX_STATE: usize = 32 * 1024;
    if need.state.as_ref().is_some_and(|state| state.len() > MAX_STATE) {
        return Err(Failure::BrokenPromise(format!("its state has over {MAX_STATE} bytes")));
    }
    for (_, ask) in &need.asks {
        match ClientAsk::of(ask) {
            Some(ask) => {
                gate.pass(ask)?;
            }
            None => {
                return Err(Failure::BrokenPromise(
                    "it asks what this host cannot ask of a client".into(),
                ));
            }
        }
    }
    Ok(())
}

/// How many bytes an answer has, before base64.
pub(super) fn size_of(result: &ToolResult) -> u64 {
    let blocks: usize = result.content.iter().map(size_of_content).sum();
    let structured = result.structured.as_ref().map_or(0, String::len);
    (blocks + structured + result.extra.as_ref().map_or(0, String::len)) as u64
}

fn size_of_content(content: &Content) -> usize {
    let body = match &content.body {
        ContentBody::Text(text) | ContentBody::Other(text) => text.len(),
        ContentBody::Image(blob) | ContentBody::Audio(blob) => blob.data.len(),
        ContentBody::Resource(resource) => match &resource.data {
            ResourceData::Text(text) => text.len(),
            ResourceData::Bytes(bytes) => bytes.len(),
        },
        ContentBody::Link(link) => link.uri.len() + link.name.len(),
    };
    body + content.extra.as_ref().map_or(0, String::len)
}
