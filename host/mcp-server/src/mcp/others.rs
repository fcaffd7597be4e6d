//! What clients ask of other servers: passed on, and recorded like any call.

use portcullis_mcp_client::{Object, Request, Tool};
use portcullis_wrap::{Answer, Caller as Asker, Offered, Source, State, views};
use rmcp::RoleServer;
use rmcp::model::{ErrorCode, ErrorData, InputResponses, JsonObject, MetaObject};
use rmcp::service::RequestContext;
use serde_json::{Value, json};

use super::Server;
use super::input::Binding;
use super::requests::internal;
use super::session::Caller;
use portcullis_audit::Verdict;

/// Size of the arguments that are passed on, in bytes.
const MAX_ARGUMENTS: usize = 4 * 1024 * 1024;

/// A request for another server.
pub struct Passed<'a> {
    /// Whose it is.
    pub other: &'a Offered,
    /// The tool that is called, if it is one: its schema is held against the arguments.
    pub tool: Option<&'a Tool>,
    /// Such as `tools/call`.
    pub method: &'static str,
    /// As the other server knows them.
    pub params: Object,
    /// For the audit: what is asked for.
    pub subject: String,
    /// Of the definition of what is asked for.
    pub digest: &'a str,
    /// By the name that the client used.
    pub name: &'a str,
    /// With these arguments.
    pub arguments: &'a JsonObject,
    /// The state of the round before, sealed.
    pub state: Option<&'a str>,
    /// The answers to what that round asked.
    pub responses: Option<InputResponses>,
}

/// What came of it.
pub enum Passing {
    /// The `_meta` of a result that is written as the other server wrote it.
    Result(MetaObject),
    /// There is no answer: why, for whoever asked.
    Failed(String),
}

impl Passing {
    /// For answers that have no room for a failure.
    pub fn meta(self) -> Result<MetaObject, ErrorData> {
        match self {
            Self::Result(meta) => Ok(meta),
            Self::Failed(why) => Err(ErrorData::internal_error(why, None)),
        }
    }
}

impl Server {
    pub(super) async fn pass(
        &self,
        passed: Passed<'_>,
        cx: &RequestContext<RoleServer>,
    ) -> Result<Passing, ErrorData> {
        let caller = Caller::of(cx);
        let source = &passed.other.source;
        let binding = Binding {
            plugin: &source.name,
            name: passed.name,
            principal: caller.principal.as_deref(),
            arguments: passed.arguments,
        };
        let before = match passed.state {
            None => None,
            Some(sealed) => {
                let state: State = self
                    .host
                    .seal
                    .unseal(&binding, sealed)
                    .map_err(|why| ErrorData::invalid_params(why, None))?;
                Some((state, passed.responses.unwrap_or_default().into_iter().collect()))
            }
        };
        let size = serde_json::to_vec(&passed.params).map_or(0, |text| text.len());
        let trail = self.host.upstreams.trail(
            source,
            portcullis_core::call::request_id(),
            portcullis_sanitize::line(&passed.subject, 300),
            passed.digest,
            caller.principal.clone(),
        );
        let ongoing = trail.begin_call(size as u64).map_err(|error| {
            internal(format!("the audit cannot be written, so nothing is asked: {error}"))
        })?;
        if let Some((outcome, why)) =
            refused(passed.other, passed.tool, passed.arguments, passed.name, size)
        {
            ongoing.end(Verdict::Denied, outcome, 0).map_err(|error| {
                internal(format!("the audit cannot be written, so no answer is given: {error}"))
            })?;
            return Ok(Passing::Failed(why));
        }
        let mut params = passed.params;
        params.extend(meta(&caller, cx).map(|meta| ("_meta".to_owned(), meta)));
        let mut request = Request::new(passed.method, params, &self.session.name.0);
        request.capabilities = json!(caller.capabilities).as_object().cloned();
        let asker = self.asker(&caller, cx);
        request.log_level = asker.logs.map(|level| portcullis_wrap::level_name(level).to_owned());
        // In a box: it is large, and every request has room for the largest.
        let serving = Box::pin(self.host.wrap.serve(&source.upstream, request, before, &asker));
        let mut answer = serving.await;
        if let Answer::Result(result) = &mut answer {
            self.seen(result, passed.method, passed.name, source, &caller);
        }
        let (outcome, size) = match &answer {
            Answer::Result(result) if result["isError"] == true => ("tool-error", size_of(result)),
            Answer::Result(result) => ("done", size_of(result)),
            Answer::Questions { .. } => ("need-input", 0),
            Answer::Error(_) => ("protocol-error", 0),
            Answer::Fault(_) => ("upstream-failed", 0),
            Answer::Given(_) => ("cancelled", 0),
        };
        ongoing.end(Verdict::Allowed, outcome, size).map_err(|error| {
            internal(format!("the audit cannot be written, so no answer is given: {error}"))
        })?;
        self.told(answer, &binding)
    }

    /// What is to be done with a result before the client gets it: views have addresses of their own
    /// here, and plugins may be allowed to see what a tool answered.
    fn seen(&self, result: &mut Value, method: &str, name: &str, source: &Source, caller: &Caller) {
        if method == "resources/read" {
            let contents = result["contents"].as_array_mut().into_iter().flatten();
            for content in contents.filter_map(Value::as_object_mut) {
                views::rewrite_resource(&source.name, content);
            }
        } else if method == "tools/call"
            && result["isError"] != true
            && let Some(structured) = result.get("structuredContent")
        {
            let structured = || structured.to_string();
            self.host.around.keep_result(caller.principal.clone(), name, structured);
        }
    }

    /// An answer as the client gets it.
    fn told(&self, answer: Answer, binding: &Binding<'_>) -> Result<Passing, ErrorData> {
        match answer {
            Answer::Result(result) => Ok(Passing::Result(self.host.raw.wrap(result))),
            Answer::Questions { requests, state } => {
                let sealed = self.host.seal.seal(binding, &state).map_err(internal)?;
                Ok(Passing::Result(self.host.raw.wrap(json!({
                    "resultType": "input_required",
                    "inputRequests": requests,
                    "requestState": sealed,
                }))))
            }
            Answer::Error(error) => {
                let code = i32::try_from(error.code).unwrap_or(ErrorCode::INTERNAL_ERROR.0);
                let message = portcullis_sanitize::plain(&error.message);
                Err(ErrorData::new(ErrorCode(code), message, error.data))
            }
            Answer::Fault(fault) => Ok(Passing::Failed(fault.to_string())),
            Answer::Given(why) => Ok(Passing::Failed(why.to_owned())),
        }
    }

    fn asker<'a>(&'a self, caller: &Caller, cx: &'a RequestContext<RoleServer>) -> Asker<'a> {
        let roots = self.session.known_roots().unwrap_or_else(|| self.host.roots.clone());
        let uri = |root: &portcullis_roots::Root| portcullis_roots::uri_of_path(root.path());
        Asker {
            cx,
            modern: caller.modern,
            features: portcullis_wrap::features(&caller.capabilities),
            logs: caller.logs(&self.session),
            roots: roots.iter().filter_map(uri).collect(),
            shutdown: &self.host.shutdown,
        }
    }
}

/// Why a request is refused before the other server gets it: a word for the record, and a sentence for whoever
/// asked.
fn refused(
    other: &Offered,
    tool: Option<&Tool>,
    arguments: &JsonObject,
    name: &str,
    size: usize,
) -> Option<(&'static str, String)> {
    if size > MAX_ARGUMENTS {
        let why = format!("the arguments have {size} bytes; {MAX_ARGUMENTS} are the most");
        return Some(("too-large", why));
    }
    let schema = other.source.schema(tool?);
    // The server checks what its own schema cannot say.
    let Ok(schema) = &*schema else { return None };
    let faults = schema.check(&arguments.clone().into()).err()?;
    Some(("invalid-arguments", format!("invalid arguments for `{name}`: {faults}")))
}

fn size_of(result: &Value) -> u64 {
    serde_json::to_vec(result).map_or(0, |text| text.len() as u64)
}

/// What the client says of its request, and by which token it wants to be told of progress.
fn meta(caller: &Caller, cx: &RequestContext<RoleServer>) -> Option<Value> {
    let own = caller.meta.as_deref().and_then(|meta| serde_json::from_str(meta).ok());
    let mut meta: Object = own.unwrap_or_default();
    let token = cx.meta.get_progress_token();
    meta.extend(token.map(|token| ("progressToken".to_owned(), json!(token))));
    (!meta.is_empty()).then(|| meta.into())
}
