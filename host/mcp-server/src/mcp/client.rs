//! The client of one MCP request: implements the pipeline's [`Client`] with rmcp.

#![expect(deprecated, reason = "roots, sampling and logging are in both eras until 2027")]

use std::sync::Arc;

use portcullis_core::call::client::{
    BoxFuture, Client, Forwarded, Notification, unsupported_method,
};
use portcullis_core::sandbox::CallNotification;
use portcullis_core::upstreams::{ANSWER_TIME, Owner};
use portcullis_mcp_client::{Era, Object, RpcError};
use portcullis_roots::uri_of_path;
use rmcp::RoleServer;
use rmcp::model::{
    ClientResult, CustomRequest, InputRequest, LoggingLevel, LoggingMessageNotificationParam,
    ProgressNotificationParam, ServerRequest,
};
use rmcp::service::{Peer, RequestContext};
use serde_json::{Value, json};

use super::Server;
use super::caller::{Caller, TASKS_EXTENSION};
use super::log_levels::{LEVELS, level_name, rank};

/// The client of one request.
pub struct RequestClient<'a> {
    server: &'a Server,
    caller: &'a Caller,
    cx: &'a RequestContext<RoleServer>,
    /// The minimum level of log records that the client wants.
    log_level: Option<LoggingLevel>,
}

impl<'a> RequestClient<'a> {
    /// The client that made this request.
    pub fn new(server: &'a Server, caller: &'a Caller, cx: &'a RequestContext<RoleServer>) -> Self {
        Self { server, caller, cx, log_level: server.session.log_level_of(caller) }
    }

    fn wants(&self, level: LoggingLevel) -> bool {
        self.log_level.is_some_and(|minimum| rank(level) >= rank(minimum))
    }

    /// Converts a notification to rmcp's types. `None`: the client does not want the notification, the notification is
    /// not valid MCP, or the notification is a plugin's progress that has a total and has not increased.
    fn typed(&self, notification: Notification) -> Option<Typed> {
        let invalid = |error: &serde_json::Error| {
            tracing::debug!("a notification of an upstream server is left out: {error}");
        };
        match notification {
            Notification::Plugin(CallNotification::Progress { done, total, message }) => {
                let token = self.caller.progress.clone()?;
                let done = self.caller.last_progress.next(done, total)?;
                let mut progress = ProgressNotificationParam::new(token, done);
                progress.total = total;
                progress.message = message.map(|message| portcullis_sanitize::line(&message, 1000));
                Some(Typed::Progress(progress))
            }
            Notification::Plugin(CallNotification::Log { level, logger, data }) => {
                let level = LEVELS[level as usize];
                let mut record = LoggingMessageNotificationParam::new(level, data);
                record.logger = logger;
                self.wants(level).then_some(Typed::Log(record))
            }
            Notification::Progress(params) => {
                let params = serde_json::from_value(params.into()).inspect_err(invalid);
                params.ok().map(Typed::Progress)
            }
            Notification::Log(params) => {
                let record = serde_json::from_value(params.into()).inspect_err(invalid);
                let record: LoggingMessageNotificationParam = record.ok()?;
                self.wants(record.level).then_some(Typed::Log(record))
            }
        }
    }
}

enum Typed {
    Progress(ProgressNotificationParam),
    Log(LoggingMessageNotificationParam),
}

impl Client for RequestClient<'_> {
    fn is_modern(&self) -> bool {
        self.caller.modern
    }

    fn is_notified(&self) -> bool {
        self.caller.progress.is_some() || self.log_level.is_some()
    }

    fn notify(&self, notification: Notification) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let sent = match self.typed(notification) {
                Some(Typed::Progress(progress)) => self.cx.peer.notify_progress(progress).await,
                Some(Typed::Log(record)) => self.cx.peer.notify_logging_message(record).await,
                None => return,
            };
            if let Err(error) = sent {
                tracing::debug!("a notification did not reach the client: {error}");
            }
        })
    }

    fn answers(&self, method: &str) -> bool {
        let capabilities = &self.caller.capabilities;
        match method.split('/').next().unwrap_or_default() {
            "elicitation" => capabilities.elicitation.is_some(),
            "sampling" => capabilities.sampling.is_some(),
            "roots" => capabilities.roots.is_some(),
            _ => false,
        }
    }

    fn ask<'a>(
        &'a self,
        method: &'a str,
        params: Object,
    ) -> BoxFuture<'a, Result<Value, RpcError>> {
        Box::pin(async move {
            if !self.answers(method) {
                if method == "roots/list" {
                    let operator = self.server.shared.host.roots();
                    let roots = operator.iter().filter_map(|root| uri_of_path(root.path()));
                    let roots: Vec<_> = roots.map(|uri| json!({ "uri": uri })).collect();
                    return Ok(json!({ "roots": roots }));
                }
                return Err(unsupported_method(method));
            }
            let request = json!({ "method": method, "params": params });
            serde_json::from_value::<InputRequest>(request.clone()).map_err(|error| {
                RpcError::new(
                    RpcError::INTERNAL,
                    format!("the question is not a valid request of MCP: {error}"),
                )
            })?;
            let answer = ask(&self.cx.peer, request, self.gone()).await;
            answer.map_err(|why| RpcError::new(RpcError::INTERNAL, why.to_string()))
        })
    }

    fn gone(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            tokio::select! {
                () = self.cx.ct.cancelled() => {}
                () = self.server.shared.host.shutdown.cancelled() => {}
            }
        })
    }

    fn forwarded(&self) -> Forwarded {
        let own = self.caller.meta.as_deref().and_then(|meta| serde_json::from_str(meta).ok());
        let mut meta: Object = own.unwrap_or_default();
        let token = self.cx.meta.get_progress_token();
        meta.extend(token.map(|token| ("progressToken".to_owned(), json!(token))));
        Forwarded {
            session: Arc::from(&*self.server.session.name.0),
            owner: Some(self.server.connection_owner(self.caller, self.cx)),
            meta: (!meta.is_empty()).then_some(meta),
            capabilities: capabilities_for_servers(json!(self.caller.capabilities)),
            log_level: self.log_level.map(level_name),
        }
    }
}

impl Server {
    /// The session that owns connections to upstream servers. Over HTTP, revision 2026-07-28 has no sessions, so all
    /// requests of a principal count as one session.
    pub(super) fn connection_owner(
        &self,
        caller: &Caller,
        cx: &RequestContext<RoleServer>,
    ) -> Owner {
        let era = if caller.modern { Era::Modern } else { Era::Legacy };
        let is_http = cx.extensions.get::<http::request::Parts>().is_some();
        if caller.modern && is_http {
            let principal = caller.principal.as_deref().unwrap_or_default();
            let end = self.shared.host.shutdown.clone();
            return Owner { name: format!("principal {principal}").into(), era, end };
        }
        Owner { name: Arc::from(&*self.session.name.0), era, end: self.session.end.0.clone() }
    }
}

/// Why a question to a client has no answer.
#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    /// The client cancelled its own request, or the host is shutting down.
    #[error("the client cancelled the request, or the host is shutting down")]
    Gone,
    /// The client took longer than [`ANSWER_TIME`].
    #[error("the client did not answer in time")]
    TimedOut,
    /// The client's result does not fit the question.
    #[error("the client's answer does not fit the question")]
    Malformed,
    /// The client answered with an error, or could not be asked. Contains the reason.
    #[error("the client gave no answer to the question: {0}")]
    Failed(String),
}

/// Asks a legacy client one question: an object with `method` and `params`, which is sent as it is. rmcp's own types
/// would change numbers and drop unknown members. Waits for the answer at most for [`ANSWER_TIME`], and not after
/// `gone` has completed.
///
/// # Errors
///
/// [`NoAnswer`].
pub async fn ask(
    peer: &Peer<RoleServer>,
    mut request: Value,
    gone: impl Future<Output = ()>,
) -> Result<Value, NoAnswer> {
    let params = request.get_mut("params").map(Value::take);
    let method = request["method"].as_str().unwrap_or_default();
    let asking =
        peer.send_request(ServerRequest::CustomRequest(CustomRequest::new(method, params)));
    tokio::select! {
        answer = tokio::time::timeout(ANSWER_TIME, asking) => match answer {
            Ok(Ok(answer)) if is_answer_to(method, &answer) => Ok(json!(answer)),
            Ok(Ok(_)) => Err(NoAnswer::Malformed),
            Ok(Err(error)) => {
                Err(NoAnswer::Failed(portcullis_sanitize::line(&error.to_string(), 300)))
            }
            Err(_) => Err(NoAnswer::TimedOut),
        },
        () = gone => Err(NoAnswer::Gone),
    }
}

/// Whether a client's result is of the kind that a question with this method asks for.
fn is_answer_to(method: &str, answer: &ClientResult) -> bool {
    match answer {
        ClientResult::ElicitResult(_) => method == "elicitation/create",
        ClientResult::CreateMessageResult(_) => method == "sampling/createMessage",
        ClientResult::ListRootsResult(_) => method == "roots/list",
        // A later version of rmcp may have more kinds.
        ClientResult::EmptyResult(_) | ClientResult::CustomResult(_) | _ => false,
    }
}

/// The client's capabilities as an upstream server is told them. The client cannot fetch the result of a task of that
/// server, because its requests about tasks are answered by the host.
fn capabilities_for_servers(mut capabilities: Value) -> Option<Object> {
    let members = capabilities.as_object_mut()?;
    members.remove("tasks");
    if let Some(Value::Object(extensions)) = members.get_mut("extensions") {
        extensions.remove(TASKS_EXTENSION);
    }
    Some(std::mem::take(members))
}
