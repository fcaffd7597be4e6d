//! The requests in flight to one upstream server. Passes messages of the server to the request that they belong to.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{Notify, broadcast, mpsc, oneshot};

use crate::fault::FaultCause;
use crate::message::{self, Message, Object, RpcError, UnreadMessage};
use crate::task::{self, TaskOwner};
use crate::text::{self, LogLimiter};

/// Maximum number of requests in flight over one connection.
pub(crate) const MAX_REQUESTS: usize = 1024;

/// Maximum number of queued events of one request. Until the caller reads, further notifications are dropped, and
/// further questions are refused.
const MAX_EVENTS: usize = 64;
/// Maximum size of a notification that is passed on, in bytes.
const HAPPENING_BYTES: usize = 64 * 1024;

/// Maximum number of unanswered questions of an upstream for one request.
const MAX_QUESTIONS: usize = 16;

/// A notification that cannot be assigned to a request for certain. It may concern any session.
#[derive(Debug, Clone, PartialEq)]
pub struct UnassignedNotification {
    /// The method, such as `notifications/resources/updated`.
    pub method: String,
    /// The parameters, unchanged.
    pub params: Object,
}

/// Identifies a question of an upstream, for its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct QuestionKey(u64);

/// An event of a request in flight before the request is answered.
#[derive(Debug)]
pub(crate) enum RequestEvent {
    Notification { method: String, params: Object },
    Ask { key: QuestionKey, method: String, params: Object },
    Withdrawn(QuestionKey),
}

/// How a request ended.
#[derive(Debug)]
pub(crate) enum RequestEnd {
    /// The request was answered, in a message of this many bytes.
    Answer(Result<Value, RpcError>, usize),
    Trouble(FaultCause),
    /// The upstream did not process the request, because it has forgotten the session.
    SessionGone,
}

/// The channel that a message came from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Origin {
    /// The HTTP response to this request.
    Request(u64),
    /// A channel that all requests share.
    Shared,
}

/// The requests in flight.
pub(crate) struct Calls {
    pub(crate) upstream: Arc<str>,
    open: Mutex<OpenRequests>,
    next: AtomicU64,
    notices: broadcast::Sender<UnassignedNotification>,
    /// Notified when the upstream says that its tools, resources or prompts have changed.
    changed: Arc<Notify>,
    valve: Mutex<LogLimiter>,
}

#[derive(Default)]
struct OpenRequests {
    calls: BTreeMap<u64, OpenRequest>,
    /// Why no further request is accepted. `None`: requests are accepted.
    ended: Option<FaultCause>,
    /// When a request last began or ended. Subscriptions do not count.
    last_use: Option<Instant>,
}

struct OpenRequest {
    whose: RequestOwner,
    happenings: mpsc::Sender<RequestEvent>,
    done: oneshot::Sender<RequestEnd>,
    /// The unanswered questions, with their ids at the upstream.
    asks: Vec<(QuestionKey, Value)>,
}

/// For whom a request is made, and whether it is a subscription.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestOwner {
    /// The session of the caller. `None`: the host itself makes the request, and the upstream cannot ask anything.
    pub(crate) session: Option<Arc<str>>,
    /// Whether the request is a subscription: it stays open for notifications until one side ends it.
    pub(crate) subscribes: bool,
    /// The task of the upstream that the request waits for.
    pub(crate) task: Option<TaskOwner>,
}

/// A request in flight, as its caller sees it.
pub(crate) struct EnteredRequest {
    pub(crate) id: u64,
    pub(crate) happenings: mpsc::Receiver<RequestEvent>,
    pub(crate) done: oneshot::Receiver<RequestEnd>,
}

impl Calls {
    pub(crate) fn new(
        upstream: Arc<str>,
        notices: broadcast::Sender<UnassignedNotification>,
        changed: Arc<Notify>,
    ) -> Self {
        let valve = Mutex::new(LogLimiter::new());
        Self { upstream, open: Mutex::default(), next: AtomicU64::new(1), notices, changed, valve }
    }

    /// Adds a request. Fails if there are [`MAX_REQUESTS`] already, or if no further request is accepted.
    pub(crate) fn enter(&self, whose: RequestOwner) -> Result<EnteredRequest, FaultCause> {
        let mut open = self.open.lock();
        if let Some(trouble) = &open.ended {
            return Err(trouble.clone());
        }
        if open.calls.len() >= MAX_REQUESTS {
            return Err(FaultCause::Busy(MAX_REQUESTS));
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (happenings, heard) = mpsc::channel(MAX_EVENTS);
        let (done, ended) = oneshot::channel();
        open.used(&whose);
        open.calls.insert(id, OpenRequest { whose, happenings, done, asks: Vec::new() });
        Ok(EnteredRequest { id, happenings: heard, done: ended })
    }

    /// Whether a request is still in flight.
    pub(crate) fn is_open(&self, id: u64) -> bool {
        self.open.lock().calls.contains_key(&id)
    }

    /// Whether no further request is accepted.
    pub(crate) fn has_ended(&self) -> bool {
        self.open.lock().ended.is_some()
    }

    /// Accepts no further request. The requests in flight may still be answered.
    pub(crate) fn retire(&self, trouble: FaultCause) {
        self.open.lock().ended.get_or_insert(trouble);
    }

    /// Stops accepting requests if none was in flight for the time `longest`. Subscriptions do not count.
    ///
    /// # Errors
    ///
    /// A request is in flight or ended too recently. The error is the time after which to try again.
    pub(crate) fn retire_if_idle(
        &self,
        longest: Duration,
        why: FaultCause,
    ) -> Result<(), Duration> {
        let mut open = self.open.lock();
        if open.calls.values().any(|call| !call.whose.subscribes) {
            return Err(longest);
        }
        let idle = open.last_use.map_or(longest, |last| last.elapsed());
        if idle < longest {
            return Err(longest.saturating_sub(idle));
        }
        open.ended.get_or_insert(why);
        Ok(())
    }

    /// Accepts no further request, and ends those in flight.
    pub(crate) fn end(&self, trouble: &FaultCause) {
        let calls = {
            let mut open = self.open.lock();
            open.ended.get_or_insert_with(|| trouble.clone());
            std::mem::take(&mut open.calls)
        };
        for call in calls.into_values() {
            let _gone = call.done.send(RequestEnd::Trouble(trouble.clone()));
        }
    }

    /// Ends one request. Returns the messages that have to be sent to the upstream: refusals of unanswered questions.
    pub(crate) fn finish(&self, id: u64, done: RequestEnd) -> Vec<Vec<u8>> {
        let Some(call) = self.open.lock().remove(id) else { return Vec::new() };
        // The caller may no longer wait.
        let _gone = call.done.send(done);
        refusals(&call.asks)
    }

    /// Removes a request whose caller no longer waits. Returns the messages to send. `None`: it had already ended.
    pub(crate) fn forget(&self, id: u64) -> Option<Vec<Vec<u8>>> {
        let call = self.open.lock().remove(id)?;
        Some(refusals(&call.asks))
    }

    /// Removes a question and returns its id at the upstream. `None`: the question is not open any more.
    pub(crate) fn take_ask(&self, id: u64, key: QuestionKey) -> Option<Value> {
        let mut open = self.open.lock();
        let asks = &mut open.calls.get_mut(&id)?.asks;
        let place = asks.iter().position(|(asked, _)| *asked == key)?;
        Some(asks.swap_remove(place).1)
    }

    /// Handles a message that was not read because it has more than `most` bytes: see [`Self::not_read`]. If exactly
    /// one request is in flight, an answer on a shared channel without a readable id belongs to this request. Returns
    /// the messages that have to be sent to the upstream.
    pub(crate) fn too_large(
        &self,
        unread: UnreadMessage,
        origin: Origin,
        most: usize,
    ) -> Vec<Vec<u8>> {
        self.warn(&format!("a message of more than {most} bytes was not read"));
        let only = || {
            let open = self.open.lock();
            let mut ids = open.calls.keys().copied();
            ids.next().filter(|_| ids.next().is_none())
        };
        let unread = match (unread, origin) {
            (UnreadMessage::Answer(None), Origin::Shared) => UnreadMessage::Answer(only()),
            (unread, _) => unread,
        };
        self.not_read(unread, origin, FaultCause::TooLarge(most))
    }

    /// Handles a message that was not read. An answer ends its request, if this request is known. A request of the
    /// upstream is refused, if its id is known. Returns the messages that have to be sent to the upstream.
    fn not_read(&self, unread: UnreadMessage, origin: Origin, trouble: FaultCause) -> Vec<Vec<u8>> {
        let id = match (unread, origin) {
            (UnreadMessage::Asking(None), _) => return Vec::new(),
            (UnreadMessage::Asking(Some(id)), _) => {
                let why = "the request was not read: it is too large, too deep or not valid";
                let refusal = Err(RpcError::new(RpcError::INVALID_REQUEST, why));
                return vec![message::answer(&id, &refusal)];
            }
            (UnreadMessage::Answer(id), Origin::Request(own)) => {
                id.filter(|id| self.is_open(*id)).unwrap_or(own)
            }
            (UnreadMessage::Answer(Some(id)), Origin::Shared) => id,
            (UnreadMessage::Answer(None), Origin::Shared) => return Vec::new(),
        };
        self.finish(id, RequestEnd::Trouble(trouble))
    }

    /// Passes a message to the request that it belongs to. Returns the messages that have to be sent to the upstream.
    pub(crate) fn receive(&self, bytes: &[u8], origin: Origin) -> Vec<Vec<u8>> {
        let bytes = bytes.trim_ascii();
        if bytes.is_empty() {
            return Vec::new();
        }
        if let Err((unread, excess)) = message::check(bytes) {
            self.warn(&format!("a message was not read: {excess}"));
            return self.not_read(
                unread,
                origin,
                FaultCause::TooManyValues(excess.to_string().into()),
            );
        }
        let messages = match message::read(bytes) {
            Ok(messages) => messages,
            Err(error) => {
                let begin = String::from_utf8_lossy(&bytes[..bytes.len().min(1000)]);
                let error = portcullis_sanitize::error_chain(&error);
                self.warn(&format!("its message is {error}: {begin}"));
                let unread = UnreadMessage::of(&portcullis_json_bounds::scan(bytes));
                let trouble = FaultCause::protocol(format!("its message is {error}"));
                return self.not_read(unread, origin, trouble);
            }
        };
        let size = bytes.len();
        messages.into_iter().flat_map(|message| self.route(message, origin, size)).collect()
    }

    fn route(&self, message: Message, origin: Origin, size: usize) -> Vec<Vec<u8>> {
        match message {
            Message::Answer { id, answer } => self.finish(id, RequestEnd::Answer(answer, size)),
            Message::Complaint(error) => match origin {
                Origin::Request(id) => self.finish(id, RequestEnd::Answer(Err(error), size)),
                Origin::Shared => {
                    self.warn(&format!(
                        "it sent an error without an id: {} {}",
                        error.code, error.message
                    ));
                    Vec::new()
                }
            },
            Message::Notification { method, params } => self.notified(method, params, origin, size),
            Message::Request { id, method, params } => {
                let answer = match method.as_str() {
                    "ping" => Ok(json!({})),
                    "sampling/createMessage" | "elicitation/create" | "roots/list" => {
                        match self.ask(&id, method, params, origin) {
                            Ok(()) => return Vec::new(),
                            Err(why) => Err(RpcError::new(RpcError::INTERNAL, why)),
                        }
                    }
                    _ => {
                        let what =
                            format!("the method {} is not supported", text::line(&method, 100));
                        Err(RpcError::new(RpcError::METHOD_NOT_FOUND, what))
                    }
                };
                vec![message::answer(&id, &answer)]
            }
        }
    }

    /// Passes a question of the upstream to the request that it belongs to. The error is a text for the upstream.
    fn ask(
        &self,
        id: &Value,
        method: String,
        params: Object,
        origin: Origin,
    ) -> Result<(), &'static str> {
        let mut open = self.open.lock();
        let call =
            open.whose(origin).ok_or("the question cannot be assigned to a request in flight")?;
        if call.asks.len() >= MAX_QUESTIONS || call.asks.iter().any(|(_, asked)| asked == id) {
            return Err(
                "too many questions are unanswered, or a question with this id is unanswered",
            );
        }
        let key = QuestionKey(self.next.fetch_add(1, Ordering::Relaxed));
        let ask = RequestEvent::Ask { key, method, params };
        call.happenings.try_send(ask).map_err(|_| "the client does not read the questions")?;
        call.asks.push((key, id.clone()));
        Ok(())
    }

    /// Passes on a notification. Returns the messages that have to be sent to the upstream.
    fn notified(
        &self,
        method: String,
        params: Object,
        origin: Origin,
        size: usize,
    ) -> Vec<Vec<u8>> {
        let none = Vec::new();
        if method.ends_with("/list_changed") {
            self.changed.notify_one();
        }
        let mut open = self.open.lock();
        let call = match method.as_str() {
            "notifications/cancelled" => {
                return params.get("requestId").map(|id| open.withdraw(id)).unwrap_or_default();
            }
            "notifications/progress" => {
                let token = params.get("progressToken").and_then(Value::as_u64);
                match token.and_then(|id| open.with_progress(id)) {
                    Some(call) => Some(call),
                    None => return none,
                }
            }
            "notifications/message" => open.whose(origin),
            task::STATUS => {
                match params.get("taskId").and_then(Value::as_str).and_then(|id| open.with_task(id))
                {
                    Some(call) => Some(call),
                    None => return none,
                }
            }
            _ => {
                let subscription = params
                    .get("_meta")
                    .and_then(|meta| meta.get("io.modelcontextprotocol/subscriptionId"))
                    .and_then(Value::as_u64);
                let id = match origin {
                    Origin::Request(id) => Some(id),
                    Origin::Shared => subscription,
                };
                id.and_then(|id| open.calls.get_mut(&id))
            }
        };
        if size > HAPPENING_BYTES {
            drop(open);
            self.warn(&format!("{method} of {size} bytes is too large and is dropped"));
            return none;
        }
        match call {
            // Dropped if the queue of the request is full.
            Some(call) => {
                drop(call.happenings.try_send(RequestEvent::Notification { method, params }))
            }
            None => drop(self.notices.send(UnassignedNotification { method, params })),
        }
        none
    }

    /// Logs a fault of the upstream. The number of such lines is limited.
    pub(crate) fn warn(&self, what: &str) {
        if let Some(held) = self.valve.lock().pass() {
            let held = if held > 0 {
                format!(" ({held} earlier warnings suppressed)")
            } else {
                String::new()
            };
            tracing::warn!("upstream `{}`: {}{held}", self.upstream, text::line(what, 300));
        }
    }
}

impl OpenRequests {
    /// Notes the time, unless the request is a subscription.
    fn used(&mut self, whose: &RequestOwner) {
        if !whose.subscribes {
            self.last_use = Some(Instant::now());
        }
    }

    fn remove(&mut self, id: u64) -> Option<OpenRequest> {
        let call = self.calls.remove(&id)?;
        self.used(&call.whose);
        Some(call)
    }

    /// The request that a message belongs to. On a shared channel, a message names no request. If all requests in
    /// flight are of one session, the message belongs to the newest of these requests. Otherwise, it belongs to no
    /// request. Requests of the host itself do not count.
    fn whose(&mut self, origin: Origin) -> Option<&mut OpenRequest> {
        let id = match origin {
            Origin::Request(id) => id,
            Origin::Shared => {
                let mut sessions = self
                    .calls
                    .iter()
                    .rev()
                    .filter_map(|(id, call)| Some((*id, call.whose.session.as_ref()?)));
                let (newest, session) = sessions.next()?;
                sessions.all(|(_, other)| other == session).then_some(newest)?
            }
        };
        self.calls.get_mut(&id).filter(|call| call.whose.session.is_some())
    }

    /// The request whose progress has this token: the request with this id, or one that waits for the task that it
    /// created.
    fn with_progress(&mut self, id: u64) -> Option<&mut OpenRequest> {
        let waits =
            |call: &OpenRequest| call.whose.task.as_ref().is_some_and(|task| task.created_by == id);
        let found = self.calls.contains_key(&id).then_some(id);
        let found =
            found.or_else(|| self.calls.iter().find(|(_, call)| waits(call)).map(|(id, _)| *id));
        self.calls.get_mut(&found?)
    }

    /// The request that waits for the task with this id.
    fn with_task(&mut self, id: &str) -> Option<&mut OpenRequest> {
        let waits = |call: &&mut OpenRequest| {
            call.whose.task.as_ref().is_some_and(|task| &*task.task == id)
        };
        self.calls.values_mut().find(waits)
    }

    /// Handles a cancellation: of a question of the upstream, or of a subscription. Returns the messages that have to be
    /// sent to the upstream: refusals of the questions that belong to an ended subscription.
    fn withdraw(&mut self, id: &Value) -> Vec<Vec<u8>> {
        for call in self.calls.values_mut() {
            if let Some(place) = call.asks.iter().position(|(_, asked)| asked == id) {
                let (key, _) = call.asks.swap_remove(place);
                let _full = call.happenings.try_send(RequestEvent::Withdrawn(key));
                return Vec::new();
            }
        }
        // The id names no question, so it names a request of ours. The upstream may end only subscriptions.
        let ours = id.as_u64().filter(|id| self.calls.get(id).is_some_and(|c| c.whose.subscribes));
        let Some(call) = ours.and_then(|id| self.remove(id)) else { return Vec::new() };
        let ended = FaultCause::lost("it has ended the subscription");
        let _gone = call.done.send(RequestEnd::Trouble(ended));
        refusals(&call.asks)
    }
}

fn refusals(asks: &[(QuestionKey, Value)]) -> Vec<Vec<u8>> {
    let ended = "the request that this question belonged to has ended";
    let error = Err(RpcError::new(RpcError::INTERNAL, ended));
    asks.iter().map(|(_, id)| message::answer(id, &error)).collect()
}

#[cfg(test)]
mod tests;
