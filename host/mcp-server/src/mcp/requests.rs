//! Requests of clients for a tool, a prompt, a resource or a completion.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    ErrorData, GetPromptRequestParams, GetPromptResponse, GetPromptResult, JsonObject,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Reference,
};
use rmcp::service::RequestContext;
use serde_json::Value;

use super::failures::{internal, protocol_error, tool_answer};
use super::serve::{Asked, Refused, Served};
use super::session::Caller;
use super::{Server, convert};
use portcullis_core::bindings::Subject;
use portcullis_core::call::{Answer, CallFailure, ToolCall, Work};
use portcullis_core::catalog::Catalog;
use portcullis_core::plugins::Loaded;
use portcullis_core::sandbox::Feature;

/// A plugin's own code for a resource that it does not have.
const NOT_FOUND: i32 = -32002;

impl Server {
    pub(super) async fn tool(
        &self,
        params: CallToolRequestParams,
        cx: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let catalog = self.shared.host.catalog_with(|all| all.tool(&params.name).is_some()).await;
        let Some(tool) = catalog.tool(&params.name) else {
            let arguments = params.arguments.unwrap_or_default();
            record_attempt(&catalog, &params.name, arguments, cx);
            return Err(unknown_tool(&catalog, &params.name));
        };
        let arguments = Arc::new(Value::Object(params.arguments.unwrap_or_default()));
        let asked = Asked {
            source: tool.source(),
            work: Work::Tool(ToolCall {
                name: tool.own_name().to_owned(),
                arguments: arguments.clone(),
            }),
            name: &params.name,
            arguments: arguments.as_object().unwrap_or_else(|| no_arguments()),
            paths: !tool.paths().is_empty(),
            state: params.request_state.as_deref(),
            responses: params.input_responses,
        };
        match self.serve(asked, cx).await {
            Ok(Served::Answer(Answer::Tool(result))) => convert::result(result).map_or_else(
                |why| answer(&CallFailure::BrokenPromise(why)),
                |result| Ok(result.into()),
            ),
            Ok(Served::Whole(result)) => {
                let mut carrier = CallToolResult::success(Vec::new());
                carrier.meta = Some(self.shared.raw.wrap(result));
                Ok(carrier.into())
            }
            Ok(Served::Answer(_)) => Err(internal("a tool's answer is of another kind".into())),
            Ok(Served::Questions(questions)) => Ok(questions.into()),
            Ok(Served::Task(task)) => Ok(task.into()),
            Err(Refused::Failed(failure)) => answer(&failure),
            Err(refused) => Err(refusal(refused)),
        }
    }

    pub(super) async fn prompt(
        &self,
        params: GetPromptRequestParams,
        cx: &RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let catalog = self.shared.host.catalog_with(|all| all.prompt(&params.name).is_some()).await;
        let Some(prompt) = catalog.prompt(&params.name) else {
            let arguments = params.arguments.unwrap_or_default();
            record_attempt(&catalog, &params.name, arguments, cx);
            let name = portcullis_sanitize::line(&params.name, 80);
            return Err(ErrorData::invalid_params(format!("unknown prompt: {name}"), None));
        };
        let given = params.arguments.unwrap_or_default();
        let text = |(name, value): (&String, &Value)| {
            let text = value.as_str().map(|text| (name.clone(), text.to_owned()));
            text.ok_or_else(|| ErrorData::invalid_params(format!("`{name}` is no string"), None))
        };
        let arguments = given.iter().map(text).collect::<Result<_, _>>()?;
        let asked = Asked {
            source: prompt.source(),
            work: Work::Prompt { name: prompt.own_name().to_owned(), arguments },
            name: &params.name,
            arguments: &given,
            paths: false,
            state: params.request_state.as_deref(),
            responses: params.input_responses,
        };
        match self.serve(asked, cx).await.map_err(refusal)? {
            Served::Answer(Answer::Prompt(result)) => {
                Ok(convert::prompt_result(result).map_err(internal)?.into())
            }
            Served::Whole(result) => {
                let mut carrier = GetPromptResult::new(Vec::new());
                carrier.meta = Some(self.shared.raw.wrap(result));
                Ok(carrier.into())
            }
            Served::Questions(questions) => Ok(questions.into()),
            Served::Answer(_) | Served::Task(_) => {
                Err(internal("a prompt's answer is of another kind".into()))
            }
        }
    }

    pub(super) async fn resource(
        &self,
        params: ReadResourceRequestParams,
        cx: &RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let catalog = self.shared.host.catalog_with(|all| all.owns(&params.uri)).await;
        let mut refused = None;
        for source in catalog.resource(&params.uri) {
            let asked = Asked {
                source,
                work: Work::Resource(params.uri.clone()),
                name: &params.uri,
                arguments: no_arguments(),
                paths: false,
                state: params.request_state.as_deref(),
                responses: params.input_responses.clone(),
            };
            match self.serve(asked, cx).await {
                Ok(Served::Answer(Answer::Resource(result))) => {
                    return Ok(convert::read_result(result).map_err(internal)?.into());
                }
                Ok(Served::Whole(result)) => {
                    let mut carrier = ReadResourceResult::new(Vec::new());
                    carrier.meta = Some(self.shared.raw.wrap(result));
                    return Ok(carrier.into());
                }
                Ok(Served::Questions(questions)) => return Ok(questions.into()),
                Ok(Served::Answer(_) | Served::Task(_)) => {
                    return Err(internal("a resource's answer is of another kind".into()));
                }
                // A plugin that was asked because it may have the resource, and has not.
                Err(Refused::Failed(CallFailure::Protocol(error)))
                    if error.code == NOT_FOUND && source.plugin().is_some() => {}
                // The state of another source that may have this resource.
                Err(Refused::State(why)) => refused = Some(Refused::State(why)),
                Err(Refused::Failed(failure))
                    if !matches!(failure, CallFailure::Cancelled)
                        && !catalog.answers_for(source, &params.uri) =>
                {
                    tracing::info!("`{}` does not read it: {failure}", source.name());
                }
                Err(other) => return Err(refusal(other)),
            }
        }
        Err(match refused {
            Some(refused) => refusal(refused),
            None => not_found(&params.uri),
        })
    }

    pub(super) async fn completion(
        &self,
        params: CompleteRequestParams,
        cx: &RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let has = |all: &Catalog| match &params.r#ref {
            Reference::Prompt(named) => all.prompt(&named.name).is_some(),
            Reference::Resource(template) => all.template(&template.uri).is_some(),
            _ => true,
        };
        let catalog = self.shared.host.catalog_with(has).await;
        let found = match &params.r#ref {
            Reference::Prompt(named) => catalog
                .prompt(&named.name)
                .map(|prompt| (prompt.source(), Subject::Prompt(prompt.own_name().to_owned()))),
            Reference::Resource(template) => catalog
                .template(&template.uri)
                .map(|source| (source, Subject::Template(template.uri.clone()))),
            _ => None,
        };
        let (source, subject) = found.ok_or_else(|| {
            ErrorData::invalid_params("there is no prompt and no template of that name", None)
        })?;
        let lacks = |loaded: &Arc<Loaded>| !loaded.features.contains(&Feature::Completions);
        if source.plugin().is_some_and(lacks) {
            return Ok(CompleteResult::default());
        }
        let context: HashMap<_, _> = params.context.and_then(|c| c.arguments).unwrap_or_default();
        let mut context: Vec<_> = context.into_iter().collect();
        context.sort();
        let asked = Asked {
            source,
            work: Work::Completion {
                subject,
                argument: params.argument.name,
                value: params.argument.value,
                context,
            },
            name: "completion/complete",
            arguments: no_arguments(),
            paths: false,
            state: None,
            responses: None,
        };
        match self.serve(asked, cx).await.map_err(refusal)? {
            Served::Answer(Answer::Completion(found)) => {
                convert::completion(found).map_err(internal)
            }
            Served::Whole(result) => {
                let mut carrier = CompleteResult::default();
                carrier.meta = Some(self.shared.raw.wrap(result));
                Ok(carrier)
            }
            Served::Answer(_) | Served::Questions(_) | Served::Task(_) => {
                Err(internal("a completion's answer is of another kind".into()))
            }
        }
    }
}

/// Records that somebody tried to call a tool that is withheld, if there is one of this name.
fn record_attempt(
    catalog: &Catalog,
    name: &str,
    arguments: JsonObject,
    cx: &RequestContext<RoleServer>,
) {
    let mut plugins = catalog.plugins.loaded.iter();
    let withheld = plugins.find_map(|loaded| Some((loaded, loaded.withheld(name)?)));
    if let Some((loaded, tool)) = withheld {
        let arguments = Value::Object(arguments);
        portcullis_core::call::attempted(loaded, tool, arguments, Caller::of(cx).principal);
    }
}

/// There is no such tool, or it is held back.
fn unknown_tool(catalog: &Catalog, name: &str) -> ErrorData {
    let shown = portcullis_sanitize::line(name, 80);
    let held = catalog.others.iter().find(|other| other.holds(name));
    let why = match held {
        Some(other) => format!(
            "the tool {shown} of `{}` is new or has changed since the tools of that server were \
             approved, and is held back: the operator can look at it and approve it with {}",
            other.source.name,
            other.source.approval_command()
        ),
        None => format!("unknown tool: {shown}"),
    };
    ErrorData::invalid_params(why, None)
}

/// There is no such resource. rmcp sends the code of the client's revision: -32002 up to 2025-11-25, and
/// -32602 from 2026-07-28 on.
fn not_found(uri: &str) -> ErrorData {
    let data = serde_json::json!({ "uri": uri });
    ErrorData::resource_not_found("there is no such resource", Some(data))
}

/// Of requests that have none.
pub fn no_arguments() -> &'static JsonObject {
    static NONE: LazyLock<JsonObject> = LazyLock::new(JsonObject::new);
    &NONE
}

fn answer(failure: &CallFailure) -> Result<CallToolResponse, ErrorData> {
    tool_answer(failure).map(Into::into)
}

fn refusal(refused: Refused) -> ErrorData {
    match refused {
        Refused::State(why) => ErrorData::invalid_params(why, None),
        Refused::Failed(failure) => protocol_error(&failure),
        Refused::Host(why) => internal(why),
    }
}
