//! Tasks (`io.modelcontextprotocol/tasks`): a long call whose result the client fetches later.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;

use parking_lot::Mutex;
use portcullis_roots::Roots;
use rmcp::model::{CallToolResult, CreateTaskResult, ErrorData, InputResponses, Task};
use rmcp::task_manager::{TaskContext, TaskExit, TaskManager, TaskOptions};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::failures::tool_answer;
use super::input::Exchange;
use super::session::Caller;
use super::{Server, convert};
use portcullis_core::call::client::{BoxFuture, Client, Notification, Origin, not_taken_part_in};
use portcullis_core::call::{self, Answer, Answered, Call, CallFailure, Work};
use portcullis_core::plugins::Loaded;
use portcullis_core::sandbox::Notice;
use portcullis_core::source::Source;
use portcullis_mcp_client::{Object, RpcError};

/// The extension, by the contract's name for it.
pub const FEATURE: &str = "extension:io.modelcontextprotocol/tasks";

/// Tasks that may go on at the same time, of all clients together.
const MAX_TASKS: usize = 64;

/// A task that runs.
type Running = Pin<Box<dyn Future<Output = Result<CallToolResult, TaskExit>> + Send>>;

/// The tasks of all clients, each with its owner.
pub struct Tasks {
    manager: TaskManager,
    /// The principal of each task, where the transport knows one, by the task's id.
    owners: Mutex<HashMap<String, Option<String>>>,
}

impl Default for Tasks {
    fn default() -> Self {
        Self { manager: TaskManager::new(), owners: Mutex::default() }
    }
}

impl Tasks {
    /// The tasks, for a caller that owns this one.
    ///
    /// # Errors
    ///
    /// Where there is no such task, or another caller owns it: the two cannot be told apart.
    pub fn of(&self, principal: Option<&str>, id: &str) -> Result<&TaskManager, ErrorData> {
        match self.owners.lock().get(id) {
            Some(owner) if owner.as_deref() == principal => Ok(&self.manager),
            // The answer for an id that nobody has.
            Some(_) | None => self.manager.get_task("").map(|_| &self.manager),
        }
    }

    /// Starts a task.
    fn spawn(
        &self,
        principal: Option<String>,
        options: TaskOptions,
        make: impl FnOnce(TaskContext) -> Running,
    ) -> Task {
        let task = self.manager.spawn(options, make);
        let mut owners = self.owners.lock();
        owners.retain(|id, _| self.manager.get_task(id).is_ok());
        owners.insert(task.task_id.clone(), principal);
        task
    }
}

/// What a task has to do.
pub struct TaskWork {
    /// The plugin.
    pub loaded: Arc<Loaded>,
    /// What is asked of it.
    pub work: Work,
    /// The session's directories.
    pub roots: Roots,
    /// For whom.
    pub caller: Caller,
    /// The rounds so far, with the state that it goes on from.
    pub exchange: Exchange,
}

impl TaskWork {
    /// Begins it.
    ///
    /// # Errors
    ///
    /// Where too much is going on already.
    pub fn begin(self, server: &Server) -> Result<CreateTaskResult, CallFailure> {
        let tasks = &server.shared.tasks;
        if tasks.manager.running_task_count() >= MAX_TASKS {
            let why = format!("{MAX_TASKS} tasks are going on: try again later");
            return Err(CallFailure::TooLarge(why));
        }
        let time = self.loaded.plugin.terms.limits.background();
        let time = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        // A little longer than the plugin has, so that its own end is what the client learns of.
        let options = TaskOptions::new().with_ttl_ms(time.saturating_add(5_000));
        let server = server.clone();
        let principal = self.caller.principal.clone();
        let task = tasks.spawn(principal, options, |cx| Box::pin(self.run(server, cx)));
        Ok(CreateTaskResult::new(task))
    }

    async fn run(mut self, server: Server, cx: TaskContext) -> Result<CallToolResult, TaskExit> {
        loop {
            match self.round(&server, &cx).await {
                Ok(Answer::Tool(result)) => {
                    let result = convert::result(result).map_err(CallFailure::BrokenPromise);
                    return result.or_else(|failure| end_of_failed(&failure));
                }
                Ok(Answer::NeedInput(need)) => {
                    let asks = match self.exchange.ask(need, &self.caller, &self.loaded) {
                        Ok(asks) => asks,
                        Err(failure) => return end_of_failed(&failure),
                    };
                    let asking = asks.into_iter().map(|(key, ask)| {
                        let cx = &cx;
                        async move {
                            let answer = cx.request_input(key.clone(), ask).await?;
                            Ok::<_, TaskExit>((key, answer))
                        }
                    });
                    let answers: Vec<_> = futures_util::future::try_join_all(asking).await?;
                    self.exchange.take(answers.into_iter().collect::<InputResponses>());
                }
                Ok(_) => {
                    return end_of_failed(&CallFailure::BrokenPromise(
                        "a task ends with an answer".into(),
                    ));
                }
                Err(failure) => return end_of_failed(&failure),
            }
        }
    }

    async fn round(&mut self, server: &Server, cx: &TaskContext) -> Result<Answer, CallFailure> {
        let mut context = self.caller.context(&self.exchange);
        context.background = true;
        server.shared.host.surround(&mut context, &self.loaded, &self.roots);
        let client = TaskClient { shutdown: &server.shared.host.shutdown, cx };
        let call = Call {
            request: self.exchange.request.clone(),
            work: self.work.clone(),
            roots: self.roots.clone(),
            context,
            task: true,
            decisions: self.exchange.decided(),
            resumed: None,
            client: &client,
        };
        match call::call(Source::Plugin(&self.loaded), call).await? {
            Answered::Typed(answer) => Ok(answer),
            Answered::Whole(_) | Answered::Questions { .. } => {
                Err(CallFailure::Host("a plugin answers as an upstream server does".into()))
            }
        }
    }
}

/// The client of a task: it reads the task's status message, and may cancel the task.
struct TaskClient<'a> {
    shutdown: &'a CancellationToken,
    cx: &'a TaskContext,
}

impl Client for TaskClient<'_> {
    fn is_notified(&self) -> bool {
        true
    }

    fn notify(&self, notification: Notification) -> BoxFuture<'_, ()> {
        if let Notification::Plugin(Notice::Progress { message: Some(message), .. }) = notification
        {
            self.cx.set_status_message(portcullis_sanitize::line(&message, 300));
        }
        Box::pin(std::future::ready(()))
    }

    fn answers(&self, _: &str) -> bool {
        false
    }

    fn ask<'a>(&'a self, method: &'a str, _: Object) -> BoxFuture<'a, Result<Value, RpcError>> {
        Box::pin(std::future::ready(Err(not_taken_part_in(method))))
    }

    fn gone(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            tokio::select! {
                () = self.cx.cancelled() => {}
                () = self.shutdown.cancelled() => {}
            }
        })
    }

    fn origin(&self) -> Origin {
        Origin::default()
    }
}

/// The end of a task whose call failed.
fn end_of_failed(failure: &CallFailure) -> Result<CallToolResult, TaskExit> {
    if let CallFailure::Cancelled = failure {
        return Err(TaskExit::Cancelled);
    }
    tool_answer(failure).map_err(TaskExit::Error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_is_there_for_nobody_but_its_owner() {
        let tasks = Tasks::default();
        let start = |principal: Option<&str>| {
            let options = TaskOptions::new().with_ttl_ms(60_000);
            let task = tasks
                .spawn(principal.map(str::to_owned), options, |_| Box::pin(std::future::pending()));
            task.task_id
        };
        let (ada, nobody) = (start(Some("ada")), start(None));
        assert!(tasks.of(Some("ada"), &ada).is_ok());
        assert!(tasks.of(None, &nobody).is_ok());
        for (principal, id) in [(Some("eve"), &ada), (None, &ada), (Some("ada"), &nobody)] {
            let refused = tasks.of(principal, id).err().unwrap();
            let unknown = tasks.of(principal, "no such task").err().unwrap();
            assert_eq!(refused.code, unknown.code);
            assert_eq!(refused.message, unknown.message, "the two cannot be told apart");
        }
    }
}
