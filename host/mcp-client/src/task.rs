//! Tasks of MCP 2025-11-25 at an upstream server. Some tools can be called only as a task: the server answers with a task
//! at once, and with the result when the client asks for it. The host does both, so that its own clients get a result as
//! of any other tool.
//!
//! The name of the tool's demand is `execution.taskSupport`, with the value `required`. Revision 2026-07-28 has no such
//! tools.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::message::Object;

/// The request that waits for the end of a task, and is answered with the result.
pub(crate) const RESULT: &str = "tasks/result";

/// The notification of a task's new status.
pub(crate) const STATUS: &str = "notifications/tasks/status";

/// The part of the progress that one change of a task's status is. It is small, because it is not known how many
/// changes there will be.
const STEP: f64 = 1e-3;

/// Removes the demand of a tool to be called as a task from its definition. Returns whether there was one.
pub(crate) fn take_demand(definition: &mut Object) -> bool {
    let Some(Value::Object(execution)) = definition.get_mut("execution") else { return false };
    let is_needed = execution.get("taskSupport").is_some_and(|support| support == "required");
    if is_needed {
        execution.remove("taskSupport");
        if execution.is_empty() {
            definition.remove("execution");
        }
    }
    is_needed
}

/// Whether tools of an upstream with these capabilities can be called as tasks.
pub(crate) fn has_tasks(capabilities: &Object) -> bool {
    has(capabilities, "/requests/tools/call")
}

/// Whether tasks of an upstream with these capabilities can be cancelled.
pub(crate) fn can_cancel(capabilities: &Object) -> bool {
    has(capabilities, "/cancel")
}

/// Whether the capability `tasks` has this part.
fn has(capabilities: &Object, part: &str) -> bool {
    let tasks = capabilities.get("tasks");
    tasks.and_then(|tasks| tasks.pointer(part)).is_some_and(|value| !value.is_null())
}

/// The task that a request waits for, as `Calls` needs it: its id, and the id of the request that created it. The
/// progress token of that request stays valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TaskOwner {
    pub(crate) task: Arc<str>,
    pub(crate) created_by: u64,
}

/// The progress of a task, for a caller that wants progress.
#[derive(Debug)]
pub(crate) struct TaskProgress {
    /// The number of changes of the status. `None`: the upstream reports progress itself.
    changes: Option<u32>,
}

impl TaskProgress {
    pub(crate) fn new() -> Self {
        Self { changes: Some(0) }
    }

    /// A new status as progress, with this token. `None`: the status has no message, or the upstream reports progress
    /// itself.
    pub(crate) fn of_status(&mut self, status: &Object, token: Value) -> Option<Object> {
        let message = status.get("statusMessage")?.as_str()?;
        let changes = self.changes.as_mut()?;
        *changes += 1;
        let done = f64::from(*changes) * STEP;
        let progress = json!({ "progressToken": token, "progress": done, "message": message });
        progress.as_object().cloned()
    }

    /// Notes that the upstream reports progress itself.
    pub(crate) fn is_reported(&mut self) {
        self.changes = None;
    }
}
