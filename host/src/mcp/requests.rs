//! What clients ask of plugins: a tool, a prompt, a resource, a completion; and how they are told of
//! failures.

use std::collections::HashMap;
use std::sync::LazyLock;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, ErrorCode,
    ErrorData, GetPromptRequestParams, GetPromptResponse, JsonObject, ReadResourceRequestParams,
    ReadResourceResponse, Reference,
};
use rmcp::service::RequestContext;
use serde_json::Value;

use super::serve::{Asked, Refused, Served};
use super::{Server, convert};
use crate::bindings::Subject;
use crate::call::{Answer, Failure, What};
use crate::sandbox::Feature;

/// A plugin's own code for a resource that it does not have.
const NOT_FOUND: i32 = -32002;

impl Server {
    pub(super) async fn call_plugin(
        &self,
        params: CallToolRequestParams,
        cx: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let catalog = self.host.catalog().await;
        let Some((loaded, tool)) = catalog.tool(&params.name) else {
            let name = crate::text::line(&params.name, 80);
            return Err(ErrorData::invalid_params(format!("unknown tool: {name}"), None));
        };
        let arguments = params.arguments.unwrap_or_default();
        let asked = Asked {
            loaded,
            what: What::Tool {
                name: tool.definition.name.clone(),
                arguments: arguments.clone().into(),
            },
            name: &params.name,
            arguments: &arguments,
            paths: !tool.definition.paths.is_empty(),
            state: params.request_state.as_deref(),
            responses: params.input_responses,
        };
        match self.serve(asked, cx).await {
            Ok(Served::Answer(Answer::Tool(result))) => convert::result(result).map_or_else(
                |why| answer(&Failure::BrokenPromise(why)),
                |result| Ok(result.into()),
            ),
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
        let catalog = self.host.catalog().await;
        let Some((loaded, prompt)) = catalog.prompt(&params.name) else {
            let name = crate::text::line(&params.name, 80);
            return Err(ErrorData::invalid_params(format!("unknown prompt: {name}"), None));
        };
        let given = params.arguments.unwrap_or_default();
        let text = |(name, value): (&String, &Value)| match value {
            Value::String(text) => Ok((name.clone(), text.clone())),
            _ => Err(ErrorData::invalid_params(format!("`{name}` is no string"), None)),
        };
        let arguments = given.iter().map(text).collect::<Result<_, _>>()?;
        let asked = Asked {
            loaded,
            what: What::Prompt { name: prompt.name.clone(), arguments },
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
        let catalog = self.host.catalog().await;
        let mut refused = None;
        for loaded in catalog.resource(&params.uri) {
            let asked = Asked {
                loaded,
                what: What::Resource(params.uri.clone()),
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
                Ok(Served::Questions(questions)) => return Ok(questions.into()),
                Ok(Served::Answer(_) | Served::Task(_)) => {
                    return Err(internal("a resource's answer is of another kind".into()));
                }
                Err(Refused::Failed(Failure::Protocol(error))) if error.code == NOT_FOUND => {}
                // The state of another plugin that may have this resource.
                Err(Refused::State(why)) => refused = Some(Refused::State(why)),
                Err(other) => return Err(refusal(other)),
            }
        }
        Err(match refused {
            Some(refused) => refusal(refused),
            None => {
                let data = serde_json::json!({ "uri": params.uri });
                ErrorData::resource_not_found("there is no such resource", Some(data))
            }
        })
    }

    pub(super) async fn completion(
        &self,
        params: CompleteRequestParams,
        cx: &RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let catalog = self.host.catalog().await;
        let (loaded, subject) = match &params.r#ref {
            Reference::Prompt(prompt) => {
                let found = catalog.prompt(&prompt.name);
                found.map(|(loaded, prompt)| (loaded, Subject::Prompt(prompt.name.clone())))
            }
            Reference::Resource(template) => {
                let found = catalog.template(&template.uri);
                found.map(|loaded| (loaded, Subject::Template(template.uri.clone())))
            }
            _ => None,
        }
        .ok_or_else(|| ErrorData::invalid_params("there is nothing of that name", None))?;
        if !loaded.features.contains(&Feature::Completions) {
            return Ok(CompleteResult::default());
        }
        let context: HashMap<_, _> = params.context.and_then(|c| c.arguments).unwrap_or_default();
        let mut context: Vec<_> = context.into_iter().collect();
        context.sort();
        let asked = Asked {
            loaded,
            what: What::Completion {
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
            Served::Answer(_) | Served::Questions(_) | Served::Task(_) => {
                Err(internal("a completion's answer is of another kind".into()))
            }
        }
    }
}

/// Of requests that have none.
pub fn no_arguments() -> &'static JsonObject {
    static NONE: LazyLock<JsonObject> = LazyLock::new(JsonObject::new);
    &NONE
}

fn refusal(refused: Refused) -> ErrorData {
    match refused {
        Refused::State(why) => ErrorData::invalid_params(why, None),
        Refused::Failed(failure) => protocol_error(&failure),
        Refused::Host(why) => internal(why),
    }
}

/// What went wrong is for the log: the client could do nothing with it.
pub fn internal(error: String) -> ErrorData {
    tracing::error!("{error}");
    ErrorData::internal_error("the host failed; its log says how", None)
}

/// A failure as the client is told of it: what the caller or the model can mend is an answer that
/// says so, the rest is a protocol error.
fn answer(failure: &Failure) -> Result<CallToolResponse, ErrorData> {
    match failure {
        Failure::InvalidArguments(_)
        | Failure::Denied(_)
        | Failure::TimedOut(_)
        | Failure::TooLarge(_)
        | Failure::PluginFailed(_)
        | Failure::BrokenPromise(_) => Ok(convert::error(failure.to_string()).into()),
        Failure::Unknown(_) | Failure::Protocol(_) | Failure::Host(_) | Failure::Cancelled => {
            Err(protocol_error(failure))
        }
    }
}

/// A failure where the answer has no room for one.
pub fn protocol_error(failure: &Failure) -> ErrorData {
    let message = crate::text::line(&failure.to_string(), 1000);
    match failure {
        Failure::Unknown(_) | Failure::InvalidArguments(_) | Failure::Denied(_) => {
            ErrorData::invalid_params(message, None)
        }
        Failure::Protocol(error) => {
            let data = error.data.as_deref().and_then(|data| serde_json::from_str(data).ok());
            ErrorData::new(ErrorCode(error.code), message, data)
        }
        Failure::TimedOut(_)
        | Failure::TooLarge(_)
        | Failure::PluginFailed(_)
        | Failure::BrokenPromise(_)
        | Failure::Host(_)
        | Failure::Cancelled => ErrorData::internal_error(message, None),
    }
}
