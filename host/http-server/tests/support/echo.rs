//! A small MCP server for the tests. Its tools return texts, wait until the test releases them, or ask the client for
//! its roots.

#![expect(deprecated, reason = "servers may request roots until 2027")]

use std::sync::Arc;

use http::request::Parts;
use portcullis_http_server::Principal;
use portcullis_result_passthrough::PassthroughKey;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// The state that a test shares with all handlers of its server.
#[derive(Clone)]
pub struct Echo {
    pub raw: PassthroughKey,
    /// One call of `wait` ends for each permit.
    pub release: Arc<Semaphore>,
    /// A permit for each call of `wait` that has begun.
    pub begun: Arc<Semaphore>,
    /// A permit for each call of `wait` that was cancelled.
    pub cancelled: Arc<Semaphore>,
}

impl Echo {
    pub fn new() -> Self {
        Self {
            raw: PassthroughKey::new().unwrap(),
            release: Arc::new(Semaphore::new(0)),
            begun: Arc::new(Semaphore::new(0)),
            cancelled: Arc::new(Semaphore::new(0)),
        }
    }

    async fn run(
        &self,
        name: &str,
        arguments: Value,
        cx: &RequestContext<RoleServer>,
    ) -> Option<CallToolResult> {
        let text = match name {
            "echo" => arguments["text"].as_str()?.to_owned(),
            "whoami" => {
                let parts = cx.extensions.get::<Parts>()?;
                let principal = parts.extensions.get::<Principal>().map(Principal::to_string);
                let seen = parts.headers.contains_key("authorization");
                format!("{} {seen}", principal.unwrap_or_else(|| "nobody".into()))
            }
            "raw" => {
                let mut result = CallToolResult::success(vec![]);
                result.meta = Some(self.raw.wrap(arguments));
                return Some(result);
            }
            "wait" => {
                if let Some(token) = cx.meta.get_progress_token() {
                    let progress = ProgressNotificationParam::new(token, 1.0);
                    cx.peer.notify_progress(progress).await.ok()?;
                }
                self.begun.add_permits(1);
                tokio::select! {
                    permit = self.release.acquire() => permit.ok()?.forget(),
                    () = cx.ct.cancelled() => self.cancelled.add_permits(1),
                }
                "waited".to_owned()
            }
            "flood" => {
                let token = cx.meta.get_progress_token()?;
                let text = "x".repeat(usize::try_from(arguments["bytes"].as_u64()?).ok()?);
                for _ in 0..arguments["count"].as_u64()? {
                    let progress = ProgressNotificationParam::new(token.clone(), 1.0);
                    let progress = progress.with_message(text.clone());
                    cx.peer.notify_progress(progress).await.ok()?;
                }
                "flooded".to_owned()
            }
            "large" => "x".repeat(usize::try_from(arguments["bytes"].as_u64()?).ok()?),
            "roots" => {
                let roots = cx.peer.list_roots().await.ok()?;
                roots.roots.iter().map(|root| root.uri.clone()).collect::<Vec<_>>().join(" ")
            }
            _ => return None,
        };
        Some(CallToolResult::success(vec![ContentBlock::text(text)]))
    }
}

impl ServerHandler for Echo {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = json!({"type": "object"}).as_object().cloned().unwrap_or_default();
        let names = ["echo", "whoami", "raw", "wait", "flood", "large", "roots"];
        let tools = names.map(|name| Tool::new(name, "a tool", Arc::new(schema.clone())));
        Ok(ListToolsResult::with_all_items(tools.to_vec()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        match self.run(&request.name, arguments, &cx).await {
            Some(result) => Ok(result.into()),
            None => Err(ErrorData::invalid_params("no such tool, or wrong arguments", None)),
        }
    }
}
