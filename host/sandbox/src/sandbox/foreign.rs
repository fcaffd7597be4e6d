//! Foreign components: components that export functions and do not know the plugin contract. Each function that has a
//! JSON Schema is a tool.

use portcullis_engine::{Engine, LimitHit};
use portcullis_foreign_components::{Docs, FunctionResult, TooMuchData, Tool as Function};
use portcullis_sanitize::{error_chain, line};
use serde_json::{Map, Value, json};
use wasmtime::component::{Component, Instance};
use wasmtime::{Result, Store, bail};

use super::state::InstanceState;
use super::work::{GuestAnswer, Work};
use crate::bindings::types::{Content, ContentBody, Error as ProtocolError};
use crate::bindings::{Manifest, Tool, ToolHints, ToolResult};

/// The manifest of a foreign component, made without running it.
pub fn describe(engine: &Engine, component: &Component, name: &str, bytes: &[u8]) -> Manifest {
    let docs = Docs::of_component(bytes);
    let (functions, others) =
        portcullis_foreign_components::tools(engine.wasmtime(), component, &docs);
    for other in others {
        let why = line(&error_chain(&other), 300);
        tracing::info!("`{name}`: a function is not offered as a tool: {why}");
    }
    let tool = |function: Function| Tool {
        description: Some(function.description.unwrap_or_else(|| {
            let owner = function.interface.as_deref().unwrap_or(name);
            format!("The function `{}` of {owner}.", function.function)
        })),
        name: function.name,
        title: None,
        input_schema: function.input.to_string(),
        output_schema: function.output.map(|schema| schema.to_string()),
        paths: Vec::new(),
        needs: Vec::new(),
        hints: ToolHints { read_only: None, destructive: None, idempotent: None, open_world: None },
        icons: Vec::new(),
        extra: None,
    };
    Manifest {
        name: name.to_owned(),
        title: None,
        version: String::new(),
        description: None,
        website: None,
        instructions: None,
        icons: Vec::new(),
        tools: functions.into_iter().map(tool).collect(),
        prompts: Vec::new(),
        resources: Vec::new(),
        templates: Vec::new(),
        wants: Vec::new(),
        extra: None,
    }
}

/// Calls a function. The streams and futures of its result may have `answer-bytes` together.
///
/// # Errors
///
/// The outer error: the guest fails, or the work is not a call of one of its functions. The inner error: the arguments
/// do not fit the function's types.
pub async fn work(
    store: &mut Store<InstanceState>,
    instance: &Instance,
    component: &Component,
    work: Work,
) -> Result<Result<GuestAnswer, ProtocolError>> {
    let Work::Tool(call) = work else { bail!("it is a foreign component, which has tools only") };
    let arguments: Map<String, Value> = serde_json::from_str(call.arguments())?;
    let engine = store.engine().clone();
    let (functions, _) = portcullis_foreign_components::tools(&engine, component, &Docs::default());
    let Some(function) = functions.iter().find(|function| function.name == call.name()) else {
        bail!("it has no function for the tool {}", call.name());
    };
    let answer_bytes = store.data().answer_bytes;
    let answer =
        portcullis_foreign_components::call(store, instance, function, &arguments, answer_bytes)
            .await;
    let answer = match answer {
        Err(error) if error.is::<TooMuchData>() => return Err(LimitHit("answer-bytes").into()),
        other => other?,
    };
    Ok(answer.map(|answer| GuestAnswer::Tool(tool_result(answer))).map_err(|error| ProtocolError {
        code: -32602,
        message: error_chain(&error),
        data: None,
    }))
}

fn tool_result(answer: FunctionResult) -> ToolResult {
    let (value, is_error) = match answer {
        FunctionResult::Done(value) => (value, false),
        FunctionResult::Failed(value) => {
            (Some(value.unwrap_or_else(|| "the function failed".into())), true)
        }
    };
    let text = match &value {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => "done".into(),
    };
    let structured =
        value.filter(|_| !is_error).map(|value| json!({ "result": value }).to_string());
    let body = ContentBody::Text(text);
    let content = vec![Content { body, annotations: None, extra: None }];
    ToolResult { content, structured, is_error, extra: None }
}
