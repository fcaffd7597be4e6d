//! Checks the answer of a plugin: its size, its structured content, and whether its questions are permitted.

use serde_json::Value;

use super::{CallFailure, PluginAnswer};
use crate::bindings::ToolResult;
use crate::bindings::types::{Ask, Content, ContentBody, Need, ResourceContents, ResourceData};
use crate::capabilities::client::PermittedQuestions;
use crate::gate::Gate;
use crate::plugins::{LoadedPlugin, PluginTool};
use crate::sandbox;

/// Maximum size of the state that a plugin keeps for its next round, in bytes. A client of 2026-07-28 carries the state.
const MAX_STATE: usize = 32 * 1024;

/// Maximum number of values in a completion, by MCP.
const MAX_VALUES: usize = 100;

pub(super) fn check(
    loaded: &LoadedPlugin,
    tool: Option<&PluginTool>,
    gate: &Gate,
    answer: sandbox::GuestAnswer,
) -> Result<PluginAnswer, CallFailure> {
    let mut answer = answer.try_map_questions(|need| permitted_questions(need, gate))?;
    if let PluginAnswer::Background(state) = &answer {
        check_state(state.as_deref())?;
    }
    if let PluginAnswer::Completion(found) = &mut answer {
        found.has_more |= found.values.len() > MAX_VALUES;
        found.values.truncate(MAX_VALUES);
    }
    let (size, most) = (size_of(&answer), loaded.plugin.terms.limits.answer_bytes.get());
    if size > most {
        let name = tool.map_or(&*loaded.plugin.name, |tool| &tool.definition.name);
        return Err(CallFailure::TooLarge(format!(
            "the answer of `{name}` has {size} bytes; `answer-bytes` allows {most}"
        )));
    }
    match (&mut answer, tool) {
        (PluginAnswer::Tool(result), Some(tool)) => {
            check_result(tool, result)?;
            if tool.text_only {
                result.structured = None;
            }
        }
        (PluginAnswer::Resource(result), _) if result.contents.is_empty() => {
            return Err(CallFailure::BrokenPromise(
                "the plugin returned a resource without contents".into(),
            ));
        }
        _ => {}
    }
    Ok(answer)
}

fn check_result(tool: &PluginTool, result: &ToolResult) -> Result<(), CallFailure> {
    let name = &tool.definition.name;
    let broken = |why: String| CallFailure::BrokenPromise(format!("the answer of `{name}`: {why}"));
    let schema =
        tool.output().map_err(|error| broken(format!("the output schema is wrong: {error}")))?;
    match (&result.structured, schema) {
        (Some(text), schema) => {
            let value: Value = serde_json::from_str(text)
                .map_err(|error| broken(format!("its structured content is not JSON: {error}")))?;
            if let Some(schema) = schema.filter(|_| !result.is_error) {
                schema.check(&value).map_err(|faults| {
                    broken(format!("it does not match the output schema: {faults}"))
                })?;
            }
        }
        (None, Some(_)) if !result.is_error => {
            return Err(broken(
                "it has no structured content, although the tool has an output schema".into(),
            ));
        }
        (None, _) => {}
    }
    Ok(())
}

/// Permits the questions to the client, if the grant allows each of them.
fn permitted_questions(need: Need, gate: &Gate) -> Result<PermittedQuestions, CallFailure> {
    check_state(need.state.as_deref())?;
    PermittedQuestions::new(need, |ask| gate.pass(ask)).map_err(|denied| match denied {
        Some(denied) => denied.into(),
        None => CallFailure::BrokenPromise(
            "the plugin asks a question that this host does not support".into(),
        ),
    })
}

fn check_state(state: Option<&[u8]>) -> Result<(), CallFailure> {
    if state.is_some_and(|state| state.len() > MAX_STATE) {
        let why = format!("the state of the plugin has over {MAX_STATE} bytes");
        return Err(CallFailure::BrokenPromise(why));
    }
    Ok(())
}

/// The outcome in one word, for the audit.
pub(super) fn outcome(answer: &PluginAnswer) -> &'static str {
    match answer {
        PluginAnswer::Tool(result) if result.is_error => "tool-error",
        PluginAnswer::NeedInput(_) => "need-input",
        PluginAnswer::Background(_) => "background",
        PluginAnswer::Tool(_)
        | PluginAnswer::Resources(_)
        | PluginAnswer::Resource(_)
        | PluginAnswer::Version(_)
        | PluginAnswer::Prompt(_)
        | PluginAnswer::Completion(_)
        | PluginAnswer::Views(_)
        | PluginAnswer::Job => "done",
    }
}

/// The size of an answer in bytes, before base64 encoding.
pub(super) fn size_of(answer: &PluginAnswer) -> u64 {
    let size: usize = match answer {
        PluginAnswer::Tool(result) => {
            let blocks: usize = result.content.iter().map(size_of_content).sum();
            let structured = result.structured.as_ref().map_or(0, String::len);
            blocks + structured + result.extra.as_ref().map_or(0, String::len)
        }
        PluginAnswer::Resource(result) => result.contents.iter().map(size_of_contents).sum(),
        PluginAnswer::Prompt(result) => {
            result.messages.iter().map(|message| size_of_content(&message.content)).sum()
        }
        PluginAnswer::Resources(page) => {
            let one = |info: &crate::bindings::types::ResourceInfo| {
                info.uri.len() + info.name.len() + info.description.as_ref().map_or(0, String::len)
            };
            page.resources.iter().map(one).sum()
        }
        PluginAnswer::Completion(found) => found.values.iter().map(String::len).sum(),
        PluginAnswer::Views(views) => views.iter().map(|one| one.tool.len()).sum(),
        PluginAnswer::NeedInput(questions) => {
            questions.asks().iter().map(|(key, ask)| key.len() + size_of_ask(ask)).sum()
        }
        PluginAnswer::Version(_) | PluginAnswer::Job | PluginAnswer::Background(_) => 0,
    };
    size as u64
}

fn size_of_ask(ask: &Ask) -> usize {
    match ask {
        Ask::Form(form) => form.message.len() + form.schema.len(),
        Ask::Visit(visit) => visit.message.len() + visit.url.len(),
        Ask::Consent(consent) => {
            let overwrites = consent.overwrites.as_ref().map_or(0, String::len);
            consent.kind.len() + consent.action.len() + consent.subject.len() + overwrites
        }
        Ask::Sample(json) | Ask::Other(json) => json.len(),
        Ask::Roots => 0,
    }
}

fn size_of_contents(contents: &ResourceContents) -> usize {
    let data = match &contents.data {
        ResourceData::Text(text) => text.len(),
        ResourceData::Bytes(bytes) => bytes.len(),
    };
    data + contents.uri.len() + contents.extra.as_ref().map_or(0, String::len)
}

fn size_of_content(content: &Content) -> usize {
    let body = match &content.body {
        ContentBody::Text(text) | ContentBody::Other(text) => text.len(),
        ContentBody::Image(blob) | ContentBody::Audio(blob) => blob.data.len(),
        ContentBody::Resource(resource) => size_of_contents(resource),
        ContentBody::Link(link) => link.uri.len() + link.name.len(),
    };
    body + content.extra.as_ref().map_or(0, String::len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings::types::Form;

    #[test]
    fn questions_have_a_size() {
        let form = Form { message: "m".repeat(1000), schema: "{}".into() };
        assert_eq!(size_of_ask(&Ask::Form(form)), 1002);
        assert_eq!(size_of_ask(&Ask::Sample("{}".into())), 2);
    }
}
