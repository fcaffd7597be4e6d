//! Tasks of a cluster: a task runs at one host, and clients may ask about it at any host.
//!
//! The host of a task reports the task's state to the cluster's state, and receives there what clients sent to other
//! hosts. If the host falls silent, the task has failed. No other host runs the task again, because it may have had
//! effects.

use std::time::Duration;

use portcullis_cluster_state::{
    ClusterState, HEARTBEAT_INTERVAL, Report, Reported, StateError, WorkState,
};
use portcullis_sanitize::error_chain;
use rmcp::RoleServer;
use rmcp::model::{DetailedTask, ErrorCode, ErrorData, InputResponses, TaskPayload, TaskStatus};
use rmcp::service::RequestContext;
use rmcp::task_manager::TaskManager;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::Instant;

use super::Server;
use super::caller::Caller;
use super::failures;

/// Interval at which messages are fetched for a task that waits for answers.
const ANSWER_INTERVAL: Duration = Duration::from_millis(100);

/// Interval at which messages are fetched for a task that works.
const WORK_INTERVAL: Duration = Duration::from_millis(400);

/// The error of a task whose host fell silent.
const LOST: &str = "the host that ran this task has ended or cannot be reached, so the task was given up. What it did \
                    until then may have taken effect; it was not repeated";

/// A task, as hosts report it.
#[derive(Serialize, Deserialize)]
struct ReportedTask {
    /// The principal that owns the task. `None`: the transport does not authenticate callers.
    owner: Option<String>,
    task: DetailedTask,
}

/// What a client sent to another host than the one of its task.
#[derive(Serialize, Deserialize)]
enum Message {
    /// `tasks/update`.
    Update(InputResponses),
    /// `tasks/cancel`.
    Cancel,
}

/// A task of this host.
pub(super) struct OwnTask {
    pub(super) id: String,
    pub(super) owner: Option<String>,
    /// How long the task is kept after its last report.
    pub(super) kept: Duration,
    pub(super) manager: TaskManager,
    pub(super) state: ClusterState,
}

impl OwnTask {
    /// Reports the task before it begins.
    ///
    /// # Errors
    ///
    /// The cluster's state cannot be used, so the task must not begin.
    pub(super) async fn begin(&self) -> Result<(), StateError> {
        let text = self.text().ok_or_else(|| StateError::Machine("there is no task".to_owned()))?;
        let reported = self.report(Some(&text.0), text.1, true, 0).await?;
        match reported {
            Reported::Messages(_) => Ok(()),
            Reported::Lost => Err(StateError::Machine("another task has this id".to_owned())),
        }
    }

    /// Reports the task until it has ended, and passes on what clients sent to other hosts. `give_up` is called if the
    /// task is lost.
    pub(super) async fn follow(self, give_up: impl FnOnce(&str)) {
        let (mut last, mut received, mut last_heartbeat) = (Vec::new(), 0, Instant::now());
        // The manager forgets a task some time after its end.
        while let Some((text, status)) = self.text() {
            let is_new = text != last;
            let is_heartbeat = is_new || last_heartbeat.elapsed() >= HEARTBEAT_INTERVAL;
            let state = is_new.then_some(text.as_slice());
            match self.report(state, status, is_heartbeat, received).await {
                Ok(Reported::Messages(messages)) => {
                    received += messages.len();
                    messages.iter().for_each(|message| self.pass_on(message));
                    if is_heartbeat {
                        last_heartbeat = Instant::now();
                    }
                    last = text;
                    if status.is_terminal() {
                        return;
                    }
                }
                Ok(Reported::Lost) => {
                    tracing::warn!(
                        "a task was given up by another host, because this host was silent"
                    );
                    return give_up(&self.id);
                }
                // Tried again: a result that was not reported yet is kept here.
                Err(error) => tracing::debug!("reporting a task: {}", error_chain(&error)),
            }
            let interval =
                if status == TaskStatus::InputRequired { ANSWER_INTERVAL } else { WORK_INTERVAL };
            tokio::time::sleep(interval).await;
        }
    }

    /// The task as JSON, and its status. `None`: the manager does not know it any more.
    fn text(&self) -> Option<(Vec<u8>, TaskStatus)> {
        let task = self.manager.get_task(&self.id).ok()?;
        let status = task.status();
        let reported = ReportedTask { owner: self.owner.clone(), task };
        Some((serde_json::to_vec(&reported).ok()?, status))
    }

    async fn report(
        &self,
        state: Option<&[u8]>,
        status: TaskStatus,
        is_heartbeat: bool,
        received: usize,
    ) -> Result<Reported, StateError> {
        let has_ended = status.is_terminal();
        let report = Report { state, has_ended, is_heartbeat, received, kept: self.kept };
        self.state.report(&self.id, report).await
    }

    fn pass_on(&self, message: &[u8]) {
        let passed = match serde_json::from_slice(message) {
            Ok(Message::Update(responses)) => self.manager.update_task(&self.id, responses),
            Ok(Message::Cancel) => self.manager.cancel_task(&self.id),
            Err(error) => return tracing::warn!("a message to a task cannot be read: {error}"),
        };
        if let Err(error) = passed {
            tracing::debug!("a message to a task: {error}");
        }
    }
}

impl Server {
    /// Serves `tasks/get`.
    pub(super) async fn task(
        &self,
        id: &str,
        cx: &RequestContext<RoleServer>,
    ) -> Result<DetailedTask, ErrorData> {
        let principal = Caller::of(cx).principal;
        match self.task_of_others(principal.as_deref(), id).await? {
            Some((_, task)) => Ok(task),
            None => self.shared.tasks.of(principal.as_deref(), id)?.get_task(id),
        }
    }

    /// Serves `tasks/update`.
    pub(super) async fn answer_task(
        &self,
        id: &str,
        responses: InputResponses,
        cx: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let principal = Caller::of(cx).principal;
        match self.task_of_others(principal.as_deref(), id).await? {
            // As in the host itself: what comes after the end is ignored.
            Some((_, task)) if task.status().is_terminal() => Ok(()),
            Some((state, _)) => send(state, id, &Message::Update(responses)).await,
            None => self.shared.tasks.of(principal.as_deref(), id)?.update_task(id, responses),
        }
    }

    /// Serves `tasks/cancel`.
    pub(super) async fn end_task(
        &self,
        id: &str,
        cx: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let principal = Caller::of(cx).principal;
        match self.task_of_others(principal.as_deref(), id).await? {
            Some((_, task)) if task.status().is_terminal() => Ok(()),
            Some((state, _)) => send(state, id, &Message::Cancel).await,
            None => self.shared.tasks.of(principal.as_deref(), id)?.cancel_task(id),
        }
    }

    /// The caller's task of another host, with the cluster's state. `None`: the task is one of this host, or there is
    /// none.
    async fn task_of_others(
        &self,
        principal: Option<&str>,
        id: &str,
    ) -> Result<Option<(&ClusterState, DetailedTask)>, ErrorData> {
        let Some(state) = &self.shared.cluster else { return Ok(None) };
        if self.shared.tasks.is_own(principal, id) {
            return Ok(None);
        }
        Ok(look(state, principal, id).await?.map(|task| (state, task)))
    }
}

/// Reads a task of another host. `None`: there is no such task of this caller.
///
/// # Errors
///
/// The cluster's state cannot be used.
async fn look(
    state: &ClusterState,
    principal: Option<&str>,
    id: &str,
) -> Result<Option<DetailedTask>, ErrorData> {
    // An id that no host makes is not looked for.
    if id.len() > 64 || !id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-') {
        return Ok(None);
    }
    match state.look_at_work(id).await.map_err(failed)? {
        Some(found) => seen_by(principal, &found),
        None => Ok(None),
    }
}

/// A task as its caller sees it. `None`: the task is another caller's.
///
/// # Errors
///
/// The state is not a task: a fault of the host that reported it.
fn seen_by(principal: Option<&str>, found: &WorkState) -> Result<Option<DetailedTask>, ErrorData> {
    let reported: ReportedTask = serde_json::from_slice(&found.state).map_err(|error| {
        tracing::warn!("the state of a task cannot be read: {error}");
        ErrorData::internal_error("the host cannot read the state of this task", None)
    })?;
    let ReportedTask { owner, task } = reported;
    if owner.as_deref() != principal {
        return Ok(None);
    }
    if !found.is_lost {
        return Ok(Some(task));
    }
    let error = json!({ "code": ErrorCode::INTERNAL_ERROR.0, "message": LOST });
    let error = error.as_object().cloned().unwrap_or_default();
    Ok(Some(DetailedTask::new(task.task, TaskPayload::Failed { error })))
}

/// Sends a message to the task of another host.
async fn send(state: &ClusterState, id: &str, message: &Message) -> Result<(), ErrorData> {
    /// How long messages are kept: longer than a task waits for an answer.
    const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
    let text = serde_json::to_vec(message)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    if state.send_to_work(id, &text, KEPT).await.map_err(failed)? {
        return Ok(());
    }
    Err(ErrorData::invalid_request("this task was sent too many messages", None))
}

/// The error for a client.
fn failed(error: StateError) -> ErrorData {
    failures::cluster("a task of another host", &error)
}

#[cfg(test)]
mod tests {
    use rmcp::model::Task;

    use super::*;

    fn reported(owner: Option<&str>, is_lost: bool) -> WorkState {
        let time = "2026-07-28T00:00:00Z".to_owned();
        let task = Task::new("a-task".to_owned(), TaskStatus::Working, time.clone(), time);
        let task = DetailedTask::new(task, TaskPayload::Working);
        let task = ReportedTask { owner: owner.map(str::to_owned), task };
        WorkState { state: serde_json::to_vec(&task).unwrap(), is_lost }
    }

    #[test]
    fn only_its_owner_sees_a_task_of_another_host() {
        let sees =
            |principal, owner| seen_by(principal, &reported(owner, false)).unwrap().is_some();
        assert!(sees(Some("ada"), Some("ada")) && sees(None, None));
        for (principal, owner) in
            [(Some("eve"), Some("ada")), (None, Some("ada")), (Some("ada"), None)]
        {
            assert!(!sees(principal, owner), "{principal:?}, {owner:?}");
            let lost = seen_by(principal, &reported(owner, true)).unwrap();
            assert!(lost.is_none(), "a lost task is no less the owner's");
        }
    }

    #[test]
    fn a_task_whose_host_fell_silent_has_failed_and_the_error_says_what_may_have_happened() {
        let lost = seen_by(None, &reported(None, true)).unwrap().unwrap();
        assert_eq!(lost.status(), TaskStatus::Failed);
        let text = serde_json::to_string(&lost).unwrap();
        assert!(text.contains("may have taken effect") && text.contains("a-task"), "{text}");
    }
}
