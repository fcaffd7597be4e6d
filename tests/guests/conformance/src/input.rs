//! Tools of the conformance suite that ask questions, as of revision 2026-07-28.

use crate::content::tool;
use crate::legacy::text_of;
use portcullis_plugin::prelude::*;
use portcullis_plugin::serde_json::Value;
use portcullis_plugin::{Form, ListKind, Sample};

#[data(open)]
pub struct Named {
    pub name: String,
}

#[data(open)]
struct Agreed {
    ok: bool,
}

#[data(open)]
struct Coloured {
    color: String,
}

/// The form that asks for a name.
pub fn name(key: &str) -> Form<Named> {
    form(key, "What is your name?")
}

fn complete(key: &str, prompt: &str, tokens: u32) -> Sample {
    let message = json!({ "role": "user", "content": { "type": "text", "text": prompt } });
    sample(key, json!({ "messages": [message], "maxTokens": tokens }))
}

fn done(text: impl Into<String>) -> Result<Reply, Failure> {
    Ok(Reply::new().text(text))
}

tool!(
    /// Asks for a name.
    Name, "test_input_required_result_elicitation",
    |request| done(format!("Hello, {}!", request.ask(name("user_name"))?.name))
);

tool!(
    /// Asks the client's model.
    Capital, "test_input_required_result_sampling",
    |request| {
        let answer =
            request.ask(complete("capital_question", "What is the capital of France?", 100))?;
        done(text_of(&answer))
    }
);

tool!(
    /// Asks for the client's roots.
    ClientRoots, "test_input_required_result_list_roots",
    |request| {
        let roots = request.ask(roots("client_roots"))?;
        let uris: Vec<_> = roots.into_iter().map(|root| root.uri).collect();
        done(format!("Roots: {}", uris.join(", ")))
    }
);

/// Asks for confirmation, and checks that the state came back.
fn confirm(request: &Request) -> Result<Reply, Failure> {
    const STATE: &[u8] = b"waiting for a yes";
    let before = request.state();
    request.set_state(STATE);
    request.ask(form::<Agreed>("confirm", "Please confirm"))?;
    match before.as_deref() == Some(STATE) {
        true => done("state-ok"),
        false => Err(Failure::new("the state did not come back")),
    }
}

tool!(
    /// Leaves a state for its next round.
    State, "test_input_required_result_request_state",
    |request| confirm(request)
);

tool!(
    /// Leaves a state that the client tampers with.
    Tampered, "test_input_required_result_tampered_state",
    |request| confirm(request)
);

tool!(
    /// Asks three things at once.
    Several, "test_input_required_result_multiple_inputs",
    |request| {
        request.set_state("asked for three");
        let (name, greeting, roots) = request.ask((
            name("user_name"),
            complete("greeting", "Generate a greeting", 50),
            roots("client_roots"),
        ))?;
        done(format!("{} {} {}", text_of(&greeting), name.name, roots.len()))
    }
);

tool!(
    /// Asks in two rounds.
    Rounds, "test_input_required_result_multi_round",
    |request| {
        request.set_state("first");
        let name = request.ask(form::<Named>("step1", "Step 1: What is your name?"))?.name;
        request.set_state("second");
        let colour =
            request.ask(form::<Coloured>("step2", "Step 2: What is your favorite color?"))?.color;
        done(format!("{name} likes {colour}"))
    }
);

tool!(
    /// Asks what this client can be asked, and nothing else.
    Capabilities, "test_input_required_result_capabilities",
    |request| {
        if request.supports("elicitation.form") {
            request.ask(name("user_name"))?;
        }
        if request.supports("sampling") {
            request.ask(complete("capital_question", "What is the capital of France?", 100))?;
        }
        done("Asked.")
    }
);

tool!(
    /// Needs a client with a model.
    MissingCapability, "test_missing_capability",
    |request| {
        if !request.supports("sampling") {
            return Err(Failure::missing_capability(&json!({ "sampling": {} })));
        }
        done("The client has a model.")
    }
);

tool!(
    /// Asks for a name, over a stream.
    Streaming, "test_streaming_elicitation",
    |request| done(format!("Hello, {}!", request.ask(name("user_name"))?.name))
);

tool!(
    /// Says that the list of tools has changed.
    ToolsChange, "test_trigger_tool_change",
    |request| {
        request.list_changed(ListKind::Tools);
        done("Said.")
    }
);

tool!(
    /// Says that the list of prompts has changed.
    PromptsChange, "test_trigger_prompt_change",
    |request| {
        request.list_changed(ListKind::Prompts);
        done("Said.")
    }
);

/// The client capabilities that declare support for tasks.
pub fn tasks() -> Value {
    json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } })
}
