//! What clients ask of plugins: a tool, a prompt, a resource, a completion; and how they are told of
//! failures.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use portcullis_mcp_client::{Object, Prompt as OtherPrompt, Tool as OtherTool};
use portcullis_wrap::views;

use portcullis_wrap::Offered;
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, ErrorCode,
    ErrorData, GetPromptRequestParams, GetPromptResponse, GetPromptResult, JsonObject,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Reference,
};
use rmcp::service::RequestContext;
use serde_json::Value;

use super::others::{Passed, Passing};
use super::serve::{Asked, Refused, Served};
use super::session::Caller;
use super::{Server, convert};
use portcullis_core::bindings::Subject;
use portcullis_core::call::{Answer, Failure, ToolCall, Work};
use portcullis_core::catalog::{Catalog, PromptOf, Tool};
use portcullis_core::plugins::{Loaded, Tool as OwnTool};
use portcullis_core::sandbox::Feature;

/// A plugin's own code for a resource that it does not have.
const NOT_FOUND: i32 = -32002;

impl Server {
    pub(super) async fn tool(
        &self,
        params: CallToolRequestParams,
        cx: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let catalog = self.host.catalog_with(|all| all.tool(&params.name).is_some()).await;
        match catalog.tool(&params.name) {
            Some(Tool::Own(loaded, tool)) => self.own_tool(loaded, tool, params, cx).await,
            Some(Tool::Other(other, tool)) => self.other_tool(other, tool, params, cx).await,
            None => {
                let name = portcullis_sanitize::line(&params.name, 80);
                let mut plugins = catalog.plugins.loaded.iter();
                if let Some((loaded, tool)) =
                    plugins.find_map(|loaded| Some((loaded, loaded.withheld(&params.name)?)))
                {
                    let arguments = Value::Object(params.arguments.unwrap_or_default());
                    portcullis_core::call::attempted(
                        loaded,
                        tool,
                        &arguments,
                        Caller::of(cx).principal,
                    );
                }
                let held = catalog.others.iter().find(|other| other.holds(&params.name));
                let why = match held {
                    Some(other) => format!(
                        "the tool {name} of `{}` is new or has changed since the tools of that server \
                         were approved, and is held back: the operator can look at it and approve it \
                         with {}",
                        other.source.name,
                        other.source.approval_command()
                    ),
                    None => format!("unknown tool: {name}"),
                };
                Err(ErrorData::invalid_params(why, None))
            }
        }
    }

    async fn other_tool(
        &self,
        other: &Offered,
        tool: &OtherTool,
        params: CallToolRequestParams,
        cx: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = params.arguments.clone().unwrap_or_default();
        let mut passed = Object::new();
        passed.insert("name".into(), tool.wire_name.as_str().into());
        passed.extend(params.arguments.map(|arguments| ("arguments".to_owned(), arguments.into())));
        let passed = Passed {
            other,
            tool: Some(tool),
            method: "tools/call",
            params: passed,
            subject: tool.name.clone(),
            digest: &tool.digest,
            name: &params.name,
            arguments: &arguments,
            state: params.request_state.as_deref(),
            responses: params.input_responses,
        };
        Ok(match self.pass(passed, cx).await? {
            Passing::Result(meta) => convert::raw(meta).into(),
            Passing::Failed(why) => convert::error(why).into(),
        })
    }

    async fn own_tool(
        &self,
        loaded: &Arc<Loaded>,
        tool: &OwnTool,
        params: CallToolRequestParams,
        cx: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Arc::new(Value::Object(params.arguments.unwrap_or_default()));
        let asked = Asked {
            loaded,
            work: Work::Tool(ToolCall {
                name: tool.definition.name.clone(),
                arguments: arguments.clone(),
            }),
            name: &params.name,
            arguments: arguments.as_object().unwrap_or_else(|| no_arguments()),
            paths: !tool.definition.paths.is_empty(),
            state: params.request_state.as_deref(),
            responses: params.input_responses,
        };
        match self.serve(asked, cx).await {
            Ok(Served::Answer(Answer::Tool(result))) => {
                if let Some(structured) = result.structured.as_ref().filter(|_| !result.is_error) {
                    let principal = Caller::of(cx).principal;
                    let structured = || structured.clone();
                    self.host.around.keep_result(principal, &params.name, structured);
                }
                convert::result(result).map_or_else(
                    |why| answer(&Failure::BrokenPromise(why)),
                    |result| Ok(result.into()),
                )
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
        let catalog = self.host.catalog_with(|all| all.prompt(&params.name).is_some()).await;
        let (loaded, prompt) = match catalog.prompt(&params.name) {
            Some(PromptOf::Own(loaded, prompt)) => (loaded, prompt),
            Some(PromptOf::Other(other, prompt)) => {
                return self.other_prompt(other, prompt, params, cx).await;
            }
            None => {
                let name = portcullis_sanitize::line(&params.name, 80);
                let mut plugins = catalog.plugins.loaded.iter();
                if let Some((loaded, tool)) =
                    plugins.find_map(|loaded| Some((loaded, loaded.withheld(&params.name)?)))
                {
                    let arguments = Value::Object(params.arguments.unwrap_or_default());
                    portcullis_core::call::attempted(
                        loaded,
                        tool,
                        &arguments,
                        Caller::of(cx).principal,
                    );
                }
                return Err(ErrorData::invalid_params(format!("unknown prompt: {name}"), None));
            }
        };
        let given = params.arguments.unwrap_or_default();
        let text = |(name, value): (&String, &Value)| {
            let text = value.as_str().map(|text| (name.clone(), text.to_owned()));
            text.ok_or_else(|| ErrorData::invalid_params(format!("`{name}` is no string"), None))
        };
        let arguments = given.iter().map(text).collect::<Result<_, _>>()?;
        let asked = Asked {
            loaded,
            work: Work::Prompt { name: prompt.name.clone(), arguments },
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

    async fn other_prompt(
        &self,
        other: &Offered,
        prompt: &OtherPrompt,
        params: GetPromptRequestParams,
        cx: &RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = params.arguments.clone().unwrap_or_default();
        let mut passed = Object::new();
        passed.insert("name".into(), prompt.wire_name.as_str().into());
        passed.extend(params.arguments.map(|arguments| ("arguments".to_owned(), arguments.into())));
        let passed = Passed {
            other,
            tool: None,
            method: "prompts/get",
            params: passed,
            subject: format!("prompts/get {}", prompt.name),
            digest: "",
            name: &params.name,
            arguments: &arguments,
            state: params.request_state.as_deref(),
            responses: params.input_responses,
        };
        let mut result = GetPromptResult::new(Vec::new());
        result.meta = Some(self.pass(passed, cx).await?.meta()?);
        Ok(result.into())
    }

    async fn other_resource(
        &self,
        other: &Offered,
        params: ReadResourceRequestParams,
        cx: &RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let own = views::inward(&other.source.name, &params.uri);
        let mut passed = Object::new();
        passed.insert("uri".into(), own.as_deref().unwrap_or(&params.uri).into());
        let passed = Passed {
            other,
            tool: None,
            method: "resources/read",
            params: passed,
            subject: format!("resources/read {}", params.uri),
            digest: "",
            name: &params.uri,
            arguments: no_arguments(),
            state: params.request_state.as_deref(),
            responses: params.input_responses,
        };
        let sent = own.as_deref().unwrap_or(&params.uri);
        let passing = self.pass(passed, cx).await.map_err(|error| as_not_found(error, sent))?;
        let mut result = ReadResourceResult::new(Vec::new());
        result.meta = Some(passing.meta()?);
        Ok(result.into())
    }

    async fn other_completion(
        &self,
        other: &Offered,
        params: CompleteRequestParams,
        prompt: Option<&OtherPrompt>,
        cx: &RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let mut passed = serde_json::to_value(&params).unwrap_or_default();
        if let Some(prompt) = prompt {
            passed["ref"]["name"] = prompt.wire_name.as_str().into();
        }
        let mut passed = passed.as_object().cloned().unwrap_or_default();
        passed.remove("_meta");
        let passed = Passed {
            other,
            tool: None,
            method: "completion/complete",
            params: passed,
            subject: format!("completion/complete {}", params.argument.name),
            digest: "",
            name: "completion/complete",
            arguments: no_arguments(),
            state: None,
            responses: None,
        };
        let mut result = CompleteResult::default();
        result.meta = Some(self.pass(passed, cx).await?.meta()?);
        Ok(result)
    }

    pub(super) async fn resource(
        &self,
        params: ReadResourceRequestParams,
        cx: &RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let catalog = self.host.catalog_with(|all| all.owns(&params.uri)).await;
        let mut refused = None;
        for loaded in catalog.resource(&params.uri) {
            let asked = Asked {
                loaded,
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
                Ok(Served::Questions(questions)) => return Ok(questions.into()),
                Ok(Served::Answer(_) | Served::Task(_)) => {
                    return Err(internal("a resource's answer is of another kind".into()));
                }
                Err(Refused::Failed(Failure::Protocol(error))) if error.code == NOT_FOUND => {}
                // The state of another plugin that may have this resource.
                Err(Refused::State(why)) => refused = Some(Refused::State(why)),
                // A plugin that was asked because it may have anything, and has not.
                Err(Refused::Failed(failure))
                    if !matches!(failure, Failure::Cancelled)
                        && !catalog.answers_for(loaded, &params.uri) =>
                {
                    tracing::info!("`{}` does not read it: {failure}", loaded.plugin.name);
                }
                Err(other) => return Err(refusal(other)),
            }
        }
        if let Some(other) = catalog.other_with(&params.uri) {
            return self.other_resource(other, params, cx).await;
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
            Reference::Resource(template) => {
                all.template(&template.uri).is_some()
                    || all.other_of_template(&template.uri).is_some()
            }
            _ => true,
        };
        let catalog = self.host.catalog_with(has).await;
        let (loaded, subject) = match &params.r#ref {
            Reference::Prompt(named) => match catalog.prompt(&named.name) {
                Some(PromptOf::Own(loaded, prompt)) => {
                    (loaded, Subject::Prompt(prompt.name.clone()))
                }
                Some(PromptOf::Other(other, prompt)) => {
                    return self.other_completion(other, params, Some(prompt), cx).await;
                }
                None => return Err(nothing()),
            },
            Reference::Resource(template) => match catalog.template(&template.uri) {
                Some(loaded) => (loaded, Subject::Template(template.uri.clone())),
                None => {
                    let other = catalog.other_of_template(&template.uri).ok_or_else(nothing)?;
                    return self.other_completion(other, params, None, cx).await;
                }
            },
            _ => return Err(nothing()),
        };
        if !loaded.features.contains(&Feature::Completions) {
            return Ok(CompleteResult::default());
        }
        let context: HashMap<_, _> = params.context.and_then(|c| c.arguments).unwrap_or_default();
        let mut context: Vec<_> = context.into_iter().collect();
        context.sort();
        let asked = Asked {
            loaded,
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
            Served::Answer(_) | Served::Questions(_) | Served::Task(_) => {
                Err(internal("a completion's answer is of another kind".into()))
            }
        }
    }
}

/// There is no such resource. rmcp sends the code of the client's revision: -32002 up to 2025-11-25, and
/// -32602 from 2026-07-28 on.
fn not_found(uri: &str) -> ErrorData {
    let data = serde_json::json!({ "uri": uri });
    ErrorData::resource_not_found("there is no such resource", Some(data))
}

/// An error of another server: where it says in the way of 2026-07-28 that there is no such resource, the same
/// for a client of any revision.
fn as_not_found(mut error: ErrorData, uri: &str) -> ErrorData {
    let about = error.data.as_ref().and_then(|data| data["uri"].as_str());
    if error.code == ErrorCode::INVALID_PARAMS && about == Some(uri) {
        error.code = ErrorCode(NOT_FOUND);
    }
    error
}

fn nothing() -> ErrorData {
    ErrorData::invalid_params("there is nothing of that name", None)
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
    let message = portcullis_sanitize::line(&failure.to_string(), 1000);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_resource_of_another_server_has_one_code() {
        let error = |code, data| ErrorData::new(ErrorCode(code), "m", data);
        let about = |uri: &str| Some(serde_json::json!({ "uri": uri }));
        for (sent, expected) in [
            (error(-32602, about("a://b")), NOT_FOUND),
            (error(NOT_FOUND, None), NOT_FOUND),
            (error(-32602, about("a://c")), -32602),
            (error(-32602, None), -32602),
            (error(-32603, about("a://b")), -32603),
        ] {
            assert_eq!(as_not_found(sent.clone(), "a://b").code.0, expected, "{sent:?}");
        }
    }
}
