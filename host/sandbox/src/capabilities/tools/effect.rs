//! Begins runs and starts calls of tools. Each function takes a permit.

use tokio::sync::oneshot;

use super::calls::{CallPermit, ToolCalls, ToolRequest};
use super::grant::{ToolAsk, ToolUse};
use crate::bindings::portcullis::plugin::tool_calls::Beginning;
use crate::gate::Permit;

/// Begins a run of this program. `None`: the pipeline no longer serves the plugin's call.
pub async fn begin(
    permit: Permit<ToolAsk>,
    calls: &ToolCalls,
    program: String,
    milliseconds: Option<u32>,
) -> Option<Result<Beginning, String>> {
    let ToolUse::Begin(digest) = &permit.ask().0 else { return None };
    let digest = digest.clone();
    permit.record_done("begun").ok()?;
    let (reply, begun) = oneshot::channel();
    calls.requests.send(ToolRequest::Begin { program, digest, milliseconds, reply }).ok()?;
    begun.await.ok()
}

/// Starts the call of the permit.
pub fn start(permit: Permit<ToolAsk>, calls: &ToolCalls, arguments: String) {
    let ToolUse::Call { call, tool } = &permit.ask().0 else { return };
    let (call, tool) = (*call, tool.clone());
    let permit = Some(CallPermit::new(permit));
    // If the pipeline no longer serves the plugin's call, the permit is dropped, and its outcome is `stopped`.
    let _ended = calls.requests.send(ToolRequest::Start { call, tool, arguments, permit });
}
