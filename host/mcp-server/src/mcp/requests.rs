//! Requests of clients for a tool, a prompt, a resource or a completion.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::{Arc, LazyLock};

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    ErrorData, GetPromptRequestParams, GetPromptResponse, GetPromptResult, JsonObject,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Reference,
};
use rmcp::service::RequestContext;
use serde_json::Value;

use super::caller::Caller;
use super::failures::{internal, protocol_error, tool_answer};
use super::serve::{RequestFailure, RequestResult, SourceRequest};
use super::structured::{for_client, for_client_raw};
use super::{Server, convert, results, search};
use portcullis_core::bindings::Subject;
use portcullis_core::call::{CallFailure, PluginAnswer, ToolCall, Work};
use portcullis_core::catalog::Catalog;
use portcullis_core::plugins::LoadedPlugin;
use portcullis_core::sandbox::Feature;
use portcullis_core::source::Source;

/// The error code by which a plugin says that it does not have a resource.
const NOT_FOUND: i32 = -32002;

impl Server {
    pub(super) async fn tool(
        &self,
        params: CallToolRequestParams,
        cx: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let caller = Caller::of(cx);
        let selection = self.selection(&caller, cx)?;
        let mut params = params;
        if search::is_own(&params.name) {
            // Boxed: most calls do not need this future.
            let searched = Box::pin(self.search_or_call(params, &selection, &caller, cx));
            params = match searched.await {
                ControlFlow::Break(answer) => return Ok(answer),
                ControlFlow::Continue(params) => params,
            };
        }
        let catalog = self.shared.host.catalog_with(|all| all.tool(&params.name).is_some()).await;
        if let Some(why) = self.exclusion(&selection, &catalog, &params.name) {
            let name = portcullis_sanitize::line(&params.name, 80);
            tracing::warn!("a client may not call the tool {name}: {why}");
            return Err(ErrorData::invalid_params(format!("unknown tool: {name} ({why})"), None));
        }
        let Some(tool) = catalog.tool(&params.name) else {
            if params.name == results::READ && selection.bounds_results() {
                return Ok(Box::pin(self.read_result(params.arguments, &caller)).await);
            }
            let arguments = params.arguments.take().unwrap_or_default();
            record_attempt(&catalog, &params.name, arguments, cx);
            return self.unknown_tool(&catalog, params, cx).await;
        };
        let arguments = Arc::new(Value::Object(params.arguments.unwrap_or_default()));
        let request = SourceRequest {
            source: tool.source(),
            work: Work::Tool(ToolCall {
                name: tool.own_name().to_owned(),
                arguments: arguments.clone(),
            }),
            name: &params.name,
            arguments: arguments.as_object().unwrap_or_else(|| no_arguments()),
            has_paths: !tool.paths().is_empty(),
            state: params.request_state.as_deref(),
            responses: params.input_responses,
        };
        let (bound, habit) = (selection.result_tokens(&params.name), selection.structured_content);
        let served = self.serve(request, cx).await;
        self.look_again(tool, &caller, &cx.peer);
        match served {
            Ok(RequestResult::Plugin(PluginAnswer::Tool(result))) => {
                match convert::result(result) {
                    Ok(result) => {
                        let result = self.within_bound(result, bound, &caller).await;
                        Ok(for_client(result, habit).into())
                    }
                    Err(error) => failed_tool(&CallFailure::BrokenPromise(error.to_string())),
                }
            }
            Ok(RequestResult::Upstream(result)) => match results::if_longer(&result, bound) {
                Some(typed) => Ok(self.within_bound(typed, bound, &caller).await.into()),
                None => Ok(self.passed_on(for_client_raw(result, habit))),
            },
            Ok(RequestResult::Plugin(_)) => Err(internal("a tool's answer is of the wrong kind")),
            Ok(RequestResult::InputRequired(questions)) => Ok(questions.into()),
            Ok(RequestResult::Task(task)) => Ok(task.into()),
            Err(RequestFailure::Call(failure)) => failed_tool(&failure),
            Err(failure) => Err(error_of(failure)),
        }
    }

    pub(super) async fn prompt(
        &self,
        params: GetPromptRequestParams,
        cx: &RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let selection = self.selection(&Caller::of(cx), cx)?;
        let catalog = self.shared.host.catalog_with(|all| all.prompt(&params.name).is_some()).await;
        let prompt = catalog.prompt(&params.name);
        let Some(prompt) = prompt.filter(|one| selection.may_use(one.source())) else {
            let name = portcullis_sanitize::line(&params.name, 80);
            return Err(ErrorData::invalid_params(format!("unknown prompt: {name}"), None));
        };
        let given = params.arguments.unwrap_or_default();
        let text = |(name, value): (&String, &Value)| {
            let text = value.as_str().map(|text| (name.clone(), text.to_owned()));
            text.ok_or_else(|| {
                ErrorData::invalid_params(format!("the argument `{name}` is not a string"), None)
            })
        };
        let arguments = given.iter().map(text).collect::<Result<_, _>>()?;
        let request = SourceRequest {
            source: prompt.source(),
            work: Work::Prompt { name: prompt.own_name().to_owned(), arguments },
            name: &params.name,
            arguments: &given,
            has_paths: false,
            state: params.request_state.as_deref(),
            responses: params.input_responses,
        };
        match self.serve(request, cx).await.map_err(error_of)? {
            RequestResult::Plugin(PluginAnswer::Prompt(result)) => {
                Ok(convert::prompt_result(result).map_err(internal)?.into())
            }
            RequestResult::Upstream(result) => {
                let mut carrier = GetPromptResult::new(Vec::new());
                carrier.meta = Some(self.shared.raw.wrap(result));
                Ok(carrier.into())
            }
            RequestResult::InputRequired(questions) => Ok(questions.into()),
            RequestResult::Plugin(_) | RequestResult::Task(_) => {
                Err(internal("a prompt's answer is of the wrong kind"))
            }
        }
    }

    pub(super) async fn resource(
        &self,
        params: ReadResourceRequestParams,
        cx: &RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if let Some(page) = Box::pin(self.result_resource(&params.uri, cx)).await {
            return Ok(page.into());
        }
        let selection = self.selection(&Caller::of(cx), cx)?;
        let catalog = self.shared.host.catalog_with(|all| all.owns(&params.uri)).await;
        let (mut invalid_state, mut refusal) = (None, None);
        // The state and the answers belong to the source that asked. Later sources get neither.
        let (mut state, mut responses) = (params.request_state.as_deref(), params.input_responses);
        let sources = catalog.resource(&params.uri).into_iter();
        for source in sources.filter(|one| selection.may_use(*one)) {
            let request = SourceRequest {
                source,
                work: Work::Resource(params.uri.clone()),
                name: &params.uri,
                arguments: no_arguments(),
                has_paths: false,
                state,
                responses: responses.clone(),
            };
            let answer = self.serve(request, cx).await;
            if !matches!(answer, Err(RequestFailure::State(_))) {
                (state, responses) = (None, None);
            }
            match answer {
                Ok(RequestResult::Plugin(PluginAnswer::Resource(result))) => {
                    return Ok(convert::read_result(result).map_err(internal)?.into());
                }
                Ok(RequestResult::Upstream(result)) => {
                    let mut carrier = ReadResourceResult::new(Vec::new());
                    carrier.meta = Some(self.shared.raw.wrap(result));
                    return Ok(carrier.into());
                }
                Ok(RequestResult::InputRequired(questions)) => return Ok(questions.into()),
                Ok(RequestResult::Plugin(_) | RequestResult::Task(_)) => {
                    return Err(internal("a resource's answer is of the wrong kind"));
                }
                // This plugin does not have the resource. The next source may have it.
                Err(RequestFailure::Call(CallFailure::Protocol(error)))
                    if error.code == NOT_FOUND && source.plugin().is_some() => {}
                // The state may belong to another source that may have this resource.
                Err(RequestFailure::State(why)) => invalid_state = Some(RequestFailure::State(why)),
                Err(RequestFailure::Call(failure))
                    if !matches!(failure, CallFailure::Cancelled)
                        && !catalog.answers_for(source, &params.uri) =>
                {
                    tracing::info!("`{}` could not read a resource: {failure}", source.name());
                    // An upstream server's error says more than that there is no such resource.
                    refusal = source.plugin().is_none().then_some(RequestFailure::Call(failure));
                }
                Err(failure) => return Err(error_of(failure)),
            }
        }
        Err(match invalid_state.or(refusal) {
            Some(failure) => error_of(failure),
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
        let selection = self.selection(&Caller::of(cx), cx)?;
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
        let found = found.filter(|(source, _)| selection.may_use(*source));
        let (source, subject) = found.ok_or_else(|| {
            ErrorData::invalid_params("there is no prompt and no template of that name", None)
        })?;
        let lacks = |loaded: &Arc<LoadedPlugin>| !loaded.features.contains(&Feature::Completions);
        if source.plugin().is_some_and(lacks) {
            return Ok(CompleteResult::default());
        }
        let context: HashMap<_, _> = params.context.and_then(|c| c.arguments).unwrap_or_default();
        let mut context: Vec<_> = context.into_iter().collect();
        context.sort();
        let request = SourceRequest {
            source,
            work: Work::Completion {
                subject,
                argument: params.argument.name,
                value: params.argument.value,
                context,
            },
            name: "completion/complete",
            arguments: no_arguments(),
            has_paths: false,
            state: None,
            responses: None,
        };
        match self.serve(request, cx).await.map_err(error_of)? {
            RequestResult::Plugin(PluginAnswer::Completion(found)) => {
                convert::completion(found).map_err(internal)
            }
            RequestResult::Upstream(result) => {
                let mut carrier = CompleteResult::default();
                carrier.meta = Some(self.shared.raw.wrap(result));
                Ok(carrier)
            }
            RequestResult::Plugin(_) | RequestResult::InputRequired(_) | RequestResult::Task(_) => {
                Err(internal("a completion's answer is of the wrong kind"))
            }
        }
    }
}

/// Records the attempt to call a withheld tool, which needs an action that is not granted. Does nothing if there is
/// no withheld tool of this name.
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
        portcullis_core::call::record_withheld_call(
            loaded,
            tool,
            arguments,
            Caller::of(cx).principal,
        );
    }
}

impl Server {
    /// The answer to a call of a tool that is unknown or held back. If `wrap` serves one server alone and the tool is
    /// not held back, the server itself gets the call and answers it.
    async fn unknown_tool(
        &self,
        catalog: &Catalog,
        params: CallToolRequestParams,
        cx: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name: &str = &params.name;
        let held = catalog.upstreams.iter().any(|upstream| upstream.holds(name));
        let Some(offer) = catalog.wrapped_alone().filter(|_| !held) else {
            return Err(unknown_tool_error(catalog, name));
        };
        let arguments = Arc::new(Value::Object(JsonObject::new()));
        let request = SourceRequest {
            source: Source::Upstream(offer),
            work: Work::Tool(ToolCall { name: name.to_owned(), arguments }),
            name,
            arguments: no_arguments(),
            has_paths: false,
            state: params.request_state.as_deref(),
            responses: params.input_responses,
        };
        match Box::pin(self.serve(request, cx)).await {
            Ok(RequestResult::Upstream(result)) => Ok(self.passed_on(result)),
            Err(RequestFailure::Call(failure @ CallFailure::Protocol(_))) => failed_tool(&failure),
            Ok(_) | Err(_) => Err(unknown_tool_error(catalog, name)),
        }
    }

    /// The result of an upstream server, which passes through rmcp unchanged.
    fn passed_on(&self, result: Value) -> CallToolResponse {
        let mut carrier = CallToolResult::success(Vec::new());
        carrier.meta = Some(self.shared.raw.wrap(result));
        carrier.into()
    }
}

/// The error for a tool that is unknown or held back.
fn unknown_tool_error(catalog: &Catalog, name: &str) -> ErrorData {
    let shown = portcullis_sanitize::line(name, 80);
    let held = catalog.upstreams.iter().find(|upstream| upstream.holds(name));
    let why = match held {
        Some(upstream) => format!(
            "the tool {shown} of `{}` is new or has changed since the tools of that server were \
             approved, and is held back: the operator can look at it and approve it with {}",
            upstream.source.name,
            upstream.source.approval_advice()
        ),
        None => format!("unknown tool: {shown}"),
    };
    ErrorData::invalid_params(why, None)
}

/// The error for an unknown resource. rmcp sends the code of the client's revision: -32002 up to 2025-11-25, and
/// -32602 from 2026-07-28 on.
fn not_found(uri: &str) -> ErrorData {
    let data = serde_json::json!({ "uri": uri });
    ErrorData::resource_not_found("there is no such resource", Some(data))
}

/// The arguments of requests that have none.
pub fn no_arguments() -> &'static JsonObject {
    static NONE: LazyLock<JsonObject> = LazyLock::new(JsonObject::new);
    &NONE
}

fn failed_tool(failure: &CallFailure) -> Result<CallToolResponse, ErrorData> {
    tool_answer(failure).map(Into::into)
}

fn error_of(failure: RequestFailure) -> ErrorData {
    match failure {
        RequestFailure::State(why) => ErrorData::invalid_params(why, None),
        RequestFailure::Call(failure) => protocol_error(&failure),
        RequestFailure::Host(error) => internal(error),
    }
}
