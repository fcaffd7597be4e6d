//! Tasks (the MCP extension `io.modelcontextprotocol/tasks`): long calls whose result the client fetches later.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use portcullis_roots::Roots;
use portcullis_sanitize::error_chain;
use rmcp::model::{CallToolResult, CreateTaskResult, ErrorData, InputResponses, Task};
use rmcp::task_manager::{TaskContext, TaskExit, TaskManager, TaskOptions};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::caller::Caller;
use super::cluster_tasks::OwnTask;
use super::failures::tool_answer;
use super::input::Exchange;
use super::{Server, convert};
use portcullis_core::call::client::{
    BoxFuture, Client, Forwarded, Notification, unsupported_method,
};
use portcullis_core::call::{self, Call, CallFailure, PluginAnswer, SourceAnswer, Work};
use portcullis_core::plugins::LoadedPlugin;
use portcullis_core::sandbox::CallNotification;
use portcullis_core::source::Source;
use portcullis_mcp_client::{Object, RpcError};

/// Maximum number of tasks that run at the same time, of all clients together.
const MAX_TASKS: usize = 64;

/// The future of a task.
type Running = Pin<Box<dyn Future<Output = Result<CallToolResult, TaskExit>> + Send>>;

/// The tasks of all clients, each with its owner.
pub struct Tasks {
    manager: TaskManager,
    /// The principal of each task by the task's id. `None`: the transport does not authenticate callers.
    owners: Mutex<HashMap<String, Option<String>>>,
}

impl Default for Tasks {
    fn default() -> Self {
        Self { manager: TaskManager::new(), owners: Mutex::default() }
    }
}

impl Tasks {
    /// The task manager, for the caller that owns the task `id`.
    ///
    /// # Errors
    ///
    /// There is no such task, or another caller owns it. The error does not tell which.
    pub fn of(&self, principal: Option<&str>, id: &str) -> Result<&TaskManager, ErrorData> {
        match self.owners.lock().get(id) {
            Some(owner) if owner.as_deref() == principal => Ok(&self.manager),
            // The error for an id that does not exist.
            Some(_) | None => self.manager.get_task("").map(|_| &self.manager),
        }
    }

    /// Whether the task `id` runs or ran at this host, for this caller.
    pub(super) fn is_own(&self, principal: Option<&str>, id: &str) -> bool {
        self.owners.lock().get(id).is_some_and(|owner| owner.as_deref() == principal)
    }

    /// Cancels a task that other hosts have given up. From now on, this host answers about it as they do.
    pub(super) fn give_up(&self, id: &str) {
        self.owners.lock().remove(id);
        if let Err(error) = self.manager.cancel_task(id) {
            tracing::debug!("cancelling a task: {error}");
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

/// The work of a task.
pub struct TaskWork {
    /// The plugin.
    pub loaded: Arc<LoadedPlugin>,
    /// The work that the plugin does.
    pub work: Work,
    /// The session's roots.
    pub roots: Roots,
    /// The caller.
    pub caller: Caller,
    /// The rounds so far, with the state from which the plugin continues.
    pub exchange: Exchange,
}

impl TaskWork {
    /// Starts the task.
    ///
    /// # Errors
    ///
    /// [`CallFailure::Busy`]: too many tasks are running, or the cluster's state cannot be used.
    pub async fn start(self, server: &Server) -> Result<CreateTaskResult, CallFailure> {
        let tasks = &server.shared.tasks;
        if tasks.manager.running_task_count() >= MAX_TASKS {
            let why = format!("{MAX_TASKS} tasks are running: try again later");
            return Err(CallFailure::Busy(why));
        }
        let time = self.loaded.plugin.terms.limits.background();
        let time = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        // The TTL is five seconds longer than the time limit of a round, so that the client gets the plugin's failure.
        let options = TaskOptions::new().with_ttl_ms(time.saturating_add(5_000));
        let server = server.clone();
        let principal = self.caller.principal.clone();
        let Some(state) = server.shared.cluster.clone() else {
            let task = tasks.spawn(principal, options, |cx| Box::pin(self.run(server, cx)));
            return Ok(CreateTaskResult::new(task));
        };
        // The work begins once other hosts know the task.
        let (begin, has_begun) = oneshot::channel();
        let shared = server.shared.clone();
        let task = tasks.spawn(principal.clone(), options, |cx| {
            Box::pin(async move {
                has_begun.await.map_err(|_| TaskExit::Cancelled)?;
                self.run(server, cx).await
            })
        });
        let kept = Duration::from_millis(time.saturating_mul(2).saturating_add(60_000));
        let (id, manager) = (task.task_id.clone(), tasks.manager.clone());
        let own = OwnTask { id, owner: principal, kept, manager, state };
        own.begin().await.map_err(|error| {
            tracing::warn!("a task was not started: {}", error_chain(&error));
            let why = "the state that the hosts share cannot be used now, so the task was not started: try again later";
            CallFailure::Busy(why.to_owned())
        })?;
        tokio::spawn(own.follow(move |id| shared.tasks.give_up(id)));
        let _ended = begin.send(());
        Ok(CreateTaskResult::new(task))
    }

    async fn run(mut self, server: Server, cx: TaskContext) -> Result<CallToolResult, TaskExit> {
        loop {
            match self.round(&server, &cx).await {
                // The answer of a plugin whose work was cancelled is not a result.
                Ok(PluginAnswer::Tool(_)) if cx.is_cancel_requested() => {
                    return Err(TaskExit::Cancelled);
                }
                Ok(PluginAnswer::Tool(result)) => {
                    let result = convert::result(result)
                        .map_err(|error| CallFailure::BrokenPromise(error.to_string()));
                    return result.or_else(|failure| end_of_failed(&failure));
                }
                Ok(PluginAnswer::NeedInput(need)) => {
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
                    self.exchange.accept(answers.into_iter().collect::<InputResponses>());
                }
                Ok(_) => {
                    return end_of_failed(&CallFailure::BrokenPromise(
                        "the plugin has to end a task with a result of the tool".into(),
                    ));
                }
                Err(failure) => return end_of_failed(&failure),
            }
        }
    }

    async fn round(
        &mut self,
        server: &Server,
        cx: &TaskContext,
    ) -> Result<PluginAnswer, CallFailure> {
        let mut context = self.exchange.context(&self.caller);
        context.background = true;
        server.shared.host.attach_shared_state(&mut context, &self.loaded, &self.roots);
        let client = TaskClient { shutdown: &server.shared.host.shutdown, cx };
        let call = Call {
            request: self.exchange.request.clone(),
            origin: self.caller.origin.clone(),
            work: self.work.clone(),
            roots: self.roots.clone(),
            context,
            task: true,
            decisions: self.exchange.take_decisions(),
            resumed: None,
            client: &client,
            inner: None,
        };
        match call::call(Source::Plugin(&self.loaded), call).await? {
            SourceAnswer::Plugin(answer) => Ok(answer),
            SourceAnswer::Upstream(_)
            | SourceAnswer::UpstreamQuestions { .. }
            | SourceAnswer::InnerQuestions(_) => {
                Err(CallFailure::Host("the answer of a task is of the wrong kind".into()))
            }
        }
    }
}

/// Stands in for the client during a round of a task: progress becomes the task's status message, and no question can
/// be asked. The questions that end a round are asked by the task itself.
struct TaskClient<'a> {
    shutdown: &'a CancellationToken,
    cx: &'a TaskContext,
}

impl Client for TaskClient<'_> {
    fn is_notified(&self) -> bool {
        true
    }

    fn notify(&self, notification: Notification) -> BoxFuture<'_, ()> {
        if let Notification::Plugin(CallNotification::Progress { message: Some(message), .. }) =
            notification
        {
            self.cx.set_status_message(portcullis_sanitize::line(&message, 300));
        }
        Box::pin(std::future::ready(()))
    }

    fn answers(&self, _: &str) -> bool {
        false
    }

    fn ask<'a>(&'a self, method: &'a str, _: Object) -> BoxFuture<'a, Result<Value, RpcError>> {
        Box::pin(std::future::ready(Err(unsupported_method(method))))
    }

    fn gone(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            tokio::select! {
                () = self.cx.cancelled() => {}
                () = self.shutdown.cancelled() => {}
            }
        })
    }

    fn forwarded(&self) -> Forwarded {
        Forwarded::default()
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
    async fn only_its_owner_can_use_a_task() {
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
