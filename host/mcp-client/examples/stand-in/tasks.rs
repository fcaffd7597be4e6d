//! Tasks of MCP 2025-11-25: the tool `research` can be called only as a task. Follows
//! `dist/tools/simulate-research-query.js` of `@modelcontextprotocol/server-everything`, and the section "Tasks" of the
//! specification.

use serde_json::{Value, json};

use crate::script::{Call, Server};

/// The definition of the tool.
pub fn definition() -> Value {
    json!({"name": "research", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "required"}})
}

fn error(code: i32, message: &str) -> Value {
    json!({"code": code, "message": message})
}

fn task(id: &str, status: &str) -> Value {
    json!({"taskId": id, "status": status, "statusMessage": format!("{status}..."), "ttl": 60_000,
        "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z"})
}

impl Server {
    /// Creates a task for a call of the tool.
    pub fn create_task(&self, call: &Call) -> Result<Value, Value> {
        if !call.params["task"].is_object() {
            return Err(error(-32601, "Tool research requires task augmentation"));
        }
        let mut tasks = self.tasks.lock();
        tasks.push(call.params.clone());
        Ok(json!({"task": task(&format!("task-{}", tasks.len()), "working")}))
    }

    /// Answers `tasks/result` and `tasks/cancel`. `None`: there is no answer.
    pub async fn about_task(&self, method: &str, call: &Call) -> Option<Result<Value, Value>> {
        let id = call.params["taskId"].as_str().unwrap_or_default();
        let number: usize = id.trim_start_matches("task-").parse().unwrap_or_default();
        let created = self.tasks.lock().get(number.wrapping_sub(1)).cloned();
        let Some(created) = created else { return Some(Err(error(-32602, "no such task"))) };
        if method == "tasks/cancel" {
            return Some(Ok(task(id, "cancelled")));
        }
        let notify = |method: &str, params: Value| {
            let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
            let _gone = call.out.send(message);
        };
        let arguments = &created["arguments"];
        notify("notifications/tasks/status", task(id, "working"));
        if arguments["reports"] == true {
            let token = &created["_meta"]["progressToken"];
            notify("notifications/progress", json!({"progressToken": token, "progress": 0.5}));
            notify("notifications/tasks/status", task(id, "reporting"));
        }
        if arguments["hangs"] == true {
            return None;
        }
        let mut text = "found".to_owned();
        if arguments["asks"] == true {
            let params = json!({"message": "Which?", "requestedSchema": {"type": "object", "properties": {}}});
            text += &self.ask(&call.out, "elicitation/create", params).await["result"].to_string();
        }
        Some(Ok(json!({"content": [{"type": "text", "text": text}]})))
    }
}
