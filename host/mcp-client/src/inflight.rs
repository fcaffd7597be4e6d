//! A request to an upstream server in flight, and its events until the answer.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::calls::{QuestionKey, RequestEnd, RequestEvent, RequestOwner};
use crate::connection::{OutgoingRequest, take_progress_token};
use crate::fault::{Fault, FaultCause};
use crate::message::{Object, RpcError, object};
use crate::shared::Shared;
use crate::task::{self, TaskOwner, TaskProgress};
use crate::wire::{Era, PendingRequest, ended};

/// Maximum time of a request, even if the request reports progress. Subscriptions have no maximum time. A longer
/// timeout in `[upstreams.NAME]` replaces this maximum.
const MAX_DURATION: Duration = Duration::from_secs(10 * 60);

/// A request to an upstream.
#[derive(Debug, Clone)]
pub struct UpstreamRequest {
    /// The method, such as `tools/call`.
    pub method: String,
    /// The parameters. Tools and prompts have the names that the upstream gave them. A progress token in `_meta` is the
    /// caller's; the upstream gets another token.
    pub params: Object,
    /// The session of the caller. Questions of the upstream reach no other session.
    pub session: Arc<str>,
    /// The client capabilities that a modern upstream is told with this request. `None`: those of `ClientSettings`.
    pub capabilities: Option<Object>,
    /// The minimum level of log records that a modern upstream may send for this request, such as `info`. `None`: it
    /// may send none.
    pub log_level: Option<String>,
}

impl UpstreamRequest {
    /// A request for this session.
    pub fn new(method: &str, params: Object, session: &str) -> Self {
        let (method, session) = (method.to_owned(), session.into());
        Self { method, params, session, capabilities: None, log_level: None }
    }

    /// The same request with the input that the upstream asked for. `answers`: the answers by the keys of the
    /// upstream's questions. `state`: the upstream's state, unchanged.
    #[must_use]
    pub fn with_input(mut self, answers: Object, state: Option<String>) -> Self {
        for key in ["inputResponses", "requestState"] {
            self.params.remove(key);
        }
        if !answers.is_empty() {
            self.params.insert("inputResponses".to_owned(), answers.into());
        }
        if let Some(state) = state {
            self.params.insert("requestState".to_owned(), state.into());
        }
        self
    }
}

/// An event of a request in flight.
#[derive(Debug)]
pub enum Event {
    /// `notifications/progress`, with the caller's token.
    Progress(Object),
    /// `notifications/message`.
    Log(Object),
    /// `notifications/resources/updated`, on a subscription.
    Updated(Object),
    /// Any other notification that belongs to this request.
    Other {
        /// The method.
        method: String,
        /// The parameters, unchanged.
        params: Object,
    },
    /// A question of the upstream: `sampling/createMessage`, `elicitation/create` or `roots/list`.
    Ask {
        /// Identifies the question in its answer.
        key: QuestionKey,
        /// The method.
        method: String,
        /// The parameters, unchanged.
        params: Object,
    },
    /// The upstream has withdrawn this question.
    Withdrawn(QuestionKey),
    /// The request has ended. This is the last event.
    Done(Result<RequestOutcome, Fault>),
}

/// The answer of an upstream.
#[derive(Debug, Clone, PartialEq)]
pub enum RequestOutcome {
    /// The result, unchanged.
    Complete(Value),
    /// A modern upstream needs input first: see [`UpstreamRequest::with_input`].
    NeedInput {
        /// The questions of the upstream, unchanged, by the keys that the upstream chose.
        requests: Object,
        /// The state of the upstream, which has to be returned unchanged.
        state: Option<String>,
    },
    /// An error of the upstream, unchanged.
    Error(RpcError),
}

/// A request in flight. Dropping it before its end cancels the request at the upstream.
pub struct InFlight {
    upstream: Arc<Shared>,
    request: UpstreamRequest,
    /// The progress token of the caller.
    token: Option<Value>,
    ticket: Option<PendingRequest>,
    era: Era,
    /// When the request times out. Set when the request is first sent. Progress and answers to questions extend the
    /// time up to `last_deadline`.
    deadline: Option<Instant>,
    last_deadline: Instant,
    /// The unanswered questions.
    asks: Vec<QuestionKey>,
    /// Whether the request may be sent again if the upstream did not process it.
    again: bool,
    /// Whether the listing has to be refreshed before the request is sent again, because the server answered that
    /// the headers do not match the tool.
    refresh: bool,
    /// The task of the server that this request waits for.
    task: Option<TaskAtServer>,
    over: bool,
}

impl InFlight {
    pub(crate) fn new(upstream: Arc<Shared>, mut request: UpstreamRequest) -> Self {
        let token = take_progress_token(&mut request.params);
        Self {
            upstream,
            request,
            token,
            ticket: None,
            era: Era::Legacy,
            deadline: None,
            last_deadline: Instant::now() + MAX_DURATION,
            asks: Vec::new(),
            again: true,
            refresh: false,
            task: None,
            over: false,
        }
    }

    /// The next event. `None`: the request has ended. Cancel-safe.
    pub async fn next(&mut self) -> Option<Event> {
        while !self.over {
            if self.ticket.is_none()
                && let Err(trouble) = self.begin().await
            {
                return Some(self.end(Err(trouble)));
            }
            let until = self.until();
            let ticket = self.ticket.as_mut().expect("begun above");
            let timed_out = async {
                match until {
                    Some(until) => sleep_until(until).await,
                    None => std::future::pending().await,
                }
            };
            let event = tokio::select! {
                biased;
                Some(happening) = ticket.happenings.recv() => self.happened(happening),
                done = &mut ticket.done => self.done(ended(done)),
                () = timed_out => Some(self.timed_out()),
            };
            if event.is_some() {
                return event;
            }
        }
        None
    }

    /// Waits for the end. Questions of the upstream are refused, and its notifications are ignored.
    ///
    /// # Errors
    ///
    /// The upstream gave no answer, or the refusal of a question could not be sent.
    pub async fn outcome(mut self) -> Result<RequestOutcome, Fault> {
        loop {
            match self.next().await {
                Some(Event::Done(done)) => return done,
                Some(Event::Ask { key, .. }) => {
                    let refusal =
                        RpcError::new(RpcError::INTERNAL, "questions are not answered here");
                    self.answer(key, Err(refusal)).await?;
                }
                Some(
                    Event::Progress(_)
                    | Event::Log(_)
                    | Event::Updated(_)
                    | Event::Other { .. }
                    | Event::Withdrawn(_),
                ) => {}
                None => return Err(self.upstream.fault(&self.request.method, FaultCause::Closed)),
            }
        }
    }

    /// From now on, progress is reported with the token in these parameters. Call this when the client sent its answers
    /// in a new request, because the new request has its own token.
    pub fn continue_with(&mut self, params: &Object) {
        self.token = take_progress_token(&mut params.clone());
    }

    /// Answers a question of the upstream. The answer is dropped if the question was withdrawn or the request has
    /// ended.
    ///
    /// # Errors
    ///
    /// The answer could not be sent.
    pub async fn answer(
        &mut self,
        key: QuestionKey,
        answer: Result<Value, RpcError>,
    ) -> Result<(), Fault> {
        self.asks.retain(|asked| *asked != key);
        self.extend();
        let Some(ticket) = &self.ticket else { return Ok(()) };
        let answered = ticket.answer(key, &answer).await;
        answered.map_err(|trouble| self.upstream.fault("answering a question", trouble))
    }

    /// Sends the request. If the future is dropped before it is ready, nothing was sent.
    async fn begin(&mut self) -> Result<(), FaultCause> {
        let mut connection = self.upstream.connection().await?;
        let calls_a_tool = self.request.method == "tools/call";
        if connection.has_headers()
            && calls_a_tool
            && (self.refresh || self.upstream.known_listing().is_none())
        {
            // A failed refresh is ignored: if headers are then missing or wrong, the upstream refuses the request.
            let _listed = self.upstream.refresh().await;
            self.refresh = false;
            connection = self.upstream.connection().await?;
        }
        let known = self.upstream.known_listing();
        let wire_name = self.request.params.get("name").and_then(Value::as_str);
        let tool = known
            .iter()
            .flat_map(|known| &known.tools)
            .find(|tool| calls_a_tool && Some(tool.wire_name.as_str()) == wire_name);
        if self.deadline.is_none() {
            self.last_deadline =
                Instant::now() + MAX_DURATION.max(self.upstream.settings.plan.timeout);
            self.extend();
        }
        let peer = &connection.peer;
        if tool.is_some_and(|tool| tool.needs_task)
            && peer.era == Era::Legacy
            && task::has_tasks(&peer.capabilities)
        {
            self.request.params.insert("task".to_owned(), Object::new().into());
        }
        let sending = OutgoingRequest {
            method: &self.request.method,
            params: &mut self.request.params,
            // The host itself needs the progress of a tool, to extend the timeout.
            progress: self.token.is_some() || calls_a_tool,
            capabilities: self.request.capabilities.as_ref(),
            log_level: self.request.log_level.as_deref(),
            header_params: tool.map(|tool| tool.header_params.as_slice()).unwrap_or_default(),
        };
        let subscribes = self.request.method == "subscriptions/listen";
        let whose = RequestOwner {
            session: Some(self.request.session.clone()),
            subscribes,
            task: self.task.as_ref().map(|task| task.owner.clone()),
        };
        let beginning = connection.begin(&self.upstream.settings.client, whose, sending);
        let until = self.deadline.unwrap_or(self.last_deadline);
        let timed_out = FaultCause::TimedOut(self.upstream.settings.plan.timeout);
        let ticket = timeout_at(until, beginning).await.map_err(|_| timed_out)?;
        self.ticket = Some(match ticket {
            // The connection has just ended, and nothing was sent.
            Err(_) if connection.has_ended() && self.again => {
                self.again = false;
                return Box::pin(self.begin()).await;
            }
            ticket => ticket?,
        });
        self.era = connection.peer.era;
        Ok(())
    }

    /// When the request times out. `None`: never, because it is a subscription.
    fn until(&self) -> Option<Instant> {
        if self.request.method == "subscriptions/listen" {
            return None;
        }
        // While a question is unanswered, the upstream waits for the caller, and only `last_deadline` counts. A task is
        // something that takes long.
        let takes_long = !self.asks.is_empty() || self.task.is_some();
        Some(self.deadline.filter(|_| !takes_long).unwrap_or(self.last_deadline))
    }

    fn timed_out(&mut self) -> Event {
        let allowed = self.upstream.settings.plan.timeout;
        let at_last = self.task.is_some() || Instant::now() >= self.last_deadline;
        let most = if at_last { MAX_DURATION.max(allowed) } else { allowed };
        self.end(Err(FaultCause::TimedOut(most)))
    }

    fn extend(&mut self) {
        let until = Instant::now() + self.upstream.settings.plan.timeout;
        self.deadline = Some(until.min(self.last_deadline));
    }

    fn happened(&mut self, happening: RequestEvent) -> Option<Event> {
        match happening {
            RequestEvent::Notification { method, mut params } => Some(match method.as_str() {
                task::STATUS => {
                    let (task, token) = (self.task.as_mut()?, self.token.clone()?);
                    Event::Progress(task.progress.of_status(&params, token)?)
                }
                "notifications/progress" => {
                    self.extend();
                    self.task.iter_mut().for_each(|task| task.progress.is_reported());
                    let token = self.token.clone()?;
                    params.insert("progressToken".to_owned(), token);
                    Event::Progress(params)
                }
                "notifications/message" => Event::Log(params),
                "notifications/resources/updated" => Event::Updated(params),
                _ => Event::Other { method, params },
            }),
            RequestEvent::Ask { key, method, params } => {
                self.asks.push(key);
                Some(Event::Ask { key, method, params })
            }
            RequestEvent::Withdrawn(key) => {
                self.asks.retain(|asked| *asked != key);
                Some(Event::Withdrawn(key))
            }
        }
    }

    /// Handles the end of a request. `None`: it is sent again.
    fn done(&mut self, done: RequestEnd) -> Option<Event> {
        let outcome = match done {
            RequestEnd::Answer(Ok(result), _) => {
                if let Some(task) = self.created_task(&result) {
                    self.request.method = task::RESULT.to_owned();
                    self.request.params = task.params();
                    self.task = Some(task);
                    self.ticket = None;
                    return None;
                }
                self.task.iter_mut().for_each(|task| task.has_ended = true);
                Ok(classify_result(result, self.era))
            }
            RequestEnd::Answer(Err(error), _)
                if error.code == RpcError::HEADER_MISMATCH
                    && self.era == Era::Modern
                    && self.again =>
            {
                self.refresh = true;
                return self.once_more();
            }
            RequestEnd::Answer(Err(error), _) => {
                self.task.iter_mut().for_each(|task| task.has_ended = true);
                Ok(RequestOutcome::Error(error))
            }
            RequestEnd::SessionGone if self.again => return self.once_more(),
            RequestEnd::SessionGone => Err(FaultCause::lost("it forgets each new session")),
            RequestEnd::Trouble(trouble) => Err(trouble),
        };
        Some(self.end(outcome))
    }

    /// The task that the upstream made for this request, if the request is one for a task.
    fn created_task(&self, result: &Value) -> Option<TaskAtServer> {
        let asked = self.request.params.contains_key("task") && self.era == Era::Legacy;
        let request = self.ticket.as_ref()?.id;
        let id = result["task"]["taskId"].as_str().filter(|_| asked)?;
        Some(TaskAtServer {
            owner: TaskOwner { task: id.into(), created_by: request },
            upstream: self.upstream.clone(),
            session: self.request.session.clone(),
            progress: TaskProgress::new(),
            has_ended: false,
        })
    }

    fn once_more(&mut self) -> Option<Event> {
        self.again = false;
        self.ticket = None;
        self.asks.clear();
        None
    }

    fn end(&mut self, outcome: Result<RequestOutcome, FaultCause>) -> Event {
        self.over = true;
        self.ticket = None;
        let fault = |trouble| self.upstream.fault(&self.request.method, trouble);
        Event::Done(outcome.map_err(fault))
    }
}

/// A task that the upstream has created. If it is dropped before the task has ended, the task is cancelled.
struct TaskAtServer {
    owner: TaskOwner,
    upstream: Arc<Shared>,
    session: Arc<str>,
    progress: TaskProgress,
    has_ended: bool,
}

impl TaskAtServer {
    /// The parameters of a request about this task.
    fn params(&self) -> Object {
        Object::from_iter([("taskId".to_owned(), Value::from(&*self.owner.task))])
    }
}

impl Drop for TaskAtServer {
    fn drop(&mut self) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if self.has_ended {
            return;
        }
        let (upstream, params) = (self.upstream.clone(), self.params());
        let request = UpstreamRequest::new("tasks/cancel", params, &self.session);
        runtime.spawn(async move {
            let Ok(connection) = upstream.connection().await else { return };
            if task::can_cancel(&connection.peer.capabilities) {
                // The task may have ended by itself.
                let _cancelled = InFlight::new(upstream, request).outcome().await;
            }
        });
    }
}

/// The outcome of a result. A result of an unknown type is complete.
fn classify_result(mut result: Value, era: Era) -> RequestOutcome {
    let kind = result.get("resultType").and_then(Value::as_str);
    if era == Era::Legacy || kind != Some("input_required") {
        return RequestOutcome::Complete(result);
    }
    let requests = result.get_mut("inputRequests").map(Value::take).map(object);
    let state = result.get("requestState").and_then(Value::as_str).map(str::to_owned);
    RequestOutcome::NeedInput { requests: requests.unwrap_or_default(), state }
}
