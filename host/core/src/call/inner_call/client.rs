//! The client of an inner call: forwards all questions and notifications to the client of the run. The progress of all
//! inner calls of a run is counted together, because MCP requires progress to increase.

use std::sync::atomic::{AtomicU64, Ordering};

use portcullis_mcp_client::{Object, RpcError};
use serde_json::Value;

use crate::call::client::{BoxFuture, Client, Forwarded, Notification};
use crate::sandbox::CallNotification;

/// The client of one inner call.
pub(super) struct InnerClient<'a> {
    /// The client of the plugin's own call.
    pub outer: &'a dyn Client,
    /// The tool that is called, as clients know it.
    pub tool: &'a str,
    /// The number of progress notifications that this round of the run has sent.
    pub steps: &'a AtomicU64,
}

/// The next progress notification about an inner call.
pub(crate) fn step(steps: &AtomicU64, tool: &str, what: &str) -> Notification {
    let done = steps.fetch_add(1, Ordering::Relaxed) + 1;
    #[expect(clippy::cast_precision_loss, reason = "a run has few notifications")]
    let done = done as f64;
    Notification::Plugin(CallNotification::Progress {
        done,
        total: None,
        message: Some(format!("{tool}: {what}")),
    })
}

impl Client for InnerClient<'_> {
    fn is_modern(&self) -> bool {
        self.outer.is_modern()
    }

    fn is_notified(&self) -> bool {
        self.outer.is_notified()
    }

    fn notify(&self, notification: Notification) -> BoxFuture<'_, ()> {
        let told = match notification {
            Notification::Plugin(CallNotification::Progress { message, .. }) => {
                step(self.steps, self.tool, message.as_deref().unwrap_or("in progress"))
            }
            Notification::Progress(params) => {
                let message = params.get("message").and_then(Value::as_str);
                step(self.steps, self.tool, message.unwrap_or("in progress"))
            }
            log @ (Notification::Plugin(CallNotification::Log { .. }) | Notification::Log(_)) => {
                log
            }
        };
        self.outer.notify(told)
    }

    fn answers(&self, method: &str) -> bool {
        self.outer.answers(method)
    }

    fn ask<'a>(
        &'a self,
        method: &'a str,
        params: Object,
    ) -> BoxFuture<'a, Result<Value, RpcError>> {
        self.outer.ask(method, params)
    }

    fn gone(&self) -> BoxFuture<'_, ()> {
        self.outer.gone()
    }

    fn forwarded(&self) -> Forwarded {
        self.outer.forwarded()
    }
}
